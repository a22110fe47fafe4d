#include "cri/runtime_json.h"

#include <gtest/gtest.h>

namespace prefetch::cri::runtime_json_test {
namespace {

struct InfoRow {
  std::string name;
  std::string json;
  VerboseInfo expect;
};

class VerboseInfoTest : public testing::TestWithParam<InfoRow> {};

TEST_P(VerboseInfoTest, IsWhatCanBeRead) {
  EXPECT_EQ(ParseVerboseInfo(GetParam().json), GetParam().expect);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, VerboseInfoTest,
    testing::Values(
        InfoRow{"Containerd",
                R"({"chainID":"sha256:ab","imageSpec":{"created":"x","architecture":"amd64","os":"linux"}})",
                VerboseInfo{image::Platform{"linux", "amd64", ""}, "sha256:ab"}},
        InfoRow{"Crio", R"({"labels":{},"imageSpec":{"architecture":"arm64","os":"linux","variant":"v8"}})",
                VerboseInfo{image::Platform{"linux", "arm64", "v8"}, ""}},
        InfoRow{"NoArchitecture", R"({"imageSpec":{"os":"linux"}})", {image::Platform{"linux", "", ""}, ""}},
        InfoRow{"NothingClaimed", R"({"imageSpec":{}})", {}},
        InfoRow{"WrongTypes", R"({"chainID":1,"imageSpec":[]})", {}}, InfoRow{"NotAnObject", "[]", {}},
        InfoRow{"NotJson", "<html>", {}}, InfoRow{"Empty", "", {}},
        InfoRow{"TooDeep", std::string(100000, '['), {}}),
    [](const auto& row) { return row.param.name; });

struct RegistriesRow {
  std::string name;
  std::string json;
  image::RuntimeRegistries expect;
};

class RuntimeRegistriesTest : public testing::TestWithParam<RegistriesRow> {};

TEST_P(RuntimeRegistriesTest, IsWhatTheRuntimeTells) {
  EXPECT_EQ(ParseRuntimeRegistries(GetParam().json), GetParam().expect);
}

std::string ManyMirrors(int count) {
  std::string json = R"({"registry":{"configPath":"","mirrors":{)";
  for (int i = 0; i < count; i++) {
    json += (i == 0 ? "\"r" : ",\"r") + std::to_string(i) + ".io\":{\"endpoint\":[]}";
  }
  return json + "}}}";
}

// The first two as containerd 1.6.20 said them, with the rest of its configuration left out.
INSTANTIATE_TEST_SUITE_P(
    Shapes, RuntimeRegistriesTest,
    testing::Values(
        RegistriesRow{"ConfigPath",
                      R"({"containerd":{},"registry":{"configPath":"/etc/containerd/certs.d","mirrors":null,
                          "configs":null,"auths":null,"headers":null}})",
                      image::RuntimeRegistries{true, "/etc/containerd/certs.d", {}}},
        RegistriesRow{
            "Tables",
            R"({"registry":{"configPath":"","mirrors":{"docker.io":{"endpoint":["https://mirror.example"]}},
                "configs":{"mirror.example":{"auth":{"username":"u","password":"topsecret","auth":"",
                "identitytoken":""},"tls":{"insecure_skip_verify":true,"caFile":"","certFile":"","keyFile":""}}},
                "auths":null,"headers":{"X-Secret":["h"]}}})",
            image::RuntimeRegistries{true, "", {"*"}, true}},
        RegistriesRow{
            "Mirrors",
            R"({"registry":{"configPath":"","mirrors":{"quay.io":{"endpoint":[]},"docker.io":{}}}})",
            image::RuntimeRegistries{true, "", {"docker.io", "quay.io"}, true}},
        RegistriesRow{"AnyHost", R"({"registry":{"configPath":"","mirrors":{"*":{},"quay.io":{}}}})",
                      image::RuntimeRegistries{true, "", {"*"}, true}},
        RegistriesRow{"CredentialsBesideAConfigPath",
                      R"({"registry":{"configPath":"/c","configs":{"r.io:5000":{"auth":{"username":"u"}}}}})",
                      image::RuntimeRegistries{true, "/c", {"r.io:5000"}}},
        RegistriesRow{"ConfigWithoutAnything",
                      R"({"registry":{"configPath":"/c","configs":{"r.io":{"auth":null,"tls":null}}}})",
                      image::RuntimeRegistries{true, "/c", {}}},
        RegistriesRow{"ConfigThatSaysNothing",
                      R"({"registry":{"configPath":"/c","configs":{"r.io":{
                          "auth":{"username":"","password":"","auth":"","identitytoken":""},
                          "tls":{"insecure_skip_verify":false,"caFile":"","certFile":"","keyFile":""}}}}})",
                      image::RuntimeRegistries{true, "/c", {}}},
        RegistriesRow{"OldCredentialsByUrl", R"({"registry":{"auths":{"https://r.io/v2/":{"auth":"x"}}}})",
                      image::RuntimeRegistries{true, "", {"r.io"}}},
        RegistriesRow{"MirrorAndItsTls",
                      R"({"registry":{"mirrors":{"r.io":{}},"configs":{"r.io":{"tls":{"caFile":"/a"}}}}})",
                      image::RuntimeRegistries{true, "", {"r.io"}, true}},
        RegistriesRow{"ItsOwnUserAgent", R"({"registry":{"headers":{"User-Agent":["containerd/1.6.20"]}}})",
                      image::RuntimeRegistries{true, "", {}}},
        RegistriesRow{
            "StrangeName", "{\"registry\":{\"mirrors\":{\"r.io\\n\":{}}}}", {true, "", {"*"}, true}},
        RegistriesRow{"RelativePath", R"({"registry":{"configPath":"certs.d"}})", {true, "", {"*"}}},
        RegistriesRow{"PathWithALineBreak", R"({"registry":{"configPath":"/a\nb"}})", {true, "", {"*"}}},
        RegistriesRow{"TooManyMirrors", ManyMirrors(300), {true, "", {"*"}, true}},
        RegistriesRow{"WrongTypes", R"({"registry":{"configPath":7,"mirrors":[],"configs":"","headers":1}})",
                      image::RuntimeRegistries{true, "", {}}},
        RegistriesRow{"Containerd2", R"({"containerd":{},"cni":{}})", {}},
        RegistriesRow{"NoRegistry", R"({"registry":null})", {}}, RegistriesRow{"NotJson", "<html>", {}},
        RegistriesRow{"TooLong", R"({"registry":{"mirrors":{"r.io":{}}}})" + std::string(1 << 20, ' '), {}},
        RegistriesRow{"TooDeep", std::string(100000, '['), {}}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace prefetch::cri::runtime_json_test
