#include "registry/containerd_shape.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "base/text.h"
#include "doc/duration.h"
#include "registry/go_toml.h"

namespace prefetch::registry {
namespace {

enum class Shape {
  kText,
  kWhole,
  kFlag,
  kDuration,  // a text
  kTexts,     // a list of texts
  kTextMap,   // a table of texts
  kTextsMap,  // a table of lists of texts
  kTable,     // a table with these members
  kTables,    // a table of such tables
};

struct Member {
  std::string_view key;
  Shape kind;
  std::span<const Member> members = {};
};

constexpr std::array kMirrorMembers = {Member{"endpoint", Shape::kTexts}};
constexpr std::array kAuthMembers = {Member{"username", Shape::kText}, Member{"password", Shape::kText},
                                     Member{"auth", Shape::kText}, Member{"identitytoken", Shape::kText}};
constexpr std::array kConfigMembers = {Member{"auth", Shape::kTable, kAuthMembers}};
constexpr std::array kRegistryMembers = {
    Member{"config_path", Shape::kText}, Member{"mirrors", Shape::kTables, kMirrorMembers},
    Member{"configs", Shape::kTables, kConfigMembers}, Member{"auths", Shape::kTables, kAuthMembers},
    Member{"headers", Shape::kTextsMap}};
constexpr std::array kPlatformMembers = {Member{"platform", Shape::kText},
                                         Member{"snapshotter", Shape::kText}};
constexpr std::array kDecryptionMembers = {Member{"key_model", Shape::kText}};

// In the tables of both versions.
constexpr std::array kCommonMembers = {Member{"registry", Shape::kTable, kRegistryMembers},
                                       Member{"image_decryption", Shape::kTable, kDecryptionMembers},
                                       Member{"max_concurrent_downloads", Shape::kWhole},
                                       Member{"image_pull_progress_timeout", Shape::kDuration},
                                       Member{"image_pull_with_sync_fs", Shape::kFlag},
                                       Member{"stats_collect_period", Shape::kWhole}};
// In the table `containerd` of version 2, and in that of version 3 itself.
constexpr std::array kSnapshotsMembers = {Member{"snapshotter", Shape::kText},
                                          Member{"disable_snapshot_annotations", Shape::kFlag},
                                          Member{"discard_unpacked_layers", Shape::kFlag}};
constexpr std::array kNewMembers = {
    Member{"pinned_images", Shape::kTextMap}, Member{"runtime_platforms", Shape::kTables, kPlatformMembers},
    Member{"concurrent_layer_fetch_buffer", Shape::kWhole}, Member{"use_local_image_pull", Shape::kFlag}};
constexpr std::array kOldMembers = {Member{"sandbox_image", Shape::kText}};
constexpr std::array kRuntimesMembers = {Member{"runtimes", Shape::kTables}};

constexpr std::array kGrpcMembers = {Member{"address", Shape::kText},
                                     Member{"tcp_address", Shape::kText},
                                     Member{"tcp_tls_ca", Shape::kText},
                                     Member{"tcp_tls_cert", Shape::kText},
                                     Member{"tcp_tls_key", Shape::kText},
                                     Member{"uid", Shape::kWhole},
                                     Member{"gid", Shape::kWhole},
                                     Member{"max_recv_message_size", Shape::kWhole},
                                     Member{"max_send_message_size", Shape::kWhole}};
constexpr std::array kTtrpcMembers = {Member{"address", Shape::kText}, Member{"uid", Shape::kWhole},
                                      Member{"gid", Shape::kWhole}};
constexpr std::array kDebugMembers = {Member{"address", Shape::kText}, Member{"uid", Shape::kWhole},
                                      Member{"gid", Shape::kWhole}, Member{"level", Shape::kText},
                                      Member{"format", Shape::kText}};
constexpr std::array kMetricsMembers = {Member{"address", Shape::kText},
                                        Member{"grpc_histogram", Shape::kFlag}};
constexpr std::array kCgroupMembers = {Member{"path", Shape::kText}};
constexpr std::array kProxyMembers = {Member{"type", Shape::kText}, Member{"address", Shape::kText},
                                      Member{"platform", Shape::kText}, Member{"exports", Shape::kTextMap},
                                      Member{"capabilities", Shape::kTexts}};
constexpr std::array kProcessorMembers = {Member{"accepts", Shape::kTexts}, Member{"returns", Shape::kText},
                                          Member{"path", Shape::kText}, Member{"args", Shape::kTexts},
                                          Member{"env", Shape::kTexts}};
constexpr std::array kServerMembers = {Member{"version", Shape::kWhole},
                                       Member{"root", Shape::kText},
                                       Member{"state", Shape::kText},
                                       Member{"temp", Shape::kText},
                                       Member{"grpc", Shape::kTable, kGrpcMembers},
                                       Member{"ttrpc", Shape::kTable, kTtrpcMembers},
                                       Member{"debug", Shape::kTable, kDebugMembers},
                                       Member{"metrics", Shape::kTable, kMetricsMembers},
                                       Member{"disabled_plugins", Shape::kTexts},
                                       Member{"required_plugins", Shape::kTexts},
                                       Member{"plugins", Shape::kTable},
                                       Member{"oom_score", Shape::kWhole},
                                       Member{"cgroup", Shape::kTable, kCgroupMembers},
                                       Member{"proxy_plugins", Shape::kTables, kProxyMembers},
                                       Member{"timeouts", Shape::kTextMap},
                                       Member{"imports", Shape::kTexts},
                                       Member{"stream_processors", Shape::kTables, kProcessorMembers}};

bool AreTexts(const toml::node& node) {
  const toml::array* array = node.as_array();
  return array != nullptr &&
         std::all_of(array->begin(), array->end(), [](const toml::node& item) { return item.is_string(); });
}

template <typename Fits>
bool AreAll(const toml::node& node, Fits fits) {
  const toml::table* table = node.as_table();
  return table != nullptr &&
         std::all_of(table->begin(), table->end(), [&](const auto& entry) { return fits(entry.second); });
}

bool IsDuration(const toml::node& node) {
  const auto* text = node.as_string();
  return text != nullptr && (text->get().empty() || doc::ParseDuration(TextOf(*text)).has_value());
}

// Nothing: it fits. The members of tables are another question.
const char* Mistake(const toml::node& node, Shape kind) {
  switch (kind) {
    case Shape::kText:
      return node.is_string() ? nullptr : " is no string";
    case Shape::kWhole:
      return node.is_integer() ? nullptr : " is no whole number";
    case Shape::kFlag:
      return node.is_boolean() ? nullptr : " is neither true nor false";
    case Shape::kDuration:
      return IsDuration(node) ? nullptr : " is no duration";
    case Shape::kTexts:
      return AreTexts(node) ? nullptr : " is no list of strings";
    case Shape::kTextMap:
      return AreAll(node, [](const toml::node& one) { return one.is_string(); }) ? nullptr
                                                                                 : " is no table of strings";
    case Shape::kTextsMap:
      return AreAll(node, AreTexts) ? nullptr : " is no table of lists of strings";
    case Shape::kTable:
      return node.is_table() ? nullptr : " is no table";
    case Shape::kTables:
      return AreAll(node, [](const toml::node& one) { return one.is_table(); }) ? nullptr
                                                                                : " is no table of tables";
  }
  return nullptr;
}

base::Status CheckMembers(const toml::table& table, std::span<const Member> members);

base::Status Check(const toml::node& node, const Member& member) {
  if (const char* mistake = Mistake(node, member.kind)) return Wrong(node, std::string(member.key) + mistake);
  if (member.kind == Shape::kTable) return CheckMembers(*node.as_table(), member.members);
  if (member.kind != Shape::kTables) return {};
  for (const auto& [key, one] : *node.as_table()) {
    if (base::Status checked = CheckMembers(*one.as_table(), member.members); !checked) return checked;
  }
  return {};
}

// In any case, each key once.
base::Status CheckMembers(const toml::table& table, std::span<const Member> members) {
  for (const Member& member : members) {
    auto node = GoMember(table, member.key);
    if (!node) return node.status();
    if (*node == nullptr) continue;
    if (base::Status checked = Check(**node, member); !checked) return checked;
  }
  return {};
}

base::Status CheckExact(const toml::table& table, std::span<const Member> members) {
  for (const Member& member : members) {
    const toml::node* node = table.get(member.key);
    if (node == nullptr) continue;
    if (base::Status checked = Check(*node, member); !checked) return checked;
  }
  return {};
}

bool AreOtherLetters(const toml::table& table, std::span<const Member> members) {
  for (const Member& member : members) {
    for (const auto& [name, node] : table) {
      if (!base::EqualsIgnoreCase(name.str(), member.key)) continue;
      if (name.str() != member.key) return true;
      if (!node.is_table()) continue;
      if (member.kind == Shape::kTable && AreOtherLetters(*node.as_table(), member.members)) return true;
      if (member.kind != Shape::kTables) continue;
      for (const auto& [key, one] : *node.as_table()) {
        if (one.is_table() && AreOtherLetters(*one.as_table(), member.members)) return true;
      }
    }
  }
  return false;
}

}  // namespace

bool HasOtherLetters(const toml::table& plugin) {
  return AreOtherLetters(plugin, kCommonMembers) || AreOtherLetters(plugin, kSnapshotsMembers) ||
         AreOtherLetters(plugin, kNewMembers);
}

base::Status CheckServer(const toml::table& root) {
  return CheckMembers(root, kServerMembers);
}

base::Status CheckImages(const toml::table& images) {
  for (std::span<const Member> members :
       {std::span<const Member>(kCommonMembers), std::span<const Member>(kSnapshotsMembers),
        std::span<const Member>(kNewMembers)}) {
    if (base::Status checked = CheckMembers(images, members); !checked) return checked;
  }
  return {};
}

base::Status CheckOldPlugin(const toml::table& cri) {
  if (base::Status checked = CheckExact(cri, kCommonMembers); !checked) return checked;
  if (base::Status checked = CheckExact(cri, kOldMembers); !checked) return checked;
  const toml::node* containerd = cri.get("containerd");
  if (containerd == nullptr) return {};
  if (!containerd->is_table()) return Wrong(*containerd, "containerd is no table");
  if (base::Status checked = CheckExact(*containerd->as_table(), kRuntimesMembers); !checked) return checked;
  return CheckExact(*containerd->as_table(), kSnapshotsMembers);
}

}  // namespace prefetch::registry
