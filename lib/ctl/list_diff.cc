#include "ctl/list.h"

#include <optional>
#include <utility>

#include "base/text.h"
#include "ctl/exit_code.h"
#include "ctl/list_files.h"
#include "list/diff.h"
#include "screen/list_difference.h"

namespace prefetch::ctl {
namespace {

std::optional<plan::ImageList> ReadList(const std::string& path, std::ostream& err) {
  Mistakes mistakes;
  ListFiles files = ReadListFiles({path}, mistakes);
  Tell(mistakes, err);
  return mistakes.empty() ? std::optional<plan::ImageList>(std::move(files.list)) : std::nullopt;
}

screen::ListDifference ToDifference(const list::ListChange& change) {
  using Kind = list::ListChange::Kind;
  if (change.kind != Kind::kChanged) {
    return {change.kind == Kind::kAdded ? '+' : '-', change.image, change.place};
  }
  std::vector<std::string> fields;
  for (const list::FieldChange& field : change.fields) {
    fields.push_back(field.field + ": " + field.from + " → " + field.to);
  }
  return {'~', change.image, base::Join(fields, ", ")};
}

int Print(const std::vector<screen::ListDifference>& differences, bool json, std::ostream& out) {
  out << (json ? screen::ListDifferencesJson(differences) : screen::ListDifferencesText(differences));
  return differences.empty() ? kOk : kNo;
}

}  // namespace

int DiffTwoLists(const ListDiffOptions& options, std::ostream& out, std::ostream& err) {
  std::optional<plan::ImageList> from = ReadList(options.files.at(0), err);
  std::optional<plan::ImageList> to = ReadList(options.files.at(1), err);
  if (!from || !to) return kBadInput;
  std::vector<screen::ListDifference> differences;
  for (const list::ListChange& change : list::DiffLists(*from, *to)) {
    differences.push_back(ToDifference(change));
  }
  return Print(differences, options.json, out);
}

int DiffListWithNode(const base::Call& call, const AgentClient& agent, const ListDiffOptions& options,
                     std::ostream& out, std::ostream& err) {
  std::optional<plan::ImageList> list = ReadList(options.files.at(0), err);
  if (!list) return kBadInput;
  auto status = agent.Status(call);
  if (!status) return Fail(kUnreachable, status.error(), err);
  return Print(screen::DiffWithNode(*list, *status), options.json, out);
}

}  // namespace prefetch::ctl
