#include "list/entry_fields.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/label_syntax.h"
#include "base/text.h"
#include "doc/duration.h"

namespace prefetch::list {

namespace {

using doc::ObjectReader;
using image::PullPolicy;
using plan::Open;
using plan::Refresh;
using std::chrono::seconds;

// A list may ask only for what its agent can do. The agent rejects other lists instead of ignoring the field,
// since the author would otherwise rely on checks that never happen.
constexpr const char* kNoRefresh =
    "this agent asks no registry (--registry none); only IfNotPresent is possible";
constexpr const char* kNoRegistryChecks = "has no effect here: this agent asks no registry (--registry none)";
constexpr const char* kNoTouch =
    "touching images is not possible here, since --touch is off; Auto and Never are";

std::optional<seconds> ReadSeconds(ObjectReader& object, std::string_view key, seconds least, seconds most) {
  auto value = object.Duration(key, {.least = least, .most = most});
  if (!value) return std::nullopt;
  auto whole = std::chrono::duration_cast<seconds>(*value);
  // The canonical form and the agent's timers count whole seconds.
  if (whole != *value) {
    object.Fail(key, "must be whole seconds");
    return std::nullopt;
  }
  return whole;
}

std::optional<std::vector<image::Platform>> ReadPlatforms(ObjectReader& object) {
  std::optional<doc::Reader> list = object.Find("platforms");
  if (!list) return std::nullopt;
  std::vector<image::Platform> platforms;
  if (list->node().items.size() > kMostPlatforms) list->Fail("has more than 100 platforms");
  for (const doc::Reader& item : list->Items()) {
    std::optional<std::string> text = item.String();
    if (!text) continue;
    base::Result<image::Platform> platform = image::Platform::Parse(*text);
    if (platform) {
      platforms.push_back(*std::move(platform));
    } else {
      item.Fail(platform.error().message());
    }
  }
  // The platforms are a set: their order in the file must not influence the hash.
  auto less = [](const image::Platform& a, const image::Platform& b) { return a.ToString() < b.ToString(); };
  std::ranges::sort(platforms, less);
  platforms.erase(std::unique(platforms.begin(), platforms.end()), platforms.end());
  return platforms;
}

std::optional<image::NodeLabels> ReadNodeSelector(ObjectReader& object) {
  std::optional<doc::Reader> written = object.Find("nodeSelector");
  if (!written) return std::nullopt;
  image::NodeLabels selector;
  const std::vector<std::pair<std::string, doc::Reader>> members = written->Members();
  if (members.size() > kMostSelectorLabels) written->Fail("has more than 20 labels");
  for (const auto& [key, item] : members) {
    if (!base::IsLabelKey(key)) item.Fail("its key must be one of a label, such as pool or example.com/pool");
    std::optional<std::string> value = item.String();
    if (!value) continue;
    if (!value->empty() && !base::IsLabelPart(*value)) {
      item.Fail("must be the value of a label: at most 63 letters, digits, dots, dashes, underscores");
    }
    selector.emplace(key, *std::move(value));
  }
  return selector;
}

// Fields that relax the registry check.
constexpr const char* kLeniences[] = {"maxAge", "onUnreachable", "onAccessDenied", "onTagMissing", "onStale"};

// Reads the fields of one object into an image.
class FieldReader {
 public:
  FieldReader(ObjectReader& object, const Capabilities& capabilities, plan::DesiredImage& image)
      : object_(object), capabilities_(capabilities), image_(image) {}

