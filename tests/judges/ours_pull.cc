#include <filesystem>
#include <fstream>
#include <string>

#include "base/clock.h"
#include "doc/json.h"
#include "http/curl_client.h"
#include "image/reference.h"
#include "judges/ours.h"
#include "registry/client.h"

namespace prefetch::judges {
namespace {

// Notes the manifest that was asked for by its digest, and the type that it was said to have.
class Watched final : public http::Client {
 public:
  http::ExchangeResult Exchange(const base::Call& call, const http::Request& request) override {
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

// Returns what stands behind the image's name; nothing if the text is no scenario.
std::optional<std::string> Describe(http::Client& http, const std::string& address, const std::string& id,
                                    std::string_view text) {
  const http::Request request{
      .method = "PUT", .url = "http://" + address + "/scenario/" + id, .body = std::string(text)};
  auto response = http.Send(base::Call{}.Within(std::chrono::seconds(10)), request);
  if (!response || response->status != 200) return std::nullopt;
  return response->body;
}

// The folder of hosts.toml files for this scenario; empty: the registry has none.
std::string ConfigPathFor(const doc::Node& scenario, const std::string& address,
                          const std::filesystem::path& folder) {
  if (scenario.Find("mirror") == nullptr) return "";
  const doc::Node* pull_only = scenario.Find("pullOnly");
  const bool resolves = pull_only == nullptr || !pull_only->boolean;
  const std::filesystem::path path = folder / (resolves ? "resolves" : "pulls");
  const std::filesystem::path file = path / address / "hosts.toml";
  if (std::filesystem::exists(file)) return path;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << "server = \"http://" << address << "\"\n[host.\"http://localhost"
                      << address.substr(address.rfind(':')) << "\"]\ncapabilities = [\"pull\""
                      << (resolves ? ", \"resolve\"" : "") << "]\n";
  return path;
}

std::vector<image::AuthConfig> CredentialsOf(const doc::Node& scenario) {
  auto text = [&](const char* key) {
    const doc::Node* value = scenario.Find(key);
    return value == nullptr ? std::string() : value->text;
  };
  if (text("user").empty() && text("password").empty()) return {};
  return {{.username = text("user"), .password = base::Secret(text("password"))}};
}

// pull ADDRESS FOLDER: the manifest that `list lock` writes for an image of the registry that the text
// describes (registry.go). It trusts mirrors and token services as containerd does, unless the scenario is
// wary.
std::string ReadPull(std::string_view text, const std::vector<std::string>& arguments) {
  static int done = 0;
  static Watched http;
  static const base::SystemClock clock;
  const std::string& address = arguments[0];
  const std::string id = "o" + std::to_string(++done);
  const auto name = Describe(http, address, id, text);
  doc::Problems problems("scenario");
  const auto scenario = doc::ParseJson(text, problems, doc::JsonRules::kLenient, {.depth = 100});
  if (!name || !scenario) return Error("this is no scenario");
  registry::ClientOptions options;
  const doc::Node* wary = scenario->Find("wary");
  options.trust_every_mirror = options.trust_every_realm = wary == nullptr || !wary->boolean;
  options.throttle.rate = {};
  options.times.retries = {};
  options.hosts.runtime = {.containerd_version = "2.1.9",
                           .config_path = ConfigPathFor(*scenario, address, arguments[1]),
                           .local_pull = true};
  registry::Client client(http, clock, options);
  http.type.clear();
  const auto reference = image::Reference::Parse(address + "/" + id + "/app" + *name);
  if (!reference) return Error(reference.error().message());
  const image::RegistryAnswer answer =
      client.Ask(base::Call{}.Within(std::chrono::seconds(20)), {.reference = *reference,
                                                                 .platform = {"linux", "amd64", ""},
                                                                 .credentials = CredentialsOf(*scenario),
                                                                 .fetches_manifest = true});
  if (answer.digest.empty() || http.type.empty()) {
    return Error(std::string(base::EnumName(answer.kind)) + " " + answer.detail.name() + ": " +
                 answer.message + (answer.only_by_pull ? " (a pull decides)" : ""));
  }
  return Value("{\"digest\":" + Quoted(answer.digest) + ",\"mediaType\":" + Quoted(http.type) + "}");
}

}  // namespace

std::map<std::string, Family> PullFamilies() {
  return {{"pull", ReadPull}};
}

}  // namespace prefetch::judges
