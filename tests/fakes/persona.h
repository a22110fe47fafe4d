// Persona: which runtime a FakeImageService plays: how it words its errors, names its images, and shares its
// downloads. Runtime rules C4, C7, C16, C22, C23 and C28; the first is held to a real daemon by the contract
// suite.
#pragma once

#include <string>

#include "cri/classify.h"
#include "cri/image_service.h"

namespace prefetch::tests {

enum class Persona {
  kContainerd16,  // 1.6.20: three downloads for each pull
  kContainerd23,  // 2.3: three downloads for the whole node, new words
  kCrio,          // 1.36: ids without "sha256:", also as image_ref, no containerd API (fake_crio_pulls.cc)
  kCrio134,       // the same, and image_ref is "repository@digest"
};

bool IsCrio(Persona persona);

image::RuntimeInfo InfoOf(Persona persona);
bool HasContentApi(Persona persona);
// How often one PullImage sends a password that is refused (C7).
int RefusedTries(Persona persona);
// The words and code with which this runtime reports that the pull of `name` failed so. Classified by the
// product's own rules, so a word that they do not know shows at once. `asked` is the name that CRI-O's
// registries.conf has made of it; empty: the same.
cri::CallError Say(Persona persona, image::ErrorClass error_class, const std::string& name,
                   const std::string& asked = "");

// The parts of a runtime's answer.
struct RuntimeWords {
  cri::RpcCode code = cri::RpcCode::kUnknown;
  std::string text;
};
// Returns the agent's error when a runtime answers with these words about `name`.
cri::CallError Heard(const RuntimeWords& words, const std::string& name);

}  // namespace prefetch::tests
