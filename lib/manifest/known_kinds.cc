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

// The comments name where the controllers' own types are written.
constexpr KnownPlace kPlaces[] = {
    // prometheus-operator: pkg/apis/monitoring/v1.
    {"Prometheus", "monitoring.coreos.com", "spec", kImage},
    {"Prometheus", "monitoring.coreos.com", "spec.thanos", kImage, kKubernetes, "spec"},
    {"PrometheusAgent", "monitoring.coreos.com", "spec", kImage},
    {"Alertmanager", "monitoring.coreos.com", "spec", kImage},
    {"ThanosRuler", "monitoring.coreos.com", "spec", kImage},

    // knative/serving: pkg/apis/serving/v1; tags become digests.
    {"Service", "serving.knative.dev", "spec.template", kPod, kIfNotPresent},
    {"Configuration", "serving.knative.dev", "spec.template", kPod, kIfNotPresent},
    {"Revision", "serving.knative.dev", "spec", kPod, kIfNotPresent},
    // knative/eventing: pkg/apis/sources/v1.
    {"ContainerSource", "sources.knative.dev", "spec.template"},
    // knative/eventing: pkg/apis/sinks/v1alpha1.
    {"JobSink", "sinks.knative.dev", "spec.job.spec.template"},

    // kserve: pkg/apis/serving.
    {"InferenceService", "serving.kserve.io", "spec.predictor"},
    {"InferenceService", "serving.kserve.io", "spec.predictor.workerSpec"},
    {"InferenceService", "serving.kserve.io", "spec.transformer"},
    {"InferenceService", "serving.kserve.io", "spec.explainer"},
    {"InferenceService", "serving.kserve.io", "spec.predictor.*", kImage},
    {"ServingRuntime", "serving.kserve.io", "spec"},
    {"ServingRuntime", "serving.kserve.io", "spec.workerSpec"},
    {"ClusterServingRuntime", "serving.kserve.io", "spec"},
    {"ClusterServingRuntime", "serving.kserve.io", "spec.workerSpec"},
    {"ClusterStorageContainer", "serving.kserve.io", "spec.container", kImage},
    {"LLMInferenceService", "serving.kserve.io", "spec.template"},
    {"LLMInferenceService", "serving.kserve.io", "spec.worker"},

    // kubeflow/training-operator: pkg/apis/kubeflow.org/v1.
    {"PyTorchJob", "kubeflow.org", "spec.pytorchReplicaSpecs.*.template"},
    {"TFJob", "kubeflow.org", "spec.tfReplicaSpecs.*.template"},
    {"MPIJob", "kubeflow.org", "spec.mpiReplicaSpecs.*.template"},
    {"XGBoostJob", "kubeflow.org", "spec.xgbReplicaSpecs.*.template"},
    {"PaddleJob", "kubeflow.org", "spec.paddleReplicaSpecs.*.template"},
    {"JAXJob", "kubeflow.org", "spec.jaxReplicaSpecs.*.template"},
    // kubeflow: components/notebook-controller/api.
    {"Notebook", "kubeflow.org", "spec.template"},
    // kubeflow/trainer: pkg/apis/trainer/v1alpha1.
    {"TrainJob", "trainer.kubeflow.org", "spec.trainer", kImage},
    {"TrainingRuntime", "trainer.kubeflow.org", "spec.template.spec.replicatedJobs.template.spec.template"},
    {"ClusterTrainingRuntime", "trainer.kubeflow.org",
     "spec.template.spec.replicatedJobs.template.spec.template"},

    // ray-project/kuberay: ray-operator/apis/ray/v1.
    {"RayCluster", "ray.io", "spec.headGroupSpec.template"},
    {"RayCluster", "ray.io", "spec.workerGroupSpecs.template"},
    {"RayJob", "ray.io", "spec.rayClusterSpec.headGroupSpec.template"},
    {"RayJob", "ray.io", "spec.rayClusterSpec.workerGroupSpecs.template"},
    {"RayJob", "ray.io", "spec.submitterPodTemplate"},
    {"RayService", "ray.io", "spec.rayClusterConfig.headGroupSpec.template"},
    {"RayService", "ray.io", "spec.rayClusterConfig.workerGroupSpecs.template"},
    {"RayCronJob", "ray.io", "spec.jobTemplate.rayClusterSpec.headGroupSpec.template"},
    {"RayCronJob", "ray.io", "spec.jobTemplate.rayClusterSpec.workerGroupSpecs.template"},
    {"RayCronJob", "ray.io", "spec.jobTemplate.submitterPodTemplate"},
    // ray-project/kuberay: ray-operator/controllers/ray/common/pod.go.
    {"RayCluster", "ray.io", "spec.autoscalerOptions", kImage, kIfNotPresent},
    {"RayCluster", "ray.io", "spec.historyServerOptions.collectorOptions", kImage, kIfNotPresent},
    {"RayJob", "ray.io", "spec.rayClusterSpec.autoscalerOptions", kImage, kIfNotPresent},
    {"RayService", "ray.io", "spec.rayClusterConfig.autoscalerOptions", kImage, kIfNotPresent},
    {"RayCronJob", "ray.io", "spec.jobTemplate.rayClusterSpec.autoscalerOptions", kImage, kIfNotPresent},

    // kubeflow/spark-operator: internal/controller/sparkapplication/submission.go; apache/spark:
    // spark.kubernetes.container.image.pullPolicy.
    {"SparkApplication", "sparkoperator.k8s.io", "spec", kImage, kIfNotPresent},
    {"SparkApplication", "sparkoperator.k8s.io", "spec.driver", kImage, kIfNotPresent, "spec"},
    {"SparkApplication", "sparkoperator.k8s.io", "spec.executor", kImage, kIfNotPresent, "spec"},
    {"ScheduledSparkApplication", "sparkoperator.k8s.io", "spec.template", kImage, kIfNotPresent},
    {"ScheduledSparkApplication", "sparkoperator.k8s.io", "spec.template.driver", kImage, kIfNotPresent,
     "spec.template"},
    {"ScheduledSparkApplication", "sparkoperator.k8s.io", "spec.template.executor", kImage, kIfNotPresent,
     "spec.template"},
    {"SparkConnect", "sparkoperator.k8s.io", "spec", kImage, kIfNotPresent},

    // apache/flink-kubernetes-operator: FlinkDeploymentSpec.java; apache/flink:
    // kubernetes.container.image.pull-policy.
    {"FlinkDeployment", "flink.apache.org", "spec", kImage, kIfNotPresent},
    {"FlinkDeployment", "flink.apache.org", "spec.podTemplate"},
    {"FlinkDeployment", "flink.apache.org", "spec.jobManager.podTemplate"},
    {"FlinkDeployment", "flink.apache.org", "spec.taskManager.podTemplate"},
    {"FlinkBlueGreenDeployment", "flink.apache.org", "spec.template.spec", kImage, kIfNotPresent},

    // jobset: api/jobset/v1alpha2.
    {"JobSet", "jobset.x-k8s.io", "spec.replicatedJobs.template.spec.template"},
    // lws: api/leaderworkerset/v1.
    {"LeaderWorkerSet", "leaderworkerset.x-k8s.io", "spec.leaderWorkerTemplate.leaderTemplate"},
    {"LeaderWorkerSet", "leaderworkerset.x-k8s.io", "spec.leaderWorkerTemplate.workerTemplate"},
    // volcano: staging/src/volcano.sh/apis.
    {"Job", "batch.volcano.sh", "spec.tasks.template"},
    // kueue: apis/kueue/v1beta1.
    {"Workload", "kueue.x-k8s.io", "spec.podSets.template"},
    // keda: apis/keda/v1alpha1.
    {"ScaledJob", "keda.sh", "spec.jobTargetRef.template"},

    // kubevirt: staging/src/kubevirt.io/api/core/v1.
    {"VirtualMachine", "kubevirt.io", "spec.template.spec.volumes.containerDisk", kImage},
    {"VirtualMachine", "kubevirt.io", "spec.template.spec.domain.firmware.kernelBoot.container", kImage},
    {"VirtualMachineInstance", "kubevirt.io", "spec.volumes.containerDisk", kImage},
    {"VirtualMachineInstance", "kubevirt.io", "spec.domain.firmware.kernelBoot.container", kImage},
    {"VirtualMachineInstanceReplicaSet", "kubevirt.io", "spec.template.spec.volumes.containerDisk", kImage},
    {"VirtualMachinePool", "pool.kubevirt.io",
     "spec.virtualMachineTemplate.spec.template.spec.volumes.containerDisk", kImage},

    // cluster-api-provider-kubevirt: api/v1alpha1.
    {"KubevirtMachine", "infrastructure.cluster.x-k8s.io",
     "spec.virtualMachineTemplate.spec.template.spec.volumes.containerDisk", kImage},
    {"KubevirtMachineTemplate", "infrastructure.cluster.x-k8s.io",
     "spec.template.spec.virtualMachineTemplate.spec.template.spec.volumes.containerDisk", kImage},

    // velero: pkg/apis/velero/v1.
    {"Restore", "velero.io", "spec.hooks.resources.postHooks.init.initContainers", kImage},

    // strimzi-kafka-operator: STRIMZI_IMAGE_PULL_POLICY.
    {"Kafka", "kafka.strimzi.io", "spec.kafka", kImage},
    {"Kafka", "kafka.strimzi.io", "spec.zookeeper", kImage},
    {"Kafka", "kafka.strimzi.io", "spec.entityOperator.*", kImage},
    {"Kafka", "kafka.strimzi.io", "spec.cruiseControl", kImage},
    {"Kafka", "kafka.strimzi.io", "spec.kafkaExporter", kImage},
    {"KafkaConnect", "kafka.strimzi.io", "spec", kImage},
    {"KafkaBridge", "kafka.strimzi.io", "spec", kImage},
    {"KafkaMirrorMaker", "kafka.strimzi.io", "spec", kImage},
    {"KafkaMirrorMaker2", "kafka.strimzi.io", "spec", kImage},

    // cloudnative-pg: api/v1.
    {"Cluster", "postgresql.cnpg.io", "spec", kImage, kKubernetes, "", "imageName"},
    {"Pooler", "postgresql.cnpg.io", "spec.template"},
    // cloudnative-pg: api/v1; policies are Clusters'.
    {"ImageCatalog", "postgresql.cnpg.io", "spec.images", kImage, kUnknown},
    {"ClusterImageCatalog", "postgresql.cnpg.io", "spec.images", kImage, kUnknown},

    // argo-rollouts: pkg/apis/rollouts/v1alpha1.
    {"Rollout", "argoproj.io", "spec.template"},
    // argo-rollouts: pkg/apis.
    {"AnalysisTemplate", "argoproj.io", "spec.metrics.provider.job.spec.template"},
    {"ClusterAnalysisTemplate", "argoproj.io", "spec.metrics.provider.job.spec.template"},
    // argo-workflows: pkg/plugins/spec.
    {"ExecutorPlugin", "argoproj.io", "spec.sidecar.container", kImage},

    // actions/actions-runner-controller: apis.
    {"AutoscalingRunnerSet", "actions.github.com", "spec.template"},
    {"EphemeralRunnerSet", "actions.github.com", "spec.ephemeralRunnerSpec"},
    {"EphemeralRunner", "actions.github.com", "spec"},
    {"RunnerDeployment", "actions.summerwind.dev", "spec.template.spec", kImage},
    {"RunnerDeployment", "actions.summerwind.dev", "spec.template.spec", kImage, kKubernetes, "",
     "dockerdImage"},
    {"RunnerSet", "actions.summerwind.dev", "spec.template"},

    // openkruise/kruise: apis/apps.
    {"CloneSet", "apps.kruise.io", "spec.template"},
    {"StatefulSet", "apps.kruise.io", "spec.template"},
    {"DaemonSet", "apps.kruise.io", "spec.template"},
    {"BroadcastJob", "apps.kruise.io", "spec.template"},
    {"AdvancedCronJob", "apps.kruise.io", "spec.template.jobTemplate.spec.template"},
    {"AdvancedCronJob", "apps.kruise.io", "spec.template.broadcastJobTemplate.spec.template"},
    {"SidecarSet", "apps.kruise.io", "spec"},

    // kubernetes-sigs/prow: pkg/apis/prowjobs/v1.
    {"ProwJob", "prow.k8s.io", "spec.pod_spec"},
    // operator-framework/api: pkg/operators/v1alpha1.
    {"CatalogSource", "operators.coreos.com", "spec", kImage, kUnknown},
    // crossplane: apis/pkg/v1.
    {"Provider", "pkg.crossplane.io", "spec", kImage, kKubernetes, "", "package", "packagePullPolicy"},
    {"Function", "pkg.crossplane.io", "spec", kImage, kKubernetes, "", "package", "packagePullPolicy"},
};

