#include "kube/decode.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "doc/duration.h"
#include "http/headers.h"

namespace prefetch::kube {

namespace {

bool IsTrue(const doc::Node* value) {
  return value != nullptr && value->kind == doc::Node::Kind::kBool && value->boolean;
}

std::optional<base::WallTime> TimeAt(const doc::Node& object, const char* key) {
  return ParseRfc3339(TextAt(object, {key}));
}

std::map<std::string, std::string> TextsAt(const doc::Node& object, doc::Path path) {
  std::map<std::string, std::string> texts;
  for (const doc::Member& member : doc::MembersAt(object, path)) texts[member.key] = member.value.text;
  return texts;
}

NodeCondition DecodeCondition(const doc::Node& condition) {
  return {.type = TextAt(condition, {"type"}),
          .status = TextAt(condition, {"status"}),
          .reason = TextAt(condition, {"reason"}),
          .message = TextAt(condition, {"message"}),
          .last_heartbeat = TimeAt(condition, "lastHeartbeatTime"),
          .last_transition = TimeAt(condition, "lastTransitionTime")};
}

Taint DecodeTaint(const doc::Node& taint) {
  return {.key = TextAt(taint, {"key"}),
          .value = TextAt(taint, {"value"}),
          .effect = TextAt(taint, {"effect"}),
          .time_added = TextAt(taint, {"timeAdded"})};
}

void AddStatuses(const std::vector<doc::Node>& statuses, bool init, std::vector<PodContainer>& containers) {
  for (const doc::Node& status : statuses) {
    std::string name = TextAt(status, {"name"});
    // Statuses come in an order of their own, and only once kubelet has written them, so they are matched by
    // name.
    auto container = std::find_if(containers.begin(), containers.end(), [&](const PodContainer& candidate) {
      return candidate.init == init && candidate.name == name;
    });
    if (container == containers.end()) continue;
    container->ready = IsTrue(status.Find("ready"));
    container->image_id = TextAt(status, {"imageID"});
    container->waiting_reason = TextAt(status, {"state", "waiting", "reason"});
    container->waiting_message = TextAt(status, {"state", "waiting", "message"});
    container->terminated_reason = TextAt(status, {"state", "terminated", "reason"});
  }
}

std::map<std::string, std::uint16_t> PortsOf(const doc::Node& container) {
  std::map<std::string, std::uint16_t> ports;
  for (const doc::Node& port : ItemsAt(container, {"ports"})) {
    const doc::Node* number = port.Find("containerPort");
    // Only named ports are of use here: callers look a port up by its name.
    bool good = number != nullptr && number->kind == doc::Node::Kind::kInt && number->integer > 0 &&
                number->integer < 65536;
    std::string name = TextAt(port, {"name"});
    if (good && !name.empty()) ports[name] = static_cast<std::uint16_t>(number->integer);
  }
  return ports;
}

// Joins the containers of the spec with their statuses.
std::vector<PodContainer> ContainersOf(const doc::Node& pod) {
  std::vector<PodContainer> containers;
  auto add = [&](const char* list, bool init) {
    for (const doc::Node& spec : ItemsAt(pod, {"spec", list})) {
      PodContainer container{.name = TextAt(spec, {"name"}), .image = TextAt(spec, {"image"})};
      container.pull_policy = TextAt(spec, {"imagePullPolicy"});
      container.init = init;
      container.ports = PortsOf(spec);
      containers.push_back(std::move(container));
    }
  };
  // Init containers come first, as kubelet pulls and runs them.
  add("initContainers", true);
  add("containers", false);
  AddStatuses(ItemsAt(pod, {"status", "initContainerStatuses"}), true, containers);
  AddStatuses(ItemsAt(pod, {"status", "containerStatuses"}), false, containers);
  return containers;
}

bool IsReady(const doc::Node& pod) {
  const auto& conditions = ItemsAt(pod, {"status", "conditions"});
  return std::any_of(conditions.begin(), conditions.end(), [](const doc::Node& condition) {
    return TextAt(condition, {"type"}) == "Ready" && TextAt(condition, {"status"}) == "True";
  });
}

}  // namespace

// Decodes only what the agent and the commands use. Missing members are empty.
std::optional<Node> DecodeNode(const doc::Node& object) {
  Node node{.name = TextAt(object, {"metadata", "name"}),
            .uid = TextAt(object, {"metadata", "uid"}),
            .resource_version = TextAt(object, {"metadata", "resourceVersion"}),
            .labels = TextsAt(object, {"metadata", "labels"})};
  // Every object of the API has a name. Without one, this is an answer of something else.
  if (node.name.empty()) return std::nullopt;
  node.unschedulable = IsTrue(ValueAt(object, {"spec", "unschedulable"}));
  node.deleting = !TextAt(object, {"metadata", "deletionTimestamp"}).empty();
  for (const doc::Node& taint : ItemsAt(object, {"spec", "taints"})) {
    node.taints.push_back(DecodeTaint(taint));
  }
  for (const doc::Node& condition : ItemsAt(object, {"status", "conditions"})) {
    node.conditions.push_back(DecodeCondition(condition));
  }
  for (const doc::Node& address : ItemsAt(object, {"status", "addresses"})) {
    const std::string type = TextAt(address, {"type"});
    if (type == "InternalIP" || type == "ExternalIP") node.addresses.push_back(TextAt(address, {"address"}));
  }
  node.kubelet_version = TextAt(object, {"status", "nodeInfo", "kubeletVersion"});
  return node;
}

std::optional<Pod> DecodePod(const doc::Node& object) {
  Pod pod{.name = TextAt(object, {"metadata", "name"}),
          .name_space = TextAt(object, {"metadata", "namespace"}),
          .uid = TextAt(object, {"metadata", "uid"}),
          .node = TextAt(object, {"spec", "nodeName"}),
          .phase = TextAt(object, {"status", "phase"}),
          .reason = TextAt(object, {"status", "reason"}),
          .message = TextAt(object, {"status", "message"}),
          .ready = IsReady(object),
          .terminating = !TextAt(object, {"metadata", "deletionTimestamp"}).empty(),
          .service_account = TextAt(object, {"spec", "serviceAccountName"})};
  if (pod.name.empty()) return std::nullopt;
  for (const doc::Node& secret : ItemsAt(object, {"spec", "imagePullSecrets"})) {
    pod.image_pull_secrets.push_back(TextAt(secret, {"name"}));
  }
  pod.containers = ContainersOf(object);
  for (const doc::Node& container : ItemsAt(object, {"spec", "ephemeralContainers"})) {
    pod.ephemeral_images.push_back(TextAt(container, {"image"}));
  }
  for (const doc::Node& volume : ItemsAt(object, {"spec", "volumes"})) {
    if (volume.Find("image") != nullptr) pod.image_volumes.push_back(TextAt(volume, {"image", "reference"}));
  }
  return pod;
}

std::optional<ServiceAccount> DecodeServiceAccount(const doc::Node& object) {
  ServiceAccount account{.name = TextAt(object, {"metadata", "name"}),
                         .uid = TextAt(object, {"metadata", "uid"}),
                         .annotations = TextsAt(object, {"metadata", "annotations"})};
  if (account.name.empty()) return std::nullopt;
  return account;
}

std::optional<base::TokenReview> DecodeTokenReview(const doc::Node& object) {
  const doc::Node* status = doc::ValueAt(object, {"status"});
  // The kind is checked: another object must never count as an answer about a token.
  if (status == nullptr || TextAt(object, {"kind"}) != "TokenReview") return std::nullopt;
  const doc::Node* authenticated = status->Find("authenticated");
  base::TokenReview review{.authenticated = authenticated != nullptr && authenticated->boolean,
                           .user = TextAt(*status, {"user", "username"}),
                           .user_uid = TextAt(*status, {"user", "uid"})};
  for (const doc::Node& audience : doc::ItemsAt(*status, {"audiences"})) {
    review.audiences.push_back(audience.text);
  }
  // The API server reports the pod of a bound token in these extra fields (k8s.io/apiserver
  // pkg/authentication/serviceaccount/util.go).
  auto extra = [&](std::string_view name) {
    const auto& values = doc::ItemsAt(*status, {"user", "extra", name});
    return values.empty() ? "" : values.front().text;
  };
  review.node = extra("authentication.kubernetes.io/node-name");
  review.pod = extra("authentication.kubernetes.io/pod-name");
  review.pod_uid = extra("authentication.kubernetes.io/pod-uid");
  return review;
}

std::optional<PodEvent> DecodePodEvent(const doc::Node& object) {
  PodEvent event{.name_space = TextAt(object, {"involvedObject", "namespace"}),
                 .pod = TextAt(object, {"involvedObject", "name"}),
                 .node = TextAt(object, {"source", "host"}),
                 .message = TextAt(object, {"message"}),
                 .last = TimeAt(object, "lastTimestamp")};
  // Newer events fill other fields: reportingInstance for source.host, eventTime for lastTimestamp.
  if (event.node.empty()) event.node = TextAt(object, {"reportingInstance"});
  if (!event.last) event.last = TimeAt(object, "eventTime");
  return event;
}

namespace {

constexpr std::chrono::seconds kLongestRetryAfter = std::chrono::hours(24);
constexpr std::chrono::year_month_day kEarliest{std::chrono::year(1800), std::chrono::January,
                                                std::chrono::day(1)};
constexpr std::chrono::year_month_day kLatest{std::chrono::year(2200), std::chrono::January,
                                              std::chrono::day(1)};

}  // namespace

std::optional<base::WallTime> ParseRfc3339(std::string_view text) {
  const auto time = doc::ParseTimestamp(text);
  if (!time) return std::nullopt;
  // 64 bits of nanoseconds end in the year 2262, and "never" is often written as the year 9999.
  const std::chrono::sys_days day(std::clamp(time->date, kEarliest, kLatest));
  // A time with offset +02:00 is two hours earlier in UTC.
  return base::WallTime(day) + time->of_day - time->offset;
}

std::optional<std::chrono::seconds> ParseRetryAfter(std::string_view text, base::WallTime now) {
  text = base::TrimSpace(text);
  if (auto seconds = base::ParseUint(text)) {
    return std::chrono::seconds(std::min<std::uint64_t>(*seconds, kLongestRetryAfter.count()));
  }
  auto date = http::ParseDate(text);
  if (!date) return std::nullopt;
  auto wait = std::chrono::ceil<std::chrono::seconds>(*date - now);
  // A date in the past means "now": the two clocks may differ.
  return std::clamp<std::chrono::seconds>(wait, std::chrono::seconds(0), kLongestRetryAfter);
}

namespace {

constexpr doc::Limits kLimits{.bytes = 10 << 20, .depth = 64, .nodes = 1'000'000};  // of one pod

// Returns true for pods. kubectl leaves the kind out in the items of a PodList.
bool IsPod(const doc::Node& object) {
  std::string kind = TextAt(object, {"kind"});
  return kind.empty() || kind == "Pod";
}

}  // namespace

// Items are parsed one by one: the tree of a list of 30,000 pods would take many times its text.
SavedPods::SavedPods()
    : items_(kLimits.bytes, [this](std::string_view item, doc::Position at) {
        const auto object = doc::ParseJson(item, problems_, doc::JsonRules::kLenient, kLimits, at);
        if (object) Add(*object);
      }) {}

void SavedPods::Add(const doc::Node& object) {
  (IsPod(object) ? has_pods_ : has_others_) = true;
  if (!IsPod(object)) return;
  if (auto pod = DecodePod(object)) pods_.push_back(*std::move(pod));
}

bool SavedPods::Feed(std::string_view bytes) {
  bytes_ += bytes.size();
  if (bytes_ > doc::kMostSavedBytes) return false;
  items_.Feed(bytes);
  return true;
}

base::Result<std::vector<Pod>> SavedPods::Take() {
  if (bytes_ > doc::kMostSavedBytes) {
    return base::InvalidArgument("pods: longer than " + std::to_string(doc::kMostSavedBytes) + " bytes");
  }
  // The rest is the list without its items.
  const auto root = doc::ParseJson(items_.rest(), problems_, doc::JsonRules::kLenient, kLimits);
  if (!root || !problems_.empty()) return base::Error(problems_.ToStatus().error());
  const doc::Node* list = root->Find("items");
  const std::string kind = doc::TextAt(*root, {"kind"});
  const bool holds_pods = kind.empty() || kind == "List" || kind == "PodList";
  if (list == nullptr && kind == "Pod") {
    Add(*root);
  } else if (list == nullptr || list->kind != doc::Node::Kind::kSequence || !holds_pods ||
             (has_others_ && !has_pods_)) {
    return base::InvalidArgument("this is no list of pods, as kubectl get pods -o json prints it");
  }
  return std::move(pods_);
}

}  // namespace prefetch::kube
