// Objects of other kinds than Kubernetes' own: images are found wherever they are, and what is not found is
// named.
#include <gtest/gtest.h>

#include "manifest/read.h"

namespace prefetch::manifest::kinds_test {
namespace {

struct KindCase {
  std::string name, text;
  std::string expect;  // a line for each image, open image, unread object and mistake
  ReadOptions options = {};
  std::string source = "x.yaml";
};

std::string Found(const KindCase& row) {
  doc::Problems problems(row.source);
  const Manifests found = ReadManifests(row.text, problems, row.options);
  std::string text;
  for (const ImageUse& use : found.uses) {
    text += use.image + " " + std::string(base::EnumName(use.policy)) +
            (use.explicit_policy ? "!"
             : use.policy_known  ? ""
                                 : "?") +
            "\n";
  }
  for (const UnseenImage& image : found.unresolved) text += "open: " + image.why + "\n";
  for (const UnseenImage& object : found.unread) {
    text += "unread: " + std::to_string(object.at.line) + " " + object.why + "\n";
  }
  for (const std::string& line : problems.Lines()) text += line + "\n";
  return text;
}

// An object with `spec` behind its name.
std::string Object(const std::string& type, const std::string& spec) {
  const std::size_t slash = type.rfind('/');
  return "apiVersion: " + type.substr(0, slash) + "\nkind: " + type.substr(slash + 1) +
         "\nmetadata: {name: x}\nspec: " + spec + "\n";
}

// A Workflow whose only template does `action` with `manifest`.
std::string OfAction(const std::string& action, const std::string& manifest) {
  return "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: x}\nspec:\n  templates:\n"
         "  - name: r\n    resource:\n      action: " +
         action + "\n      manifest: |\n        " + manifest + "\n";
}

const char kPodSpec[] = "{containers: [{name: c, image: a}]}";
const std::string kTemplate = "{spec: " + std::string(kPodSpec) + "}";

TEST(KindsTest, AreSeen) {
  const KindCase rows[] = {
      {"JobSet",
       Object("jobset.x-k8s.io/v1alpha2/JobSet",
              "{replicatedJobs: [{template: {spec: {template: " + kTemplate + "}}}]}"),
       "a Always\n"},
      {"LeaderWorkerSet",
       Object(
           "leaderworkerset.x-k8s.io/v1/LeaderWorkerSet",
           "{leaderWorkerTemplate: {leaderTemplate: " + kTemplate + ", workerTemplate: " + kTemplate + "}}"),
       "a Always\na Always\n"},
      {"Prometheus",
       Object("monitoring.coreos.com/v1/Prometheus",
              "{image: 'p:1', imagePullPolicy: Never, thanos: {image: 't:1'}, containers: [{name: "
              "prometheus, args: [x]}, {name: s, image: 's:1'}]}"),
       "p:1 Never!\nt:1 Never!\ns:1 IfNotPresent\n"},
      {"PrometheusOfOld",
       Object("monitoring.coreos.com/v1/Prometheus", "{baseImage: q.io/p, version: v2.2.1}"),
       "q.io/p:v2.2.1 IfNotPresent?\n"},
      {"AnImageOfTheController", Object("monitoring.coreos.com/v1/Alertmanager", "{replicas: 3}"),
       "unread: 2 Alertmanager x may run pods, and no image of it was found here\n"},
      {"KnativeNamesImagesByDigest",
       Object("serving.knative.dev/v1/Service", "{template: " + kTemplate + "}"), "a IfNotPresent\n"},
      {"PolicyOfAControllerByOption",
       Object("acme.io/v1/Thing", "{image: 'a:1'}"),
       "a:1 Always\n",
       {.policy = {.default_policy = image::PullPolicy::kAlways}}},
      {"KServe",
       Object("serving.kserve.io/v1beta1/InferenceService",
              "{predictor: {model: {image: 'm:1'}}, transformer: {containers: [{name: t, image: 't:1'}]}}"),
       "t:1 IfNotPresent\nm:1 IfNotPresent\n"},
      {"PyTorchJob",
       Object("kubeflow.org/v1/PyTorchJob", "{pytorchReplicaSpecs: {Master: {template: " + kTemplate + "}}}"),
       "a Always\n"},
      {"RayCluster",
       Object("ray.io/v1/RayCluster", "{headGroupSpec: {template: " + kTemplate +
                                          "}, workerGroupSpecs: [{template: " + kTemplate + "}]}"),
       "a Always\na Always\n"},
      {"RayCronJob",
       Object("ray.io/v1/RayCronJob",
              "{jobTemplate: {submitterPodTemplate: " + kTemplate +
                  ", rayClusterSpec: {autoscalerOptions: {image: s}, headGroupSpec: {template: " + kTemplate +
                  "}, workerGroupSpecs: [{template: " + kTemplate + "}]}}}"),
       "a Always\na Always\na Always\ns IfNotPresent\n"},
      {"PolicyOfASparkApplication",
       Object("sparkoperator.k8s.io/v1beta2/ScheduledSparkApplication",
              "{template: {imagePullPolicy: Always, driver: {image: 'd:1'}, executor: {image: e}}}"),
       "d:1 Always!\ne Always!\n"},
      {"ImagesInPropertiesOfSpark",
       Object("sparkoperator.k8s.io/v1beta2/SparkApplication",
              "{sparkConf: {spark.kubernetes.container.image: 'q.io/s:1', spark.app.name: a}, driver: "
              "{sidecars: [{name: c, image: 'c:1'}]}}"),
       "q.io/s:1 IfNotPresent?\nc:1 IfNotPresent?\n"},
      {"ImagesInPropertiesOfFlink",
       Object("flink.apache.org/v1beta1/FlinkDeployment",
              "{flinkConfiguration: {kubernetes.container.image.ref: 'q.io/f:1'}}"),
       "q.io/f:1 IfNotPresent?\n"},
      {"FlinkBlueGreenDeployment",
       Object("flink.apache.org/v1beta1/FlinkBlueGreenDeployment", "{template: {spec: {image: f}}}"),
       "f IfNotPresent\n"},
      {"ASessionJobRunsInAFlinkDeployment",
       Object("flink.apache.org/v1beta1/FlinkSessionJob", "{deploymentName: d}"), ""},
      {"ImageCatalog",
       Object("postgresql.cnpg.io/v1/ImageCatalog", "{images: [{major: 17, image: 'q.io/pg:17'}]}"),
       "q.io/pg:17 IfNotPresent?\n"},
      {"SparkApplication",
       Object("sparkoperator.k8s.io/v1beta2/SparkApplication", "{image: s, driver: {image: 'd:1'}}"),
       "s IfNotPresent\nd:1 IfNotPresent\n"},
      {"FlinkDeployment",
       Object("flink.apache.org/v1beta1/FlinkDeployment",
              "{image: f, jobManager: {podTemplate: {spec: {initContainers: [{name: i, image: 'i:1'}], "
              "containers: [{name: flink-main-container}]}}}}"),
       "f IfNotPresent\ni:1 IfNotPresent\n"
       "open: container \"flink-main-container\" of FlinkDeployment x has no image here\n"},
      {"KubeVirt",
       Object("kubevirt.io/v1/VirtualMachine",
              "{template: {spec: {volumes: [{name: d, containerDisk: {image: 'd:1'}}]}}}"),
       "d:1 IfNotPresent\n"},
      {"AWorkloadOfKueue",
       Object("kueue.x-k8s.io/v1beta1/Workload", "{podSets: [{template: " + kTemplate + "}]}"), "a Always\n"},
      {"AQueueOfKueue", Object("kueue.x-k8s.io/v1beta1/LocalQueue", "{clusterQueue: c}"), ""},
      {"AMachineInKubeVirt",
       Object("infrastructure.cluster.x-k8s.io/v1alpha1/KubevirtMachineTemplate",
              "{template: {spec: {virtualMachineTemplate: {spec: {template: {spec: {volumes: [{name: d, "
              "containerDisk: {image: 'd:1'}}]}}}}}}}"),
       "d:1 IfNotPresent\n"},
      {"AHookOfARestore",
       Object("velero.io/v1/Restore",
              "{hooks: {resources: [{postHooks: [{init: {initContainers: [{name: i, image: 'i:1'}]}}]}]}}"),
       "i:1 IfNotPresent\n"},
      {"ModelsOfKServe",
       Object(
           "serving.kserve.io/v1beta1/InferenceService",
           "{predictor: {model: {storageUri: 'oci://q.io/m:1'}}, transformer: {containers: [{name: t, image: "
           "'t:1'}]}}"),
       "t:1 IfNotPresent\nq.io/m:1 IfNotPresent?\n"},
      {"AChartIsNoImage", Object("acme.io/v1/Addon", "{chart: {uri: 'oci://q.io/acme'}}"),
       "unread: 2 Addon x may run pods, and no image of it was found here\n"},
      {"AGpuOperator",
       Object("nvidia.com/v1/ClusterPolicy",
              "{dcgm: {repository: nvcr.io/nvidia/cloud-native, image: dcgm, version: 4.2.3-1}, toolkit: "
              "{repository: nvcr.io/nvidia, image: t, version: 'sha256:" +
                  std::string(64, '1') + "', imagePullPolicy: Always}, validator: {image: 'q.io/v:1'}}"),
       "nvcr.io/nvidia/cloud-native/dcgm:4.2.3-1 IfNotPresent?\nnvcr.io/nvidia/t@sha256:" +
           std::string(64, '1') + " Always!\nq.io/v:1 IfNotPresent?\n"},
      {"ARepositoryByItsAddress",
       Object("e.com/v1/X", "{repository: 'https://q.io/acme/app', image: nginx, version: v1}"),
       "nginx Always?\n"},
      {"ARepositoryOfSources",
       Object("e.com/v1/X", "{repository: acme/app, image: nginx, version: v1, tag: v2}"),
       "nginx:v2 IfNotPresent?\n"},
      {"AKustomizationWithImages",
       "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n"
       "images: [{name: a, newTag: v2}]\n",
       "open: Kustomization may change images when it is built: read the output of kubectl kustomize\n"},
      {"AKustomizationThatPatchesImages",
       "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n- patch: '[{op: replace, "
       "path: /spec/containers/0/image, value: a}]'\n",
       "open: Component may change images when it is built: read the output of kubectl kustomize\n"},
      {"AKustomizationWithAPatchFile",
       "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\npatches: [{path: p.yaml}]\n",
       "open: Kustomization may change images when it is built: read the output of kubectl kustomize\n"},
      {"AKustomizationWithReplacements",
       "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nreplacements: [{path: r.yaml}]\n",
       "open: Kustomization may change images when it is built: read the output of kubectl kustomize\n"},
      {"AKustomizationWithoutATypeInAFolder",
       "resources: [a.yaml]\nimages: [{name: a, newTag: v2}]\n",
       "open: Kustomization may change images when it is built: read the output of kubectl kustomize\n",
       {.non_manifests = NonManifests::kSkip},
       "overlays/kustomization.yml"},
      {"AKustomizationWithoutAVersion",
       "kind: Kustomization\nresources: [github.com/e/app//base]\n",
       "open: Kustomization may change images when it is built: read the output of kubectl kustomize\n",
       {},
       "kustomization.yaml"},
      {"AKustomizationWithARemoteResource",
       "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: "
       "['github.com/e/app?ref=v1']\n",
       "open: Kustomization may change images when it is built: read the output of kubectl kustomize\n"},
      {"AKustomizationWithoutImages",
       "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\npatches:\n"
       "- patch: '[{op: remove, path: /spec/replicas}]'\n",
       ""},
      {"Strimzi",
       Object("kafka.strimzi.io/v1beta2/Kafka",
              "{kafka: {image: 'k:1'}, entityOperator: {topicOperator: {image: 't:1'}}}"),
       "k:1 IfNotPresent\nt:1 IfNotPresent\n"},
      {"CloudNativePG",
       Object("postgresql.cnpg.io/v1/Cluster", "{imageName: 'q.io/pg:17', imagePullPolicy: Always}"),
       "q.io/pg:17 Always!\n"},
      {"Rollout", Object("argoproj.io/v1alpha1/Rollout", "{template: " + kTemplate + "}"), "a Always\n"},
      {"RunnerSet",
       Object("actions.github.com/v1alpha1/AutoscalingRunnerSet", "{template: " + kTemplate + "}"),
       "a Always\n"},
      {"AHookTemplateOfARC",
       "apiVersion: v1\nkind: PodTemplate\nmetadata: {name: h}\nspec:\n  containers: [{name: $job, image: "
       "'j:1', imagePullPolicy: Always}, {name: side, image: 's:1'}]\n",
       "j:1 Always!\ns:1 IfNotPresent\n"},
      {"AHookTemplateInAConfigMap",
       "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  content: |\n    apiVersion: v1\n"
       "    kind: PodTemplate\n    spec: {containers: [{name: $job, image: 'j:1'}]}\n",
       "j:1 IfNotPresent\n"},
      {"AHookTemplateWithoutAKind",
       "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  content: |\n    metadata: "
       "{labels: {a: b}}\n    spec:\n      containers:\n      - name: $job\n      - {name: side, image: "
       "'s:1'}\n",
       "s:1 IfNotPresent\nopen: container \"$job\" of PodTemplate has no image here\n"},
      {"HookTemplatesWithoutAJob",
       "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  a: |\n    spec:\n      containers:\n"
       "      - name: $redis\n        image: r:1\n"
       "  b: '{\"spec\":{\"containers\":[{\"name\":\"$job\",\"image\":\"j:1\"}]}}'\n  c: |\n    kind: "
       "PodTemplate\n    apiVersion: v1\n    spec: {containers: [{name: side, image: 's:1'}]}\n",
       "r:1 IfNotPresent\nj:1 IfNotPresent\ns:1 IfNotPresent\n"},
      {"ATextOfAnotherKindWithVariables",
       "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  a: |\n    apiVersion: v1\n    kind: "
       "Pod\n    spec:\n      containers:\n      - name: $NAME\n        image: $IMAGE\n",
       ""},
      {"ATemplateOfAnotherProgram",
       "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  a: |\n    spec: {containers: [{name: "
       "$NAME, image: $IMAGE}]}\n  b: |\n    spec: {containers: [{name: '${NAME}', image: 'a:1'}]}\n",
       ""},
      {"AScriptWithAVariableForAName",
       "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  run.sh: |\n    set -e\n    kubectl "
       "apply "
       "-f - <<END\n    kind: Pod\n    spec: {containers: [{name: $NAME, image: 'a:1'}]}\n    END\n",
       ""},
      {"AHookTemplateAsAFile", "spec: {containers: [{name: $job, image: 'j:1'}]}\n", "j:1 IfNotPresent\n"},
      {"AScriptWithAJob",
       "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  run.sh: |\n    echo $job: "
       "[containers:\n",
       ""},
      {"AWordBeforeTheJobsName",
       "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  dashboard.yaml: |\n    containers: "
       "[{legend_name: x}]\n    legend_name: $job_total\n",
       ""},
      {"AMarkedTextInAConfigMap",
       "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  pod.yaml: |\n    # prefetchctl: "
       "manifest\n    apiVersion: v1\n    kind: Pod\n    spec: {containers: [{name: c, image: 'm:1'}]}\n",
       "m:1 IfNotPresent\n"},
      {"AnUnmarkedTextInAConfigMap",
       "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  pod.yaml: |\n    apiVersion: v1\n"
       "    kind: Pod\n    spec: {containers: [{name: c, image: 'm:1'}]}\n",
       ""},
      {"GitlabRunner",
       "concurrent = 4\n[[runners]]\n  executor = \"kubernetes\"\n  [runners.kubernetes]\n"
       "    image = \"q.io/job:1\"\n    helper_image = \"q.io/help:1\"\n    pull_policy = [\"always\"]\n"
       "    [[runners.kubernetes.services]]\n      name = \"q.io/dind:1\"\n",
       "q.io/job:1 Always!\nq.io/help:1 Always!\nq.io/dind:1 Always!\n"},
      {"GitlabRunnerInAConfigMap",
       "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  config.toml: |\n    [[runners]]\n"
       "      [runners.kubernetes]\n        image = \"q.io/job:1\"\n",
       "q.io/job:1 IfNotPresent?\n"},
      {"GitlabRunnerInASecret",
       "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata:\n  config.toml: "
       "W1tydW5uZXJzXV0KW3J1bm5lcnMua3ViZXJuZXRlc10KaW1hZ2UgPSAicS5pby9qb2I6MSIK\n",
       "q.io/job:1 IfNotPresent?\n"},
      {"GitlabRunnerInATemplate",
       "apiVersion: template.openshift.io/v1\nkind: Template\nmetadata: {name: t}\nparameters:\n"
       "- {name: N, value: '4'}\n- {name: IMG, value: q.io/help:1}\nobjects:\n- apiVersion: v1\n"
       "  kind: ConfigMap\n  metadata: {name: c}\n  data:\n    config.toml: |\n      concurrent = ${N}\n"
       "      [[runners]]\n      [runners.kubernetes]\n        image = \"q.io/job:1\"\n"
       "        helper_image = \"${IMG}\"\n",
       "q.io/job:1 IfNotPresent?\nq.io/help:1 IfNotPresent?\n"},
      {"GitlabRunnerInOtherWordsOfToml",
       "\xEF\xBB\xBFruns = 1\n[[ runners ]]\n[runners.kubernetes]\n\"image\" = 'q.io/job:1'\n"
       "services = [{name = \"q.io/s:1\"}]\npull_policy = 'never'\n[runners.kubernetes.pod_annotations]\n"
       "image = \"no-image\"\n[[runners]]\nkubernetes.image = \"\"\"\nq.io/lines:1\"\"\"\n",
       "q.io/job:1 Never!\nq.io/s:1 Never!\nq.io/lines:1 IfNotPresent?\n"},
      {"AGitlabRunnerWithALongVariable",
       "[[runners]]\nkubernetes.image = \"$" + std::string(300, 'x') + "\"\n",
       "open: runners.kubernetes.image of GitLab runner has a variable for its image: $" +
           std::string(199, 'x') + "…\n"},
      {"GitlabRunnersInOneLine", "runners = [{kubernetes = {image = \"q.io/job:1\"}}]\n",
       "q.io/job:1 IfNotPresent?\n"},
      {"GitlabRunnersInOtherCase",
       "[[Runners]]\n[Runners.Kubernetes]\nIMAGE = \"q.io/job:Big\"\nPull_Policy = [\"never\"]\n",
       "q.io/job:Big Never!\n"},
      {"PatchesOfAGitlabRunner",
       "[[runners]]\n[[runners.kubernetes.pod_spec]]\npatch = '''\n  initContainers:\n"
       "  - {name: i, image: 'q.io/i:1'}\n  containers: [{name: build, tty: true}]\n'''\n"
       "[[runners.kubernetes.pod_spec]]\npatch_type = \"json\"\npatch = '[{\"op\": \"replace\", \"path\": "
       "\"/containers/0/image\", \"value\": \"q.io/j:1\"}]'\n[[runners.kubernetes.pod_spec]]\n"
       "patch_path = \"p.yaml\"\n[[runners.kubernetes.pod_spec]]\npatch = \"[\"\n",
       "q.io/i:1 IfNotPresent\nq.io/j:1 IfNotPresent?\n"
       "open: the text in runners.kubernetes.pod_spec.patch_path of GitLab runner is in another file\n"
       "open: the text in runners.kubernetes.pod_spec.patch of GitLab runner cannot be read as a manifest\n"},
      {"GitlabRunnerInAConfigMapThatIsNoToml",
       "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: \"[[runners]]\\n[runners.kubernetes"
       "\\n\"}\n",
       "open: the text in data.a of ConfigMap c cannot be read as TOML: line 2: this is no TOML\n"},
      {"JenkinsConfigurationAsCode",
       "jenkins:\n  clouds:\n  - kubernetes:\n      templates:\n      - name: t\n        containers:\n"
       "        - {name: a, image: 'a:1'}\n        - {name: b, image: 'b:1', alwaysPullImage: true}\n"
       "        yaml: |\n          apiVersion: v1\n          kind: Pod\n"
       "          spec: {containers: [{name: c, image: 'c:1'}, {name: jnlp}]}\n",
       "a:1 IfNotPresent!\nb:1 Always!\nc:1 IfNotPresent\n"},
      {"PodsOfJenkinsNeedNoType",
       "jenkins:\n  clouds:\n  - kubernetes:\n      templates:\n      - name: t\n        yaml: |\n"
       "          spec: {containers: [{name: a, image: 'a:1'}]}\n        yamls:\n        - |\n"
       "          kind: Pod\n          spec: {containers: [{name: b, image: 'b:1'}]}\n        - |\n"
       "          metadata: {labels: {a: b}}\n",
       "a:1 IfNotPresent\nb:1 IfNotPresent\n"},
      {"JenkinsWithoutClouds", "jenkins:\n  systemMessage: hello\n", ""},
      {"JenkinsBehindOtherLines",
       "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  a: |\n    # made by Helm\n    "
       "credentials: {}\n    jenkins:\n      clouds: [{kubernetes: {templates: [{containers: [{name: a, "
       "image: "
       "'a:1'}]}]}}]\n  b: |\n    jenkins:\n      systemMessage: hello\n",
       "a:1 IfNotPresent!\n"},
      {"PodsOfJenkinsInAConfigMap",
       "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  jenkins.yaml: |\n    jenkins:\n"
       "      clouds:\n      - kubernetes:\n          templates:\n          - yamls:\n            - |\n"
       "              spec: {containers: [{name: a, image: 'a:1'}]}\n",
       "a:1 IfNotPresent\n"},
      {"ParametersWithADefault",
       Object("tekton.dev/v1/Task",
              "{params: [{name: a, default: 'q.io/a:1'}, {name: b}], steps: [{name: x, image: $(params.a)}, "
              "{name: w, image: '$(params[\"a\"])-debug'}, {name: z, image: $(inputs.params.b)}]}"),
       "q.io/a:1 IfNotPresent\nq.io/a:1-debug IfNotPresent\n"
       "open: container \"z\" of Task x has a variable for its image: $(inputs.params.b)\n"},
      {"AVariablePolicy",
       Object("tekton.dev/v1/Task", "{steps: [{name: x, image: 'q.io/a:1', imagePullPolicy: $(params.p)}]}"),
       "q.io/a:1 IfNotPresent?\n"},
      {"ValuesOfARun",
       Object("tekton.dev/v1/TaskRun",
              "{params: [{name: a, value: 'q.io/given:1'}], taskSpec: {params: [{name: a, default: "
              "'q.io/a:1'}], steps: [{name: x, image: $(params.a)}]}}"),
       "q.io/given:1 IfNotPresent\n"},
      {"NestedPipelines",
       Object("tekton.dev/v1/PipelineRun",
              "{params: [{name: img, value: 'q.io/run:1'}], pipelineSpec: {tasks: [{name: n, params: [{name: "
              "i, value: $(params.img)}], pipelineSpec: {params: [{name: i}], tasks: [{name: t, params: "
              "[{name: j, value: $(params.i)}], taskSpec: {params: [{name: j}], steps: [{name: s, image: "
              "$(params.j)}]}}]}}]}}"),
       "q.io/run:1 IfNotPresent\n"},
      {"ParametersOfAPipelineReachItsTasks",
       Object("tekton.dev/v1/PipelineRun",
              "{params: [{name: a, value: 'q.io/run:1'}], pipelineSpec: {params: [{name: b, default: "
              "'q.io/b:1'}], tasks: [{name: t, taskSpec: {params: [{name: a, default: 'q.io/a:1'}], steps: "
              "[{image: $(params.a)}, {image: $(params.b)}]}}, {name: u, params: [{name: a, value: "
              "'q.io/own:1'}], taskSpec: {steps: [{image: $(params.a)}]}}]}}"),
       "q.io/run:1 IfNotPresent\nq.io/b:1 IfNotPresent\nq.io/own:1 IfNotPresent\n"},
      {"AMatrixGivesManyValues",
       Object("tekton.dev/v1/Pipeline",
              "{tasks: [{name: t, matrix: {params: [{name: a, value: ['q.io/1:1', 'q.io/2:1']}], include: "
              "[{name: i, params: [{name: b, value: 'q.io/3:1'}]}]}, taskSpec: {params: [{name: a, default: "
              "'q.io/a:1'}, {name: b, default: 'q.io/b:1'}], steps: [{name: s, image: $(params.a)}, {name: "
              "u, image: $(params.b)}]}}]}"),
       "open: container \"s\" of Pipeline x has a variable for its image: $(params.a)\n"
       "open: container \"u\" of Pipeline x has a variable for its image: $(params.b)\n"},
      {"AParameterThatTheRunGives",
       Object("tekton.dev/v1/Pipeline",
              "{params: [{name: a}], tasks: [{name: t, taskSpec: {params: [{name: a, default: 'q.io/d:1'}], "
              "steps: [{name: s, image: $(params.a)}]}}]}"),
       "open: container \"s\" of Pipeline x has a variable for its image: $(params.a)\n"},
      {"AGivenValueThatIsUnknown",
       Object("tekton.dev/v1/Pipeline",
              "{params: [{name: image}], tasks: [{name: t, params: [{name: image, value: $(params.image)}], "
              "taskSpec: {params: [{name: image, default: 'q.io/a:1'}], steps: [{name: s, image: "
              "$(params.image)}]}}]}"),
       "open: container \"s\" of Pipeline x has a variable for its image: $(params.image)\n"},
      {"ARunOfAnotherTask", Object("tekton.dev/v1/TaskRun", "{taskRef: {name: t}}"),
       "open: TaskRun x names no image here: they are in the objects that it refers to\n"},
      {"DefaultsOfTemplates",
       Object("argoproj.io/v1alpha1/Workflow",
              "{templateDefaults: {initContainers: [{name: i, image: 'i:1'}], sidecars: [{name: s, image: "
              "'s:1'}]}, templates: [{name: a, container: {image: 'a:1'}}]}"),
       "i:1 IfNotPresent\ns:1 IfNotPresent\na:1 IfNotPresent\n"},
      {"ReferencesBesideImages",
       Object("argoproj.io/v1alpha1/Workflow",
              "{hooks: {exit: {templateRef: {name: h}}}, templates: [{name: a, container: {image: 'a:1'}}, "
              "{name: b, steps: [[{name: c, templateRef: {name: l}}, {name: e, templateRef: {name: l}}]]}, "
              "{name: d, resource: {action: create, "
              "manifestFrom: {artifact: {name: m}}}}]}"),
       "a:1 IfNotPresent\n"
       "open: Workflow x also has images elsewhere: spec.hooks.exit.templateRef names h\n"
       "open: Workflow x also has images elsewhere: spec.templates[1].steps[0][0].templateRef names "
       "l\n"
       "open: Workflow x also has images elsewhere: spec.templates[2].resource.manifestFrom\n"},
      {"ReferencesOfTwoKinds",
       Object("tekton.dev/v1/Pipeline",
              "{tasks: [{taskRef: {name: t}}, {taskRef: {name: t}}, {pipelineRef: {name: t}}, {taskRef: "
              "{name: c, "
              "apiVersion: cel.tekton.dev/v1alpha1, kind: CEL}}, {taskSpec: {steps: [{image: 'a:1'}]}}]}"),
       "a:1 IfNotPresent\nopen: Pipeline x also has images elsewhere: spec.tasks[0].taskRef names t\n"
       "open: Pipeline x also has images elsewhere: spec.tasks[2].pipelineRef names t\n"},
      {"AcceptedReferencesBesideImages",
       Object("tekton.dev/v1/Pipeline",
              "{tasks: [{taskRef: {name: t}}, {taskSpec: {steps: [{image: 'a:1'}]}}]}"),
       "a:1 IfNotPresent\n",
       {.allow_unread = {"Pipeline"}}},
      {"ParametersOfArgo",
       Object("argoproj.io/v1alpha1/Workflow",
              "{arguments: {parameters: [{name: tag, value: v2}]}, templates: [{name: a, inputs: "
              "{parameters: [{name: img, default: q.io/a}]}, container: {image: "
              "'{{inputs.parameters.img}}:{{workflow.parameters.tag}}'}}, {name: b, container: {image: "
              "'{{inputs.parameters.none}}'}}]}"),
       "q.io/a:v2 IfNotPresent\n"
       "open: container \"b\" of Workflow x has a variable for its image: {{inputs.parameters.none}}\n"},
      {"ParametersThatStepsGive",
       Object(
           "argoproj.io/v1alpha1/Workflow",
           "{templates: [{name: main, steps: [[{name: s, template: a, arguments: {parameters: [{name: img, "
           "value: 'q.io/given:1'}]}}]]}, {name: dag, dag: {tasks: [{name: t, template: b, arguments: "
           "{parameters: [{name: img, value: 'q.io/given:1'}]}}]}}, {name: a, inputs: {parameters: [{name: "
           "img, default: 'q.io/a:1'}]}, container: {image: '{{inputs.parameters.img}}'}}, {name: b, "
           "inputs: {parameters: [{name: img, value: 'q.io/a:1'}, {name: tag, value: v1}]}, script: "
           "{image: '{{inputs.parameters.img}}'}, sidecars: [{name: c, image: "
           "'q.io/c:{{inputs.parameters.tag}}'}]}]}"),
       "q.io/c:v1 IfNotPresent\n"
       "open: container \"a\" of Workflow x has a variable for its image: {{inputs.parameters.img}}\n"
       "open: container \"b\" of Workflow x has a variable for its image: {{inputs.parameters.img}}\n"},
      {"AManifestOfAResource",
       Object("argoproj.io/v1alpha1/Workflow",
              "{templates: [{name: r, resource: {action: create, manifest: \"apiVersion: v1\\nkind: "
              "Pod\\nmetadata: {generateName: x-}\\nspec: {containers: [{name: c, image: 'r:1'}]}\"}}]}"),
       "r:1 IfNotPresent\n"},
      {"AResourceWithoutAKind", OfAction("create", "{spec: {containers: [{name: c, image: 'r:1'}]}}"),
       "r:1 IfNotPresent\n"},
      {"AStrategicPatch",
       OfAction("patch", "{spec: {template: {spec: {containers: [{name: c, image: 'r:1'}]}}}}"),
       "r:1 IfNotPresent\n"},
      {"APatchOfAnObject",
       OfAction("patch", "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {replicas: 2}}"),
       "open: Workflow x names no image here: they are in the objects that it refers to\n"},
      {"AJsonPatch",
       OfAction("patch",
                "[{op: replace, path: /spec/template/spec/containers/0/image, value: 'q.io/r:1'}, {op: add, "
                "path: /spec/template/spec/containers/-, value: {name: s, image: 's:1'}}, {op: replace, "
                "path: /spec/replicas, value: 2}, {op: remove, path: /spec/image}]"),
       "q.io/r:1 IfNotPresent?\ns:1 IfNotPresent?\n"},
      {"ADeletedPod", OfAction("delete", "{apiVersion: v1, kind: Pod, metadata: {name: p}}"),
       "open: Workflow x names no image here: they are in the objects that it refers to\n"},
      {"AResourceThatCannotBeRead", OfAction("create", "{{ x: ["),
       "open: the text in spec.templates[0].resource.manifest of Workflow x cannot be read as a manifest\n"},
      {"APodPatchWithoutContainers",
       Object("argoproj.io/v1alpha1/Workflow",
              "{podSpecPatch: '[]', templates: [{name: a, container: {image: 'a:1'}, podSpecPatch: "
              "'{{inputs.parameters.p}}'}]}"),
       "a:1 IfNotPresent\nopen: the text in spec.templates[0].podSpecPatch of Workflow x cannot be read as a "
       "manifest\n"},
      {"APatchOfAPod",
       Object("argoproj.io/v1alpha1/Workflow",
              "{podSpecPatch: '{\"containers\":[{\"name\":\"main\",\"image\":\"p:1\"}]}', templates: [{name: "
              "a, container: {image: 'a:1'}}]}"),
       "a:1 IfNotPresent\np:1 IfNotPresent\n"},
      {"APlugin",
       Object("argoproj.io/v1alpha1/Workflow",
              "{executorPlugins: [{spec: {sidecar: {container: {name: p, image: 'p:1'}}}}], templates: []}"),
       "p:1 IfNotPresent\n"},
      {"Deep", Object("example.com/v1/Farm", "{a: [{b: {c: [[" + kTemplate + "]]}}]}"), "a Always\n"},
      {"AtTheTop", "apiVersion: e.com/v1\nkind: T\ncontainers: [{name: c, image: 'a:1'}]\n",
       "a:1 IfNotPresent\n"},
      {"WithAllItsParts",
       Object("example.com/v1/Farm",
              "{pod: {initContainers: [{name: i, image: 'i:1', imagePullPolicy: Never}], containers: [{name: "
              "c, image: 'c:1'}], volumes: [{name: v, image: {reference: 'v:1'}}]}}"),
       "i:1 Never!\nc:1 IfNotPresent\nv:1 IfNotPresent\n"},
      {"InATemplateOfOpenShift",
       "apiVersion: template.openshift.io/v1\nkind: Template\nmetadata: {name: t}\nobjects:\n"
       "- {apiVersion: apps/v1, kind: Deployment, metadata: {name: '${NAME}'}, spec: {template: {spec: "
       "{containers: [{name: c, image: '${REPO}:${TAG}'}, {name: d, image: '${NONE}'}]}}}}\n"
       "parameters: [{name: REPO, value: q.io/a}, {name: TAG, value: 1.5}, {name: NAME, value: web}, {name: "
       "NONE}]\n",
       "q.io/a:1.5 IfNotPresent\n"
       "open: container \"d\" of Deployment web has a variable for its image: ${NONE}\n"},
      {"ObjectsInObjects",
       Object("triggers.tekton.dev/v1beta1/TriggerTemplate",
              "{params: [{name: image, default: 'q.io/d:1'}], resourcetemplates: [{apiVersion: "
              "tekton.dev/v1, kind: TaskRun, metadata: {generateName: r-}, spec: {taskSpec: {steps: [{name: "
              "s, image: $(tt.params.image)}]}}}]}"),
       "q.io/d:1 IfNotPresent\n"},
      {"ATriggerWithItsTemplate",
       Object("triggers.tekton.dev/v1beta1/Trigger",
              "{template: {spec: {params: [{name: i, default: 'q.io/d:1'}], resourcetemplates: [{apiVersion: "
              "tekton.dev/v1, kind: TaskRun, metadata: {generateName: r-}, spec: {taskSpec: {steps: [{name: "
              "s, image: $(tt.params.i)}]}}}]}}}"),
       "q.io/d:1 IfNotPresent\n"},
      {"ATriggerWithABinding",
       Object("triggers.tekton.dev/v1beta1/Trigger",
              "{bindings: [{name: i, value: $(body.i)}], template: {spec: {params: [{name: i, default: "
              "'q.io/d:1'}], resourcetemplates: [{apiVersion: tekton.dev/v1, kind: TaskRun, metadata: "
              "{generateName: r-}, spec: {taskSpec: {steps: [{name: s, image: $(tt.params.i)}]}}}]}}}"),
       "open: container \"s\" of TaskRun r-* has a variable for its image: $(tt.params.i)\n"},
      {"ATriggerThatRefersToItsTemplate",
       Object("triggers.tekton.dev/v1beta1/Trigger", "{template: {ref: t}}"), ""},
      {"ReferencesAreNoObjects",
       Object("e.com/v1/Scaler", "{scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: d}}"),
       "unread: 2 Scaler x may run pods, and no image of it was found here\n"},
      {"NoPatternsOfPolicies",
       Object("kyverno.io/v1/ClusterPolicy",
              "{rules: [{validate: {pattern: {spec: {containers: [{name: '*', image: '!*:latest'}]}}}}]}"),
       ""},
      {"OfNoStatus", "apiVersion: e.com/v1\nkind: X\nspec: {image: 'a:1'}\nstatus: {image: 'b:1'}\n",
       "a:1 IfNotPresent?\n"},
      {"AnImageField", Object("e.com/v1/X", "{image: 'nginx'}"), "nginx Always?\n"},
      {"WithItsPolicy", Object("e.com/v1/X", "{image: 'a:1', imagePullPolicy: Always}"), "a:1 Always!\n"},
      {"ABaseImage", Object("e.com/v1/X", "{sidecar: {baseImage: 'q.io/a', tag: v1}}"),
       "q.io/a:v1 IfNotPresent?\n"},
      {"RepositoryAndTag",
       Object("e.com/v1/X", "{image: {registry: q.io, repository: a/b, tag: v1, pullPolicy: Never}}"),
       "q.io/a/b:v1 Never!\n"},
      {"AReference",
       Object("postgresql.cnpg.io/v1/Cluster",
              "{imageName: 'q.io/pg:17', postgresql: {extensions: [{name: e, image: {reference: 'q.io/e:1', "
              "pullPolicy: Never}}]}}"),
       "q.io/pg:17 IfNotPresent\nq.io/e:1 Never!\n"},
      {"ADisk", Object("e.com/v1/X", "{image: 'https://x/y.iso', rootImage: ubuntu, logoImage: l.png}"),
       "unread: 2 X x may run pods, and no image of it was found here\n"},
      {"ABuildersImage",
       Object("build.openshift.io/v1/BuildConfig",
              "{strategy: {sourceStrategy: {from: {kind: DockerImage, name: 'q.io/s2i:1'}}}}"),
       "q.io/s2i:1 IfNotPresent?\n"},
      {"AVariable", Object("e.com/v1/X", "{image: 'q.io/a:${TAG}'}"),
       "open: spec.image of X x has a variable for its image: q.io/a:${TAG}\n"},
      {"AnUnknownKind", Object("e.com/v1/X", "{size: 3}"),
       "unread: 2 X x may run pods, and no image of it was found here\n"},
      {"AKindWithoutPods", Object("cert-manager.io/v1/Certificate", "{secretName: s}"), ""},
      {"AnAcceptedKind", Object("e.com/v1/X", "{}"), "", {.allow_unread = {"X"}}},
      {"AnAcceptedType", Object("e.com/v1/X", "{}"), "", {.allow_unread = {"X.e.com"}}},
      {"AnAcceptedGroup", Object("e.com/v1/X", "{}"), "", {.allow_unread = {"*.e.com"}}},
      {"AnotherKindIsAccepted",
       Object("e.com/v1/X", "{}"),
       "unread: 2 X x may run pods, and no image of it was found here\n",
       {.allow_unread = {"Y"}}},
      {"AnUnknownKindOfKubernetes", Object("apps/v1/Deploymnet", "{replicas: 1}"),
       "unread: 2 Deploymnet x may run pods, and no image of it was found here\n"},
      {"APatch", Object("apps/v1/Deployment", "{replicas: 2}"),
       "unread: 2 Deployment x has no container with an image here; render patches first\n"},
      {"AMisspeltTemplate", Object("apps/v1/Deployment", "{tempalte: " + kTemplate + "}"),
       "x.yaml:4:18: spec.tempalte: unknown field; did you mean \"template\"?\n"},
      {"AMisspeltSpec", Object("apps/v1/Deployment", "{template: {sepc: " + std::string(kPodSpec) + "}}"),
       "x.yaml:4:25: spec.template.sepc: unknown field; did you mean \"spec\"?\n"},
      {"MisspeltContainers",
       Object("v1/Pod", "{contaners: [{name: a, image: a}], containers: [{name: c, image: 'c:1'}]}"),
       "c:1 IfNotPresent\n"
       "x.yaml:4:19: spec.contaners: unknown field; did you mean \"containers\"?\n"},
      {"MisspeltInitContainers",
       Object("v1/Pod", "{initContianers: [{name: a, image: a}], containers: [{name: c, image: 'c:1'}]}"),
       "c:1 IfNotPresent\n"
       "x.yaml:4:24: spec.initContianers: unknown field; did you mean \"initContainers\"?\n"},
      {"AMisspeltImage",
       Object("apps/v1/Deployment", "{template: {spec: {containers: [{name: c, imgae: a}]}}}"),
       "open: container \"c\" of Deployment x has no image here\n"
       "x.yaml:4:56: spec.template.spec.containers[0].imgae: unknown field; did you mean \"image\"?\n"},
      {"AMisspeltPolicy", Object("v1/Pod", "{containers: [{name: c, image: 'a:1', imagePullPolcy: Never}]}"),
       "a:1 IfNotPresent\n"
       "x.yaml:4:61: spec.containers[0].imagePullPolcy: unknown field; did you mean \"imagePullPolicy\"?\n"},
      {"ATemplateInAnotherPlace", Object("apps/v1/Deployment", "{pod: " + kTemplate + "}"),
       "x.yaml:4:33: spec.pod.spec.containers: containers here are no part of a Deployment, whose pod "
       "template is in spec.template\n"},
      {"APodTemplateWithSpecAtTop", Object("v1/PodTemplate", kPodSpec),
       "x.yaml:4:20: spec.containers: containers here are no part of a PodTemplate, whose pod template is in "
       "template\n"},
  };
  for (const KindCase& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(Found(row), row.expect);
  }
}

TEST(Kinds, APathThatLeadsNowhereIsNotMet) {
  doc::Problems problems("x.yaml");
  const std::string text = Object("e.com/v1/X", "{a: " + kTemplate + "}");
  EXPECT_EQ(ReadManifests(text, problems, {.pod_template_paths = {"spec.a"}}).matched_paths,
            std::set<std::string>{"spec.a"});
  EXPECT_EQ(ReadManifests(text, problems, {.pod_template_paths = {"spec.b"}}).matched_paths,
            std::set<std::string>());
}

}  // namespace
}  // namespace prefetch::manifest::kinds_test
