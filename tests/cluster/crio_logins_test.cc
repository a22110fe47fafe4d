// Compares the credentials that a real CRI-O sends (registry rule R50), and the rule of a policy that it
// takes, with what the agent reports. Only where the folder of programs has a CRI-O: main.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cluster/crio.h"
#include "cri/endpoint.h"
#include "cri/image_service.h"
#include "http/client.h"
#include "rig/expect_ok.h"
#include "rig/images.h"
#include "rig/proxy.h"
#include "rig/registry.h"
#include "status/words.h"

namespace prefetch::cluster::crio_logins_test {
namespace {

constexpr std::chrono::seconds kPullLimit{20};
constexpr const char* kChallenge =
    "HTTP/1.1 401 Unauthorized\r\nWww-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n"
    "Connection: close\r\n\r\n";

image::AuthConfig User(const std::string& name) {
  return {name, base::Secret("password-of-" + name)};
}

// A registry that asks everybody who they are, and lets nobody in.
class Doorkeeper {
 public:
  Doorkeeper(const rig::Scratch& scratch, const std::string& name)
      : registry_(scratch, name), proxy_(Port()) {
    EXPECT_OK(proxy_.Start());
    proxy_.Answer("/v2/", kChallenge);
  }
  std::string address() const { return proxy_.address(); }
  void Forget() { proxy_.Forget(); }
  // Returns the users that asked for a manifest, each once; "nobody" asks without a login.
  std::vector<std::string> Callers() const {
    std::vector<std::string> callers;
    for (const rig::Passed& request : proxy_.Requests()) {
      if (request.path.find("/manifests/") == std::string::npos) continue;
      std::string caller = request.authorization.empty() ? "nobody" : "somebody";
      for (const char* name : {"pod", "one", "two"}) {
        if (request.authorization ==
            http::BasicAuthorization(User(name).username, User(name).password).Reveal())
          caller = name;
      }
      if (std::find(callers.begin(), callers.end(), caller) == callers.end()) callers.push_back(caller);
    }
    return callers;
  }

 private:
  int Port() {
    EXPECT_OK(registry_.Start());
    return registry_.port();
  }
  rig::Registry registry_;
  rig::Proxy proxy_;
};

std::string Login(const std::string& address, const std::string& user) {
  const std::string whole(http::BasicAuthorization(user, User(user).password).Reveal());
  return "\"" + address + "\":{\"auth\":\"" + whole.substr(whole.find(' ') + 1) + "\"}";
}

using Callers = std::vector<std::string>;

TEST(CrioLogins, TheRegistryOfTheNameGetsThePullsAndOthersItsOwn) {
  rig::Scratch scratch;
  Doorkeeper one(scratch, "one"), two(scratch, "two");
  Crio crio(scratch);
  crio.HasRegistries("[[registry]]\nlocation = \"" + one.address() +
                     "\"\ninsecure = true\n[[registry.mirror]]\n" + "location = \"" + two.address() +
                     "/cache\"\ninsecure = true\n");
  // The login of a folder wins over the one of its registry.
  crio.HasAuthFile("{\"auths\":{" + Login(one.address(), "one") + "," + Login(two.address(), "pod") + "," +
                   Login(two.address() + "/cache", "two") + "}}");
  ASSERT_OK(crio.Start());
  const auto images = cri::MakeImageService(*cri::ParseEndpoint(crio.endpoint()));
  struct Row {
    std::optional<image::AuthConfig> auth;
    Callers at_one, at_two;
  };
  for (const Row& row : {Row{User("pod"), {"pod"}, {"two"}}, Row{std::nullopt, {"one"}, {"two"}}}) {
    one.Forget();
    two.Forget();
    auto pulled = images->PullImage(base::Call{}.Within(kPullLimit),
                                    {one.address() + "/team/app:v1", row.auth, "", cri::kOwnPullCgroup});
    EXPECT_FALSE(pulled);
    EXPECT_EQ(one.Callers(), row.at_one);
    EXPECT_EQ(two.Callers(), row.at_two);
  }
  ASSERT_OK(crio.Stop());
}

TEST(CrioPolicy, TheRuleIsTheFirstOfTheScopesThatPeopleAreTold) {
  rig::Scratch scratch;
  rig::Registry registry(scratch, "signed");
  ASSERT_OK(registry.Start());
  Crio crio(scratch);
  crio.MayUseHttp(registry.port());
  ASSERT_OK(crio.Start());
  rig::Pusher pusher(registry.address());
  ASSERT_OK(pusher.Push({.repository = "team/app", .tag = "v1", .layers = {{.seed = 1, .size = 4096}}}));
  const std::string image = registry.address() + "/team/app:v1";
  const auto images = cri::MakeImageService(*cri::ParseEndpoint(crio.endpoint()));
  const std::string accept = R"([{"type":"insecureAcceptAnything"}])", reject = R"([{"type":"reject"}])";
  // Every scope rejects where those before it are not there, and gives way to one before it.
  std::vector<std::string> scopes = status::PolicyScopes(*image::Reference::Parse(image));
  ASSERT_EQ(scopes.front(), image);
  for (std::size_t i = 0; i < scopes.size(); i++) {
    for (bool earlier : {false, true}) {
      if (earlier && i == 0) continue;
      std::string rules = "\"" + scopes[i] + "\":" + reject;
      if (earlier) rules += ",\"" + scopes[i - 1] + "\":" + accept;
      crio.HasPolicy("{\"default\":" + accept + ",\"transports\":{\"docker\":{" + rules + "}}}");
      auto pulled =
          images->PullImage(base::Call{}.Within(kPullLimit), {image, std::nullopt, "", cri::kOwnPullCgroup});
      EXPECT_EQ(static_cast<bool>(pulled), earlier) << rules << (pulled ? "" : pulled.error().message);
      if (pulled || earlier) continue;
      EXPECT_EQ(pulled.error().error_class, image::ErrorClass::kSignatureRejected) << pulled.error().message;
      EXPECT_NE(pulled.error().message.find("is rejected by policy"), std::string::npos)
          << pulled.error().message;
    }
  }
  ASSERT_OK(crio.Stop());
}

}  // namespace
}  // namespace prefetch::cluster::crio_logins_test
