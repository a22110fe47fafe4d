#include "base/process_stat.h"

#include <gtest/gtest.h>

#include "temp_dir.h"

namespace prefetch::base::mounts_test {
namespace {

// The first line is of a file that was mounted by itself, and then replaced by rename (Linux 6.1, ext4).
constexpr const char* kMountinfo =
    "63 43 254:0 /var/lib/kubelet/config.json//deleted /var/lib/kubelet/config.json ro,relatime - ext4 "
    "/dev/vda rw\n"
    "64 43 254:0 /etc/kubernetes/kubelet /etc/kubernetes/kubelet ro,relatime - ext4 /dev/vda rw\n"
    "65 43 254:0 /etc/a\\040b//deleted /etc/a\\040b rw - ext4 /dev/vda rw\n"
    "66 43 0:33 / /mnt/not//deleted rw - tmpfs tmpfs rw\n"
    "67 43 254:0 /short//deleted\n"
    "\n";

TEST(DeletedMounts, AreThoseWhoseSourceIsGone) {
  EXPECT_EQ(DeletedMounts(kMountinfo),
            (std::vector<std::string>{"/var/lib/kubelet/config.json", "/etc/a b"}));
  EXPECT_TRUE(DeletedMounts("").empty());
}

TEST(ReplacedFiles, AreFilesThatAreThere) {
  tests::TempDir dir;
  const std::string file = dir.Write("file", "x");
  const std::string text = "1 2 3:4 /a//deleted " + file + " rw\n1 2 3:4 /b//deleted " + dir.path() +
                           " rw\n1 2 3:4 /c//deleted " + (dir / "none") + " rw\n";
  EXPECT_EQ(ReplacedFiles(dir.Write("mountinfo", text)), std::vector<std::string>{file});
  EXPECT_TRUE(ReplacedFiles(dir / "no-mountinfo").empty());
}

}  // namespace
}  // namespace prefetch::base::mounts_test
