// Tests what the client relies on in a registry, as one suite for the fake and for the real docker-registry,
// each with passwords and with tokens. The fake is trustworthy because it passes what the real one passes.
#pragma once

#include <memory>
#include <string>

#include "image/registry_question.h"

namespace prefetch::tests {

// One registry that lets one user in. One thread.
class RegistryUnderTest {
 public:
  virtual ~RegistryUnderTest() = default;

  virtual std::string address() const = 0;
  virtual image::AuthConfig user() const = 0;
  // Puts an index with an image of this name into it; other content each time. Gives the index's digest.
  virtual std::string Put(const std::string& repository, const std::string& tag) = 0;
};

struct RegistryUnderTestFactory {
  std::string name;
  std::unique_ptr<RegistryUnderTest> (*make)();
};

}  // namespace prefetch::tests
