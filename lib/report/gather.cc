#include "report/gather.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/text.h"
#include "screen/document_words.h"

namespace prefetch::report {
namespace {

constexpr std::size_t kLongestName = 300, kLongestMessage = 300;  // bytes

// A name or a word from outside.
std::string Cut(const std::string& name) {
  return base::Truncate(name, kLongestName);
}

ImageState StateOf(const screen::StatusImage& image) {
  if (!image.applies) return {};
  if (image.ready && screen::IsStale(image)) return {Tone::kStale, Cut(image.registry->reason)};
  if (image.ready) return {Tone::kReady, ""};
  if (!image.required) return {Tone::kOptional, Cut(image.reason)};
  return {image.phase == "Failing" ? Tone::kFailing : Tone::kMoving, Cut(image.reason)};
}

// Its registry has said why it is not ready.
bool IsObjectedTo(const screen::StatusImage& image) {
  return image.applies && !image.ready && image.registry && !image.registry->answer.empty() &&
         image.registry->reason == image.reason;
}

// Places of `items` in their sorted order.
template <typename T>
std::vector<std::uint32_t> Sort(std::vector<T>& items) {
  std::vector<std::uint32_t> order(items.size()), place(items.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return items[a] < items[b]; });
  std::vector<T> sorted;
  for (std::uint32_t from : order) {
    place[from] = static_cast<std::uint32_t>(sorted.size());
    sorted.push_back(std::move(items[from]));
  }
  items = std::move(sorted);
  return place;
}

void CutNames(screen::Fleet& fleet) {
  for (screen::FleetNode& node : fleet.nodes) {
    node.name = Cut(node.name);
    node.message = base::Truncate(node.message, kLongestMessage);
    node.reason = Cut(node.reason);
  }
  for (screen::FleetGroup& group : fleet.groups) {
    for (std::string& node : group.nodes) node = Cut(node);
    group.reason = Cut(group.reason);
    group.message = base::Truncate(group.message, kLongestMessage);
  }
}

std::vector<PullTimes> Slowest(std::map<std::string, PullTimes>&& by_image) {
  std::vector<PullTimes> pulls;
  for (auto& [image, times] : by_image) {
    times.image = image;
    pulls.push_back(std::move(times));
  }
  std::stable_sort(pulls.begin(), pulls.end(),
                   [](const PullTimes& a, const PullTimes& b) { return a.slowest > b.slowest; });
  return pulls;
}

// A trouble's data, before it is shown.
struct Sum {
  Trouble trouble;
  std::map<std::string, std::size_t> messages;

  void Add(std::uint32_t node, const std::string& message) {
    trouble.nodes.push_back(node);
    messages[message]++;
  }
  Trouble Take() && {
    auto most = std::max_element(messages.begin(), messages.end(),
                                 [](const auto& a, const auto& b) { return a.second < b.second; });
    trouble.message = most->first;
    trouble.other_messages = messages.size() - 1;
    return std::move(trouble);
  }
};

}  // namespace

std::uint32_t Gathering::Indices::Of(const std::string& text) {
  auto [found, is_new] = by_text.try_emplace(text, static_cast<std::uint32_t>(texts.size()));
  if (is_new) texts.push_back(text);
  return found->second;
}

Cell Gathering::CellOf(const screen::StatusImage& image) {
  ImageState state = StateOf(image);
  Cell cell{.image = images_.Of(Cut(image.image))};
  bool settled = state.tone == Tone::kReady || state.tone == Tone::kNotListed;
  const std::string& message = state.tone == Tone::kStale ? image.registry->message : image.message;
  cell.message = messages_.Of(settled ? "" : base::Truncate(message, kLongestMessage));
  auto [found, is_new] = states_.try_emplace(state, static_cast<std::uint32_t>(state_list_.size()));
  if (is_new) state_list_.push_back(std::move(state));
  cell.state = found->second;
  return cell;
}

void Gathering::NotePull(const std::string& node, const screen::StatusImage& image) {
  const screen::StatusPull& pull = image.pull;
  if (pull.state != "Done" || !pull.started_at || !pull.finished_at) return;
  if (*pull.finished_at < *pull.started_at) return;
  auto took = std::chrono::duration_cast<std::chrono::seconds>(*pull.finished_at - *pull.started_at);
  PullTimes& times = pulls_[Cut(image.image)];
  times.nodes++;
  times.all += took;
  times.bytes = std::max(times.bytes, image.size_bytes);
  // The first by name, whichever answered first.
  if (times.nodes > 1 && std::tie(took, times.slowest_node) < std::tie(times.slowest, node)) return;
  times.slowest = took;
  times.slowest_node = node;
}