// Groups whose kinds are all data, rules or wishes about other objects, or files of tools that have a
// kind.
constexpr std::string_view kPodlessGroups[] = {
    "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "authentication.k8s.io",
    "authorization.k8s.io", "authorization.openshift.io", "autoscaling", "autoscaling.k8s.io",
    "certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io",
    "flowcontrol.apiserver.k8s.io", "gateway.networking.k8s.io", "metrics.k8s.io", "networking.k8s.io",
    "node.k8s.io", "policy", "policy.networking.k8s.io", "rbac.authorization.k8s.io", "resource.k8s.io",
    "scheduling.k8s.io", "settings.k8s.io", "snapshot.storage.k8s.io", "storage.k8s.io",
    "storagemigration.k8s.io",
    // Files of tools.
    "apiserver.config.k8s.io", "audit.k8s.io", "client.authentication.k8s.io", "eksctl.io", "k3d.io",
    "kind.x-k8s.io", "kubeadm.k8s.io", "kubelet.config.k8s.io", "kubeproxy.config.k8s.io",
    "kubescheduler.config.k8s.io", "kustomize.config.k8s.io", "prefetchd.dev",
    // Nodes and networks.
    "bootstrap.cluster.x-k8s.io", "cluster.x-k8s.io", "controlplane.cluster.x-k8s.io",
    "infrastructure.cluster.x-k8s.io", "karpenter.azure.com", "karpenter.k8s.aws", "karpenter.sh",
    "machine.openshift.io", "machineconfiguration.openshift.io", "cilium.io", "crd.projectcalico.org",
    "elbv2.k8s.aws", "externaldns.k8s.io", "k8s.cni.cncf.io", "metallb.io", "networking.gke.io",
    "networking.istio.io", "projectcalico.org", "security.istio.io", "split.smi-spec.io",
    "telemetry.istio.io", "traefik.containo.us", "traefik.io", "vpcresources.k8s.aws",
    // OpenShift.
    "config.openshift.io", "console.openshift.io", "image.openshift.io", "oauth.openshift.io",
    "project.openshift.io", "quota.openshift.io", "route.openshift.io", "security.openshift.io",
    "user.openshift.io",
    // Secrets, certificates, policies.
    "acme.cert-manager.io", "cert-manager.io", "constraints.gatekeeper.sh", "external-secrets.io",
    "generators.external-secrets.io", "kyverno.io", "policies.kyverno.io", "secrets-store.csi.x-k8s.io",
    "templates.gatekeeper.sh", "trust.cert-manager.io",
    // Parts of controllers.
    "eventing.knative.dev", "flows.knative.dev", "image.toolkit.fluxcd.io", "kueue.x-k8s.io",
    "messaging.knative.dev", "monitoring.googleapis.com", "notification.toolkit.fluxcd.io",
    "scheduling.sigs.k8s.io", "scheduling.volcano.sh", "source.toolkit.fluxcd.io", "velero.io",
    // Lists of images of other tools, which list import reads.
    "mirror.openshift.io", "policy.kruise.io"};

