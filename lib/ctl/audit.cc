#include "ctl/commands.h"

#include <utility>

#include "base/mutex.h"
#include "ctl/cluster.h"
#include "ctl/terminal.h"
#include "doc/write.h"
#include "kube/decode.h"
#include "screen/audit.h"

namespace prefetch::ctl {
namespace {

// Reasons without findings. They must not look like a clean audit.
constexpr const char* kNotShown =
    "cannot list new images yet: its agent has just started, or its runtime is away; ask again in a moment";
constexpr const char* kHidden =
    "shows images on no list only to callers with a token (component fleet), or on the node itself";
constexpr int kEventsPerPage = 500;

// Returns why an agent that answered does not report unlisted images.
const char* WhyNotShown(const screen::AuditNode& node) {
  return node.hidden ? kHidden : kNotShown;
}

int Print(const screen::Audit& audit, const AuditOptions& options, std::ostream& out, std::ostream& err) {
  if (options.json) {
    auto json = doc::IndentedJson(screen::AuditJson(audit, base::SystemClock().Wall()));
    if (!json) return Fail(kUnreachable, json.error(), err);
    out << *json << std::flush;
  } else {
    out << screen::AuditText(audit, StdoutTerminal().width) << std::flush;
  }
  return audit.Clean() ? kOk : kNegative;
}

// Adds all images that kubelet pulls for a pod.
void AddImages(const kube::Pod& pod, std::vector<screen::PodImage>& images) {
  // Image volumes and ephemeral containers are pulled like the images of containers.
  auto add = [&](const std::string& image) { images.push_back({pod.name_space, pod.name, pod.node, image}); };
  for (const kube::PodContainer& container : pod.containers) add(container.image);
  for (const std::string& image : pod.ephemeral_images) add(image);
  for (const std::string& image : pod.image_volumes) add(image);
}

base::Status AddSavedPods(const std::string& path, screen::AuditFacts& facts) {
  kube::SavedPods saved;
  if (auto read = ReadPieces(path, [&](std::string_view bytes) { return saved.Feed(bytes); }); !read)
    return read;
  auto pods = saved.Take();
  if (!pods) return std::move(pods).error().Wrap(path == "-" ? "stdin" : path);
  for (const kube::Pod& pod : *pods) AddImages(pod, facts.pods);
  return {};
}

// Lists the pods that use the images, and kubelets' pulls. Without the rights to a part, it leaves a note.
class FromCluster {
 public:
  FromCluster(kube::Api& api, std::vector<std::string>& notes) : api_(api), notes_(notes) {}

  void Pods(const base::Call& call, std::vector<screen::PodImage>& images) {
    auto done = ForEachObject<kube::Pod>(
        call, {}, [&](const kube::ListOptions& options) { return api_.ListPods(call, "", options); },
        // A list that begins anew must not count its first pages twice.
        [&] { images.clear(); }, [&](const kube::Pod& pod) { AddImages(pod, images); });
    if (!done) Note(done.failure(), "the pods that brought them are not known");
  }
  void Pulls(const base::Call& call, std::vector<screen::PodPull>& pulls) {
    auto done = ForEachObject<kube::PodEvent>(
        call, {.limit = kEventsPerPage},
        [&](const kube::ListOptions& options) { return api_.ListPodEvents(call, "", "Pulled", options); },
        [&] { pulls.clear(); },
        [&](const kube::PodEvent& event) {
          auto pull = screen::ParsePulledMessage(event.message);
          if (!pull) return;
          // The message of the event names only image and duration.
          pull->name_space = event.name_space;
          pull->pod = event.pod;
          pull->node = event.node;
          pull->at = event.last;
          pulls.push_back(*std::move(pull));
        });
    if (!done) Note(done.failure(), "kubelet's own pulls of listed images are not known");
  }

 private:
  void Note(const kube::Failure& failure, const std::string& what) {
    bool forbidden = failure.kind == kube::ApiError::kForbidden;
    notes_.push_back(what + ": " +
                     (forbidden ? failure.message.substr(0, failure.message.find(": ")) +
                                      " of all namespaces is not allowed (deploy/examples/audit-viewer.yaml "
                                      "grants it)"
                                : failure.message));
  }

