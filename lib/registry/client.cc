#include "registry/client.h"

#include <utility>

#include "registry/conversation.h"

namespace prefetch::registry {
namespace {

using image::RegistryAnswer;
using image::RegistryDetail;
using Kind = image::RegistryAnswerKind;

bool Answered(const RegistryAnswer& answer) {
  return answer.kind == Kind::kSame || answer.kind == Kind::kMoved;
}

RegistryAnswer NoTurn(const base::Call& call) {
  if (call.Stopped()) {
    return {.kind = Kind::kUnreachable,
            .detail = RegistryDetail::kStopped,
            .message = "stopped before it was asked"};
  }
  return {.kind = Kind::kRateLimited,
          .detail = RegistryDetail::kOwnLimit,
          .message = "not asked: this node had other questions for its registries first"};
}

RegistryAnswer NobodyToAsk(const image::Reference& reference) {
  return {.kind = Kind::kIndeterminate,
          .detail = RegistryDetail::kNoHosts,
          .message = "hosts.toml leaves no server that may be asked for " + reference.Repository()};
}

}  // namespace

Client::Client(http::Client& http, const base::Clock& clock, ClientOptions options)
    : options_(std::move(options)),
      http_(http),
      clock_(clock),
      throttle_(options_.throttle),
      book_(clock, options_.circuit),
      tokens_(clock),
      files_(options_.hosts) {}

std::shared_ptr<const HostChain> Client::HostsFor(const image::Reference& reference) {
  return files_.ChainFor(reference.domain());
}

RegistryAnswer Client::Ask(const base::Call& call, const image::RegistryQuestion& question) {
  auto pass = throttle_.EnterCheck(call);
  if (!pass.granted()) return NoTurn(call);
  return AskChain(call.Within(options_.times.check), question);
}

// The first success decides. Else the last host's word counts, since mirrors know less: a mirror's 404 says
// nothing while the registry itself cannot be reached.
RegistryAnswer Client::AskChain(const base::Call& call, const image::RegistryQuestion& question) {
  std::shared_ptr<const HostChain> chain = HostsFor(question.reference);
  RegistryAnswer answer = NobodyToAsk(question.reference);
  int requests = 0;
  for (const ChainedHost& host : chain->hosts) {
    if (!Answers(host.host, question.reference.has_digest())) continue;
    if (options_.skip_mirrors && !host.own) continue;
    if (!host.problem.empty()) {
      answer = {.kind = Kind::kUnreachable,
                .detail = RegistryDetail::kTls,
                .message = host.host.server.Authority() + " cannot be asked: " + host.problem};
      continue;
    }
    Parts parts{http_, clock_, options_, throttle_, book_, tokens_};
    answer = Conversation(parts, call, host, question).Run();
    requests += answer.requests;
    if (Answered(answer)) break;
  }
  answer.requests = requests;
  return answer;
}

}  // namespace prefetch::registry
