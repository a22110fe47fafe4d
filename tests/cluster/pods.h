// Pods that ask kubelet one question: would you start a container of this image?
#pragma once

#include <string>
#include <vector>

#include "cluster/api.h"

namespace prefetch::cluster {

// One pod with a container for each image; their command exists in no image, so nothing ever runs.
struct Question {
  std::string policy = "Never";  // imagePullPolicy
  std::vector<std::string> images;
  std::string namespace_name = "default";
  std::vector<std::string> secrets = {};  // imagePullSecrets
  // The images are volumes of one container, whose own image is the first.
  bool as_volumes = false;
};

enum class PodAnswer {
  kStarts,      // the container was created from the image that is here
  kPulls,       // kubelet pulled, and then created it
  kPullFailed,  // kubelet pulled in vain
  kRefused,     // ErrImageNeverPull
  kOther,       // something else is wrong; the text says what
};

struct Answered {
  PodAnswer answer = PodAnswer::kOther;
  std::string text;  // reason and message
};

const char* NameOf(PodAnswer answer);

// Asks kubelet through the API server by pods on the Node "n1", which are removed again. One thread owns it.
class PodAsker {
 public:
  explicit PodAsker(Api api) : api_(std::move(api)) {}

  // All pods side by side; answers[q][i] is about questions[q].images[i].
  std::vector<std::vector<Answered>> Ask(const std::vector<Question>& questions);
  std::vector<Answered> Ask(const Question& question) { return Ask(std::vector<Question>{question})[0]; }
  // Makes the pod and leaves it; its name.
  std::string Make(const Question& question);
  void Remove(const Question& question, const std::string& pod);

  Api& api() { return api_; }

 private:
  std::string PodJson(const Question& question, const std::string& name) const;
  std::vector<Answered> AnswersOf(const Question& question, const std::string& name, bool& all);

  Api api_;
  int made_ = 0;
};

// Namespaces and secrets that pods need; a failure fails the test.
void MakeNamespace(Api& api, const std::string& name);
// A pull secret for one registry; replaces its content, or makes it. Its UID.
std::string PutPullSecret(Api& api, const std::string& namespace_name, const std::string& name,
                          const std::string& host, const std::string& user, const std::string& password);

}  // namespace prefetch::cluster
