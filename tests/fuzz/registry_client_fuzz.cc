// The registry's client before registries, mirrors and token services that answer anything at all: one
// question ends in few requests, and its answer shows no password and fits in a log.

#include "base/clock.h"
#include "base/text.h"
#include "fuzz/scripted_answers.h"
#include "fuzz/target.h"
#include "image/reference.h"
#include "registry/client.h"

namespace {

using namespace prefetch;

constexpr const char* kPassword = "hunter2-of-the-node";
// Two credentials and anonymous, a token each, three tries, redirects.
constexpr int kMostRequests = 64;

}  // namespace

FUZZ_TARGET(text) {
  fuzz::ScriptedAnswers server(text);
  base::SystemClock clock;
  registry::ClientOptions options;
  // Nobody waits between tries.
  options.times.retries = {std::chrono::milliseconds(0), std::chrono::milliseconds(0)};
  options.circuit = false;
  options.throttle.rate = {};
  registry::Client client(server, clock, std::move(options));
  image::RegistryQuestion question{.reference = *image::Reference::Parse("reg.example.test/team/app:v1"),
                                   .platform = {"linux", "amd64", ""}};
  question.local_digests = {"sha256:" + std::string(64, 'a')};
  question.credentials = {{.username = "ci", .password = base::Secret(kPassword)}};
  const image::RegistryAnswer answer = client.Ask({}, question);
  if (server.requests() > kMostRequests) __builtin_trap();
  if (!answer.digest.empty() && !image::IsDigest(answer.digest)) __builtin_trap();
  if (!base::IsUtf8(answer.message) || answer.message.find('\n') != std::string::npos) __builtin_trap();
  if (answer.message.find(kPassword) != std::string::npos) __builtin_trap();
  if (answer.retry_after && answer.retry_after->count() < 0) __builtin_trap();
}
