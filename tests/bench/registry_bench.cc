// Measures questions to a registry: CPU, requests and bytes of one check whose token is there already, and
// the time of 500 tags on one registry that is 20 ms away.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "bench/measure.h"
#include "fakes/certificates.h"
#include "fakes/fake_clock.h"
#include "fakes/fake_registry.h"
#include "fakes/front.h"
#include "http/curl_client.h"
#include "registry/client.h"
#include "rig/proxy.h"
#include "temp_dir.h"

namespace prefetch::bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kChecks = 500;

// Counts this thread alone, the client's: the servers have threads of their own.
double ThreadCpuSeconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

registry::ClientOptions Options() {
  registry::ClientOptions options;
  // Plain http for localhost, without asking by https first.
  options.hosts.runtime.containerd_version = "1.6.20";
  options.throttle = {.checks = 8, .requests_per_host = 8, .rate = {}};
  return options;
}

std::vector<image::AuthConfig> Me() {
  return {{.username = "me", .password = base::Secret("secret")}};
}

image::RegistryAnswer Ask(registry::Client& client, const std::string& name, const std::string& digest) {
  auto reference = image::Reference::Parse(name);
  EXPECT_TRUE(reference) << name;
  return client.Ask(
      base::Call{}.Within(std::chrono::seconds(30)),
      {.reference = *reference, .local_digests = {digest}, .platform = {}, .credentials = Me()});
}

struct Cost {
  double cpu_seconds = 0;
  double requests = 0;
};

// Per check, after a first one that fetched the token.
Cost CostOf(registry::Client& client, const std::string& name, const std::string& digest) {
  EXPECT_EQ(Ask(client, name, digest).kind, image::RegistryAnswerKind::kSame);
  std::vector<double> times;
  int requests = 0;
  for (int i = 0; i < kChecks; i++) {
    double began = ThreadCpuSeconds();
    image::RegistryAnswer answer = Ask(client, name, digest);
    times.push_back(ThreadCpuSeconds() - began);
    EXPECT_EQ(answer.kind, image::RegistryAnswerKind::kSame) << answer.message;
    requests += answer.requests;
  }
  return {.cpu_seconds = Median(std::move(times)), .requests = static_cast<double>(requests) / kChecks};
}

TEST(RegistryBench, OneCheckWithItsTokenThere) {
  tests::FakeClock clock;
  tests::FakeRegistry fake;
  std::string digest = fake.Put("team/app", "v1");
  fake.GiveTokensTo("me", "secret");
  http::CurlClient http;

  rig::Proxy proxy(fake.port());
  ASSERT_TRUE(proxy.Start());
  fake.DemandToken("http://" + proxy.address() + "/token");
  registry::Client plain(http, clock, Options());
  std::string name = proxy.address() + "/team/app:v1";
  EXPECT_EQ(Ask(plain, name, digest).kind, image::RegistryAnswerKind::kSame);
  proxy.Forget();
  Cost by_http = CostOf(plain, name, digest);
  double bytes = static_cast<double>(proxy.BytesToClients()) / (kChecks + 1);
  Print("check by http, CPU", Milliseconds(by_http.cpu_seconds), "1.5 ms");
  Print("check, bytes received", std::to_string(static_cast<int>(bytes)), "none");

  tests::TempDir dir;
  tests::CertificateAuthority ca(dir.path(), "ca");
  tests::KeyPair pair = ca.Server("server");
  tests::Front front({pair.certificate_file, pair.key_file, ""});
  front.ForwardTo(fake.port());
  std::string address = "127.0.0.1:" + std::to_string(front.port());
  fake.DemandToken("https://" + address + "/token");
  std::filesystem::create_directories(dir / "certs/" + address);
  std::ofstream(dir / "certs/" + address + "/hosts.toml")
      << "[host.\"https://" << address << "\"]\nca = \"" << ca.certificate_file() << "\"\n";
  registry::ClientOptions options = Options();
  options.hosts.runtime.config_path = dir / "certs";
  registry::Client secure(http, clock, options);
  Cost by_https = CostOf(secure, address + "/team/app:v1", digest);
  Print("check by https, CPU", Milliseconds(by_https.cpu_seconds), "1.5 ms");
  Print("check, requests", std::to_string(static_cast<int>(by_https.requests)), "1");
  Print("TLS handshakes for " + std::to_string(kChecks + 1) + " checks", std::to_string(front.accepted()),
        "1");
  EXPECT_EQ(by_https.requests, 1);
}

// 500 tags in ten repositories, each with its own token, by as many threads as there are checks at once.
TEST(RegistryBench, FiveHundredTagsTwentyMillisecondsAway) {
  tests::FakeClock clock;
  tests::FakeRegistry fake;
  rig::Proxy proxy(fake.port());
  ASSERT_TRUE(proxy.Start());
  proxy.Delay(milliseconds(10));
  fake.DemandToken("http://" + proxy.address() + "/token");
  fake.GiveTokensTo("me", "secret");
  std::vector<std::string> names, digests;
  for (int i = 0; i < kChecks; i++) {
    std::string repository = "team/app" + std::to_string(i % 10), tag = "v" + std::to_string(i);
    digests.push_back(fake.Put(repository, tag, {.body = "{\"n\":" + std::to_string(i) + "}"}));
    names.push_back(proxy.address() + "/" + repository + ":" + tag);
  }
  http::CurlClient http;
  registry::Client client(http, clock, Options());
  std::atomic<int> next{0}, same{0}, requests{0};
  auto began = steady_clock::now();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; t++) {
    threads.emplace_back([&] {
      for (int i = next++; i < kChecks; i = next++) {
        auto which = static_cast<std::size_t>(i);
        image::RegistryAnswer answer = Ask(client, names[which], digests[which]);
        same += answer.kind == image::RegistryAnswerKind::kSame ? 1 : 0;
        requests += answer.requests;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  double seconds = std::chrono::duration<double>(steady_clock::now() - began).count();
  EXPECT_EQ(same, kChecks);
  Print("500 tags at 20 ms", Milliseconds(seconds), "2 s");
  Print("500 tags, connections", std::to_string(fake.connections()), "8");
  Print("500 tags, requests", std::to_string(requests.load()), "none");
}

}  // namespace
}  // namespace prefetch::bench
