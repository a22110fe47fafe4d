// Fleets for the tests of the page: a small one with one of each trouble, a calm large one, the worst one of
// the size that the page is made for, and one whose names are hostile.
#pragma once

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "screen/report/report.h"
#include "status/sample.h"
#include "status/status_json.h"

namespace prefetch::screen::report {

struct NodeSays {
  std::string name;
  status::StatusDocument document;
};

inline Report ReportOf(const std::vector<NodeSays>& says, std::vector<FleetNode> others = {}) {
  ReportBuilder builder;
  for (const NodeSays& one : says) {
    builder.Add(one.name, one.document);
    others.push_back(SummarizeStatus(one.document, one.name));
  }
  return std::move(builder).Take(GatherFleet(std::move(others)));
}

inline status::StatusDocument Documented(std::vector<plan::ImageState> images) {
  return status::DocumentOf(sample::Node(std::move(images)));
}

inline plan::ImageState Optional(plan::ImageState image) {
  image.desired.Change([](plan::DesiredImage& desired) { desired.required = false; });
  return image;
}

inline plan::ImageState Took(plan::ImageState image, int seconds) {
  image.pull.started_at = sample::At(-seconds - 60);
  image.pull.finished_at = sample::At(-60);
  return image;
}

// Images that every node of the small fleet has.
inline std::vector<plan::ImageState> Common() {
  std::vector<plan::ImageState> images = {
      Took(sample::Ready("ghcr.io/acme/runner:v3", 1'200'000'000), 74),
      sample::Ready("docker.io/library/busybox:1.36", 4'261'550),
      sample::Ready("gcr.io/acme/db@sha256:9ab1c2d3e4f5061728394a5b6c7d8e9f00112233445566778899aabbccddeeff",
                    310'000'000)};
  for (int i = 1; i <= 9; i++)
    images.push_back(sample::Ready("ghcr.io/acme/service-" + std::to_string(i) + ":v1", 90'000'000));
  return images;
}

inline status::StatusDocument With(std::vector<plan::ImageState> more) {
  std::vector<plan::ImageState> images = Common();
  images.insert(images.end(), more.begin(), more.end());
  return Documented(std::move(images));
}

inline plan::ImageState Denied() {
  plan::ImageState image = sample::Failing("quay.io/acme/private:v2", plan::Reason::kAccessDenied,
                                           "401 Unauthorized from quay.io with the node's credentials", 3);
  image.settled = true;
  return image;
}

inline plan::ImageState Stale() {
  return sample::Asked(
      "ghcr.io/acme/moved:v1",
      {.answer = image::RegistryAnswerKind::kMoved,
       .message = "the tag has changed: sha256:9ab1c2d3e4f5 here, sha256:77aa77aa77aa in the registry",
       .digest = "sha256:77aa77aa77aa",
       .checked_at = sample::At(-20),
       .confirmed_at = sample::At(-3'600),
       .reason = plan::Reason::kTagMoved});
}

// 24 nodes: 14 ready, 4 denied (one of them with an optional image, too), 2 pulling, 1 without room, 1 with
// a broken list, 1 not heard, 1 without agent.
inline Report SmallFleet() {
  const plan::ImageState here = sample::Ready("quay.io/acme/private:v2", 90'000'000);
  const plan::ImageState e2e = sample::Ready("ghcr.io/acme/e2e:main", 680'000'000);
  std::vector<NodeSays> says;
  auto add = [&](std::vector<plan::ImageState> images) -> status::StatusDocument& {
    says.push_back({"ci-" + std::to_string(10 + says.size()), With(std::move(images))});
    return says.back().document;
  };
  for (int i = 0; i < 13; i++) add({here, e2e});
  add({Took(here, 310), e2e, Stale()});
  for (int i = 0; i < 3; i++) add({Denied(), e2e});
  add({Denied(), e2e,
       Optional(sample::Failing("docker.io/library/nice:to-have", plan::Reason::kUnreachable,
                                "dial tcp 198.51.100.7:443: connection refused", 7))});
  add({here, sample::Pulling("ghcr.io/acme/e2e:main", 412'000'000, 680'000'000, 38'000'000)});
  add({here, sample::Pulling("ghcr.io/acme/e2e:main", 0, 2'100'000'000, 0),
       sample::Queued("quay.io/acme/a-team-with-a-long-name/and-a-service-with-a-longer-one:v1.2.3-rc4")});
  status::StatusDocument& full =
      add({here, sample::Failing("ghcr.io/acme/e2e:main", plan::Reason::kDiskPressure,
                                 "the images that are absent need 4.1 GB, and 2 GB may be used", 0)});
  full.disk->pressure = true;
  full.disk->available_bytes = 22'000'000'000;
  full.disk->needed_bytes = 4'100'000'000;
  says.push_back({"ci-31", status::DocumentOf(sample::BrokenListNode())});
  return ReportOf(says, {NodeWithoutDetail("ci-32", {.has_pod = true,
                                                     .pod_ready = true,
                                                     .pod_phase = "Running",
                                                     .label = "ready",
                                                     .why = "the API server answered 503"}),
                         NodeWithoutDetail("ci-33", {})});
}

inline std::string LargeName(int i) {
  return "registry.example.com/platform/team-" + std::to_string(i % 17) + "/service-" + std::to_string(i) +
         ":v1." + std::to_string(i % 40);
}

inline std::string LargeNode(int i) {
  return "ip-10-" + std::to_string(i / 250) + "-" + std::to_string(i % 250) +
         "-17.eu-central-1.compute.internal";
}

// A fleet of `nodes` × `images`. By chance, `not_ready` of a thousand cells are not ready.
inline Report LargeFleet(int nodes, int images, unsigned not_ready) {
  const std::vector<std::string> reasons = {"AccessDenied", "NotFound",    "Unreachable",
                                            "Timeout",      "RateLimited", "RecordedForOthers"};
  std::vector<plan::ImageState> calm;
  for (int i = 0; i < images; i++) calm.push_back(sample::Ready(LargeName(i), 90'000'000));
  const status::StatusDocument calm_node = Documented(std::move(calm));
  const status::StatusImage pulling =
      Documented({sample::Pulling("a/b:1", 100'000'000, 600'000'000, 9'000'000)}).images[0];
  std::mt19937 chance(7);  // NOLINT: the same fleet each time
  std::vector<FleetNode> fleet;
  ReportBuilder builder;
  for (int n = 0; n < nodes; n++) {
    status::StatusDocument document = calm_node;
    for (status::StatusImage& image : document.images) {
      if (chance() % 1000 >= not_ready) continue;
      document.ready = image.ready = false;
      document.reason = "ImagesNotReady";
      document.required_ready--;
      if (chance() % 4 == 0) {
        image.phase = document.phase = "Progressing";
        image.reason = "Pulling";
        image.pull = pulling.pull;
        continue;
      }
      image.phase = document.phase = "Failing";
      image.reason = reasons[chance() % reasons.size()];
      image.pull.state = "Waiting";
      image.message =
          "the registry answered to node " + LargeNode(n) +
          " something that is as long as such messages are, with an id: " + std::to_string(chance());
    }
    builder.Add(LargeNode(n), document);
    fleet.push_back(SummarizeStatus(document, LargeNode(n)));
  }
  return std::move(builder).Take(GatherFleet(std::move(fleet)));
}

inline const std::vector<std::string>& HostileTexts() {
  static const std::vector<std::string> kTexts = {
      "<script>document.title='owned'</script>",
      "\"><img src=x onerror=document.title='owned'>",
      "' onmouseover='document.title=1' x='",
      "</td></table></script><script>document.title='owned'</script>",
      "]]><!-- --!> &lt;b&gt; &amp; ${7*7} {{7*7}}",
      "javascript:document.title='owned'",
      "a\001b\x7f\xff\xfe",
      "\xe2\x80\xaegnp.exe " + std::string(4'000, 'x'),
  };
  return kTexts;
}

// Everything that an agent, a registry or the API server may say is hostile.
inline Report HostileFleet() {
  std::vector<NodeSays> says;
  std::vector<FleetNode> others;
  for (const std::string& text : HostileTexts()) {
    status::StatusDocument document = With({Denied(), Stale(), sample::Queued("quay.io/acme/tool:v9")});
    document.runtime.name = document.runtime.version = document.kubelet.version = document.list.hash = text;
    document.reason = text;
    document.message = text;
    document.registries.push_back(
        {.name = text, .unreachable_since = sample::At(-60), .trouble = text, .message = text});
    for (status::StatusImage& image : document.images) {
      if (!image.ready) image.message = text, image.reason = text, image.phase = text;
      if (image.registry) image.registry->message = text, image.registry->reason = text;
      if (!image.ready || image.registry) image.image = text + image.image;
    }
    says.push_back({text, document});
    others.push_back(NodeWithoutDetail("silent " + text, {.has_pod = true, .pod_phase = text, .why = text}));
  }
  // The same images, ready: so the map has rows.
  status::StatusDocument calm = With({});
  const status::StatusImage ready = calm.images[0];
  for (const NodeSays& one : says) {
    for (const status::StatusImage& image : one.document.images) {
      if (image.ready) continue;
      calm.images.push_back(ready);
      calm.images.back().image = image.image;
    }
  }
  says.push_back({"calm", calm});
  return ReportOf(says, others);
}

// A fleet as strangers see it.
inline Report PublicFleet() {
  std::vector<NodeSays> says;
  for (int i = 0; i < 3; i++) {
    status::StatusDocument document = With({i == 0 ? Denied() : sample::Ready("quay.io/acme/private:v2", 1)});
    document.hidden = {"images.message"};
    document.disk.reset();
    for (status::StatusImage& image : document.images) {
      image.message.clear();
      image.pull = {.state = image.pull.state};
      image.size_bytes = 0;
    }
    says.push_back({"ci-" + std::to_string(i), document});
  }
  return ReportOf(says);
}

inline Report OneNode() {
  return ReportOf({{"ci-7", status::DocumentOf(sample::TroubledNode())}});
}

inline Report AllReady() {
  std::vector<NodeSays> says;
  for (int i = 0; i < 300; i++) says.push_back({LargeNode(i), With({})});
  return ReportOf(says);
}

}  // namespace prefetch::screen::report
