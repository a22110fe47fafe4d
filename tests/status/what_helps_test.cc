#include "status/words.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/fs.h"
#include "base/text.h"
#include "golden.h"
#include "status/kubelet_sample.h"

namespace prefetch::status::what_helps_test {
namespace {

using plan::TouchObstacle;

constexpr TouchObstacle kAll[] = {
    TouchObstacle::kNoNodeCredentials, TouchObstacle::kPullSecret, TouchObstacle::kTokenProvider,
    TouchObstacle::kRegistryTrouble,   TouchObstacle::kPullFailed, TouchObstacle::kNotRecorded,
    TouchObstacle::kRecordsNeverMatch, TouchObstacle::kAdmission,  TouchObstacle::kQuota,
    TouchObstacle::kNamespaceMissing,  TouchObstacle::kForbidden,  TouchObstacle::kApiServer,
    TouchObstacle::kPodNeverRan};

plan::ImageState InVain(plan::Reason reason, TouchObstacle obstacle) {
  plan::ImageState image = sample::ClosedByOthers();
  image.reason = reason;
  image.touch = plan::TouchStatus{.state = plan::TouchState::kIneffective, .obstacle = obstacle};
  return image;
}

TEST(WhatHelps, EachObstacleOfATouchHasASentenceOfItsOwn) {
  std::map<std::string, TouchObstacle> said;
  for (TouchObstacle obstacle : kAll) {
    for (plan::Reason reason : {plan::Reason::kTouchIneffective, plan::Reason::kTouching}) {
      std::vector<std::string> helps = WhatHelps(InVain(reason, obstacle), {.up = true});
      ASSERT_EQ(helps.size(), 1U) << plan::TouchObstacleName(obstacle);
      auto other = said.emplace(helps[0], obstacle).first->second;
      EXPECT_EQ(other, obstacle) << plan::TouchObstacleName(other) << " and "
                                 << plan::TouchObstacleName(obstacle);
    }
  }
  EXPECT_TRUE(WhatHelps(InVain(plan::Reason::kTouching, TouchObstacle::kNone), {.up = true}).empty())
      << "it is on its way, and nothing is in it";
}

// The page that people read knows each obstacle, and no other.
TEST(WhatHelps, TheGuideHasARowForEachObstacle) {
  std::string page = *base::ReadFile(tests::Testdata() + "/../../deploy/docs/touch.md", 1 << 20);
  std::size_t begin = page.find("| `obstacle` | means | what to do |");
  ASSERT_NE(begin, std::string::npos);
  std::vector<std::string> rows;
  for (std::string_view line : base::Split(std::string_view(page).substr(begin), '\n')) {
    if (!line.starts_with("|")) break;
    std::string_view names = line.substr(0, line.find('|', 1));
    for (std::size_t at = names.find('`'); at != std::string_view::npos; at = names.find('`', at + 1)) {
      std::size_t end = names.find('`', at + 1);
      rows.emplace_back(names.substr(at + 1, end - at - 1));
      at = end;
    }
  }
  std::vector<std::string> known = {"obstacle"};
  for (TouchObstacle obstacle : kAll) known.emplace_back(plan::TouchObstacleName(obstacle));
  std::sort(rows.begin(), rows.end());
  std::sort(known.begin(), known.end());
  EXPECT_EQ(rows, known);
}

}  // namespace
}  // namespace prefetch::status::what_helps_test
