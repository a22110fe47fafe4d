// Each secret that the process learns, in each spelling, over each road by which a stranger's text comes in,
// to each output.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/answering_node.h"
#include "base/log.h"
#include "base/sha256.h"
#include "config/agent_config.h"
#include "credentials/docker_config.h"
#include "credentials/plugin.h"
#include "credentials/provider_config.h"
#include "cri/rpc.h"
#include "doc/json.h"
#include "kube/answer.h"
#include "kube/exec_plugin.h"
#include "kube/http_api.h"
#include "plan/touch.h"
#include "registry/token_cache.h"
#include "registry/world.h"
#include "screen/node_text.h"
#include "spellings.h"
#include "status/documents.h"
#include "status/planted.h"
#include "temp_dir.h"

namespace prefetch::agent::secret_roads_test {
namespace {

using tests::FakeReply;
using tests::Spelling;
using tests::WireRequest;

constexpr const char* kExecVersion = "client.authentication.k8s.io/v1";
constexpr const char* kProviderVersion = "credentialprovider.kubelet.k8s.io/v1";

std::string Quoted(const std::string& text) {
  std::string out = "\"";
  base::AppendJsonEscaped(out, text);
  return out + "\"";
}

class SecretRoads : public tests::RegistryWorld {
 protected:
  std::string Realm() const { return "http://" + registry_.address() + "/token"; }

  kube::Identity IdentityFromFiles(const std::string& token, const std::string& key) {
    kube::Cluster cluster{.server = "http://" + registry_.address()};
    cluster.token_file = dir_.Write("token", token);
    if (!key.empty()) {
      cluster.certificate_file = dir_.Write("crt", "certificate");
      cluster.key_file = dir_.Write("key", key);
    }
    return kube::Identity(std::move(cluster), clock_);
  }

  static std::string DecodedExecVariable(const std::string& value) {
    doc::Problems problems("exec");
    auto tree = doc::ParseJson(
        R"({"apiVersion":")" + std::string(kExecVersion) +
            R"(","command":"x","interactiveMode":"Never","env":[{"name":"AWS_SECRET_ACCESS_KEY","value":)" +
            Quoted(value) + "}]}",
        problems);
    EXPECT_TRUE(tree);
    doc::ObjectReader exec{doc::Reader(*tree, problems)};
    EXPECT_TRUE(kube::DecodeExecPlugin(
        exec, "/", {}, {}, {}, [](const std::string&) { return std::optional<std::string>(); },
        kube::PluginUse::kActive));
    return value;
  }

  // Where the process learns secrets: each takes one as the program does.
  struct Source {
    const char* name;
    std::function<void(const std::string& secret)> learn;
  };
  std::vector<Source> Sources() {
    return {
        {"password of a docker config",
         [](const std::string& secret) {
           EXPECT_TRUE(credentials::DecodeDockerConfig(
               R"({"auths":{"r.io":{"username":"me","password":)" + Quoted(secret) + "}}}",
               credentials::DockerConfigFormat::kAuths));
         }},
        {"identity token of a docker config",
         [](const std::string& secret) {
           EXPECT_TRUE(credentials::DecodeDockerConfig(
               R"({"auths":{"r.io":{"auth":")" + base::Base64Encode("<token>:" + secret) + "\"}}}",
               credentials::DockerConfigFormat::kAuths));
         }},
        {"pair of a Basic header",
         [this](const std::string& secret) {
           http_.Exchange({}, {.method = "GET",
                               .url = "http://" + registry_.address() + "/",
                               .authorization = http::BasicAuthorization("me", base::Secret(secret))});
         }},
        {"token of a registry",
         [](const std::string& secret) {
           EXPECT_TRUE(registry::ParseTokenResponse("{\"token\":" + Quoted(secret) + "}"));
         }},
        {"password of a credential provider",
         [this](const std::string& secret) {
           dir_.Write(
               "answer",
               R"({"apiVersion":")" + std::string(kProviderVersion) +
                   R"(","kind":"CredentialProviderResponse","cacheKeyType":"Registry","auth":{"r.io":{"username":"me","password":)" +
                   Quoted(secret) + "}}}");
           EXPECT_TRUE(RunProvider("cat " + dir_.path() + "/answer"));
         }},
        {"variable of a credential provider",
         [](const std::string& secret) {
           doc::Problems problems("config");
           credentials::DecodeProviderConfig(
               R"({"apiVersion":"kubelet.config.k8s.io/v1","kind":"CredentialProviderConfig","providers":[{"name":"p","apiVersion":")" +
                   std::string(kProviderVersion) +
                   R"(","matchImages":["r.io"],"defaultCacheDuration":"0s","env":[{"name":"API_TOKEN","value":)" +
                   Quoted(secret) + "}]}]}",
               {1, 34, 0}, problems);
         }},
        {"variable of providerEnvironment",
         [](const std::string& secret) {
           doc::Problems problems("file");
           config::ParseEnvironmentFile("MY_PASSWORD=" + secret + "\n", problems);
         }},
        {"output of an exec plugin",
         [](const std::string& secret) {
           EXPECT_TRUE(kube::DecodeExecCredential(R"({"apiVersion":")" + std::string(kExecVersion) +
                                                      R"(","kind":"ExecCredential","status":{"token":)" +
                                                      Quoted(secret) + "}}",
                                                  kExecVersion));
         }},
        {"variable of an exec plugin", [](const std::string& secret) { DecodedExecVariable(secret); }},
        {"token of a service account",
         [this](const std::string& secret) {
           registry_.Always({.status = 201,
                             .body = R"({"status":{"expirationTimestamp":"2036-01-01T00:00:00Z","token":)" +
                                     Quoted(secret) + "}}"});
           kube::Identity identity({.server = "http://" + registry_.address()}, clock_);
           const auto api = kube::MakeHttpApi(http_, identity, clock_);
           EXPECT_TRUE(api->CreateToken({}, "ns", "sa", "audience", 600));
         }},
        {"token of the API server",
         [this](const std::string& secret) { EXPECT_TRUE(IdentityFromFiles(secret, "").Current({})); }},
        {"client key",
         [this](const std::string& secret) {
           EXPECT_TRUE(IdentityFromFiles("any-token", secret).Current({}));
         }},
        {"password of a proxy",
         [](const std::string& secret) {
           http::CurlClient({.proxy = "http://me:" + tests::Url(secret) + "@127.0.0.1:1"});
         }},
    };
  }

