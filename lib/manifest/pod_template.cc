#include "manifest/pod_template.h"

#include "base/text.h"
#include "doc/spelling.h"

namespace prefetch::manifest {
namespace {

using doc::Reader;
using Steps = std::vector<std::string_view>;

Steps StepsOf(std::string_view path) {
  return path.empty() ? Steps() : base::Split(path, '.');
}

void Walk(const Reader& at, const Steps& steps, std::size_t done, std::vector<Reader>& found) {
  if (at.node().kind == doc::Node::Kind::kSequence) {
    for (const Reader& item : at.Items()) Walk(item, steps, done, found);
  } else if (at.node().kind != doc::Node::Kind::kMapping) {
    return;
  } else if (done == steps.size()) {
    found.push_back(at);
  } else if (steps[done] == "*") {
    for (const auto& member : at.Members()) Walk(member.second, steps, done + 1, found);
  } else if (std::optional<Reader> next = doc::ObjectReader(at).Find(steps[done])) {
    Walk(*next, steps, done + 1, found);
  }
}

}  // namespace

std::vector<Reader> AtPath(const Reader& object, std::string_view path) {
  std::vector<Reader> found;
  Walk(object, StepsOf(path), 0, found);
  return found;
}

std::optional<Reader> BuiltInTemplate(const Reader& object, const BuiltInKind& kind) {
  Reader value = object;
  for (std::string_view step : StepsOf(kind.path)) {
    doc::ObjectReader holder(value);
    std::optional<Reader> next = holder.Find(step);
    if (!next) {
      doc::ReportMisspelt(value, {step});
      return std::nullopt;
    }
    value = *next;
  }
  return value;
}

}  // namespace prefetch::manifest