void Gathering::NoteRegistries(const screen::StatusDocument& document) {
  for (const screen::StatusRegistryServer& registry : document.registries) {
    if (registry.trouble.empty() || !registry.unreachable_since) continue;
    AwayRegistry& away = away_[Cut(registry.name)];
    std::chrono::seconds time{0};
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

void Gathering::NoteProblems(const std::string& node, const screen::StatusDocument& document) {
  std::vector<std::string> texts = screen::RefusedSources(document);
  for (const auto& more : {screen::FurtherProblems(document), document.warnings})
    texts.insert(texts.end(), more.begin(), more.end());
  for (const std::string& text : texts) problems_[base::Truncate(text, kLongestMessage)].insert(node);
}

void Gathering::Add(const std::string& name, const screen::StatusDocument& document) {
  const std::string node = Cut(name);
  Facts& facts = facts_[node];
  facts = {.kubelet = Cut(screen::KubeletWords(document.kubelet)), .disk = document.disk};
  facts.runtime = Cut(document.runtime_name);
  if (!document.runtime_version.empty()) facts.runtime += " " + Cut(document.runtime_version);
  if (!document.runtime_up && !facts.runtime.empty()) facts.runtime += " (down)";
  for (const screen::StatusImage& image : document.images) {
    Cell cell = CellOf(image);
    facts.cells.push_back(cell);
    checked_.resize(images_.texts.size());
    if (image.applies && image.registry) checked_[cell.image] = true;
    objected_.resize(images_.texts.size());
    if (IsObjectedTo(image)) objected_[cell.image] = true;
    std::uint64_t done = image.pull.bytes_done.value_or(0), total = image.pull.bytes_total.value_or(0);
    if (image.pull.state == "Pulling" && total > done) facts.bytes_left[cell.image] = total - done;
    NotePull(node, image);
  }
  NoteRegistries(document);
  NoteProblems(node, document);
}

// Indices are in the order in which the nodes answered, which is chance.
void Gathering::SortIndices(Report& report) {
  if (states_.try_emplace(ImageState{}).second) state_list_.emplace_back();
  report.images = std::move(images_.texts);
  report.states = std::move(state_list_);
  const std::vector<std::uint32_t> image = Sort(report.images), state = Sort(report.states);
  for (auto& [name, facts] : facts_) {
    for (Cell& cell : facts.cells) {
      cell.image = image[cell.image];
      cell.state = state[cell.state];
    }
    std::map<std::uint32_t, std::uint64_t> left;
    for (const auto& [from, bytes] : facts.bytes_left) left[image[from]] = bytes;
    facts.bytes_left = std::move(left);
  }
}

std::vector<Trouble> Gathering::Troubles(const Report& report) const {
  std::map<std::pair<std::uint32_t, std::uint32_t>, Sum> sums;
  for (std::uint32_t i = 0; i < report.nodes.size(); i++) {
    const ReportNode& node = report.nodes[i];
    for (const Cell& cell : node.cells) {
      if (report.states[cell.state].tone >= Tone::kReady) continue;
      auto [found, is_new] = sums.try_emplace({cell.state, cell.image});
      Sum& sum = found->second;
      if (is_new) sum.trouble = {.image = cell.image, .state = cell.state};
      sum.Add(i, messages_.texts[cell.message]);
      auto facts = facts_.find(node.node.name);
      auto left = facts->second.bytes_left.find(cell.image);
      if (left == facts->second.bytes_left.end() || left->second <= sum.trouble.most_bytes_left) continue;
      sum.trouble.most_bytes_left = left->second;
      sum.trouble.slowest = node.node.name;
    }
  }
  std::vector<Trouble> troubles;
  for (auto& [key, sum] : sums) troubles.push_back(std::move(sum).Take());
  std::stable_sort(troubles.begin(), troubles.end(), [](const Trouble& a, const Trouble& b) {
    if (a.state != b.state) return a.state < b.state;
    return a.nodes.size() > b.nodes.size();
  });
  return troubles;
}

Report Gathering::Take(screen::Fleet fleet) && {
  CutNames(fleet);
  Report report{.fleet = std::move(fleet), .away = std::move(away_)};
  const auto count = [](const std::vector<bool>& images) {
    return static_cast<std::size_t>(std::count(images.begin(), images.end(), true));
  };
  report.checked_images = count(checked_);
  report.objected_images = count(objected_);
  SortIndices(report);
  for (const screen::FleetNode& node : report.fleet.nodes) {
    ReportNode shown{.node = node};
    if (auto facts = facts_.find(node.name); facts != facts_.end()) {
      shown.cells = std::move(facts->second.cells);
      shown.runtime = std::move(facts->second.runtime);
      shown.kubelet = std::move(facts->second.kubelet);
      shown.disk = std::move(facts->second.disk);
    }
    report.nodes.push_back(std::move(shown));
  }
  report.troubles = Troubles(report);
  report.pulls = Slowest(std::move(pulls_));
  for (const auto& [text, nodes] : problems_) report.problems.push_back({text, {nodes.begin(), nodes.end()}});
  std::stable_sort(
      report.problems.begin(), report.problems.end(),
      [](const NodeProblem& a, const NodeProblem& b) { return a.nodes.size() > b.nodes.size(); });
  return report;
}

}  // namespace prefetch::report
