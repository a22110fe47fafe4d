package main

import (
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// How the messages of prefetchd-touch begin.
const (
	noPodUpdate      = "an agent makes and deletes pods, and changes none"
	notItsNamespace  = "an agent makes and deletes pods in the namespace"
	notItsPodsNode   = "an agent makes and deletes pods only on the node"
	notItsEnd        = "a touch pod ends by itself"
	notItsIdentity   = "a touch pod has no identity"
	notItsImages     = "a touch pod names up to 20 images"
	notItsSize       = "a touch pod takes next to nothing"
	notItsPriority   = "a touch pod has no priority class"
	notItsPrivilege  = "a touch pod has no privileges"
	notItsShape      = "a touch pod is of one shape"
	notItsContainers = "a touch pod's containers are of one shape"
)

// What the API server has filled in of a pod when admission is asked: the defaults, and what its own plugins
// set.
func defaulted(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.UID = "u3"
	pod.Spec.DNSPolicy, pod.Spec.SchedulerName = corev1.DNSClusterFirst, corev1.DefaultSchedulerName
	pod.Spec.DeprecatedServiceAccount = pod.Spec.ServiceAccountName
	var priority int32
	never := corev1.PreemptLowerPriority
	pod.Spec.Priority, pod.Spec.PreemptionPolicy = &priority, &never
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		container.TerminationMessagePath, container.TerminationMessagePolicy = corev1.TerminationMessagePathDefault, corev1.TerminationMessageReadFile
	}
	return pod
}

func podCreation(sent *corev1.Pod, change func(pod *corev1.Pod)) Request {
	pod := defaulted(sent)
	change(pod)
	return Request{Operation: operationCreate, Resource: "pods", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name,
		User: agentUser, OnNode: sent.Spec.NodeName, Object: pod}
}

func podDeletion(sent *corev1.Pod, change func(pod *corev1.Pod)) Request {
	request := podCreation(sent, change)
	request.Operation, request.OldObject, request.Object = operationDelete, request.Object, nil
	return request
}

// What agents may do with pods, row by row; `sent` is what they send.
// The rows of prefetchd-touch-priority.
func priorityRows(sent *corev1.Pod) []Row {
	row := func(name, denied, class string) Row {
		return Row{Name: name, Denied: denied, Request: podCreation(sent, func(pod *corev1.Pod) { pod.Spec.PriorityClassName = class })}
	}
	asIs := row("the pod that the agent sends", "", "")
	return []Row{
		asIs,
		row("the cluster's default class", "", "default"),
		row("another class of the same priority", notItsPriority, "important"),
		row("a class of the system", notItsPriority, "system-cluster-critical"),
		as(row("by somebody else", "", "important"), "another class, by somebody else", notMatched, func(request *Request) {
			request.User = "system:serviceaccount:default:builder"
		}),
		as(asIs, "an update", notMatched, func(request *Request) {
			request.Operation, request.OldObject = operationUpdate, request.Object
		}),
	}
}

