#include "screen/status_spellings.h"

#include <array>
#include <string_view>
#include <utility>

namespace prefetch::screen {
namespace {

int Badness(const StatusVerdict& verdict) {
  constexpr std::array<std::string_view, 4> kFromGoodToBad = {"Starts", "Pulls", "Unknown", "Refused"};
  int badness = 0;
  while (badness < static_cast<int>(kFromGoodToBad.size()) && verdict.result != kFromGoodToBad[badness]) {
    badness++;
  }
  return badness;
}

using VerdictOf = StatusVerdict StatusSpelling::*;

StatusVerdict Worst(const StatusImage& image, const std::set<std::string>& names, VerdictOf policy) {
  const StatusVerdict* worst = nullptr;
  for (const StatusSpelling& spelling : image.spellings) {
    const StatusVerdict& verdict = spelling.*policy;
    if (!names.contains(spelling.image)) continue;
    if (worst == nullptr || Badness(verdict) > Badness(*worst)) worst = &verdict;
  }
  return worst == nullptr ? StatusVerdict{} : *worst;
}

// Does kubelet's verdict let the entry be ready for the pods that it is for?
bool IsOpen(const StatusImage& image) {
  if (image.ready_for == "Never") return image.never.result == "Starts";
  if (image.ready_for != "IfNotPresent") return false;
  return image.if_not_present.result == "Starts" || image.if_not_present.result == "Pulls";
}

}  // namespace

std::set<std::string> WrittenAs(const StatusImage& image) {
  if (image.spellings.empty()) return {image.image};
  std::set<std::string> names;
  for (const StatusSpelling& spelling : image.spellings) names.insert(spelling.image);
  return names;
}

std::set<std::string> WrittenAs(const plan::DesiredImage& want) {
  std::set<std::string> names = {want.reference.written()};
  for (const image::Reference& other : want.other_spellings) names.insert(other.written());
  return names;
}

bool SpellingCounts(const StatusImage& image) {
  const std::string& reason = image.never.reason;
  return !image.never.result.empty() && reason != "Present" && reason != "ImageAbsent";
}

StatusImage NarrowedTo(StatusImage image, const std::set<std::string>& names) {
  if (image.spellings.empty()) return image;
  const bool was_open = IsOpen(image);
  image.never = Worst(image, names, &StatusSpelling::never);
  image.if_not_present = Worst(image, names, &StatusSpelling::if_not_present);
  image.always = Worst(image, names, &StatusSpelling::always);
  std::erase_if(image.spellings, [&](const StatusSpelling& one) { return !names.contains(one.image); });
  // Nothing but the verdict stood against it: the registry, if it is asked, agrees.
  const bool is_current = !image.registry || image.registry->fresh;
  if (image.ready || !image.present || was_open || !IsOpen(image) || !is_current) return image;
  image.ready = image.settled = true;
  image.phase = "Ready";
  image.reason = image.ready_for == "Never" ? image.never.reason : image.if_not_present.reason;
  image.message.clear();
  return image;
}

}  // namespace prefetch::screen