  base::Result<credentials::PluginResponse> RunProvider(const std::string& script) {
    credentials::Provider provider;
    provider.name = "provider";
    provider.api_version = kProviderVersion;
    AddProgram(provider.name, script);
    return credentials::RunPlugin({}, provider,
                                  {.bin_dir = dir_.path(),
                                   .environment = {{"PATH", "/usr/bin:/bin"}},
                                   .working_directory = dir_.path(),
                                   .timeout = std::chrono::seconds(30)},
                                  "r.io/app");
  }
  void AddProgram(const std::string& name, const std::string& script) {
    const std::string file = dir_.Write(name, "#!/bin/sh\n" + script + "\n");
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  }
  // A program that fails, with this text, cut by the limit of 4,096 bytes if so.
  std::string Failing(const std::string& text) {
    dir_.Write("errors", text);
    return "cat " + dir_.path() + "/errors >&2; exit 1";
  }

  // By which a stranger's text comes in: each gives what the process makes of it.
  struct Road {
    const char* name;
    std::function<std::string(const std::string& text)> hear;
    bool starts_program = false;
  };
  std::vector<Road> Roads() {
    auto registry = [this](int status) {
      return [this, status](const std::string& text) {
        registry_.Always(
            {.status = status, .body = R"({"errors":[{"code":"E","message":)" + Quoted(text) + "}]}"});
        Make();
        return AskFake("app:v1").message;
      };
    };
    return {
        {"a registry's 403", registry(403)},
        {"a registry's 500", registry(500)},
        {"a token service's error",
         [this](const std::string& text) {
           registry_.Answer([this, text](const WireRequest& request) {
             const bool token = request.path() == "/token";
             return FakeReply{
                 .status = token ? 403 : 401,
                 .headers = {{"WWW-Authenticate", "Bearer realm=\"" + Realm() + "\",service=\"s\""}},
                 .body = R"({"errors":[{"code":"E","message":)" + Quoted(text) + "}]}"};
           });
           Make();
           return AskFake("app:v1").message;
         }},
        {"the host of a redirect",
         [this](const std::string& text) {
           const std::string label(base::Split(text, ' ').at(1));
           const bool is_name = std::all_of(label.begin(), label.end(), [](char c) {
             return std::isalnum(static_cast<unsigned char>(c));
           });
           if (!is_name || label.size() > 63) return std::string();
           const std::string port = registry_.address().substr(registry_.address().rfind(':'));
           registry_.Always(
               {.status = 307, .headers = {{"Location", "http://" + label + ".localhost" + port + "/v2/"}}});
           Make();
           return AskFake("app:v1").message;
         }},
        {"a credential provider's stderr",
         [this](const std::string& text) { return RunProvider(Failing(text)).error().message(); }, true},
        {"a cut stderr",
         [this](const std::string& text) {
           return RunProvider(
                      Failing(std::string(4096 - std::min<std::size_t>(text.size() - 1, 40), ' ') + text))
               .error()
               .message();
         },
         true},
        {"an exec plugin's stderr",
         [this](const std::string& text) {
           AddProgram("exec", Failing(text));
           kube::ExecPlugin plugin{.api_version = kExecVersion, .command = dir_.path() + "/exec"};
           plugin.environment = {"PATH=/usr/bin:/bin"};
           return kube::RunExecPlugin({}, plugin).error().message();
         },
         true},
        {"an API server's 500",
         [this](const std::string& text) {
           return kube::FailureOf({.status = 500,
                                   .body = R"({"kind":"Status","reason":)" + Quoted(text) + R"(,"message":)" +
                                           Quoted(text) + "}"},
                                  "get x", {}, clock_.Wall())
               ->message;
         }},
        {"the runtime's error",
         [](const std::string& text) {
           return cri::ToCallError(grpc::Status(grpc::StatusCode::UNKNOWN, "failed to pull: " + text), {},
                                   true, {.method = "PullImage"})
               ->message;
         }},
        {"kubelet's words about a touch pod",
         [](const std::string& text) {
           plan::ContainerObservation seen;
           seen.waiting_reason = "ErrImagePull";
           seen.waiting_message = text;
           return plan::EvaluateContainer(seen).result.why;
         }},
    };
  }

