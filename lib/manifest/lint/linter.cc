#include "manifest/lint/linter.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "manifest/image_use.h"

namespace prefetch::manifest::lint {

namespace {

// Maximum number of checks to remember. Real manifests have few; the limit bounds the memory for others.
constexpr std::size_t kMostChecks = 10'000;

}  // namespace

Linter::Linter(ListedImages listed, std::vector<Ignores> list_ignores, Selection selection)
    : listed_(std::move(listed)), selection_(selection) {
  for (const ListedImage& entry : listed_.all()) {
    // The lists come first, so that findings about two names are placed in the manifests.
    names_.Add(entry.reference, entry.place, entry.place.at, true);
    file_order_.emplace(entry.place.file, file_order_.size());
  }
  for (Ignores& ignores : list_ignores) {
    file_order_.emplace(ignores.file(), file_order_.size());
    if (!ignores.empty()) ignores_.emplace(ignores.file(), std::move(ignores));
  }
  lists_ = file_order_.size();
}

void Linter::Add(const Manifests& manifests, Ignores ignores) {
  result_.files++;
  result_.pods += manifests.pods;
  result_.uses += manifests.uses.size();
  file_order_.emplace(ignores.file(), file_order_.size());
  Findings findings;
  for (const ImageUse& use : manifests.uses) CheckUse(use, listed_, findings);
  for (const UnseenImage& image : manifests.references) ImageNotNamed(RuleId::kStepAction, image, findings);
  for (const UnseenImage& image : manifests.unresolved)
    ImageNotNamed(RuleId::kUnresolvedImage, image, findings);
  for (const UnseenImage& object : manifests.unread) AddUnreadObject(object, ignores);
  Pods(manifests.uses, findings);
  AddFindings(std::move(findings), &ignores);
  if (!ignores.empty()) ignores_.emplace(ignores.file(), std::move(ignores));
}

// Also reports the object's type, namespace and name one by one, if the finding counts.
void Linter::AddUnreadObject(const UnseenImage& object, Ignores& ignores) {
  Findings finding;
  ObjectNotRead(object, finding);
  const bool counts = selection_.Has(RuleId::kNotRead) && !ignores.Covers(finding.front());
  if (!counts) return;
  if (result_.objects.size() < kMostFindings) result_.objects.push_back(object);
  Store(std::move(finding.front()));
}

// The uses of one pod are adjacent, so a range of equal pods is one pod.
void Linter::Pods(const std::vector<ImageUse>& uses, Findings& findings) {
  for (std::size_t begin = 0, end = 0; begin < uses.size(); begin = end) {
    while (end < uses.size() && uses[end].pod == uses[begin].pod) end++;
    std::span<const ImageUse> pod(uses.data() + begin, end - begin);
    NeedlessPullSecrets(pod, listed_, findings);
    std::size_t before = findings.size();
    WeakerCheckInPod(pod, findings);
    for (const ImageUse& use : pod) {
      bool weak = std::any_of(findings.begin() + static_cast<std::ptrdiff_t>(before), findings.end(),
                              [&](const Finding& finding) { return finding.block == use.holder_at; });
      Remember(use, weak);
    }
  }
}

void Linter::Remember(const ImageUse& use, bool weak_in_pod) {
  if (!use.reference) return;
  const std::string& name = use.reference->Normalized();
  used_.insert(name);
  names_.Add(*use.reference, {use.pod->source, use.key_at}, use.holder_at);
  // An unknown policy can be neither weaker nor stronger than another one.
  if (!use.policy_known) return;
  if (IsCheckContainer(use)) {
    // A check that is weaker within its own pod has a finding already.
    if (!weak_in_pod && checks_.size() < kMostChecks) checks_.push_back(use);
    return;
  }
  auto [known, is_new] = strongest_.emplace(name, Strongest());
  if (!is_new && known->second.policy >= use.policy) return;
  std::string subject = use.name.empty() ? "a container" : "\"" + use.name + "\"";
  known->second = {use.policy,
                   {use.pod->source, use.policy_key_at.value_or(use.key_at)},
                   subject + " of " + PodTitle(*use.pod)};
}

void Linter::ListedOnly(Findings& findings) const {
  for (const ListedImage& entry : listed_.all()) {
    if (used_.contains(entry.reference.Normalized())) continue;
    findings.push_back({.rule = RuleId::kListedOnly,
                        .place = entry.place,
                        .block = entry.place.at,
                        .message = "listed but used by no manifest here: " + entry.reference.written()});
  }
}

void Linter::WeakerChecks(Findings& findings) const {
  for (const ImageUse& check : checks_) {
    auto strong = strongest_.find(check.reference->Normalized());
    if (strong == strongest_.end() || strong->second.policy <= check.policy) continue;
    findings.push_back(
        WeakerCheck(check, strong->second.subject, strong->second.policy, strong->second.place));
  }
}

void Linter::Store(Finding finding) {
  result_.counts[static_cast<std::size_t>(RuleOf(finding.rule).severity)]++;
  if (result_.findings.size() < kMostFindings) {
    result_.findings.push_back(std::move(finding));
  } else {
    result_.dropped++;
  }
}

// `ignores` belongs to the file of all the findings; nullptr if they are in several files.
void Linter::AddFindings(Findings findings, Ignores* ignores) {
  for (Finding& finding : findings) {
    if (!selection_.Has(finding.rule)) continue;
    Ignores* of_file = ignores;
    if (of_file == nullptr) {
      auto found = ignores_.find(finding.place.file);
      if (found != ignores_.end()) of_file = &found->second;
    }
    if (of_file == nullptr || !of_file->Covers(finding)) Store(std::move(finding));
  }
}

LintResult Linter::Finish() {
  // These rules compare files with each other, so they run when all files are known.
  Findings findings = names_.TwoNames();
  ListedOnly(findings);
  WeakerChecks(findings);
  AddFindings(std::move(findings), nullptr);
  // Findings about comments come last: only now is it known which comments ignored something.
  Findings comments;
  for (const auto& known : ignores_) {
    const Ignores& ignores = known.second;
    comments.insert(comments.end(), ignores.Invalid().begin(), ignores.Invalid().end());
    Findings idle = ignores.Idle(selection_);
    std::ranges::move(idle, std::back_inserter(comments));
  }
  for (Finding& finding : comments) {
    if (selection_.Has(finding.rule)) Store(std::move(finding));
  }
  auto key = [&](const Finding& finding) {
    std::size_t order = file_order_.at(finding.place.file);
    // Findings in lists come after those in manifests.
    if (order < lists_) order += file_order_.size();
    return std::tuple(order, finding.place.at, RuleOf(finding.rule).id, std::string_view(finding.message));
  };
  std::ranges::stable_sort(result_.findings, {}, key);
  return std::move(result_);
}

namespace {

// Maximum number of names with the same last part and tag ("app:v1") that are compared pairwise, since the
// effort grows with the square.
constexpr std::size_t kMostCompared = 64;

std::string LastPartAndTag(const image::Reference& reference) {
  const std::string& path = reference.path();
  return path.substr(path.rfind('/') + 1) + ":" + reference.tag();  // npos + 1 is 0
}

bool EndsWithPath(std::string_view name, std::string_view path) {
  return name.ends_with(path) && (name.size() == path.size() || name[name.size() - path.size() - 1] == '/');
}

// A mirror usually keeps the path, perhaps below a prefix. One component ("app") is too common to be a sign.
bool MayMirror(const image::Reference& a, const image::Reference& b) {
  if (a.domain() == b.domain()) return false;
  if (a.path() == b.path()) return a.path().find('/') != std::string::npos;
  const image::Reference& shorter = a.path().size() < b.path().size() ? a : b;
  const image::Reference& longer = a.path().size() < b.path().size() ? b : a;
  return shorter.path().find('/') != std::string::npos && EndsWithPath(longer.path(), shorter.path());
}

}  // namespace

void NamesInUse::Add(const image::Reference& reference, const Place& place, doc::Position block,
                     bool listed) {
  // One finding for each spelling, at its first use.
  if (!written_.insert(reference.written()).second) return;
  std::size_t index = names_.size();
  names_.push_back({reference, place, block, listed});
  by_repository_[reference.Repository()].push_back(index);
  if (reference.has_digest()) {
    by_digest_[reference.digest()].push_back(index);
  } else {
    by_last_part_and_tag_[LastPartAndTag(reference)].push_back(index);
  }
}

Finding NamesInUse::AtSecond(const Name& name, const Name& first, std::string message) {
  return {.rule = RuleId::kTwoNames,
          .place = name.place,
          .block = name.block,
          .message = std::move(message),
          .other = first.place,
          .other_message = first.reference.written() + " is named here"};
}

// Reports each name whose `part` no name before it has.
void NamesInUse::Different(const std::vector<std::size_t>& names, const std::string& what,
                           std::string_view (*part)(const image::Reference&),
                           std::vector<Finding>& findings) const {
  const Name& first = names_[names.front()];
  std::unordered_set<std::string_view> reported = {part(first.reference)};
  for (std::size_t i : names) {
    const Name& name = names_[i];
    if (!reported.insert(part(name.reference)).second || AreListed(first, name)) continue;
    findings.push_back(AtSecond(name, first,
                                what + ": " + std::string(part(name.reference)) + " here, " +
                                    std::string(part(first.reference)) + " in " + first.place.file));
  }
}

// Finds one repository by tag in one place and by digest in another. The two may be different images.
void NamesInUse::TagAndDigest(const std::vector<std::size_t>& names, std::vector<Finding>& findings) const {
  const Name& first = names_[names.front()];
  auto other = std::ranges::find_if(names, [&](std::size_t i) {
    return names_[i].reference.has_digest() != first.reference.has_digest() && !AreListed(first, names_[i]);
  });
  if (other == names.end()) return;
  const Name& name = names_[*other];
  bool digest = name.reference.has_digest();
  findings.push_back(AtSecond(name, first,
                              first.reference.Repository() + " by " + (digest ? "digest" : "tag") +
                                  " here and by " + (digest ? "tag" : "digest") + " in " + first.place.file +
                                  ": " + name.reference.written() + ", " + first.reference.written()));
}

// Finds names that one image may have in two registries. Each name is compared with the earlier ones, and is
// reported once.
void NamesInUse::Mirrors(const std::vector<std::size_t>& names, std::vector<Finding>& findings) const {
  std::size_t most = std::min(names.size(), kMostCompared);
  for (std::size_t i = 1; i < most; i++) {
    const Name& name = names_[names[i]];
    auto first =
        std::find_if(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), [&](std::size_t j) {
          return MayMirror(names_[j].reference, name.reference) && !AreListed(names_[j], name);
        });
    if (first == names.begin() + static_cast<std::ptrdiff_t>(i)) continue;
    const Name& other = names_[*first];
    findings.push_back(AtSecond(name, other,
                                "perhaps one image in two registries: " + name.reference.written() +
                                    " here, " + other.reference.written() + " in " + other.place.file));
  }
}

std::vector<Finding> NamesInUse::TwoNames() const {
  std::vector<Finding> findings;
  for (const auto& group : by_repository_) {
    // In several spellings, such as "nginx" and "docker.io/library/nginx".
    Different(
        group.second, "one repository by two names",
        [](const image::Reference& name) { return image::WrittenName(name.written()); }, findings);
    TagAndDigest(group.second, findings);
  }
  for (const auto& group : by_digest_) {
    Different(
        group.second, "the same digest in two repositories",
        [](const image::Reference& name) { return std::string_view(name.Repository()); }, findings);
  }
  for (const auto& group : by_last_part_and_tag_) Mirrors(group.second, findings);
  return findings;
}

}  // namespace prefetch::manifest::lint
