#include "registry/client.h"

#include <utility>

#include "registry/host_check.h"
#include "registry/login.h"

namespace prefetch::registry {
namespace {

using image::RegistryAnswer;
using image::RegistryDetail;
using Kind = image::RegistryAnswerKind;

bool IsConclusive(const RegistryAnswer& answer) {
  return answer.kind == Kind::kSame || answer.kind == Kind::kMoved;
}

// This node's own limit (R29) kept the request back, so it is no answer of the registry.
RegistryAnswer OwnLimitAnswer(const base::Call& call) {
  if (call.Stopped()) {
    return {.kind = Kind::kUnreachable,
            .detail = RegistryDetail::kStopped,
            .message = "stopped before it was asked"};
  }
  return {.kind = Kind::kRateLimited,
          .detail = RegistryDetail::kOwnLimit,
          .message = "not asked: this node already sends as many requests to registries as its limit allows"};
}

RegistryAnswer NoHostsAnswer(const image::Reference& reference) {
  return {.kind = Kind::kIndeterminate,
          .detail = RegistryDetail::kNoHosts,
          .message = "hosts.toml leaves no server that may be asked for " + reference.Repository()};
}

RegistryAnswer DeferToPull(std::string why) {
  return {.kind = Kind::kIndeterminate, .only_by_pull = true, .message = std::move(why)};
}

RegistryAnswer BlockedAnswer(const ChainedHost& host) {
  return {.kind = Kind::kAccessDenied,
          .detail = RegistryDetail::kBlocked,
          .message = "registries.conf blocks " + host.blocked_by};
}

// CRI-O has its own credentials, and uses them if a pull brings none (R48).
RegistryAnswer CrioCredentialsAnswer(const RegistryAnswer& refused) {
  RegistryAnswer answer =
      DeferToPull(refused.answered_by +
                  " asks for credentials, and only CRI-O knows its own: the agent checks by pulling");
  answer.detail = RegistryDetail::kCredentialsWithheld;
  answer.requests = refused.requests;
  return answer;
}

}  // namespace

Client::Client(http::Client& http, const base::Clock& clock, ClientOptions options)
    : state_{.http = http, .clock = clock, .options = std::move(options)},
      files_(state_.options.hosts),
      contents_(
          MakeBlobSource(state_, [this](const image::Reference& reference) { return HostsFor(reference); })) {
  const ClientOptions& given = state_.options;
  if (!given.registries) return;
  endpoint_files_.emplace(given.registries, given.hosts.host_root, given.hosts.system_ca_files);
}

std::shared_ptr<const HostChain> Client::HostsFor(const image::Reference& reference) {
  return endpoint_files_ ? endpoint_files_->ChainFor(reference) : files_.ChainFor(reference.domain());
}

RegistryAnswer Client::Ask(const base::Call& call, const image::RegistryQuestion& question) {
  auto permit = state_.throttle.AcquireCheck(call);
  if (permit == nullptr) return OwnLimitAnswer(call);
  return AskChain(call.Within(state_.options.times.check), question);
}

// Asks one host. A location of registries.conf may give the image another name there. The node's credentials
// then go only to the registry's own server (R48).
RegistryAnswer Client::AskHost(const base::Call& call, const std::vector<ChainedHost>& chain,
                               const ChainedHost& host, const image::RegistryQuestion& question) {
  if (!host.as) return CheckHost(state_, call, chain, host, question);
  image::RegistryQuestion renamed = question;
  renamed.reference = *host.as;
  if (!host.own) renamed.credentials.clear();
  RegistryAnswer answer = CheckHost(state_, call, chain, host, renamed);
  bool refused = answer.kind == Kind::kAccessDenied && renamed.credentials.empty();
  return refused ? CrioCredentialsAnswer(answer) : answer;
}

// The first success decides (R37). Otherwise the last host's answer counts, since mirrors know less: a
// mirror's 404 means nothing while the registry itself cannot be reached. If the registry must not be asked,
// the last mirror's answer counts.
RegistryAnswer Client::AskChain(const base::Call& call, const image::RegistryQuestion& question) {
  std::shared_ptr<const HostChain> chain = HostsFor(question.reference);
  if (!chain->only_by_pull_reason.empty()) return DeferToPull(chain->only_by_pull_reason);
  RegistryAnswer answer = NoHostsAnswer(question.reference);
  bool asked = false, withheld = false;
  int requests = 0;
  for (const ChainedHost& host : chain->hosts) {
    if (!CanServe(host.host, question.reference.has_digest())) continue;
    if (state_.options.skip_mirrors && host.mirror) continue;
    if (!host.blocked_by.empty()) {
      // The answer of a host that was asked explains more than the block of a later one.
      if (!asked) answer = BlockedAnswer(host);
      continue;
    }
    asked = true;
    if (!host.problem.empty()) {
      answer = {.kind = Kind::kUnreachable,
                .detail = RegistryDetail::kTls,
                .message = host.host.server.Authority() + " cannot be asked: " + host.problem};
      continue;
    }
    // The operator has chosen mirrors, and registries that the runtime's configuration or a credential names.
    // They are trusted, even if a pod names the image.
    image::RegistryQuestion asked_here = question;
    asked_here.untrusted_name = question.untrusted_name && host.own && question.credentials.empty() &&
                                (chain->source.empty() || chain->source.ends_with("/_default"));
    if (asked_here.untrusted_name && !question.excluded_addresses) {
      answer = {
          .kind = Kind::kUnreachable,
          .message = "the agent asks no registry that only pods name until DNS resolves the API server"};
      break;
    }
    answer = AskHost(call, chain->hosts, host, asked_here);
    requests += answer.requests;
    if (IsConclusive(answer) || answer.only_by_pull || answer.ends_pull) break;
    withheld |= host.mirror && LoginIsWithheld(state_.options, state_.host_states, host, question);
  }
  // The mirror may have what the registry refuses, and containerd would log in there.
  if (withheld && (answer.kind == Kind::kAccessDenied || answer.kind == Kind::kTagMissing)) {
    answer.kind = Kind::kIndeterminate;
    answer.only_by_pull = true;
    answer.message += "; a mirror " + std::string(kLoginWithheldMessage);
    answer.detail = RegistryDetail::kCredentialsWithheld;
  }
  answer.requests = requests;
  return answer;
}

}  // namespace prefetch::registry
