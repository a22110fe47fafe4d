#include "screen/check_text.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/scrub.h"
#include "base/text.h"
#include "doc/write.h"
#include "plan/check.h"
#include "screen/lint_report.h"
#include "screen/text_layout.h"
#include "status/words.h"

namespace prefetch::screen {

namespace {

constexpr std::size_t kSentence = 40;  // columns that a sentence needs beside the others to be readable
constexpr std::size_t kMargin = 6;

enum class Mark { kOk, kUndecided, kFail };  // in the order of printing

// An item with its answer, as every output shows it.
struct CheckRow {
  const CheckItem* item = nullptr;
  const status::CheckAnswer* answer = nullptr;  // nullptr: not decided in time
  Mark mark = Mark::kOk;
  std::string message;               // the result, its reason, and what to do if the item does not pass
  std::array<std::string, 3> cells;  // containers, image and policy
};

const char* MarkText(Mark mark) {
  return base::EnumWord(mark, {"ok", "OPEN", "FAIL"});
}

std::string ResultWords(const status::CheckAnswer& answer) {
  if (answer.result == kubelet::VerdictResult::kRefused) return "refused";
  if (answer.result == kubelet::VerdictResult::kPulls) return "contacts the registry";
  if (answer.result == kubelet::VerdictResult::kStarts) return "cannot run";
  return "not known";
}

// States that the image was not decided in time, and how far its pull is if that is known.
std::string UndecidedText(const status::CheckResult& result, std::size_t item) {
  bool pulled = item < result.answers.size() && result.answers[item].pending;
  return pulled ? base::InOneLine("not decided in time: " + result.answers[item].message)
                : "not decided in time";
}

// Returns one line for an image: the result, its reason, and what to do if it does not pass.
std::string CheckMessage(const CheckItem& item, const status::CheckAnswer& answer, const std::string& node) {
  std::string unlisted = answer.listed ? "" : " (not on the list)";
  bool assumed = answer.reason == "AssumedForPod";
  // The usual case is short. An assumption about the pod is worth its message.
  if (answer.ok && answer.result == kubelet::VerdictResult::kStarts && !assumed) {
    return base::InOneLine("starts from the node (" + answer.reason + ")" + unlisted);
  }
  if (answer.ok) return base::InOneLine("starts (" + answer.reason + ")" + unlisted + ": " + answer.message);
  std::string text = "on node " + node + ": " + ResultWords(answer) + " (" + answer.reason + ")" + unlisted +
                     ": " + answer.message;
  std::string advice = CheckAdvice(item, answer);
  return base::InOneLine(advice.empty() ? text : text + " → " + advice);
}

// Returns a row for each item, in their order.
std::vector<CheckRow> RowsOf(const std::vector<CheckItem>& items, const status::CheckResult& result,
                             bool unknown_passes) {
  std::vector<CheckRow> rows;
  for (std::size_t i = 0; i < items.size(); i++) {
    const CheckItem& item = items[i];
    CheckRow row{.item = &item, .answer = DecidedAnswer(result, i), .mark = Mark::kUndecided};
    if (row.answer != nullptr) row.mark = Passes(*row.answer, unknown_passes) ? Mark::kOk : Mark::kFail;
    row.message =
        row.answer == nullptr ? UndecidedText(result, i) : CheckMessage(item, *row.answer, result.node);
    // Texts come from manifests and agents, and must not break the table or control the terminal.
    row.cells = {
        base::InOneLine(item.containers), base::InOneLine(item.question.image),
        std::string(base::EnumName(item.question.policy)) + " (" + base::InOneLine(item.origin) + ")"};
    rows.push_back(std::move(row));
  }
  return rows;
}

using Widths = std::array<std::size_t, 3>;  // of the cells

std::string RowText(const CheckRow& row, const Widths& widths, std::size_t width) {
  std::string line = PadRight(MarkText(row.mark), kMargin);
  for (std::size_t i = 0; i < widths.size(); i++) {
    line += (i == 0 ? "" : "  ") + PadRight(row.cells[i], widths[i]);
  }
  // In a log, one line for each image is easier to search.
  if (width == 0) return line + "  " + row.message + "\n";
  std::size_t beside = DisplayWidth(line) + 2;
  // Too narrow for a column: the sentence stands below its row.
  bool below = beside + kSentence > width;
  std::string margin(below ? kMargin : beside, ' ');
  const std::string text = WrapIndented(row.message, margin, margin, width);
  if (below) return line.substr(0, line.find_last_not_of(' ') + 1) + "\n" + text;
  return line + text.substr(DisplayWidth(line));
}

struct Tally {
  std::size_t unknown_passed = 0, undecided = 0;
  std::size_t will_not_start = 0, registry = 0, unknown = 0;  // that fail

