#include "report/status_json.h"

#include <algorithm>

#include "report/json_writer.h"
#include "report/registry_json.h"
#include "report/what_helps.h"

namespace prefetch::report {
namespace {

constexpr std::string_view kApiVersion = "prefetchd.dev/v1";
// More than the document and an image of it usually take; memory that is not written to costs nothing.
constexpr std::size_t kHeadBytes = 16384;
constexpr std::size_t kImageBytes = 2048;

void WriteList(JsonWriter& out, const plan::ImageList& list, std::size_t entries) {
  out.BeginObject();
  out.MemberOrNull("hash", list.hash);
  out.MemberNumber("entries", entries);
  out.Key("sources");
  out.BeginArray();
  for (const plan::ListSource& source : list.sources) {
    out.BeginObject();
    out.Member("name", source.name);
    out.Member("path", source.path);
    out.MemberOrNull("hash", source.hash);
    out.MemberNumber("entries", source.entries);
    out.MemberOrNull("loadedAt", source.loaded_at);
    out.MemberOrNull("error", source.error);
    out.EndObject();
  }
  out.EndArray();
  out.Key("warnings");
  out.Strings(list.warnings);
  out.EndObject();
}

void WriteRuntime(JsonWriter& out, const plan::RuntimeStatus& runtime) {
  out.BeginObject();
  out.MemberOrNull("name", runtime.name);
  out.MemberOrNull("version", runtime.version);
  out.MemberOrNull("endpoint", runtime.endpoint);
  out.MemberBool("up", runtime.up);
  out.MemberOrNull("error", runtime.error);
  WriteRegistryAccess(out, runtime.access);
  out.EndObject();
}

void WriteNoKubelet(JsonWriter& out) {
  out.BeginObject();
  out.Member("version", "none");
  out.MemberNull("verification");
  out.Key("sources");
  out.BeginObject();
  out.Member("version", "declared");
  out.EndObject();
  out.MemberNull("recordsReadable");
  out.EndObject();
}

void WriteImageGc(JsonWriter& out, const plan::KubeletStatus& kubelet) {
  if (!kubelet.gc) {
    out.Null();
    return;
  }
  auto seconds = [](std::chrono::nanoseconds age) {
    return std::chrono::duration_cast<std::chrono::seconds>(age).count();
  };
  out.BeginObject();
  out.Key("highThresholdPercent");
  out.Integer(kubelet.gc->high_percent);
  out.Key("lowThresholdPercent");
  out.Integer(kubelet.gc->low_percent);
  out.Key("minimumAgeSeconds");
  out.Integer(seconds(kubelet.gc->minimum_age));
  out.Key("maximumAgeSeconds");
  out.Integer(seconds(kubelet.gc->maximum_age));
  out.Key("warnings");
  out.Strings(kubelet.gc_warnings);
  out.EndObject();
}

void WriteKubelet(JsonWriter& out, const std::optional<plan::KubeletStatus>& kubelet) {
  if (!kubelet) {
    WriteNoKubelet(out);
    return;
  }
  out.BeginObject();
  out.MemberOrNull("version", kubelet->version);
  out.MemberOrNull("verification", kubelet->verification);
  out.Key("allowlist");
  out.Strings(kubelet->allowlist);
  out.MemberOrNull("root", kubelet->root);
  out.Key("sources");
  out.BeginObject();
  for (const auto& [fact, source] : kubelet->sources) out.Member(fact, source);
  out.EndObject();
  if (kubelet->records_readable) {
    out.MemberBool("recordsReadable", *kubelet->records_readable);
  } else {
    out.MemberNull("recordsReadable");
  }
  out.MemberOrNull("recordsNote", kubelet->records_note);
  out.MemberOrNull("runtimeNote", kubelet->runtime_note);
  out.Key("contradictions");
  out.Strings(kubelet->contradictions);
  out.Key("imageGC");
  WriteImageGc(out, *kubelet);
  out.EndObject();
}

void WriteDisk(JsonWriter& out, const plan::DiskStatus& disk) {
  if (!disk.known) {
    out.Null();
    return;
  }
  out.BeginObject();
  out.Member("path", disk.path);
  out.MemberNumber("capacityBytes", disk.capacity_bytes);
  out.MemberNumber("availableBytes", disk.available_bytes);
  out.MemberNumber("keptFreeBytes", disk.kept_free_bytes);
  out.MemberNumber("neededBytes", disk.needed_bytes);
  out.MemberBool("pressure", disk.pressure);
  out.EndObject();
}

void WriteVerdict(JsonWriter& out, std::string_view policy, std::string_view result,
                  std::string_view reason) {
  out.Key(policy);
  out.BeginObject();
  out.Member("result", result);
  out.Member("reason", reason);
  out.EndObject();
}

void WriteVerdict(JsonWriter& out, std::string_view policy, const kubelet::Verdict& verdict) {
  WriteVerdict(out, policy, kubelet::VerdictResultName(verdict.result),
               kubelet::VerdictReasonName(verdict.reason));
}

void WriteKubeletVerdicts(JsonWriter& out, const kubelet::Verdicts& verdicts) {
  out.BeginObject();
  WriteVerdict(out, "Never", verdicts.never);
  WriteVerdict(out, "IfNotPresent", verdicts.if_not_present);
  WriteVerdict(out, "Always", verdicts.always);
  out.EndObject();
}

// Without a kubelet, presence is the verdict.
void WriteVerdicts(JsonWriter& out, const plan::Snapshot& snapshot, const plan::ImageState& image) {
  if (!image.applies) {
    out.MemberNull("verdicts");
    out.Member("verdictsReason", "not computed: the entry is for other platforms");
    return;
  }
  if (snapshot.kubelet && !image.verdicts) {
    out.MemberNull("verdicts");
    out.Member("verdictsReason", "not known yet");
    return;
  }
  out.Key("verdicts");
  if (image.verdicts) {
    WriteKubeletVerdicts(out, *image.verdicts);
    out.MemberNull("verdictsReason");
    return;
  }
  out.BeginObject();
  if (!image.present && image.reason == plan::Reason::kFactsUnknown) {
    WriteVerdict(out, "Never", "Unknown", "FactsUnknown");
    WriteVerdict(out, "IfNotPresent", "Unknown", "FactsUnknown");
  } else if (image.present) {
    WriteVerdict(out, "Never", "Starts", "Present");
    WriteVerdict(out, "IfNotPresent", "Starts", "Present");
  } else {
    WriteVerdict(out, "Never", "Refused", "ImageAbsent");
    WriteVerdict(out, "IfNotPresent", "Pulls", "ImageAbsent");
  }
  WriteVerdict(out, "Always", "Pulls", "PolicyAlways");
  out.EndObject();
  out.Member("verdictsReason", "no kubelet here (--kubelet=none): presence is the verdict");
}

// Only where the list spells the image in several ways: each has its own verdicts, and "verdicts" are the
// worst.
void WriteSpellings(JsonWriter& out, const plan::ImageState& image) {
  if (image.want->other_spellings.empty()) return;
  out.Key("spellings");
  out.BeginArray();
  for (const image::Reference& reference : plan::SpellingsOf(image.want)) {
    const kubelet::Verdicts* verdicts = plan::VerdictsOfSpelling(image, reference.written());
    out.BeginObject();
    out.Member("image", reference.written());
    if (verdicts != nullptr) {
      out.Key("verdicts");
      WriteKubeletVerdicts(out, *verdicts);
    } else {
      out.MemberNull("verdicts");
    }
    out.EndObject();
  }
  out.EndArray();
}

void WritePull(JsonWriter& out, const plan::PullStatus& pull) {
  out.BeginObject();
  out.Member("state", plan::PullStateName(pull.state));
  out.Key("attempts");
  out.Integer(pull.attempts);
  if (pull.bytes_known) {
    out.MemberNumber("bytesDone", pull.bytes_done);
    out.MemberNumber("bytesTotal", pull.bytes_total);
    double rate = pull.bytes_per_second;
    out.MemberNumber("bytesPerSecond", rate > 0 && rate < 1e15 ? static_cast<std::uint64_t>(rate) : 0);
  } else {
    out.MemberNull("bytesDone");
    out.MemberNull("bytesTotal");
    out.MemberNull("bytesPerSecond");
  }
  out.MemberOrNull("startedAt", pull.started_at);
  out.MemberOrNull("finishedAt", pull.finished_at);
  out.MemberOrNull("lastError", pull.last_error);
  out.MemberOrNull("nextAttemptAt", pull.next_attempt_at);
  out.EndObject();
}

void WriteTouch(JsonWriter& out, const plan::TouchStatus& touch) {
  if (touch.state == plan::TouchState::kNone && touch.attempts == 0) {
    out.Null();
    return;
  }
  out.BeginObject();
  out.Member("state", plan::TouchStateName(touch.state));
  out.Key("attempts");
  out.Integer(touch.attempts);
  out.Member("obstacle", plan::TouchObstacleName(touch.obstacle));
  out.MemberOrNull("why", touch.why);
  out.MemberOrNull("lastAt", touch.last_at);
  out.MemberOrNull("nextAttemptAt", touch.next_attempt_at);
  out.EndObject();
}

// The members of one entry, without the braces.
void WriteImage(JsonWriter& out, const plan::Snapshot& snapshot, const plan::ImageState& image) {
  out.Member("image", image.want->reference.written());
  out.Member("normalizedName", image.want->reference.Normalized());
  out.MemberBool("required", image.want->required);
  out.Member("readyFor", image::PullPolicyName(image.want->ready_for));
  out.Member("refresh", plan::RefreshName(image.want->refresh));
  out.Key("priority");
  out.Integer(image.want->priority);
  out.MemberBool("applies", image.applies);
  out.MemberBool("present", image.present);
  out.MemberOrNull("imageID", image.image_id);
  out.MemberOrNull("digest", image.digest);
  out.MemberNumber("sizeBytes", image.size_bytes);
  out.MemberBool("ready", image.ready);
  out.MemberBool("settled", image.settled);
  out.Member("phase", plan::PhaseName(image.phase));
  out.Member("reason", plan::ReasonName(image.reason));
  out.Member("message", image.message);
  out.Member("pulledWith", plan::PulledWithName(image.pulled_with));
  out.MemberOrNull("credential", image.credential);
  out.MemberBool("exposed", image.exposed);
  out.Key("aliases");
  out.Strings(image.aliases);
  out.MemberBool("pinned", image.pinned);
  if (image.gc_order) {
    out.MemberNumber("evictionOrder", *image.gc_order);
  } else {
    out.MemberNull("evictionOrder");
  }
  WriteVerdicts(out, snapshot, image);
  WriteSpellings(out, image);
  WriteImageRegistry(out, image, snapshot.time);
  out.Key("pull");
  WritePull(out, image.pull);
  out.Member("open", plan::OpenName(image.want->open));
  out.Key("touch");
  WriteTouch(out, image.touch);
  out.Key("from");
  out.Strings(image.want->from);
}

void WriteReasoning(JsonWriter& out, std::string_view policy, const kubelet::Verdict& verdict) {
  out.Key(policy);
  out.BeginObject();
  out.Member("result", kubelet::VerdictResultName(verdict.result));
  out.Member("reason", kubelet::VerdictReasonName(verdict.reason));
  out.Member("rule", verdict.rule);
  out.Member("message", verdict.message);
  out.EndObject();
}

void WriteRecord(JsonWriter& out, const ImageDetail& detail) {
  out.BeginObject();
  out.Member("state", detail.record.state);
  out.Key("uses");
  out.BeginArray();
  for (const RecordedUse& use : detail.record.uses) {
    out.BeginObject();
    out.Member("repository", use.repository);
    out.MemberBool("node", use.node);
    out.MemberNumber("secrets", use.secrets);
    out.MemberNumber("serviceAccounts", use.service_accounts);
    out.Key("identities");
    out.Strings(use.identities);
    out.EndObject();
  }
  out.EndArray();
  out.EndObject();
}

void WriteCredentials(JsonWriter& out, const ImageDetail& detail) {
  if (!detail.credentials_known) {
    out.Null();
    return;
  }
  out.BeginArray();
  for (const CredentialView& credential : detail.credentials) {
    out.BeginObject();
    out.Member("source", credential.source);
    out.Member("name", credential.name);
    out.Member("match", credential.match);
    out.Member("username", credential.username);
    out.EndObject();
  }
  out.EndArray();
}

void WriteProviders(JsonWriter& out, const ImageDetail& detail) {
  out.BeginArray();
  for (const ProviderView& provider : detail.providers) {
    out.BeginObject();
    out.Member("name", provider.name);
    out.MemberBool("matched", provider.matched);
    out.Member("outcome", provider.outcome);
    out.Member("error", provider.error);
    out.EndObject();
  }
  out.EndArray();
}

// What only the answer about one image has.
void WriteDetail(JsonWriter& out, const ImageDetail& detail) {
  out.Key("reasoning");
  if (detail.verdicts) {
    out.BeginObject();
    WriteReasoning(out, "Never", detail.verdicts->never);
    WriteReasoning(out, "IfNotPresent", detail.verdicts->if_not_present);
    WriteReasoning(out, "Always", detail.verdicts->always);
    out.EndObject();
  } else {
    out.Null();
  }
  out.Key("record");
  WriteRecord(out, detail);
  out.Member("intent", detail.intent);
  out.MemberOrNull("recordKey", detail.record_key);
  out.Key("credentials");
  WriteCredentials(out, detail);
  out.Key("providers");
  WriteProviders(out, detail);
  WriteRegistryHosts(out, detail.registry_hosts);
  out.Key("listedAliases");
  out.Strings(detail.listed_aliases);
}

void WriteReadiness(JsonWriter& out, const plan::Readiness& readiness) {
  out.MemberBool("ready", readiness.ready);
  out.Member("phase", plan::PhaseName(readiness.phase));
  out.Member("reason", plan::ReasonName(readiness.reason));
  out.Member("message", readiness.message);
  out.MemberNumber("required", readiness.required);
  out.MemberNumber("requiredReady", readiness.required_ready);
}

void WriteUnlisted(JsonWriter& out, const plan::Unlisted* unlisted) {
  if (unlisted == nullptr) {
    out.MemberNull("unlisted");
    out.Member("unlistedReason", "not known yet");
    return;
  }
  out.Key("unlisted");
  out.BeginArray();
  for (const plan::UnlistedImage& image : unlisted->images) {
    out.BeginObject();
    out.Member("image", image.image);
    out.Member("imageID", image.image_id);
    out.MemberNumber("sizeBytes", image.size_bytes);
    out.Member("firstSeen", base::Rfc3339(image.first_seen));
    out.Member("arrivedAt", base::Rfc3339(image.arrived_at));
    out.MemberBool("present", image.present);
    out.EndObject();
  }
  out.EndArray();
  out.Member("unlistedSince", base::Rfc3339(unlisted->since));
  out.MemberNumber("unlistedLeftOut", unlisted->left_out);
  out.MemberNull("unlistedReason");
}

}  // namespace

std::string StatusJson(const plan::Snapshot& snapshot) {
  JsonWriter out;
  out.Reserve(kHeadBytes + snapshot.images.size() * kImageBytes);
  out.BeginObject();
  out.Member("apiVersion", kApiVersion);
  out.Member("kind", "NodeStatus");
  out.Member("node", snapshot.node);
  WriteReadiness(out, snapshot.readiness);
  out.Member("time", base::Rfc3339(snapshot.time));
  out.Key("list");
  WriteList(out, snapshot.list, snapshot.images.size());
  out.Key("runtime");
  WriteRuntime(out, snapshot.runtime);
  out.Key("kubelet");
  WriteKubelet(out, snapshot.kubelet);
  out.Key("disk");
  WriteDisk(out, snapshot.disk);
  out.Key("registries");
  WriteRegistries(out, snapshot.registries, snapshot.time);
  out.Key("problems");
  out.Strings(snapshot.problems);
  out.Key("images");
  out.BeginArray();
  for (const plan::ImageState& image : snapshot.images) {
    out.BeginObject();
    WriteImage(out, snapshot, image);
    out.EndObject();
  }
  out.EndArray();
  WriteUnlisted(out, snapshot.unlisted.get());
  out.EndObject();
  return out.Take() + "\n";
}

const plan::ImageState* FindImage(const plan::Snapshot& snapshot, const image::Reference& reference) {
  auto found =
      std::find_if(snapshot.images.begin(), snapshot.images.end(),
                   [&](const plan::ImageState& image) { return image.want->reference == reference; });
  return found == snapshot.images.end() ? nullptr : &*found;
}

std::string ImageJson(const plan::Snapshot& snapshot, const plan::ImageState& image,
                      const ImageDetail& detail) {
  JsonWriter out;
  out.BeginObject();
  out.Member("apiVersion", kApiVersion);
  out.Member("kind", "ImageStatus");
  out.Member("node", snapshot.node);
  out.Member("time", base::Rfc3339(snapshot.time));
  WriteImage(out, snapshot, image);
  out.MemberBool("listed", detail.listed);
  out.Key("kubelet");
  WriteKubelet(out, snapshot.kubelet);
  out.Key("runtime");
  WriteRuntime(out, snapshot.runtime);
  WriteDetail(out, detail);
  out.Key("whatHelps");
  out.Strings(WhatHelps(image, snapshot.runtime));
  out.EndObject();
  return out.Take() + "\n";
}

}  // namespace prefetch::report
