#include "credentials/not_given.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace prefetch::credentials {
namespace {

constexpr std::size_t kMostPatternsShown = 3;
constexpr const char* kGive =
    "mount kubelet's file and its plugins, and name them with --image-credential-provider-config and "
    "--image-credential-provider-bin-dir";

std::string LastPart(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

std::string WasGiven(const NotGiven& missing) {
  return missing.none_given ? "the agent was given none" : "the agent was given others";
}

std::string ShownPatterns(const Provider& provider) {
  std::vector<std::string> shown;
  for (const Pattern& pattern : provider.match_images) {
    if (shown.size() == kMostPatternsShown) {
      shown.emplace_back("…");
      break;
    }
    shown.push_back(pattern.text());
  }
  return base::Join(shown, ", ");
}

}  // namespace

std::size_t NotGiven::Count() const {
  return unreadable.empty() ? providers.size() : 1;
}

NotGiven FindNotGiven(const std::string& kubelets, const ProviderConfig& there, const std::string& own,
                      const std::vector<std::string>& own_names) {
  if (kubelets.empty() || kubelets == own) return {};
  NotGiven missing{.file = kubelets, .unreadable = "", .none_given = own.empty(), .providers = {}};
  if (!there.problems.empty()) {
    if (!own.empty() && LastPart(own) == LastPart(kubelets)) return {};
    missing.unreadable = there.problems.front();
    return missing;
  }
  for (const Provider& provider : there.providers) {
    const bool given = std::find(own_names.begin(), own_names.end(), provider.name) != own_names.end();
    if (!given) missing.providers.push_back(provider);
  }
  return missing.providers.empty() ? NotGiven{} : missing;
}

std::vector<std::string> ProblemsOf(const NotGiven& missing) {
  if (!missing.unreadable.empty()) {
    return {"kubelet uses credential providers from " + missing.file + "; " + WasGiven(missing) +
            ", and cannot read that file (" + missing.unreadable +
            "): images of these providers' registries will be refused (401); " + kGive};
  }
  std::vector<std::string> problems;
  for (const Provider& provider : missing.providers) {
    problems.push_back("kubelet uses the credential provider \"" + provider.name + "\" from " + missing.file +
                       "; " + WasGiven(missing) + ": images of " + ShownPatterns(provider) +
                       " will be refused (401); " + kGive);
  }
  return problems;
}

std::vector<Unasked> UnaskedFor(const NotGiven& missing, const Target& target) {
  if (!missing.unreadable.empty()) {
    return {{missing.file, "",
             "kubelet uses the providers of this file; " + WasGiven(missing) + ", and cannot read it"}};
  }
  std::vector<Unasked> unasked;
  for (const Provider& provider : missing.providers) {
    for (const Pattern& pattern : provider.match_images) {
      if (!pattern.Matches(target)) continue;
      unasked.push_back({provider.name, pattern.text(),
                         "kubelet uses it, from " + missing.file + "; " + WasGiven(missing)});
      break;
    }
  }
  return unasked;
}

}  // namespace prefetch::credentials
