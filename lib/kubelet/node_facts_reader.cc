#include "kubelet/node_facts_reader.h"

#include <utility>

namespace prefetch::kubelet {
namespace {

// A declared root is a path as this process reaches it. kubelet's own flag is a path of the host.
std::string RootOnHost(const std::string& root, const std::string& host_prefix) {
  return root.starts_with(host_prefix) ? root.substr(host_prefix.size()) : root;
}

}  // namespace

NodeFactsReader::NodeFactsReader(Declared declared, std::string proc_dir, std::vector<UsualConfig> usual,
                                 std::string host_prefix)
    : declared_(std::move(declared)),
      usual_(std::move(usual)),
      host_prefix_(std::move(host_prefix)),
      polls_process_(!proc_dir.empty()),
      process_(std::move(proc_dir), RootOnHost(declared_.root, host_prefix_)),
      start_(polls_process_ ? "" : declared_.start_file) {}

bool NodeFactsReader::PollProcess() {
  const std::string before = process_.process();
  const bool changed = process_.Poll() || process_.process() != before;
  return start_.Poll() || changed;
}

void NodeFactsReader::ChooseFiles() {
  using Origin = ConfigReading::Origin;
  candidates_.clear();
  const std::optional<CommandLine>& line = process_.command_line();
  bool is_declared = IsDeclared();
  if (!is_declared && !line) {
    // If there are several kubelets, a usual path may belong to any of them.
    if (!process_.problems().empty()) return;
    for (const UsualConfig& usual : usual_) {
      candidates_.emplace_back(OnHost(usual.file), OnHost(usual.drop_ins), Origin::kUsual);
    }
    return;
  }
  std::string file = line ? OnHost(line->config) : "";
  std::string folder = line ? OnHost(line->config_dir) : "";
  // A declared path replaces the one of the command line, file and folder each by itself.
  Origin origin = !declared_.config_file.empty() || file.empty() ? Origin::kDeclared : Origin::kCommandLine;
  if (!is_declared) origin = Origin::kCommandLine;
  if (!declared_.config_file.empty()) file = declared_.config_file;
  if (!declared_.config_dir.empty()) folder = declared_.config_dir;
  if (!file.empty() || !folder.empty()) candidates_.emplace_back(file, folder, origin);
}

bool NodeFactsReader::Moved() {
  if (PollProcess()) process_changed_ = true;
  if (!facts_ || process_changed_) return true;
  for (const ConfigFiles& files : candidates_) {
    if (files.Moved()) return true;
    // Read() stops at the first candidate with a configuration, so later ones have no say.
    if (files.reading().state != ConfigReading::State::kNone) break;
  }
  return false;
}

std::string NodeFactsReader::provider_config() const {
  const std::optional<CommandLine>& line = process_.command_line();
  return line ? OnHost(line->image_credential_provider_config) : "";
}

std::string NodeFactsReader::provider_bin_dir() const {
  const std::optional<CommandLine>& line = process_.command_line();
  return line ? OnHost(line->image_credential_provider_bin_dir) : "";
}

NodeFacts NodeFactsReader::Read(const std::shared_ptr<const ReportedByKubelet>& reported) {
  if (PollProcess()) process_changed_ = true;
  // Another process may name other files, so the candidates are chosen anew. Their caches go with them.
  const bool chosen = std::exchange(chosen_, true);
  if (std::exchange(process_changed_, false) || !chosen) {
    ChooseFiles();
    facts_.reset();
  }
  static const ConfigReading kNothing;
  const ConfigReading* reading = &kNothing;
  for (ConfigFiles& files : candidates_) {
    reading = &files.Read();
    if (reading->state != ConfigReading::State::kNone) break;
  }
  // Combine is pure: equal inputs give the same facts.
  if (facts_ && *reading == reading_ && reported == reported_) return *facts_;
  reading_ = *reading;
  reported_ = reported;
  facts_ = Combine(declared_, reading_, process_.command_line(), host_prefix_, reported_.get());
  if (!IsDeclared()) {
    const std::vector<std::string>& problems = process_.problems();
    facts_->problems.insert(facts_->problems.end(), problems.begin(), problems.end());
  }
  return *facts_;
}

}  // namespace prefetch::kubelet
