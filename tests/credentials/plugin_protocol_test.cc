#include "credentials/plugin.h"

#include <gtest/gtest.h>

#include <string>

namespace prefetch::credentials::plugin_protocol_test {
namespace {

using std::chrono::nanoseconds;

constexpr char kV1[] = "credentialprovider.kubelet.k8s.io/v1";

TEST(EncodeRequest, AsKubeletEmitsIt) {
  PluginRequest request{.api_version = kV1,
                        .image = "reg.io/team/app",
                        .service_account_token = {},
                        .service_account_annotations = {}};
  EXPECT_EQ(EncodeRequest(request).Reveal(),
            "{\"kind\":\"CredentialProviderRequest\",\"apiVersion\":\"credentialprovider.kubelet.k8s.io/v1\","
            "\"image\":\"reg.io/team/app\"}\n");
  request.service_account_token = base::Secret("<jwt>");
  request.service_account_annotations = {{"k", "v"}, {"b", "\""}};
  EXPECT_EQ(EncodeRequest(request).Reveal(),
            "{\"kind\":\"CredentialProviderRequest\",\"apiVersion\":\"credentialprovider.kubelet.k8s.io/v1\","
            "\"image\":\"reg.io/team/app\",\"serviceAccountToken\":\"\\u003cjwt\\u003e\","
            "\"serviceAccountAnnotations\":{\"b\":\"\\\"\",\"k\":\"v\"}}\n");
}

struct Row {
  std::string name;
  std::string body;    // after kind and apiVersion
  std::string expect;  // "type duration key=user:password;…" or part of the error
  unsigned minor = 36;
};

void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}

std::string Show(const PluginResponse& response) {
  std::string text = response.cache_key_type == CacheKeyType::kImage      ? "Image"
                     : response.cache_key_type == CacheKeyType::kRegistry ? "Registry"
                                                                          : "Global";
  text += response.cache_duration ? " " + std::to_string(response.cache_duration->count()) : " default";
  for (const KeyedAuth& auth : response.auth) {
    text += " " + auth.key + "=" + auth.auth.username + ":" + std::string(auth.auth.password.Reveal());
  }
  return text;
}

class DecodeResponseTest : public testing::TestWithParam<Row> {};

TEST_P(DecodeResponseTest, InEveryVersion) {
  for (std::string version : {"v1alpha1", "v1beta1", "v1"}) {
    std::string api_version = "credentialprovider.kubelet.k8s.io/" + version;
    std::string text =
        R"({"kind":"CredentialProviderResponse","apiVersion":")" + api_version + "\"" + GetParam().body + "}";
    base::Result<PluginResponse> response =
        DecodeResponse(text, api_version, image::KubeletVersion{1, GetParam().minor});
    std::string seen = response.ok() ? Show(*response) : response.error().message();
    EXPECT_NE(seen.find(GetParam().expect), std::string::npos) << seen;
    EXPECT_EQ(response.ok(), !GetParam().expect.starts_with("the response")) << seen;
    EXPECT_EQ(response.ok() ? "" : seen.substr(0, seen.find("hunter2")), response.ok() ? "" : seen);
  }
}

const char kDoesNot[] = "the response does not decode";
const char kBadType[] = "the response's cacheKeyType";

INSTANTIATE_TEST_SUITE_P(
    Body, DecodeResponseTest,
    testing::Values(
        Row{"Image", R"(,"cacheKeyType":"Image","auth":{"r.io":{"username":"u","password":"p"}})",
            "Image default r.io=u:p"},
        Row{"Registry", R"(,"cacheKeyType":"Registry","cacheDuration":"10m")", "Registry 600000000000"},
        Row{"Global", R"(,"cacheKeyType":"Global","cacheDuration":"0s","auth":{})", "Global 0"},
        Row{"NegativeDuration", R"(,"cacheKeyType":"Global","cacheDuration":"-1s")", "Global -1000000000"},
        Row{"NullDuration", R"(,"cacheKeyType":"Global","cacheDuration":null,"auth":null)", "Global default"},
        Row{"EmptyStrings", R"(,"cacheKeyType":"Image","auth":{"r.io":{"username":"","password":""}})",
            "Image default r.io=:"},
        Row{"NullEntry", R"(,"cacheKeyType":"Image","auth":{"r.io":null})", "Image default r.io=:"},
        Row{"NoCacheKeyType", R"(,"auth":{})", kBadType},
        Row{"UnknownCacheKeyType", R"(,"cacheKeyType":"registry")", kBadType},
        Row{"NumberForDuration", R"(,"cacheKeyType":"Image","cacheDuration":600)", kDoesNot},
        Row{"BadDuration", R"(,"cacheKeyType":"Image","cacheDuration":"10")", kDoesNot},
        Row{"UnknownField", R"(,"cacheKeyType":"Image","hunter2":1)", kDoesNot},
        Row{"UnknownFieldIn131", R"(,"cacheKeyType":"Image","hunter2":1)", "Image default", 31},
        Row{"UnknownFieldOfAnEntry", R"(,"cacheKeyType":"Image","auth":{"r.io":{"hunter2":"x"}})", kDoesNot},
        Row{"DuplicateField", R"(,"cacheKeyType":"Image","cacheKeyType":"Image")", kDoesNot},
        Row{"DuplicateFieldIn131", R"(,"cacheKeyType":"Image","cacheKeyType":"Global")", "Global", 31},
        Row{"CaseOfKeys", R"(,"CacheKeyType":"Image")", kDoesNot},
        Row{"NumberForPassword", R"(,"cacheKeyType":"Image","auth":{"r.io":{"password":5}})", kDoesNot},
        Row{"AuthIsAList", R"(,"cacheKeyType":"Image","auth":[])", kDoesNot}),
    [](const auto& row) { return row.param.name; });

TEST(DecodeResponse, ChecksInOrder) {
  auto decode = [](const std::string& text) {
    base::Result<PluginResponse> response = DecodeResponse(text, kV1, {});
    return response.ok() ? "ok" : response.error().message();
  };
  std::string good =
      R"({"kind":"CredentialProviderResponse","apiVersion":"credentialprovider.kubelet.k8s.io/v1","cacheKeyType":"Image"})";
  EXPECT_EQ(decode(good), "ok");
  EXPECT_EQ(decode(good + "\n"), "ok");
  EXPECT_EQ(decode(good + "x"), "the response is not JSON");
  EXPECT_EQ(decode(""), "the response is not JSON");
  EXPECT_EQ(decode("kind: CredentialProviderResponse"), "the response is not JSON");
  EXPECT_EQ(decode("{}"), "the response's apiVersion is not credentialprovider.kubelet.k8s.io/v1");
  EXPECT_EQ(
      decode(
          R"({"kind":"CredentialProviderResponse","apiVersion":"credentialprovider.kubelet.k8s.io/v1beta1"})"),
      "the response's apiVersion is not credentialprovider.kubelet.k8s.io/v1");
  EXPECT_EQ(
      decode(R"({"kind":"CredentialProviderRequest","apiVersion":"credentialprovider.kubelet.k8s.io/v1"})"),
      "the response's kind is not CredentialProviderResponse");
}

}  // namespace
}  // namespace prefetch::credentials::plugin_protocol_test
