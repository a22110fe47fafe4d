#include "fakes/fake_kubelet_records.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "base/text.h"
#include "doc/json.h"
#include "doc/write.h"
#include "doc/yaml.h"

namespace prefetch::tests {
namespace {

using doc::Node;
using image::KubeletVersion;
using kubelet::Coordinates;
using kubelet::CredentialEntry;
using kubelet::HashedSecret;

constexpr KubeletVersion kWritesV1beta1{1, 35};

std::optional<Node> Parse(const std::string& content) {
  doc::Problems problems("");
  auto root =
      content.starts_with('{') ? doc::ParseJson(content, problems) : doc::ParseYaml(content, problems);
  return problems.empty() ? root : std::nullopt;
}

std::string Text(const Node& object, const std::string& key) {
  const Node* value = object.Find(key);
  return value == nullptr ? "" : value->text;
}

Node Document(const std::string& kind, KubeletVersion version) {
  const char* api_version =
      version >= kWritesV1beta1 ? "kubelet.config.k8s.io/v1beta1" : "kubelet.config.k8s.io/v1alpha1";
  return Node::Mapping({{"kind", Node::String(kind)}, {"apiVersion", Node::String(api_version)}});
}

// As Go's encoder: three characters escaped that JSON allows.
std::string ToText(const Node& node) {
  std::string text = doc::WriteJson(node) + "\n";
  text = base::ReplaceAll(text, "<", "\\u003c");
  text = base::ReplaceAll(text, ">", "\\u003e");
  return base::ReplaceAll(text, "&", "\\u0026");
}

Node ToNode(const Coordinates& of) {
  return Node::Mapping({{"uid", Node::String(of.uid)},
                        {"namespace", Node::String(of.namespace_name)},
                        {"name", Node::String(of.name)}});
}

Node ToNode(const HashedSecret& secret) {
  Node node = ToNode(secret.secret);
  node.Set("credentialHash", Node::String(std::string(secret.hash.Reveal())));
  return node;
}

template <typename Item>
void SetList(Node& node, const std::string& key, const std::vector<Item>& items) {
  if (items.empty()) return;
  std::vector<Node> nodes;
  for (const Item& item : items) nodes.push_back(ToNode(item));
  node.Set(key, Node::Sequence(std::move(nodes)));
}

Node ToNode(const CredentialEntry& entry) {
  Node node = Node::Mapping();
  SetList(node, "kubernetesSecrets", entry.secrets);
  SetList(node, "kubernetesServiceAccounts", entry.service_accounts);
  if (entry.node_pods_accessible) node.Set("nodePodsAccessible", Node::Bool(true));
  return node;
}

const Coordinates& CoordinatesOf(const HashedSecret& secret) {
  return secret.secret;
}
const Coordinates& CoordinatesOf(const Coordinates& account) {
  return account;
}
bool SameContent(const HashedSecret& a, const HashedSecret& b) {
  return a.hash.SameAs(b.hash);
}
bool SameContent(const Coordinates&, const Coordinates&) {
  return true;
}

// Rules 5 and 6: the union, newer content first; sorted if anything changed.
template <typename Item>
bool Unite(std::vector<Item>& known, const std::vector<Item>& news) {
  bool changed = false;
  for (const Item& item : news) {
    auto same = std::find_if(known.begin(), known.end(),
                             [&](const Item& each) { return CoordinatesOf(each) == CoordinatesOf(item); });
    if (same != known.end() && SameContent(*same, item)) continue;
    changed = true;
    if (same == known.end()) {
      known.push_back(item);
    } else {
      *same = item;
    }
  }
  if (!changed) return false;
  std::stable_sort(known.begin(), known.end(), [](const Item& a, const Item& b) {
    const Coordinates& x = CoordinatesOf(a);
    const Coordinates& y = CoordinatesOf(b);
    return std::tie(x.namespace_name, x.name, x.uid) < std::tie(y.namespace_name, y.name, y.uid);
  });
  return true;
}

bool HasNoContent(const CredentialEntry& entry) {
  return !entry.node_pods_accessible && entry.secrets.empty() && entry.service_accounts.empty();
}

}  // namespace

std::optional<StoredRecord> StoredRecord::Decode(const std::string& content, KubeletVersion version) {
  std::optional<Node> root = Parse(content);
  if (!root) return std::nullopt;
  kubelet::RecordReading read = kubelet::DecodeRecord(content, Text(*root, "imageRef"), version);
  if (read.reading != kubelet::Reading::kFound) return std::nullopt;
  return StoredRecord{std::move(read.record), Text(*root, "lastUpdatedTime")};
}

std::optional<std::string> IntendedImage(const std::string& content, KubeletVersion version) {
  std::optional<Node> root = Parse(content);
  if (!root) return std::nullopt;
  std::string image = Text(*root, "image");
  bool found = kubelet::DecodeIntent(content, image, version) == kubelet::Reading::kFound;
  return found ? std::optional(image) : std::nullopt;
}

std::string EncodeRecord(const StoredRecord& stored, KubeletVersion version) {
  Node node = Document("ImagePulledRecord", version);
  node.Set("lastUpdatedTime", Node::String(stored.updated))
      .Set("imageRef", Node::String(stored.record.image_ref));
  Node mapping = Node::Mapping();
  for (const auto& [key, entry] : stored.record.mapping) mapping.Set(key, ToNode(entry));
  if (!stored.record.mapping.empty()) node.Set("credentialMapping", std::move(mapping));
  return ToText(node);
}

std::string EncodeIntent(const std::string& image, KubeletVersion version) {
  Node node = Document("ImagePullIntent", version);
  node.Set("image", Node::String(image));
  return ToText(node);
}

bool MergeIntoRecord(kubelet::PulledRecord& record, const std::string& key, const CredentialEntry& news) {
  if (HasNoContent(news)) return false;
  auto known = record.mapping.find(key);
  if (known == record.mapping.end()) {
    record.mapping[key] = news;
    return true;
  }
  CredentialEntry& entry = known->second;
  if (entry.node_pods_accessible) return false;
  if (news.node_pods_accessible) {
    entry = {.node_pods_accessible = true};
    return true;
  }
  if (!news.secrets.empty()) return Unite(entry.secrets, news.secrets);
  return Unite(entry.service_accounts, news.service_accounts);
}

}  // namespace prefetch::tests
