#include "reference/pages.h"

#include <cctype>
#include <cstddef>
#include <string_view>

#include "base/text.h"
#include "manifest/lint/rule.h"
#include "reference/page_parts.h"
#include "status/words.h"

namespace prefetch::reference {
namespace {

constexpr std::size_t kMostColumns = 120;

// As GitHub makes an anchor of a heading.
std::string AnchorOf(std::string_view heading) {
  std::string anchor;
  for (unsigned char c : heading) {
    if (std::isalnum(c) != 0 || c == '-' || c == '_') anchor += static_cast<char>(std::tolower(c));
    if (c == ' ') anchor += '-';
  }
  return anchor;
}

}  // namespace

std::string WithContents(const std::string& page) {
  std::vector<std::string> links;
  for (std::string_view line : base::Split(page, '\n')) {
    if (!line.starts_with("## ")) continue;
    line.remove_prefix(3);
    links.push_back("[" + std::string(line) + "](#" + AnchorOf(line) + ")");
  }
  if (links.size() < 2) return page;
  std::string contents, row;
  for (std::size_t i = 0; i < links.size(); i++) {
    const std::string link = links[i] + (i + 1 < links.size() ? " ·" : "");
    if (!row.empty() && row.size() + 1 + link.size() > kMostColumns) {
      contents += row + "\n";
      row.clear();
    }
    row += (row.empty() ? "" : " ") + link;
  }
  const std::size_t end_of_title = page.find('\n');
  return page.substr(0, end_of_title) + "\n\n" + contents + row + "\n" + page.substr(end_of_title + 1);
}

std::string LintPage() {
  std::string page =
      "# Rules of lint\n\n"
      "`prefetchctl lint` applies these rules. [Lint manifests against lists](../lint.md) explains each, and "
      "shows "
      "how to\n"
      "select and ignore rules. An id is never given to another rule.\n\n";
  page += kGenerated;
  page += "\n| id | name | severity | finding | effect, and what to do |\n|---|---|---|---|---|\n";
  for (const manifest::lint::Rule& rule : manifest::lint::Rules()) {
    page += "| `" + std::string(rule.id) + "` | " + std::string(rule.name) + " | " +
            std::string(SeverityName(rule.severity)) + " | " + std::string(rule.summary) + " | " +
            base::ReplaceAll(std::string(rule.help), "|", "\\|") + " |\n";
  }
  return page;
}

std::vector<Page> Pages(const std::vector<CommandHelp>& commands) {
  std::vector<Page> pages = {{"list", ListPage()},           {"configuration", ConfigurationPage()},
                             {"flags", FlagsPage(commands)}, {"api", ApiPage()},
                             {"metrics", MetricsPage()},     {"reasons", status::ReasonsPage()},
                             {"lint", LintPage()},           {"exit-codes", ExitCodesPage(commands)}};
  for (Page& page : pages) page.text = WithContents(page.text);
  return pages;
}

}  // namespace prefetch::reference
