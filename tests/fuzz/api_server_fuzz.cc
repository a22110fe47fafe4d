// The API server's client before a server that answers anything at all: each call ends, and gives objects
// with a name or a failure in words that a log can hold.
#include <cstdint>
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  fuzz::ScriptedAnswers server(text.substr(1));
  base::SystemClock clock;
  kube::Identity identity({.server = "https://api.example.test", .token = base::Secret(kToken)}, clock);
  const auto api = kube::MakeHttpApi(server, identity, clock);
  const base::Call call;
  switch (data[0] % 18) {
    case 0:
      Check(api->GetServerVersion(call));
      break;
    case 1:
      CheckNamed(api->GetNode(call, "n1"));
      break;
    case 2:
      CheckPage(api->ListNodes(call, {}));
      break;
    case 3:
      Check(api->SetNodeLabel(call, "n1", "prefetchd.dev/ready", "true"));
      break;
    case 4:
      CheckNamed(api->SetNodeTaints(call, "n1", "7", {}));
      break;
    case 5:
      Check(api->SetNodeCondition(call, "n1", {}));
      break;
    case 6:
      Check(api->CreateEvent(call, {}));
      break;
    case 7:
      CheckNamed(api->GetServiceAccount(call, "apps", "puller"));
      break;
    case 8:
      Check(api->ListPodEvents(call, "apps", "Pulled", {}));
      break;
    case 9:
      Check(api->CreateToken(call, "apps", "puller", "sts", 3600));
      break;
    case 10:
      Check(api->ReviewToken(call, base::Secret(kToken), "prefetchd"));
      break;
    case 11:
      CheckPage(api->ListPods(call, "apps", {}));
      break;
    case 12:
      CheckNamed(api->CreatePod(call, "apps", doc::Node(), kube::DryRun::kYes));
      break;
    case 14:
      Check(api->RemoveNodeCondition(call, "n1", "prefetchd.dev/ImagesReady"));
      break;
    case 15:
      Check(api->UpdateEvent(call, {.name = "e1", .node = "n1"}));
      break;
    case 16:
      CheckNamed(api->GetPod(call, "apps", "p1"));
      break;
    case 17:
      Check(api->DeletePod(call, "apps", "p1", "u1"));
      break;
    case 13:
      Check(api->PodProxyGet(call, "prefetchd", "p1", 9477, "/v1/status", std::nullopt));
      break;
  }
  return 0;
}