  // All that the process shows of a text.
  static std::string Outputs(const std::string& heard) {
    plan::ImageState image = sample::Failing("quay.io/acme/a:v1", plan::Reason::kAccessDenied, heard, 3);
    image.message = heard;
    image.registry = std::make_shared<const plan::RegistryView>(plan::RegistryView{
        .answer = image::RegistryAnswerKind::kServerError, .message = heard, .always_message = heard});
    plan::Snapshot snapshot = sample::Node({image});
    snapshot.readiness.message = heard;  // the Node's condition, too
    snapshot.problems = {heard};
    snapshot.runtime.error = heard;
    std::string all =
        base::FormatLogLine(base::LogFormat::kJson, "", base::LogLevel::kInfo, "m", {{"error", heard}}) +
        base::FormatLogLine(base::LogFormat::kPlain, "", base::LogLevel::kInfo, "m", {{"error", heard}});
    const AnsweringNode node(snapshot);
    for (Audience audience : {Audience::kLocal, Audience::kPodNetwork}) {
      for (const char* path : {"/v1/status", "/metrics", "/readyz"}) {
        all += node.Answer(audience, {.path = path, .query = {{"verbose", ""}}}).body;
      }
      all += node.Answer(audience, {.method = "POST",
                                    .path = "/v1/check",
                                    .body = R"([{"image":"quay.io/acme/a:v1","policy":"Always"}])"})
                 .body;
    }
    auto document = status::ParseStatusDocument(node.Answer(Audience::kLocal, {.path = "/v1/status"}).body);
    EXPECT_TRUE(document);
    if (!document) return all;
    for (bool wide : {false, true}) all += screen::StatusTable(*document, {.width = 4000, .wide = wide});
    return all;
  }

  tests::TempDir dir_;
};

// Twelve characters of a row that are in `text`; empty: none.
std::string RunOf(const std::string& spelled, const std::string& text) {
  for (std::size_t at = 0; at + 12 <= spelled.size(); at++) {
    const std::string run = spelled.substr(at, 12);
    if (run.find_first_of(" \n") == std::string::npos && text.find(run) != std::string::npos) return run;
  }
  return "";
}

// A road that starts a program hears a quarter of the spellings of each secret, and all of them in all.
TEST_F(SecretRoads, NoneLeadsOut) {
  std::size_t heard = 0, turn = 0;
  for (const Source& source : Sources()) {
    const std::string secret = "s3/" + base::Sha256Hex(source.name).substr(0, 16) + "+&%41<W";
    source.learn(secret);
    std::string all;
    turn++;
    for (const Road& road : Roads()) {
      for (std::size_t i = road.starts_program ? turn % 4 : 0; i < std::size(tests::kSpellings);
           i += road.starts_program ? 4 : 1) {
        const std::string spelled = tests::kSpellings[i].write(secret);
        const std::string said = road.hear("sent " + spelled + " here");
        heard += said.find("sent") != std::string::npos ? 1 : 0;
        EXPECT_EQ(RunOf(spelled, said), "")
            << source.name << ", " << tests::kSpellings[i].name << ", " << road.name << ": " << said;
        all += said + " ";
      }
    }
    const std::string shown = Outputs(all);
    for (const Spelling& spelling : tests::kSpellings) {
      EXPECT_EQ(RunOf(spelling.write(secret), shown), "") << source.name << ", " << spelling.name << " shown";
    }
  }
  EXPECT_GT(heard, 1000U) << "the words around secrets are heard";
}

}  // namespace
}  // namespace prefetch::agent::secret_roads_test
