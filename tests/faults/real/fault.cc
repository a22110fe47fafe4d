#include "faults/real/fault.h"

#include <gtest/gtest.h>

#include <limits>

#include "rig/expect_ok.h"

namespace prefetch::tests::real_faults {
namespace {

// A try that is answered so ends within a second, and its failure is told within two more.
constexpr milliseconds kShown{3000};

void Nothing(RealWorld& /*world*/, const std::string& /*image*/) {}

rig::Proxy& ProxyOf(RealWorld& world, const std::string& image) {
  return world.HostOf(image).proxy();
}

// Every request is answered so.
FaultKind Answers(const char* manner, const std::string& head, const std::string& body,
                  std::set<std::string> reasons, bool is_for_good) {
  const std::string response = "HTTP/1.1 " + head + "Content-Length: " + std::to_string(body.size()) +
                               "\r\nConnection: close\r\n\r\n" + body;
  return {.part = "registry",
          .manner = manner,
          .begin =
              [response, is_for_good](RealWorld& world, const std::string& image) {
                if (is_for_good) world.Destroyed(world.BytesOfAll());
                world.BreaksDownloads();
                ProxyOf(world, image).Answer("/v2/", response);
              },
          .end = [](RealWorld& world, const std::string& image) { ProxyOf(world, image).Answer("/v2/", ""); },
          .reasons = std::move(reasons),
          .reach = Reach::kRegistry,
          .is_for_good = is_for_good,
          .shows = kShown};
}

FaultKind Runtime(const char* manner, Act begin) {
  return {.part = "runtime",
          .manner = manner,
          .begin = std::move(begin),
          .end = [](RealWorld& world, const std::string&) { world.RuntimeIsBack(); },
          // One that goes twice makes suspects of those that were pulled.
          .reasons = {"RuntimeDown", "RuntimeCrashed"},
          .recovers = seconds(60)};
}

FaultKind Plugin(const char* manner, const std::string& script, std::set<std::string> reasons) {
  return {.part = "plugin",
          .manner = manner,
          .begin = [script](RealWorld& world, const std::string&) { world.PluginIs(script); },
          .end = [](RealWorld& world, const std::string&) { world.PluginIs(""); },
          .reasons = std::move(reasons),
          .reach = Reach::kLogins,
          // A plugin has a minute, as under kubelet.
          .recovers = seconds(80),
          .is_for_good = true};
}

std::vector<FaultKind> OfRegistry() {
  std::vector<FaultKind> kinds = {
      {.part = "registry",
       .manner = "absent",
       .begin =
           [](RealWorld& world, const std::string& image) {
             EXPECT_OK(ProxyOf(world, image).Refuse(true));
             ProxyOf(world, image).CutAll();
             world.Destroyed(2'000'000);
             world.BreaksDownloads();
           },
       .end = [](RealWorld& world,
                 const std::string& image) { EXPECT_OK(ProxyOf(world, image).Refuse(false)); },
       .reasons = {"Unreachable"},
       .reach = Reach::kRegistry,
       .shows = kShown},
      {.part = "registry",
       .manner = "hangs",
       .begin = [](RealWorld& world, const std::string& image) { ProxyOf(world, image).Freeze(true); },
       .end = [](RealWorld& world, const std::string& image) { ProxyOf(world, image).Freeze(false); },
       .reasons = {"Stalled", "Timeout", "Unreachable"},
       .reach = Reach::kRegistry},
      {.part = "registry",
       .manner = "slow",
       .begin = [](RealWorld& world,
                   const std::string& image) { ProxyOf(world, image).LimitBandwidth(kLink / 50); },
       .end = [](RealWorld& world, const std::string& image) { ProxyOf(world, image).LimitBandwidth(kLink); },
       .reach = Reach::kRegistry},
      {.part = "registry",
       .manner = "cuts connections",
       .begin = Nothing,
       .end = Nothing,
       .reasons = {"Unreachable"},
       .reach = Reach::kRegistry,
       .period = milliseconds(700),
       .tick =
           [](RealWorld& world, const std::string& image) {
             ProxyOf(world, image).CutAll();
             world.Destroyed(1'000'000);
           }},
      {.part = "registry",
       .manner = "killed and started again",
       .begin =
           [](RealWorld& world, const std::string& image) {
             world.HostOf(image).registry().Kill();
             ProxyOf(world, image).CutAll();
             world.Destroyed(2'000'000);
             world.BreaksDownloads();
           },
       .end = [](RealWorld& world,
                 const std::string& image) { EXPECT_OK(world.HostOf(image).registry().Start()); },
       // The proxy takes the connection and closes it.
       .reasons = {"Unreachable", "Unknown"},
       .reach = Reach::kRegistry},
  };
  const std::string json = "Content-Type: application/json\r\n";
  kinds.push_back(Answers("503", "503 Service Unavailable\r\n", "", {"ServerError"}, false));
  kinds.push_back(Answers("500", "500 Internal Server Error\r\n", "", {"ServerError"}, false));
  kinds.push_back(Answers("429", "429 Too Many Requests\r\n" + json,
                          R"({"errors":[{"code":"TOOMANYREQUESTS","message":"slow down"}]})", {"RateLimited"},
                          false));
  kinds.back().recovers = std::chrono::minutes(8);
  kinds.push_back(Answers("403", "403 Forbidden\r\n" + json,
                          R"({"errors":[{"code":"DENIED","message":"no"}]})", {"AccessDenied"}, true));
  kinds.push_back(
      Answers("404", "404 Not Found\r\n" + json, R"({"errors":[{"code":"MANIFEST_UNKNOWN","message":"no"}]})",
              {"NotFound", "ContentMissing"}, true));  // also of the parts of a manifest that came before
  return kinds;
}

std::vector<FaultKind> OfNode() {
  return {
      Runtime("stops", [](RealWorld& world, const std::string&) { world.StopRuntime(); }),
      Runtime("killed", [](RealWorld& world, const std::string&) { world.KillRuntime(); }),
      Runtime("frozen", [](RealWorld& world, const std::string&) { world.FreezeRuntime(); }),
      {"runtime", "loses an image", [](RealWorld& world, const std::string& image) { world.Remove(image); },
       Nothing},
      {"process", "killed", [](RealWorld& world, const std::string&) { world.KillAgent(); }, Nothing},
      {"process", "told to stop", [](RealWorld& world, const std::string&) { world.StopAgent(); }, Nothing},
      {"process", "frozen", [](RealWorld& world, const std::string&) { world.FreezeAgent(); },
       [](RealWorld& world, const std::string&) { world.ThawAgent(); }},
      {.part = "process",
       .manner = "killed again and again",
       .begin = Nothing,
       .end = Nothing,
       .period = milliseconds(900),
       .tick = [](RealWorld& world, const std::string&) { world.KillAgent(); }},
      Plugin("hangs", "exec sleep 600", {"AccessDenied", "CredentialError"}),
      Plugin("fails", "echo broken >&2; exit 1", {"AccessDenied", "CredentialError"}),
      Plugin("floods", "exec yes flood", {"AccessDenied", "CredentialError"}),
      Plugin("lies",
             R"(printf '%s' '{"apiVersion":"credentialprovider.kubelet.k8s.io/v1",)"
             R"("kind":"CredentialProviderResponse","cacheKeyType":"Registry","cacheDuration":"0s",)"
             R"("auth":{"closed.example.test":{"username":"puller","password":"guessed"}}}')",
             {"AccessDenied", "CredentialError"}),
      {"list", "broken", [](RealWorld& world, const std::string&) { world.BreakList(); },
       [](RealWorld& world, const std::string&) { world.WriteList(); }},
      {"list", "loses an entry", [](RealWorld& world, const std::string& image) { world.Unlist(image); },
       [](RealWorld& world, const std::string& image) { world.Relist(image); }},
      {.part = "disk",
       .manner = "full",
       .begin = [](RealWorld& world, const std::string&) { world.FillDisk(); },
       .end = [](RealWorld& world, const std::string&) { world.EmptyDisk(); },
       .reasons = {"DiskFull", "DiskPressure"},
       // After ENOSPC the node waits for five minutes.
       .recovers = std::chrono::minutes(12)},
  };
}

std::vector<FaultKind> OfSurroundings() {
  return {
      {.part = "records",
       .manner = "close an image",
       .begin = [](RealWorld& world, const std::string& image) { world.CloseRecord(image); },
       .end = [](RealWorld& world, const std::string& image) { world.OpenRecord(image); },
       .reasons = {"RecordedForOthers"},
       .reach = Reach::kImage},
      {.part = "records",
       .manner = "unreadable",
       .begin = [](RealWorld& world, const std::string& image) { world.BreakRecord(image); },
       .end = [](RealWorld& world, const std::string& image) { world.OpenRecord(image); },
       .reasons = {"RecordUnreadable"},
       .reach = Reach::kImage},
      {"clock", "jumps forth and back",
       [](RealWorld& world, const std::string&) { world.ClockIsOff(std::chrono::hours(25)); },
       [](RealWorld& world, const std::string&) { world.ClockIsOff(seconds(0)); }},
      {.part = "memory",
       .manner = "gives out",
       .begin = [](RealWorld& world, const std::string&) { world.LimitMemory(); },
       .end = [](RealWorld& world, const std::string&) { world.MemoryIsBack(); },
       // An agent that went on may give these: its calls and plugins may have found no memory.
       .reasons = {"RuntimeDown", "RuntimeError", "Unreachable", "AccessDenied", "CredentialError"},
       .recovers = seconds(80)},
  };
}

FaultKind ApiServer(const char* manner, Act begin, Act end) {
  return {.part = "API server",
          .manner = manner,
          .begin = std::move(begin),
          .end = std::move(end),
          .leaves_ready = true};
}

std::vector<FaultKind> OfApiServer() {
  const Act go = [](RealWorld& world, const std::string&) { world.ApiServerIs(true); };
  const Act come = [](RealWorld& world, const std::string&) { world.ApiServerIs(false); };
  const Act recover = [](RealWorld& world, const std::string&) { world.api().Recover(); };
  const auto answers = [](const Fault& fault) {
    return [fault](RealWorld& world, const std::string&) { world.api().Fail(fault); };
  };
  constexpr int kAll = std::numeric_limits<int>::max();
  std::vector<FaultKind> kinds = {
      ApiServer("is absent", go, come),
      ApiServer("does not answer", answers({.hang = true, .times = kAll}), recover),
      ApiServer("500 to all", answers({.status = 500, .times = kAll}), recover),
      ApiServer("comes and goes", go, come),
  };
  kinds.back().period = milliseconds(400);
  kinds.back().tick = [](RealWorld& world, const std::string&) {
    world.ApiServerIs(!world.api_server_is_away());
  };
  return kinds;
}

FaultKind Denied(const char* part, Part what, std::set<std::string> reasons) {
  return {.part = part,
          .manner = "permission denied",
          .begin = [what](RealWorld& world, const std::string&) { world.Deny(what); },
          .end = [what](RealWorld& world, const std::string&) { world.Allow(what); },
          .reasons = std::move(reasons)};
}

std::vector<FaultKind> OfPermissions() {
  std::vector<FaultKind> kinds = {
      Denied("runtime", Part::kRuntime, {"RuntimeDown", "RuntimeCrashed"}),
      Denied("list", Part::kList, {}),
      Denied("records", Part::kRecords, {"RecordUnreadable"}),
      Denied("plugin", Part::kPlugin, {"AccessDenied", "CredentialError"}),
  };
  // An agent keeps the socket that it has opened; only another agent finds it closed.
  kinds.front().begin = [](RealWorld& world, const std::string&) {
    world.Deny(Part::kRuntime);
    world.KillAgent();
  };
  kinds.front().recovers = seconds(60);
  kinds.back().reach = Reach::kLogins;
  kinds.back().is_for_good = true;
  return kinds;
}

}  // namespace

const std::vector<FaultKind>& FaultKinds() {
  static const std::vector<FaultKind> kinds = [] {
    std::vector<FaultKind> all = OfRegistry();
    for (auto* more : {&OfNode, &OfSurroundings, &OfApiServer, &OfPermissions}) {
      for (FaultKind& kind : more()) all.push_back(std::move(kind));
    }
    return all;
  }();
  return kinds;
}

}  // namespace prefetch::tests::real_faults
