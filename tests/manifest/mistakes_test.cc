#include <gtest/gtest.h>

#include "base/text.h"
#include "manifest/read.h"

namespace prefetch::manifest::mistakes_test {
namespace {

struct MistakeCase {
  std::string name, text;
  std::string expect;    // all lines
  std::size_t uses = 0;  // that are found all the same
};

std::string Pod(const std::string& spec) {
  return "apiVersion: v1\nkind: Pod\nspec: " + spec + "\n";
}
std::string Deployment(const std::string& spec) {
  return "apiVersion: apps/v1\nkind: Deployment\nspec: " + spec + "\n";
}

TEST(MistakesTest, AreSaidWithTheirPlace) {
  const MistakeCase rows[] = {
      {"NoImage", Pod("{containers: [{name: a}]}"), "x.yaml:3:21: spec.containers[0].image: is required"},
      {"NullImage", Pod("{containers: [{image: null}]}"),
       "x.yaml:3:29: spec.containers[0].image: is required"},
      {"EmptyImage", Pod("{initContainers: [{image: ''}]}"),
       "x.yaml:3:33: spec.initContainers[0].image: must name an image"},
      {"BlankImage", Pod("{ephemeralContainers: [{image: ' '}]}"),
       "x.yaml:3:38: spec.ephemeralContainers[0].image: must name an image"},
      {"EmptyImageInATemplate", Deployment("{template: {spec: {containers: [{image: ''}]}}}"),
       "x.yaml:3:47: spec.template.spec.containers[0].image: must name an image"},
      {"NoVolumeReference", Pod("{volumes: [{name: v, image: {}}]}"),
       "x.yaml:3:35: spec.volumes[0].image.reference: is required"},
      {"ImageIsANumber", Pod("{containers: [{image: 5}]}"),
       "x.yaml:3:29: spec.containers[0].image: must be a string, not an integer; put it in quotes"},
      {"ImageIsAMapping", Pod("{containers: [{image: {repository: a}}]}"),
       "x.yaml:3:29: spec.containers[0].image: must be a string, not a mapping"},
      {"VolumeImageIsAString", Pod("{volumes: [{image: a}]}"),
       "x.yaml:3:26: spec.volumes[0].image: must be a mapping, not a string"},
      {"UnknownPolicy", Pod("{containers: [{image: a, imagePullPolicy: always}]}"),
       "x.yaml:3:49: spec.containers[0].imagePullPolicy: must be Always, IfNotPresent or Never", 1},
      {"PolicyIsABoolean", Pod("{volumes: [{image: {reference: a, pullPolicy: true}}]}"),
       "x.yaml:3:53: spec.volumes[0].image.pullPolicy: must be Always, IfNotPresent or Never", 1},
      {"ContainersIsAMapping", Pod("{containers: {image: a}}"),
       "x.yaml:3:20: spec.containers: must be a sequence, not a mapping"},
      {"ContainerIsAString", Pod("{containers: [a, {image: b}]}"),
       "x.yaml:3:21: spec.containers[0]: must be a mapping, not a string", 1},
      {"ContainerIsNull", Pod("{containers: [null]}"),
       "x.yaml:3:21: spec.containers[0]: must be a mapping, not null"},
      {"ContainerNameIsABoolean", Pod("{containers: [{name: yes, image: a}]}"),
       "x.yaml:3:28: spec.containers[0].name: must be a string; Kubernetes takes this word for "
       "a boolean, "
       "so put it in quotes",
       1},
      {"SpecIsASequence", Pod("[{containers: []}]"), "x.yaml:3:7: spec: must be a mapping, not a sequence"},
      {"TemplateIsAString", Deployment("{template: a}"),
       "x.yaml:3:18: spec.template: must be a mapping, not a string"},
      {"SpecOfADeploymentIsAString", Deployment("a"), "x.yaml:3:7: spec: must be a mapping, not a string"},
      {"SecretIsAString", Pod("{imagePullSecrets: [a], containers: [{image: a}]}"),
       "x.yaml:3:27: spec.imagePullSecrets[0]: must be a mapping, not a string", 1},
      {"ServiceAccountIsANumber", Pod("{serviceAccountName: 5}"),
       "x.yaml:3:28: spec.serviceAccountName: must be a string, not an integer; put it in quotes"},
      {"NameIsANumber", "apiVersion: v1\nkind: Pod\nmetadata: {name: 5}\n",
       "x.yaml:3:18: metadata.name: must be a string, not an integer; put it in quotes"},
      {"NoKind", "apiVersion: v1\nspec: {containers: [{image: a}]}\n", "x.yaml:1:1: kind: is required"},
      {"NoApiVersion", "kind: Pod\n", "x.yaml:1:1: apiVersion: is required"},
      {"EmptyKind", "apiVersion: v1\nkind: ''\n", "x.yaml:2:7: kind: must not be empty"},
      {"KindIsANumber", "apiVersion: v1\nkind: 7\n",
       "x.yaml:2:7: kind: must be a string, not an integer; put it in quotes"},
      {"NoObject", "just text\n", "x.yaml:1:1: must be a mapping, not a string"},
      {"NoObjectInAList", "apiVersion: v1\nkind: List\nitems: [5]\n",
       "x.yaml:3:9: items[0]: must be a mapping, not an integer"},
      {"ItemsIsAMapping", "apiVersion: v1\nkind: List\nitems: {a: b}\n",
       "x.yaml:3:8: items: must be a sequence, not a mapping"},
      {"InAList",
       "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n"
       "  spec: {containers: [{image: 5}]}\n",
       "x.yaml:6:31: items[0].spec.containers[0].image: must be a string, not an integer; put it in "
       "quotes"},
      {"InTheSecondDocument", Pod("{containers: [{image: a}]}") + "---\n" + Pod("{containers: 5}"),
       "x.yaml:7:20: spec.containers: must be a sequence, not an integer", 1},
      {"SeveralAtOnce", Pod("{containers: [{image: 5}, {image: a, imagePullPolicy: x}, {}]}"),
       "x.yaml:3:29: spec.containers[0].image: must be a string, not an integer; put it in quotes\n"
       "x.yaml:3:61: spec.containers[1].imagePullPolicy: must be Always, IfNotPresent or Never\n"
       "x.yaml:3:65: spec.containers[2].image: is required",
       1},
      {"InACustomResource", "apiVersion: a/v1\nkind: X\nspec: {pods: {containers: [{image: 5}]}}\n",
       "x.yaml:3:36: spec.pods.containers[0].image: must be a string, not an integer; put it in quotes"},
      // Not once for each step that lacks the field.
      {"InAStepTemplate",
       "apiVersion: tekton.dev/v1\nkind: Task\nspec:\n  stepTemplate: {imagePullPolicy: x}\n"
       "  steps: [{image: a:1}, {image: b:1}]\n",
       "x.yaml:4:35: spec.stepTemplate.imagePullPolicy: must be Always, IfNotPresent or Never", 2},
      {"MergeOfNoMapping", Pod("{containers: [{<<: a, image: b}]}"), "x.yaml:3:26: << must name mappings"},
      {"JsonCutOff", "{\"kind\": \"Pod\",\n\"apiVersion\"", "x.yaml:2:13: a colon is expected here"},
      {"TemplateOfATool", "apiVersion: v1\nkind: {{ .Kind }}\n", "x.yaml:2:8: a key must be a string"},
      {"Binary", std::string("\0\1", 2), "x.yaml:1:1: control characters are not allowed"},
      {"TooLong", std::string((10 << 20) + 1, '#'), "x.yaml: is longer than 10485760 bytes"},
      {"TooDeep", "apiVersion: v1\nkind: X\nspec: " + std::string(101, '[') + std::string(101, ']'),
       "x.yaml:3:106: is nested deeper than 100 levels"},
  };
  for (const MistakeCase& row : rows) {
    SCOPED_TRACE(row.name);
    doc::Problems problems("x.yaml");
    Manifests manifests = ReadManifests(row.text, problems, {.pod_template_paths = {"spec.pods"}});
    EXPECT_EQ(base::Join(problems.Lines(), "\n"), row.expect);
    EXPECT_EQ(manifests.uses.size(), row.uses);
  }
}

}  // namespace
}  // namespace prefetch::manifest::mistakes_test
