#include "manifest/read.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>

#include "base/text.h"

namespace prefetch::manifest::read_test {
namespace {

using image::PullPolicy;

struct ReadCase {
  std::string name, text;
  std::string expect;  // a line a use, see Shown(); then what was passed over
  ReadOptions options = {};
};

// "5:12 nginx:1 IfNotPresent! container web of Deployment shop/web": "!" is an explicit policy, "?" an
// unknown one.
std::string Shown(const ImageUse& use) {
  return std::to_string(use.at.line) + ":" + std::to_string(use.at.column) + " " + use.image + " " +
         std::string(base::EnumName(use.policy)) +
         (use.explicit_policy ? "! "
          : use.policy_known  ? " "
                              : "? ") +
         std::string(UseKindName(use.kind)) + " " + use.name + " of " + PodTitle(*use.pod);
}

// Is it the image that begins at its place, behind a quote, a tag or an anchor perhaps, or an alias of it?
bool StandsAt(std::string_view text, const ImageUse& use) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::string_view line = base::Split(text, '\n').at(use.at.line - 1).substr(use.at.column - 1);
  return line.starts_with(use.image) ||
         std::string_view("\"'!&*").find(line.front()) != std::string_view::npos;
}

std::string Shown(const Manifests& manifests) {
  std::string text;
  for (const ImageUse& use : manifests.uses) text += Shown(use) + "\n";
  for (const auto* images : {&manifests.references, &manifests.unresolved}) {
    for (const UnseenImage& image : *images) {
      text += std::to_string(image.at.line) + ":" + std::to_string(image.at.column) + " " + image.why + "\n";
    }
  }
  for (const UnseenImage& object : manifests.unread) {
    text += std::to_string(object.at.line) + ":" + std::to_string(object.at.column) +
            " unread: " + object.why + "\n";
  }
  for (const auto& passed : manifests.skipped) {
    text += "passed over: " + std::to_string(passed.second) + " " + passed.first + "\n";
  }
  return text;
}

std::string Workload(const std::string& api_version, const std::string& kind, const std::string& path) {
  std::string text = "apiVersion: " + api_version + "\nkind: " + kind + "\nmetadata: {name: w}\n";
  std::string indent;
  for (std::string_view step : base::Split(path, '.')) {
    text += indent + std::string(step) + ":\n";
    indent += "  ";
  }
  return text + indent + "spec: {containers: [{name: c, image: a:1}]}\n";
}

ReadCase WorkloadRow(const std::string& name, const std::string& api_version, const std::string& kind,
                     const std::string& path, const std::string& at) {
  return {
      name, Workload(api_version, kind, path), at + " a:1 IfNotPresent container c of " + kind + " w\n", {}};
}

const char kFullPod[] = R"(apiVersion: v1
kind: Pod
metadata:
  namespace: shop
  name: web
  labels: {anything: [goes, {here: 5}]}
spec:
  nodeSelector: 17
  initContainers:
  - name: setup
    image: busybox
  - name: proxy
    image: reg:5000/mesh/proxy:2
    restartPolicy: Always
  containers:
  - name: web
    image: "reg:5000/shop/web:latest@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
    env: [{name: X, value: y}]
  - name: log
    imagePullPolicy: Never
    image: &log reg:5000/shop/log:1
  - image: *log
    imagePullPolicy: ""
  ephemeralContainers:
  - name: debug
    image: debug:1
    imagePullPolicy: IfNotPresent
    targetContainerName: web
  volumes:
  - name: data
    emptyDir: {}
  - name: model
    image:
      reference: reg:5000/models/m
  - name: pinned
    image: {reference: 'reg:5000/models/n:1', pullPolicy: Always}
)";

// Tekton and Argo: `spec` is what stands behind it.
std::string OfWorkflow(const std::string& type, const std::string& spec) {
  const std::size_t slash = type.rfind('/');
  return "apiVersion: " + type.substr(0, slash) + "\nkind: " + type.substr(slash + 1) +
         "\nmetadata: {name: w}\nspec:\n" + spec;
}

const char kSteps[] = "{steps: [{name: s, image: a:1}], sidecars: [{name: t, image: b}]}\n";

