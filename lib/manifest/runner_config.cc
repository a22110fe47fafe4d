// GitLab runner's config.toml: the images of the jobs' pods, by the few lines that name them.
#include <algorithm>
#include <string>
#include <utility>

#include "base/text.h"
#include "manifest/pod_template.h"

namespace prefetch::manifest {
namespace {

struct Line {
  std::string_view key, value;
};

// `key = value`; an empty key for every other line.
Line Parse(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || text.starts_with('#')) return {};
  return {base::TrimSpace(text.substr(0, equals)), base::TrimSpace(text.substr(equals + 1))};
}

// The first text in quotes, alone or of a list.
std::string Quoted(std::string_view value) {
  const std::size_t begin = value.find_first_of("\"'");
  if (begin == std::string_view::npos) return "";
  const std::size_t end = value.find(value[begin], begin + 1);
  return end == std::string_view::npos ? "" : std::string(value.substr(begin + 1, end - begin - 1));
}

std::optional<image::PullPolicy> PolicyOf(const std::string& text) {
  if (text == "always") return image::PullPolicy::kAlways;
  if (text == "if-not-present") return image::PullPolicy::kIfNotPresent;
  if (text == "never") return image::PullPolicy::kNever;
  return std::nullopt;
}

bool IsImageField(std::string_view section, std::string_view key) {
  if (section.ends_with(".services")) return key == "name";
  return key == "image" || key == "helper_image";
}

}  // namespace

bool IsRunnerConfig(std::string_view text) {
  return text.starts_with("[[runners]]") || text.find("\n[[runners]]") != std::string_view::npos;
}

void ReadRunnerConfig(std::string_view text, doc::Position at, const Pod& owner, const PolicyRules& rules,
                      PodImages& images) {
  auto pod = std::make_shared<Pod>(owner);
  pod->identity_elsewhere = true;
  const std::size_t first = images.uses.size();
  std::optional<image::PullPolicy> policy;
  // Of one runner: its images have its policy, wherever that stands.
  std::size_t runner = first;
  auto finish = [&] {
    for (; runner < images.uses.size(); runner++) {
      ImageUse& use = images.uses[runner];
      use.explicit_policy = policy;
      use.policy_known = policy.has_value() || rules.default_policy || rules.assume_always_pull;
      use.policy = EffectivePolicy(policy, use.reference, rules);
    }
    policy.reset();
  };
  std::string section;
  std::uint32_t number = 0;
  for (const std::string_view raw : base::Split(text, '\n')) {
    number++;
    const std::string_view line = base::TrimSpace(raw);
    if (line.starts_with('[')) {
      const std::size_t begin = line.find_first_not_of('[');
      section =
          begin == std::string_view::npos ? "" : std::string(line.substr(begin, line.find(']') - begin));
      if (section == "runners") finish();
      continue;
    }
    if (!section.starts_with("runners.")) continue;
    const Line field = Parse(line);
    const std::string value = Quoted(field.value);
    if (field.key == "pull_policy") policy = PolicyOf(value);
    if (!IsImageField(section, field.key) || value.empty()) continue;
    ImageUse use{.image = value, .kind = UseKind::kField, .name = section + "." + std::string(field.key)};
    const doc::Position own{number, static_cast<std::uint32_t>(raw.find(field.key) + 1)};
    use.at = use.key_at = use.holder_at = at == doc::Position{1, 1} ? own : at;
    use.path = use.name;
    use.pod = pod;
    if (value.find('$') != std::string::npos) {
      images.open.push_back(
          {.why = use.name + " of " + PodTitle(owner) + " has a variable for its image: " + value,
           .at = use.at,
           .holder_at = use.at,
           .pod = pod});
      continue;
    }
    if (auto reference = image::Reference::Parse(value)) use.reference = *std::move(reference);
    images.uses.push_back(std::move(use));
  }
  finish();
}

}  // namespace prefetch::manifest
