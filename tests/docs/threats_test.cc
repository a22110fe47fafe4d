// The threat model: each row names a test, and each named test is there.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "text_of.h"

namespace prefetch::docs::threats_test {
namespace {

namespace fs = std::filesystem;
using tests::SourceRoot;

// "Suite.Case" of all tests, "file.function" of Python's, and the names of fuzz targets; and the folder of
// each.
std::map<std::string, std::string> AllTests() {
  static const std::regex test(R"(\nTEST(?:_F|_P|_TABLE|_TABLE_F)?\((\w+),\s*(\w+)[,)])");
  static const std::regex function(R"(\ndef (check_\w+)\()");
  std::map<std::string, std::string> all;
  for (const auto& file : fs::recursive_directory_iterator(SourceRoot() / "tests")) {
    const std::string name = file.path().stem();
    const std::string folder = file.path().parent_path().filename();
    if (file.path().extension() == ".py") {
      const std::string text = tests::TextSoFar(file.path());
      for (std::sregex_iterator match(text.begin(), text.end(), function), none; match != none; ++match)
        all.emplace(name + "." + (*match)[1].str(), folder);
    }
    if (file.path().extension() != ".cc") continue;
    if (name.ends_with("_fuzz")) all.emplace(name, folder);
    const std::string text = tests::TextSoFar(file.path());
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

// Each row of the table, whose last cell names its tests, names some that are there.
void ExpectTests(const std::string& heading, std::size_t cells) {
  static const std::regex name("`([^`]+)`");
  const std::map<std::string, std::string> all = AllTests();
  const auto rows = Rows(tests::TextSoFar(SourceRoot() / "tests/threats.md"), heading);
  EXPECT_GE(rows.size(), 20U) << heading;
  for (const auto& row : rows) {
    ASSERT_EQ(row.size(), cells) << row.front();
    const std::string& tests = row.back();
    int named = 0, of_cluster = 0;
    for (std::sregex_iterator match(tests.begin(), tests.end(), name), none; match != none; ++match) {
      named++;
      auto found = all.find((*match)[1]);
      ASSERT_NE(found, all.end()) << "no test " << (*match)[1] << ": " << row.front();
      if (found->second == "cluster") of_cluster++;
    }
    EXPECT_EQ(tests.find("†") != std::string::npos, of_cluster > 0)
        << "† marks tests on a real cluster: " << row.front() << row[1];
    EXPECT_GE(named, 1) << "a row without a test: " << row.front() << row[1];
  }
}

TEST(Threats, EachRowNamesTestsThatAreThere) {
  ExpectTests("Threats", 5);
}

TEST(Promises, EachRowNamesTestsThatAreThere) {
  ExpectTests("Promises of the guide", 3);
}

}  // namespace
}  // namespace prefetch::docs::threats_test
