#include "list/lock.h"

#include <gtest/gtest.h>

#include "list/image_list.h"

namespace prefetch::list::lock_test {
namespace {

const std::string kA = "sha256:" + std::string(64, 'a');
const std::string kB = "sha256:" + std::string(64, 'b');

TEST(ListLock, IsWrittenAndReadBack) {
  ListLock lock = {{"q.io/a:v1", kA}, {"docker.io/library/nginx:1.27", kB}};
  std::string text = WriteLock(lock, "images.yaml");
  EXPECT_EQ(text,
            "# Written by prefetchctl list lock images.yaml\n"
            "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageLock\nimages:\n"
            "- image: docker.io/library/nginx:1.27\n  digest: " +
                kB +
                "\n"
                "- image: q.io/a:v1\n  digest: " +
                kA + "\n");
  auto read = ReadLock(text, "images.yaml.lock");
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(*read, lock);
  EXPECT_EQ(*ReadLock(WriteLock({}, "x"), "x"), ListLock());
}

TEST(ListLock, IsNoListFile) {
  EXPECT_EQ(LockPath("/lists/images.yaml"), "/lists/images.yaml.lock");
  EXPECT_FALSE(IsListFileName("images.yaml.lock"));
}

TEST(ListLock, TellsAllMistakesAtOnce) {
  const std::string head = "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageLock\nimages:\n";
  auto read = ReadLock(head + "- {image: A, digest: " + kA +
                           "}\n- {image: a, digest: md5:1}\n- {image: a}\n"
                           "- {image: b, digest: " +
                           kA + "}\n- {image: b, digest: " + kB + ", x: 1}\n",
                       "l.lock");
  ASSERT_FALSE(read.ok());
  for (const char* part :
       {"l.lock:4:11: images[0].image", "l.lock:5:22: images[1].digest", "images[2].digest: is required",
        "images[4].x: unknown field", "l.lock:8:11: images[4].image: stands here twice"}) {
    EXPECT_NE(read.error().message().find(part), std::string::npos) << part << "\n" << read.error().message();
  }
  EXPECT_FALSE(ReadLock("kind: ImageList\n", "l.lock").ok());
  EXPECT_FALSE(ReadLock("", "l.lock").ok());
}

TEST(ListLock, SaysWhatMoved) {
  EXPECT_EQ(DiffLocks({{"a", kA}, {"b", kA}, {"c", kA}}, {{"a", kA}, {"b", kB}, {"d", kB}}),
            (std::vector<LockChange>{{"b", kA, kB}, {"c", kA, ""}, {"d", "", kB}}));
  EXPECT_TRUE(DiffLocks({{"a", kA}}, {{"a", kA}}).empty());
}

}  // namespace
}  // namespace prefetch::list::lock_test