TEST(FindPods, LeavesOutContainersThatAreInOtherPlaces) {
  doc::Problems problems("x.yaml");
  const std::vector<doc::Node> documents =
      ParseManifests(OfWorkflow("tekton.dev/v1/Task", std::string("  ") + kSteps) + "---\n" +
                         Workload("batch/v1", "Job", "spec.template"),
                     problems);
  const std::vector<PodInTree> pods = FindPods(documents, problems);
  ASSERT_EQ(pods.size(), 1U);
  EXPECT_EQ(pods.front().uses.front().pod->kind, "Job");
}

const char kCustom[] =
    "apiVersion: example.com/v1\nkind: Farm\nmetadata: {name: f}\nspec:\n  template: text\n  tasks:\n"
    "  - template: {spec: {containers: [{image: a:1}]}}\n"
    "  - template: {spec: {containers: [{image: b:1}]}}\n"
    "  roles:\n    x: {template: {spec: {containers: [{image: c:1}]}}}\n"
    "    z: {template: {spec: {containers: [{image: d:1}]}}}\n  pod: {containers: [{image: e:1}]}\n";

// Images that are found without a path are fields.
const std::string kTasksOfCustom =
    "7:44 a:1 IfNotPresent? field spec.tasks[0].template.spec.containers[0].image of Farm f\n"
    "8:44 b:1 IfNotPresent? field spec.tasks[1].template.spec.containers[0].image of Farm f\n";
const std::string kRolesOfCustom =
    "10:48 c:1 IfNotPresent? field spec.roles.x.template.spec.containers[0].image of Farm f\n"
    "11:48 d:1 IfNotPresent? field spec.roles.z.template.spec.containers[0].image of Farm f\n";
const std::string kPodOfCustom = "12:30 e:1 IfNotPresent? field spec.pod.containers[0].image of Farm f\n";

