#include "fakes/fake_kubelet_folder.h"

#include <filesystem>
#include <fstream>

#include "text_of.h"

namespace prefetch::tests {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> ReadPlainFile(const fs::path& path) {
  if (!fs::is_regular_file(path)) return std::nullopt;
  return TextSoFar(path);
}

}  // namespace

void FakeKubeletFolder::Open(const std::string& path) {
  path_ = path;
  fs::create_directories(path_);
  fs::permissions(path_, fs::perms::owner_all);
}

std::optional<std::string> FakeKubeletFolder::Read(const std::string& name) const {
  return ReadPlainFile(path_ + "/" + name);
}

void FakeKubeletFolder::Write(const std::string& name, const std::string& content) {
  fs::path final = path_ + "/" + name;
  fs::path temporary = final.string() + ".tmp";
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file.exceptions(std::ios::failbit | std::ios::badbit);
  fs::permissions(temporary, fs::perms::owner_read | fs::perms::owner_write);
  file << content;
  file.close();
  fs::rename(temporary, final);
}

void FakeKubeletFolder::Remove(const std::string& name) {
  fs::remove(path_ + "/" + name);
}

std::map<std::string, std::string> FakeKubeletFolder::List() const {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(path_)) {
    std::string name = entry.path().filename().string();
    if (!name.starts_with("sha256-") || name.ends_with(".tmp") || entry.is_symlink()) continue;
    if (auto content = ReadPlainFile(entry.path())) files[name] = *std::move(content);
  }
  return files;
}

}  // namespace prefetch::tests
