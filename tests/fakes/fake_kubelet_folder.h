// One of the two folders of kubelet's image_manager: files as kubelet writes them (K14).
#pragma once

#include <map>
#include <optional>
#include <string>

namespace prefetch::tests {

// Files by name. kubelet's memory of them (K33) is not modelled: the disk is always read. Throws if the disk
// fails, which ends the test.
class FakeKubeletFolder {
 public:
  // Makes the folder.
  void Open(const std::string& path);

  std::optional<std::string> Read(const std::string& name) const;
  // Into `<name>.tmp`, then renamed; mode 0600.
  void Write(const std::string& name, const std::string& content);
  void Remove(const std::string& name);
  // Plain files that begin with "sha256-" and do not end with ".tmp".
  std::map<std::string, std::string> List() const;

 private:
  std::string path_;
};

}  // namespace prefetch::tests
