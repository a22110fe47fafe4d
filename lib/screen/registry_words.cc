#include "screen/document_words.h"

#include <algorithm>
#include <optional>

#include "screen/text_layout.h"

namespace prefetch::screen {
namespace {

constexpr std::size_t kMostAway = 5;  // by name

// "20 s", by the node's clock, which may have been set back meanwhile.
std::string Between(std::optional<base::WallTime> earlier, std::optional<base::WallTime> later) {
  if (!earlier || !later) return "";
  auto time = std::chrono::duration_cast<std::chrono::seconds>(*later - *earlier);
  return base::HumanTime(std::max(time, std::chrono::seconds(0)));
}

bool IsAway(const StatusRegistry& registry) {
  return registry.reason == "Unreachable" || registry.reason == "ServerError" ||
         registry.reason == "RateLimited";
}

// "agreed 2 h ago, asked again in 40 min".
std::string Times(const StatusRegistry& registry, const StatusDocument& document) {
  std::string agreed = Between(registry.confirmed_at, document.time);
  std::string next = Between(document.time, registry.next_check_at);
  if (registry.answer.empty()) {
    return "not asked since the agent started" + (next.empty() ? "" : ", asked in " + next);
  }
  std::string words = agreed.empty() ? "has not agreed since the agent started" : "agreed " + agreed + " ago";
  return next.empty() ? words : words + ", asked again in " + next;
}

}  // namespace

bool IsStale(const StatusImage& image) {
  const auto& registry = image.registry;
  return image.ready && registry && !registry->fresh && !registry->answer.empty() && !IsAway(*registry);
}

std::vector<std::string> RegistryWords(const StatusImage& image, const StatusDocument& document, bool wide) {
  std::vector<std::string> words;
  if (!image.registry) return words;
  const StatusRegistry& registry = *image.registry;
  bool wrong = IsStale(image) || (wide && !registry.fresh && !registry.answer.empty());
  if (wrong) words.push_back("not current: " + registry.message);
  if (wide) words.push_back("registry: " + Times(registry, document));
  if (wide && !registry.changed_from.empty()) {
    words.push_back("changed " + Between(registry.changed_at, document.time) + " ago, from " +
                    registry.changed_from);
  }
  return words;
}

std::vector<std::string> UnreachableWords(const StatusDocument& document) {
  std::vector<std::string> words;
  std::size_t more = 0;
  for (const StatusRegistryServer& registry : document.registries) {
    if (registry.trouble.empty() || !registry.unreachable_since) continue;
    if (words.size() == kMostAway && ++more > 0) continue;
    std::string text = registry.name + " has not answered for " +
                       Between(registry.unreachable_since, document.time) + " (" + registry.trouble + "): ";
    if (!registry.message.empty()) text += registry.message + "; ";
    text += std::to_string(registry.entries) +
            (registry.entries == 1 ? " image is asked for there" : " images are asked for there");
    words.push_back(text + ", and what is here stays in use");
  }
  if (more > 0) words.push_back(std::to_string(more) + " more registries do not answer");
  return words;
}

}  // namespace prefetch::screen
