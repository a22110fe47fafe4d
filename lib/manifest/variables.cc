#include "manifest/variables.h"

#include <algorithm>
#include <cstddef>

#include "base/text.h"

namespace prefetch::manifest {
namespace {

struct Marks {
  std::string_view begin, end;
};
// A form comes before those that are its beginning.
constexpr Marks kForms[] = {{"${{", "}}"}, {"{{", "}}"}, {"${", "}"}, {"$(", ")"}};

// Returns "params.image" for "inputs.params.image" and "params['image']": Tekton accepts all of these.
std::string NameOf(std::string_view inner) {
  static constexpr std::string_view kOld = "inputs.params";
  std::string name(base::TrimSpace(inner));
  if (name.starts_with(kOld)) name.erase(0, kOld.find('.') + 1);
  for (const std::string_view quote : {"'", "\""}) {
    const std::string open = "[" + std::string(quote), close = std::string(quote) + "]";
    name = base::ReplaceAll(base::ReplaceAll(name, open, "."), close, "");
  }
  return name;
}

}  // namespace

Variables::Resolved Variables::Resolve(std::string_view text) const {
  Resolved resolved;
  while (!text.empty()) {
    const auto form = std::find_if(std::begin(kForms), std::end(kForms),
                                   [&](const Marks& one) { return text.starts_with(one.begin); });
    const std::size_t end =
        form == std::end(kForms) ? std::string_view::npos : text.find(form->end, form->begin.size());
    if (end == std::string_view::npos) {
      // A "$" that begins no complete variable is text.
      resolved.text += text.front();
      text.remove_prefix(1);
      continue;
    }
    const std::size_t whole = end + form->end.size();
    const auto value = values_.find(NameOf(text.substr(form->begin.size(), end - form->begin.size())));
    resolved.open = resolved.open || value == values_.end();
    resolved.text += value == values_.end() ? std::string(text.substr(0, whole)) : value->second;
    text.remove_prefix(whole);
  }
  return resolved;
}

}  // namespace prefetch::manifest
