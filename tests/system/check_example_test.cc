// deploy/examples/check-init-container.yaml.

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "doc/problems.h"
#include "doc/yaml.h"
#include "manifest/read.h"
#include "system/check_rig.h"

namespace prefetch::system::check_example_test {
namespace {

class Example : public Check {
 protected:
  Example() {
    const char* folder = std::getenv("PREFETCH_EXAMPLES");
    EXPECT_NE(folder, nullptr) << "run the tests by tests/run or meson test";
    path_ = std::string(folder == nullptr ? "" : folder) + "/check-init-container.yaml";
    std::ifstream in(path_);
    text_.assign(std::istreambuf_iterator<char>(in), {});
  }

  // The pod's only init container; a mistake fails the test.
  doc::Node InitContainer() {
    doc::Problems problems("example");
    auto root = doc::ParseYaml(text_, problems);
    EXPECT_TRUE(root && problems.empty());
    const doc::Node* spec = root ? root->Find("spec") : nullptr;
    const doc::Node* containers = spec == nullptr ? nullptr : spec->Find("initContainers");
    EXPECT_TRUE(containers != nullptr && containers->items.size() == 1);
    return containers == nullptr || containers->items.empty() ? doc::Node::Mapping() : containers->items[0];
  }
  Words WordsOf(const doc::Node& container, const std::string& name) {
    Words words;
    if (const doc::Node* list = container.Find(name)) {
      for (const doc::Node& item : list->items) words.push_back(item.text);
    }
    return words;
  }

  std::string path_;
  std::string text_;
};

TEST_F(Example, ChecksTheImagesOfItsOwnPodAsStronglyAsTheyAreAskedFor) {
  doc::Problems problems("example");
  manifest::Manifests manifests = manifest::ReadManifests(text_, problems);
  EXPECT_TRUE(problems.empty());
  doc::Node init = InitContainer();
  EXPECT_EQ(WordsOf(init, "command"), Words{"/usr/bin/prefetchctl"});
  Words arguments = WordsOf(init, "args");
  ASSERT_FALSE(arguments.empty());
  EXPECT_EQ(arguments[0], "check");
  std::size_t checked = 0;
  for (const manifest::ImageUse& use : manifests.uses) {
    if (use.kind == manifest::UseKind::kInitContainer) continue;
    auto at = std::find(arguments.begin(), arguments.end(), "--image=" + use.image);
    ASSERT_NE(at, arguments.end()) << use.image;
    bool stated = at + 1 != arguments.end() && (at + 1)->starts_with("--policy=");
    std::string policy(image::PullPolicyName(stated ? use.policy : image::DefaultPullPolicy(*use.reference)));
    EXPECT_EQ(policy, image::PullPolicyName(use.policy)) << use.image;
    if (stated) {
      EXPECT_EQ(*(at + 1), "--policy=" + policy);
    }
    checked++;
  }
  EXPECT_EQ(checked, 2U);
}

TEST_F(Example, ItsArgumentsAreUnderstoodAndItsLastWordsTellImageNodeAndReason) {
  auto server = Serve([](const http::ServerRequest& request) {
    http::ServerRequest closed = request;
    closed.body = base::ReplaceAll(request.body, "worker:v1", "worker:closed");
    return AnswerAll(closed);
  });
  Words arguments = WordsOf(InitContainer(), "args");
  ASSERT_FALSE(arguments.empty());
  arguments.erase(arguments.begin());
  for (std::string& argument : arguments) {
    argument = base::ReplaceAll(argument, "[$(NODE_IP)]:9477", "127.0.0.1:" + std::to_string(server->port()));
  }
  rig::Ran ran = Run("", arguments);
  EXPECT_EQ(ran.exit, (rig::Exit{1, 0})) << ran.err;
  std::string last = ran.out.size() <= 2048 ? ran.out : ran.out.substr(ran.out.size() - 2048);
  for (const char* part : {"quay.io/acme/worker:v1", "ci-7", "RecordedForOthers", "2 secrets only"}) {
    EXPECT_NE(last.find(part), std::string::npos) << part << "\n" << ran.out;
  }
}

TEST_F(Example, AsksForNoRightAndIsRestricted) {
  doc::Problems problems("example");
  auto root = doc::ParseYaml(text_, problems);
  ASSERT_TRUE(root);
  EXPECT_FALSE(root->Find("spec")->Find("automountServiceAccountToken")->boolean);
  doc::Node init = InitContainer();
  EXPECT_EQ(init.Find("terminationMessagePolicy")->text, "FallbackToLogsOnError");
  const doc::Node* security = init.Find("securityContext");
  ASSERT_NE(security, nullptr);
  // What the Pod Security Standard "restricted" asks for.
  EXPECT_FALSE(security->Find("allowPrivilegeEscalation")->boolean);
  EXPECT_TRUE(security->Find("runAsNonRoot")->boolean);
  EXPECT_EQ(security->Find("capabilities")->Find("drop")->items.at(0).text, "ALL");
  EXPECT_EQ(security->Find("seccompProfile")->Find("type")->text, "RuntimeDefault");
}

}  // namespace
}  // namespace prefetch::system::check_example_test
