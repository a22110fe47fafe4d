#include "screen/report/report.h"

#include <algorithm>
#include <functional>
#include <tuple>

#include "base/text.h"
#include "screen/document_words.h"

namespace prefetch::screen::report {
namespace {

// Documents come from nodes, which the page does not trust: no name may be so long that it fills the page.
constexpr std::size_t kLongestName = 300, kLongestMessage = 300;  // bytes

// Limits the length of a name or word that comes from a node.
std::string Cut(const std::string& name) {
  return base::Truncate(name, kLongestName);
}

ImageState StateOf(const status::StatusImage& image) {
  const Tone tone = ToneOf(image);
  // A stale image is ready. The reason is in the answer of its registry.
  if (tone == Tone::kStale) return {tone, Cut(image.registry->reason.text())};
  return {tone, tone < Tone::kReady ? Cut(image.reason.text()) : ""};
}

// Returns whether the registry's answer is the reason why the image is not ready.
bool IsBlockedByRegistry(const status::StatusImage& image) {
  return image.applies && !image.ready && image.registry && !image.registry->answer.empty() &&
         image.registry->reason == image.reason;
}

// Returns the index of an item. A new one gets the next index.
template <typename T>
std::uint32_t IndexOf(const T& item, std::map<T, std::uint32_t>& indices) {
  return indices.try_emplace(item, static_cast<std::uint32_t>(indices.size())).first->second;
}

// Fills `sorted` with the items in their order, and returns the new index of each former one.
template <typename T>
std::vector<std::uint32_t> Sort(const std::map<T, std::uint32_t>& indices, std::vector<T>& sorted) {
  std::vector<std::uint32_t> place(indices.size());
  for (const auto& [item, index] : indices) {
    place[index] = static_cast<std::uint32_t>(sorted.size());
    sorted.push_back(item);
  }
  return place;
}

void CutNames(Fleet& fleet) {
  for (FleetNode& node : fleet.nodes) {
    node.name = Cut(node.name);
    node.message = base::Truncate(node.message, kLongestMessage);
    node.reason = status::ReasonText(Cut(node.reason.text()));
  }
  for (std::vector<FleetGroup>* groups : {&fleet.groups, &fleet.non_blocking}) {
    for (FleetGroup& group : *groups) {
      for (std::string& node : group.nodes) node = Cut(node);
      group.slowest = Cut(group.slowest);
      group.image = Cut(group.image);
      group.reason = Cut(group.reason);
      group.message = base::Truncate(group.message, kLongestMessage);
    }
  }
}

// Removes the common end, usually the cluster's domain, from all names of nodes: it distinguishes none of
// them and makes columns wide.
void Shorten(Report& report) {
  const std::size_t end = report.names_suffix.size();
  if (end == 0) return;
  const auto shorten = [&](std::string& name) {
    if (name.ends_with(report.names_suffix)) name.resize(name.size() - end);
  };
  for (FleetNode& node : report.fleet.nodes) shorten(node.name);
  for (ReportNode& node : report.nodes) shorten(node.node.name);
  for (std::vector<FleetGroup>* groups : {&report.fleet.groups, &report.fleet.non_blocking}) {
    for (FleetGroup& group : *groups) {
      for (std::string& node : group.nodes) shorten(node);
      shorten(group.slowest);
    }
  }
  shorten(report.fleet.slowest);
  for (PullTimes& times : report.pulls) shorten(times.slowest_node);
  for (NodeProblem& problem : report.problems) {
    for (std::string& node : problem.nodes) shorten(node);
  }
}

std::vector<PullTimes> Slowest(std::map<std::string, PullTimes>&& by_image) {
  std::vector<PullTimes> pulls;
  for (auto& [image, times] : by_image) {
    times.image = image;
    pulls.push_back(std::move(times));
  }
  std::ranges::stable_sort(pulls, std::greater(), &PullTimes::slowest);
  return pulls;
}

}  // namespace

void ReportBuilder::NotePull(const std::string& node, const status::StatusImage& image) {
  const status::StatusPull& pull = image.pull;
  // Only a complete pull has a duration. A clock that was set back during the pull gives none.
  if (pull.state != plan::PullState::kDone || !pull.started_at || !pull.finished_at) return;
  if (*pull.finished_at < *pull.started_at) return;
  auto took = std::chrono::duration_cast<std::chrono::seconds>(*pull.finished_at - *pull.started_at);
  PullTimes& times = pulls_[Cut(image.image)];
  times.nodes++;
  times.all += took;
  times.bytes = std::max(times.bytes, image.size_bytes);
  // Equal times are decided by the node's name, since the order of the answers is random.
  if (times.nodes > 1 && std::tie(took, times.slowest_node) < std::tie(times.slowest, node)) return;
  times.slowest = took;
  times.slowest_node = node;
}

void ReportBuilder::NoteRegistries(const status::StatusDocument& document) {
  for (const plan::RegistryStatus& registry : document.registries) {
    if (registry.trouble.empty() || !registry.unreachable_since) continue;
    UnreachableRegistry& away = unreachable_[Cut(registry.name)];
    std::chrono::seconds time{0};
    // Both times are from the node's clock, so its difference from ours has no influence.
    if (document.time && *registry.unreachable_since < *document.time) {
      time = std::chrono::duration_cast<std::chrono::seconds>(*document.time - *registry.unreachable_since);
    }
    if (away.nodes++ == 0 || std::tie(away.longest, registry.message) < std::tie(time, away.message)) {
      away.longest = time;
      away.trouble = Cut(registry.trouble);
      away.message = base::Truncate(registry.message, kLongestMessage);
    }
  }
}

void ReportBuilder::NoteProblems(const std::string& node, const status::StatusDocument& document) {
  std::vector<std::string> texts = RejectedSources(document);
  for (const auto& more : {OtherProblems(document), document.list.warnings})
    texts.insert(texts.end(), more.begin(), more.end());
  for (const std::string& text : texts) problems_[base::Truncate(text, kLongestMessage)].insert(node);
}

void ReportBuilder::Add(const std::string& name, const status::StatusDocument& document) {
  const std::string node = Cut(name);
  ReportNode& facts = documents_[node];
  // Only what the page shows is kept, not the document itself.
  facts = {.kubelet = Cut(KubeletText(document.kubelet)), .disk = document.disk};
  facts.runtime = Cut(document.runtime.name);
  if (!document.runtime.version.empty()) facts.runtime += " " + Cut(document.runtime.version);
  if (!document.runtime.up && !facts.runtime.empty()) facts.runtime += " (down)";
  for (const status::StatusImage& image : document.images) {
    // A cell holds two indices instead of texts: nodes repeat the same images and states.
    const Cell cell{.image = IndexOf(Cut(image.image), images_), .state = IndexOf(StateOf(image), states_)};
    facts.cells.push_back(cell);
    if (image.applies && image.registry) checked_.insert(cell.image);
    if (IsBlockedByRegistry(image)) blocked_.insert(cell.image);
    NotePull(node, image);
  }
  NoteRegistries(document);
  NoteProblems(node, document);
}

// Until here, indices are in the order in which the nodes answered, which is random. The same fleet must give
// the same page.
void ReportBuilder::SortIndices(Report& report) {
  // The heat map needs a state for images that a node does not list. It sorts last (Report::states).
  IndexOf(ImageState{}, states_);
  const std::vector<std::uint32_t> image = Sort(images_, report.images), state = Sort(states_, report.states);
  for (auto& [name, facts] : documents_) {
    for (Cell& cell : facts.cells) {
      cell.image = image[cell.image];
      cell.state = state[cell.state];
    }
  }
}

// Both vectors are sorted and contain the values of all cells, so the search always finds its value.
std::uint32_t Report::ImageIndex(const std::string& image) const {
  return static_cast<std::uint32_t>(std::ranges::lower_bound(images, image) - images.begin());
}

std::uint32_t Report::StateIndex(const ImageState& state) const {
  return static_cast<std::uint32_t>(std::ranges::lower_bound(states, state) - states.begin());
}

// Joins the documents with the fleet's groups. Indices are sorted before they are used, and names are
// shortened at the end, since everything is found by whole names.
Report ReportBuilder::Take(Fleet fleet) && {
  // The names in `fleet` are shortened like those in the documents, since both are compared below.
  CutNames(fleet);
  Report report{.fleet = std::move(fleet),
                .checked_images = checked_.size(),
                .blocked_images = blocked_.size(),
                .unreachable_registries = std::move(unreachable_)};
  SortIndices(report);
  for (const FleetNode& node : report.fleet.nodes) {
    // A node that was not heard has no document.
    report.nodes.push_back(std::move(documents_[node.name]));
    report.nodes.back().node = node;
  }
  report.pulls = Slowest(std::move(pulls_));
  for (const auto& [text, nodes] : problems_) report.problems.push_back({text, {nodes.begin(), nodes.end()}});
  std::ranges::stable_sort(report.problems, std::greater(),
                           [](const NodeProblem& problem) { return problem.nodes.size(); });
  report.names_suffix = CommonSuffix(report.fleet.nodes);
  Shorten(report);
  return report;
}

}  // namespace prefetch::screen::report
