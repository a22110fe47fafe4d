// The API server's client before a server that answers anything at all: each call ends, and gives objects
// with a name or a failure in words that a log can hold.
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/text.h"
#include "doc/node.h"
#include "fuzz/scripted_answers.h"
#include "kube/http_api.h"

namespace {

using namespace prefetch;

constexpr const char* kToken = "token-of-the-agent";

template <typename T>
void Check(const kube::Answer<T>& answer) {
  if (answer) return;
  const std::string message = answer.failure().message;
  if (message.empty() || !base::IsUtf8(message)) __builtin_trap();
  if (message.find(kToken) != std::string::npos) __builtin_trap();
}

template <typename T>
void CheckNamed(const kube::Answer<T>& answer) {
  Check(answer);
  if (answer && answer->name.empty()) __builtin_trap();
}

template <typename T>
void CheckPage(const kube::Answer<kube::Page<T>>& answer) {
  Check(answer);
  if (!answer) return;
  for (const T& item : answer->items) {
    if (item.name.empty()) __builtin_trap();
  }
}

using base::Call;
using kube::Api;
constexpr void (*kAsks[])(Api&, const Call&) = {
    [](Api& api, const Call& call) { Check(api.GetServerVersion(call)); },
    [](Api& api, const Call& call) { CheckNamed(api.GetNode(call, "n1")); },
    [](Api& api, const Call& call) { CheckPage(api.ListNodes(call, {})); },
    [](Api& api, const Call& call) { Check(api.SetNodeLabel(call, "n1", "prefetchd.dev/ready", "true")); },
    [](Api& api, const Call& call) { CheckNamed(api.SetNodeTaints(call, "n1", "7", {})); },
    [](Api& api, const Call& call) { Check(api.SetNodeCondition(call, "n1", {})); },
    [](Api& api, const Call& call) { Check(api.CreateEvent(call, {})); },
    [](Api& api, const Call& call) { CheckNamed(api.GetServiceAccount(call, "apps", "puller")); },
    [](Api& api, const Call& call) { Check(api.ListPodEvents(call, "apps", "Pulled", {})); },
    [](Api& api, const Call& call) { Check(api.CreateToken(call, "apps", "puller", "sts", 3600)); },
    [](Api& api, const Call& call) { Check(api.ReviewToken(call, base::Secret(kToken), "prefetchd")); },
    [](Api& api, const Call& call) { CheckPage(api.ListPods(call, "apps", {})); },
    [](Api& api, const Call& call) {
      CheckNamed(api.CreatePod(call, "apps", doc::Node(), kube::DryRun::kYes));
    },
    [](Api& api, const Call& call) {
      Check(api.PodProxy(call, {"prefetchd", "p1", 9477, "/v1/status", std::nullopt}));
    },
    [](Api& api, const Call& call) {
      Check(api.RemoveNodeCondition(call, "n1", "prefetchd.dev/ImagesReady"));
    },
    [](Api& api, const Call& call) { Check(api.UpdateEvent(call, {.name = "e1", .node = "n1"})); },
    [](Api& api, const Call& call) { CheckNamed(api.GetPod(call, "apps", "p1")); },
    [](Api& api, const Call& call) { Check(api.DeletePod(call, "apps", "p1", "u1")); },
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  fuzz::ScriptedAnswers server(text.substr(1));
  base::SystemClock clock;
  kube::Identity identity({.server = "https://api.example.test", .token = base::Secret(kToken)}, clock);
  const auto api = kube::MakeHttpApi(server, identity, clock);
  kAsks[data[0] % std::size(kAsks)](*api, {});
  return 0;
}
