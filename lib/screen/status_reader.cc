#include "screen/status_document.h"

#include "image/pod_coordinates.h"
#include "status/members.h"

namespace prefetch::screen {
namespace {

void ReadVerdict(const status::Members& verdicts, const char* policy, StatusVerdict& verdict) {
  verdicts.Object(policy, [&](const status::Members& in) {
    in.Read("result", verdict.result);
    in.Read("reason", verdict.reason);
  });
}

image::Coordinates ReadCoordinates(const status::Members& in) {
  image::Coordinates of;
  in.Read("namespace", of.namespace_name);
  in.Read("name", of.name);
  in.Read("uid", of.uid);
  return of;
}

std::string ReadReadyAs(const status::Members& in) {
  image::PodCoordinates pod;
  in.Object("readyAs", [&](const status::Members& members) {
    members.Objects("secrets",
                    [&](const status::Members& one) { pod.secrets.push_back(ReadCoordinates(one)); });
    members.Object("serviceAccount",
                   [&](const status::Members& one) { pod.service_account = ReadCoordinates(one); });
  });
  return image::TextOf(pod);
}

void ReadPull(const status::Members& in, StatusPull& pull) {
  in.Read("state", pull.state);
  in.Read("attempts", pull.attempts);
  in.Read("bytesDone", pull.bytes_done);
  in.Read("bytesTotal", pull.bytes_total);
  in.Read("bytesPerSecond", pull.bytes_per_second);
  in.Read("startedAt", pull.started_at);
  in.Read("finishedAt", pull.finished_at);
  in.Read("nextAttemptAt", pull.next_attempt_at);
  in.Read("lastError", pull.last_error);
}

StatusRegistry ReadRegistry(const status::Members& in) {
  StatusRegistry registry;
  in.Read("answer", registry.answer);
  in.Read("detail", registry.detail);
  in.Read("digest", registry.digest);
  in.Read("reason", registry.reason);
  in.Read("message", registry.message);
  in.Read("fresh", registry.fresh);
  in.Read("agrees", registry.agrees);
  in.Read("checkedAt", registry.checked_at);
  in.Read("confirmedAt", registry.confirmed_at);
  in.Read("nextCheckAt", registry.next_check_at);
  in.Read("changedFrom", registry.changed_from);
  in.Read("changedAt", registry.changed_at);
  return registry;
}

}  // namespace

StatusImage ReadStatusImage(const status::Members& in) {
  StatusImage image;
  in.Read("image", image.image);
  in.Read("required", image.required);
  in.Read("applies", image.applies);
  in.Read("present", image.present);
  in.Read("usable", image.usable);
  in.Read("ready", image.ready);
  in.Read("exposed", image.exposed);
  in.Read("pinned", image.pinned);
  in.Read("settled", image.settled);
  in.Read("readyFor", image.ready_for);
  in.Read("readyAsHidden", image.ready_as_hidden);
  image.ready_as = ReadReadyAs(in);
  in.Read("phase", image.phase);
  in.Read("reason", image.reason);
  in.Read("message", image.message);
  in.Read("imageID", image.image_id);
  in.Read("digest", image.digest);
  in.Read("pulledWith", image.pulled_with);
  in.Read("credential", image.credential);
  in.Read("sizeBytes", image.size_bytes);
  in.Object("verdicts", [&](const status::Members& verdicts) {
    ReadVerdict(verdicts, "Never", image.never);
    ReadVerdict(verdicts, "IfNotPresent", image.if_not_present);
    ReadVerdict(verdicts, "Always", image.always);
  });
  in.Objects("spellings", [&](const status::Members& members) {
    StatusSpelling spelling;
    members.Read("image", spelling.image);
    spelling.ready_as = ReadReadyAs(members);
    members.Object("verdicts", [&](const status::Members& verdicts) {
      ReadVerdict(verdicts, "Never", spelling.never);
      ReadVerdict(verdicts, "IfNotPresent", spelling.if_not_present);
      ReadVerdict(verdicts, "Always", spelling.always);
    });
    image.spellings.push_back(std::move(spelling));
  });
  in.Object("pull", [&](const status::Members& pull) { ReadPull(pull, image.pull); });
  in.Read("open", image.open);
  in.Object("touch", [&](const status::Members& touch) {
    touch.Read("state", image.touch.state);
    touch.Read("attempts", image.touch.attempts);
    touch.Read("obstacle", image.touch.obstacle);
    touch.Read("why", image.touch.why);
  });
  in.Object("registry", [&](const status::Members& registry) { image.registry = ReadRegistry(registry); });
  in.Read("from", image.from);
  in.Read("aliases", image.aliases);
  return image;
}

StatusKubelet ReadStatusKubelet(const status::Members& in) {
  StatusKubelet kubelet;
  in.Read("version", kubelet.version);
  in.Read("rules", kubelet.rules);
  in.Read("verification", kubelet.verification);
  in.Read("root", kubelet.root);
  in.Read("recordsNote", kubelet.records_note);
  in.Object("sources", [&](const status::Members& sources) {
    sources.Read("version", kubelet.version_from);
    sources.Read("verification", kubelet.verification_from);
  });
  return kubelet;
}

}  // namespace prefetch::screen
