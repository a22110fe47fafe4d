#include "ctl/list.h"

#include <utility>

#include "ctl/exit_code.h"
#include "ctl/list_files.h"
#include "doc/write.h"
#include "list/canonical.h"
#include "screen/list_difference.h"

namespace prefetch::ctl {
namespace {

// Prints errors and warnings. False if anything is.
bool Report(const ListFiles& files, const Mistakes& mistakes, std::ostream& err) {
  Tell(mistakes, err);
  for (const std::string& warning : files.list.warnings) err << "warning: " << warning << "\n";
  return mistakes.empty();
}

struct Checked {
  int exit_code = kOk;
  plan::ImageList list;
};

Checked Check(const std::vector<std::string>& paths, const list::Capabilities& capabilities,
              std::ostream& out, std::ostream& err) {
  Mistakes mistakes;
  ListFiles files = ReadListFiles(paths, mistakes, capabilities);
  for (const list::LoadedSource& source : files.sources) {
    out << source.info.name << ": " << source.info.entries
        << (source.info.entries == 1 ? " entry, " : " entries, ") << source.info.hash << "\n";
  }
  int exit_code = Report(files, mistakes, err) ? kOk : kBadInput;
  return {exit_code, std::move(files.list)};
}

void PrintSource(const list::LoadedSource& source, ListOutput output, bool first, std::ostream& out) {
  switch (output) {
    case ListOutput::kYaml:
      out << (first ? "" : "---\n") << doc::WriteYaml(list::CanonicalForm(*source.content));
      return;
    case ListOutput::kJson:
      out << doc::WriteJson(list::CanonicalForm(*source.content)) << "\n";
      return;
    case ListOutput::kHash:
      out << source.info.hash << "  " << source.info.name << "\n";
      return;
  }
}

}  // namespace

int ListCheck(const std::vector<std::string>& paths, const list::Capabilities& capabilities,
              std::ostream& out, std::ostream& err) {
  return Check(paths, capabilities, out, err).exit_code;
}

int ListCheckWithAgent(const base::Call& call, const AgentClient& agent,
                       const std::vector<std::string>& paths, const list::Capabilities& capabilities,
                       std::ostream& out, std::ostream& err) {
  Checked checked = Check(paths, capabilities, out, err);
  if (checked.exit_code != kOk) return checked.exit_code;
  auto status = agent.Status(call);
  if (!status) return Fail(kUnreachable, status.error(), err);
  if (!status->hidden.empty()) {
    err << "note: over the network the agent hides the other names of images; ask over its local socket\n";
  }
  for (const std::string& note : screen::AliasNotes(checked.list, *status)) err << "note: " << note << "\n";
  return kOk;
}

int ListPrint(const std::vector<std::string>& paths, ListOutput output,
              const list::Capabilities& capabilities, std::ostream& out, std::ostream& err) {
  Mistakes mistakes;
  ListFiles files = ReadListFiles(paths, mistakes, capabilities);
  if (!Report(files, mistakes, err)) return kBadInput;
  // The first word of the output is the hash for `wait --hash`.
  if (output == ListOutput::kHash) out << files.list.hash << "  (list)\n";
  bool first = true;
  for (const list::LoadedSource& source : files.sources) {
    PrintSource(source, output, first, out);
    first = false;
  }
  return kOk;
}

}  // namespace prefetch::ctl
