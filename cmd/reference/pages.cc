#include "reference/pages.h"

#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "config/settings.h"
#include "list/image_list.h"
#include "manifest/lint/rule.h"
#include "plan/reason.h"
#include "reference/schema.h"
#include "status/metrics_table.h"
#include "status/status_json.h"

namespace prefetch::reference {

namespace {

// Returns the anchor that GitHub makes from a heading.
std::string AnchorOf(std::string_view heading) {
  std::string anchor;
  for (unsigned char c : heading) {
    if (std::isalnum(c) != 0 || c == '-' || c == '_') anchor += static_cast<char>(std::tolower(c));
    if (c == ' ') anchor += '-';
  }
  return anchor;
}

// Links to the chapters of a page.
std::string ContentsOf(const std::string& page) {
  constexpr std::size_t kMostColumns = 120;
  std::vector<std::string> links;
  for (std::string_view line : base::Split(page, '\n')) {
    if (!line.starts_with("## ")) continue;
    line.remove_prefix(3);
    links.push_back("[" + std::string(line) + "](#" + AnchorOf(line) + ")");
  }
  std::string contents, row;
  for (std::size_t i = 0; i < links.size(); i++) {
    const std::string link = links[i] + (i + 1 < links.size() ? " ·" : "");
    if (!row.empty() && row.size() + 1 + link.size() > kMostColumns) {
      contents += row + "\n";
      row.clear();
    }
    row += (row.empty() ? "" : " ") + link;
  }
  return contents + row + "\n";
}

std::string RulesOfLint() {
  std::string table = "| id | name | severity | finding | effect, and what to do |\n|---|---|---|---|---|\n";
  for (const manifest::lint::Rule& rule : manifest::lint::kRules) {
    table += "| `" + std::string(rule.id) + "` | " + std::string(rule.name) + " | " +
             SeverityName(rule.severity) + " | " + std::string(rule.summary) + " | " +
             CellText(std::string(rule.help)) + " |\n";
  }
  return table;
}

// Returns the fields of an object, without those of a part that has its own table: the table of the status
// document would otherwise be too long to read.
Fields Part(const Fields& all, const std::string& prefix, const std::string& without = "-") {
  Fields part;
  for (const Field& field : all) {
    if (field.path.starts_with(prefix) && !field.path.starts_with(without)) part.push_back(field);
  }
  return part;
}

std::string HiddenItems() {
  std::string items;
  for (const std::string& member : status::HiddenMembers()) items += "- `" + member + "`\n";
  return items;
}

// The pages of commands. They are made from the texts of --help, so that every change there appears here.

// Every footer begins its exit codes with these words.
constexpr std::string_view kExitCode = "\nExit code:";

// In Markdown, stars mark emphasis. Options contain them as patterns.
std::string Plain(const std::string& text) {
  return base::ReplaceAll(CellText(text), "*", "\\*");
}

// Returns "`-o`, `--output`".
std::string NamesOfOption(const std::string& names) {
  std::string text;
  for (std::string_view name : base::Split(names, ','))
    text += (text.empty() ? "`" : ", `") + std::string(name) + "`";
  return text;
}

// An option whose help is this long is explained once on the page.
constexpr std::size_t kLongHelp = 40;

// The meanings of exit codes, by the code: "0" is "valid".
using ExitMeanings = std::map<std::string, std::string>;

// Reads "0 printed, 2 bad input", or such texts on a line each. Only a digit begins a code, since a meaning
// may contain commas; other lines belong to none.
ExitMeanings MeaningsIn(std::string_view text, char separator) {
  ExitMeanings meanings;
  std::string code;
  for (std::string_view part : base::Split(text, separator)) {
    part = base::TrimSpace(part);
    if (part.size() > 1 && std::isdigit(static_cast<unsigned char>(part[0])) != 0 && part[1] == ' ') {
      code = part.substr(0, 1);
      meanings[code] = base::TrimSpace(part.substr(1));
    } else if (separator == ',' && !code.empty()) {
      meanings[code] += ", " + std::string(part);
    }
  }
  return meanings;
}

// Returns the exit codes in a footer.
ExitMeanings ExitCodesIn(const std::string& footer) {
  const std::size_t at = footer.find(kExitCode);
  if (at == std::string::npos) return {};
  std::string text = footer.substr(at + kExitCode.size());
  text = text.substr(0, text.find("\n\n"));
  // Commands with many codes have a line for each; the others have one sentence.
  if (text.starts_with('\n')) return MeaningsIn(text, '\n');
  if (text.ends_with('.')) text.pop_back();
  return MeaningsIn(base::ReplaceAll(text, "\n", " "), ',');
}

std::string ExitCodeRow(const std::string& name, ExitMeanings meanings) {
  std::string row = "| " + name + " |";
  for (const char* code : {"0", "1", "2", "3", "4"}) row += " " + CellText(meanings[code]) + " |";
  return row + "\n";
}

std::string Options(const std::vector<CommandHelp>& commands) {
  std::string text;
  std::map<std::string, std::string> first_with;  // the first command with a row, by the row
  for (const CommandHelp& command : commands) {
    text += (text.empty() ? "## prefetchctl " : "\n## prefetchctl ") + command.words + "\n\n" +
            Plain(command.help) + ".\n";
    if (!command.options.empty()) text += "\n| option | value | meaning |\n|---|---|---|\n";
    for (const CommandOption& option : command.options) {
      const std::string value = option.value.empty() ? "" : "`" + CellText(option.value) + "`";
      const std::string row = "| " + NamesOfOption(option.names) + " | " + value + " | ";
      const std::string meaning = Plain(option.help);
      auto [first, is_new] = first_with.emplace(row + meaning, command.words);
      // The options of --fleet, and those of generate, would stand there several times.
      const bool refers = !is_new && option.help.size() >= kLongHelp;
      text += row +
              (refers ? "see [" + first->second + "](#" + AnchorOf("prefetchctl " + first->second) + ")"
                      : meaning) +
              " |\n";
    }
  }
  return text;
}

std::string ExitCodes(const std::vector<CommandHelp>& commands) {
  std::string table = "| command | 0 | 1 | 2 | 3 | 4 |\n|---|---|---|---|---|---|\n";
  // The text that the --help of prefetchd shows.
  table += ExitCodeRow("prefetchd with `--once`", MeaningsIn(config::kOnceExitCodes, ','));
  for (const CommandHelp& command : commands) {
    table += ExitCodeRow("prefetchctl " + command.words, ExitCodesIn(command.footer));
  }
  return table;
}

// The page of the agent's configuration.

std::string SettingCells(const config::Setting& setting) {
  // Settings that belong in the file have a flag that --help hides, and so does this page.
  const bool shown = setting.place != config::SettingPlace::kFileFirst;
  const std::string flag = shown ? "`" + config::FlagOf(setting) + "`" : "";
  const bool in_file = setting.place != config::SettingPlace::kNotInFile;
  const std::string field = in_file ? "`" + config::FieldOf(setting) + "`" : "";
  return "| " + field + " | " + flag + " | `" + config::VariableOf(setting) + "` | " + setting.fallback +
         " | " + CellText(setting.help) + " |\n";
}

std::string SettingTables() {
  std::string text;
  for (const config::SettingGroup& group : config::kSettingGroups) {
    text += std::string(text.empty() ? "## " : "\n## ") + group.title +
            "\n\n| field | flag | variable | default | meaning |\n|---|---|---|---|---|\n";
    for (const config::Setting& setting : group.settings) text += SettingCells(setting);
  }
  return text;
}

// The page of the list.

// Returns the fields of the document itself, or those of an entry.
Fields PartOfList(bool entry) {
  Fields part;
  for (const Field& field : ListFields()) {
    const bool below = field.path.find('.') != std::string::npos;
    if (entry ? field.path.starts_with("images[].") : !below) part.push_back(field);
  }
  return part;
}

std::string LimitRow(const char* name, std::size_t value) {
  return std::string("| ") + name + " | " + std::to_string(value) + " |\n";
}

std::string LimitsOfASource() {
  return "| limit | value |\n|---|---|\n" + LimitRow("bytes of a file", list::kMaxSourceBytes) +
         LimitRow("entries of a file", list::kMaxEntries) +
         LimitRow("bytes of a line of plain text", list::kMostLineBytes) +
         LimitRow("files of a directory", list::kMostDirectoryEntries);
}

// The page of metrics. Names and texts are those that /metrics itself shows.

std::string KindOf(const status::MetricRow& row) {
  std::string kind = row.kind == status::MetricKind::kGauge     ? "gauge"
                     : row.kind == status::MetricKind::kCounter ? "counter"
                                                                : "histogram";
  if (*row.labels == '\0') return kind;
  kind += ",";
  for (std::string_view label : base::Split(row.labels, ' ')) kind += " `" + std::string(label) + "`";
  return kind;
}

std::string Metrics() {
  std::string table = "| metric | type, labels | meaning | alert when |\n|---|---|---|---|\n";
  for (const status::MetricRow& row : status::kMetrics) {
    std::string help = row.help;
    // The texts of /metrics are sentences; cells of a table are phrases.
    if (help.ends_with('.')) help.pop_back();
    table += "| `" + std::string(row.name) + "` | " + KindOf(row) + " | " + help + " | " + row.alert + " |\n";
  }
  return table;
}

// The page of reasons.

const char* TitleOf(plan::ReasonGroup group) {
  return base::EnumWord(
      group, {"Nothing is wrong", "Work is under way", "A pull failed, or cannot start",
              "The image is on the node, and kubelet keeps it from pods",
              "The registry's answer about an image on the node", "The list, the node, garbage collection"});
}

// Returns when a failed pull is tried again. Some reasons have a rule beside their class.
const char* RetryWords(const plan::ReasonRow& row) {
  if (row.reason == plan::Reason::kRateLimited) return "after 1 min to 1 h, or a longer `Retry-After`";
  if (row.reason == plan::Reason::kWrongPlatform) return "on a retry, or another image";
  if (row.reason == plan::Reason::kBadCredentialFormat) return "hourly, or on new credentials";
  if (row.reason == plan::Reason::kRuntimeCrashed) return "after 10 s, then 10 min to 1 h";
  if (row.reason == plan::Reason::kEvictedByKubelet) return "after 5 min, doubling to 1 h";
  switch (row.retry) {
    case plan::Retry::kNoRetryRule:
    case plan::Retry::kAtOnce:
      return "";
    case plan::Retry::kTransient:
      return "at once, then up to 5 min apart";
    case plan::Retry::kSlow:
      return "after 5 min, doubling to 1 h";
    case plan::Retry::kHourly:
      return "hourly";
    case plan::Retry::kNever:
      return "on a list change or retry";
  }
  std::abort();
}

std::string Reasons() {
  std::string text;
  std::optional<plan::ReasonGroup> group;
  for (const plan::ReasonRow& row : plan::kReasons) {
    if (group != row.group) {
      group = row.group;
      text += std::string(text.empty() ? "## " : "\n## ") + TitleOf(row.group) +
              "\n\n| reason | shown as | tried again | what helps |\n|---|---|---|---|\n";
    }
    text += "| `" + std::string(base::EnumName(row.reason)) + "` | " + std::string(row.state) + " | " +
            RetryWords(row) + " | " + std::string(row.advice) + " |\n";
  }
  return text;
}

constexpr std::string_view kBegin = "<!-- generated: ";
constexpr std::string_view kEndOfName = " -->\n";
constexpr std::string_view kEnd = "<!-- end -->\n";

}  // namespace

Blocks BlocksOf(const std::vector<CommandHelp>& commands) {
  const Fields status = StatusFields();
  return {{"rules", RulesOfLint()},
          {"check request", TableOf(CheckRequestFields(), TableFor::kInput)},
          {"check result", TableOf(CheckResultFields(), TableFor::kOutput)},
          {"status", TableOf(Part(status, "", "images[]"), TableFor::kOutput)},
          {"image", TableOf(Part(status, "images[]."), TableFor::kOutput, "images[].")},
          {"hidden", HiddenItems()},
          {"options", Options(commands)},
          {"exit codes", ExitCodes(commands)},
          {"settings", SettingTables()},
          {"credentials", TableOf(CredentialFields(), TableFor::kInput)},
          {"limits", TableOf(LimitsFields(), TableFor::kInput)},
          {"preflight", TableOf(PreflightFields(), TableFor::kInput)},
          {"list", TableOf(PartOfList(false), TableFor::kInput)},
          {"entry", TableOf(PartOfList(true), TableFor::kInput, "images[].")},
          {"limits of a source", LimitsOfASource()},
          {"metrics", Metrics()},
          {"reasons", Reasons()}};
}

std::string WithBlocks(const std::string& page, const Blocks& blocks) {
  std::string text;
  std::size_t at = 0;
  while (true) {
    const std::size_t begin = page.find(kBegin, at);
    if (begin == std::string::npos) return text + page.substr(at);
    const std::size_t name = begin + kBegin.size();
    const std::size_t end_of_name = page.find(kEndOfName, name);
    if (end_of_name == std::string::npos) return text + page.substr(at);
    const std::size_t body = end_of_name + kEndOfName.size();
    const auto block = blocks.find(page.substr(name, end_of_name - name));
    // A block without an end, or of another name, stays as it is.
    const std::size_t end = block == blocks.end() ? std::string::npos : page.find(kEnd, body);
    text += page.substr(at, body - at);
    at = end == std::string::npos ? body : end;
    if (end != std::string::npos) text += block->second;
  }
}

std::string GeneratedPage(const std::string& page, const Blocks& blocks) {
  const std::string text = WithBlocks(page, blocks);
  // Tables may have headings of their own.
  return WithBlocks(text, {{"contents", ContentsOf(text)}});
}

}  // namespace prefetch::reference
