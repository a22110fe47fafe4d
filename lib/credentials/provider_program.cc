#include "credentials/missing_providers.h"

#include <unistd.h>

#include <cstring>
#include <fstream>
#include <vector>

#include "base/file_stamp.h"
#include "base/fs.h"

namespace prefetch::credentials {
namespace {

constexpr std::size_t kBlock = 64 << 10;

bool IsProgramFile(const std::string& path) {
  auto kind = base::KindOf(path);
  return kind && *kind != base::FileKind::kDirectory && ::access(path.c_str(), X_OK) == 0;
}

bool HaveSameBytes(const std::string& a, const std::string& b) {
  std::ifstream one(a, std::ios::binary), other(b, std::ios::binary);
  std::vector<char> from_one(kBlock), from_other(kBlock);
  while (one && other) {
    one.read(from_one.data(), kBlock);
    other.read(from_other.data(), kBlock);
    const auto count = static_cast<std::size_t>(one.gcount());
    if (one.gcount() != other.gcount() || std::memcmp(from_one.data(), from_other.data(), count) != 0)
      return false;
  }
  return true;
}

}  // namespace

std::string ProgramIn(const std::string& bin_dir, const std::string& provider) {
  return bin_dir.ends_with('/') ? bin_dir + provider : bin_dir + "/" + provider;
}

ProgramHere CompareProgram(const std::string& own_bin_dir, const std::string& kubelets_bin_dir,
                           const std::string& provider) {
  const std::string own = ProgramIn(own_bin_dir, provider);
  if (own_bin_dir.empty() || !IsProgramFile(own)) return ProgramHere::kAbsent;
  if (kubelets_bin_dir.empty() || kubelets_bin_dir == own_bin_dir) return ProgramHere::kSame;
  const std::string kubelets = ProgramIn(kubelets_bin_dir, provider);
  const base::FileStamp here = base::StampOf(own), there = base::StampOf(kubelets);
  if (there == base::FileStamp{}) return ProgramHere::kSame;
  if (here.device == there.device && here.inode == there.inode) return ProgramHere::kSame;
  const bool same = here.size == there.size && HaveSameBytes(own, kubelets);
  return same ? ProgramHere::kSame : ProgramHere::kAnother;
}

}  // namespace prefetch::credentials
