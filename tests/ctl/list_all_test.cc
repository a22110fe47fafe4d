#include "ctl/cluster.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace prefetch::ctl::list_all_test {
namespace {

using kube::ApiError;
using Numbers = std::vector<int>;

// Objects 0 to 9, three a page; what goes wrong comes first, in its order.
class Collection {
 public:
  explicit Collection(std::vector<ApiError> trouble, int after = 0)
      : trouble_(std::move(trouble)), after_(after) {}

  kube::Answer<kube::Page<int>> List(const kube::ListOptions& options) {
    asked_++;
    const int from = options.continue_token.empty() ? 0 : std::stoi(options.continue_token);
    if (from >= after_ && !trouble_.empty()) {
      kube::Failure failure{.kind = trouble_.front()};
      failure.retry_after = std::chrono::seconds(0);
      trouble_.erase(trouble_.begin());
      return failure;
    }
    kube::Page<int> page;
    for (int i = from; i < std::min(from + 3, 10); i++) page.items.push_back(i);
    if (from + 3 < 10) page.continue_token = std::to_string(from + 3);
    return page;
  }
  int asked() const { return asked_; }

 private:
  std::vector<ApiError> trouble_;
  const int after_;
  int asked_ = 0;
};

struct TroubleCase {
  std::string name;
  std::vector<ApiError> trouble;
  int after;  // comes when this object is reached
  bool whole;
  int asked;
};

class Listed : public testing::TestWithParam<TroubleCase> {};

TEST_P(Listed, EachObjectOnceOrNotAtAll) {
  Collection collection(GetParam().trouble, GetParam().after);
  auto all = ListAll<int>({}, {}, [&](const kube::ListOptions& options) { return collection.List(options); });
  EXPECT_EQ(collection.asked(), GetParam().asked);
  ASSERT_EQ(static_cast<bool>(all), GetParam().whole);
  EXPECT_EQ(all ? *all : Numbers(), all ? (Numbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) : Numbers());
}

INSTANTIATE_TEST_SUITE_P(
    Rows, Listed,
    testing::Values(TroubleCase{"NoTrouble", {}, 0, true, 4},
                    TroubleCase{"ForgottenInTheMiddle", {ApiError::kGone}, 6, true, 7},
                    TroubleCase{"BusyAtFirst", {ApiError::kTooManyRequests}, 0, true, 5},
                    TroubleCase{"Twice", {ApiError::kGone, ApiError::kTooManyRequests}, 3, true, 8},
                    TroubleCase{
                        "ThreeTimes", {ApiError::kGone, ApiError::kGone, ApiError::kGone}, 0, false, 3},
                    TroubleCase{"WhatDoesNotPass", {ApiError::kForbidden}, 3, false, 2}),
    [](const auto& row) { return row.param.name; });

TEST(ListAll, PagesThatNeverEndAreAFailure) {
  int asked = 0;
  auto all = ListAll<int>({}, {}, [&](const kube::ListOptions&) -> kube::Answer<kube::Page<int>> {
    if (++asked > 10'000) return kube::Failure{.kind = ApiError::kCancelled};
    return kube::Page<int>{.items = {}, .continue_token = "more"};
  });
  ASSERT_FALSE(all);
  EXPECT_EQ(all.failure().kind, ApiError::kMalformed);
}

TEST(ListAll, SlowPagesEndWithTheTime) {
  int asked = 0;
  auto all = ListAll<int>({.deadline = std::chrono::steady_clock::now()}, {},
                          [&](const kube::ListOptions&) -> kube::Answer<kube::Page<int>> {
                            asked++;
                            return kube::Page<int>{.items = {}, .continue_token = "more"};
                          });
  ASSERT_FALSE(all);
  EXPECT_EQ(all.failure().kind, ApiError::kMalformed);
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace prefetch::ctl::list_all_test
