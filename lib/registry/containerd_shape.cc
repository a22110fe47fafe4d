#include "registry/containerd_shape.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "base/text.h"
#include "doc/duration.h"
#include "registry/go_toml.h"
#include "registry/go_url.h"
#include "registry/toml_text.h"

namespace prefetch::registry {
namespace {

enum class Shape {
  kText,
  kWhole,
  kFlag,
  kDuration,      // a text
  kDurations,     // a table of such texts, none empty
  kTexts,         // a list of texts
  kTextMap,       // a table of texts
  kTextsMap,      // a table of lists of texts
  kTable,         // a table with these members
  kTables,        // a table of such tables
  kTablesOfUrls,  // each with the name of a URL
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
    Member{"configs", Shape::kTables, kConfigMembers}, Member{"auths", Shape::kTablesOfUrls, kAuthMembers},
    Member{"headers", Shape::kTextsMap}};
constexpr std::array kPlatformMembers = {Member{"platform", Shape::kText},
                                         Member{"snapshotter", Shape::kText}};
constexpr std::array kDecryptionMembers = {Member{"key_model", Shape::kText}};

// Members of the plugin's tables in both versions of the configuration.
constexpr std::array kCommonMembers = {Member{"registry", Shape::kTable, kRegistryMembers},
                                       Member{"image_decryption", Shape::kTable, kDecryptionMembers},
                                       Member{"max_concurrent_downloads", Shape::kWhole},
                                       Member{"image_pull_progress_timeout", Shape::kDuration},
                                       Member{"image_pull_with_sync_fs", Shape::kFlag},
                                       Member{"stats_collect_period", Shape::kWhole}};
// Members of the table `containerd` in version 2, and of the plugin's own table in version 3.
constexpr std::array kSnapshotsMembers = {Member{"snapshotter", Shape::kText},
                                          Member{"disable_snapshot_annotations", Shape::kFlag},
                                          Member{"discard_unpacked_layers", Shape::kFlag}};
constexpr std::array kNewMembers = {
    Member{"pinned_images", Shape::kTextMap}, Member{"runtime_platforms", Shape::kTables, kPlatformMembers},
    Member{"concurrent_layer_fetch_buffer", Shape::kWhole}, Member{"use_local_image_pull", Shape::kFlag}};
constexpr std::array kOldMembers = {Member{"sandbox_image", Shape::kText},
                                    Member{"containerd", Shape::kTable}};
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
                                       Member{"timeouts", Shape::kDurations},
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
  return node.is_string() && doc::ParseDuration(TextOf(*node.as_string())).has_value();
}

bool IsEmpty(const toml::node& node) {
  return node.is_string() && node.as_string()->get().empty();
}

// Returns the mistake of the value, or nullptr if it fits. Members of tables are checked by ShapeCheck.
const char* Mistake(const toml::node& node, Shape kind) {
  switch (kind) {
    case Shape::kText:
      return node.is_string() ? nullptr : " is no string";
    case Shape::kWhole:
      return node.is_integer() ? nullptr : " is no whole number";
    case Shape::kFlag:
      return node.is_boolean() ? nullptr : " is neither true nor false";
    case Shape::kDuration:
      return IsEmpty(node) || IsDuration(node) ? nullptr : " is no duration";
    case Shape::kTexts:
      return AreTexts(node) ? nullptr : " is no list of strings";
    case Shape::kTextMap:
      return AreAll(node, [](const toml::node& one) { return one.is_string(); }) ? nullptr
                                                                                 : " is no table of strings";
    case Shape::kDurations:
      return AreAll(node, IsDuration) ? nullptr : " is no table of durations";
    case Shape::kTextsMap:
      return AreAll(node, AreTexts) ? nullptr : " is no table of lists of strings";
    case Shape::kTable:
    case Shape::kTables:
    case Shape::kTablesOfUrls:
      return node.is_table() ? nullptr : " is no table";
  }
  return nullptr;
}

bool IsUrl(const toml::key& name) {
  return ParseGoUrl(FromAsciiToml(name.str())).has_value();
}

// Walks over tables, and stops at the first mistake. One mistake keeps containerd or its plugin from
// starting, so further ones do not matter.
class ShapeCheck {
 public:
  // Finds keys in any case of their letters, as Go's decoder does. A key that is there twice is a mistake.
  base::Status Members(const toml::table& table, std::span<const Member> members) {
    for (const Member& member : members) {
      auto node = GoMember(table, member.key);
      if (!node) return node.status();
      if (*node == nullptr) continue;
      other_letters_ |= table.get(member.key) == nullptr;
      if (base::Status checked = Value(**node, member); !checked) return checked;
    }
    return {};
  }

  // The same for tables whose keys count only as they are spelled.
  base::Status Exact(const toml::table& table, std::span<const Member> members) {
    for (const Member& member : members) {
      const toml::node* node = table.get(member.key);
      if (node == nullptr) continue;
      if (base::Status checked = Value(*node, member); !checked) return checked;
    }
    return {};
  }

  // A key of Members() had other letters than containerd's.
  bool other_letters() const { return other_letters_; }

 private:
  // Checks the type of one value, and then the members of a table.
  base::Status Value(const toml::node& node, const Member& member) {
    if (const char* mistake = Mistake(node, member.kind))
      return Wrong(node, std::string(member.key) + mistake);
    if (member.kind == Shape::kTable) return Members(*node.as_table(), member.members);
    if (member.kind != Shape::kTables && member.kind != Shape::kTablesOfUrls) return {};
    for (const auto& [key, one] : *node.as_table()) {
      const std::string which = "an entry of " + std::string(member.key);
      if (!one.is_table()) return Wrong(one, which + " is no table");
      if (member.kind == Shape::kTablesOfUrls && !IsUrl(key)) return Wrong(one, which + " is no URL");
      if (base::Status checked = Members(*one.as_table(), member.members); !checked) return checked;
    }
    return {};
  }

  bool other_letters_ = false;
};

}  // namespace

base::Status CheckServer(const toml::table& root) {
  return ShapeCheck().Members(root, kServerMembers);
}

base::Result<bool> CheckImages(const toml::table& images) {
  ShapeCheck check;
  for (std::span<const Member> members :
       {std::span<const Member>(kCommonMembers), std::span<const Member>(kSnapshotsMembers),
        std::span<const Member>(kNewMembers)}) {
    if (base::Status checked = check.Members(images, members); !checked) return checked.error();
  }
  return check.other_letters();
}

base::Result<bool> CheckOldPlugin(const toml::table& cri) {
  ShapeCheck check;
  if (base::Status checked = check.Exact(cri, kCommonMembers); !checked) return checked.error();
  if (base::Status checked = check.Exact(cri, kOldMembers); !checked) return checked.error();
  if (const toml::node* containerd = cri.get("containerd")) {
    const toml::table& table = *containerd->as_table();
    if (base::Status checked = check.Exact(table, kRuntimesMembers); !checked) return checked.error();
    if (base::Status checked = check.Exact(table, kSnapshotsMembers); !checked) return checked.error();
  }
  return check.other_letters();
}

}  // namespace prefetch::registry
