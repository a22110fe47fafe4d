#include "status/words.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/fs.h"
#include "plan/reason.h"
#include "screen/text_layout.h"

namespace prefetch::status::reason_words_test {
namespace {

TEST(ReasonWords, EveryReasonHasAWordThatFits) {
  for (const plan::ReasonRow& row : plan::kReasons) {
    ReasonWords words = WordsFor(row.name);
    EXPECT_FALSE(words.state.empty());
    EXPECT_LE(words.state.size(), 11U) << words.state;
  }
  EXPECT_EQ(WordsFor("NewThing").state, "new thing");
  EXPECT_EQ(WordsFor("").state, "unknown");
}

// PREFETCH_ACCEPT=1 writes the page anew.
TEST(ReasonWords, ThePageOfTheDocsIsThatOfTheTable) {
  const std::string path = std::string(std::getenv("PREFETCH_TESTDATA")) + "/../../deploy/reasons.md";
  if (std::getenv("PREFETCH_ACCEPT") != nullptr) std::ofstream(path) << ReasonsPage();
  auto page = base::ReadFile(path, 1 << 20);
  ASSERT_TRUE(page) << page.error().message();
  EXPECT_EQ(*page, ReasonsPage());
}

}  // namespace
}  // namespace prefetch::status::reason_words_test