  // Reads all fields even after a mistake, so that one run reports every mistake of the entry. Contradictions
  // are checked later, beside the defaults.
  FieldNames Read() {
    Set("required", object_.Bool("required"), image_.required);
    Enum("readyFor", image_.ready_for);
    Enum("refresh", image_.refresh);
    Seconds("refreshInterval", kLeastInterval, kLongestInterval, image_.refresh_interval);
    Seconds("maxAge", kLeastInterval, kLongestInterval, image_.max_age);
    Enum("onUnreachable", image_.on_unreachable);
    Enum("onAccessDenied", image_.on_access_denied);
    Enum("onTagMissing", image_.on_tag_missing);
    Enum("onStale", image_.on_stale);
    const auto priority = object_.Int("priority", {.least = -kHighestPriority, .most = kHighestPriority});
    if (priority) image_.priority = static_cast<int>(*priority);
    Enum("open", image_.open);
    Seconds("pullTimeout", kLeastPullTimeout, kLongestPullTimeout, image_.pull_timeout);
    Set("platforms", ReadPlatforms(object_), image_.nodes.platforms);
    Set("nodeSelector", ReadNodeSelector(object_), image_.nodes.node_selector);
    Set("pin", object_.Bool("pin"), image_.pin);
    Set("pullWindow", ReadPullWindow(object_), image_.pull_windows);
    Set("readyAs", ReadReadyAs(object_), image_.ready_as);
    CheckCapabilities();
    return std::move(own_);
  }

 private:
  template <typename T, typename Field>
  void Set(const char* key, std::optional<T> value, Field& field) {
    if (!value) return;
    field = *std::move(value);
    own_.insert(key);
  }

  template <typename E>
  void Enum(const char* key, E& field) {
    Set(key, object_.Enum<E>(key), field);
  }

  template <typename Field>
  void Seconds(const char* key, seconds least, seconds most, Field& field) {
    Set(key, ReadSeconds(object_, key, least, most), field);
  }

  void CheckCapabilities() {
    if (!capabilities_.refresh && own_.contains("refresh") && image_.refresh != Refresh::kIfNotPresent) {
      object_.Fail("refresh", kNoRefresh);
    }
    if (!capabilities_.touch && own_.contains("open") && image_.open == Open::kAlways) {
      object_.Fail("open", kNoTouch);
    }
    if (capabilities_.registry_checks) return;
    if (own_.contains("readyFor") && image_.ready_for == PullPolicy::kAlways) {
      object_.Fail("readyFor", kNoRegistryChecks);
    }
    if (!capabilities_.refresh && object_.Has("refreshInterval")) {
      object_.Fail("refreshInterval", kNoRegistryChecks);
    }
    for (const char* key : kLeniences) {
      if (object_.Has(key)) object_.Fail(key, kNoRegistryChecks);
    }
  }

