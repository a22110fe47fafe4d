#include "status/json_parts.h"

#include <algorithm>
#include <cmath>

#include "doc/json_writer.h"
#include "plan/freshness.h"
#include "status/status_json.h"
#include "status/words.h"

namespace prefetch::status {

namespace {

// Writes how long ago something was, in whole seconds; null if it never was. If the clock was set back in
// between, it writes 0.
void MemberSince(doc::JsonWriter& out, std::string_view name, const std::optional<base::WallTime>& since,
                 base::WallTime time) {
  if (!since) {
    out.MemberNull(name);
    return;
  }
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time - *since).count();
  out.MemberNumber(name, static_cast<std::uint64_t>(std::max<std::int64_t>(seconds, 0)));
}

std::string_view WhyNotAsked(const plan::ImageState& image) {
  if (!image.applies) {
    return image.reason == plan::Reason::kNotSelected
               ? "not asked: the entry's nodeSelector leaves this node out"
               : "not asked: the entry is for other platforms";
  }
  // The entry's own wish is checked before the reasons why it has none.
  if (plan::AsksRegistry(image.want)) return "not asked: this agent asks no registry (--registry none)";
  if (image.want->reference.has_digest()) return "not asked: a digest always names the same content";
  return "not asked: refresh is IfNotPresent and readyFor is not Always";
}

}  // namespace

void WriteImageRegistry(doc::JsonWriter& out, const plan::ImageState& image, base::WallTime time) {
  if (!image.registry) {
    out.MemberNull("registry");
    out.Member("registryReason", WhyNotAsked(image));
    return;
  }
  const plan::RegistryView& said = *image.registry;
  out.Key("registry");
  out.BeginObject();
  out.MemberOrNull("answer", said.answer ? image::RegistryAnswerName(*said.answer) : std::string_view());
  out.MemberOrNull("detail", said.detail);
  out.MemberOrNull("digest", said.digest);
  out.MemberOrNull("checkedAt", said.checked_at);
  out.MemberBool("fresh", said.fresh);
  out.Member("reason", plan::ReasonName(said.reason));
  out.Member("message", said.message);
  out.MemberBool("agrees", said.agrees);
  out.MemberOrNull("answeredBy", said.answered_by);
  out.MemberOrNull("confirmedAt", said.confirmed_at);
  MemberSince(out, "ageSeconds", said.confirmed_at, time);
  out.MemberOrNull("nextCheckAt", said.next_check_at);
  out.MemberNumber("silentChecks", static_cast<std::uint64_t>(std::max(said.silent, 0)));
  out.MemberOrNull("changedFrom", said.changed_from);
  out.MemberOrNull("changedAt", said.changed_at);
  out.EndObject();
  out.MemberNull("registryReason");
}

static void WriteAllowance(doc::JsonWriter& out, const plan::RegistryStatus& registry) {
  if (registry.allowance) {
    out.MemberNumber("pullsLeft", registry.allowance->remaining);
    out.MemberNumber("pullsAllowed", registry.allowance->limit);
  } else {
    out.MemberNull("pullsLeft");
    out.MemberNull("pullsAllowed");
  }
  out.MemberBool("updatesWait", registry.saves_pulls);
}

void WriteRegistries(doc::JsonWriter& out, const std::vector<plan::RegistryStatus>& registries,
                     base::WallTime time) {
  out.BeginArray();
  for (const plan::RegistryStatus& registry : registries) {
    out.BeginObject();
    out.Member("name", registry.name);
    out.MemberNumber("entries", registry.entries);
    out.MemberNumber("checksPerHour", static_cast<std::uint64_t>(std::ceil(registry.checks_per_hour)));
    out.MemberNumber("requestsPerSecond", static_cast<std::uint64_t>(registry.requests_per_second));
    out.MemberNumber("requestsLeft", static_cast<std::uint64_t>(registry.requests_left));
    out.MemberNumber("requests", registry.requests);
    out.MemberOrNull("trouble", registry.trouble);
    out.MemberOrNull("message", registry.message);
    out.MemberOrNull("unreachableSince", registry.unreachable_since);
    MemberSince(out, "unreachableForSeconds", registry.unreachable_since, time);
    out.MemberOrNull("heldUntil", registry.held_until);
    WriteAllowance(out, registry);
    out.EndObject();
  }
  out.EndArray();
}

void WriteRegistryAccess(doc::JsonWriter& out, const std::optional<image::RegistryAccess>& access) {
  out.Key("registries");
  if (!access) {
    out.Null();
    return;
  }
  out.BeginObject();
  out.MemberOrNull("configPath", access->config_path);
  out.MemberOrNull("configPathSource", access->config_path_source);
  out.Key("byPull");
  out.Strings(access->by_pull);
  out.MemberOrNull("byPullSource", access->by_pull_source);
  out.Key("notes");
  out.Strings(access->notes);
  out.EndObject();
}

