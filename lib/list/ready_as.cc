#include "base/label_syntax.h"
#include "list/entry_fields.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace prefetch::list {
namespace {

using doc::Need;
using doc::Node;
using doc::ObjectReader;
using doc::Reader;
using image::Coordinates;

// Kubernetes: names of Secrets and ServiceAccounts are DNS subdomains, those of namespaces DNS labels
// (apimachinery/pkg/util/validation); a UID is any text to it, though each is a UUID.
constexpr std::size_t kLongestUid = 128;

bool IsAlphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool IsUid(std::string_view text) {
  return !text.empty() && text.size() <= kLongestUid && std::all_of(text.begin(), text.end(), [](char c) {
    return IsAlphanumeric(c) || (c >= 'A' && c <= 'Z') || c == '-';
  });
}

// Returns nullopt after it has reported the mistake.
std::optional<Coordinates> ReadCoordinates(ObjectReader object) {
  std::optional<std::string> name_space = object.String("namespace", Need::kRequired);
  std::optional<std::string> name = object.String("name", Need::kRequired);
  std::optional<std::string> uid = object.String("uid");
  object.Finish();
  if (!name_space || !name) return std::nullopt;
  bool good = true;
  auto check = [&](const char* key, bool is_good, const char* message) {
    if (!is_good) object.Fail(key, message);
    good = good && is_good;
  };
  check("namespace", base::IsDnsLabel(*name_space),
        "must be the name of a namespace: small letters, digits and hyphens");
  check("name", base::IsDnsSubdomain(*name),
        "must be the name of an object: small letters, digits, hyphens and dots");
  check("uid", !uid || IsUid(*uid), "must be the object's metadata.uid");
  if (!good) return std::nullopt;
  return Coordinates{.uid = uid.value_or(""), .namespace_name = *name_space, .name = *name};
}

// Collects the parts of one pod, and checks that they can belong to one.
class PodParts {
 public:
  void AddSecret(const Reader& item) {
    ObjectReader object(item);
    std::optional<Coordinates> secret = ReadCoordinates(object);
    if (!secret || !IsOfThePod(object, *secret)) return;
    // All secrets have the same namespace, so that equal names mean the same Secret.
    bool twice = std::any_of(pod_.secrets.begin(), pod_.secrets.end(),
                             [&](const Coordinates& known) { return known.name == secret->name; });
    if (twice) return object.Fail("name", "is named twice");
    pod_.secrets.push_back(*std::move(secret));
  }

  void SetAccount(const ObjectReader& object) {
    std::optional<Coordinates> account = ReadCoordinates(object);
    if (account && IsOfThePod(object, *account)) pod_.service_account = std::move(account);
  }

  // The secrets are a set: their order in the file must not influence the hash.
  image::PodCoordinates Take() {
    std::sort(pod_.secrets.begin(), pod_.secrets.end(),
              [](const Coordinates& a, const Coordinates& b) { return a.name < b.name; });
    return std::move(pod_);
  }

 private:
  // The first namespace that appears is the pod's: a pod can only use Secrets and a ServiceAccount of its own
  // namespace.
  bool IsOfThePod(const ObjectReader& object, const Coordinates& of) {
    if (namespace_.empty()) namespace_ = of.namespace_name;
    if (of.namespace_name == namespace_) return true;
    object.Fail("namespace", "must be " + namespace_ + ", too: readyAs is one pod, which has one namespace");
    return false;
  }

  image::PodCoordinates pod_;
  std::string namespace_;
};

Node CoordinatesNode(const Coordinates& of) {
  Node node = Node::Mapping();
  node.Set("namespace", Node::String(of.namespace_name));
  node.Set("name", Node::String(of.name));
  if (!of.uid.empty()) node.Set("uid", Node::String(of.uid));
  return node;
}

}  // namespace

std::optional<image::PodCoordinates> ReadReadyAs(ObjectReader& object) {
  std::optional<ObjectReader> written = object.Object("readyAs");
  if (!written) return std::nullopt;
  PodParts parts;
  std::vector<Reader> secrets = written->Items("secrets");
  if (secrets.size() > kMostReadyAsSecrets) {
    written->Fail("secrets", "has more than 100 secrets");
    secrets.clear();
  }
  for (const Reader& secret : secrets) parts.AddSecret(secret);
  if (auto account = written->Object("serviceAccount")) parts.SetAccount(*account);
  written->Finish();
  return parts.Take();
}

Node ReadyAsNode(const image::PodCoordinates& pod) {
  Node node = Node::Mapping();
  if (!pod.secrets.empty()) {
    std::vector<Node> secrets;
    for (const Coordinates& secret : pod.secrets) secrets.push_back(CoordinatesNode(secret));
    node.Set("secrets", Node::Sequence(std::move(secrets)));
  }
  if (pod.service_account) node.Set("serviceAccount", CoordinatesNode(*pod.service_account));
  return node;
}

}  // namespace prefetch::list
