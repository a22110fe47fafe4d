// The threat model: each row names a test, and each named test is there.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace prefetch::docs::threats_test {
namespace {

namespace fs = std::filesystem;

fs::path Root() {
  return std::getenv("PREFETCH_SOURCE");
}

std::string Text(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// "Suite.Case" of all tests, and the names of fuzz targets; and the folder of each.
std::map<std::string, std::string> AllTests() {
  static const std::regex test(R"(\nTEST(?:_F|_P)?\((\w+),\s*(\w+)\))");
  std::map<std::string, std::string> all;
  for (const auto& file : fs::recursive_directory_iterator(Root() / "tests")) {
    if (file.path().extension() != ".cc") continue;
    const std::string name = file.path().stem();
    const std::string folder = file.path().parent_path().filename();
    if (name.ends_with("_fuzz")) all.emplace(name, folder);
    const std::string text = Text(file.path());
    for (std::sregex_iterator match(text.begin(), text.end(), test), none; match != none; ++match)
      all.emplace((*match)[1].str() + "." + (*match)[2].str(), folder);
  }
  return all;
}

// The cells of the table below the heading, a row each; without its head.
std::vector<std::vector<std::string>> Rows(const std::string& page, const std::string& heading) {
  std::vector<std::vector<std::string>> rows;
  bool inside = false;
  for (std::string_view line : base::Split(page, '\n')) {
    if (line.starts_with("## ")) inside = line == "## " + heading;
    if (!inside || !line.starts_with("| ")) continue;
    std::vector<std::string> cells;
    for (std::string_view cell : base::Split(line.substr(2), '|')) cells.emplace_back(cell);
    cells.pop_back();  // behind the last bar
    rows.push_back(std::move(cells));
  }
  if (!rows.empty()) rows.erase(rows.begin());
  return rows;
}

TEST(Threats, EachRowNamesTestsThatAreThere) {
  static const std::regex name("`([^`]+)`");
  const std::map<std::string, std::string> all = AllTests();
  const auto rows = Rows(Text(Root() / "tests/threats.md"), "Threats");
  EXPECT_GE(rows.size(), 20U);
  for (const auto& row : rows) {
    ASSERT_EQ(row.size(), 5U) << row.front();
    const std::string& tests = row.back();
    int named = 0, of_cluster = 0;
    for (std::sregex_iterator match(tests.begin(), tests.end(), name), none; match != none; ++match) {
      named++;
      auto found = all.find((*match)[1]);
      ASSERT_NE(found, all.end()) << "no test " << (*match)[1] << ": " << row.front();
      if (found->second == "cluster") of_cluster++;
    }
    EXPECT_EQ(tests.find("†") != std::string::npos, of_cluster > 0)
        << "† marks tests on a real cluster: " << row.front() << row[1] << row[2];
    EXPECT_GE(named, 1) << "a threat without a test: " << row.front() << row[1] << row[2];
  }
}

}  // namespace
}  // namespace prefetch::docs::threats_test
