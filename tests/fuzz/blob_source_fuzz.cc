// Manifests and blobs from registries, mirrors, token services and object stores that answer anything at all:
// what is passed on has the digest and the size that were asked for, in few requests, and no error shows a
// password.
#include <cstdint>

#include "base/clock.h"
#include "base/sha256.h"
#include "base/text.h"
#include "fuzz/scripted_answers.h"
#include "fuzz/target.h"
#include "registry/client.h"

namespace {

using namespace prefetch;

constexpr const char* kPassword = "hunter2-of-the-node";
constexpr std::uint64_t kSize = 10;
// An index, its manifest and a range of a blob; each with a credential and anonymous, tokens, redirects.
constexpr int kMostRequests = 96;

std::string DigestOf(const std::string& text) {
  return "sha256:" + base::Sha256Hex(text);
}

void Judge(const base::Error& error) {
  const std::string& message = error.message();
  if (message.empty() || !base::IsUtf8(message) || message.find('\n') != std::string::npos) std::abort();
  if (message.find(kPassword) != std::string::npos) std::abort();
}

void EvaluateManifest(const image::RegistryQuestion& question, const image::ImageManifest& got) {
  const std::string& first = got.index.empty() ? got.manifest : got.index;
  if (question.reference.has_digest() && question.reference.digest() != DigestOf(first)) std::abort();
  // The index names it.
  if (!got.index.empty() && got.index.find(DigestOf(got.manifest)) == std::string::npos) std::abort();
  if (got.answer_time.count() < 0) std::abort();
}

}  // namespace

FUZZ_TARGET(text) {
  fuzz::ScriptedAnswers server(text);
  base::SystemClock clock;
  registry::ClientOptions options;
  options.hosts.runtime.containerd = false;
  options.circuit = false;
  options.throttle.rate = {};
  options.times.retries = {std::chrono::milliseconds(0), std::chrono::milliseconds(0)};
  registry::Client client(server, clock, std::move(options));
  const std::string name = text.size() % 2 == 0 ? "reg.example.test/team/app:v1"
                                                : "reg.example.test/team/app@" + DigestOf("{\"layers\":[]}");
  const image::RegistryQuestion question{
      .reference = *image::Reference::Parse(name),
      .platform = {"linux", "amd64", ""},
      .credentials = {{.username = "ci", .password = base::Secret(kPassword)}}};
  const auto manifest = client.contents().FetchManifest({}, question);
  manifest ? EvaluateManifest(question, *manifest) : Judge(manifest.error());
  // The whole blob; a part; the part once more, perhaps where the first one was found.
  const std::string digest = DigestOf("0123456789");
  for (const auto& [begin, end] : {std::pair(0, 10), std::pair(2, 5), std::pair(5, 10)}) {
    std::string bytes;
    const base::Status got = client.contents().FetchBytes(
        {}, question, {digest, kSize, static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end)},
        [&bytes](std::string_view part) {
          bytes += part;
          return true;
        });
    const auto wanted = static_cast<std::size_t>(end - begin);
    if (!got) Judge(got.error());
    if (bytes.size() > wanted || (got && bytes.size() != wanted)) std::abort();
  }
  if (server.requests() > kMostRequests) std::abort();
}