  kube::Api& api_;
  std::vector<std::string>& notes_;
};

bool AnythingUnlisted(const screen::AuditFacts& facts) {
  for (const screen::AuditNode& node : facts.nodes) {
    if (!node.unlisted.empty()) return true;
  }
  return false;
}

}  // namespace

// A node that cannot list its images yet is a failure and no clean audit.
int AuditOfNode(const base::Call& call, const AgentClient& agent, const AuditOptions& options,
                std::ostream& out, std::ostream& err) {
  screen::AuditFacts facts{.ignore = options.ignore, .since = options.since};
  if (!options.pods_file.empty()) {
    if (auto read = AddSavedPods(options.pods_file, facts); !read) return Fail(kBadInput, read.error(), err);
  }
  auto status = agent.Status(call);
  if (!status) return Fail(kUnreachable, status.error(), err);
  facts.nodes.push_back(screen::AuditNodeOf(*status, status->node));
  // No findings must not look like a clean node.
  if (!facts.nodes.front().HasReported())
    return Fail(kUnreachable,
                base::Unavailable("node " + status->node + " " + WhyNotShown(facts.nodes.front())), err);
  facts.listed = screen::ListedNames(*status);
  return Print(screen::MakeAudit(facts), options, out, err);
}

// Asks all agents first. The API server's large lists follow only if an agent has answered, and pods only if
// there is a finding.
int AuditOfFleet(const base::Call& call, kube::Api& api, const AuditOptions& options, std::ostream& out,
                 std::ostream& err) {
  screen::AuditFacts facts{.ignore = options.ignore, .since = options.since};
  if (!options.pods_file.empty()) {
    if (auto read = AddSavedPods(options.pods_file, facts); !read) return Fail(kBadInput, read.error(), err);
  }
  Progress progress(err, StderrTerminal(), true);
  auto roster = ListMembers(call, api, options.query);
  if (!roster) {
    progress.Close();
    return Fail(kUnreachable, ToUserError(roster.failure()), err);
  }
  const std::vector<FleetMember>& members = roster->members;
  // One element for each member: the threads that ask write without a lock, each to its own.
  facts.nodes.resize(members.size());
  base::Mutex mutex;
  FleetAgents agents(api, options.query.name_space);
  FleetPollOptions poll{.progress = &progress};
  poll.each = [&](std::size_t i, const status::StatusDocument& document) {
    facts.nodes[i] = screen::AuditNodeOf(document, members[i].node);
    base::Lock lock(mutex);
    // Nodes may have different lists: an image counts as listed if any node lists it.
    facts.listed.merge(screen::ListedNames(document));
  };
  FleetAnswers answers = PollMembers(call, agents, members, poll);
  std::size_t answered = 0;
  for (std::size_t i = 0; i < facts.nodes.size(); i++) {
    answered += facts.nodes[i].HasReported() ? 1 : 0;
    if (!facts.nodes[i].answered)
      facts.nodes[i] = {.node = members[i].node, .error = answers.nodes[i].message};
  }
  std::vector<std::string> notes;
  FromCluster cluster(api, notes);
  // The pods of a whole cluster are an expensive list, needed only to name the pods behind unlisted images.
  if (answered > 0 && options.pods_file.empty() && AnythingUnlisted(facts)) cluster.Pods(call, facts.pods);
  if (answered > 0) cluster.Pulls(call, facts.pulls);
  progress.Close();
  if (call.Stopped()) return kInterrupted;
  // Without the right to ask agents, every node fails for the same reason, so only the reason is printed.
  if (answers.forbidden) return Fail(kUnreachable, ToUserError(*answers.forbidden), err);
  if (answered == 0) {
    std::string why = "no node matches";
    if (!facts.nodes.empty()) {
      const screen::AuditNode& first = facts.nodes.front();
      why = first.answered ? "node " + first.node + " " + WhyNotShown(first) : first.error;
    }
    return Fail(kUnreachable, base::Unavailable("no agent could be asked, so nothing is known: " + why), err);
  }
  screen::Audit audit = screen::MakeAudit(facts);
  audit.notes.insert(audit.notes.end(), notes.begin(), notes.end());
  return Print(audit, options, out, err);
}

int AuditOfPods(const AuditOptions& options, std::ostream& out, std::ostream& err) {
  screen::AuditFacts facts{.ignore = options.ignore};
  if (auto read = AddSavedPods(options.pods_file, facts); !read) return Fail(kBadInput, read.error(), err);
  Mistakes mistakes;
  const plan::ImageList list = ReadListFiles(options.lists, mistakes).list;
  if (!mistakes.empty()) return RejectInput(mistakes, err);
  // Normalised, since pods and the list may spell an image differently.
  for (const plan::DesiredImage& desired : list.images) facts.listed.insert(desired.reference.Normalized());
  return Print(screen::MakePodAudit(facts), options, out, err);
}

}  // namespace prefetch::ctl
