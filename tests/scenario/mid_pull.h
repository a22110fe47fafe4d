// MidPullOnCrio: a node whose CRI-O has pulled r.io/a:v1 for ten seconds out of sixty.
#pragma once

#include <chrono>
#include <cstdint>

#include "fakes/fake_image.h"
#include "scenario/node.h"

namespace prefetch::tests {

class MidPullOnCrio : public Node {
 public:
  MidPullOnCrio() : Node({.persona = Persona::kCrio}) {
    constexpr std::uint64_t kPerSecond = 1'000'000;
    runtime.SetBandwidth(kPerSecond);
    runtime.Push(MakeImage("r.io/a:v1", 60 * kPerSecond));
    List({"r.io/a:v1"});
    RunFor(std::chrono::seconds(10));
  }
};

}  // namespace prefetch::tests
