// A main KubeletConfiguration, drop-ins behind each "\n====\n", and a command line behind "\n####\n": what
// they make together must combine.

#include "fuzz/target.h"
#include "kubelet/node_facts.h"

namespace {

// Removes the part before the mark from `text`, with the mark, and returns it.
std::string_view TakeUntil(std::string_view& text, std::string_view mark) {
  std::size_t at = text.find(mark);
  std::string_view part = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + mark.size());
  return part;
}

}  // namespace

FUZZ_TARGET(text) {
  namespace kubelet = prefetch::kubelet;
  std::string_view files = TakeUntil(text, "\n####\n");
  kubelet::CommandLine line = kubelet::ParseCommandLine(kubelet::SplitArguments(text));
  kubelet::ConfigDocuments documents;
  documents.main = kubelet::ConfigDocument{"main", std::string(TakeUntil(files, "\n====\n"))};
  documents.drop_ins.emplace();
  while (!files.empty()) {
    documents.drop_ins->push_back({"drop-in", std::string(TakeUntil(files, "\n====\n"))});
  }
  kubelet::ConfigReading reading;
  if (auto config = kubelet::MergeKubeletConfigs(documents)) {
    reading.state = kubelet::ConfigReading::State::kRead;
    reading.config = *std::move(config);
  }
  kubelet::KubeletDeclarations declared;
  for (unsigned minor = 32; minor <= 36; minor++) {
    declared.version = prefetch::image::KubeletVersion{1, minor};
    kubelet::NodeFacts facts = kubelet::MakeNodeFacts(declared, reading, line);
    // The combined facts must fit a kubelet that could be.
    if (!kubelet::PossibleSettings(facts.settings)) __builtin_trap();
    if (facts.gc && facts.gc->low_percent >= facts.gc->high_percent) __builtin_trap();
  }
}
