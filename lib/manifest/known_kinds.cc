#include "manifest/known_kinds.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace prefetch::manifest {
namespace {

// https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/; extensions is where apps came
// from. Objects of the same kind in other groups are other objects: volcano's Job, OpenKruise's StatefulSet.
constexpr BuiltInKind kBuiltIn[] = {
    {"Pod", "", ""},
    {"PodTemplate", "", "template"},
    {"ReplicationController", "", "spec.template"},
    {"Deployment", "apps", "spec.template"},
    {"Deployment", "extensions", "spec.template"},
    {"StatefulSet", "apps", "spec.template"},
    {"DaemonSet", "apps", "spec.template"},
    {"DaemonSet", "extensions", "spec.template"},
    {"ReplicaSet", "apps", "spec.template"},
    {"ReplicaSet", "extensions", "spec.template"},
    {"Job", "batch", "spec.template"},
    {"CronJob", "batch", "spec.jobTemplate.spec.template"},
    {"DeploymentConfig", "apps.openshift.io", "spec.template"},
};

using enum PlaceForm;
using enum PolicyDefault;

constexpr std::string_view kPrometheus = "prometheus-operator: pkg/apis/monitoring/v1";
constexpr std::string_view kKnative = "knative/serving: pkg/apis/serving/v1; tags become digests";
constexpr std::string_view kServe = "kserve: pkg/apis/serving";
constexpr std::string_view kTraining = "kubeflow/training-operator: pkg/apis/kubeflow.org/v1";
constexpr std::string_view kRay = "ray-project/kuberay: ray-operator/apis/ray/v1";
constexpr std::string_view kRaySidecar = "ray-project/kuberay: ray-operator/controllers/ray/common/pod.go";
constexpr std::string_view kSpark =
    "kubeflow/spark-operator: internal/controller/sparkapplication/submission.go; apache/spark: "
    "spark.kubernetes.container.image.pullPolicy";
constexpr std::string_view kFlink =
    "apache/flink-kubernetes-operator: FlinkDeploymentSpec.java; apache/flink: "
    "kubernetes.container.image.pull-policy";
constexpr std::string_view kStrimzi = "strimzi-kafka-operator: STRIMZI_IMAGE_PULL_POLICY";
constexpr std::string_view kKubeVirt = "kubevirt: staging/src/kubevirt.io/api/core/v1";
constexpr std::string_view kKruise = "openkruise/kruise: apis/apps";
constexpr std::string_view kArc = "actions/actions-runner-controller: apis";

constexpr KnownPlace kPlaces[] = {
    {"Prometheus", "monitoring.coreos.com", "spec", kPrometheus, kImage},
    {"Prometheus", "monitoring.coreos.com", "spec.thanos", kPrometheus, kImage, kKubernetes, "spec"},
    {"PrometheusAgent", "monitoring.coreos.com", "spec", kPrometheus, kImage},
    {"Alertmanager", "monitoring.coreos.com", "spec", kPrometheus, kImage},
    {"ThanosRuler", "monitoring.coreos.com", "spec", kPrometheus, kImage},

    {"Service", "serving.knative.dev", "spec.template", kKnative, kPod, kIfNotPresent},
    {"Configuration", "serving.knative.dev", "spec.template", kKnative, kPod, kIfNotPresent},
    {"Revision", "serving.knative.dev", "spec", kKnative, kPod, kIfNotPresent},
    {"ContainerSource", "sources.knative.dev", "spec.template", "knative/eventing: pkg/apis/sources/v1"},
    {"JobSink", "sinks.knative.dev", "spec.job.spec.template", "knative/eventing: pkg/apis/sinks/v1alpha1"},

    {"InferenceService", "serving.kserve.io", "spec.predictor", kServe},
    {"InferenceService", "serving.kserve.io", "spec.predictor.workerSpec", kServe},
    {"InferenceService", "serving.kserve.io", "spec.transformer", kServe},
    {"InferenceService", "serving.kserve.io", "spec.explainer", kServe},
    {"InferenceService", "serving.kserve.io", "spec.predictor.*", kServe, kImage},
    {"ServingRuntime", "serving.kserve.io", "spec", kServe},
    {"ServingRuntime", "serving.kserve.io", "spec.workerSpec", kServe},
    {"ClusterServingRuntime", "serving.kserve.io", "spec", kServe},
    {"ClusterServingRuntime", "serving.kserve.io", "spec.workerSpec", kServe},
    {"ClusterStorageContainer", "serving.kserve.io", "spec.container", kServe, kImage},
    {"LLMInferenceService", "serving.kserve.io", "spec.template", kServe},
    {"LLMInferenceService", "serving.kserve.io", "spec.worker", kServe},

    {"PyTorchJob", "kubeflow.org", "spec.pytorchReplicaSpecs.*.template", kTraining},
    {"TFJob", "kubeflow.org", "spec.tfReplicaSpecs.*.template", kTraining},
    {"MPIJob", "kubeflow.org", "spec.mpiReplicaSpecs.*.template", kTraining},
    {"XGBoostJob", "kubeflow.org", "spec.xgbReplicaSpecs.*.template", kTraining},
    {"PaddleJob", "kubeflow.org", "spec.paddleReplicaSpecs.*.template", kTraining},
    {"JAXJob", "kubeflow.org", "spec.jaxReplicaSpecs.*.template", kTraining},
    {"Notebook", "kubeflow.org", "spec.template", "kubeflow: components/notebook-controller/api"},
    {"TrainJob", "trainer.kubeflow.org", "spec.trainer", "kubeflow/trainer: pkg/apis/trainer/v1alpha1",
     kImage},
    {"TrainingRuntime", "trainer.kubeflow.org", "spec.template.spec.replicatedJobs.template.spec.template",
     "kubeflow/trainer: pkg/apis/trainer/v1alpha1"},
    {"ClusterTrainingRuntime", "trainer.kubeflow.org",
     "spec.template.spec.replicatedJobs.template.spec.template",
     "kubeflow/trainer: pkg/apis/trainer/v1alpha1"},

    {"RayCluster", "ray.io", "spec.headGroupSpec.template", kRay},
    {"RayCluster", "ray.io", "spec.workerGroupSpecs.template", kRay},
    {"RayJob", "ray.io", "spec.rayClusterSpec.headGroupSpec.template", kRay},
    {"RayJob", "ray.io", "spec.rayClusterSpec.workerGroupSpecs.template", kRay},
    {"RayJob", "ray.io", "spec.submitterPodTemplate", kRay},
    {"RayService", "ray.io", "spec.rayClusterConfig.headGroupSpec.template", kRay},
    {"RayService", "ray.io", "spec.rayClusterConfig.workerGroupSpecs.template", kRay},
    {"RayCronJob", "ray.io", "spec.jobTemplate.rayClusterSpec.headGroupSpec.template", kRay},
    {"RayCronJob", "ray.io", "spec.jobTemplate.rayClusterSpec.workerGroupSpecs.template", kRay},
    {"RayCronJob", "ray.io", "spec.jobTemplate.submitterPodTemplate", kRay},
    {"RayCluster", "ray.io", "spec.autoscalerOptions", kRaySidecar, kImage, kIfNotPresent},
    {"RayCluster", "ray.io", "spec.historyServerOptions.collectorOptions", kRaySidecar, kImage,
     kIfNotPresent},
    {"RayJob", "ray.io", "spec.rayClusterSpec.autoscalerOptions", kRaySidecar, kImage, kIfNotPresent},
    {"RayService", "ray.io", "spec.rayClusterConfig.autoscalerOptions", kRaySidecar, kImage, kIfNotPresent},
    {"RayCronJob", "ray.io", "spec.jobTemplate.rayClusterSpec.autoscalerOptions", kRaySidecar, kImage,
     kIfNotPresent},

    {"SparkApplication", "sparkoperator.k8s.io", "spec", kSpark, kImage, kIfNotPresent},
    {"SparkApplication", "sparkoperator.k8s.io", "spec.driver", kSpark, kImage, kIfNotPresent, "spec"},
    {"SparkApplication", "sparkoperator.k8s.io", "spec.executor", kSpark, kImage, kIfNotPresent, "spec"},
    {"ScheduledSparkApplication", "sparkoperator.k8s.io", "spec.template", kSpark, kImage, kIfNotPresent},
    {"ScheduledSparkApplication", "sparkoperator.k8s.io", "spec.template.driver", kSpark, kImage,
     kIfNotPresent, "spec.template"},
    {"ScheduledSparkApplication", "sparkoperator.k8s.io", "spec.template.executor", kSpark, kImage,
     kIfNotPresent, "spec.template"},
    {"SparkConnect", "sparkoperator.k8s.io", "spec", kSpark, kImage, kIfNotPresent},

    {"FlinkDeployment", "flink.apache.org", "spec", kFlink, kImage, kIfNotPresent},
    {"FlinkDeployment", "flink.apache.org", "spec.podTemplate", kFlink},
    {"FlinkDeployment", "flink.apache.org", "spec.jobManager.podTemplate", kFlink},
    {"FlinkDeployment", "flink.apache.org", "spec.taskManager.podTemplate", kFlink},
    {"FlinkBlueGreenDeployment", "flink.apache.org", "spec.template.spec", kFlink, kImage, kIfNotPresent},

    {"JobSet", "jobset.x-k8s.io", "spec.replicatedJobs.template.spec.template",
     "jobset: api/jobset/v1alpha2"},
    {"LeaderWorkerSet", "leaderworkerset.x-k8s.io", "spec.leaderWorkerTemplate.leaderTemplate",
     "lws: api/leaderworkerset/v1"},
    {"LeaderWorkerSet", "leaderworkerset.x-k8s.io", "spec.leaderWorkerTemplate.workerTemplate",
     "lws: api/leaderworkerset/v1"},
    {"Job", "batch.volcano.sh", "spec.tasks.template", "volcano: staging/src/volcano.sh/apis"},
    {"ScaledJob", "keda.sh", "spec.jobTargetRef.template", "keda: apis/keda/v1alpha1"},

    {"VirtualMachine", "kubevirt.io", "spec.template.spec.volumes.containerDisk", kKubeVirt, kImage},
    {"VirtualMachine", "kubevirt.io", "spec.template.spec.domain.firmware.kernelBoot.container", kKubeVirt,
     kImage},
    {"VirtualMachineInstance", "kubevirt.io", "spec.volumes.containerDisk", kKubeVirt, kImage},
    {"VirtualMachineInstance", "kubevirt.io", "spec.domain.firmware.kernelBoot.container", kKubeVirt, kImage},
    {"VirtualMachineInstanceReplicaSet", "kubevirt.io", "spec.template.spec.volumes.containerDisk", kKubeVirt,
     kImage},
    {"VirtualMachinePool", "pool.kubevirt.io",
     "spec.virtualMachineTemplate.spec.template.spec.volumes.containerDisk", kKubeVirt, kImage},

    {"Kafka", "kafka.strimzi.io", "spec.kafka", kStrimzi, kImage},
    {"Kafka", "kafka.strimzi.io", "spec.zookeeper", kStrimzi, kImage},
    {"Kafka", "kafka.strimzi.io", "spec.entityOperator.*", kStrimzi, kImage},
    {"Kafka", "kafka.strimzi.io", "spec.cruiseControl", kStrimzi, kImage},
    {"Kafka", "kafka.strimzi.io", "spec.kafkaExporter", kStrimzi, kImage},
    {"KafkaConnect", "kafka.strimzi.io", "spec", kStrimzi, kImage},
    {"KafkaBridge", "kafka.strimzi.io", "spec", kStrimzi, kImage},
    {"KafkaMirrorMaker", "kafka.strimzi.io", "spec", kStrimzi, kImage},
    {"KafkaMirrorMaker2", "kafka.strimzi.io", "spec", kStrimzi, kImage},

    {"Cluster", "postgresql.cnpg.io", "spec", "cloudnative-pg: api/v1", kImage, kKubernetes, "", "imageName"},
    {"Pooler", "postgresql.cnpg.io", "spec.template", "cloudnative-pg: api/v1"},
    {"ImageCatalog", "postgresql.cnpg.io", "spec.images", "cloudnative-pg: api/v1; policies are Clusters'",
     kImage, kUnknown},
    {"ClusterImageCatalog", "postgresql.cnpg.io", "spec.images",
     "cloudnative-pg: api/v1; policies are Clusters'", kImage, kUnknown},

    {"Rollout", "argoproj.io", "spec.template", "argo-rollouts: pkg/apis/rollouts/v1alpha1"},
    {"AnalysisTemplate", "argoproj.io", "spec.metrics.provider.job.spec.template", "argo-rollouts: pkg/apis"},
    {"ClusterAnalysisTemplate", "argoproj.io", "spec.metrics.provider.job.spec.template",
     "argo-rollouts: pkg/apis"},
    {"ExecutorPlugin", "argoproj.io", "spec.sidecar.container", "argo-workflows: pkg/plugins/spec", kImage},

    {"AutoscalingRunnerSet", "actions.github.com", "spec.template", kArc},
    {"EphemeralRunnerSet", "actions.github.com", "spec.ephemeralRunnerSpec", kArc},
    {"EphemeralRunner", "actions.github.com", "spec", kArc},
    {"RunnerDeployment", "actions.summerwind.dev", "spec.template.spec", kArc, kImage},
    {"RunnerDeployment", "actions.summerwind.dev", "spec.template.spec", kArc, kImage, kKubernetes, "",
     "dockerdImage"},
    {"RunnerSet", "actions.summerwind.dev", "spec.template", kArc},

    {"CloneSet", "apps.kruise.io", "spec.template", kKruise},
    {"StatefulSet", "apps.kruise.io", "spec.template", kKruise},
    {"DaemonSet", "apps.kruise.io", "spec.template", kKruise},
    {"BroadcastJob", "apps.kruise.io", "spec.template", kKruise},
    {"AdvancedCronJob", "apps.kruise.io", "spec.template.jobTemplate.spec.template", kKruise},
    {"AdvancedCronJob", "apps.kruise.io", "spec.template.broadcastJobTemplate.spec.template", kKruise},
    {"SidecarSet", "apps.kruise.io", "spec", kKruise},

    {"ProwJob", "prow.k8s.io", "spec.pod_spec", "kubernetes-sigs/prow: pkg/apis/prowjobs/v1"},
    {"CatalogSource", "operators.coreos.com", "spec", "operator-framework/api: pkg/operators/v1alpha1",
     kImage, kUnknown},
    {"Provider", "pkg.crossplane.io", "spec", "crossplane: apis/pkg/v1", kImage, kKubernetes, "", "package",
     "packagePullPolicy"},
    {"Function", "pkg.crossplane.io", "spec", "crossplane: apis/pkg/v1", kImage, kKubernetes, "", "package",
     "packagePullPolicy"},
};

struct Podless {
  std::string_view group;
  std::string_view kinds;  // with blanks between them; "*": all of the group
};

// Kinds that are data, rules or wishes about other objects, and files of tools that have a kind.
constexpr Podless kPodless[] = {
    {"",
     "Binding ComponentStatus ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume "
     "PersistentVolumeClaim PodList ResourceQuota Secret Service ServiceAccount"},
    {"apps", "ControllerRevision"},
    {"extensions", "Ingress NetworkPolicy PodSecurityPolicy"},
    {"admissionregistration.k8s.io", "*"},
    {"apiextensions.k8s.io", "*"},
    {"apiregistration.k8s.io", "*"},
    {"authentication.k8s.io", "*"},
    {"authorization.k8s.io", "*"},
    {"authorization.openshift.io", "*"},
    {"autoscaling", "*"},
    {"autoscaling.k8s.io", "*"},
    {"certificates.k8s.io", "*"},
    {"coordination.k8s.io", "*"},
    {"discovery.k8s.io", "*"},
    {"events.k8s.io", "*"},
    {"flowcontrol.apiserver.k8s.io", "*"},
    {"gateway.networking.k8s.io", "*"},
    {"metrics.k8s.io", "*"},
    {"networking.k8s.io", "*"},
    {"node.k8s.io", "*"},
    {"policy", "*"},
    {"policy.networking.k8s.io", "*"},
    {"rbac.authorization.k8s.io", "*"},
    {"resource.k8s.io", "*"},
    {"scheduling.k8s.io", "*"},
    {"settings.k8s.io", "*"},
    {"snapshot.storage.k8s.io", "*"},
    {"storage.k8s.io", "*"},
    {"storagemigration.k8s.io", "*"},
    // Files of tools.
    {"apiserver.config.k8s.io", "*"},
    {"audit.k8s.io", "*"},
    {"client.authentication.k8s.io", "*"},
    {"eksctl.io", "*"},
    {"k3d.io", "*"},
    {"kind.x-k8s.io", "*"},
    {"kubeadm.k8s.io", "*"},
    {"kubelet.config.k8s.io", "*"},
    {"kubeproxy.config.k8s.io", "*"},
    {"kubescheduler.config.k8s.io", "*"},
    {"kustomize.config.k8s.io", "*"},
    {"prefetchd.dev", "*"},
    // Nodes and networks.
    {"bootstrap.cluster.x-k8s.io", "*"},
    {"cluster.x-k8s.io", "*"},
    {"controlplane.cluster.x-k8s.io", "*"},
    {"infrastructure.cluster.x-k8s.io", "*"},
    {"karpenter.azure.com", "*"},
    {"karpenter.k8s.aws", "*"},
    {"karpenter.sh", "*"},
    {"machine.openshift.io", "*"},
    {"machineconfiguration.openshift.io", "*"},
    {"cilium.io", "*"},
    {"cloud.google.com", "BackendConfig"},
    {"crd.projectcalico.org", "*"},
    {"elbv2.k8s.aws", "*"},
    {"externaldns.k8s.io", "*"},
    {"k8s.cni.cncf.io", "*"},
    {"metallb.io", "*"},
    {"networking.gke.io", "*"},
    {"networking.istio.io", "*"},
    {"projectcalico.org", "*"},
    {"security.istio.io", "*"},
    {"split.smi-spec.io", "*"},
    {"telemetry.istio.io", "*"},
    {"traefik.containo.us", "*"},
    {"traefik.io", "*"},
    {"vpcresources.k8s.aws", "*"},
    // OpenShift.
    {"config.openshift.io", "*"},
    {"console.openshift.io", "*"},
    {"image.openshift.io", "*"},
    {"oauth.openshift.io", "*"},
    {"project.openshift.io", "*"},
    {"quota.openshift.io", "*"},
    {"route.openshift.io", "*"},
    {"security.openshift.io", "*"},
    {"user.openshift.io", "*"},
    // Secrets, certificates, policies.
    {"acme.cert-manager.io", "*"},
    {"bitnami.com", "SealedSecret"},
    {"cert-manager.io", "*"},
    {"constraints.gatekeeper.sh", "*"},
    {"external-secrets.io", "*"},
    {"generators.external-secrets.io", "*"},
    {"kyverno.io", "*"},
    {"policies.kyverno.io", "*"},
    {"secrets-store.csi.x-k8s.io", "*"},
    {"templates.gatekeeper.sh", "*"},
    {"trust.cert-manager.io", "*"},
    // Parts of controllers whose other kinds run pods.
    {"argoproj.io",
     "AppProject WorkflowArtifactGCTask WorkflowEventBinding WorkflowTaskResult WorkflowTaskSet"},
    {"crunchydata.com", "PGUpgrade"},
    {"eventing.knative.dev", "*"},
    {"flink.apache.org", "FlinkSessionJob FlinkStateSnapshot"},
    {"flows.knative.dev", "*"},
    {"grafana.integreatly.org",
     "GrafanaContactPoint GrafanaDashboard GrafanaDatasource GrafanaFolder GrafanaNotificationPolicy"},
    {"image.toolkit.fluxcd.io", "*"},
    {"kafka.strimzi.io", "KafkaConnector KafkaNodePool KafkaRebalance KafkaTopic KafkaUser StrimziPodSet"},
    {"keda.sh", "ClusterTriggerAuthentication ScaledObject TriggerAuthentication"},
    {"kueue.x-k8s.io", "*"},
    {"messaging.knative.dev", "*"},
    {"monitoring.coreos.com",
     "AlertmanagerConfig PodMonitor Probe PrometheusRule ScrapeConfig ServiceMonitor"},
    {"monitoring.googleapis.com", "*"},
    {"notification.toolkit.fluxcd.io", "*"},
    {"operators.coreos.com", "OperatorCondition OperatorGroup"},
    {"postgresql.cnpg.io", "Backup Database Publication ScheduledBackup Subscription"},
    {"scheduling.sigs.k8s.io", "*"},
    {"scheduling.volcano.sh", "*"},
    {"serving.knative.dev", "DomainMapping Route"},
    {"source.toolkit.fluxcd.io", "*"},
    {"triggers.tekton.dev", "ClusterInterceptor ClusterTriggerBinding Interceptor Trigger TriggerBinding"},
    {"velero.io", "*"},
    // Lists of images of other tools, which list import reads.
    {"caching.internal.knative.dev", "Image"},
    {"che.eclipse.org", "KubernetesImagePuller"},
    {"kubefledged.io", "ImageCache"},
    {"mirror.openshift.io", "*"},
    {"apps.kruise.io", "ImageListPullJob ImagePullJob NodeImage PodUnavailableBudget"},
    {"policy.kruise.io", "*"},
};

}  // namespace

ObjectType TypeOf(std::string_view api_version, std::string_view kind) {
  std::size_t slash = api_version.find('/');
  std::string_view group = slash == std::string_view::npos ? "" : api_version.substr(0, slash);
  return {std::string(group), std::string(kind)};
}

std::string TypeName(const ObjectType& type) {
  return type.group.empty() ? type.kind : type.kind + "." + type.group;
}

const BuiltInKind* FindBuiltIn(const ObjectType& type) {
  const auto* found = std::ranges::find_if(
      kBuiltIn, [&](const BuiltInKind& row) { return row.kind == type.kind && row.group == type.group; });
  return found == std::end(kBuiltIn) ? nullptr : found;
}

std::span<const KnownPlace> KnownPlaces() {
  return kPlaces;
}

bool IsPodless(const ObjectType& type) {
  return std::ranges::any_of(kPodless, [&](const Podless& row) {
    if (row.group != type.group) return false;
    const std::vector<std::string_view> kinds = base::Split(row.kinds, ' ');
    return row.kinds == "*" || std::ranges::find(kinds, type.kind) != kinds.end();
  });
}

}  // namespace prefetch::manifest