func touchRows(sent, withVolumes *corev1.Pod) []Row {
	row := func(name, denied string, change func(pod *corev1.Pod)) Row {
		return Row{Name: name, Denied: denied, Request: podCreation(sent, change)}
	}
	first := func(change func(container *corev1.Container)) func(pod *corev1.Pod) {
		return func(pod *corev1.Pod) { change(&pod.Spec.Containers[0]) }
	}
	asIs := row("the pod that the agent sends", "", func(*corev1.Pod) {})
	deleted := func(name, denied string, change func(request *Request)) Row {
		return as(Row{Request: podDeletion(sent, func(*corev1.Pod) {})}, name, denied, change)
	}
	someValue, yes := int64(301), true
	rows := []Row{
		asIs,
		{Name: "with image volumes", Request: podCreation(withVolumes, func(*corev1.Pod) {})},
		row("twenty images", "", func(pod *corev1.Pod) { pod.Spec.Containers = images(pod, 20) }),
		row("other names, labels and annotations", "", func(pod *corev1.Pod) {
			pod.Name, pod.Labels, pod.Annotations = "touch-x", map[string]string{"a": "b"}, map[string]string{"c": "d"}
		}),
		row("Always, as AlwaysPullImages makes it", "", first(func(container *corev1.Container) { container.ImagePullPolicy = corev1.PullAlways })),
		row("the priority of a default class", "", func(pod *corev1.Pod) {
			priority := int32(1000)
			pod.Spec.Priority, pod.Spec.PriorityClassName = &priority, "default"
		}),
		row("a default class that preempts nobody", "", func(pod *corev1.Pod) {
			priority, never := int32(1000000000), corev1.PreemptNever
			pod.Spec.Priority, pod.Spec.PreemptionPolicy, pod.Spec.PriorityClassName = &priority, &never, "default"
		}),
		row("the policies of in-place resizing", "", first(func(container *corev1.Container) {
			container.ResizePolicy = []corev1.ContainerResizePolicy{
				{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.NotRequired},
				{ResourceName: corev1.ResourceMemory, RestartPolicy: corev1.NotRequired}}
		})),
		row("tolerations of the cluster beside its own", "", func(pod *corev1.Pod) {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations,
				corev1.Toleration{Key: "node.kubernetes.io/memory-pressure", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule})
		}),

		as(asIs, "on another node than the token's", notItsPodsNode, func(request *Request) { request.OnNode = "n2" }),
		as(asIs, "by a token that names no node", notItsPodsNode, func(request *Request) { request.OnNode = "" }),
		row("on another node", notItsPodsNode, func(pod *corev1.Pod) { pod.Spec.NodeName = "n2" }),
		as(asIs, "by a token that names a pod and no node", notItsPodsNode, func(request *Request) {
			request.OnNode, request.OtherClaims = "", true
		}),
		as(asIs, "in another namespace", notItsNamespace, func(request *Request) { request.Namespace = "kube-system" }),
		as(asIs, "an update", noPodUpdate, func(request *Request) {
			request.Operation, request.OldObject = operationUpdate, request.Object
		}),

		row("more than one start", notItsEnd, func(pod *corev1.Pod) { pod.Spec.RestartPolicy = corev1.RestartPolicyAlways }),
		row("no deadline", notItsEnd, func(pod *corev1.Pod) { pod.Spec.ActiveDeadlineSeconds = nil }),
		row("a later deadline", notItsEnd, func(pod *corev1.Pod) { pod.Spec.ActiveDeadlineSeconds = &someValue }),
		row("time after its deadline", notItsEnd, func(pod *corev1.Pod) { pod.Spec.TerminationGracePeriodSeconds = &someValue }),
		row("time after its deadline, by default", notItsEnd, func(pod *corev1.Pod) { pod.Spec.TerminationGracePeriodSeconds = nil }),
		row("a finalizer", notItsEnd, func(pod *corev1.Pod) { pod.Finalizers = []string{"example.test/never"} }),
		row("no owner", notItsEnd, func(pod *corev1.Pod) { pod.OwnerReferences = nil }),
		row("two owners", notItsEnd, func(pod *corev1.Pod) {
			pod.OwnerReferences = append(pod.OwnerReferences, pod.OwnerReferences[0])
		}),
		row("another owner", notItsEnd, func(pod *corev1.Pod) { pod.OwnerReferences[0].Name = "n2" }),
		row("an owner of another kind", notItsEnd, func(pod *corev1.Pod) { pod.OwnerReferences[0].Kind = "Pod" }),

		row("another service account", notItsIdentity, func(pod *corev1.Pod) { pod.Spec.ServiceAccountName = "default" }),
		row("a token", notItsIdentity, func(pod *corev1.Pod) { pod.Spec.AutomountServiceAccountToken = &yes }),
		row("a token by default", notItsIdentity, func(pod *corev1.Pod) { pod.Spec.AutomountServiceAccountToken = nil }),
		row("a pull secret", notItsIdentity, func(pod *corev1.Pod) { pod.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "x"}} }),

		row("a process", notItsImages, first(func(container *corev1.Container) { container.Command = []string{"/bin/sh"} })),
		row("the image's own process", notItsImages, first(func(container *corev1.Container) { container.Command = nil })),
		row("arguments", notItsImages, first(func(container *corev1.Container) { container.Args = []string{"x"} })),
		row("a variable", notItsImages, first(func(container *corev1.Container) { container.Env = []corev1.EnvVar{{Name: "a", Value: "b"}} })),
		row("variables of a secret", notItsImages, first(func(container *corev1.Container) {
			container.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "x"}}}}
		})),
		row("a hook", notItsImages, first(func(container *corev1.Container) { container.Lifecycle = &corev1.Lifecycle{} })),
		row("a liveness probe", notItsImages, first(func(container *corev1.Container) { container.LivenessProbe = &corev1.Probe{} })),
		row("a readiness probe", notItsImages, first(func(container *corev1.Container) { container.ReadinessProbe = &corev1.Probe{} })),
		row("a startup probe", notItsImages, first(func(container *corev1.Container) { container.StartupProbe = &corev1.Probe{} })),
		row("a process in the second container", notItsImages, func(pod *corev1.Pod) { pod.Spec.Containers[1].Command = []string{"/bin/sh"} }),
		row("an init container", notItsImages, func(pod *corev1.Pod) { pod.Spec.InitContainers = images(pod, 1) }),
		row("an ephemeral container", notItsImages, func(pod *corev1.Pod) {
			pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{TargetContainerName: "image-0"}}
		}),
		row("twenty-one images", notItsImages, func(pod *corev1.Pod) { pod.Spec.Containers = images(pod, 21) }),

		row("more of the node", notItsSize, first(func(container *corev1.Container) {
			container.Resources.Requests[corev1.ResourceCPU] = resource.MustParse("2m")
		})),
		row("more of its memory", notItsSize, first(func(container *corev1.Container) {
			container.Resources.Requests[corev1.ResourceMemory] = resource.MustParse("2Mi")
		})),
		row("a device", notItsSize, first(func(container *corev1.Container) {
			container.Resources.Requests["nvidia.com/gpu"] = resource.MustParse("1")
			container.Resources.Limits["nvidia.com/gpu"] = resource.MustParse("1")
		})),
		row("a limit that is none", notItsSize, first(func(container *corev1.Container) {
			container.Resources.Limits[corev1.ResourceCPU] = resource.MustParse("8")
		})),
		row("a limit of memory that is none", notItsSize, first(func(container *corev1.Container) {
			container.Resources.Limits[corev1.ResourceMemory] = resource.MustParse("8Gi")
		})),
		row("no limits", notItsSize, first(func(container *corev1.Container) { container.Resources.Limits = nil })),
		row("no requests", notItsSize, first(func(container *corev1.Container) { container.Resources.Requests = nil })),
		row("resources for the whole pod", notItsSize, func(pod *corev1.Pod) {
			pod.Spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("8")}}
		}),
		row("a priority for which kubelet ends other pods", notItsSize, func(pod *corev1.Pod) {
			critical := int32(2000000000)
			pod.Spec.Priority, pod.Spec.PriorityClassName = &critical, "system-cluster-critical"
		}),

		row("a priority without a class", notItsSize, func(pod *corev1.Pod) {
			priority := int32(1000)
			pod.Spec.Priority = &priority
		}),
		row("no preemption without a class", notItsShape, func(pod *corev1.Pod) {
			never := corev1.PreemptNever
			pod.Spec.PreemptionPolicy = &never
		}),
		row("tolerations of its own only", notItsShape, func(pod *corev1.Pod) {
			pod.Spec.Tolerations = []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists}}
		}),
		row("service links", notItsShape, func(pod *corev1.Pod) { pod.Spec.EnableServiceLinks = nil }),
		row("a restart when resized", notItsContainers, first(func(container *corev1.Container) {
			container.ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.RestartContainer}}
		})),
		row("messages from the log", notItsContainers, first(func(container *corev1.Container) {
			container.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
		})),
		row("never pulls", notItsContainers, first(func(container *corev1.Container) { container.ImagePullPolicy = corev1.PullNever })),

		row("the node's network", notItsPrivilege, func(pod *corev1.Pod) { pod.Spec.HostNetwork = true }),
		row("the node's processes", notItsPrivilege, func(pod *corev1.Pod) { pod.Spec.HostPID = true }),
		row("the node's memory between processes", notItsPrivilege, func(pod *corev1.Pod) { pod.Spec.HostIPC = true }),
		row("a port", notItsPrivilege, first(func(container *corev1.Container) { container.Ports = []corev1.ContainerPort{{HostPort: 80}} })),
		row("privileged", notItsPrivilege, first(func(container *corev1.Container) { container.SecurityContext.Privileged = &yes })),
		row("more privileges than it began with", notItsPrivilege, first(func(container *corev1.Container) {
			container.SecurityContext.AllowPrivilegeEscalation = &yes
		})),
		row("a capability", notItsPrivilege, first(func(container *corev1.Container) {
			container.SecurityContext.Capabilities.Add = []corev1.Capability{"NET_RAW"}
		})),
		row("some capabilities kept", notItsPrivilege, first(func(container *corev1.Container) {
			container.SecurityContext.Capabilities.Drop = []corev1.Capability{"NET_RAW"}
		})),

		deleted("its pod is deleted", "", func(*Request) {}),
		deleted("a pod of another shape is deleted", "", func(request *Request) {
			request.OldObject = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Spec: corev1.PodSpec{NodeName: sent.Spec.NodeName}}
		}),
		deleted("a pod of another node is deleted", notItsPodsNode, func(request *Request) { request.OnNode = "n2" }),
		deleted("a pod without a node is deleted", notItsPodsNode, func(request *Request) {
			request.OldObject.(*corev1.Pod).Spec.NodeName = ""
		}),
		deleted("a pod of another namespace is deleted", notItsNamespace, func(request *Request) { request.Namespace = "default" }),
		as(asIs, "it is somebody else", notMatched, func(request *Request) {
			request.User, request.Namespace = "system:serviceaccount:kube-system:daemon-set-controller", "ci"
		}),
		as(asIs, "it is another instance", "", func(request *Request) {
			request.User = "system:serviceaccount:prefetchd-team-a:prefetchd-team-a"
		}),
		as(asIs, "a Service", notMatched, func(request *Request) { request.Resource = "services" }),
	}
	unbound := row("left to the scheduler", notItsPodsNode, func(pod *corev1.Pod) { pod.Spec.NodeName = "" })
	unbound.Errors = true
	rows = append(rows, unbound)
	for i, name := range volumeSources() {
		denied := notItsIdentity
		if name == "image" {
			denied = ""
		}
		rows = append(rows, row("a volume: "+name, denied, func(pod *corev1.Pod) {
			volume := corev1.Volume{Name: "x"}
			Fill(reflect.ValueOf(&volume.VolumeSource).Elem().Field(i), 1)
			pod.Spec.Volumes = append(pod.Spec.Volumes, volume)
		}))
	}
	return append(rows, podFieldRows(sent)...)
}

func images(pod *corev1.Pod, count int) []corev1.Container {
	var containers []corev1.Container
	for i := range count {
		container := *pod.Spec.Containers[0].DeepCopy()
		container.Name, container.Image = fmt.Sprintf("image-%d", i), fmt.Sprintf("quay.io/acme/app-%d:v1", i)
		containers = append(containers, container)
	}
	return containers
}

// Every kind of volume that the real type has, in its order.
func volumeSources() []string {
	var names []string
	sources := reflect.TypeFor[corev1.VolumeSource]()
	for i := range sources.NumField() {
		names = append(names, FieldName(sources.Field(i)))
	}
	return names
}
