#include "ctl/commands.h"

#include "base/fs.h"
#include "base/text.h"
#include "config/agent_config.h"
#include "doc/write.h"
#include "image/kubelet_version.h"
#include "kubelet/kubelet_config.h"
#include "kubelet/verdict.h"
#include "kubelet/verdict_reader.h"
#include "status/check_document.h"

namespace prefetch::ctl {
namespace {

using image::PullPolicy;

// Maximum bytes of kubelet's configuration file.
constexpr std::size_t kLongestConfig = 1 << 20;

kubelet::SettingsFacts FromFile(const std::string& path, Mistakes& mistakes) {
  auto text = base::ReadFile(path, kLongestConfig);
  if (!text) return mistakes.push_back(text.error().message()), kubelet::SettingsFacts{};
  auto facts = kubelet::DecodeKubeletConfig(*text, path);
  if (!facts) return mistakes.push_back(facts.error().message()), kubelet::SettingsFacts{};
  return *std::move(facts);
}

kubelet::SettingsFacts FromFlags(const VerdictOptions& options, Mistakes& mistakes) {
  kubelet::SettingsFacts facts{.allowlist = options.allowlist};
  if (!options.verification) return facts;
  facts.policy = base::EnumNamed<kubelet::VerificationPolicy>(*options.verification);
  if (!facts.policy) {
    mistakes.emplace_back(
        "--verification must be NeverVerify, NeverVerifyPreloadedImages, NeverVerifyAllowlistedImages or "
        "AlwaysVerify");
  }
  return facts;
}

// Returns the version that the flag names, as prefetchd checks it.
std::optional<image::KubeletVersion> Version(const char* flag, const std::optional<std::string>& text,
                                             base::Result<image::KubeletVersion> (*check)(std::string_view),
                                             Mistakes& mistakes) {
  if (!text) return std::nullopt;
  auto version = check(*text);
  if (version) return *version;
  mistakes.push_back(std::string(flag) + " " + version.error().message());
  return std::nullopt;
}

std::vector<kubelet::KubeletSettings> Settings(const VerdictOptions& options, Mistakes& mistakes) {
  kubelet::SettingsFacts facts =
      options.kubelet_config ? FromFile(*options.kubelet_config, mistakes) : FromFlags(options, mistakes);
  // The version decides about defaults and about the existence of settings.
  facts.version = Version("--kubelet-version", options.kubelet_version, config::CheckedKubelet, mistakes);
  facts.rules = Version("--kubelet-rules", options.kubelet_rules, config::CheckedKubeletRules, mistakes);
  if (!mistakes.empty()) return {};
  // Unknown settings stay open: the verdict is then that of all kubelets that fit.
  auto possible = kubelet::PossibleSettings(facts);
  if (!possible)
    return mistakes.push_back(possible.error().message()), std::vector<kubelet::KubeletSettings>{};
  return *std::move(possible);
}

// No mistake repeats a text, which may hold the digest of a password.
kubelet::PodIdentity Pod(const VerdictOptions& options, Mistakes& mistakes) {
  kubelet::PodIdentity pod;
  for (const std::string& text : options.pod_secrets) {
    const std::size_t hash = text.rfind('/');
    auto secret = status::ParseCoordinates(text.substr(0, hash));
    if (secret) {
      pod.secrets.push_back({*std::move(secret), base::Secret(text.substr(hash + 1))});
    } else {
      mistakes.emplace_back("--pod-secret must be NAMESPACE/NAME/UID/HASH; HASH may be empty");
    }
  }
  if (!options.pod_service_account) return pod;
  pod.service_account = status::ParseCoordinates(*options.pod_service_account);
  if (!pod.service_account) mistakes.emplace_back("--pod-service-account must be NAMESPACE/NAME/UID");
  return pod;
}

std::string Root(const VerdictOptions& options, Mistakes& mistakes) {
  std::string root = options.kubelet_root.value_or(image::kDefaultKubeletRoot);
  auto kind = base::KindOf(root);
  // A missing default folder is no mistake: this may be no node, and then there are no records.
  bool folder = kind && *kind == base::FileKind::kDirectory;
  if (options.kubelet_root && !folder) mistakes.emplace_back("--kubelet-root: " + root + " is not a folder");
  return root;
}

// Without --pull-policy, all three verdicts are printed: they differ for the same image.
std::vector<PullPolicy> Policies(const VerdictOptions& options) {
  if (!options.pull_policy) return {PullPolicy::kNever, PullPolicy::kIfNotPresent, PullPolicy::kAlways};
  auto only = base::EnumNamed<image::PullPolicy>(*options.pull_policy);
  return only ? std::vector<PullPolicy>{*only} : std::vector<PullPolicy>{};
}

doc::Node ToNode(const kubelet::Verdict& verdict) {
  return doc::Node::Mapping({{"result", doc::Node::String(std::string(base::EnumName(verdict.result)))},
                             {"reason", doc::Node::String(std::string(base::EnumName(verdict.reason)))},
                             {"rule", doc::Node::String(verdict.rule)},
                             {"message", doc::Node::String(verdict.message)}});
}

std::string ToJson(const VerdictOptions& options, const kubelet::Verdicts& verdicts) {
  doc::Node by_policy = doc::Node::Mapping();
  for (PullPolicy policy : Policies(options)) {
    by_policy.Set(std::string(base::EnumName(policy)), ToNode(verdicts.For(policy)));
  }
  return doc::WritePrettyJson(
      doc::Node::Mapping({{"image", doc::Node::String(base::ToUtf8(options.image))},
                          {"imageID", doc::Node::String(base::ToUtf8(options.image_id))},
                          {"verdicts", std::move(by_policy)}}));
}

std::string ToText(const VerdictOptions& options, const kubelet::Verdicts& verdicts) {
  std::string text;
  for (PullPolicy policy : Policies(options)) {
    const kubelet::Verdict& verdict = verdicts.For(policy);
    text += std::string(base::EnumName(policy)) + ": " + std::string(base::EnumName(verdict.result)) + " (" +
            std::string(base::EnumName(verdict.reason)) + ", rule " + verdict.rule + ")\n  " +
            verdict.message + "\n";
  }
  return text;
}

}  // namespace

int PrintVerdicts(const VerdictOptions& options, std::ostream& out, std::ostream& err) {
  Mistakes mistakes;
  std::vector<kubelet::KubeletSettings> possible = Settings(options, mistakes);
  kubelet::PodIdentity pod = Pod(options, mistakes);
  std::string root = Root(options, mistakes);
  if (!mistakes.empty()) return RejectInput(mistakes, err);
  // Records are filed under the image id (K18).
  kubelet::VerdictQuestion question = kubelet::ReadKubeletFiles(root, options.image, options.image_id);
  question.pod = std::move(pod);
  kubelet::Verdicts verdicts = kubelet::VerdictsFor(question, possible);
  out << (options.json ? ToJson(options, verdicts) : ToText(options, verdicts));
  return kOk;
}

}  // namespace prefetch::ctl
