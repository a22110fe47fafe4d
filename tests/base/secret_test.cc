#include "base/secret.h"

#include <gtest/gtest.h>

#include <concepts>
#include <ostream>
#include <type_traits>

namespace prefetch::base::secret_test {
namespace {

template <typename T>
concept Printable = requires(std::ostream& os, const T& value) {
  os << value;
};

static_assert(!Printable<Secret>);
static_assert(!std::equality_comparable<Secret>);
static_assert(!std::is_convertible_v<Secret, std::string_view>);
static_assert(!std::is_convertible_v<std::string, Secret>);

TEST(Secret, MovedFromIsWiped) {
  Secret first("short");
  Secret second(std::move(first));
  EXPECT_EQ(second.Reveal(), "short");
  EXPECT_TRUE(first.empty());  // NOLINT(bugprone-use-after-move): that it is empty is the contract
}

TEST(Secret, SameAs) {
  EXPECT_TRUE(Secret("a").SameAs(Secret("a")));
  EXPECT_FALSE(Secret("a").SameAs(Secret("b")));
  EXPECT_FALSE(Secret("a").SameAs(Secret("ab")));
}

TEST(WipeString, LeavesNoByteBehind) {
  std::string text = "twenty characters at least";
  const char* bytes = text.data();
  std::size_t size = text.size();
  WipeString(text);
  EXPECT_TRUE(text.empty());
  EXPECT_EQ(std::string(bytes, 1), std::string(1, '\0'));
  for (std::size_t i = 0; i < size; i++) EXPECT_EQ(bytes[i], '\0');
}

}  // namespace
}  // namespace prefetch::base::secret_test
