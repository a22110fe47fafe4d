#include <filesystem>
#include <fstream>
#include <string>

#include "base/clock.h"
#include "base/text.h"
#include "http/curl_client.h"
#include "image/reference.h"
#include "judges/ours.h"
#include "registry/client.h"

namespace prefetch::judges {
namespace {

// Notes the manifest that was asked for by its digest, and the type that it was said to have.
class Watched final : public http::Client {
 public:
  http::Exchanged Exchange(const base::Call& call, const http::Request& request) override {
    const std::size_t digest = request.url.find("/manifests/sha256:");
    if (digest != std::string::npos && request.method == "GET") {
      const std::string_view accept = request.headers.Get("Accept").value_or("");
      type = accept.substr(0, accept.find(','));
    }
    return client_.Exchange(call, request);
  }
  std::string type;  // empty: none was asked for

 private:
  http::CurlClient client_;
};

bool Describe(http::Client& http, const std::string& address, const std::string& id, std::string_view text) {
  const http::Request request{
      .method = "PUT", .url = "http://" + address + "/scenario/" + id, .body = std::string(text)};
  auto response = http.Send(base::Call{}.Within(std::chrono::seconds(10)), request);
  return response && response->status == 200;
}

// pull ADDRESS: the manifest that `list lock` writes for an image of the registry that the text describes
// (registry.go).
std::string ReadPull(std::string_view text, const std::vector<std::string>& arguments) {
  static int done = 0;
  static Watched http;
  static const base::SystemClock clock;
  const std::string& address = arguments[0];
  const std::string id = "o" + std::to_string(++done);
  if (!Describe(http, address, id, text)) return Error("this is no scenario");
  registry::ClientOptions options;
  options.throttle.rate = {};
  options.times.retries = {};
  options.hosts.runtime = {.containerd_version = "2.1.9", .config_path = "", .local_pull = true};
  registry::Client client(http, clock, options);
  http.type.clear();
  const auto reference = image::Reference::Parse(address + "/" + id + "/app:v1");
  if (!reference) return Error(reference.error().message());
  const image::RegistryAnswer answer =
      client.Ask(base::Call{}.Within(std::chrono::seconds(20)), {.reference = *reference,
                                                                 .local_digests = {},
                                                                 .platform = {"linux", "amd64", ""},
                                                                 .credentials = {},
                                                                 .fetches_manifest = true});
  if (answer.digest.empty() || http.type.empty()) {
    return Error(std::string(image::RegistryAnswerName(answer.kind)) + " " + answer.detail.name() + ": " +
                 answer.message);
  }
  return Value("{\"digest\":" + Quoted(answer.digest) + ",\"mediaType\":" + Quoted(http.type) + "}");
}

}  // namespace

std::map<std::string, Family> PullFamilies() {
  return {{"pull", ReadPull}};
}

}  // namespace prefetch::judges
