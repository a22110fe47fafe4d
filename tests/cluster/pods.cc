#include "cluster/pods.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "base/text.h"
#include "rig/process.h"

namespace prefetch::cluster {
namespace {

constexpr std::chrono::seconds kAnswerLimit{40}, kEventLimit{8};
constexpr const char* kNoEvent = "no event says whether it was pulled";

std::string PodsPath(const std::string& namespace_name) {
  return "/api/v1/namespaces/" + namespace_name + "/pods";
}

std::string ContainerJson(const std::string& name, const std::string& image, const std::string& policy,
                          const std::string& mounts) {
  return R"({"name":")" + name + R"(","image":)" + Quote(image) + R"(,"imagePullPolicy":")" + policy +
         R"(","command":["/no/such/program"])" + mounts + "}";
}

PodAnswer OfWaiting(const std::string& reason) {
  if (reason == "ErrImageNeverPull") return PodAnswer::kRefused;
  if (reason == "ErrImagePull" || reason == "ImagePullBackOff" || reason == "RegistryUnavailable" ||
      reason == "SignatureValidationFailed")
    return PodAnswer::kPullFailed;
  if (reason == "CreateContainerError" || reason == "RunContainerError" || reason == "CrashLoopBackOff")
    return PodAnswer::kStarts;
  return PodAnswer::kOther;
}

// By its field path, "spec.containers{c0}": whether kubelet pulled the container's image. Where a container
// cannot be created without its program, as on CRI-O, kubelet tries again, and then has the image.
std::map<std::string, bool> PulledByEvents(const doc::Node& events) {
  std::map<std::string, bool> pulled;
  for (const doc::Node& event : doc::ItemsAt(events, {"items"})) {
    if (doc::TextAt(event, {"reason"}) != "Pulled") continue;
    bool& once = pulled[doc::TextAt(event, {"involvedObject", "fieldPath"})];
    once = once || doc::TextAt(event, {"message"}).find("already present") == std::string::npos;
  }
  return pulled;
}

const doc::Node* StatusOf(const doc::Node& pod, const std::string& container) {
  for (const doc::Node& status : doc::ItemsAt(pod, {"status", "containerStatuses"})) {
    if (doc::TextAt(status, {"name"}) == container) return &status;
  }
  return nullptr;
}

// Nothing is decided as long as `decided` stays false.
Answered OfState(const doc::Node& status, bool& decided) {
  Answered answered;
  if (doc::ValueAt(status, {"state", "terminated"}) != nullptr ||
      doc::ValueAt(status, {"state", "running"}) != nullptr) {
    decided = true;
    return {PodAnswer::kStarts, doc::TextAt(status, {"state", "terminated", "reason"})};
  }
  const std::string reason = doc::TextAt(status, {"state", "waiting", "reason"});
  if (reason.empty() || reason == "ContainerCreating" || reason == "PodInitializing") return answered;
  decided = true;
  return {OfWaiting(reason), reason + ": " + doc::TextAt(status, {"state", "waiting", "message"})};
}

}  // namespace

const char* NameOf(PodAnswer answer) {
  switch (answer) {
    case PodAnswer::kStarts:
      return "starts";
    case PodAnswer::kPulls:
      return "pulls";
    case PodAnswer::kPullFailed:
      return "fails to pull";
    case PodAnswer::kRefused:
      return "is refused";
    case PodAnswer::kOther:
      return "is in other trouble";
  }
  return "";
}

std::string PodAsker::PodJson(const Question& question, const std::string& name) const {
  std::string secrets, containers, volumes;
  for (const std::string& secret : question.secrets)
    secrets += (secrets.empty() ? "" : ",") + std::string(R"({"name":")") + secret + "\"}";
  std::string mounts;
  for (std::size_t i = 0; i < question.images.size(); i++) {
    const std::string index = std::to_string(i);
    if (question.as_volumes) {
      volumes += std::string(volumes.empty() ? "" : ",") + R"({"name":"v)" + index +
                 R"(","image":{"reference":)" + Quote(question.images[i]) + R"(,"pullPolicy":")" +
                 question.policy + "\"}}";
      mounts += std::string(mounts.empty() ? "" : ",") + R"({"name":"v)" + index + R"(","mountPath":"/v)" +
                index + "\"}";
    } else {
      containers += (containers.empty() ? "" : ",") +
                    ContainerJson("c" + index, question.images[i], question.policy, "");
    }
  }
  if (question.as_volumes) {
    mounts = ",\"volumeMounts\":[" + mounts + "]";
    containers = ContainerJson("c0", question.images[0], question.policy, mounts);
  }
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name + R"("},"spec":{"nodeName":"n1",)" +
         R"("hostNetwork":true,"restartPolicy":"Never","terminationGracePeriodSeconds":0,)" +
         R"("automountServiceAccountToken":false,"enableServiceLinks":false,"tolerations":[{"operator":"Exists"}],)" +
         R"("imagePullSecrets":[)" + secrets + "],\"volumes\":[" + volumes + "],\"containers\":[" +
         containers + "]}}";
}

