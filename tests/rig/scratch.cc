#include "rig/scratch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <vector>

#include "text_of.h"

namespace prefetch::rig {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "prefetch-rig-";
constexpr std::string_view kLock = "lock";

[[noreturn]] void Fail(const std::string& what) {
  std::perror(what.c_str());
  std::abort();
}

base::Fd TakeLock(const std::string& folder) {
  base::Fd lock(::open((folder + "/" + std::string(kLock)).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (lock.valid() && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) lock.Close();
  return lock;
}

// Old enough that its owner cannot be between making it and locking it.
bool Settled(const std::string& folder) {
  struct stat info;
  return ::stat(folder.c_str(), &info) == 0 && ::time(nullptr) - info.st_mtime > 10;
}

void RemoveLeftovers() {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(fs::temp_directory_path(), ignored)) {
    std::string folder = entry.path().string();
    if (entry.path().filename().string().rfind(kPrefix, 0) != 0 || !Settled(folder)) continue;
    if (base::Fd lock = TakeLock(folder); lock.valid()) RemoveTree(folder);
  }
}

void KillProcessesOf(const std::string& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    std::string name = entry.path().filename().string();
    pid_t pid = 0;
    auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || end != name.data() + name.size() || pid == ::getpid()) continue;
    if (tests::TextSoFar(entry.path().string() + "/cmdline").find(folder + "/") != std::string::npos)
      ::kill(pid, SIGKILL);
  }
}

void UnmountBelow(const std::string& folder) {
  std::vector<std::string> points;
  std::istringstream mounts(tests::TextSoFar("/proc/self/mountinfo"));
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string skipped;
    std::string point;
    fields >> skipped >> skipped >> skipped >> skipped >> point;
    if (point.rfind(folder + "/", 0) == 0) points.push_back(point);
  }
  std::reverse(points.begin(), points.end());  // the latest mount first
  for (const std::string& point : points) ::umount2(point.c_str(), MNT_DETACH);
}

// Logs of a test outlive it where PREFETCH_TEST_LOGS says: in <there>/<Suite.Case>/.
void SaveLogs(const std::string& folder) {
  const char* there = std::getenv("PREFETCH_TEST_LOGS");
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  if (there == nullptr || test == nullptr) return;
  std::error_code ignored;
  fs::path target = fs::path(there) / (std::string(test->test_suite_name()) + "." + test->name());
  for (const auto& entry :
       fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied, ignored)) {
    if (entry.path().extension() != ".log" || !entry.is_regular_file(ignored)) continue;
    fs::path copy = target / fs::relative(entry.path(), folder, ignored);
    fs::create_directories(copy.parent_path(), ignored);
    fs::copy_file(entry.path(), copy, fs::copy_options::overwrite_existing, ignored);
  }
}

}  // namespace

void RemoveTree(const std::string& path) {
  KillProcessesOf(path);
  std::error_code failed;
  for (int attempt = 0; attempt < 20; ++attempt) {  // what was killed may still be writing for a moment
    UnmountBelow(path);
    fs::remove_all(path, failed);
    if (!failed) return;
    ::usleep(10'000);
  }
  std::fprintf(stderr, "cannot remove %s: %s\n", path.c_str(), failed.message().c_str());
}

Scratch::Scratch() {
  RemoveLeftovers();
  std::string pattern = (fs::temp_directory_path() / (std::string(kPrefix) + "XXXXXX")).string();
  if (::mkdtemp(pattern.data()) == nullptr) Fail("mkdtemp " + pattern);
  path_ = pattern;
  lock_ = TakeLock(path_);
  if (!lock_.valid()) Fail("lock " + path_);
}

Scratch::~Scratch() {
  SaveLogs(path_);
  RemoveTree(path_);
}

std::string Scratch::Write(std::string_view name, std::string_view content, unsigned mode) const {
  std::string file = *this / name;
  std::error_code ignored;
  fs::create_directories(fs::path(file).parent_path(), ignored);
  if (auto written = base::WriteFileAtomically(file, content, mode); !written) {
    Fail(written.error().message());
  }
  return file;
}

}  // namespace prefetch::rig