TEST(ReadTest, FindsTheImages) {
  const ReadCase rows[] = {
      // https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/
      WorkloadRow("Deployment", "apps/v1", "Deployment", "spec.template", "6:42"),
      WorkloadRow("DeploymentOfOld", "extensions/v1beta1", "Deployment", "spec.template", "6:42"),
      WorkloadRow("StatefulSet", "apps/v1", "StatefulSet", "spec.template", "6:42"),
      WorkloadRow("DaemonSet", "apps/v1", "DaemonSet", "spec.template", "6:42"),
      WorkloadRow("ReplicaSet", "apps/v1", "ReplicaSet", "spec.template", "6:42"),
      WorkloadRow("ReplicationController", "v1", "ReplicationController", "spec.template", "6:42"),
      WorkloadRow("Job", "batch/v1", "Job", "spec.template", "6:42"),
      WorkloadRow("CronJob", "batch/v1", "CronJob", "spec.jobTemplate.spec.template", "8:46"),
      WorkloadRow("CronJobOfOld", "batch/v1beta1", "CronJob", "spec.jobTemplate.spec.template", "8:46"),
      WorkloadRow("PodTemplate", "v1", "PodTemplate", "template", "5:40"),
      WorkloadRow("DeploymentConfig", "apps.openshift.io/v1", "DeploymentConfig", "spec.template", "6:42"),
      {"SameKindOfAnotherGroup", Workload("apps.kruise.io/v1", "StatefulSet", "spec.template"),
       "6:42 a:1 IfNotPresent container c of StatefulSet w\n", ReadOptions{}},
      {"ObjectsWithoutPods",
       "apiVersion: v1\nkind: Service\nspec: {containers: [{image: a}]}\n---\n"
       "apiVersion: v1\nkind: Service\n---\napiVersion: cert-manager.io/v1\nkind: Certificate\n",
       "passed over: 1 Certificate.cert-manager.io\npassed over: 2 Service\n", ReadOptions{}},
      {"NothingInAKnownObject", "apiVersion: apps/v1\nkind: Deployment\nspec: {replicas: 2}\n",
       "2:1 unread: Deployment has no container with an image here; render patches first\n", ReadOptions{}},
      {"NothingAtAll", "# only a comment\n---\n---\n", "", {}},
      {"Empty", "", "", {}},
      {"AFullPod", kFullPod,
       "11:12 busybox Always init setup of Pod shop/web\n"
       "13:12 reg:5000/mesh/proxy:2 IfNotPresent init proxy of Pod shop/web\n"
       "17:12 "
       "reg:5000/shop/web:latest@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef "
       "Always container web of Pod shop/web\n"
       "21:12 reg:5000/shop/log:1 Never! container log of Pod shop/web\n"
       "22:12 reg:5000/shop/log:1 IfNotPresent container  of Pod shop/web\n"
       "26:12 debug:1 IfNotPresent! ephemeral debug of Pod shop/web\n"
       "34:18 reg:5000/models/m Always volume model of Pod shop/web\n"
       "36:24 reg:5000/models/n:1 Always! volume pinned of Pod shop/web\n",
       ReadOptions{}},
      {"ManyDocuments",
       "# one\napiVersion: v1\nkind: Pod\nspec: {containers: [{image: a:1}]}\n---\n\n--- # two\n"
       "apiVersion: v1\nkind: Pod\nspec: {containers: [{image: b:1}]}\n...\n---\n"
       "{\"apiVersion\": \"v1\", \"kind\": \"Pod\",\n \"spec\": {\"containers\": [{\"image\": \"c\"}]}}\n",
       "4:29 a:1 IfNotPresent container  of Pod\n10:29 b:1 IfNotPresent container  of Pod\n"
       "14:36 c Always container  of Pod\n",
       ReadOptions{}},
      {"CarriageReturnsAndAByteOrderMark",
       "\xEF\xBB\xBF"
       "apiVersion: v1\r\nkind: Pod\r\nspec:\r\n  containers:\r\n  - image: a:1\r\n",
       "5:12 a:1 IfNotPresent container  of Pod\n", ReadOptions{}},
      {"Json",
       "{\"kind\": \"Pod\", \"apiVersion\": \"v1\",\n\"metadata\": {\"generateName\": \"x-\"},\n"
       "\"spec\": {\"containers\": [{\"name\": \"c\",\n\"image\": \"a\\u003a1\"}]}}",
       "4:10 a:1 IfNotPresent container c of Pod x-*\n", ReadOptions{}},
      {"ASequenceInJson",
       "[{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"spec\":{\"containers\":[{\"image\":\"a:1\"}]}},\n"
       "{\"kind\":\"Service\",\"apiVersion\":\"v1\"}]",
       "1:65 a:1 IfNotPresent container  of Pod\npassed over: 1 Service\n", ReadOptions{}},
      {"FlowYaml", "{apiVersion: v1, kind: Pod, spec: {containers: [{image: a:1}]}}",
       "1:57 a:1 IfNotPresent container  of Pod\n", ReadOptions{}},
      {"ListsInLists",
       "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items:\n"
       "  - {apiVersion: v1, kind: Pod, spec: {containers: [{image: a:1}]}}\n"
       "- {apiVersion: v1, kind: ConfigMap}\n- {apiVersion: v1, kind: List, items: null}\n",
       "7:61 a:1 IfNotPresent container  of Pod\npassed over: 1 ConfigMap\n", ReadOptions{}},
      {"AListOfOneType",
       "apiVersion: apps/v1\nkind: DeploymentList\nitems:\n- metadata: {name: d}\n"
       "  spec: {template: {spec: {containers: [{image: a:1}]}}}\n",
       "5:49 a:1 IfNotPresent container  of Deployment d\n", ReadOptions{}},
      {"TagsWhereverTheyAre",
       "apiVersion: v1\nkind: Secret\ndata: {a: !!binary aGk=, b: !x [1]}\n---\n"
       "apiVersion: v1\nkind: Pod\nspec: {containers: [{image: !!str a:1}]}\n",
       "7:29 a:1 IfNotPresent container  of Pod\npassed over: 1 Secret\n", ReadOptions{}},
      {"Merges",
       "apiVersion: v1\nkind: Pod\nx: &x {image: a:1, name: x}\ny: &y {name: z, imagePullPolicy: Never}\n"
       "spec:\n  containers:\n  - <<: *x\n  - {name: own, <<: [*y, *x]}\n  - {<<: *x, image: b:1}\n",
       "3:15 a:1 IfNotPresent container x of Pod\n3:15 a:1 Never! container z of Pod\n"
       "9:21 b:1 IfNotPresent container x of Pod\n",
       ReadOptions{}},
      // kubectl applies these: the last of two keys counts, and a merge is one where it stands.
      {"KeysTwiceAndMergesInTheirPlace",
       "apiVersion: v1\nkind: Pod\na: &a {imagePullPolicy: Never}\nb: &b {image: b:1, name: m}\n"
       "spec:\n  containers:\n  - {image: a:1, image: c:1}\n  - {image: a:1, <<: *b}\n"
       "  - {<<: *a, <<: *b}\n",
       "7:25 c:1 IfNotPresent container  of Pod\n4:15 b:1 IfNotPresent container m of Pod\n"
       "4:15 b:1 Never! container m of Pod\n",
       ReadOptions{}},
      {"NoListInSpiteOfItsName", "apiVersion: example.com/v1\nkind: BlockList\nitems: [a, b]\n",
       "passed over: 1 BlockList.example.com\n", ReadOptions{}},
      {"AnEmptyListOfOneType", "apiVersion: v1\nkind: PodList\nitems: []\n", "passed over: 1 PodList\n", {}},
      {"ATemplateMayLackImages",
       "apiVersion: apps/v1\nkind: Deployment\nspec: {template: {spec: {containers: [{name: a}, {image: ' "
       "'}, {image: null}], volumes: [{image: {}}, {image: {reference: ''}}]}}}\n",
       "3:39 container \"a\" of Deployment has no image here\n"
       "3:51 a container of Deployment has no image here\n"
       "3:64 a container of Deployment has no image here\n"
       "3:90 a volume of Deployment has no image here\n"
       "3:112 a volume of Deployment has no image here\n",
       ReadOptions{}},
      {"NoReferenceIsNoMistakeHere", "apiVersion: v1\nkind: Pod\nspec: {containers: [{image: 'A B'}]}\n",
       "3:29 A B IfNotPresent container  of Pod\n", ReadOptions{}},
      {"Task", OfWorkflow("tekton.dev/v1/Task", std::string("  ") + kSteps),
       "5:29 a:1 IfNotPresent container s of Task w\n5:64 b Always container t of Task w\n"},
      {"TaskRun", OfWorkflow("tekton.dev/v1beta1/TaskRun", std::string("  taskSpec: ") + kSteps),
       "5:39 a:1 IfNotPresent container s of TaskRun w\n5:74 b Always container t of TaskRun w\n"},
      {"Pipeline",
       OfWorkflow("tekton.dev/v1/Pipeline",
                  "  tasks: [{taskRef: {name: x}}, {taskSpec: {steps: [{image: a:1}]}}]\n"
                  "  finally: [{taskSpec: {steps: [{image: b:1}]}}]\n"),
       "5:61 a:1 IfNotPresent container  of Pipeline w\n6:41 b:1 IfNotPresent container  of Pipeline w\n5:21 "
       "Pipeline w also has images elsewhere: spec.tasks[0].taskRef names x\n"},
      {"PipelineRun",
       OfWorkflow("tekton.dev/v1/PipelineRun",
                  "  pipelineSpec:\n    tasks: [{taskSpec: {steps: [{image: a:1}]}}]\n"
                  "    finally: [{taskSpec: {steps: [{image: b:1}]}}]\n"),
       "6:41 a:1 IfNotPresent container  of PipelineRun w\n"
       "7:43 b:1 IfNotPresent container  of PipelineRun w\n"},
      {"StepTemplate",
       OfWorkflow("tekton.dev/v1/Task",
                  "  stepTemplate: {image: a:1, imagePullPolicy: Always}\n  steps:\n"
                  "  - {name: of-template}\n  - {name: own, image: b:1, imagePullPolicy: Never}\n"
                  "  - {name: half, image: c:1}\n  - {name: elsewhere, ref: {name: x}}\n"),
       "5:25 a:1 Always! container of-template of Task w\n"
       "8:24 b:1 Never! container own of Task w\n9:25 c:1 Always! container half of Task w\n"
       "10:23 step \"elsewhere\" of Task w takes its image from the StepAction \"x\"\n"},
      {"StepAction", OfWorkflow("tekton.dev/v1beta1/StepAction", "  image: a\n  script: x\n"),
       "5:10 a Always container  of StepAction w\n"},
      {"StepActionWithAVariable", OfWorkflow("tekton.dev/v1beta1/StepAction", "  image: $(params.image)\n"),
       "5:3 a container of StepAction w has a variable for its image: $(params.image)\n"},
      {"StepOfAResolver",
       OfWorkflow("tekton.dev/v1/Task", "  steps: [{ref: {resolver: git}, imagePullPolicy: Always}]\n"),
       "5:12 a step of Task w takes its image from a StepAction that a resolver finds\n"},
      {"VariablesOfTekton",
       OfWorkflow("tekton.dev/v1/Task",
                  "  steps: [{image: $(params.image)}, {image: a:1, imagePullPolicy: $(params.p)}]\n"),
       "5:45 a:1 IfNotPresent? container  of Task w\n"
       "5:12 a container of Task w has a variable for its image: $(params.image)\n"},
      {"NoStepsOfItsOwn", OfWorkflow("tekton.dev/v1/TaskRun", "  taskRef: {name: x}\n"),
       "2:1 TaskRun w names no image here: they are in the objects that it refers to\n"
       "passed over: 1 TaskRun.tekton.dev\n"},
      {"Workflow",
       OfWorkflow("argoproj.io/v1alpha1/Workflow",
                  "  templates:\n  - dag: {tasks: []}\n"
                  "  - container: {image: a:1}\n    initContainers: [{name: i, image: b:1}]\n"
                  "    sidecars: [{name: s, image: c:1}]\n  - script: {image: d, source: x}\n"
                  "  - containerSet: {containers: [{name: one, image: e:1}, {name: two, image: f:1}]}\n"
                  "  - container: {image: '{{inputs.parameters.image}}'}\n"),
       "8:39 b:1 IfNotPresent init i of Workflow w\n7:24 a:1 IfNotPresent container  of Workflow w\n"
       "9:33 c:1 IfNotPresent container s of Workflow w\n10:21 d Always container  of Workflow w\n"
       "11:52 e:1 IfNotPresent container one of Workflow w\n"
       "11:77 f:1 IfNotPresent container two of Workflow w\n"
       "12:17 a container of Workflow w has a variable for its image: {{inputs.parameters.image}}\n"},
      {"WorkflowTemplate",
       OfWorkflow("argoproj.io/v1alpha1/WorkflowTemplate", "  templates: [{container: {image: a:1}}]\n"),
       "5:35 a:1 IfNotPresent container  of WorkflowTemplate w\n"},
      {"ClusterWorkflowTemplate",
       OfWorkflow("argoproj.io/v1alpha1/ClusterWorkflowTemplate",
                  "  templates: [{container: {image: a:1}}]\n"),
       "5:35 a:1 IfNotPresent container  of ClusterWorkflowTemplate w\n"},
      {"CronWorkflow",
       OfWorkflow("argoproj.io/v1alpha1/CronWorkflow",
                  "  workflowSpec: {templates: [{container: {image: a:1}}]}\n"),
       "5:50 a:1 IfNotPresent container  of CronWorkflow w\n"},
      {"TemplateDefaults",
       OfWorkflow("argoproj.io/v1alpha1/Workflow",
                  "  templateDefaults:\n    container: {imagePullPolicy: Always}\n"
                  "    script: {image: d:1}\n  templates:\n"
                  "  - container: {image: a:1}\n  - container: {image: b, imagePullPolicy: Never}\n"
                  "  - {name: own, script: {source: x}}\n"),
       "9:24 a:1 Always! container  of Workflow w\n10:24 b Never! container  of Workflow w\n"
       "7:21 d:1 IfNotPresent container own of Workflow w\n"},
      {"TemplatesWithinSteps",
       OfWorkflow("argoproj.io/v1alpha1/Workflow",
                  "  templates:\n  - dag: {tasks: [{inline: {container: {image: a:1}}}]}\n"
                  "  - steps: [[{inline: {script: {image: b:1}}}], [{template: x}]]\n"),
       "6:48 a:1 IfNotPresent container  of Workflow w\n"
       "7:40 b:1 IfNotPresent container  of Workflow w\n"},
      {"OthersOfArgo",
       OfWorkflow("argoproj.io/v1alpha1/Application", "  templates: [{container: {image: a}}]\n"),
       "5:35 a Always? field spec.templates[0].container.image of Application w\n"},
      {"TaskOfAnotherGroup", OfWorkflow("example.com/v1/Task", std::string("  ") + kSteps),
       "5:29 a:1 IfNotPresent? field spec.steps[0].image of Task w\n"
       "5:64 b Always? field spec.sidecars[0].image of Task w\n"},
      {"CustomButNotAskedFor", kCustom, kTasksOfCustom + kRolesOfCustom + kPodOfCustom, {}},
      {"CustomInASequence", kCustom,
       "7:44 a:1 IfNotPresent container  of Farm f\n8:44 b:1 IfNotPresent container  of Farm f\n" +
           kRolesOfCustom + kPodOfCustom,
       ReadOptions{.pod_template_paths = {"spec.tasks.template"}}},
      {"CustomInAMapping", kCustom,
       "10:48 c:1 IfNotPresent container  of Farm f\n11:48 d:1 IfNotPresent container  of Farm f\n" +
           kTasksOfCustom + kPodOfCustom,
       ReadOptions{.pod_template_paths = {"spec.roles.*.template"}}},
      {"CustomPodSpec", kCustom,
       "12:30 e:1 IfNotPresent container  of Farm f\n" + kTasksOfCustom + kRolesOfCustom,
       ReadOptions{.pod_template_paths = {"spec.pod"}}},
      {"CustomPathsThatLeadNowhere", kCustom, kTasksOfCustom + kRolesOfCustom + kPodOfCustom,
       ReadOptions{.pod_template_paths = {"spec.template", "spec.none", "spec.tasks", "", "."}}},
      {"CustomPathsAreNotForKubernetesOwn",
       "apiVersion: v1\nkind: Pod\nspec: {containers: [{image: a:1}], x: {containers: [{image: b:1}]}}\n",
       "3:29 a:1 IfNotPresent container  of Pod\n", ReadOptions{.pod_template_paths = {"spec.x"}}},
      {"SameKindOfAnotherGroupByPath", Workload("apps.kruise.io/v1", "StatefulSet", "spec.template"),
       "6:42 a:1 IfNotPresent container c of StatefulSet w\n",
       ReadOptions{.pod_template_paths = {"spec.template"}}},
      {"AlwaysPullImages",
       "apiVersion: v1\nkind: Pod\nspec:\n  containers: [{image: a:1, imagePullPolicy: Never}]\n  volumes: "
       "[{image: {reference: b:1}}]\n",
       "4:24 a:1 Always! container  of Pod\n5:33 b:1 Always volume  of Pod\n",
       ReadOptions{.policy = {.assume_always_pull = true}}},
      {"AnotherDefault",
       "apiVersion: v1\nkind: Pod\nspec:\n  containers: [{image: a}, {image: b:1, imagePullPolicy: Never}]\n",
       "4:24 a IfNotPresent container  of Pod\n4:36 b:1 Never! container  of Pod\n",
       ReadOptions{.policy = {.default_policy = PullPolicy::kIfNotPresent}}},
  };
  for (const ReadCase& row : rows) {
    SCOPED_TRACE(row.name);
    doc::Problems problems("x.yaml");
    Manifests manifests = ReadManifests(row.text, problems, row.options);
    EXPECT_EQ(base::Join(problems.Lines(), "\n"), "");
    EXPECT_EQ(Shown(manifests), row.expect);
    for (const ImageUse& use : manifests.uses) EXPECT_TRUE(StandsAt(row.text, use)) << Shown(use);
  }
}

