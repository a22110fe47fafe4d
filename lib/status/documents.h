// The documents that an agent serves: the status of its node (GET /v1/status), and of one image
// (GET /v1/images/REF). documents.cc has one list of members for each struct, from which the JSON, its
// reader, the public view, the JSON Schema and the reference page derive.
//
// Values; any thread. A member that the document lacks, or has as null, keeps the default below. Members are
// only ever added.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "doc/enum_text.h"
#include "doc/field.h"
#include "doc/write.h"
#include "image/credential_words.h"
#include "image/pod_coordinates.h"
#include "image/reference.h"
#include "image/registry_access.h"
#include "image/registry_answer.h"
#include "kubelet/verdict.h"
#include "plan/desired.h"
#include "plan/reason.h"
#include "plan/snapshot.h"
#include "plan/touch.h"

namespace prefetch::status {

using VerdictResultText = doc::EnumText<kubelet::VerdictResult>;
using PhaseText = doc::EnumText<plan::Phase>;
using ReasonText = doc::EnumText<plan::Reason>;

// The pods that may use the image under one repository's name, by kubelet's record.
struct RecordedUse {
  std::string repository;
  bool node = false;  // every pod of the node
  std::uint64_t secrets = 0, service_accounts = 0;
  // "secret team/pull", "service account team/runner"; only if they were asked for. Never a hash.
  std::vector<std::string> identities;
};

// How kubelet's file about the image reads.
using ReadingText = doc::EnumText<kubelet::Reading>;

struct RecordView {
  ReadingText state = kubelet::Reading::kNotAsked;
  std::vector<RecordedUse> uses;
};

// One server that is asked for the image's tag.
struct RegistryHostView {
  std::string server;  // "mirror.acme.io:5000", with its scheme where that is http
  bool mirror = false;
  std::string problem;  // why it cannot be asked; empty: it can
};
// The servers in the order in which the runtime would ask them (registry rules R30 to R37).
struct RegistryHostsView {
  bool by_pull = false;  // not asked: only another pull shows it
  std::string source;    // the folder that said so; empty: nothing did
  // containerd's, and who says that it is: image::RegistryAccess.
  std::string config_path, config_path_source;
  std::vector<RegistryHostView> hosts;
  std::vector<std::string> notes;  // problems found there, a sentence each
};

// apiVersion of every document that an agent sends.
inline constexpr std::string_view kStatusApiVersion = "prefetchd.dev/v1";

// Returns a document of this kind on one line, with a newline at its end. `write` adds its members, for which
// it reserves `bytes`.
template <typename F>
std::string JsonDocument(std::string_view kind, const F& write, std::size_t bytes = 0) {
  doc::JsonWriter out;
  out.Reserve(bytes);
  out.Object([&] {
    out.Member("apiVersion", kStatusApiVersion);
    out.Member("kind", kind);
    write(out);
  });
  return out.Take() + "\n";
}

// The scope of an answer. Any pod, and any user of `pods/proxy`, reaches the agent's port.
enum class View {
  kFull,    // everything: for root of the node, and for callers that the API server has identified
  kPublic,  // without HiddenMembers()
};

struct StatusVerdict {
  VerdictResultText result;  // empty: not known
  std::string reason;        // of a plan::CheckReason

  friend bool operator==(const StatusVerdict&, const StatusVerdict&) = default;
};

using StatusVerdicts = image::PerPolicy<StatusVerdict>;

struct StatusPull {
  doc::EnumText<plan::PullState> state;
  std::uint64_t attempts = 0;
  std::optional<std::uint64_t> bytes_done, bytes_total, bytes_per_second;
  std::optional<base::WallTime> started_at, finished_at;
  std::string last_error;
  std::optional<base::WallTime> next_attempt_at, retry_requested_at;

  bool IsRunning() const {
    return state == plan::PullState::kPulling || state == plan::PullState::kUnpacking;
  }