  std::size_t Failed() const { return will_not_start + registry + unknown; }
};

Tally CountAnswers(const std::vector<CheckRow>& rows) {
  Tally tally;
  for (const CheckRow& row : rows) {
    const bool unknown = row.answer != nullptr && row.answer->result == kubelet::VerdictResult::kUnknown;
    if (row.mark == Mark::kUndecided) {
      tally.undecided++;
    } else if (row.mark == Mark::kOk) {
      tally.unknown_passed += unknown ? 1 : 0;
    } else if (row.answer->result == kubelet::VerdictResult::kPulls) {
      tally.registry++;
    } else {
      unknown ? tally.unknown++ : tally.will_not_start++;
    }
  }
  return tally;
}

std::string OfAll(std::size_t n, std::size_t all) {
  if (all == 1) return "the image";
  return std::to_string(n) + " of " + std::to_string(all) + " images";
}

// Returns the causes of the failures in a few words.
std::string FailureCauses(const Tally& tally) {
  std::vector<std::string> parts;
  if (tally.will_not_start > 0) parts.push_back(std::to_string(tally.will_not_start) + " will not start");
  if (tally.registry > 0)
    parts.push_back(base::Plural(tally.registry, "contacts", "contact") + " the registry");
  if (tally.unknown > 0) parts.push_back(std::to_string(tally.unknown) + " not known");
  return base::Join(parts, ", ");
}

constexpr const char* kNothingChecked = "no image was checked";

// Returns what the line that sums up says of images.
std::string ImageSummary(const std::vector<CheckRow>& rows, const std::string& node) {
  const Tally tally = CountAnswers(rows);
  const std::size_t all = rows.size();
  if (all == 0) return kNothingChecked;
  std::string where = node.empty() ? "" : " on node " + base::InOneLine(node);
  std::string text;
  // Only if all failures are certain does the summary say "will not start".
  if (tally.will_not_start > 0 && tally.will_not_start == tally.Failed()) {
    text = OfAll(tally.will_not_start, all) + " will not start" + where;
  } else if (tally.Failed() > 0) {
    text = OfAll(tally.Failed(), all) + " may not start" + where + ": " + FailureCauses(tally);
  }
  if (tally.undecided > 0) {
    text += (text.empty() ? "" : "; ") + OfAll(tally.undecided, all) +
            (tally.undecided == 1 ? " was not decided in time" : " were not decided in time") +
            (text.empty() ? where : "");
  }
  if (!text.empty()) return text;
  std::string verb = tally.unknown_passed > 0 ? "may start" : all == 1 ? "starts" : "start";
  text = (all == 1 ? "the image " : "all " + std::to_string(all) + " images ") + verb + where;
  return tally.unknown_passed == 0 ? text : text + ": " + std::to_string(tally.unknown_passed) + " not known";
}

// Returns the line that sums up, without its line break. `unread` objects fail the check.
std::string Summary(const std::vector<CheckRow>& rows, const std::string& node, std::size_t unread) {
  const std::string text = ImageSummary(rows, node);
  return rows.empty() || unread == 0
             ? text
             : text + "; " + base::Plural(unread, "object is", "objects are") + " not read";
}

}  // namespace

bool Passes(const status::CheckAnswer& answer, bool unknown_passes) {
  return answer.ok || (unknown_passes && answer.result == kubelet::VerdictResult::kUnknown);
}

const status::CheckAnswer* DecidedAnswer(const status::CheckResult& result, std::size_t item) {
  if (item >= result.answers.size()) return nullptr;
  const status::CheckAnswer& answer = result.answers[item];
  // A pull that goes on is no decision.
  return answer.result.empty() || answer.pending ? nullptr : &answer;
}

std::string CheckLine(const std::vector<CheckItem>& items, const status::CheckResult& result,
                      bool unknown_passes, const std::vector<manifest::UnseenImage>& unread) {
  const std::vector<CheckRow> rows = RowsOf(items, result, unknown_passes);
  // A failure comes before an open question, wherever they stand.
  const auto first = std::ranges::max_element(rows, {}, &CheckRow::mark);
  if (first == rows.end() || first->mark == Mark::kOk) {
    if (unread.empty()) return "";
    return (rows.empty() ? std::string(kNothingChecked) + ": " : "") + base::InOneLine(unread.front().why);
  }
  const auto all = std::ranges::count_if(rows, [](const CheckRow& row) { return row.mark != Mark::kOk; });
  const bool names_node = first->mark == Mark::kFail || result.node.empty();
  const std::string where = names_node ? " " : " on node " + base::InOneLine(result.node) + ": ";
  const std::string line = first->cells[1] + where + first->message;
  if (all == 1) return line;
  return line + " (and " + base::Plural(static_cast<std::size_t>(all) - 1, "more image", "more images") + ")";
}

std::string CheckText(const std::vector<CheckItem>& items, const status::CheckResult& result,
                      const CheckTextOptions& options) {
  std::size_t width = options.width == 0 ? 0 : std::max(options.width, kLeastWidth);
  std::vector<CheckRow> rows = RowsOf(items, result, options.unknown_passes);
  const std::string summary = Summary(rows, result.node, options.unread);
  // Failures come last, where a terminal and a termination message end.
  std::ranges::stable_sort(rows, {}, &CheckRow::mark);
  Widths widths{};
  for (const CheckRow& row : rows) {
    // Widths are measured in columns of a terminal, not in bytes.
    for (std::size_t i = 0; i < widths.size(); i++)
      widths[i] = std::max(widths[i], DisplayWidth(row.cells[i]));
  }
  std::string text;
  for (const CheckRow& row : rows) text += RowText(row, widths, width);
  return text + (width == 0 ? summary + "\n" : WrapIndented(summary, "", "", width));
}

namespace {

using plan::CheckReason;
using plan::PodReason;
using plan::Reason;

struct Row {
  CheckReason reason;
  std::string_view advice;
};

constexpr std::string_view kOpenAdvice =
    "let the agent touch it (--touch), or exempt it: prefetchctl list export --for kubelet";

// Reasons of kubelet's verdict, of the registry's answer and of the agent.
constexpr Row kAdvice[] = {
    {PodReason::kInvalidImageName, "correct the image name"},
    {PodReason::kNotListed, "put it on the list"},
    {Reason::kSecretAmbiguous, "name the pod's secret with its UID: --pod-secret NAMESPACE/NAME/UID"},
    {Reason::kRecordedForOthers, kOpenAdvice},
    {Reason::kRecordedForNobody, kOpenAdvice},
    {Reason::kRecordedUnderOtherName, kOpenAdvice},
    {Reason::kVerificationAlways, kOpenAdvice},
    {Reason::kNotAllowlisted, kOpenAdvice},
    {Reason::kPullInterrupted, kOpenAdvice},
    {Reason::kFactsUnknown,
     "declare kubelet's settings: --kubelet-version, --kubelet-config; or check with --unknown pass"},
    {Reason::kKubeletNewer,
     "update prefetchd on that node, or set its --kubelet-rules; or check with --unknown pass"},
    {Reason::kPolicyAlways, "set imagePullPolicy: IfNotPresent or Never, and let the list refresh the tag"},
    {Reason::kTagMoved, "wait until the list has refreshed it: prefetchctl wait --policy Always"},
    {Reason::kTagMissing, "push the tag again, or name one that is there"},
    {Reason::kAccessDenied, "see this node's credentials: prefetchctl credentials IMAGE"},
};

constexpr Reason kNoAnswerReasons[] = {Reason::kUnreachable, Reason::kServerError, Reason::kRateLimited};

// Reasons are compared by name, since an agent of another version may know others.
bool HasReason(const status::CheckAnswer& answer, CheckReason reason) {
  return answer.reason == plan::CheckReasonName(reason);
}

// Returns advice for a pod that has to ask a registry which does not answer.
std::string NoAnswerAdvice(const CheckItem& item, const status::CheckAnswer& answer) {
  std::string again = HasReason(answer, Reason::kRateLimited) ? "try again later" : "try again";
  if (item.question.policy == image::PullPolicy::kAlways) {
    if (item.origin == "AlwaysPullImages") return again;
    return again + ", or set imagePullPolicy: IfNotPresent; then the copy on the node is enough";
  }
  return answer.listed ? again : again + ", or put it on the list: then the pod need not ask";
}

}  // namespace

std::string CheckAdvice(const CheckItem& item, const status::CheckAnswer& answer) {
  if (answer.ok) return "";
  // The advice depends on the list: the agent pulls what is on it.
  if (HasReason(answer, Reason::kImageAbsent)) {
    return answer.listed ? "wait until it is here: prefetchctl wait" : "put it on the list";
  }
  if (std::ranges::any_of(kNoAnswerReasons, [&](Reason one) { return HasReason(answer, one); })) {
    return NoAnswerAdvice(item, answer);
  }
  // The message says what to declare.
  if (HasReason(answer, Reason::kFactsUnknown) && answer.message.find("declare") != std::string::npos) {
    return "or check with --unknown pass";
  }
  auto known = std::ranges::find_if(kAdvice, [&](const Row& row) { return HasReason(answer, row.reason); });
  // Advice of check comes first, then that of status for the same reason.
  std::string advice =
      known != std::end(kAdvice) ? std::string(known->advice) : status::WordsFor(answer.reason).advice;
  if (advice.empty() && !answer.listed && answer.result != kubelet::VerdictResult::kUnknown)
    advice = "put it on the list";
  return base::ReplaceAll(advice, "IMAGE", item.question.image);
}

namespace {

void Write(doc::JsonWriter& json, const CheckRow& row) {
  const CheckItem& item = *row.item;
  const status::CheckAnswer* answer = row.answer;
  json.Member("image", item.question.image);
  json.Member("policy", base::EnumName(item.question.policy));
  json.MemberBool("ok", answer != nullptr && answer->ok);
  json.MemberBool("listed", answer != nullptr && answer->listed);
  // Members are the same for all items, so that programs need no cases.
  json.Member("result", answer != nullptr ? std::string_view(answer->result.text()) : "Undecided");
  json.MemberOrNull("reason", answer != nullptr ? std::string_view(answer->reason) : "");
  json.MemberOrNull("rule", answer != nullptr ? std::string_view(answer->rule) : "");
  json.MemberOrNull("message", answer != nullptr ? answer->message : row.message);
  json.Member("containers", item.containers);
  json.Array("pullSecrets", [&] {
    for (const image::Coordinates& secret : item.question.identity.secrets)
      json.String(status::CoordinatesText(secret));
  });
  json.Member("policyFrom", item.origin);
  json.MemberOrNull("advice", answer != nullptr ? CheckAdvice(item, *answer) : "");
  json.MemberOrNull("file", item.file);
  json.MemberNumber("line", item.at.line);
  json.MemberNumber("column", item.at.column);
}

}  // namespace

std::string CheckReportJson(const std::vector<CheckItem>& items, const status::CheckResult& result,
                            const std::vector<manifest::UnseenImage>& unread) {
  return status::JsonDocument("CheckResult", [&](doc::JsonWriter& json) {
    json.Member("node", result.node);
    json.MemberOrNull("time", result.time);
    json.MemberBool("ok", result.ok);
    json.Objects("results", RowsOf(items, result, false), [&](const CheckRow& row) { Write(json, row); });
    if (unread.empty()) return;
    json.Array("unread", [&] {
      for (const manifest::UnseenImage& object : unread) WriteUnread(json, object, object.why);
    });
  });
}

std::string CheckGithub(const std::vector<CheckItem>& items, const status::CheckResult& result,
                        bool unknown_passes, const std::vector<manifest::UnseenImage>& unread) {
  std::string text;
  for (const manifest::UnseenImage& object : unread) {
    text += GithubCommand("error", {object.pod->source, object.at}, "prefetchctl check does not see this",
                          object.why);
  }
  const std::vector<CheckRow> rows = RowsOf(items, result, unknown_passes);
  for (const CheckRow& row : rows) {
    if (row.mark == Mark::kOk) continue;
    const CheckItem& item = *row.item;
    std::string policy = std::string(base::EnumName(item.question.policy)) + " (" + item.origin + ")";
    text += GithubCommand(
        // Without a decision there is no fault in the manifest that GitHub should mark as an error.
        row.mark == Mark::kUndecided ? "warning" : "error", {item.file, item.at},
        "prefetchctl check " + item.question.image,
        item.question.image + ", " + item.containers + ", " + policy + ": " + row.message);
  }
  return text + Summary(rows, result.node, unread.size()) + "\n";
}

namespace {

using manifest::ImageUse;

constexpr std::size_t kMostContainers = 3;

std::string NameOf(const ImageUse& use) {
  if (use.name.empty()) return "";
  std::string name = base::WithoutControls(base::ToUtf8(use.name));
  if (use.kind == manifest::UseKind::kContainer) return name;
  return name + " (" + std::string(manifest::UseKindName(use.kind)) + ")";
}

std::string ContainersOf(const std::vector<ImageUse>& uses) {
  std::vector<std::string> names;
  for (const ImageUse& use : uses) {
    std::string name = NameOf(use);
    bool known = std::ranges::find(names, name) != names.end();
    if (!name.empty() && !known) names.push_back(std::move(name));
  }
  if (names.empty()) return "–";
  std::size_t more = names.size() > kMostContainers ? names.size() - kMostContainers : 0;
  // The column must stay readable for images that dozens of containers use.
  names.resize(names.size() - more);
  return base::Join(names, ", ") + (more == 0 ? "" : " +" + std::to_string(more));
}

// Returns true if a controller would check the image by a default of its own.
bool CheckedByDefault(const ImageUse& use, const manifest::PolicyRules& rules) {
  return !use.explicit_policy && !rules.assume_always_pull && rules.default_check_policy &&
         !manifest::IsCheckContainer(use);
}

image::PullPolicy PolicyOf(const ImageUse& use, const manifest::PolicyRules& rules) {
  // The stronger of the two counts: the controller's check and the pod itself must both pass.
  return CheckedByDefault(use, rules) ? std::max(use.policy, *rules.default_check_policy) : use.policy;
}

std::string OwnOrigin(const ImageUse& use, const manifest::PolicyRules& rules) {
  if (rules.assume_always_pull) return "AlwaysPullImages";
  if (use.explicit_policy) return "stated";
  // The image stands outside of a container, for example in an argument.
  if (!use.policy_known) return "unknown, as Kubernetes' default";
  if (rules.default_check_policy && manifest::IsCheckContainer(use)) return "assumed for checks";
  if (rules.default_policy) return "assumed default";
  bool latest = use.reference && use.reference->tag() == "latest";
  return latest ? "default for :latest" : "default";
}

std::string OriginOf(const ImageUse& use, const manifest::PolicyRules& rules) {
  std::string origin = OwnOrigin(use, rules);
  if (!CheckedByDefault(use, rules) || *rules.default_check_policy == use.policy) return origin;
  if (*rules.default_check_policy < use.policy) {
    return origin + "; checks have " + std::string(base::EnumName(*rules.default_check_policy));
  }
  return "assumed for checks; the pod has " + std::string(base::EnumName(use.policy));
}

// Names the other uses of the image, and a check among them that asks less.
std::string OtherUsesText(const std::vector<ImageUse>& uses, const ImageUse& strongest) {
  std::string name = NameOf(strongest);
  auto is_weaker = [&](const ImageUse& use) { return use.policy < strongest.policy; };
  if (name.empty() || std::ranges::none_of(uses, is_weaker)) return "";
  auto check = std::ranges::find_if(uses, [&](const ImageUse& use) {
    return is_weaker(use) && manifest::IsCheckContainer(use) && !NameOf(use).empty();
  });
  if (check == uses.end()) return " by " + name;
  return " by " + name + "; " + NameOf(*check) + " has " + std::string(base::EnumName(check->policy));
}

// `uses` are those of one question (manifest::CombineUses) and identity.
CheckItem ItemOf(const std::vector<ImageUse>& uses, const manifest::PolicyRules& rules,
                 const status::CheckIdentity& identity) {
  const ImageUse& strongest =
      *std::ranges::max_element(uses, {}, [&](const ImageUse& use) { return PolicyOf(use, rules); });
  return {.question = {strongest.image, PolicyOf(strongest, rules), identity},
          .containers = ContainersOf(uses),
          .origin = OriginOf(strongest, rules) + OtherUsesText(uses, strongest),
          .file = strongest.pod->source,
          .at = strongest.key_at};
}

// Returns `given` and the pod's own pull secrets. A secret that was given with its UID is not added again by
// its name alone.
status::CheckIdentity IdentityOf(const ImageUse& use, const status::CheckIdentity& given,
                                 const std::string& default_namespace) {
  status::CheckIdentity identity = given;
  const std::string& own = use.pod->object_namespace;
  for (const std::string& name : use.pod->image_pull_secrets) {
    image::Coordinates secret{
        .uid = "", .namespace_name = own.empty() ? default_namespace : own, .name = name};
    bool known = std::ranges::any_of(identity.secrets, [&](const auto& other) {
      return other.namespace_name == secret.namespace_name && other.name == secret.name;
    });
    // kubelet needs namespace and name together (K25), and a pull secret is always in its pod's namespace.
    if (!known) identity.secrets.push_back(std::move(secret));
  }
  return identity;
}

struct CheckGroup {
  status::CheckIdentity identity;
  std::vector<ImageUse> uses;  // never empty
};

// Groups the uses of one question by secrets, in the order of first use.
std::vector<CheckGroup> GroupedByIdentity(const std::vector<ImageUse>& uses,
                                          const status::CheckIdentity& given,
                                          const std::string& default_namespace) {
  std::vector<CheckGroup> all;
  for (const ImageUse& use : uses) {
    status::CheckIdentity identity = IdentityOf(use, given, default_namespace);
    auto known = std::ranges::find(all, identity, &CheckGroup::identity);
    if (known == all.end()) known = all.insert(all.end(), CheckGroup{std::move(identity), {}});
    known->uses.push_back(use);
  }
  return all;
}

}  // namespace

ImageUse StandaloneUse(const std::string& image, std::optional<image::PullPolicy> policy,
                       const manifest::PolicyRules& rules) {
  ImageUse use;
  use.image = image;
  if (auto reference = image::Reference::Parse(image)) use.reference = *std::move(reference);
  use.explicit_policy = policy;
  use.policy = manifest::EffectivePolicy(policy, use.reference, rules);
  // The other code expects a pod behind each use.
  use.pod = std::make_shared<const manifest::Pod>();
  return use;
}

std::vector<CheckItem> CheckItems(const std::vector<ImageUse>& uses, const manifest::PolicyRules& rules,
                                  const status::CheckIdentity& identity,
                                  const std::string& default_namespace) {
  std::vector<CheckItem> items;
  const auto policy_of = [&](const ImageUse& use) { return PolicyOf(use, rules); };
  for (const manifest::UsedImage& wanted : manifest::CombineUses(uses, policy_of)) {
    for (const CheckGroup& same : GroupedByIdentity(wanted.uses, identity, default_namespace)) {
      items.push_back(ItemOf(same.uses, rules, same.identity));
    }
  }
  return items;
}

}  // namespace prefetch::screen