TEST(Read, KnowsWhatThePodPullsWith) {
  doc::Problems problems("dir/app.yaml");
  Manifests manifests = ReadManifests(
      "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: j, namespace: shop}\nspec: {jobTemplate: {spec: "
      "{template: {spec:\n  {imagePullSecrets: [{name: a}, {}, {name: b}], serviceAccountName: sa,\n"
      "   containers: [{name: c, image: a:1, imagePullPolicy: Always}, {image: b:1}]}}}}}\n",
      problems);
  EXPECT_EQ(base::Join(problems.Lines(), "\n"), "");
  ASSERT_EQ(manifests.uses.size(), 2U);
  EXPECT_EQ(manifests.pods, 1U);
  const ImageUse& use = manifests.uses[0];
  EXPECT_EQ(*use.pod, (Pod{.source = "dir/app.yaml",
                           .kind = "CronJob",
                           .object_namespace = "shop",
                           .name = "j",
                           .from_template = true,
                           .image_pull_secrets = {"a", "b"},
                           .image_pull_secrets_at = doc::Position{5, 4},
                           .service_account_name = "sa"}));
  EXPECT_EQ(use.pod, manifests.uses[1].pod);
  EXPECT_EQ(use.path, "spec.jobTemplate.spec.template.spec.containers[0].image");
  EXPECT_EQ(use.policy_key_at, (doc::Position{6, 39}));
  EXPECT_EQ(use.key_at, (doc::Position{6, 27}));
  EXPECT_EQ(use.holder_at, (doc::Position{6, 17}));
  EXPECT_EQ(manifests.uses[1].policy_key_at, std::nullopt);
  EXPECT_EQ(use.reference->Normalized(), "docker.io/library/a:1");
}