  ObjectReader& object_;
  const Capabilities& capabilities_;
  plan::DesiredImage& image_;
  FieldNames own_;
};

// Defaults about registries do not apply to entries that are never checked, nor to strict ones (refresh:
// Always). They are reset here, so that the canonical form is a list with the same meaning.
void ResetUnusedRegistryFields(plan::DesiredImage& image) {
  static const plan::DesiredImage kDefault;
  const bool asks_registry = AsksRegistry(image);
  if (!asks_registry) image.refresh_interval = kDefault.refresh_interval;
  if (asks_registry && image.refresh != Refresh::kAlways) return;
  image.max_age = kDefault.max_age;
  image.on_unreachable = kDefault.on_unreachable;
  image.on_access_denied = kDefault.on_access_denied;
  image.on_tag_missing = kDefault.on_tag_missing;
  image.on_stale = kDefault.on_stale;
}

// Rejects fields that have no effect because the registry is never asked. Only the entry's own fields count:
// a default is meant for the other entries, too.
void CheckRegistryFields(const ObjectReader& object, const FieldNames& own, const plan::DesiredImage& image) {
  if (AsksRegistry(image)) return;
  auto check = [&](const char* field) {
    if (!own.contains(field)) return;
    object.Fail(
        field,
        "has no effect, since the registry is never asked: refresh is IfNotPresent and readyFor is not "
        "Always");
  };
  check("refreshInterval");
  for (const char* field : kLeniences) check(field);
}

}  // namespace

bool AsksRegistry(const plan::DesiredImage& image) {
  return image.refresh != Refresh::kIfNotPresent || image.ready_for == PullPolicy::kAlways;
}

FieldNames ReadFields(ObjectReader& object, const Capabilities& capabilities, plan::DesiredImage& image) {
  return FieldReader(object, capabilities, image).Read();
}

// refresh: Always is strict. A field that relaxes the check contradicts it, and is rejected rather than
// ignored.
bool CheckStrict(const ObjectReader& object, const FieldNames& own, const plan::DesiredImage& image) {
  if (image.refresh != Refresh::kAlways) return true;
  bool good = true;
  for (const char* field : kLeniences) {
    if (!own.contains(field)) continue;
    good = false;
    object.Fail(field,
                "contradicts refresh: Always, which makes an image ready only while its registry agrees: "
                "leave it out, or set refresh: IfDigestChanged");
  }
  return good;
}

void CheckContradictions(const ObjectReader& object, const FieldNames& own, const plan::DesiredImage& image) {
  if (own.contains("refresh") && image.refresh != Refresh::kIfNotPresent && image.reference.has_digest()) {
    object.Fail("refresh", "contradicts the digest of the image: a digest always names the same content");
  }
  CheckRegistryFields(object, own, image);
  // The checks below compare maxAge with other fields. After a contradiction with refresh: Always they would
  // only repeat it.
  if (!CheckStrict(object, own, image)) return;
  // A contradiction inside `defaults` is reported there, once, and not again for each entry.
  const bool own_ages = own.contains("maxAge") || own.contains("refreshInterval");
  if (own_ages && image.max_age && *image.max_age < image.refresh_interval) {
    object.Fail(own.contains("maxAge") ? "maxAge" : "refreshInterval",
                "contradicts itself: the image would be stale before it is asked for again; maxAge is " +
                    doc::FormatDuration(*image.max_age) + ", refreshInterval is " +
                    doc::FormatDuration(image.refresh_interval));
  }
  if (own.contains("onStale") && !image.max_age) object.Fail("onStale", "has no effect without maxAge");
}

void DropUnusedDefaults(plan::DesiredImage& image) {
  // A default may ask for refreshes of all entries. It is dropped for a digest, which always names the same
  // content; CheckContradictions rejects the entry's own refresh.
  if (image.reference.has_digest()) image.refresh = Refresh::kIfNotPresent;
  ResetUnusedRegistryFields(image);
}

// The field `pullWindow`.

namespace {

using doc::Need;
using doc::Node;
using std::chrono::minutes;

constexpr minutes kDay = plan::PullWindow{}.end;

// Reads "22:00", and as an end also "24:00".
std::optional<minutes> ReadTime(ObjectReader& object, const char* key, minutes most) {
  std::optional<std::string> text = object.String(key, Need::kRequired);
  if (!text) return std::nullopt;
  auto digit = [&](std::size_t at) { return (*text)[at] - '0'; };
  const bool digits = text->size() == 5 && (*text)[2] == ':' && text->find_first_not_of("0123456789") == 2 &&
                      text->find_first_not_of("0123456789", 3) == std::string::npos;
  if (digits) {
    const minutes time(60 * (10 * digit(0) + digit(1)) + 10 * digit(3) + digit(4));
    if (digit(3) < 6 && time <= most) return time;
  }
  object.Fail(key, "must be a time of the day, such as 06:30");
  return std::nullopt;
}

unsigned ReadDays(ObjectReader& object) {
  std::optional<doc::Reader> list = object.Find("days");
  if (!list) return plan::kEveryDay;
  unsigned days = 0;
  for (const doc::Reader& item : list->Items()) {
    std::optional<unsigned> day = item.Enum<unsigned>(
        {{"Mon", 0}, {"Tue", 1}, {"Wed", 2}, {"Thu", 3}, {"Fri", 4}, {"Sat", 5}, {"Sun", 6}});
    if (day) days |= 1U << *day;
  }
  if (list->node().items.empty()) list->Fail("must name a day, or be left out");
  return days;
}

}  // namespace

std::optional<std::vector<plan::PullWindow>> ReadPullWindow(ObjectReader& object) {
  std::optional<ObjectReader> written = object.Object("pullWindow");
  if (!written) return std::nullopt;
  plan::PullWindow window;
  const std::optional<minutes> start = ReadTime(*written, "start", kDay - minutes(1));
  const std::optional<minutes> end = ReadTime(*written, "end", kDay);
  if (start && end && *start == *end) {
    written->Fail("end", "must differ from start; the whole day is 00:00 to 24:00");
  }
  window.start = start.value_or(window.start);
  window.end = end.value_or(window.end);
  window.days = ReadDays(*written);
  if (std::optional<std::string> name = written->String("timeZone")) {
    std::optional<base::TimeZone> zone = base::TimeZone::Find(*name);
    if (zone) window.zone = *zone;
    if (!zone) {
      written->Fail("timeZone",
                    "must be a name of the tz database, such as Europe/Berlin, that this version knows; "
                    "Etc/GMT-1 is UTC+1");
    }
  }
  written->Finish();
  // The whole of every day is no limit: an entry so ends a default.
  const bool always = window.start == minutes(0) && window.end == kDay && window.days == plan::kEveryDay;
  return always ? std::vector<plan::PullWindow>() : std::vector{window};
}

Node PullWindowNode(const plan::PullWindow& window) {
  Node node = Node::Mapping({{"start", Node::String(plan::TimeOfDay(window.start))},
                             {"end", Node::String(plan::TimeOfDay(window.end))}});
  if (window.days != plan::kEveryDay) {
    std::vector<Node> days;
    for (unsigned bit = 0; bit < plan::kDayNames.size(); bit++) {
      if ((window.days >> bit & 1U) != 0) days.push_back(Node::String(plan::kDayNames[bit]));
    }
    node.Set("days", Node::Sequence(std::move(days)));
  }
  if (window.zone != base::TimeZone()) node.Set("timeZone", Node::String(std::string(window.zone.name())));
  return node;
}

namespace {

using doc::Reader;
using image::Coordinates;

// Kubernetes: names of Secrets and ServiceAccounts are DNS subdomains, those of namespaces DNS labels
// (apimachinery/pkg/util/validation); a UID is any text to it, though each is a UUID.
constexpr std::size_t kLongestUid = 128;

bool IsUid(std::string_view text) {
  return !text.empty() && text.size() <= kLongestUid &&
         std::ranges::all_of(text, [](char c) { return base::IsAlphanumeric(c) || c == '-'; });
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
    if (!secret || !IsInPodNamespace(object, *secret)) return;
    // All secrets have the same namespace, so that equal names mean the same Secret.
    bool twice = std::ranges::any_of(pod_.secrets,
                                     [&](const Coordinates& known) { return known.name == secret->name; });
    if (twice) return object.Fail("name", "is named twice");
    pod_.secrets.push_back(*std::move(secret));
  }

