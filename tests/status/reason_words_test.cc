#include "status/words.h"

#include <gtest/gtest.h>

#include "plan/reason.h"
#include "screen/text_layout.h"

namespace prefetch::status::reason_words_test {
namespace {

TEST(ReasonWords, EveryReasonHasAWordThatFits) {
  for (const plan::ReasonRow& row : plan::kReasons) {
    ReasonDescription words = WordsFor(row.name);
    EXPECT_FALSE(words.state.empty());
    EXPECT_LE(words.state.size(), 11U) << words.state;
  }
  EXPECT_EQ(WordsFor("NewThing").state, "new thing");
  EXPECT_EQ(WordsFor("").state, "unknown");
}

}  // namespace
}  // namespace prefetch::status::reason_words_test
