#include "list.h"

#include <chrono>

#include "config/canonical.h"
#include "config/list_source.h"
#include "doc/write.h"
#include "exit_code.h"
#include "mistakes.h"
#include "report/alias_notes.h"

namespace prefetch::ctl {
namespace {

// Says what is wrong. False if anything is.
bool Report(const config::ListReading& reading, std::ostream& err) {
  bool good = !reading.list.sources.empty();
  if (!good) Tell({"no list file (.txt, .yaml, .yml, .json) was found at these paths"}, err);
  for (const plan::ListSource& source : reading.list.sources) {
    if (source.error.empty()) continue;
    good = false;
    Tell({source.error}, err);
  }
  for (const std::string& warning : reading.list.warnings) err << "warning: " << warning << "\n";
  return good;
}

struct Checked {
  int exit_code = kOk;
  plan::ImageList list;
};

Checked Check(const std::vector<std::string>& paths, const config::Capabilities& capabilities,
              std::ostream& out, std::ostream& err) {
  config::ListSources sources(paths, capabilities);
  config::ListReading reading = sources.Read(std::chrono::system_clock::now());
  for (const plan::ListSource& source : reading.list.sources) {
    if (!source.error.empty()) continue;
    out << source.name << ": " << source.entries << (source.entries == 1 ? " entry, " : " entries, ")
        << source.hash << "\n";
  }
  int exit_code = Report(reading, err) ? kOk : kBadInput;
  return {exit_code, std::move(reading.list)};
}

void PrintSource(const config::LoadedSource& source, ListOutput output, bool first, std::ostream& out) {
  switch (output) {
    case ListOutput::kYaml:
      out << (first ? "" : "---\n") << doc::WriteYaml(config::CanonicalForm(*source.content));
      return;
    case ListOutput::kJson:
      out << doc::WriteJson(config::CanonicalForm(*source.content)) << "\n";
      return;
    case ListOutput::kHash:
      out << source.info.hash << "  " << source.info.name << "\n";
      return;
  }
}

}  // namespace

int ListCheck(const std::vector<std::string>& paths, const config::Capabilities& capabilities,
              std::ostream& out, std::ostream& err) {
  return Check(paths, capabilities, out, err).exit_code;
}

int ListCheckWithAgent(const base::Call& call, const AgentClient& agent,
                       const std::vector<std::string>& paths, const config::Capabilities& capabilities,
                       std::ostream& out, std::ostream& err) {
  Checked checked = Check(paths, capabilities, out, err);
  if (checked.exit_code != kOk) return checked.exit_code;
  auto status = agent.Status(call);
  if (!status) return Fail(kUnreachable, status.error());
  for (const std::string& note : report::AliasNotes(checked.list, *status)) err << "note: " << note << "\n";
  return kOk;
}

int ListPrint(const std::vector<std::string>& paths, ListOutput output,
              const config::Capabilities& capabilities, std::ostream& out, std::ostream& err) {
  config::ListSources sources(paths, capabilities);
  config::ListReading reading = sources.Read(std::chrono::system_clock::now());
  if (!Report(reading, err)) return kBadInput;
  bool first = true;
  for (const config::LoadedSource& source : sources.Loaded()) {
    PrintSource(source, output, first, out);
    first = false;
  }
  if (output == ListOutput::kHash) out << reading.list.hash << "  (list)\n";
  return kOk;
}

}  // namespace prefetch::ctl
