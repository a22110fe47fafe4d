#include "ctl/fleet.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "base/call.h"
#include "base/mutex.h"
#include "ctl/agent_client.h"

namespace prefetch::ctl {
namespace {

using std::chrono::seconds;

constexpr seconds kOneAnswer{10};
constexpr seconds kLongestPatience{5};  // with a server that says 429

// Without the name of the pod, so that nodes with the same trouble read the same.
std::string WhyNotHeard(const kube::Failure& failure) {
  if (failure.kind == kube::ApiError::kTimeout) return "it did not answer in time";
  if (failure.kind == kube::ApiError::kForbidden) return "you may not get pods/proxy of its pod";
  std::size_t end = failure.message.find(": ");
  return end == std::string::npos ? failure.message : failure.message.substr(end + 2);
}

kube::Answer<std::string> Get(const base::Call& call, kube::Api& api, const std::string& name_space,
                              const FleetMember& member, const std::optional<http::SecretHeader>& token) {
  auto get = [&] {
    return api.PodProxyGet(call.Within(kOneAnswer), name_space, member.pod, member.port, "/v1/status", token);
  };
  auto body = get();
  if (body || body.failure().kind != kube::ApiError::kTooManyRequests) return body;
  base::Pause(call, std::min(body.failure().retry_after.value_or(seconds(1)), kLongestPatience));
  return get();
}

// May an agent have refused the token? Then it answers without one. A 403 may be the API server's as well,
// which then says it again.
bool MayBeTheToken(kube::ApiError error) {
  return error == kube::ApiError::kUnauthorized || error == kube::ApiError::kForbidden ||
         error == kube::ApiError::kTooManyRequests || error == kube::ApiError::kServerError;
}

// One after the other, until none is left; several threads run this.
class FleetAsking {
 public:
  FleetAsking(kube::Api& api, const std::vector<FleetMember>& members, const FleetAsk& ask,
              FleetTokens::Headers tokens)
      : api_(api), members_(members), ask_(ask), tokens_(std::move(tokens)) {
    answers_.nodes.resize(members.size());
  }

  void Run(const base::Call& call) {
    for (std::size_t i = next_++; i < members_.size(); i = next_++) {
      answers_.nodes[i] = Ask(call, i);
      base::Lock lock(mutex_);
      done_++;
      if (ask_.progress) ask_.progress(done_);
    }
  }

  // After all threads have ended.
  FleetAnswers Take() {
    base::Lock lock(mutex_);
    if (let_in_ == 0) answers_.forbidden = std::move(forbidden_);
    return std::move(answers_);
  }

 private:
  screen::FleetNode NotHeard(const FleetMember& member, std::string why) const {
    screen::NodeSigns signs = member.signs;
    signs.why = std::move(why);
    signs.about_the_list_asked = ask_.demand == nullptr;
    return screen::NodeWithoutDetail(member.node, signs);
  }

  kube::Answer<std::string> Heard(const base::Call& call, const FleetMember& member) const {
    if (auto token = tokens_.find(member.account); token != tokens_.end()) {
      auto body = Get(call, api_, ask_.name_space, member, token->second);
      if (body || !MayBeTheToken(body.failure().kind)) return body;
    }
    return Get(call, api_, ask_.name_space, member, std::nullopt);
  }

  screen::FleetNode Ask(const base::Call& call, std::size_t i) {
    const FleetMember& member = members_[i];
    if (member.pod.empty()) return NotHeard(member, "");
    if (member.signs.is_dead) return NotHeard(member, "its node is dead: " + member.signs.leaving);
    if (call.Stopped()) return NotHeard(member, "it was not asked");
    auto body = Heard(call, member);
    {
      base::Lock lock(mutex_);
      if (!body && body.failure().kind == kube::ApiError::kForbidden) {
        forbidden_ = body.failure();
      } else {
        let_in_++;
      }
    }
    if (!body) return NotHeard(member, WhyNotHeard(body.failure()));
    auto document = screen::ParseStatusDocument(*body);
    if (!document) return NotHeard(member, document.error().message());
    if (ask_.each) ask_.each(i, *document);
    screen::FleetNode node =
        ask_.demand == nullptr
            ? screen::DigestStatus(*document, member.node)
            : screen::DigestStatus(screen::NarrowTo(*std::move(document), *ask_.demand), member.node);
    node.leaving = member.signs.leaving;
    return node;
  }

  kube::Api& api_;
  const std::vector<FleetMember>& members_;
  const FleetAsk& ask_;
  const FleetTokens::Headers tokens_;  // by the agents' account
  std::atomic<std::size_t> next_{0};
  FleetAnswers answers_;  // a thread writes only the nodes that it has taken
  base::Mutex mutex_;
  std::size_t done_ PREFETCH_GUARDED_BY(mutex_) = 0;
  std::size_t let_in_ PREFETCH_GUARDED_BY(mutex_) = 0;
  std::optional<kube::Failure> forbidden_ PREFETCH_GUARDED_BY(mutex_);
};

}  // namespace

FleetAnswers AskMembers(const base::Call& call, kube::Api& api, const std::vector<FleetMember>& members,
                        const FleetAsk& ask) {
  FleetAsking asking(
      api, members, ask,
      ask.tokens == nullptr ? FleetTokens::Headers() : ask.tokens->For(call, api, ask.name_space, members));
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < std::min(kAskedAtOnce, members.size()); i++)
      threads.emplace_back([&] { asking.Run(call); });
  }
  return asking.Take();
}

}  // namespace prefetch::ctl
