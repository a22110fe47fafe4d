#include "base/enum_name.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace prefetch::base {
namespace {

enum class Colour : std::uint8_t { kRed, kDarkBlue };

struct Owner {
  enum Kind { kNone, kSchema1 };
};

TEST(EnumName, IsTheEnumeratorWithoutItsK) {
  EXPECT_EQ(EnumName(Colour::kRed), "Red");
  EXPECT_EQ(EnumName(Colour::kDarkBlue), "DarkBlue");
  EXPECT_EQ(EnumNames<Colour>::kCount, 2);
}

TEST(EnumName, OfAnEnumInAClass) {
  static_assert(EnumeratorName<Owner::kSchema1>() == "Schema1");
}

TEST(EnumName, AndBack) {
  EXPECT_EQ(EnumNamed<Colour>("DarkBlue"), Colour::kDarkBlue);
  EXPECT_EQ(EnumNamed<Colour>("darkBlue"), std::nullopt);
  EXPECT_EQ(EnumNamed<Colour>(""), std::nullopt);
}

TEST(EnumName, AllOfThem) {
  EXPECT_EQ(NamesOf<Colour>(), (std::vector<std::string>{"Red", "DarkBlue"}));
}

TEST(EnumWord, StandsAtThePlaceOfItsValue) {
  EXPECT_STREQ(EnumWord(Colour::kRed, {"red", "dark blue"}), "red");
  EXPECT_STREQ(EnumWord(Colour::kDarkBlue, {"red", "dark blue"}), "dark blue");
}

TEST(EnumNameDeathTest, AValueWithoutAnEnumeratorEndsTheProgram) {
  EXPECT_DEATH(EnumName(static_cast<Colour>(2)), "");
}

}  // namespace
}  // namespace prefetch::base
