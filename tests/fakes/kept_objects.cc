#include "fakes/kept_objects.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "doc/write.h"

namespace prefetch::tests {
namespace {

// The first of many similar objects say enough.
constexpr std::size_t kMost = 40;

std::string FolderOfTheTest() {
  const char* there = std::getenv("PREFETCH_TEST_LOGS");
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  if (there == nullptr || test == nullptr) return "";
  return std::string(there) + "/" + test->test_suite_name() + "." + test->name();
}

}  // namespace

KeptObjects::KeptObjects() : folder_(FolderOfTheTest()) {}

KeptObjects::~KeptObjects() {
  if (objects_.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(folder_, ignored);
  std::ofstream file(folder_ + "/objects.log", std::ios::app);
  for (const auto& [path, object] : objects_) file << path << " " << doc::WriteJson(object) << "\n";
}

void KeptObjects::Keep(const std::string& path, const doc::Node& object) {
  if (folder_.empty() || (objects_.size() >= kMost && !objects_.contains(path))) return;
  objects_.insert_or_assign(path, object);
}

}  // namespace prefetch::tests