TEST(Read, TheOldNameOfAServiceAccount) {
  const struct {
    std::string fields, expect;
  } rows[] = {{"", ""},
              {"serviceAccount: old", "old"},
              {"serviceAccountName: new", "new"},
              {"serviceAccount: old, serviceAccountName: new", "new"}};
  for (const auto& row : rows) {
    doc::Problems problems("x");
    std::string fields = row.fields.empty() ? "" : row.fields + ", ";
    Manifests manifests = ReadManifests(
        "apiVersion: v1\nkind: Pod\nspec: {" + fields + "containers: [{image: a}]}\n", problems);
    ASSERT_EQ(manifests.uses.size(), 1U);
    EXPECT_EQ(manifests.uses[0].pod->service_account_name, row.expect);
    EXPECT_FALSE(manifests.uses[0].pod->from_template);
  }
}

// Longer texts than one document may be, which come in pieces.
struct LongCase {
  std::string name, text;
  std::string expect;  // "LINE:COLUMN image" for each, then the mistakes
};

std::string LongPod(const std::string& image) {
  return R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":")" +
         image + R"("}]}})";
}
std::string LongDocument(const std::string& image) {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: " + image +
         "}]}\n";
}

TEST(LongTest, IsReadInPieces) {
  const LongCase rows[] = {
      {"AListInJson",
       "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":[" + LongPod("a:1") + ",\n" + LongPod("b:1") +
           "]}",
       "1:141 a:1\n2:99 b:1\n"},
      {"ItemsWithoutAKind",
       "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":[\n"
       "{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"a:1\"}]}},\n"
       "{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"b:1\"}]}}]}",
       "2:44 a:1\n3:44 b:1\n"},
      {"ItemsOfAKindThatEndsOtherwise",
       "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"items\":[\n"
       "{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"a:1\"}]}},\n"
       "{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"b:1\"}]}}]}",
       "2:44 a:1\n3:44 b:1\n"},
      {"ARepeatedKeyOfTheList",
       "{\"kind\":\"List\",\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":[\n"
       "{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"a:1\"}]}},\n"
       "{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"b:1\"}]}}]}",
       "2:44 a:1\n3:44 b:1\n"},
      {"AListWithoutAKind", "{\"apiVersion\":\"v1\",\"items\":[" + LongPod("a:1") + "]}",
       "1:127 a:1\nx:1:1: kind: is required\n"},
      {"Documents", LongDocument("a:1") + "---\n" + LongDocument("b:1") + "---\n" + LongDocument("c:1"),
       "4:38 a:1\n9:38 b:1\n14:38 c:1\n"},
      {"AnItemThatIsTooLong",
       "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":[" + LongPod("a:1") + "," +
           LongPod("b:" + std::string(60, '1')) + "]}",
       "1:141 a:1\nx: a part of it is longer than 120 bytes\nx:1:271: the string has no end\n"},
      {"ADocumentThatIsTooLong",
       LongDocument("a:1") + "---\n" + LongDocument("b:" + std::string(60, '1')) + "---\n" +
           LongDocument("c:1"),
       "4:38 a:1\nx:6:1: this document is longer than 120 bytes\n"},
      {"JsonThatEndsTooEarly",
       "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":[" + LongPod("a:1") + ",\n" +
           LongPod("b:1").substr(0, 60),
       "1:141 a:1\nx:2:2: a comma or ] is expected here\n"},
  };
  for (const LongCase& row : rows) {
    SCOPED_TRACE(row.name);
    // A file's reader begins with nothing; that of standard input, with what is too long for one document.
    for (const std::size_t begun : {0U, 150U}) {
      std::string_view rest = row.text;
      std::string text(rest.substr(0, begun));
      rest.remove_prefix(text.size());
      auto more = [&](std::string& out) {
        const std::string_view piece = rest.substr(0, 7);
        out += piece;
        rest.remove_prefix(piece.size());
        return !piece.empty();
      };
      doc::Problems problems("x");
      ReadOptions options;
      options.limits.bytes = 120;
      std::string found;
      for (const ImageUse& use : ReadLongManifests(text, more, problems, options).uses) {
        found += std::to_string(use.at.line) + ":" + std::to_string(use.at.column) + " " + use.image + "\n";
      }
      for (const std::string& line : problems.Lines()) found += line + "\n";
      EXPECT_EQ(found, row.expect) << begun;
    }
  }
}

// A sanitizer's allocator has 0 bytes in use here.
TEST(LongTest, TextsOfItemsDoNotStayInMemory) {
  std::string values;
  for (int i = 0; i < 5000; i++) values += "a,";
  const std::string text_of_item = R"(# prefetchctl: manifest\nkind: A\napiVersion: v1\na: [)" + values + "]";
  const std::string item = R"({"kind":"ConfigMap","apiVersion":"v1","data":{"a":")" + text_of_item + "\"}}";
  int items = 0;
  std::size_t most = 0;
  auto more = [&](std::string& out) {
    most = std::max(most, ::mallinfo2().uordblks);
    if (items++ == 40) return false;
    out += item + (items < 40 ? "," : "]}");
    return true;
  };
  std::string text = R"({"kind":"List","apiVersion":"v1","items":[)";
  doc::Problems problems("x");
  const std::size_t before = ::mallinfo2().uordblks;
  EXPECT_EQ(ReadLongManifests(text, more, problems).unread.size(), 40U);
  EXPECT_LT(most, before + (4 << 20)) << "a tree takes 600 kB";
}

TEST(Read, ThousandsOfDocumentsKnowTheirLines) {
  std::string text;
  for (int i = 0; i < 5000; i++) {
    text += "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p" + std::to_string(i) +
            "}\nspec:\n  containers:\n  - name: c\n    image: reg:5000/a:" + std::to_string(i) + "\n";
  }
  doc::Problems problems("x");
  Manifests manifests = ReadManifests(text, problems);
  EXPECT_TRUE(problems.empty());
  ASSERT_EQ(manifests.uses.size(), 5000U);
  EXPECT_EQ(manifests.uses.back().at, (doc::Position{40'000, 12}));
  EXPECT_EQ(manifests.uses.back().image, "reg:5000/a:4999");
}

// Each document is dropped before the next, so none takes from the limits of another.
TEST(Read, EachDocumentHasItsOwnLimits) {
  std::string many, text;
  for (int i = 0; i < 1000; i++) many += "x,";
  for (int i = 0; i < 100; i++) {
    text += "---\napiVersion: v1\nkind: Pod\nspec: {containers: [{name: c, image: a}]}\nmore: [&a [" + many +
            "], *a, *a]\n";
  }
  doc::Problems problems("x");
  EXPECT_EQ(ReadManifests(text, problems).uses.size(), 100U);
  EXPECT_EQ(base::Join(problems.Lines(), "\n"), "");
}

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
       "x.yaml:3:28: spec.containers[0].name: must be a string; Kubernetes takes this word for a boolean, so "
       "put it in quotes",
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
      {"ARunnerConfigThatIsNoToml", "[[runners]]\n[runners.kubernetes\n",
       "x.yaml:1:1: cannot be read as TOML: line 2: this is no TOML"},
      {"NoObject", "just text\n", "x.yaml:1:1: must be a mapping, not a string"},
      {"NoObjectInAList", "apiVersion: v1\nkind: List\nitems: [5]\n",
       "x.yaml:3:9: items[0]: must be a mapping, not an integer"},
      {"ItemsIsAMapping", "apiVersion: v1\nkind: List\nitems: {a: b}\n",
       "x.yaml:3:8: items: must be a sequence, not a mapping"},
      {"InAList",
       "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n"
       "  spec: {containers: [{image: 5}]}\n",
       "x.yaml:6:31: items[0].spec.containers[0].image: must be a string, not an integer; put it in quotes"},
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
}  // namespace prefetch::manifest::read_test
