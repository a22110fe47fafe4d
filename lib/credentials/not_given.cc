#include "credentials/not_given.h"

#include <algorithm>
#include <cstdlib>

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

std::string WasGiven(bool none) {
  return none ? "the agent was given none" : "the agent was given others";
}

// The problem with this one.
std::string WhyMissing(const NotGiven& all, const NotGiven::Missing& one) {
  switch (one.how) {
    case NotGiven::How::kNone:
    case NotGiven::How::kOthers:
      return WasGiven(one.how == NotGiven::How::kNone);
    case NotGiven::How::kNoProgram:
      return "the agent has no program " + ProgramIn(all.bin_dir, one.provider.name);
    case NotGiven::How::kOtherProgram:
      return "the agent runs " + ProgramIn(all.bin_dir, one.provider.name) +
             ", which is another program than " + ProgramIn(all.kubelets.bin_dir, one.provider.name);
  }
  std::abort();
}

NotGiven::How HowMissing(ProgramHere program) {
  return program == ProgramHere::kAbsent ? NotGiven::How::kNoProgram : NotGiven::How::kOtherProgram;
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

NotGiven FindNotGiven(const KubeletsProviders& kubelets, const ProviderConfig& there,
                      const OwnProviders& own) {
  if (kubelets.config.empty()) return {};
  NotGiven missing{.kubelets = kubelets,
                   .unreadable = "",
                   .none_given = own.config.empty(),
                   .bin_dir = own.bin_dir,
                   .providers = {}};
  if (!there.problems.empty()) {
    if (!own.config.empty() && LastPart(own.config) == LastPart(kubelets.config)) return {};
    missing.unreadable = there.problems.front();
    return missing;
  }
  for (const Provider& provider : there.providers) {
    auto given = std::find_if(own.named.begin(), own.named.end(),
                              [&](const OwnProviders::Named& one) { return one.name == provider.name; });
    if (given == own.named.end()) {
      missing.providers.push_back(
          {provider, missing.none_given ? NotGiven::How::kNone : NotGiven::How::kOthers});
    } else if (given->program != ProgramHere::kSame) {
      missing.providers.push_back({provider, HowMissing(given->program)});
    }
  }
  return missing.providers.empty() ? NotGiven{} : missing;
}

std::vector<std::string> ProblemsOf(const NotGiven& missing) {
  if (!missing.unreadable.empty()) {
    return {"kubelet uses credential providers from " + missing.kubelets.config + "; " +
            WasGiven(missing.none_given) + ", and cannot read that file (" + missing.unreadable +
            "): images of these providers' registries will be refused (401); " + kGive};
  }
  std::vector<std::string> problems;
  for (const NotGiven::Missing& one : missing.providers) {
    const char* refused =
        one.how == NotGiven::How::kOtherProgram ? " may be refused (401); " : " will be refused (401); ";
    problems.push_back("kubelet uses the credential provider \"" + one.provider.name + "\" from " +
                       missing.kubelets.config + "; " + WhyMissing(missing, one) + ": images of " +
                       ShownPatterns(one.provider) + refused + kGive);
  }
  return problems;
}

std::vector<Unasked> UnaskedFor(const NotGiven& missing, const Target& target) {
  if (!missing.unreadable.empty()) {
    return {{missing.kubelets.config, "",
             "kubelet uses the providers of this file; " + WasGiven(missing.none_given) +
                 ", and cannot read it"}};
  }
  std::vector<Unasked> unasked;
  for (const NotGiven::Missing& one : missing.providers) {
    for (const Pattern& pattern : one.provider.match_images) {
      if (!pattern.Matches(target)) continue;
      const bool other = one.how == NotGiven::How::kOtherProgram;
      unasked.push_back(
          {other ? ProgramIn(missing.kubelets.bin_dir, one.provider.name) : one.provider.name, pattern.text(),
           other ? "kubelet runs it; the agent runs " + ProgramIn(missing.bin_dir, one.provider.name) +
                       ", which is another program"
                 : "kubelet uses it, from " + missing.kubelets.config + "; " + WhyMissing(missing, one)});
      break;
    }
  }
  return unasked;
}

}  // namespace prefetch::credentials
