#include "cri/runtime_json.h"

#include <gtest/gtest.h>

#include "rows.h"

namespace prefetch::cri::runtime_json_test {
namespace {

struct InfoRow {
  std::string name;
  std::string json;
  VerboseInfo expect;
};

TEST_TABLE(VerboseInfoTest, IsWhatCanBeRead, InfoRow) {
  EXPECT_EQ(ParseVerboseInfo(row.json), row.expect);
}

TEST_ROWS(Shapes, VerboseInfoTest,
          {"Containerd",
           R"({"chainID":"sha256:ab","imageSpec":{"created":"x","architecture":"amd64","os":"linux"}})",
           VerboseInfo{image::Platform{"linux", "amd64", ""}, "sha256:ab"}},
          {"Crio", R"({"labels":{},"imageSpec":{"architecture":"arm64","os":"linux","variant":"v8"}})",
           VerboseInfo{image::Platform{"linux", "arm64", "v8"}, ""}},
          {"NoArchitecture", R"({"imageSpec":{"os":"linux"}})", {image::Platform{"linux", "", ""}, ""}},
          {"NothingClaimed", R"({"imageSpec":{}})", {}},
          {"WrongTypes", R"({"chainID":1,"imageSpec":[]})", {}}, {"NotAnObject", "[]", {}},
          {"NotJson", "<html>", {}}, {"Empty", "", {}}, {"TooDeep", std::string(100000, '['), {}});

struct RegistriesRow {
  std::string name;
  std::string json;
  image::RuntimeRegistries expect;
};

TEST_TABLE(RuntimeRegistriesTest, IsWhatTheRuntimeTells, RegistriesRow) {
  EXPECT_EQ(ParseRuntimeRegistries(row.json), row.expect);
}

std::string ManyMirrors(int count) {
  std::string json = R"({"registry":{"configPath":"","mirrors":{)";
  for (int i = 0; i < count; i++) {
    json += (i == 0 ? "\"r" : ",\"r") + std::to_string(i) + ".io\":{\"endpoint\":[]}";
  }
  return json + "}}}";
}

// The first two as containerd 1.6.20 said them, with the rest of its configuration left out.
TEST_ROWS(Shapes, RuntimeRegistriesTest,
          {"ConfigPath",
           R"({"containerd":{},"registry":{"configPath":"/etc/containerd/certs.d","mirrors":null,
                          "configs":null,"auths":null,"headers":null}})",
           image::RuntimeRegistries{true, "/etc/containerd/certs.d", {}}},
          {"Tables",
           R"({"registry":{"configPath":"","mirrors":{"docker.io":{"endpoint":["https://mirror.example"]}},
                "configs":{"mirror.example":{"auth":{"username":"u","password":"topsecret","auth":"",
                "identitytoken":""},"tls":{"insecure_skip_verify":true,"caFile":"","certFile":"","keyFile":""}}},
                "auths":null,"headers":{"X-Secret":["h"]}}})",
           image::RuntimeRegistries{true, "", {"*"}, true}},
          {"Mirrors",
           R"({"registry":{"configPath":"","mirrors":{"quay.io":{"endpoint":[]},"docker.io":{}}}})",
           image::RuntimeRegistries{true, "", {"docker.io", "quay.io"}, true}},
          {"AnyHost", R"({"registry":{"configPath":"","mirrors":{"*":{},"quay.io":{}}}})",
           image::RuntimeRegistries{true, "", {"*"}, true}},
          {"CredentialsBesideAConfigPath",
           R"({"registry":{"configPath":"/c","configs":{"r.io:5000":{"auth":{"username":"u"}}}}})",
           image::RuntimeRegistries{true, "/c", {"r.io:5000"}}},
          {"ConfigWithoutAnything",
           R"({"registry":{"configPath":"/c","configs":{"r.io":{"auth":null,"tls":null}}}})",
           image::RuntimeRegistries{true, "/c", {}}},
          {"ConfigThatSaysNothing",
           R"({"registry":{"configPath":"/c","configs":{"r.io":{
                          "auth":{"username":"","password":"","auth":"","identitytoken":""},
                          "tls":{"insecure_skip_verify":false,"caFile":"","certFile":"","keyFile":""}}}}})",
           image::RuntimeRegistries{true, "/c", {}}},
          {"OldCredentialsByUrl", R"({"registry":{"auths":{"https://r.io/v2/":{"auth":"x"}}}})",
           image::RuntimeRegistries{true, "", {"r.io"}}},
          {"MirrorAndItsTls",
           R"({"registry":{"mirrors":{"r.io":{}},"configs":{"r.io":{"tls":{"caFile":"/a"}}}}})",
           image::RuntimeRegistries{true, "", {"r.io"}, true}},
          {"ItsOwnUserAgent", R"({"registry":{"headers":{"User-Agent":["containerd/1.6.20"]}}})",
           image::RuntimeRegistries{true, "", {}}},
          {"StrangeName", "{\"registry\":{\"mirrors\":{\"r.io\\n\":{}}}}", {true, "", {"*"}, true}},
          {"RelativePath", R"({"registry":{"configPath":"certs.d"}})", {true, "", {"*"}}},
          {"PathWithALineBreak", R"({"registry":{"configPath":"/a\nb"}})", {true, "", {"*"}}},
          {"TooManyMirrors", ManyMirrors(300), {true, "", {"*"}, true}},
          {"WrongTypes", R"({"registry":{"configPath":7,"mirrors":[],"configs":"","headers":1}})",
           image::RuntimeRegistries{true, "", {}}},
          {"Containerd2", R"({"containerd":{},"cni":{}})", {}}, {"NoRegistry", R"({"registry":null})", {}},
          {"NotJson", "<html>", {}},
          {"TooLong", R"({"registry":{"mirrors":{"r.io":{}}}})" + std::string(1 << 20, ' '), {}},
          {"TooDeep", std::string(100000, '['), {}});

}  // namespace
}  // namespace prefetch::cri::runtime_json_test
