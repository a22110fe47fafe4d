// Records and intents as kubelet writes them, for tests that put files in place by hand.
#pragma once

#include <string>

namespace prefetch::tests {

inline constexpr const char* kOpenEntry = R"({"nodePodsAccessible":true})";
inline constexpr const char* kSecretEntry =
    R"({"kubernetesSecrets":[{"uid":"u1","namespace":"team","name":"pull","credentialHash":"h1"}]})";

// One repository with its entry.
inline std::string RecordText(const std::string& image_id, const std::string& repository,
                              const std::string& entry) {
  return R"({"kind":"ImagePulledRecord","apiVersion":"kubelet.config.k8s.io/v1beta1",)"
         R"("lastUpdatedTime":"2026-08-01T10:00:00Z","imageRef":")" +
         image_id + R"(","credentialMapping":{")" + repository + R"(":)" + entry + "}}\n";
}

inline std::string IntentText(const std::string& image) {
  return R"({"kind":"ImagePullIntent","apiVersion":"kubelet.config.k8s.io/v1beta1","image":")" + image +
         "\"}\n";
}

}  // namespace prefetch::tests
