#include <gtest/gtest.h>

#include "base/text.h"
#include "golden.h"
#include "must.h"
#include "rows.h"
#include "screen/node_text.h"
#include "screen/text_layout.h"
#include "status/kubelet_sample.h"
#include "status/status_json.h"

namespace prefetch::screen::explain_test {
namespace {

struct Explained {
  plan::Snapshot node;
  plan::ImageState image;
  status::ImageDocument detail;
};

Explained UnresolvedImage() {
  plan::ImageState image = sample::Open("gcr.io/acme/db:v5");
  plan::RegistryView said;
  said.answer = image::RegistryAnswerKind::kMoved;
  said.message = "gcr.io has other content under the tag than this node.";
  said.checked_at = sample::KubeletNodeOf({image}).time - std::chrono::seconds(40);
  image.registry = std::make_shared<const plan::RegistryView>(said);
  status::ImageDocument detail =
      sample::DetailOf(image, sample::Recorded("gcr.io/acme/db", sample::ForTheNode()));
  *detail.credentials = {{"provider", "acme-login", "gcr.io/acme", "AWS"}};
  detail.registry_hosts =
      status::RegistryHostsView{.source = "/etc/containerd/certs.d/gcr.io",
                                .config_path = "/etc/containerd/certs.d",
                                .config_path_source = "runtime",
                                .hosts = {{"http://mirror.acme.io:5000", true, ""},
                                          {"mirror.elsewhere.io", true, "ca.crt: no such file"},
                                          {"gcr.io", false, ""}},
                                .notes = {"hosts.toml:7: the capability \"push\" is passed over."}};
  return {sample::KubeletNodeOf({image}), image, detail};
}

Explained PreloadedImage() {
  plan::ImageState image = sample::Preloaded("docker.io/library/busybox:1.36");
  return {sample::KubeletNodeOf({image}), image, sample::DetailOf(image)};
}

// Its mirrors are in containerd's own tables.
Explained AskedByPull() {
  plan::ImageState image = sample::Ready("docker.io/acme/app:v1", 310'000'000);
  plan::RegistryView said;
  said.answer = image::RegistryAnswerKind::kIndeterminate;
  said.message = "the registry agreed";
  said.checked_at = sample::Node({image}).time - std::chrono::seconds(40);
  image.registry = std::make_shared<const plan::RegistryView>(said);
  status::ImageDocument detail = sample::DetailOf(image);
  detail.registry_hosts = status::RegistryHostsView{
      .by_pull = true,
      .config_path_source = "runtime",
      .notes = {"containerd has mirrors for it in its own configuration: only it can follow them."}};
  return {sample::Node({image}), image, detail};
}

// At the places of CRI-O's registries.conf.
Explained AskedAsCrio() {
  plan::ImageState image = sample::Ready("quay.io/acme/app:v1", 310'000'000);
  image.pinned = true;  // pinned_images of crio.conf
  status::ImageDocument detail = sample::DetailOf(image);
  detail.registry_hosts = status::RegistryHostsView{
      .source = "the entry quay.io/acme of registries.conf",
      .config_path = "/etc/containers/registries.conf",
      .config_path_source = "registries.conf",
      .hosts = {{"mirror.acme.io:5000/quay/app:v1", true, ""},
                {"quay.io/acme/app:v1", false, "registries.conf blocks quay.io/acme"}}};
  return {sample::Node({image}), image, detail};
}

Explained ClosedImage() {
  plan::ImageState image = sample::ClosedByOthers();
  status::ImageDocument detail =
      sample::DetailOf(image, sample::Recorded("quay.io/acme/runner", sample::ForTwoSecrets()));
  detail.record.uses[0].identities = {"secret team/pull", "secret shop/robot"};
  *detail.credentials = {{"docker-config", "/root/.docker/config.json", "quay.io", "ann"},
                         {"provider", "acme-login", "quay.io", ""}};
  return {sample::KubeletNodeOf({image}), image, detail};
}

Explained OtherNameImage() {
  plan::ImageState image = sample::UnderOtherName();
  status::ImageDocument detail =
      sample::DetailOf(image, sample::Recorded("quay.io/acme/app", sample::ForTwoSecrets()));
  detail.listed_aliases = {"quay.io/acme/app:v1"};
  return {sample::KubeletNodeOf({image}), image, detail};
}

Explained SpelledImage() {
  plan::ImageState image = sample::SpelledTwice();
  status::ImageDocument detail =
      sample::DetailOf(image, sample::Recorded("docker.io/library/nginx", sample::ForTheNode()));
  detail.record_key = "nginx";
  return {sample::KubeletNodeOf({image}), image, detail};
}

Explained ForPodsWithASecret() {
  plan::ImageState image = sample::ForPodsWithASecret();
  return {sample::KubeletNodeOf({image}), image,
          sample::DetailOf(image, sample::Recorded("quay.io/acme/runner", sample::ForTwoSecrets()))};
}

Explained ForTwoPods() {
  plan::ImageState image = sample::ForTwoPods();
  return {sample::KubeletNodeOf({image}), image,
          sample::DetailOf(image, sample::Recorded("quay.io/acme/runner", sample::ForTwoSecrets()))};
}

Explained AbsentImage() {
  plan::ImageState image = sample::Absent();
  status::ImageDocument detail = sample::DetailOf(image);
  detail.providers = {{"ecr-credential-provider", "error", "its program exited with 3: no region", true},
                      {"other", "skipped", "", false},
                      {"empty-handed", "empty", "", true}};
  return {sample::KubeletNodeOf({image}), image, detail};
}

Explained UnlistedImage() {
  plan::ImageState image = sample::Preloaded("quay.io/somebody/tool:v1");
  image.desired.Change([](plan::DesiredImage& desired) {
    desired.from.clear();
    desired.required = false;
  });
  status::ImageDocument detail = sample::DetailOf(image);
  detail.listed = false;
  detail.credentials.reset();
  return {sample::KubeletNodeOf({sample::Open("gcr.io/acme/db:v5")}), image, detail};
}

Explained UnknownImage() {
  plan::ImageState image = sample::Undecided(sample::Ready("ghcr.io/acme/odd:v1", 90'000'000));
  plan::Snapshot node = sample::KubeletNodeOf({image});
  node.kubelet->version.clear();
  node.kubelet->verification.clear();
  node.kubelet->sources.clear();
  node.kubelet->records_note =
      "kubelet's records in /var/lib/kubelet/image_manager may not be read by this process: it needs to run "
      "as root";
  status::ImageDocument detail = sample::DetailOf(image);
  detail.record.state = kubelet::Reading::kUnreadable;
  detail.intent = kubelet::Reading::kUnreadable;
  return {node, image, detail};
}

Explained NewerKubelet() {
  plan::ImageState image = sample::BeyondTheRules();
  return {sample::NewerNodeOf({image}), image, sample::DetailOf(image)};
}

Explained UngivenProvider() {
  plan::ImageState image = sample::RefusedForWantOfAProvider();
  status::ImageDocument detail = sample::DetailOf(image);
  detail.providers = {{"ecr-credential-provider", "skipped",
                       "kubelet uses it, from /etc/kubernetes/providers/ecr.yaml; the agent was given none",
                       true}};
  return {sample::UngivenNode(), image, detail};
}

// The operator lets it be judged by the rules of 1.37.
Explained OtherRules() {
  plan::ImageState image = sample::Preloaded("docker.io/library/busybox:1.36");
  plan::Snapshot node = sample::KubeletNodeOf({image});
  node.kubelet->version = "1.99.0";
  node.kubelet->rules = "1.37";
  return {node, image, sample::DetailOf(image)};
}

Explained TouchedImage() {
  plan::ImageState image = sample::Open("gcr.io/acme/db:v5");
  image.desired.Change([](plan::DesiredImage& desired) { desired.open = plan::Open::kAlways; });
  image.touch = plan::TouchStatus{.state = plan::TouchState::kDone, .attempts = 1};
  return {sample::KubeletNodeOf({image}), image,
          sample::DetailOf(image, sample::Recorded("gcr.io/acme/db", sample::ForTheNode()))};
}

Explained TouchInVain() {
  plan::ImageState image = sample::ClosedByOthers();
  image.reason = plan::Reason::kTouchIneffective;
  image.touch =
      plan::TouchStatus{.state = plan::TouchState::kIneffective,
                        .attempts = 3,
                        .obstacle = plan::TouchObstacle::kNoNodeCredentials,
                        .why = "ErrImagePull: unexpected status from HEAD request: 401 Unauthorized"};
  image.message += " Touching it does not help: " + image.touch->why + ".";
  return {sample::KubeletNodeOf({image}), image,
          sample::DetailOf(image, sample::Recorded("quay.io/acme/runner", sample::ForTwoSecrets()))};
}

Explained NoKubelet() {
  plan::ImageState image = sample::Ready("ghcr.io/acme/runner:v3", 1'200'000'000);
  image.aliases = {"localhost/runner:v3"};
  status::ImageDocument detail = sample::DetailOf(image);
  detail.record = {};
  detail.intent = kubelet::Reading::kNotAsked;
  return {sample::Node({image}), image, detail};
}

// A node that never reached its runtime: what it has is not known, and what kubelet would say neither.
Explained RuntimeNeverReached() {
  plan::ImageState image;
  image.desired = plan::DesiredImage{.reference = *image::Reference::Parse("quay.io/acme/tool:v9"),
                                     .from = {"images.yaml:3"}};
  image.message = "the container runtime has not answered yet";
  plan::Snapshot node = sample::KubeletNodeOf({image});
  node.runtime = {
      .endpoint = "unix:///run/containerd/containerd.sock",
      .error = "cannot reach the container runtime at /run/containerd/containerd.sock: nobody listens"};
  return {node, image, {}};
}

// It has been away since the last look.
Explained RuntimeAway() {
  Explained made = UnresolvedImage();
  made.detail = sample::DetailOf(made.image, sample::Recorded("gcr.io/acme/db", sample::ForTheNode()));
  made.node.runtime.up = false;
  made.node.runtime.error = "the container runtime does not answer (ListImages)";
  return made;
}

struct ExplainCase {
  std::string name;
  Explained (*made)();
};
TEST_TABLE(ExplainTest, ReadsAloud, ExplainCase) {
  Explained made = row.made();
  auto document =
      tests::Must(status::ParseImageDocument(status::ImageJson(made.node, made.image, made.detail)));
  std::string text = ExplainText(*document, 80);
  tests::ExpectGolden("screen/explain-" + row.name + ".txt", text);
  for (std::size_t width : {60U, 80U, 120U}) {
    std::string shown = ExplainText(*document, width);
    for (std::string_view line : base::Split(shown, '\n')) {
      EXPECT_LE(DisplayWidth(line), width) << line;
    }
  }
}

TEST_ROWS(Images, ExplainTest, {"open", &UnresolvedImage}, {"preloaded", &PreloadedImage},
          {"bypull", &AskedByPull}, {"crio", &AskedAsCrio}, {"closed", &ClosedImage},
          {"othername", &OtherNameImage}, {"spelled", &SpelledImage}, {"readyas", &ForPodsWithASecret},
          {"twopods", &ForTwoPods}, {"absent", &AbsentImage}, {"unlisted", &UnlistedImage},
          {"unknown", &UnknownImage}, {"nokubelet", &NoKubelet}, {"newer", &NewerKubelet},
          {"ungiven", &UngivenProvider}, {"otherrules", &OtherRules}, {"touched", &TouchedImage},
          {"touchinvain", &TouchInVain}, {"runtimenever", &RuntimeNeverReached},
          {"runtimeaway", &RuntimeAway});

constexpr std::string_view kFrame = R"("apiVersion":"prefetchd.dev/v1","kind":"ImageStatus")";

TEST(ImageDocument, MissingAndUnknownMembersAreNothing) {
  auto document = tests::Must(
      status::ParseImageDocument("{" + std::string(kFrame) + R"(,"new":{"a":[1]},"reasoning":null})"));
  EXPECT_FALSE(document->reasoning);
  EXPECT_FALSE(document->credentials.has_value());
  EXPECT_NE(ExplainText(*document, 80).find("UNKNOWN"), std::string::npos);
}

TEST(ImageDocument, CredentialsThatWereNotAskedForAreNotNone) {
  auto none = tests::Must(status::ParseImageDocument("{" + std::string(kFrame) + R"(,"credentials":[]})"));
  EXPECT_TRUE(none->credentials.has_value());
  auto not_asked =
      tests::Must(status::ParseImageDocument("{" + std::string(kFrame) + R"(,"credentials":null})"));
  EXPECT_FALSE(not_asked->credentials.has_value());
}

TEST(ImageDocument, NothingInItCanHarmATerminal) {
  auto document = tests::Must(status::ParseImageDocument(
      "{" + std::string(kFrame) +
      R"(,"node":"\u001b[2Jx","image":"a\nb\u009b","present":true,"imageID":"\u0007",)"
      R"("aliases":["\u001b]0;x"],"whatHelps":["\u001b[1m"],"record":{"state":"Found","uses":[)"
      R"({"repository":"\u001b[3J","identities":["\u001b[5m"]}]},"reasoning":{"Never":{"rule":"1: \u001b"}},)"
      R"("credentials":[{"name":"\u001b[8m"}],"providers":[{"name":"\u001b","error":"\u001b[7m"}]})"));
  std::string text = ExplainText(*document, 80);
  for (char c : text) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << text;
  EXPECT_EQ(text.substr(0, 2), "a ");
}

struct BadCase {
  std::string name, json, says;
};
TEST_TABLE(BadImageDocumentTest, IsRefused, BadCase) {
  const auto error = tests::MustFail(status::ParseImageDocument(row.json));
  EXPECT_EQ(error.code(), base::Code::kInvalidArgument);
  EXPECT_NE(error.message().find(row.says), std::string::npos) << error.message();
}
std::string Framed(const std::string& more) {
  return "{" + std::string(kFrame) + "," + more + "}";
}
TEST_ROWS(All, BadImageDocumentTest, {"Empty", "", "image document"},
          {"AnotherKind", R"({"apiVersion":"prefetchd.dev/v1","kind":"NodeStatus"})", "no ImageStatus"},
          {"AList", "[]", "the document is not an object"},
          {"WrongType", Framed(R"("record":{"uses":[{"secrets":"2"}]})"),
           "record.uses[0].secrets is not a whole number"},
          {"WrongReasoning", Framed(R"("reasoning":{"Never":[]})"), "reasoning.Never is not an object"});

}  // namespace
}  // namespace prefetch::screen::explain_test
