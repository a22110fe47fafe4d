#include "ctl/exit_code.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace prefetch::ctl {
namespace {

bool IsNumber(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, base::IsDigit);
}

// "images.yaml:12:5: images[3]: …"
// Editors and CI look for the place at the beginning of the line, so nothing may come before it.
bool HasPlace(std::string_view line) {
  std::vector<std::string_view> parts = base::Split(line.substr(0, line.find(": ")), ':');
  return parts.size() > 2 && IsNumber(parts[parts.size() - 1]) && IsNumber(parts[parts.size() - 2]);
}

}  // namespace

int Fail(ExitCode code, const base::Error& error, std::ostream& err) {
  err << "prefetchctl: " << base::ReplaceAll(base::ToUtf8(error.message()), "\n", "\n             ") << "\n";
  return code;
}

int Fail(const base::Error& error, std::ostream& err) {
  // InvalidArgument is the user's mistake; everything else is a failure of another party.
  return Fail(error.code() == base::Code::kInvalidArgument ? kBadInput : kUnreachable, error, err);
}

void PrintMistakes(const Mistakes& mistakes, std::ostream& err) {
  for (const std::string& mistake : mistakes) {
    for (std::string_view line : base::Split(mistake, '\n')) {
      err << (HasPlace(line) ? "" : "prefetchctl: ") << base::ToUtf8(line) << "\n";
    }
  }
}

int RejectInput(const Mistakes& mistakes, std::ostream& err) {
  PrintMistakes(mistakes, err);
  return kBadInput;
}

}  // namespace prefetch::ctl
