#include "screen/document_words.h"

namespace prefetch::screen {
namespace {

std::string By(const std::string& source) {
  return source.empty() ? "" : " (" + source + ")";
}

}  // namespace

std::string KubeletWords(const StatusKubelet& kubelet) {
  if (kubelet.None()) return "no kubelet";
  return kubelet.version.empty() ? "kubelet of unknown version" : "kubelet " + kubelet.version;
}

std::string KubeletDetail(const StatusKubelet& kubelet) {
  std::string words =
      kubelet.version.empty() ? "of unknown version" : kubelet.version + By(kubelet.version_from);
  if (!kubelet.rules.empty()) words += ", by the rules of " + kubelet.rules;
  if (kubelet.verification.empty()) return words;
  return words + ", " + kubelet.verification + By(kubelet.verification_from);
}

}  // namespace prefetch::screen