void WriteRegistryHosts(doc::JsonWriter& out, const std::optional<RegistryHostsView>& view) {
  if (!view) {
    out.MemberNull("registryHosts");
    return;
  }
  out.Key("registryHosts");
  out.BeginObject();
  out.MemberBool("byPull", view->by_pull);
  out.MemberOrNull("source", view->source);
  out.MemberOrNull("configPath", view->config_path);
  out.MemberOrNull("configPathSource", view->config_path_source);
  out.Key("hosts");
  out.BeginArray();
  for (const RegistryHostView& host : view->hosts) {
    out.BeginObject();
    out.Member("server", host.server);
    out.MemberBool("mirror", host.mirror);
    out.MemberOrNull("problem", host.problem);
    out.EndObject();
  }
  out.EndArray();
  out.Key("notes");
  out.Strings(view->notes);
  out.EndObject();
}

// The members of an image in a status document, and the document of one image.

namespace {

void WriteVerdict(doc::JsonWriter& out, std::string_view policy, const ShownVerdict& verdict) {
  out.Key(policy);
  out.BeginObject();
  out.Member("result", kubelet::VerdictResultName(verdict.result));
  out.Member("reason", plan::CheckReasonName(verdict.reason));
  out.EndObject();
}

void WriteVerdicts(doc::JsonWriter& out, const ShownVerdicts& verdicts) {
  out.BeginObject();
  WriteVerdict(out, "Never", verdicts.never);
  WriteVerdict(out, "IfNotPresent", verdicts.if_not_present);
  WriteVerdict(out, "Always", verdicts.always);
  out.EndObject();
}

// Without a kubelet, a runtime alone starts containers: what is usable starts, and Never fails otherwise.
ShownVerdicts ByPresence(const plan::ImageState& image) {
  using kubelet::VerdictResult;
  const ShownVerdict always{VerdictResult::kPulls, plan::Reason::kPolicyAlways};
  if (image.usable) {
    const ShownVerdict starts{VerdictResult::kStarts, plan::Reason::kPresent};
    return {starts, starts, always};
  }
  // The runtime has not reported the image yet, so both verdicts stay Unknown.
  if (image.reason == plan::Reason::kFactsUnknown) return {{}, {}, always};
  const plan::Reason why = image.present ? image.reason : plan::Reason::kImageAbsent;
  return {{VerdictResult::kRefused, why}, {VerdictResult::kPulls, why}, always};
}

void WriteCoordinates(doc::JsonWriter& out, const image::Coordinates& of) {
  out.BeginObject();
  out.Member("namespace", of.namespace_name);
  out.Member("name", of.name);
  if (!of.uid.empty()) out.Member("uid", of.uid);
  out.EndObject();
}

// Writes readyAs as the list has it. For pods without credentials of their own it writes nothing.
void WriteReadyAs(doc::JsonWriter& out, const image::PodCoordinates& pod) {
  if (pod.empty()) return;
  out.Key("readyAs");
  out.BeginObject();
  if (!pod.secrets.empty()) {
    out.Key("secrets");
    out.BeginArray();
    for (const image::Coordinates& secret : pod.secrets) WriteCoordinates(out, secret);
    out.EndArray();
  }
  if (pod.service_account) {
    out.Key("serviceAccount");
    WriteCoordinates(out, *pod.service_account);
  }
  out.EndObject();
}

// Writes readyAs of the whole entry if all its sources agree; otherwise "spellings" shows each.
void WriteReadyAs(doc::JsonWriter& out, const plan::DesiredImage& want) {
  bool same = std::all_of(want.other_pods.begin(), want.other_pods.end(),
                          [&](const plan::JudgedPod& pod) { return pod.ready_as == want.ready_as; });
  if (same) WriteReadyAs(out, *want.ready_as);
}

void WritePull(doc::JsonWriter& out, const plan::PullStatus& pull) {
  out.BeginObject();
  out.Member("state", plan::PullStateName(pull.state));
  out.Key("attempts");
  out.Integer(pull.attempts);
  // null distinguishes "not known" from "none yet".
  if (pull.bytes_known) {
    out.MemberNumber("bytesDone", pull.bytes_done);
    out.MemberNumber("bytesTotal", pull.bytes_total);
    out.MemberNumber("bytesPerSecond", WholeRate(pull.bytes_per_second));
  } else {
    out.MemberNull("bytesDone");
    out.MemberNull("bytesTotal");
    out.MemberNull("bytesPerSecond");
  }
  out.MemberOrNull("startedAt", pull.started_at);
  out.MemberOrNull("finishedAt", pull.finished_at);
  out.MemberOrNull("lastError", pull.last_error);
  out.MemberOrNull("nextAttemptAt", pull.next_attempt_at);
  out.MemberOrNull("retryRequestedAt", pull.retry_requested_at);
  out.EndObject();
}

void WriteTouch(doc::JsonWriter& out, const plan::TouchStatus& touch) {
  if (!IsShown(touch)) {
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

void WriteReasoning(doc::JsonWriter& out, std::string_view policy, const kubelet::Verdict& verdict) {
  out.Key(policy);
  out.BeginObject();
  out.Member("result", kubelet::VerdictResultName(verdict.result));
  out.Member("reason", kubelet::VerdictReasonName(verdict.reason));
  out.Member("rule", verdict.rule);
  out.Member("message", verdict.message);
  out.EndObject();
}

void WriteRecord(doc::JsonWriter& out, const ImageDetail& detail) {
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

void WriteCredentials(doc::JsonWriter& out, const ImageDetail& detail) {
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

void WriteProviders(doc::JsonWriter& out, const ImageDetail& detail) {
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

// Writes the members that only the answer about a single image has.
void WriteDetail(doc::JsonWriter& out, const ImageDetail& detail) {
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

}  // namespace

ShownVerdicts AsShown(const kubelet::Verdicts& verdicts) {
  auto shown = [](const kubelet::Verdict& verdict) {
    return ShownVerdict{verdict.result, plan::CheckReasonFor(verdict.reason)};
  };
  return {shown(verdicts.never), shown(verdicts.if_not_present), shown(verdicts.always)};
}

std::optional<ShownVerdicts> VerdictsOf(const plan::Snapshot& snapshot, const plan::ImageState& image) {
  // With a kubelet, presence alone would be a wrong verdict.
  if (!image.applies || (snapshot.kubelet && !image.verdicts)) return std::nullopt;
  return image.verdicts ? AsShown(*image.verdicts) : ByPresence(image);
}

bool IsShown(const plan::TouchStatus& touch) {
  return touch.state != plan::TouchState::kNone || touch.attempts != 0;
}

std::uint64_t WholeRate(double per_second) {
  // A conversion of a value beyond the type's range would be undefined.
  return per_second > 0 && per_second < 1e15 ? static_cast<std::uint64_t>(per_second) : 0;
}

void WriteImageVerdicts(doc::JsonWriter& out, const plan::Snapshot& snapshot, const plan::ImageState& image) {
  if (auto verdicts = VerdictsOf(snapshot, image)) {
    out.Key("verdicts");
    WriteVerdicts(out, *verdicts);
    if (image.verdicts) {
      out.MemberNull("verdictsReason");
    } else {
      out.Member("verdictsReason", "no kubelet here (--kubelet=none): presence is the verdict");
    }
    return;
  }
  out.MemberNull("verdicts");
  out.Member("verdictsReason", image.applies ? "not known yet"
                               : image.reason == plan::Reason::kNotSelected
                                   ? "not computed: the entry's nodeSelector leaves this node out"
                                   : "not computed: the entry is for other platforms");
}

void WriteSpellings(doc::JsonWriter& out, const plan::ImageState& image) {
  // A single pod is described by the entry's own members.
  if (image.want->other_pods.empty()) return;
  out.Key("spellings");
  out.BeginArray();
  for (const plan::JudgedPod& pod : plan::PodsOf(image.want)) {
    const kubelet::Verdicts* verdicts = plan::VerdictsOfPod(image, pod);
    out.BeginObject();
    out.Member("image", pod.reference.written());
    WriteReadyAs(out, *pod.ready_as);
    if (verdicts != nullptr) {
      out.Key("verdicts");
      WriteVerdicts(out, AsShown(*verdicts));
    } else {
      out.MemberNull("verdicts");
    }
    out.EndObject();
  }
  out.EndArray();
}

void WriteImage(doc::JsonWriter& out, const plan::Snapshot& snapshot, const plan::ImageState& image,
                base::WallTime time) {
  out.Member("image", image.want->reference.written());
  // The name under which lists are compared.
  out.Member("normalizedName", image.want->reference.Normalized());
  out.MemberBool("required", image.want->required);
  out.Member("readyFor", image::PullPolicyName(image.want->ready_for));
  WriteReadyAs(out, *image.want);
  out.Member("refresh", plan::RefreshName(image.want->refresh));
  out.Key("priority");
  out.Integer(image.want->priority);
  out.MemberBool("applies", image.applies);
  out.MemberBool("present", image.present);
  out.MemberBool("usable", image.usable);
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
  WriteImageVerdicts(out, snapshot, image);
  WriteSpellings(out, image);
  WriteImageRegistry(out, image, time);
  out.Key("pull");
  WritePull(out, image.pull);
  out.Member("open", plan::OpenName(image.want->open));
  out.Key("touch");
  WriteTouch(out, image.touch);
  out.Key("from");
  out.Strings(image.want->from);
}

std::string ImageJson(const plan::Snapshot& snapshot, const plan::ImageState& image,
                      const ImageDetail& detail, base::WallTime time) {
  doc::JsonWriter out;
  out.BeginObject();
  out.Member("apiVersion", kStatusApiVersion);
  out.Member("kind", "ImageStatus");
  out.Member("node", snapshot.node);
  out.Member("time", base::Rfc3339(time));
  WriteImage(out, snapshot, image, time);
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

}  // namespace prefetch::status
