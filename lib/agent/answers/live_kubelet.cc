#include "agent/answers/live_kubelet.h"

#include "base/secret.h"
#include "kubelet/record_files.h"

namespace prefetch::agent {
namespace {

kubelet::Coordinates ToCoordinates(const status::ObjectCoordinates& of) {
  return {.uid = of.uid, .namespace_name = of.namespace_name, .name = of.name};
}

}  // namespace

bool KnowsKubelet(const plan::Snapshot& snapshot) {
  return snapshot.kubelet && snapshot.possible_kubelets && !snapshot.possible_kubelets->empty();
}

kubelet::VerdictQuestion ReadKubeletFiles(const plan::Snapshot& snapshot, const std::string& written,
                                          const std::string& image_id) {
  kubelet::VerdictQuestion question{.image = written, .image_id = image_id};
  // An absent image is pulled whatever these files say.
  if (image_id.empty()) return question;
  question.record = kubelet::ReadRecordFile(snapshot.kubelet->root, image_id);
  question.intent = kubelet::ReadIntentFile(snapshot.kubelet->root, written);
  question.in_unknown_folder = kubelet::IsInUnknownDirectory(snapshot.kubelet->root, image_id, written);
  return question;
}

kubelet::Verdict KubeletVerdict(const plan::Snapshot& snapshot, const std::string& image_id,
                                const status::CheckQuestion& question) {
  kubelet::VerdictQuestion files = ReadKubeletFiles(snapshot, question.image, image_id);
  for (const status::ObjectCoordinates& secret : question.identity.secrets) {
    // The hash is unknown: only UID, namespace and name of a secret are compared (K25).
    files.pod.secrets.push_back({ToCoordinates(secret), base::Secret()});
  }
  if (question.identity.service_account) {
    files.pod.service_account = ToCoordinates(*question.identity.service_account);
  }
  return kubelet::VerdictsFor(files, *snapshot.possible_kubelets).For(question.policy);
}

}  // namespace prefetch::agent
