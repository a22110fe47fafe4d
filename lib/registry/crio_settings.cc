#include "registry/crio_settings.h"

#include <utility>
#include <vector>

#include "base/fs.h"
#include "registry/go_toml.h"

namespace prefetch::registry {
namespace {

constexpr std::size_t kMaxCrioConfBytes = 1024 * 1024;
constexpr std::size_t kMaxCrioDropIns = 1000;

// Returns nullptr if the table is absent.
base::Result<const toml::table*> TableAt(const toml::table& parent, std::string_view key) {
  auto node = GoMember(parent, key);
  if (!node) return std::move(node).error();
  if (*node == nullptr) return static_cast<const toml::table*>(nullptr);
  const toml::table* table = (*node)->as_table();
  if (table == nullptr) return Wrong(**node, std::string(key) + " is no table");
  return table;
}

// Returns true if the key exists. An empty value counts, since it revokes the value of an earlier file.
base::Result<bool> Take(const toml::table& table, std::string_view key, std::string& value) {
  auto node = GoMember(table, key);
  if (!node) return std::move(node).error();
  if (*node == nullptr) return false;
  auto text = GoText(table, key);
  if (!text) return std::move(text).error();
  value = *std::move(text);
  return true;
}

base::Status ReadInto(const std::string& path, const std::string& host_root, CrioSettings& settings) {
  auto text = base::ReadFile(host_root + path, kMaxCrioConfBytes);
  if (!text) return std::move(text).error();
  auto read = UpdateCrioSettings(*text, path, settings);
  return read ? read : base::Status(std::move(read).error().Wrap(path));
}

}  // namespace

base::Status UpdateCrioSettings(std::string_view text, const std::string& path, CrioSettings& settings) {
  auto toml = Toml::Parse(text);
  if (!toml) return std::move(toml).error();
  auto crio = TableAt(toml->root(), "crio");
  if (!crio) return std::move(crio).error();
  if (*crio == nullptr) return {};
  auto image = TableAt(**crio, "image");
  if (!image) return std::move(image).error();
  if (*image == nullptr) return {};
  // A file with a mistake must not change anything, so that it is read into a copy first.
  CrioSettings read = settings;
  auto named = Take(**image, "global_auth_file", read.global_auth_file);
  if (!named) return std::move(named).error();
  if (*named) read.said_in = path;
  auto folder = Take(**image, "namespaced_auth_dir", read.namespaced_auth_dir);
  if (!folder) return std::move(folder).error();
  settings = std::move(read);
  return {};
}

base::Result<std::optional<CrioSettings>> ReadCrioSettings(const std::string& file,
                                                           const std::string& host_root) {
  const std::string folder = file + ".d";
  auto names = base::ListDirectory(host_root + folder, kMaxCrioDropIns);
  const bool has_file = static_cast<bool>(base::KindOf(host_root + file));
  if (!names && names.error().code() != base::Code::kNotFound) return std::move(names).error();
  if (!has_file && !names) return std::optional<CrioSettings>();
  CrioSettings settings;
  if (has_file) {
    if (auto read = ReadInto(file, host_root, settings); !read) return std::move(read).error();
  }
  for (const std::string& name : names ? *names : std::vector<std::string>()) {
    const std::string path = folder + "/" + name;
    auto kind = base::KindOf(host_root + path);
    if (!kind || *kind != base::FileKind::kRegular) continue;
    if (auto read = ReadInto(path, host_root, settings); !read) return std::move(read).error();
  }
  return std::optional(std::move(settings));
}

}  // namespace prefetch::registry
