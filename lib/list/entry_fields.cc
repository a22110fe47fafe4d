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
using plan::OnFailure;
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

std::optional<OnFailure> ReadDirective(ObjectReader& object, std::string_view key,
                                       const Capabilities& capabilities) {
  if (!object.Has(key)) return std::nullopt;
  auto value = object.Enum<OnFailure>(key, {{"Keep", OnFailure::kKeep}, {"NotReady", OnFailure::kNotReady}});
  if (!capabilities.registry_checks) object.Fail(key, kNoRegistryChecks);
  return value;
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
  std::sort(platforms.begin(), platforms.end(), less);
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

void ReadRegistryFields(ObjectReader& object, const Capabilities& capabilities, EntryFields& out) {
  out.refresh_interval = ReadSeconds(object, "refreshInterval", kLeastInterval, kLongestInterval);
  out.max_age = ReadSeconds(object, "maxAge", kLeastInterval, kLongestInterval);
  if (object.Has("refreshInterval") && !capabilities.refresh && !capabilities.registry_checks) {
    object.Fail("refreshInterval", kNoRegistryChecks);
  }
  if (object.Has("maxAge") && !capabilities.registry_checks) object.Fail("maxAge", kNoRegistryChecks);
  out.on_unreachable = ReadDirective(object, "onUnreachable", capabilities);
  out.on_access_denied = ReadDirective(object, "onAccessDenied", capabilities);
  out.on_tag_missing = ReadDirective(object, "onTagMissing", capabilities);
  out.on_stale = ReadDirective(object, "onStale", capabilities);
}

template <typename T>
void Put(const std::optional<T>& value, T& field) {
  if (value) field = *value;
}

// Returns those fields of this entry that relax the registry check.
std::vector<const char*> Leniences(const EntryFields& fields) {
  const std::pair<const char*, bool> all[] = {{"maxAge", fields.max_age.has_value()},
                                              {"onUnreachable", fields.on_unreachable.has_value()},
                                              {"onAccessDenied", fields.on_access_denied.has_value()},
                                              {"onTagMissing", fields.on_tag_missing.has_value()},
                                              {"onStale", fields.on_stale.has_value()}};
  std::vector<const char*> set;
  for (const auto& [name, is_set] : all) {
    if (is_set) set.push_back(name);
  }
  return set;
}

bool AsksRegistry(const plan::DesiredImage& image) {
  return image.refresh != Refresh::kIfNotPresent || image.ready_for == PullPolicy::kAlways;
}

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
void CheckRegistryFields(const ObjectReader& object, const EntryFields& own,
                         const plan::DesiredImage& image) {
  if (AsksRegistry(image)) return;
  std::vector<const char*> fields = Leniences(own);
  if (own.refresh_interval) fields.insert(fields.begin(), "refreshInterval");
  for (const char* field : fields) {
    object.Fail(
        field,
        "has no effect, since the registry is never asked: refresh is IfNotPresent and readyFor is not "
        "Always");
  }
}

}  // namespace

// Reads all fields even after a mistake, so that one run reports every mistake of the entry. Contradictions
// are checked later, beside the defaults.
EntryFields ReadFields(ObjectReader& object, const Capabilities& capabilities) {
  EntryFields out;
  out.required = object.Bool("required");
  out.ready_for = object.Enum<PullPolicy>("readyFor", {{"Never", PullPolicy::kNever},
                                                       {"IfNotPresent", PullPolicy::kIfNotPresent},
                                                       {"Always", PullPolicy::kAlways}});
  if (out.ready_for == PullPolicy::kAlways && !capabilities.registry_checks) {
    object.Fail("readyFor", kNoRegistryChecks);
  }
  out.refresh = object.Enum<Refresh>("refresh", {{"IfNotPresent", Refresh::kIfNotPresent},
                                                 {"IfDigestChanged", Refresh::kIfDigestChanged},
                                                 {"Always", Refresh::kAlways}});
  if (out.refresh.value_or(Refresh::kIfNotPresent) != Refresh::kIfNotPresent && !capabilities.refresh) {
    object.Fail("refresh", kNoRefresh);
  }
  ReadRegistryFields(object, capabilities, out);
  if (auto priority = object.Int("priority", {.least = -kHighestPriority, .most = kHighestPriority})) {
    out.priority = static_cast<int>(*priority);
  }
  out.open =
      object.Enum<Open>("open", {{"Auto", Open::kAuto}, {"Always", Open::kAlways}, {"Never", Open::kNever}});
  if (out.open == Open::kAlways && !capabilities.touch) object.Fail("open", kNoTouch);
  out.pull_timeout = ReadSeconds(object, "pullTimeout", kLeastPullTimeout, kLongestPullTimeout);
  out.platforms = ReadPlatforms(object);
  out.node_selector = ReadNodeSelector(object);
  out.pin = object.Bool("pin");
  out.pull_windows = ReadPullWindow(object);
  if (auto ready_as = ReadReadyAs(object)) out.ready_as = *std::move(ready_as);
  return out;
}

