#include "image/pod_coordinates.h"

#include <algorithm>

#include "base/text.h"

namespace prefetch::image {

namespace {

std::string NameAndUid(const Coordinates& of) {
  std::string text = of.namespace_name + "/" + of.name;
  // The UID is what kubelet compares, so it is shown where one is known.
  return of.uid.empty() ? text : text + " (UID " + of.uid + ")";
}

}  // namespace

std::string TextOf(const PodCredentialRefs& pod) {
  std::vector<std::string> parts;
  if (!pod.secrets.empty()) {
    std::vector<std::string> secrets;
    // All that tells two pods apart is in the text: it is used as a key (VerdictReader).
    for (const Coordinates& secret : pod.secrets) secrets.push_back(NameAndUid(secret));
    parts.push_back((secrets.size() == 1 ? "secret " : "secrets ") + base::Join(secrets, ", "));
  }
  if (pod.service_account) parts.push_back("service account " + NameAndUid(*pod.service_account));
  return base::Join(parts, " and ");
}

std::string DescribeCredentials(const PodCredentialRefs& pod) {
  return DescribeCredentials(TextOf(pod));
}

std::string DescribeCredentials(const std::string& text) {
  return text.empty() ? "without pull secrets" : "with " + text;
}

bool Selects(const NodeLabels& selector, const NodeLabels& labels) {
  return std::all_of(selector.begin(), selector.end(), [&](const auto& pair) {
    auto label = labels.find(pair.first);
    return label != labels.end() && label->second == pair.second;
  });
}

}  // namespace prefetch::image
