#include "agent/answers/endpoints.h"

#include <chrono>
#include <memory>
#include <utility>

#include "image/reference.h"
#include "status/check_document.h"
#include "status/status_json.h"

namespace prefetch::agent {

namespace {

using status::View;

// The loop turns every few seconds. It counts as stuck if it did not turn within this time.
constexpr std::chrono::seconds kLoopStuckAfter{30};
constexpr std::string_view kImages = "/v1/images/";
constexpr std::string_view kCheck = "/v1/check";
constexpr std::string_view kRetry = "/v1/retry";
constexpr base::TokenRate kAnonymousChecks{.per_second = kChecksPerSecond, .burst = kChecksAtOnce};
// All jobs of a node may have its address. A client that goes on asking leaves most to the others.
constexpr base::TokenRate kAnonymousClientChecks{.per_second = kChecksPerSecond / 4.0,
                                                 .burst = kChecksAtOnce};

// A flag of a query: "?verbose", "?verbose=1", "?verbose=true".
bool Flag(const http::ServerRequest& request, std::string_view name) {
  auto value = request.Query(name);
  return value && (value->empty() || *value == "1" || *value == "true");
}

http::ServerResponse Livez(const Board& board, const base::Clock& clock) {
  auto since_turn = clock.Now() - board.LastTurnAt();
  if (since_turn < kLoopStuckAfter) return {.body = "ok\n"};
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since_turn).count();
  return {.status = 503, .body = "the loop has not turned for " + std::to_string(seconds) + " s\n"};
}

// Another thread writes documents that grow with the list, so that probes do not wait for them.
http::HandlerResult OnQuickThread(http::Deferred job) {
  return {std::move(job), http::JobKind::kCompute};
}

http::HandlerResult Status(const Board& board, const base::Clock& clock, View view) {
  std::shared_ptr<CachedStatusTexts> documents = board.Documents();
  const bool full = view == View::kFull;
  // A document of this second is served at once; only the first client of a second has it written.
  const CachedStatusText& document = full ? documents->full : documents->public_view;
  if (CachedStatusText::Text text = document.Cached(clock.Wall())) {
    return http::SharedJsonResponse(200, std::move(text));
  }
  return OnQuickThread([documents = std::move(documents), &clock, full](const base::Call&) {
    CachedStatusText& document = full ? documents->full : documents->public_view;
    return http::SharedJsonResponse(200, document.Write(clock.Wall()));
  });
}

http::ServerResponse ErrorResponseFor(const CallerError& error) {
  http::ServerResponse response = http::ErrorResponse(error.status, error.message);
  // RFC 9110 requires it with 401.
  if (error.status == 401) response.headers.Add("WWW-Authenticate", "Bearer");
  if (error.retry_after.count() > 0) {
    response.headers.Add("Retry-After", std::to_string(error.retry_after.count()));
  }
  return response;
}

// Answers a client by the token of `authorization`, if this agent admits any for the purpose. Most worthless
// tokens are rejected here, without a thread. A client whose token is remembered is answered at once; others
// wait for a review on another thread.
http::HandlerResult WithCaller(ClientAuthenticator* authenticator, std::string_view authorization,
                               plan::CallerPurpose purpose, const std::string& peer,
                               std::function<http::HandlerResult(const plan::Caller&)> answer) {
  if (authenticator == nullptr || !authenticator->Admits(purpose)) {
    return http::ErrorResponse(
        403, purpose == plan::CallerPurpose::kFleet
                 ? "this agent's configuration (fleetTokens) admits no token here"
                 : "this agent's configuration (preflight) admits no pod that shows a token");
  }
  auto token = authenticator->Read(authorization, purpose);
  if (!token) return ErrorResponseFor(token.error());
  auto respond = [answer = std::move(answer)](
                     const base::Result<plan::Caller, CallerError>& who) -> http::HandlerResult {
    if (!who) return ErrorResponseFor(who.error());
    return answer(*who);
  };
  if (auto caller = authenticator->Remembered(*token)) return respond(*caller);
  return {[authenticator, token = *std::move(token), peer, respond = std::move(respond)](
              const base::Call& call) { return respond(authenticator->Identify(call, token, peer)); },
          http::JobKind::kAuthentication};
}

http::HandlerResult Readyz(const Board& board, const http::ServerRequest& request, View view) {
  for (const auto& [name, value] : request.query) {
    // A question that is misspelt must not be answered as if it were another one.
    if (name != "verbose" && name != "policy" && name != "hash" && name != "source") {
      return http::ErrorResponse(
          400, "unknown parameter " + name + ": verbose, policy, hash and source are known");
    }
  }
  plan::ReadyQuestion query;
  if (auto policy = request.Query("policy")) {
    query.policy = base::EnumNamed<image::PullPolicy>(*policy);
    if (!query.policy) return http::ErrorResponse(400, "policy must be Never, IfNotPresent or Always");
  }
  query.hash = request.Query("hash").value_or("");
  query.source = request.Query("source").value_or("");
  auto answer = [view](const plan::Snapshot& snapshot, const plan::ReadyQuestion& query, bool verbose) {
    plan::ReadyAnswer ready = plan::EvaluateReady(snapshot, query);
    return http::ServerResponse{.status = ready.ready ? 200 : 503,
                                .body = status::ReadyzText(snapshot, ready, verbose, view),
                                .headers = {}};
  };
  // The short answer needs no thread, so that probes never wait.
  if (!Flag(request, "verbose")) return answer(*board.Latest(), query, false);
  return OnQuickThread([answer, snapshot = board.Latest(), query = std::move(query)](const base::Call&) {
    return answer(*snapshot, query, true);
  });
}

http::HandlerResult OneImage(const ImageQueryService& image_queries, const http::ServerRequest& request) {
  std::string name = request.path.substr(kImages.size());
  auto reference = image::Reference::Parse(name);
  if (!reference) return http::ErrorResponse(400, name + ": " + reference.error().message());
  ExplainOptions options{.credentials = request.Query("credentials") != "false",
                         .identities = Flag(request, "identities")};
  return http::Deferred([&image_queries, reference = *reference, options](const base::Call& call) {
    Explanation explanation = image_queries.Explain(call, reference, options);
    return http::JsonResponse(explanation.known ? 200 : 404, std::move(explanation.json));
  });
}

http::ServerResponse AnswerCheck(const base::Call& call, const ImageQueryService& image_queries,
                                 const std::string& body, bool local) {
  auto check = status::ParseCheckRequest(body);
  if (!check) return http::ErrorResponse(400, check.error().message());
  // Anybody who reaches the port could otherwise fill the disk.
  if (check->pull && !local) {
    return http::ErrorResponse(403, "pulls are asked for on the node itself, over the agent's local socket");
  }
  if (check->pull && !image_queries.pulls_for_node()) {
    return http::ErrorResponse(403,
                               "this agent pulls for no check: start it with --check-pull to allow that");
  }
  const Requester requester{.kind = local ? Requester::Kind::kNode : Requester::Kind::kAnonymous};
  status::CheckResult result = image_queries.Check(call, *check, requester);
  // Messages may quote registries and plugins.
  if (!local) result = status::WithoutMessages(std::move(result));
  return http::JsonResponse(200, status::CheckResultJson(result));
}

// The body is parsed only when the request gets its turn, since a parsed one takes many times the memory of
// its text.
http::HandlerResult Check(const ImageQueryService& image_queries, const http::ServerRequest& request,
                          bool local) {
  // Anonymous clients on the pod network get known answers only.
  return {[&image_queries, body = request.body, local](const base::Call& call) {
            return AnswerCheck(call, image_queries, body, local);
          },
          local ? http::JobKind::kRemote : http::JobKind::kLocal};
}

// Answers the check of a pod that was identified. It waits for registries and pulls only if it needs them,
// and then beside other namespaces' checks.
http::HandlerResult AnswerPod(const base::Call& call, const ImageQueryService& image_queries,
                              const ClientAuthenticator& authenticator, const plan::Caller& caller,
                              const std::string& body, bool ask) {
  auto check = status::ParseCheckRequest(body, true);
  if (!check) return http::ErrorResponse(400, check.error().message());
  if (base::Status own = status::BindToCaller(caller, *check); !own) {
    return http::ErrorResponse(403, own.error().message());
  }
  const Requester requester{
      .kind = Requester::Kind::kPod, .rules = authenticator.rules(), .name_space = caller.name_space};
  if (check->pull && requester.rules.pull == plan::PullFor::kNever) {
    return http::ErrorResponse(403,
                               "this agent's configuration (preflight.pull) lets no pod have images pulled");
  }
  if (ask)
    return http::JsonResponse(200, status::CheckResultJson(image_queries.Check(call, *check, requester)));
  // Most checks end here, on the threads that are never held up by a registry.
  if (auto known = image_queries.CheckKnown(call, *check, requester)) {
    return http::JsonResponse(200, status::CheckResultJson(*known));
  }
  return {[&image_queries, &authenticator, caller, body](const base::Call& later) {
            return AnswerPod(later, image_queries, authenticator, caller, body, true);
          },
          // A namespace whose checks wait must not keep those of others waiting.
          http::JobKind::kRemote, caller.name_space};
}

// Answers a pod that asks in its own name.
http::HandlerResult PodCheck(const ImageQueryService& image_queries, const http::ServerRequest& request,
                             std::string_view authorization, ClientAuthenticator* authenticator) {
  auto answer = [&image_queries, authenticator,
                 body = request.body](const plan::Caller& caller) -> http::HandlerResult {
    return {[&image_queries, authenticator, caller, body](const base::Call& call) {
              return AnswerPod(call, image_queries, *authenticator, caller, body, false);
            },
            http::JobKind::kLocal, caller.name_space};
  };
  return WithCaller(authenticator, authorization, plan::CallerPurpose::kPreflight, request.peer, answer);
}

http::ServerResponse AnswerRetry(Retries& retries, const std::string& body) {
  auto request = status::ParseRetryRequest(body);
  if (!request) return http::ErrorResponse(400, request.error().message());
  const base::Result<status::RetryResult, base::Duration> result = retries.Request(*request);
  if (result) return http::JsonResponse(200, status::RetryResultJson(*result));
  const auto wait = std::chrono::ceil<std::chrono::seconds>(result.error());
  return ErrorResponseFor(
      {.status = 429,
       .message = "too many retries: the agent takes another one in " + std::to_string(wait.count()) + " s",
       .retry_after = wait});
}

// 1. Root of the node, or a fleet token. 2. Another thread parses: a request names up to a thousand images.
http::HandlerResult Retry(Retries& retries, const http::ServerRequest& request, bool local,
                          ClientAuthenticator* authenticator) {
  auto job = [&retries, body = request.body](const base::Call&) -> http::HandlerResult {
    return AnswerRetry(retries, body);
  };
  if (local) return OnQuickThread(job);
  auto authorization = request.headers.Get(plan::kFleetHeader);
  if (!authorization) {
    return http::ErrorResponse(403,
                               "a retry is requested over the agent's local socket, or with a fleet token");
  }
  return WithCaller(authenticator, *authorization, plan::CallerPurpose::kFleet, request.peer,
                    [job](const plan::Caller&) { return OnQuickThread(job); });
}

// Returns true if the answer depends on a token, which a web page of another site does not have.
bool HasToken(const http::ServerRequest& request) {
  return (request.path == kCheck && request.headers.Has("Authorization")) ||
         ((request.path == "/v1/status" || request.path == kRetry) &&
          request.headers.Has(plan::kFleetHeader));
}

// https://prometheus.io/docs/instrumenting/exposition_formats/: what every version of Prometheus reads.
http::ServerResponse Scrape(const Board& board, const Metrics& metrics, View view) {
  return {.content_type = "text/plain; version=0.0.4; charset=utf-8",
          .body = MetricsText(*board.Latest(), metrics.Copy(), ReadProcessFacts(), PREFETCH_VERSION, view)};
}

}  // namespace