// refresh: Always is strict. A field that relaxes the check contradicts it, and is rejected rather than
// ignored.
bool CheckStrict(const ObjectReader& object, const EntryFields& own, const plan::DesiredImage& image) {
  if (image.refresh != Refresh::kAlways) return true;
  std::vector<const char*> fields = Leniences(own);
  for (const char* field : fields) {
    object.Fail(field,
                "contradicts refresh: Always, which makes an image ready only while its registry agrees: "
                "leave it out, or set refresh: IfDigestChanged");
  }
  return fields.empty();
}

void CheckContradictions(const ObjectReader& object, const EntryFields& own,
                         const plan::DesiredImage& image) {
  if (own.refresh.value_or(Refresh::kIfNotPresent) != Refresh::kIfNotPresent &&
      image.reference.has_digest()) {
    object.Fail("refresh", "contradicts the digest of the image: a digest always names the same content");
  }
  CheckRegistryFields(object, own, image);
  // The checks below compare maxAge with other fields. After a contradiction with refresh: Always they would
  // only repeat it.
  if (!CheckStrict(object, own, image)) return;
  // A contradiction inside `defaults` is reported there, once, and not again for each entry.
  bool own_ages = own.max_age.has_value() || own.refresh_interval.has_value();
  if (own_ages && image.max_age && *image.max_age < image.refresh_interval) {
    object.Fail(own.max_age ? "maxAge" : "refreshInterval",
                "contradicts itself: the image would be stale before it is asked for again; maxAge is " +
                    doc::FormatDuration(*image.max_age) + ", refreshInterval is " +
                    doc::FormatDuration(image.refresh_interval));
  }
  if (own.on_stale && !image.max_age) object.Fail("onStale", "has no effect without maxAge");
}

// Sets only fields that are present, so DesiredImage's own defaults stay in force.
void Apply(const EntryFields& fields, plan::DesiredImage& image) {
  Put(fields.required, image.required);
  Put(fields.ready_for, image.ready_for);
  Put(fields.refresh, image.refresh);
  Put(fields.refresh_interval, image.refresh_interval);
  if (fields.max_age) image.max_age = fields.max_age;
  Put(fields.on_unreachable, image.on_unreachable);
  Put(fields.on_access_denied, image.on_access_denied);
  Put(fields.on_tag_missing, image.on_tag_missing);
  Put(fields.on_stale, image.on_stale);
  Put(fields.priority, image.priority);
  Put(fields.open, image.open);
  Put(fields.pull_timeout, image.pull_timeout);
  Put(fields.platforms, image.nodes.platforms);
  Put(fields.node_selector, image.nodes.node_selector);
  Put(fields.ready_as, image.ready_as);
  Put(fields.pin, image.pin);
  Put(fields.pull_windows, image.pull_windows);
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
         std::all_of(text.begin(), text.end(), [](char c) { return base::IsAlphanumeric(c) || c == '-'; });
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
    bool twice = std::any_of(pod_.secrets.begin(), pod_.secrets.end(),
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
    std::sort(pod_.secrets.begin(), pod_.secrets.end(),
              [](const Coordinates& a, const Coordinates& b) { return a.name < b.name; });
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
