// A node whose every text that strangers may not hear begins alike.
#pragma once

#include <memory>
#include <string>

#include "plan/snapshot.h"
#include "status/kubelet_sample.h"
#include "status/sample.h"

namespace prefetch::sample {

// Begins each text that strangers may not hear. A digest has it, too: nothing here checks one.
inline const std::string kPlanted = "planted-";

inline std::string Planted(const std::string& what) {
  return kPlanted + what;
}

inline plan::ImageState PlantedImage() {
  plan::ImageState image = Failing("quay.io/acme/a:v1", plan::Reason::kAccessDenied, Planted("message"), 3);
  image.image_id = Planted("image-id");
  image.digest = Planted("digest");
  image.other_digests = {Planted("other-digest")};
  image.size_bytes = 987654321;
  image.origin.credential = Planted("credential");
  image.pin_problem = Planted("pinProblem");
  image.aliases = {Planted("alias")};
  image.pull.bytes_known = true;
  image.pull.bytes_total = 987654321;
  image.touch = plan::TouchStatus{.state = plan::TouchState::kWaiting, .attempts = 2, .why = Planted("why")};
  image.desired.Change([](plan::DesiredImage& desired) {
    desired.from = {Planted("file") + ":3"};
    desired.ready_as = image::PodCredentialRefs{
        .secrets = {{Planted("namespace"), Planted("secret"), Planted("uid")}}, .service_account = {}};
  });
  const kubelet::Verdict verdict{.rule = Planted("rule"), .message = Planted("verdict")};
  image.verdicts = std::make_shared<const kubelet::Verdicts>(
      kubelet::Verdicts{.never = verdict, .if_not_present = verdict, .always = verdict});
  image.registry = std::make_shared<const plan::RegistryView>(
      plan::RegistryView{.answer = image::RegistryAnswerKind::kServerError,
                         .detail = Planted("detail"),
                         .message = Planted("registry"),
                         .digest = Planted("tag-digest"),
                         .answered_by = Planted("mirror"),
                         .always_message = Planted("always"),
                         .changed_from = Planted("old-digest")});
  return image;
}

inline plan::Snapshot PlantedNode() {
  plan::Snapshot snapshot = Node({PlantedImage(), ForTwoPods(), SpelledTwice()});
  snapshot.readiness.message = Planted("readiness");
  snapshot.readiness.reason = plan::Reason::kRuntimeDown;
  snapshot.list.warnings = {Planted("warning")};
  snapshot.problems = {Planted("problem")};
  snapshot.list.sources[0].path = Planted("path");
  snapshot.list.sources[0].error = Planted("mistake");
  snapshot.runtime.endpoint = Planted("endpoint");
  snapshot.runtime.error = Planted("runtime-error");
  snapshot.disk.path = Planted("disk");
  snapshot.registries = {
      {.name = "quay.io", .trouble = Planted("trouble"), .message = Planted("registry-message")}};
  snapshot.unlisted =
      std::make_shared<const plan::Unlisted>(plan::Unlisted{.since = At(-9),
                                                            .images = {{.image = Planted("unlisted"),
                                                                        .image_id = Planted("unlisted-id"),
                                                                        .first_seen = At(-8),
                                                                        .arrived_at = At(-7)}},
                                                            .left_out = 4});
  snapshot.requested.push_back(PlantedImage());
  snapshot.kubelet.emplace();
  snapshot.kubelet->version = "1.36.2";
  snapshot.kubelet->allowlist = {Planted("allowlist")};
  snapshot.kubelet->root = Planted("root");
  snapshot.kubelet->sources = {{"version", Planted("source")}};
  snapshot.kubelet->records_note = Planted("records");
  snapshot.kubelet->runtime_note = Planted("runtime-note");
  snapshot.kubelet->contradictions = {Planted("contradiction")};
  snapshot.kubelet->gc_warnings = {Planted("gc")};
  return snapshot;
}

}  // namespace prefetch::sample
