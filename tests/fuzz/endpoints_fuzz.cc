// Requests of anybody to both listeners, callers with tokens too: each gets an answer that HTTP allows, JSON
// is JSON, and no answer on the pod network tells what only the local socket does.
#include <utility>

#include "agent/answers/endpoints.h"
#include "base/text.h"
#include "doc/json.h"
#include "fakes/fake_clock.h"
#include "fakes/fake_image_service.h"
#include "fuzz/scripted_answers.h"
#include "fuzz/target.h"
#include "http/client.h"
#include "http/url.h"
#include "kube/http_api.h"

namespace {

using namespace prefetch;

// The API server's possible answers about a caller: nobody, a pod of this node, a fleet command.
constexpr const char* kReviews[] = {
    "201\n\n{\"kind\":\"TokenReview\",\"status\":{\"authenticated\":false}}",
    "201\n\n{\"kind\":\"TokenReview\",\"status\":{\"authenticated\":true,\"audiences\":[\"prefetchd\"],"
    "\"user\":{"
    "\"username\":\"system:serviceaccount:ci:runner\",\"uid\":\"u1\",\"extra\":{"
    "\"authentication.kubernetes.io/pod-name\":[\"job\"],\"authentication.kubernetes.io/pod-uid\":[\"p1\"],"
    "\"authentication.kubernetes.io/node-name\":[\"n1\"]}}}}",
    "201\n\n{\"kind\":\"TokenReview\",\"status\":{\"authenticated\":true,\"audiences\":[\"prefetchd\"],"
    "\"user\":{"
    "\"username\":\"system:serviceaccount:prefetchd:prefetchd-fleet\",\"uid\":\"u2\"}}}"};
constexpr const char* kFleetsReview = kReviews[2];

// Its keys for tokens are nobody's business, so that no token counts as forged.
class ApiServer final : public http::Client {
 public:
  explicit ApiServer(std::string_view review) : reviews_(review) {}

  http::ExchangeResult Exchange(const base::Call& call, const http::Request& request) override {
    if (!request.url.ends_with("/openid/v1/jwks")) return reviews_.Exchange(call, request);
    return {http::Response{.status = 403, .headers = {}, .body = {}}, http::Fault::kNone};
  }

 private:
  fuzz::ScriptedAnswers reviews_;
};

// In the message of an image, which the public view leaves out.
constexpr const char* kPrivate = "only-for-the-local-socket";

plan::Snapshot Shown() {
  plan::Snapshot snapshot;
  snapshot.node = "n1";
  plan::DesiredImage desired;
  desired.reference = *image::Reference::Parse("quay.io/acme/private:v2");
  plan::ImageState image;
  image.desired = desired;
  image.phase = plan::Phase::kFailing;
  image.reason = plan::Reason::kAccessDenied;
  image.message = kPrivate;
  snapshot.images.push_back(std::move(image));
  return snapshot;
}

// Method, target, headers one a line, an empty line, a body.
std::optional<http::ServerRequest> RequestOf(std::string_view text) {
  const auto line = [&text] {
    const std::size_t end = text.find('\n');
    const std::string_view one = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    return one;
  };
  const std::string method(line());
  auto target = http::ParseTarget(line());
  if (!target) return std::nullopt;  // the server answers these itself
  http::ServerRequest request{.method = method, .path = target->path, .query = target->query};
  while (!text.empty()) {
    std::string_view field = line();
    if (field.empty()) break;
    const std::size_t colon = field.find(": ");
    if (colon == std::string_view::npos) continue;
    request.headers.Add(std::string(field.substr(0, colon)), std::string(field.substr(colon + 2)));
  }
  request.body = text;
  return request;
}

void Judge(bool may_tell, http::ServerResponse answer) {
  if (answer.shared) answer.body = *answer.shared;
  if (answer.status < 200 || answer.status > 599 || answer.status == 500) __builtin_trap();
  if (!base::IsUtf8(answer.body)) __builtin_trap();
  for (const auto& [name, value] : answer.headers.fields()) {
    if (!http::IsFieldName(name) || !http::IsFieldValue(value)) __builtin_trap();
  }
  if (answer.content_type.starts_with("application/json")) {
    doc::Problems problems("answer");
    if (!doc::ParseJson(answer.body, problems)) __builtin_trap();
  }
  if (!may_tell && answer.body.find(kPrivate) != std::string::npos) __builtin_trap();
}

}  // namespace

FUZZ_TARGET(text) {
  auto request = RequestOf(text);
  if (!request) return;
  tests::FakeClock clock;
  tests::FakeImageService runtime(clock, tests::Persona::kContainerd16);
  credentials::Keyring keyring({.docker_configs = {"/absent"}}, clock);
  agent::Metrics metrics;
  agent::Board board;
  board.Publish(std::make_shared<const plan::Snapshot>(Shown()));
  board.RecordTurn(clock.Now());
  const agent::ImageQueryService image_queries(board, runtime, runtime, keyring, clock);
  kube::Identity identity({.server = "https://api.example.test"}, clock);
  plan::CallerRules rules;
  rules.namespaces = {"*"};
  const auto ask = [&](agent::Audience audience, const char* review) {
    ApiServer server(review);
    const auto api = kube::MakeHttpApi(server, identity, clock);
    agent::ClientAuthenticator callers(rules, true, {"n1", "prefetchd"}, *api, metrics, clock);
    request->local = audience == agent::Audience::kLocal;
    request->peer = request->local ? "" : "192.0.2.7";
    agent::Retries retries(board, clock, [](const std::vector<std::string>&) {});
    const auto handler = agent::Endpoints(board, metrics, image_queries, retries, clock, audience, &callers);
    // A request that waits for a change of the Snapshot would wait for ever.
    const base::Call call = base::Call{}.Within(std::chrono::milliseconds(20));
    const bool is_fleets = review == kFleetsReview && request->path == "/v1/status";
    Judge(request->local || is_fleets, handler(*request).Wait(call));
  };
  for (const char* review : kReviews) ask(agent::Audience::kPodNetwork, review);
  ask(agent::Audience::kLocal, kReviews[0]);
}