std::string PodAsker::Make(const Question& question) {
  std::string name = "asks-" + std::to_string(++made_);
  ApiAnswer made = api_.Post(PodsPath(question.namespace_name), PodJson(question, name));
  EXPECT_TRUE(made.ok()) << made.status << " " << made.text;
  return name;
}

void PodAsker::Remove(const Question& question, const std::string& pod) {
  (void)api_.Kill(PodsPath(question.namespace_name) + "/" + pod);
}

std::vector<Answered> PodAsker::AnswersOf(const Question& question, const std::string& name, bool& all) {
  std::vector<Answered> answers(question.images.size());
  doc::Node pod = api_.Get(PodsPath(question.namespace_name) + "/" + name).body;
  all = true;
  bool starts = false;
  for (std::size_t i = 0; i < answers.size(); i++) {
    const doc::Node* status = StatusOf(pod, question.as_volumes ? "c0" : "c" + std::to_string(i));
    bool decided = false;
    if (status != nullptr) answers[i] = OfState(*status, decided);
    all = all && decided;
    starts = starts || answers[i].answer == PodAnswer::kStarts;
  }
  if (!all || !starts || question.policy == "Never" || question.as_volumes) return answers;
  // Whether it was pulled is in the events, which come a little later.
  doc::Node events =
      api_.Get("/api/v1/namespaces/" + question.namespace_name +
               "/events?fieldSelector=involvedObject.uid%3D" + doc::TextAt(pod, {"metadata", "uid"}))
          .body;
  auto pulled = PulledByEvents(events);
  for (std::size_t i = 0; i < answers.size(); i++) {
    if (answers[i].answer != PodAnswer::kStarts) continue;
    auto event = pulled.find("spec.containers{c" + std::to_string(i) + "}");
    if (event == pulled.end()) {
      answers[i].text = kNoEvent;
      all = false;
    }
    if (event != pulled.end() && event->second) answers[i].answer = PodAnswer::kPulls;
  }
  return answers;
}

std::vector<std::vector<Answered>> PodAsker::Ask(const std::vector<Question>& questions) {
  std::vector<std::string> names;
  for (const Question& question : questions) names.push_back(question.images.empty() ? "" : Make(question));
  std::vector<std::vector<Answered>> answers(questions.size());
  for (std::size_t i = 0; i < questions.size(); i++) {
    if (names[i].empty()) continue;
    auto waits = [&](const Answered& answered) { return answered.text == kNoEvent; };
    auto seen = std::chrono::steady_clock::time_point::max();
    bool all = rig::Eventually(kAnswerLimit, [&] {
      bool decided = false;
      answers[i] = AnswersOf(questions[i], names[i], decided);
      if (decided || !std::any_of(answers[i].begin(), answers[i].end(), waits)) return decided;
      const auto now = std::chrono::steady_clock::now();
      seen = std::min(seen, now);
      return now - seen > kEventLimit;  // events are best effort
    });
    for (Answered& answered : answers[i]) {
      if (waits(answered)) answered.answer = PodAnswer::kOther;
    }
    EXPECT_TRUE(all) << "kubelet says nothing of the pod: "
                     << api_.Get(PodsPath(questions[i].namespace_name) + "/" + names[i]).text;
    Remove(questions[i], names[i]);
  }
  return answers;
}

void MakeNamespace(Api& api, const std::string& name) {
  ApiAnswer made = api.Post("/api/v1/namespaces",
                            R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")" + name + "\"}}");
  EXPECT_TRUE(made.ok() || made.status == 409) << made.text;
  EXPECT_TRUE(rig::Eventually(
      std::chrono::seconds(20),
      [&] { return api.Get("/api/v1/namespaces/" + name + "/serviceaccounts/default").status == 200; }))
      << "kube-controller-manager made no service account in " << name;
}

std::string PutPullSecret(Api& api, const std::string& namespace_name, const std::string& name,
                          const std::string& host, const std::string& user, const std::string& password) {
  const std::string path = "/api/v1/namespaces/" + namespace_name + "/secrets";
  const std::string config =
      R"({"auths":{")" + host + R"(":{"username":")" + user + R"(","password":")" + password + "\"}}}";
  const std::string body = R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":")" + name +
                           R"("},"type":"kubernetes.io/dockerconfigjson","data":{".dockerconfigjson":")" +
                           base::Base64Encode(config) + "\"}}";
  ApiAnswer put = api.Put(path + "/" + name, body);
  if (put.status == 404) put = api.Post(path, body);
  EXPECT_TRUE(put.ok()) << put.text;
  return put.At({"metadata", "uid"});
}

}  // namespace prefetch::cluster
