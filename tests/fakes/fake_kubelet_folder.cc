#include "fakes/fake_kubelet_folder.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "text_of.h"

namespace prefetch::tests {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> ReadPlainFile(const fs::path& path) {
  if (!fs::is_regular_file(path)) return std::nullopt;
  return TextSoFar(path);
}

}  // namespace

void FakeKubeletFolder::Open(const std::string& path, std::size_t capacity, Decodes decodes) {
  path_ = path;
  capacity_ = capacity;
  decodes_ = std::move(decodes);
  fs::create_directories(path_);
  fs::permissions(path_, fs::perms::owner_all);
  Remember();
}

std::optional<std::string> FakeKubeletFolder::Read(const std::string& name) const {
  if (!authoritative_) return ReadPlainFile(path_ + "/" + name);
  auto found = memory_.find(name);
  return found == memory_.end() ? std::nullopt : std::optional(found->second);
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
  if (!authoritative_) return;
  memory_[name] = content;
  if (memory_.size() > capacity_) authoritative_ = false;
}

void FakeKubeletFolder::Remove(const std::string& name) {
  fs::remove(path_ + "/" + name);
  memory_.erase(name);
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

void FakeKubeletFolder::Relist() {
  if (!authoritative_) Remember();
}

void FakeKubeletFolder::Remember() {
  memory_ = List();
  authoritative_ =
      memory_.size() < capacity_ &&
      std::all_of(memory_.begin(), memory_.end(), [&](const auto& file) { return decodes_(file.second); });
}

}  // namespace prefetch::tests