  friend bool operator==(const StatusPull&, const StatusPull&) = default;
};

struct StatusTouch {
  doc::EnumText<plan::TouchState> state;  // empty: never touched, and not to be
  std::uint64_t attempts = 0;
  doc::EnumText<plan::TouchObstacle> obstacle;  // of the newest touch without effect
  std::string why;
  std::optional<base::WallTime> last_at, next_attempt_at;

  friend bool operator==(const StatusTouch&, const StatusTouch&) = default;
};

// The registry's answers about an image.
struct StatusRegistry {
  doc::EnumText<image::RegistryAnswerKind> answer;  // empty: not asked since the agent started
  std::string detail, digest;
  std::optional<base::WallTime> checked_at;
  bool fresh = false;
  bool acceptable = false;  // its answers let the entry be ready
  ReasonText reason;
  std::string message;
  bool agrees = false;  // a pod with Always would get the present content
  std::string answered_by;
  std::optional<base::WallTime> confirmed_at;
  std::optional<std::uint64_t> age_seconds;
  std::optional<base::WallTime> next_check_at;
  std::uint64_t silent_checks = 0;
  std::string changed_from;  // the digest that a pull of the agent replaced last; empty: none
  std::optional<base::WallTime> changed_at;

  friend bool operator==(const StatusRegistry&, const StatusRegistry&) = default;
};

// One of several pods that the entry is to be ready for.
struct StatusSpelling {
  std::string image;  // as such pods write it
  image::PodCredentialRefs ready_as;
  StatusVerdicts verdicts;

  friend bool operator==(const StatusSpelling&, const StatusSpelling&) = default;
};

struct StatusImage {
  std::string image;  // as the list writes it; of several spellings the first
  std::string normalized_name;
  bool required = true;
  doc::EnumText<image::PullPolicy> ready_for;
  image::PodCredentialRefs ready_as;  // empty, too, where `spellings` differ in it
  doc::EnumText<plan::Refresh> refresh;
  std::int64_t priority = 0;
  bool applies = true, present = false;
  bool usable = true;  // false: absent, or no container would run from it (not unpacked)
  std::string image_id, digest;
  std::uint64_t size_bytes = 0;
  bool ready = false;
  bool settled = false;  // judged by kubelet, or not worth waiting for; it is still tried
  PhaseText phase;
  ReasonText reason;
  std::string message;
  doc::EnumText<plan::PulledWith> pulled_with;
  plan::PullOrigin origin;  // its members stand beside the others
  std::vector<std::string> aliases;
  bool pinned = false;  // in the runtime: kubelet's garbage collection leaves it alone
  std::string pin_problem;
  std::optional<std::uint64_t> eviction_order;
  StatusVerdicts verdicts;  // the worst of `spellings`
  std::string verdicts_reason;
  bool ready_as_hidden = false;            // the caller does not learn for which pods it is judged
  std::vector<StatusSpelling> spellings;   // empty: there is one such pod
  std::optional<StatusRegistry> registry;  // none: its registry is not asked
  std::string registry_reason;
  StatusPull pull;
  doc::EnumText<plan::Open> open;
  StatusTouch touch;
  std::vector<std::string> from;

  friend bool operator==(const StatusImage&, const StatusImage&) = default;
};

struct StatusList {
  std::string hash;
  std::uint64_t entries = 0;
  std::vector<plan::ListSource> sources;
  std::vector<std::string> warnings;

  friend bool operator==(const StatusList&, const StatusList&) = default;
};

struct StatusImageGc {
  std::int64_t high_threshold_percent = 0, low_threshold_percent = 0;
  std::int64_t minimum_age_seconds = 0, maximum_age_seconds = 0;
  std::vector<std::string> warnings;

  friend bool operator==(const StatusImageGc&, const StatusImageGc&) = default;
};

// The agent's facts about its kubelet. A document lacks `newer`, `learning` and what it has in `image_gc`.
// The version "none": it was declared that there is no kubelet here.
struct StatusKubelet : plan::KubeletStatus {
  std::optional<StatusImageGc> image_gc;

