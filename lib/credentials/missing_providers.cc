#include "credentials/missing_providers.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/fs.h"
#include "base/text.h"

namespace prefetch::credentials {

namespace {

constexpr std::size_t kMostPatternsShown = 3;
constexpr const char* kRemedy =
    "mount kubelet's file and its plugins, and name them with --image-credential-provider-config and "
    "--image-credential-provider-bin-dir";

std::string AgentConfigText(bool none) {
  return none ? "the agent was given none" : "the agent was given others";
}

// Returns kubelet's patterns that no pattern of the agent's provider covers. Each pattern is compared by
// itself: several together cover no more than each alone.
std::vector<Pattern> UncoveredPatterns(const std::vector<Pattern>& own,
                                       const std::vector<Pattern>& kubelets) {
  std::vector<Pattern> lacking;
  for (const Pattern& pattern : kubelets) {
    const bool covered =
        std::any_of(own.begin(), own.end(), [&](const Pattern& wider) { return wider.Covers(pattern); });
    if (!covered) lacking.push_back(pattern);
  }
  return lacking;
}

// The problem with this one.
std::string MissingReason(const MissingProviders& all, const MissingProviders::Missing& one) {
  switch (one.gap) {
    case ProviderGap::kNoConfig:
    case ProviderGap::kNotConfigured:
      return AgentConfigText(one.gap == ProviderGap::kNoConfig);
    case ProviderGap::kNoProgram:
      return "the agent has no program " + base::JoinPath(all.bin_dir, one.provider.name);
    case ProviderGap::kDifferentProgram:
      return "the agent runs " + base::JoinPath(all.bin_dir, one.provider.name) +
             ", which is another program than " + base::JoinPath(all.kubelets.bin_dir, one.provider.name);
    case ProviderGap::kFewerImages:
      return "the agent's provider of that name, from " + all.own_config +
             ", does not match all of its images";
  }
  std::abort();
}

std::string ShownPatterns(const MissingProviders::Missing& one) {
  std::vector<std::string> shown;
  for (const Pattern& pattern : UncoveredPatterns(one.own_images, one.provider.match_images)) {
    if (shown.size() == kMostPatternsShown) {
      shown.emplace_back("…");
      break;
    }
    shown.push_back(pattern.text());
  }
  return base::Join(shown, ", ");
}

}  // namespace

std::size_t MissingProviders::Count() const {
  return unreadable.empty() ? providers.size() : 1;
}

MissingProviders FindMissingProviders(const KubeletProviderFlags& kubelets, const ProviderConfig& there,
                                      const AgentProviders& own) {
  if (kubelets.config.empty()) return {};
  MissingProviders missing{.kubelets = kubelets, .own_config = own.config, .bin_dir = own.bin_dir};
  if (!there.problems.empty()) {
    if (own.config == kubelets.config) return {};  // its own problem, which is told
    // Paths differ between host and container, so the name is the only sign that both are one file.
    missing.may_be_same_file = base::BaseName(own.config) == base::BaseName(kubelets.config);
    missing.unreadable = there.problems.front();
    return missing;
  }
  for (const Provider& provider : there.providers) {
    auto given = std::find_if(own.entries.begin(), own.entries.end(),
                              [&](const AgentProviders::Entry& one) { return one.name == provider.name; });
    if (given == own.entries.end()) {
      missing.providers.push_back(
          {provider, own.config.empty() ? ProviderGap::kNoConfig : ProviderGap::kNotConfigured});
    } else if (given->program) {
      // The order is that of certainty: another program makes a comparison of the patterns pointless.
      missing.providers.push_back({provider, *given->program});
    } else if (!UncoveredPatterns(given->match_images, provider.match_images).empty()) {
      missing.providers.push_back({provider, ProviderGap::kFewerImages, given->match_images});
    }
  }
  return missing.providers.empty() ? MissingProviders{} : missing;
}

// A difference that is certain says "will be refused". One that may not matter says "may be refused".
std::vector<std::string> ProblemsOf(const MissingProviders& missing) {
  if (missing.may_be_same_file) {
    return {"kubelet uses credential providers from " + missing.kubelets.config +
            ", and the agent cannot read that file (" + missing.unreadable + ") to compare it with " +
            missing.own_config +
            ": if they differ, images may be refused (401); mount kubelet's file at its own path"};
  }
  if (!missing.unreadable.empty()) {
    return {"kubelet uses credential providers from " + missing.kubelets.config + "; " +
            AgentConfigText(missing.own_config.empty()) + ", and cannot read that file (" +
            missing.unreadable + "): images of these providers' registries will be refused (401); " +
            kRemedy};
  }
  std::vector<std::string> problems;
  for (const MissingProviders::Missing& one : missing.providers) {
    // Another program may know these registries; another provider of the agent's may match these images.
    const bool perhaps = one.gap == ProviderGap::kDifferentProgram || one.gap == ProviderGap::kFewerImages;
    const char* refused = perhaps ? " may be refused (401); " : " will be refused (401); ";
    problems.push_back("kubelet uses the credential provider \"" + one.provider.name + "\" from " +
                       missing.kubelets.config + "; " + MissingReason(missing, one) + ": images of " +
                       ShownPatterns(one) + refused + kRemedy);
  }
  return problems;
}

std::vector<SkippedProvider> SkippedProviders(const MissingProviders& missing, const Target& target) {
  if (!missing.unreadable.empty()) {
    return {{missing.kubelets.config, "",
             "kubelet uses the providers of this file; " +
                 (missing.may_be_same_file ? "the agent has those of " + missing.own_config
                                           : AgentConfigText(missing.own_config.empty())) +
                 ", and cannot read it"}};
  }
  std::vector<SkippedProvider> skipped;
  for (const MissingProviders::Missing& one : missing.providers) {
    // The agent's provider of that name serves this image.
    const Pattern* pattern = FirstMatch(one.provider.match_images, target);
    if (pattern == nullptr || FirstMatch(one.own_images, target) != nullptr) continue;
    const bool other = one.gap == ProviderGap::kDifferentProgram;
    skipped.push_back(
        {other ? base::JoinPath(missing.kubelets.bin_dir, one.provider.name) : one.provider.name,
         pattern->text(),
         other ? "kubelet runs it; the agent runs " + base::JoinPath(missing.bin_dir, one.provider.name) +
                     ", which is another program"
               : "kubelet uses it, from " + missing.kubelets.config + "; " + MissingReason(missing, one)});
  }
  return skipped;
}

namespace {

constexpr std::size_t kBlock = 64 << 10;

bool IsProgramFile(const std::string& path) {
  auto kind = base::KindOf(path);
  return kind && *kind != base::FileKind::kDirectory && ::access(path.c_str(), X_OK) == 0;
}

// Compares block by block, so that a large program is never in memory as a whole.
bool HaveSameBytes(const std::string& a, const std::string& b) {
  std::ifstream one(a, std::ios::binary), other(b, std::ios::binary);
  std::vector<char> from_one(kBlock), from_other(kBlock);
  while (one && other) {
    one.read(from_one.data(), kBlock);
    other.read(from_other.data(), kBlock);
    const auto count = static_cast<std::size_t>(one.gcount());
    if (one.gcount() != other.gcount() || std::memcmp(from_one.data(), from_other.data(), count) != 0)
      return false;
  }
  return true;
}

}  // namespace

// The checks go from cheap to expensive: paths, file stamps, sizes, and only then the bytes.
std::optional<ProviderGap> CompareProgram(const std::string& own_bin_dir, const std::string& kubelets_bin_dir,
                                          const std::string& provider) {
  const std::string own = base::JoinPath(own_bin_dir, provider);
  if (own_bin_dir.empty() || !IsProgramFile(own)) return ProviderGap::kNoProgram;
  if (kubelets_bin_dir.empty() || kubelets_bin_dir == own_bin_dir) return std::nullopt;
  const std::string kubelets = base::JoinPath(kubelets_bin_dir, provider);
  const base::FileStamp here = base::StampOf(own), there = base::StampOf(kubelets);
  // kubelet's program is not visible here, which proves no difference.
  if (there.error != 0) return std::nullopt;
  // One file, mounted twice: the usual case, without reading it.
  if (here.device == there.device && here.inode == there.inode) return std::nullopt;
  const bool same = here.size == there.size && HaveSameBytes(own, kubelets);
  return same ? std::nullopt : std::optional(ProviderGap::kDifferentProgram);
}

}  // namespace prefetch::credentials