struct Podless {
  std::string_view group;
  std::string_view kinds;  // with blanks between them
};

// Such kinds of groups that also have, or may have, kinds with pods.
constexpr Podless kPodless[] = {
    {"",
     "Binding ComponentStatus ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume "
     "PersistentVolumeClaim PodList ResourceQuota Secret Service ServiceAccount"},
    {"apps", "ControllerRevision"},
    {"extensions", "Ingress NetworkPolicy PodSecurityPolicy"},
    {"cloud.google.com", "BackendConfig"},
    {"bitnami.com", "SealedSecret"},
    {"argoproj.io",
     "AppProject WorkflowArtifactGCTask WorkflowEventBinding WorkflowTaskResult WorkflowTaskSet"},
    {"crunchydata.com", "PGUpgrade"},
    {"flink.apache.org", "FlinkSessionJob FlinkStateSnapshot"},
    {"grafana.integreatly.org",
     "GrafanaContactPoint GrafanaDashboard GrafanaDatasource GrafanaFolder GrafanaNotificationPolicy"},
    {"kafka.strimzi.io", "KafkaConnector KafkaNodePool KafkaRebalance KafkaTopic KafkaUser StrimziPodSet"},
    {"keda.sh", "ClusterTriggerAuthentication ScaledObject TriggerAuthentication"},
    {"monitoring.coreos.com",
     "AlertmanagerConfig PodMonitor Probe PrometheusRule ScrapeConfig ServiceMonitor"},
    {"operators.coreos.com", "OperatorCondition OperatorGroup"},
    {"postgresql.cnpg.io", "Backup Database Publication ScheduledBackup Subscription"},
    {"serving.knative.dev", "DomainMapping Route"},
    {"triggers.tekton.dev", "ClusterInterceptor ClusterTriggerBinding Interceptor Trigger TriggerBinding"},
    // Lists of images of other tools, which list import reads.
    {"caching.internal.knative.dev", "Image"},
    {"che.eclipse.org", "KubernetesImagePuller"},
    {"kubefledged.io", "ImageCache"},
    {"apps.kruise.io", "ImageListPullJob ImagePullJob NodeImage PodUnavailableBudget"},
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
  if (std::ranges::find(kPodlessGroups, type.group) != std::end(kPodlessGroups)) return true;
  return std::ranges::any_of(kPodless, [&](const Podless& row) {
    const std::vector<std::string_view> kinds = base::Split(row.kinds, ' ');
    return row.group == type.group && std::ranges::find(kinds, type.kind) != kinds.end();
  });
}

}  // namespace prefetch::manifest
