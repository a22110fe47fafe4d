#include "manifest/lint/rule.h"

#include <utility>

#include "base/enum_name.h"
#include "base/text.h"
#include "doc/problems.h"

namespace prefetch::manifest::lint {

std::string SeverityName(Severity severity) {
  return base::ToLower(base::EnumName(severity));
}

const Rule* FindRule(std::string_view id) {
  for (const Rule& rule : kRules) {
    if (base::EqualsIgnoreCase(rule.id, id)) return &rule;
  }
  return nullptr;
}

Finding AtImage(RuleId rule, const ImageUse& use, std::string message, const std::optional<Place>& other,
                std::string other_message) {
  return {.rule = rule,
          .place = {use.pod->source, use.key_at},
          .block = use.holder_at,
          .message = std::move(message),
          .other = other,
          .other_message = std::move(other_message)};
}

Finding AtPolicy(RuleId rule, const ImageUse& use, std::string message, const std::optional<Place>& other,
                 std::string other_message) {
  Finding finding = AtImage(rule, use, std::move(message), other, std::move(other_message));
  if (use.policy_key_at) finding.place.at = *use.policy_key_at;
  return finding;
}

std::string UseTitle(const ImageUse& use) {
  std::string what = use.kind == UseKind::kImageVolume ? "volume" : "container";
  if (use.kind == UseKind::kField) what = "field";
  const std::string unknown = use.policy_known ? "" : ", policy unknown";
  if (use.name.empty()) return use.image + " (a " + what + unknown + ")";
  return use.image + " (" + what + " \"" + use.name + "\"" + unknown + ")";
}

base::Result<std::bitset<kRules.size()>> Selection::Parse(const std::vector<std::string>& words,
                                                          const char* flag) {
  std::bitset<kRules.size()> rules;
  for (const std::string& list : words) {
    for (std::string_view word : base::Split(list, ',')) {
      std::string_view prefix = base::TrimSpace(word);
      bool known = false;
      for (const Rule& rule : kRules) {
        if (prefix.empty() || !base::EqualsIgnoreCase(rule.id.substr(0, prefix.size()), prefix)) continue;
        rules.set(static_cast<std::size_t>(rule.rule));
        known = true;
      }
      if (!known) {
        return base::InvalidArgument(std::string(flag) + ": there is no rule " + std::string(prefix) +
                                     "; see prefetchctl lint --rules");
      }
    }
  }
  return rules;
}

base::Result<Selection> Selection::Make(const std::vector<std::string>& select,
                                        const std::vector<std::string>& ignore) {
  Selection selection;
  auto selected = Parse(select, "--select");
  if (!selected) return std::move(selected).error();
  auto ignored = Parse(ignore, "--ignore");
  if (!ignored) return std::move(ignored).error();
  if (!select.empty()) selection.rules_ = *selected;
  selection.rules_ &= ~*ignored;
  return selection;
}

namespace {

constexpr std::string_view kMarker = "prefetchctl:";
constexpr std::string_view kIgnore = "ignore";
// Maximum number of comments that are read. More of them make a hostile text, not a manifest.
constexpr std::size_t kMostComments = 10'000;

struct Found {
  std::size_t offset = 0;  // of the '#' in the line
  std::string_view words;  // what follows the marker
  bool alone = false;      // nothing stands before it
};

// In YAML, a comment begins with a '#' at the beginning of a line or after a blank. Elsewhere '#' is text.
std::optional<Found> FindComment(std::string_view line) {
  for (std::size_t hash = line.find('#'); hash != std::string_view::npos; hash = line.find('#', hash + 1)) {
    if (hash > 0 && line[hash - 1] != ' ' && line[hash - 1] != '\t') continue;
    std::string_view text = base::TrimSpace(line.substr(hash + 1));
    if (!text.starts_with(kMarker)) continue;
    text = base::TrimSpace(text.substr(kMarker.size()));
    if (!text.starts_with(kIgnore)) continue;
    return Found{hash, text.substr(kIgnore.size()), base::TrimSpace(line.substr(0, hash)).empty()};
  }
  return std::nullopt;
}

bool HasContent(std::string_view line) {
  std::string_view text = base::TrimSpace(line);
  return !text.empty() && !text.starts_with('#');
}

std::uint32_t NextLine(const std::vector<std::string_view>& lines, std::size_t from) {
  // Several comments in a row all cover the line after them.
  while (from < lines.size() && !HasContent(lines[from])) from++;
  return static_cast<std::uint32_t>(from + 1);
}

}  // namespace

Ignores Ignores::Read(const std::string& file, std::string_view text) {
  Ignores ignores;
  ignores.file_ = file;
  // Most files have no such comment, and need no second pass over their lines.
  if (text.find(kMarker) == std::string_view::npos) return ignores;
  std::vector<std::string_view> lines = base::Split(text, '\n');
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < lines.size() && ignores.comments_.size() < kMostComments; i++) {
    std::optional<Found> found = FindComment(lines[i]);
    if (!found) continue;
    auto line = static_cast<std::uint32_t>(i + 1);
    std::size_t column = doc::CharactersIn(lines[i].substr(0, found->offset)) + 1;
    doc::Position at{line, static_cast<std::uint32_t>(column)};
    if (found->alone && next <= line) next = NextLine(lines, i + 1);
    ignores.ReadComment(found->words, at, found->alone ? next : line);
  }
  return ignores;
}

void Ignores::ReadComment(std::string_view words, doc::Position at, std::uint32_t line) {
  if (!words.starts_with('=')) return AddInvalid(at, "write ignore=PF101 and a reason");
  words.remove_prefix(1);
  std::size_t end = std::min(words.find_first_of(" \t"), words.size());
  if (base::TrimSpace(words.substr(end)).empty()) return AddInvalid(at, "a reason is missing behind the ids");
  for (std::string_view id : base::Split(words.substr(0, end), ',')) {
    const Rule* rule = FindRule(id);
    if (rule != nullptr) comments_.push_back({rule->rule, at, line});
    if (rule != nullptr) used_[{line, rule->rule}] = false;
    if (rule == nullptr) AddInvalid(at, "there is no rule " + base::Truncate(base::ToUtf8(id), 40));
  }
}

void Ignores::AddInvalid(doc::Position at, std::string message) {
  invalid_.push_back({.rule = RuleId::kBadIgnore,
                      .place = {file_, at},
                      .block = at,
                      .message = "this comment ignores nothing: " + std::move(message)});
}

bool Ignores::Covers(const Finding& finding) {
  bool covered = false;
  for (const std::uint32_t line : {finding.place.at.line, finding.block.line}) {
    const auto used = used_.find({line, finding.rule});
    if (used == used_.end()) continue;
    used->second = true;
    covered = true;
  }
  return covered;
}

std::vector<Finding> Ignores::Idle(const Selection& selection) const {
  std::vector<Finding> idle;
  for (const Comment& comment : comments_) {
    if (used_.at({comment.line, comment.rule}) || !selection.Has(comment.rule)) continue;
    idle.push_back({.rule = RuleId::kIdleIgnore,
                    .place = {file_, comment.at},
                    .block = comment.at,
                    .message = std::string(RuleOf(comment.rule).id) + " finds nothing here to ignore"});
  }
  return idle;
}

}  // namespace prefetch::manifest::lint
