// The pages of commands. They are made from the texts of --help, so that every change there appears here.
#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <string_view>

#include "base/text.h"
#include "config/settings.h"
#include "reference/page_parts.h"

namespace prefetch::reference {
namespace {

// Every footer begins its exit codes with these words.
constexpr std::string_view kExitCode = "\nExit code:";

// A bar or a line break would end the cell of a Markdown table.
std::string CellText(const std::string& text) {
  return base::ReplaceAll(base::ReplaceAll(text, "|", "\\|"), "\n", " ");
}

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

// "prefetchctl-list-check", as GitHub makes it of the heading.
std::string AnchorOf(const std::string& words) {
  return "prefetchctl-" + base::ReplaceAll(words, " ", "-");
}

bool BeginsWithCode(std::string_view text) {
  return text.size() > 1 && std::isdigit(static_cast<unsigned char>(text[0])) != 0 && text[1] == ' ';
}

// Reads "0 printed, 2 bad input". Only a digit after a comma begins the next code, since a meaning may
// contain commas.
void AddOnOneLine(std::string_view text, std::vector<ExitMeaning>& codes) {
  for (std::string_view part : base::Split(text, ',')) {
    part = base::TrimSpace(part);
    if (BeginsWithCode(part)) {
      codes.push_back({std::string(part.substr(0, 1)), std::string(base::TrimSpace(part.substr(1)))});
    } else if (!codes.empty()) {
      codes.back().meaning += ", " + std::string(part);
    }
  }
}

// The exit codes of prefetchd, from the text that its --help shows.
std::vector<ExitMeaning> CodesOfAgent() {
  std::vector<ExitMeaning> codes;
  AddOnOneLine(config::kOnceExitCodes, codes);
  return codes;
}

void AddRow(const std::string& name, const std::vector<ExitMeaning>& codes, std::string& page) {
  std::map<std::string, std::string> meanings;
  for (const ExitMeaning& code : codes) meanings[code.code] = code.meaning;
  page += "| " + name + " |";
  for (const char* code : {"0", "1", "2", "3", "4"}) page += " " + CellText(meanings[code]) + " |";
  page += "\n";
}

}  // namespace

std::vector<ExitMeaning> ExitCodesIn(const std::string& footer) {
  std::vector<ExitMeaning> codes;
  const std::size_t at = footer.find(kExitCode);
  if (at == std::string::npos) return codes;
  std::string text = footer.substr(at + kExitCode.size());
  text = text.substr(0, text.find("\n\n"));
  // Commands with many codes have a line for each; the others have one sentence.
  if (text.starts_with('\n')) {
    for (std::string_view line : base::Split(text, '\n')) {
      line = base::TrimSpace(line);
      if (!BeginsWithCode(line)) continue;
      codes.push_back({std::string(line.substr(0, 1)), std::string(base::TrimSpace(line.substr(1)))});
    }
    return codes;
  }
  AddOnOneLine(base::ReplaceAll(text, "\n", " "), codes);
  if (!codes.empty() && codes.back().meaning.ends_with('.')) codes.back().meaning.pop_back();
  return codes;
}

std::string FlagsPage(const std::vector<CommandHelp>& commands) {
  std::string page =
      "# Commands and flags\n\n"
      "The flags of `prefetchd` are on the page of its [configuration](configuration.md). This page has "
      "those of\n"
      "`prefetchctl`. `--help` of each command shows examples, too. [Exit codes](exit-codes.md) has a page "
      "of its own.\n"
      "As a plugin of kubectl, the program is called `kubectl prefetch`.\n\n";
  page += kGenerated;
  std::map<std::string, std::string> first_with;  // the first command with a row, by the row
  for (const CommandHelp& command : commands) {
    page += "\n## prefetchctl " + command.words + "\n\n" + Plain(command.help) + ".\n";
    if (!command.options.empty()) page += "\n| option | value | meaning |\n|---|---|---|\n";
    for (const CommandOption& option : command.options) {
      const std::string value = option.value.empty() ? "" : "`" + CellText(option.value) + "`";
      const std::string row = "| " + NamesOfOption(option.names) + " | " + value + " | ";
      const std::string meaning = Plain(option.help);
      auto [first, is_new] = first_with.emplace(row + meaning, command.words);
      // The options of --fleet, and those of generate, would stand there several times.
      const bool refers = !is_new && option.help.size() >= kLongHelp;
      page +=
          row + (refers ? "see [" + first->second + "](#" + AnchorOf(first->second) + ")" : meaning) + " |\n";
    }
  }
  return page;
}

std::string ExitCodesPage(const std::vector<CommandHelp>& commands) {
  std::string page =
      "# Exit codes\n\n"
      "The codes mean the same for all commands. 0: yes, or done. 1: no. 2: bad usage or input. 3: timed "
      "out. 4: the\n"
      "agent, the cluster, a registry or the runtime could not be asked. 130: interrupted. An empty cell: "
      "the command\n"
      "does not use the code. Errors are one sentence each on standard error.\n\n";
  page += kGenerated;
  page += "\n| command | 0 | 1 | 2 | 3 | 4 |\n|---|---|---|---|---|---|\n";
  AddRow("prefetchd with `--once`", CodesOfAgent(), page);
  for (const CommandHelp& command : commands) {
    AddRow("prefetchctl " + command.words, ExitCodesIn(command.footer), page);
  }
  return page;
}

}  // namespace prefetch::reference
