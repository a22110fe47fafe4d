// A random walk over what happens to a node, and after each step the question who is right: real pods, or
// `prefetchctl verdict` and the running agent.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "cluster/real_node.h"

namespace prefetch::cluster {

struct WalkCounts {
  int steps = 0;
  int judged = 0;    // containers that kubelet has judged
  int unknown = 0;   // of them the command knew no answer to
  int repeated = 0;  // questions asked again since something had changed in between
  std::vector<std::string> disagreements;
  double longest_false_ready = 0, longest_false_unready = 0;  // seconds
};

// One thread owns it; the node outlives it. The same seed makes the same steps. They are dealt from a deck of
// kStepsOfDeck that is shuffled again when it is empty, so that no kind is missing for long; a pod that makes
// kubelet record a pull secret is among the first five.
class Walk {
 public:
  static constexpr int kStepsOfDeck = 40;
  Walk(RealNode& node, std::uint32_t seed);

  // Takes one step, and asks. The counts have the disagreements.
  void Step();
  const WalkCounts& counts() const { return counts_; }

 private:
  struct Team {
    std::string name, secret, secret_uid;
    rig::User user;
  };
  using Doing = void (Walk::*)();
  struct Kind {
    const char* name;
    Doing doing;
    int cards;  // how often it happens in one deck
  };
  static const std::vector<Kind>& Kinds();
  const Kind& NextKind();
  // A number below `n`; all of them occur before one comes again.
  std::size_t Deal(std::vector<std::size_t>& deck, std::size_t n);

  // A step does one of these.
  void PodThatPullsWithSecret();
  void PodWithSecret();
  void PodWithout();
  void PodWithVolumes();
  void RemoveImages();
  void RestartKubelet();
  void KillKubelet();
  void KillKubeletInMidPull();
  void ChangePolicy();
  void ChangeCredentials();
  void ChangeOutage();
  void Retag();
  void Collect();
  void RotateSecret();
  void RestartAgent();

  // A question to pods and to the command.
  struct Asked {
    Question question;
    std::vector<std::string> pod_flags;  // of the command, for the same pod
  };
  // The command's verdicts on each image of a question.
  using Said = std::vector<RealNode::VerdictsOf>;
  void Ask(const std::vector<Asked>& asked, bool agent_too);
  Said Command(const Asked& asked);
  std::vector<bool> Agent();
  // How they differ; empty if they do not.
  std::string Compare(const Question& question, const Said& before, const std::vector<Answered>& answers,
                      const Said& after);
  std::string CompareAgent(const std::vector<bool>& before, const std::vector<Answered>& answers,
                           const std::vector<bool>& after, bool& false_ready) const;

  int Below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  const std::string& AnyImage() {
    return images_[static_cast<std::size_t>(Below(static_cast<int>(images_.size())))];
  }
  void MakePodOf(Team& team, const std::string& policy);
  Team& AnyTeam() { return teams_[static_cast<std::size_t>(Below(static_cast<int>(teams_.size())))]; }
  std::string AnyPolicy() { return Below(2) == 0 ? "Always" : "IfNotPresent"; }
  static std::vector<std::string> FlagsOf(const Team& team);
  void PutSecret(Team& team);
  void StartKubelet(const KubeletOptions& options);
  void StopKubelet();
  void Disagree(const std::string& what);
  static void Note(const std::string& text);

  RealNode& node_;
  std::mt19937 random_;
  std::vector<std::string> images_;  // the last one is not on the agent's list
  std::size_t listed_ = 0;
  std::vector<Team> teams_;
  int retags_ = 0;
  bool credentials_right_ = true, registry_away_ = false;
  std::string step_;                    // what is being done, for messages
  std::vector<const Kind*> kinds_;      // of this deck, the next one last
  std::vector<std::size_t> team_deck_;  // of PodThatPullsWithSecret()
  WalkCounts counts_;
};

}  // namespace prefetch::cluster
