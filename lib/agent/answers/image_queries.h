// ImageQueryService: implements POST /v1/check and GET /v1/images/REF, for what the Snapshot does not have:
// pods with their own secrets, other spellings, unlisted images, kubelet's record, available credentials.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "agent/answers/check_round.h"
#include "agent/board.h"
#include "base/call.h"
#include "base/clock.h"
#include "credentials/keyring.h"
#include "cri/content_service.h"
#include "cri/image_service.h"
#include "pulling/query_registry.h"
#include "status/check_document.h"
#include "status/documents.h"

namespace prefetch::agent {

// The servers that would get the same question, in order. Only reads files. Empty: this agent asks no
// registry.
using RegistryHosts = std::function<status::RegistryHostsView(const image::Reference& reference,
                                                              const image::RuntimeInfo& runtime)>;

struct ExplainOptions {
  bool credentials = true;  // look them up, which may run plugins
  bool identities = false;  // name the secrets and service accounts that kubelet has recorded
};

// Asks the agent to pull an image that was not here at that time (Agent::RequestPull).
using PullRequester = std::function<void(const image::Reference& reference, base::TimePoint observed_at)>;

struct Explanation {
  bool known = false;  // it is on the list, or on the node
  std::string json;    // the ImageStatus document
};

// Thread-safe. Its arguments must outlive it.
class ImageQueryService {
 public:
  // `resolver` and `hosts` empty: this agent asks no registry. `request_pull` empty: it pulls for no check;
  // `pulls_for_node`: also for those over the local socket.
  ImageQueryService(const Board& board, cri::ImageService& images, cri::ContentService& content,
                    credentials::Keyring& keyring, const base::Clock& clock,
                    pulling::RegistryResolver resolver = nullptr, RegistryHosts hosts = nullptr,
                    PullRequester request_pull = nullptr, bool pulls_for_node = true)
      : board_(board),
        runtime_(images, content, clock),
        keyring_(keyring),
        clock_(clock),
        resolver_(std::move(resolver)),
        hosts_(std::move(hosts)),
        request_pull_(std::move(request_pull)),
        pulls_for_node_(pulls_for_node) {}

  // Returns one answer for each question. For images of the list, and for others if the client has that
  // right, it reads the runtime and kubelet's files at this moment (the runtime at most twice a second, but
  // for the node itself). If the runtime does not answer, its last answer counts for images of the list.
  //
  // For clients with that right, it asks the registry now. Others get only known answers: the agent must not
  // become an oracle for them.
  //
  // With CheckRequest::pull, for a client with the right to pull and if pulls() is true, absent
  // images are pulled. Their answer is `pending` until then, and is held for at most
  // CheckRequest::wait.
  status::CheckResult Check(const base::Call& call, const status::CheckRequest& request,
                            Requester requester) const;

  // Returns the same if it needs neither a registry nor a pull; else nullopt.
  std::optional<status::CheckResult> CheckKnown(const base::Call& call, const status::CheckRequest& request,
                                                Requester requester) const;

  // Return true if this agent pulls for a check, and for one over the local socket.
  bool pulls() const { return request_pull_ != nullptr; }
  bool pulls_for_node() const { return pulls() && pulls_for_node_; }

  // Blocks while plugins run.
  Explanation Explain(const base::Call& call, const image::Reference& reference,
                      const ExplainOptions& options) const;

 private:
  // A pull that was asked for, since the image was not here.
  struct RequestedPull {
    plan::CheckFacts facts;
    base::TimePoint observed_at;
  };
  // A question that is not answered yet, by its place in the request.
  struct PendingQuestion {
    std::size_t question = 0;
    std::optional<RequestedPull> requested;
  };
  // `pending` while the pull of `requested` runs; sets `requested` where a pull is the answer.
  plan::CheckDecision EvaluateQuestion(const base::Call& call, const status::CheckQuestion& question,
                                       const plan::Snapshot& snapshot, CheckRound& round,
                                       std::optional<RequestedPull>& requested) const;
  void AddCredentials(const base::Call& call, const plan::ImageState& image,
                      status::ImageDocument& document) const;

  const Board& board_;
  mutable LiveRuntime runtime_;
  mutable SharedRegistryAnswers shared_answers_;
  credentials::Keyring& keyring_;
  const base::Clock& clock_;
  const pulling::RegistryResolver resolver_;
  const RegistryHosts hosts_;
  const PullRequester request_pull_;
  const bool pulls_for_node_;
  mutable std::atomic<int> held_answers_{0};  // answers that are held for pulls
};

}  // namespace prefetch::agent
