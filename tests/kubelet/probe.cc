#include "kubelet/probe.h"

#include <gtest/gtest.h>

#include <fstream>

#include "doc/json.h"
#include "doc/reader.h"
#include "golden.h"

namespace prefetch::tests {
namespace {

kubelet::FileContent Named(const Probe& probe, const std::string& folder, const std::string& name) {
  for (const auto& [path, content] : probe.files) {
    if (path == folder + kubelet::FileNameFor(name)) {
      return {kubelet::Reading::kFound, content};
    }
  }
  return {};
}

kubelet::Coordinates ReadCoordinates(doc::ObjectReader& object) {
  return {.uid = object.String("uid").value_or(""),
          .namespace_name = object.String("namespace").value_or(""),
          .name = object.String("name").value_or("")};
}

Probe ReadProbe(doc::ObjectReader& object) {
  Probe probe;
  probe.id = object.String("id").value_or("");
  probe.version = object.String("kubeletVersion").value_or("");
  probe.files = object.StringMap("files");
  probe.question.image = object.String("image").value_or("");
  probe.question.image_id = object.String("imageID").value_or("");
  probe.verification = object.String("verification").value_or("");
  probe.allowlist = object.Strings("allowlist");
  for (const doc::Reader& item : object.Items("podSecrets")) {
    doc::ObjectReader secret(item);
    probe.question.pod.secrets.push_back(
        {ReadCoordinates(secret), base::Secret(secret.String("credentialHash").value_or(""))});
  }
  if (auto account = object.Object("podServiceAccount")) {
    probe.question.pod.service_account = ReadCoordinates(*account);
  }
  probe.pull_policy = object.String("imagePullPolicy").value_or("");
  probe.observed = object.String("observed").value_or("");
  object.Finish();
  probe.question.record = Named(probe, "pulled/", probe.question.image_id);
  probe.question.intent = Named(probe, "pulling/", probe.question.image);
  return probe;
}

}  // namespace

std::vector<Probe> ReadProbes() {
  std::vector<Probe> probes;
  std::ifstream file(Testdata() + "/kubelet/kubelet-probes.jsonl", std::ios::binary);
  EXPECT_TRUE(file.is_open());
  std::string line;
  while (std::getline(file, line)) {
    doc::Problems problems("probe " + std::to_string(probes.size()));
    auto root = doc::ParseJson(line, problems);
    if (root) {
      doc::ObjectReader object(doc::Reader(*root, problems));
      probes.push_back(ReadProbe(object));
    }
    EXPECT_TRUE(problems.empty()) << problems.ToStatus().error().message();
  }
  return probes;
}

}  // namespace prefetch::tests
