// Parts of the reference pages. Internal to reference/.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "reference/field.h"
#include "reference/pages.h"

namespace prefetch::reference {

inline constexpr const char* kGenerated = "This page is generated.\n";

// The links to its chapters, below the title. Nothing for a page with less than two.
std::string WithContents(const std::string& page);

std::string ListPage();
std::string ConfigurationPage();
std::string ApiPage();
std::string MetricsPage();
std::string LintPage();
std::string FlagsPage(const std::vector<CommandHelp>& commands);
std::string ExitCodesPage(const std::vector<CommandHelp>& commands);

// The table of the agent's endpoints.
struct EndpointRow {
  const char* method;
  const char* path;  // "/readyz"
  const char* parameters;
  const char* answer;
  const char* audience;
};
std::span<const EndpointRow> EndpointRows();

}  // namespace prefetch::reference
