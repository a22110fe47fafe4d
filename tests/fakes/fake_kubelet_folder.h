// One of the two folders of kubelet's image_manager: files as kubelet writes them, and what it remembers of
// them (K14 and K33).
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace prefetch::tests {

// Files by name, as kubelet sees them. From 1.34 on it answers from memory, which it fills at its start:
// files that somebody else writes, changes or deletes later are not seen. Memory holds everything
// ("authoritative") only if every file could be decoded and there were fewer than it has room for; else it
// asks the disk. The model then asks the disk always, where kubelet asks it only for what it does not
// remember. Throws if the disk fails, which ends the test.
class FakeKubeletFolder {
 public:
  using Decodes = std::function<bool(const std::string& content)>;

  // `capacity`: room in memory; 0 for a kubelet that has none (1.33). Makes the folder, and reads it.
  void Open(const std::string& path, std::size_t capacity, Decodes decodes);

  std::optional<std::string> Read(const std::string& name) const;
  // Into `<name>.tmp`, then renamed; mode 0600.
  void Write(const std::string& name, const std::string& content);
  void Remove(const std::string& name);
  // From the disk, whatever is remembered: plain files that begin with "sha256-" and do not end with ".tmp".
  std::map<std::string, std::string> List() const;
  // As after kubelet's own listing when it prunes: memory becomes authoritative again if all fits.
  void Relist();

  bool authoritative() const { return authoritative_; }

 private:
  void Remember();

  std::string path_;
  std::size_t capacity_ = 0;
  Decodes decodes_;
  bool authoritative_ = false;
  std::map<std::string, std::string> memory_;  // if authoritative
};

}  // namespace prefetch::tests
