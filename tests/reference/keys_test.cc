// Tables against the code: a key that a reader of ours asks for is a field of the schema.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "base/fs.h"
#include "base/text.h"
#include "reference/pages.h"
#include "reference/validator.h"
#include "rows.h"
#include "status/metrics_table.h"

namespace prefetch::reference::keys_test {
namespace {

std::set<std::string> KeysIn(const std::vector<std::string>& files) {
  static const std::regex key(R"re((\w*)\((?:\*?[a-z]+, )?"([a-z][A-Za-z]*)"[,)])re");
  std::set<std::string> keys;
  for (const std::string& file : files) {
    auto text = base::ReadFile(tests::Root() + "/lib/" + file, 1 << 20);
    EXPECT_TRUE(text) << file;
    if (!text) continue;
    for (std::sregex_iterator match(text->begin(), text->end(), key), end; match != end; ++match) {
      if ((*match)[1] != "problems") keys.insert((*match)[2]);
    }
  }
  return keys;
}

std::set<std::string> NamesOf(const Fields& fields) {
  std::set<std::string> names;
  for (const Field& field : fields) names.insert(field.path.substr(field.path.rfind('.') + 1));
  return names;
}

struct Reader {
  std::string name;
  std::vector<std::string> files;
  Fields fields;
  std::size_t at_least;
};

class Keys : public testing::TestWithParam<Reader> {};

TEST_P(Keys, AreFieldsOfTheSchema) {
  const std::set<std::string> keys = KeysIn(GetParam().files), names = NamesOf(GetParam().fields);
  EXPECT_GE(keys.size(), GetParam().at_least);
  for (const std::string& key : keys) EXPECT_TRUE(names.contains(key)) << key << " has no row";
}

TEST_ROWS(Readers, Keys,
          {"List", {"list/image_list.cc", "list/entry_fields.cc", "list/entry_fields.cc"}, ListFields(), 20},
          {"Agent", {"config/config_file.cc"}, AgentFields(), 14},
          {"Check",
           {"status/check_document.cc"},
           [] {
             Fields both = CheckRequestFields();
             Append(both, CheckResultFields());
             return both;
           }(),
           16});

// The endpoints that the agent's handler names, and those of the page.
TEST(Api, NamesEachEndpoint) {
  static const std::regex path(R"re("(/[a-z0-9/]+)")re");
  std::set<std::string> served, told;
  auto text = base::ReadFile(tests::Root() + "/lib/agent/answers/endpoints.cc", 1 << 20);
  ASSERT_TRUE(text);
  for (std::sregex_iterator match(text->begin(), text->end(), path), end; match != end; ++match) {
    served.insert((*match)[1]);
  }
  auto page = base::ReadFile(tests::Root() + "/deploy/docs/reference/api.md", 1 << 20);
  ASSERT_TRUE(page);
  static const std::regex row("\n\\| [A-Z]+ \\| `(/[a-z0-9/]+)` \\|");
  for (std::sregex_iterator match(page->begin(), page->end(), row), end; match != end; ++match) {
    told.insert((*match)[1]);
  }
  EXPECT_GE(told.size(), 6U);
  EXPECT_EQ(told, served);
}

// The labels of each metric in the golden answer of an agent to which a bit of everything has happened.
TEST(Metrics, LabelsAreThoseOfTheAnswer) {
  auto text = base::ReadFile(tests::Root() + "/tests/testdata/agent/metrics.txt", 1 << 20);
  ASSERT_TRUE(text);
  static const std::regex label(R"re(([a-z_]+)="(?:[^"\\]|\\.)*")re");
  std::map<std::string, std::set<std::string>> labels;
  for (std::string_view line : base::Split(*text, '\n')) {
    if (line.starts_with('#') || line.empty()) continue;
    const std::string name = std::regex_replace(std::string(line.substr(0, line.find_first_of("{ "))),
                                                std::regex("_(bucket|sum|count)$"), "");
    const std::string rest(line.substr(line.find_first_of("{ ")));
    std::set<std::string>& found = labels[name];
    for (std::sregex_iterator match(rest.begin(), rest.end(), label), end; match != end; ++match) {
      if ((*match)[1] != "le") found.insert((*match)[1]);
    }
  }
  std::size_t seen = 0;
  const std::string page = BlocksOf({}).at("metrics");
  for (const status::MetricRow& row : status::kMetrics) {
    if (!labels.contains(row.name)) continue;
    seen++;
    std::string kind = page.substr(page.find("| `" + std::string(row.name) + "` |") + 7);
    kind = kind.substr(kind.find("| ") + 2);
    kind = kind.substr(0, kind.find(" |"));
    std::set<std::string> told;
    static const std::regex code("`([a-z_]+)`");
    for (std::sregex_iterator match(kind.begin(), kind.end(), code), end; match != end; ++match) {
      told.insert((*match)[1]);
    }
    EXPECT_EQ(told, labels[row.name]) << row.name;
  }
  EXPECT_GT(seen, 40U);
}

}  // namespace
}  // namespace prefetch::reference::keys_test
