#include "screen/status_spellings.h"

#include <array>
#include <string_view>

#include "base/text.h"
#include "image/pod_coordinates.h"
#include "plan/spellings.h"

namespace prefetch::screen {
namespace {

int Badness(const status::StatusVerdict& verdict) {
  constexpr std::array<std::string_view, 4> kFromGoodToBad = {"Starts", "Pulls", "Unknown", "Refused"};
  int badness = 0;
  // A word that this program does not know counts as the worst.
  while (badness < static_cast<int>(kFromGoodToBad.size()) && verdict.result != kFromGoodToBad[badness]) {
    badness++;
  }
  return badness;
}

using VerdictOf = status::StatusVerdict status::StatusVerdicts::*;

PodKey KeyOf(const status::StatusSpelling& spelling) {
  return {spelling.image, image::TextOf(spelling.ready_as)};
}

status::StatusVerdict Worst(const status::StatusImage& image, const PodKeys& pods, VerdictOf policy) {
  const status::StatusVerdict* worst = nullptr;
  for (const status::StatusSpelling& spelling : image.spellings) {
    const status::StatusVerdict& verdict = spelling.verdicts.*policy;
    if (!pods.contains(KeyOf(spelling))) continue;
    if (worst == nullptr || Badness(verdict) > Badness(*worst)) worst = &verdict;
  }
  return worst == nullptr ? status::StatusVerdict{} : *worst;
}

// Returns true if kubelet's verdict lets the entry be ready for the pods that it is meant for.
bool IsOpen(const status::StatusImage& image) {
  if (image.ready_for == "Never") return image.verdicts.never.result == "Starts";
  if (image.ready_for != "IfNotPresent") return false;
  return image.verdicts.if_not_present.result == "Starts" || image.verdicts.if_not_present.result == "Pulls";
}

}  // namespace

PodKeys PodKeysOf(const status::StatusImage& image) {
  if (image.spellings.empty()) return {{image.image, image::TextOf(image.ready_as)}};
  PodKeys pods;
  for (const status::StatusSpelling& spelling : image.spellings) pods.insert(KeyOf(spelling));
  return pods;
}

PodKeys PodKeysOf(const plan::DesiredImage& want) {
  PodKeys pods;
  for (const plan::PodProfile& pod : plan::PodsOf(want)) {
    pods.insert({pod.reference.written(), image::TextOf(*pod.ready_as)});
  }
  return pods;
}

std::optional<PodKey> MatchingProfile(const PodKey& wanted, const PodKeys& judged) {
  const PodKey anybody = {wanted.first, ""};
  if (judged.contains(wanted)) return wanted;
  // An image that is open to pods without credentials is open to all (K24).
  return judged.contains(anybody) ? std::optional(anybody) : std::nullopt;
}

std::set<std::string> WrittenAs(const PodKeys& pods) {
  std::set<std::string> names;
  for (const PodKey& pod : pods) names.insert(pod.first);
  return names;
}

std::set<std::string> ReadyAs(const PodKeys& pods) {
  std::set<std::string> texts;
  for (const PodKey& pod : pods) texts.insert(pod.second);
  return texts;
}

std::string ReadyAsWords(const status::StatusImage& image) {
  const std::set<std::string> texts = ReadyAs(PodKeysOf(image));
  if (texts == std::set<std::string>{""}) return "";
  std::vector<std::string> words;
  for (const std::string& text : texts) words.push_back(image::WithWords(text));
  return "judged for pods " + base::Join(words, ", and for pods ") + " (readyAs)";
}

bool SpellingCounts(const status::StatusImage& image) {
  const std::string& reason = image.verdicts.never.reason;
  // "Present" is the verdict without a kubelet.
  return !image.verdicts.never.result.empty() && reason != "Present" && reason != "ImageAbsent";
}

status::StatusImage NarrowedTo(status::StatusImage image, const PodKeys& pods) {
  // There is one such pod, and the entry describes it.
  if (image.spellings.empty()) return image;
  const bool was_open = IsOpen(image);
  image.verdicts.never = Worst(image, pods, &status::StatusVerdicts::never);
  image.verdicts.if_not_present = Worst(image, pods, &status::StatusVerdicts::if_not_present);
  image.verdicts.always = Worst(image, pods, &status::StatusVerdicts::always);
  std::erase_if(image.spellings,
                [&](const status::StatusSpelling& one) { return !pods.contains(KeyOf(one)); });
  // Only the verdict kept the image from being ready: it is present and usable, and the registry agrees if it
  // is asked.
  const bool is_current = !image.registry || image.registry->fresh;
  if (image.ready || !image.present || !image.usable || was_open || !IsOpen(image) || !is_current)
    return image;
  image.ready = image.settled = true;
  image.phase = "Ready";
  image.reason =
      image.ready_for == "Never" ? image.verdicts.never.reason : image.verdicts.if_not_present.reason;
  image.message.clear();
  return image;
}

}  // namespace prefetch::screen