http::Handler Endpoints(const Board& board, const Metrics& metrics, const ImageQueryService& image_queries,
                        Retries& retries, const base::Clock& clock, Audience audience,
                        ClientAuthenticator* authenticator) {
  const bool local = audience == Audience::kLocal;
  const View view = local ? View::kFull : View::kPublic;
  // A handler runs on one thread.
  auto checks = std::make_shared<base::PeerRateLimiter>(kAnonymousChecks, kAnonymousClientChecks);
  return [&board, &metrics, &image_queries, &retries, &clock, local, view, checks,
          authenticator](const http::ServerRequest& request) -> http::HandlerResult {
    const std::string& path = request.path;
    // /livez tells nothing that such a page could use.
    if (!local && path != "/livez" && !HasToken(request)) {
      // A web page of another site could read what any client may, through a browser in this network.
      const std::string node = board.Latest()->node;
      if (http::MayComeFromBrowserPage(request, {node})) {
        return http::ErrorResponse(
            421, "the Host header has another name than this agent's: use an address or the node's name");
      }
    }
    bool image = local && path.starts_with(kImages) && path.size() > kImages.size();
    if (path == kCheck) {
      if (request.method != "POST") return http::MethodNotAllowedResponse("POST");
      if (!local && request.headers.Has(plan::kFleetHeader)) {
        return http::ErrorResponse(403, "a fleet token opens /v1/status and /v1/retry, and nothing else");
      }
      auto authorization = request.headers.Get("Authorization");
      if (!local && authorization) return PodCheck(image_queries, request, *authorization, authenticator);
      // Take returns a waiting time if the client must wait.
      if (local || !checks->Take(request.peer, clock.Now())) return Check(image_queries, request, local);
      return ErrorResponseFor({.status = 429,
                               .message = "too many checks: ask again in a second",
                               .retry_after = std::chrono::seconds(1)});
    }
    if (path == kRetry) {
      if (request.method == "POST") return Retry(retries, request, local, authenticator);
      return http::MethodNotAllowedResponse("POST");
    }
    if (path != "/livez" && path != "/readyz" && path != "/v1/status" && path != "/metrics" && !image) {
      return http::NotFoundResponse(path);
    }
    if (request.method != "GET") return http::MethodNotAllowedResponse("GET, HEAD");
    if (path == "/livez") return Livez(board, clock);
    if (path == "/readyz") return Readyz(board, request, view);
    if (path == "/metrics") {
      return OnQuickThread(
          [&board, &metrics, view](const base::Call&) { return Scrape(board, metrics, view); });
    }
    if (path == "/v1/status") {
      auto authorization = request.headers.Get(plan::kFleetHeader);
      if (local || !authorization) return Status(board, clock, view);
      return WithCaller(authenticator, *authorization, plan::CallerPurpose::kFleet, request.peer,
                        [&board, &clock](const plan::Caller&) { return Status(board, clock, View::kFull); });
    }
    return OneImage(image_queries, request);
  };
}