  bool None() const { return version == "none"; }
  // Returns the source of a fact: "declared", a file, "command line", "default"; empty if it is not known.
  std::string SourceOf(std::string_view fact) const;

  friend bool operator==(const StatusKubelet&, const StatusKubelet&) = default;
};

// Kind NodeStatus.
struct StatusDocument {
  std::vector<std::string> hidden;  // the members that only known callers see; empty: none
  std::string node;
  std::string agent_version;
  bool ready = false;
  PhaseText phase;
  ReasonText reason;
  std::string message;
  std::uint64_t required = 0, required_ready = 0;
  std::optional<base::WallTime> time;
  StatusList list;
  plan::RuntimeStatus runtime;  // without its own report about registries
  StatusKubelet kubelet;
  std::optional<plan::DiskStatus> disk;  // none: the agent cannot measure it
  std::vector<plan::RegistryStatus> registries;
  std::vector<std::string> problems;
  std::vector<StatusImage> images;
  std::optional<std::vector<plan::UnlistedImage>> unlisted;  // none: not known yet
  std::optional<base::WallTime> unlisted_since;              // none: not known yet
  std::optional<std::uint64_t> unlisted_left_out;
  std::string unlisted_reason;  // why `unlisted` is not known

  // Returns the unlisted images, as far as they are known.
  std::vector<plan::UnlistedImage> Unlisted() const {
    return unlisted.value_or(std::vector<plan::UnlistedImage>());
  }

  friend bool operator==(const StatusDocument&, const StatusDocument&) = default;
};

// kubelet's verdict under one pull policy, and the step of its procedure that decides.
struct Reasoning {
  VerdictResultText result;
  doc::EnumText<kubelet::VerdictReason> reason;
  std::string rule, message;

  friend bool operator==(const Reasoning&, const Reasoning&) = default;
};

using ImageReasoning = image::PerPolicy<Reasoning>;

// Kind ImageStatus: the facts about one image, beside its line in the status document. GET /v1/images/REF,
// and prefetchctl explain.
struct ImageDocument {
  std::string node;
  std::optional<base::WallTime> time;
  StatusImage image;  // its members stand beside the others
  bool listed = true;
  StatusKubelet kubelet;
  plan::RuntimeStatus runtime;
  // The request for this document read kubelet's files; none: no kubelet, or nothing is known of it yet.
  std::optional<ImageReasoning> reasoning;
  RecordView record;
  ReadingText intent = kubelet::Reading::kNotAsked;  // kubelet's intent to pull it
  std::string record_key;  // under which kubelet looks the image up in the record; empty: not known
  // In the order of attempts; empty: anonymous. None: they were not asked for.
  std::optional<std::vector<image::CredentialWords>> credentials;
  std::vector<image::ProviderWords> providers;
  std::optional<RegistryHostsView> registry_hosts;  // none: this agent does not ask registries
  std::vector<std::string> listed_aliases;          // of the image's other names, those that are on the list
  std::vector<std::string> remediation;             // advice, the best first
};

// Gives the images of a document one after another: a copy of all of thousands would double an agent's
// memory.
struct ImageSource {
  std::size_t count = 0;
  std::function<StatusImage(std::size_t index)> at;
};

// JSON on one line, with a newline at its end. The images of a status document are those of `images`.
std::string ToJson(const StatusDocument& document, const ImageSource& images, View view = View::kFull);
std::string ToJson(const ImageDocument& document);

// Reads a document of an agent, or of another server on its port. InvalidArgument if it is of another kind or
// apiVersion, a known member has a wrong type (the message names its path), or it is longer than 32 MiB.
// Unknown members are ignored, and control characters in texts become blanks.
base::Result<StatusDocument> ParseStatusDocument(std::string_view json);
base::Result<ImageDocument> ParseImageDocument(std::string_view json);

// The members of a status document that View::kPublic lacks, sorted, in JSON's names: "problems",
// "images.message".
const std::vector<std::string>& HiddenMembers();

// The members of a status document, for the JSON Schema and the reference page.
doc::Fields StatusFields();

}  // namespace prefetch::status