  void SetAccount(const ObjectReader& object) {
    std::optional<Coordinates> account = ReadCoordinates(object);
    if (account && IsInPodNamespace(object, *account)) pod_.service_account = std::move(account);
  }

  // The secrets are a set: their order in the file must not influence the hash.
  image::PodCredentialRefs Take() {
    std::ranges::sort(pod_.secrets, {}, &Coordinates::name);
    return std::move(pod_);
  }

 private:
  // The first namespace that appears is the pod's: a pod can only use Secrets and a ServiceAccount of its own
  // namespace.
  bool IsInPodNamespace(const ObjectReader& object, const Coordinates& of) {
    if (namespace_.empty()) namespace_ = of.namespace_name;
    if (of.namespace_name == namespace_) return true;
    object.Fail("namespace", "must be " + namespace_ + ", too: readyAs is one pod, which has one namespace");
    return false;
  }

  image::PodCredentialRefs pod_;
  std::string namespace_;
};

Node CoordinatesNode(const Coordinates& of) {
  Node node =
      Node::Mapping({{"namespace", Node::String(of.namespace_name)}, {"name", Node::String(of.name)}});
  if (!of.uid.empty()) node.Set("uid", Node::String(of.uid));
  return node;
}

}  // namespace

std::optional<image::PodCredentialRefs> ReadReadyAs(ObjectReader& object) {
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

Node ReadyAsNode(const image::PodCredentialRefs& pod) {
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