namespace {

using status::RetryState;

RetryState StateOf(const plan::Snapshot& snapshot, const std::string& image) {
  auto reference = image::Reference::Parse(image);
  const plan::ImageState* listed = reference ? plan::FindImage(snapshot, *reference) : nullptr;
  if (listed == nullptr) return RetryState::kNotListed;
  return plan::AwaitsRetry(*listed) ? RetryState::kRequested : RetryState::kNotWaiting;
}

}  // namespace

base::Result<status::RetryResult, base::Duration> Retries::Request(const status::RetryRequest& request) {
  const plan::SnapshotPtr snapshot = board_.Latest();
  status::RetryResult result{.node = snapshot->node, .images = {}};
  for (const std::string& image : request.images) {
    result.images.push_back({image, StateOf(*snapshot, image)});
  }
  if (request.images.empty()) {
    for (const plan::ImageState& image : snapshot->images) {
      if (plan::AwaitsRetry(image)) {
        result.images.push_back({image.desired->reference.written(), RetryState::kRequested});
      }
    }
  }
  std::vector<std::string> names;
  for (const status::RetriedImage& image : result.images) {
    if (image.state != RetryState::kRequested) continue;
    names.push_back(image::Reference::Parse(image.image)->Normalized());
  }
  if (names.empty()) return result;
  {
    base::Lock lock(mutex_);
    if (!tokens_.TryTake(clock_.Now())) return tokens_.WaitAt(clock_.Now());
  }
  retry_(std::move(names));
  return result;
}

}  // namespace prefetch::agent
