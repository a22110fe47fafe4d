#include "ctl/commands.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "base/mutex.h"
#include "base/text.h"
#include "base/workers.h"
#include "ctl/cluster.h"
#include "doc/write.h"
#include "status/retry_document.h"

namespace prefetch::ctl {
namespace {

using status::RetryState;

std::string_view StateText(RetryState state) {
  return base::EnumWord(state, {"retry requested", "nothing to retry", "not on the list"});
}

Mistakes CheckImages(const std::vector<std::string>& images) {
  Mistakes mistakes;
  for (const std::string& image : images) {
    auto reference = image::Reference::Parse(image);
    if (!reference) mistakes.push_back(reference.error().message());
  }
  if (images.size() > status::kMostRetries) {
    mistakes.push_back("at most " + std::to_string(status::kMostRetries) + " images can be named");
  }
  return mistakes;
}

// Returns the reason for which an agent or the API server refused the retry, and the way out where there is
// one.
std::string RetryRefusalReason(const kube::Failure& failure) {
  // The API server names the reason of its own refusals.
  if (failure.kind == kube::ApiError::kForbidden && failure.reason.empty()) {
    return "its agent takes a retry only with a fleet token: install component fleet";
  }
  if (failure.kind == kube::ApiError::kTooManyRequests && failure.retry_after) {
    return "it had too many requests, and takes another one in " + base::HumanTime(*failure.retry_after);
  }
  std::string why = ConnectionFailureReason(failure, "create");
  if (failure.kind == kube::ApiError::kForbidden) why += " (deploy/examples/fleet-operator.yaml grants it)";
  return why;
}

// The result of asking all members. Each thread that asks adds to it.
class FleetRetries {
 public:
  explicit FleetRetries(const std::vector<std::string>& images) {
    for (const std::string& image : images) nodes_of_[image];
  }

  void Add(const FleetMember& member, const kube::Answer<std::string>& answer) {
    if (!answer) {
      AddRefusal(member, RetryRefusalReason(answer.failure()));
      return;
    }
    auto result = status::ParseRetryResult(*answer);
    if (!result) {
      AddRefusal(member, result.error().message());
      return;
    }
    base::Lock lock(mutex_);
    asked_++;
    for (const status::RetriedImage& image : result->images) {
      Counts& counts = nodes_of_[image.image];
      if (image.state == RetryState::kRequested) counts.requested++;
      if (image.state != RetryState::kNotListed) counts.listed++;
    }
  }
  void AddRefusal(const FleetMember& member, const std::string& why) {
    base::Lock lock(mutex_);
    refused_[why].insert(member.node);
  }

  // Call it after all threads have ended. Returns the exit code. Refusals are grouped by their reason, since
  // many nodes mostly have the same one.
  int Print(bool named, std::ostream& out, std::ostream& err) {
    base::Lock lock(mutex_);
    bool all_listed = true;
    for (const auto& [image, counts] : nodes_of_) {
      if (counts.requested > 0) {
        out << "retry requested on " << base::Plural(counts.requested, "node", "nodes") << ": " << image
            << "\n";
      } else if (counts.listed > 0) {
        out << "nothing to retry: " << image << "\n";
      } else if (named && asked_ > 0) {
        out << "not on the list of any node: " << image << "\n";
        all_listed = false;
      }
    }
    if (nodes_of_.empty() && asked_ > 0) {
      out << "nothing to retry: no image waits for its next attempt ("
          << base::Plural(asked_, "node", "nodes") << ")\n";
    }
    out.flush();
    for (const auto& [why, nodes] : refused_) {
      err << "prefetchctl: " << base::Plural(nodes.size(), "node", "nodes") << " not asked ("
          << *nodes.begin() << (nodes.size() > 1 ? ", …" : "") << "): " << why << "\n";
    }
    if (asked_ == 0 && refused_.empty()) err << "prefetchctl: no agent was found\n";
    if (asked_ == 0) return kUnreachable;
    return all_listed && refused_.empty() ? kOk : kNegative;
  }

 private:
  struct Counts {
    std::size_t requested = 0, listed = 0;
  };

  base::Mutex mutex_;
  std::map<std::string, Counts> nodes_of_ PREFETCH_GUARDED_BY(mutex_);  // by image
  std::map<std::string, std::set<std::string>> refused_ PREFETCH_GUARDED_BY(mutex_);
  std::size_t asked_ PREFETCH_GUARDED_BY(mutex_) = 0;
};

}  // namespace

int Retry(const base::Call& call, const AgentClient& agent, const RetryOptions& options, std::ostream& out,
          std::ostream& err) {
  const Mistakes mistakes = CheckImages(options.images);
  if (!mistakes.empty()) return RejectInput(mistakes, err);
  auto result = agent.Retry(call, {options.images});
  if (call.Stopped()) return kInterrupted;
  if (!result) return Fail(result.error(), err);
  if (options.json) {
    out << status::RetryResultJson(*result);
  } else if (result->images.empty()) {
    out << "nothing to retry: no image of this node waits for its next attempt\n";
  } else {
    for (const status::RetriedImage& image : result->images) {
      out << StateText(*image.state.value()) << ": " << image.image << "\n";
    }
  }
  out.flush();
  // Only an image that is on no list is a failure. One that is ready has nothing to retry, and the command
  // has done all there is to do.
  const bool all_listed = std::ranges::none_of(result->images, [](const status::RetriedImage& image) {
    return image.state == RetryState::kNotListed;
  });
  return all_listed ? kOk : kNegative;
}

int RetryFleet(const base::Call& call, kube::Api& api, const FleetQuery& query,
               const std::vector<std::string>& images, std::ostream& out, std::ostream& err) {
  const Mistakes mistakes = CheckImages(images);
  if (!mistakes.empty()) return RejectInput(mistakes, err);
  auto roster = ListMembers(call, api, query);
  if (call.Stopped()) return kInterrupted;
  if (!roster) return Fail(kUnreachable, ToUserError(roster.failure()), err);
  FleetAgents agents(api, query.name_space);
  const std::string body = doc::WriteJson(status::ToNode({images}));
  FleetRetries retries(images);
  base::ParallelFor(kParallelRequests, roster->members.size(), [&](std::size_t i) {
    const FleetMember& member = roster->members[i];
    // No agent runs on this Node that could be asked.
    if (member.pod.empty() || member.facts.is_dead) return;
    retries.Add(member, agents.PostRetry(call, member, body));
  });
  if (call.Stopped()) return kInterrupted;
  NoteLeftOut(roster->left_out, err);
  return retries.Print(!images.empty(), out, err);
}

}  // namespace prefetch::ctl
