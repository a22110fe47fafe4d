#include "kubelet/records.h"

#include <optional>

#include "base/sha256.h"
#include "base/text.h"
#include "doc/duration.h"
#include "doc/json.h"
#include "doc/reader.h"
#include "doc/yaml.h"
#include "kubelet/settings.h"

namespace prefetch::kubelet {

namespace {

using image::KubeletVersion;

constexpr KubeletVersion kReadsV1beta1{1, 35};
// Enough for a record of many thousands of secrets. verdict_reader.h reads no more.
constexpr doc::Limits kLimits{.bytes = 8 << 20, .depth = 16, .nodes = 1'000'000};

// kubelet takes what begins with a brace for JSON and everything else for YAML.
bool LooksLikeJson(std::string_view text) {
  std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

std::optional<doc::Node> ReadTree(std::string_view text, doc::Problems& problems) {
  return LooksLikeJson(text) ? doc::ParseJson(text, problems, doc::JsonRules::kStrict, kLimits)
                             : doc::ParseYaml(text, problems, kLimits);
}

// Gives the object to `read`. null stands for an empty object, as in Go.
template <typename Read>
void ReadObject(const doc::Reader& reader, Read read) {
  if (reader.IsNull()) return;
  doc::ObjectReader object(reader);
  read(object);
  object.Finish();
}

void ReadCoordinates(doc::ObjectReader& object, Coordinates& out) {
  out.uid = object.String("uid").value_or("");
  out.namespace_name = object.String("namespace").value_or("");
  out.name = object.String("name").value_or("");
}

CredentialEntry ReadEntry(const doc::Reader& reader, KubeletVersion version) {
  CredentialEntry entry;
  ReadObject(reader, [&](doc::ObjectReader& object) {
    entry.node_pods_accessible = object.Bool("nodePodsAccessible").value_or(false);
    for (const doc::Reader& item : object.Items("kubernetesSecrets")) {
      ReadObject(item, [&, &secret = entry.secrets.emplace_back()](doc::ObjectReader& fields) {
        ReadCoordinates(fields, secret.secret);
        secret.hash = base::Secret(fields.String("credentialHash").value_or(""));
      });
    }
    // An older kubelet does not know the field. Its strict decoder rejects a record that has it (K15), as
    // Finish() does.
    if (version < kFirstWithServiceAccounts) return;
    for (const doc::Reader& item : object.Items("kubernetesServiceAccounts")) {
      ReadObject(item, [&, &account = entry.service_accounts.emplace_back()](doc::ObjectReader& fields) {
        ReadCoordinates(fields, account);
      });
    }
  });
  return entry;
}

// K15: versions before 1.35 read v1alpha1 only, later ones both.
void ReadKind(doc::ObjectReader& object, std::string_view kind, KubeletVersion version) {
  object.Expect("kind", kind);
  if (version < kReadsV1beta1) {
    object.Expect("apiVersion", "kubelet.config.k8s.io/v1alpha1");
  } else {
    object.Enum<int>("apiVersion",
                     {{"kubelet.config.k8s.io/v1alpha1", 1}, {"kubelet.config.k8s.io/v1beta1", 2}},
                     doc::Need::kRequired);
  }
}

}  // namespace

RecordReading DecodeRecord(std::string_view content, std::string_view image_ref, KubeletVersion version) {
  doc::Problems problems("");
  std::optional<doc::Node> root = ReadTree(content, problems);
  if (!root) return {Reading::kUndecodable, {}};
  PulledRecord record;
  doc::ObjectReader object(doc::Reader(*root, problems));
  ReadKind(object, "ImagePulledRecord", version);
  record.image_ref = object.String("imageRef").value_or("");
  if (std::optional<std::string> time = object.String("lastUpdatedTime");
      time && !doc::ParseTimestamp(*time)) {
    object.Fail("lastUpdatedTime", "must be a time");
  }
  if (std::optional<doc::Reader> mapping = object.Find("credentialMapping")) {
    for (const auto& [name, entry] : mapping->Members()) record.mapping[name] = ReadEntry(entry, version);
  }
  object.Finish();
  // Undecodable comes before absent: kubelet has to decode a record before it knows whether it is about
  // another image (K16, K20).
  if (!problems.empty()) return {Reading::kUndecodable, {}};
  if (record.image_ref != image_ref) return {Reading::kAbsent, {}};
  return {Reading::kFound, std::move(record)};
}

Reading DecodeIntent(std::string_view content, std::string_view image, KubeletVersion version) {
  doc::Problems problems("");
  std::optional<doc::Node> root = ReadTree(content, problems);
  if (!root) return Reading::kUndecodable;
  doc::ObjectReader object(doc::Reader(*root, problems));
  ReadKind(object, "ImagePullIntent", version);
  std::string named = object.String("image").value_or("");
  object.Finish();
  if (!problems.empty()) return Reading::kUndecodable;
  return named == image ? Reading::kFound : Reading::kAbsent;
}

std::string FileNameFor(std::string_view image_ref_or_image) {
  return "sha256-" + base::Sha256Hex(image_ref_or_image);
}

std::string RecordMismatchReason(std::string_view name, std::string_view version) {
  // K18: CRI-O before 1.35.2 names the image of a pull by another id than its ImageStatus does.
  if (name != "cri-o" || version.empty() || base::IsAtLeast(version, {1, 35, 2})) return "";
  return "with CRI-O " + std::string(version) +
         " kubelet files its records under a name that it never looks up: images count as preloaded, and "
         "under "
         "AlwaysVerify or NeverVerifyAllowlistedImages every start asks the registry; CRI-O 1.35.2 mends it";
}

}  // namespace prefetch::kubelet
