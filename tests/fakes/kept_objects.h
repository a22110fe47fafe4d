// KeptObjects: what an API server of a test has ever held, for the search for passwords (tests/run secrets).
#pragma once

#include <map>
#include <string>

#include "doc/node.h"

namespace prefetch::tests {

// One thread. Without PREFETCH_TEST_LOGS, a folder, it keeps nothing.
class KeptObjects {
 public:
  KeptObjects();
  // Adds them to <folder>/<Suite.Case>/objects.log.
  ~KeptObjects();
  KeptObjects(const KeptObjects&) = delete;
  KeptObjects& operator=(const KeptObjects&) = delete;

  // Keeps the newest form of an object, also after it was deleted. Keeps only the first of many objects.
  void Keep(const std::string& path, const doc::Node& object);

 private:
  const std::string folder_;
  std::map<std::string, doc::Node> objects_;  // by path
};

}  // namespace prefetch::tests
