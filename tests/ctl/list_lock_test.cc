// `list lock` of lists whose digests are known without asking a registry.
#include <gtest/gtest.h>

#include <string>

#include "base/fs.h"
#include "ctl/exit_code.h"
#include "ctl/list.h"
#include "ctl/ran.h"
#include "temp_dir.h"

namespace prefetch::ctl::list_lock_test {
namespace {

using tests::Ran;

const std::string kOne = "sha256:" + std::string(64, '1'), kTwo = "sha256:" + std::string(64, '2');

Ran Lock(const ListLockOptions& options) {
  const config::GetEnv nothing = [](const char*) -> const char* { return nullptr; };
  return tests::Run([&](auto& out, auto& err) { return LockLists({}, options, nothing, out, err); });
}

TEST(ListLock, ADigestIsItsOwnLock) {
  tests::TempDir dir;
  const std::string list = dir.Write("a.txt", "q.io/a@" + kOne + "\n");
  Ran ran = Lock({.files = {list}});
  EXPECT_EQ(ran,
            (Ran{kOk, "+ q.io/a@" + kOne + "  sha256:111111111111\na.txt: 1 image locked, 1 changed\n", ""}));
  auto lock = base::ReadFile(list + ".lock", 1 << 20);
  ASSERT_TRUE(lock);
  EXPECT_NE(lock->find(kOne), std::string::npos) << *lock;
  EXPECT_EQ(Lock({.files = {list}, .check = true}),
            (Ran{kOk, "a.txt: 1 image, 0 changed since it was locked\n", ""}));
}

TEST(ListLock, CheckTellsWhatIsOtherAndWritesNothing) {
  tests::TempDir dir;
  const std::string list = dir.Write("a.txt", "q.io/a@" + kOne + "\n");
  ASSERT_EQ(Lock({.files = {list}}).exit, kOk);
  const std::string before = *base::ReadFile(list + ".lock", 1 << 20);
  dir.Write("a.txt", "q.io/a@" + kTwo + "\n");
  Ran ran = Lock({.files = {list}, .check = true});
  EXPECT_EQ(ran.exit, kNo);
  EXPECT_NE(ran.out.find("+ q.io/a@" + kTwo), std::string::npos) << ran;
  EXPECT_NE(ran.out.find("- q.io/a@" + kOne + "  not on the list any more\n"), std::string::npos) << ran;
  EXPECT_EQ(*base::ReadFile(list + ".lock", 1 << 20), before);
}

struct LockMistake {
  std::string name;
  std::string timeout;
  std::string file;  // of a.txt, bad.txt, locked.txt, -
  std::string says;
};

class LockRefused : public testing::TestWithParam<LockMistake> {};

TEST_P(LockRefused, WithASentence) {
  tests::TempDir dir;
  dir.Write("a.txt", "q.io/a@" + kOne + "\n");
  dir.Write("bad.txt", "q.io/A\n");
  dir.Write("locked.txt", "q.io/a@" + kOne + "\n");
  dir.Write("locked.txt.lock", "kind: X\n");
  const std::string& file = GetParam().file;
  Ran ran = Lock({.files = {file == "-" ? file : dir / file}, .timeout = GetParam().timeout});
  EXPECT_EQ(ran.exit, kBadInput);
  EXPECT_EQ(ran.out, "");
  EXPECT_NE(ran.err.find(GetParam().says), std::string::npos) << ran;
  EXPECT_FALSE(base::KindOf(dir / "a.txt.lock"));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, LockRefused,
    testing::Values(LockMistake{"NoDuration", "x", "a.txt", "--timeout must be a duration such as 90s or 5m"},
                    LockMistake{"NoTime", "0s", "a.txt", "--timeout must be"},
                    LockMistake{"BadList", "5m", "bad.txt", "bad.txt:1:1: "},
                    LockMistake{"BadLock", "5m", "locked.txt", "locked.txt.lock:1:7: kind"},
                    LockMistake{"StandardInput", "5m", "-", "a lock stands beside its list"}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace prefetch::ctl::list_lock_test
