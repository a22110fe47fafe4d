package main

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// AdvisoryRow is a request, and the uses that prefetchd-policy names for it, in its words: "app:v1 (container app)".
type AdvisoryRow struct {
	Name    string
	Request Request
	Found   []string
	// It is none of the policy's business.
	NotMatched bool
}

const (
	digest       = "@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	foundBefore  = "Always contacts the registry at every start, although prefetchd keeps these images on the nodes: "
	foundBehind  = "; set imagePullPolicy (of image volumes: pullPolicy) to IfNotPresent or Never"
	workloadName = "ci"
)

// As `prefetchctl list export --for policy` writes them: `nginx` with its tag as well.
var listedImages = []string{"localhost:5000/tool", "localhost:5000/tool:latest", "localhost:5000/tool:latest-1", "localhost:5000/tool:v2", "nginx", "nginx:latest",
	"quay.io/acme/app" + digest, "quay.io/acme/app:latest" + digest, "quay.io/acme/app:v1", "quay.io/acme/data:v1"}

func imagesParam(images []string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "prefetchd-policy", Namespace: "prefetchd"},
		Data: map[string]string{"images": strings.Join(images, "\n") + "\n"}}
}

// Problem says how a verdict differs from what the row wants. Empty: it does not.
func (row AdvisoryRow) Problem(verdict Verdict) string {
	wanted := ""
	if len(row.Found) > 0 {
		wanted = foundBefore + strings.Join(row.Found, ", ") + foundBehind
	}
	said := strings.Join(verdict.Denials, "\n")
	switch {
	case len(verdict.Errors) > 0:
		return "cannot be evaluated: " + strings.Join(verdict.Errors, "; ")
	case verdict.Matched == row.NotMatched:
		return fmt.Sprintf("matched is %v", verdict.Matched)
	case said != wanted:
		return fmt.Sprintf("says %q, not %q", said, wanted)
	}
	return ""
}

// A kind of workload: the object that holds a pod's spec.
type workload struct {
	group, resource, kind string
	around                func(spec corev1.PodSpec) runtime.Object
}

func template(spec corev1.PodSpec) corev1.PodTemplateSpec { return corev1.PodTemplateSpec{Spec: spec} }

func named() metav1.ObjectMeta { return metav1.ObjectMeta{Name: "x", Namespace: workloadName} }

var workloads = []workload{
	{"", "pods", "Pod", func(spec corev1.PodSpec) runtime.Object { return &corev1.Pod{ObjectMeta: named(), Spec: spec} }},
	{"", "podtemplates", "PodTemplate", func(spec corev1.PodSpec) runtime.Object {
		return &corev1.PodTemplate{ObjectMeta: named(), Template: template(spec)}
	}},
	{"", "replicationcontrollers", "ReplicationController", func(spec corev1.PodSpec) runtime.Object {
		of := template(spec)
		return &corev1.ReplicationController{ObjectMeta: named(), Spec: corev1.ReplicationControllerSpec{Template: &of}}
	}},
	{"apps", "daemonsets", "DaemonSet", func(spec corev1.PodSpec) runtime.Object {
		return &appsv1.DaemonSet{ObjectMeta: named(), Spec: appsv1.DaemonSetSpec{Template: template(spec)}}
	}},
	{"apps", "deployments", "Deployment", func(spec corev1.PodSpec) runtime.Object {
		return &appsv1.Deployment{ObjectMeta: named(), Spec: appsv1.DeploymentSpec{Template: template(spec)}}
	}},
	{"apps", "replicasets", "ReplicaSet", func(spec corev1.PodSpec) runtime.Object {
		return &appsv1.ReplicaSet{ObjectMeta: named(), Spec: appsv1.ReplicaSetSpec{Template: template(spec)}}
	}},
	{"apps", "statefulsets", "StatefulSet", func(spec corev1.PodSpec) runtime.Object {
		return &appsv1.StatefulSet{ObjectMeta: named(), Spec: appsv1.StatefulSetSpec{Template: template(spec)}}
	}},
	{"batch", "jobs", "Job", func(spec corev1.PodSpec) runtime.Object {
		return &batchv1.Job{ObjectMeta: named(), Spec: batchv1.JobSpec{Template: template(spec)}}
	}},
	{"batch", "cronjobs", "CronJob", func(spec corev1.PodSpec) runtime.Object {
		return &batchv1.CronJob{ObjectMeta: named(), Spec: batchv1.CronJobSpec{
			JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: template(spec)}}}}
	}},
}

func (w workload) created(spec corev1.PodSpec) Request {
	return Request{Operation: operationCreate, Group: w.group, Resource: w.resource, Kind: w.kind, Namespace: workloadName, Name: "x",
		User: "system:serviceaccount:ci:builder", Object: w.around(spec)}
}

func (w workload) updated(old, spec corev1.PodSpec) Request {
	request := w.created(spec)
	request.Operation, request.OldObject = operationUpdate, w.around(old)
	return request
}

// A place of a pod's spec that names an image, as the policy calls it.
type place struct {
	words string
	put   func(spec *corev1.PodSpec, name, image string, policy corev1.PullPolicy)
}

var places = []place{
	{"container", func(spec *corev1.PodSpec, name, image string, policy corev1.PullPolicy) {
		spec.Containers = append(spec.Containers, corev1.Container{Name: name, Image: image, ImagePullPolicy: policy})
	}},
	{"init container", func(spec *corev1.PodSpec, name, image string, policy corev1.PullPolicy) {
		spec.InitContainers = append(spec.InitContainers, corev1.Container{Name: name, Image: image, ImagePullPolicy: policy})
	}},
	{"ephemeral container", func(spec *corev1.PodSpec, name, image string, policy corev1.PullPolicy) {
		spec.EphemeralContainers = append(spec.EphemeralContainers, corev1.EphemeralContainer{
			EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: name, Image: image, ImagePullPolicy: policy}})
	}},
	{"image volume", func(spec *corev1.PodSpec, name, image string, policy corev1.PullPolicy) {
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: "none"}, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			Image: &corev1.ImageVolumeSource{Reference: image, PullPolicy: policy}}})
	}},
}

// A spelling, whether it is on the list, and what an API server fills in where the policy is left out.
type spelling struct {
	image  string
	listed bool
	filled corev1.PullPolicy
}

var spellings = []spelling{
	{"quay.io/acme/app:v1", true, corev1.PullIfNotPresent},
	{"nginx", true, corev1.PullAlways},
	{"nginx:latest", true, corev1.PullAlways},
	{"localhost:5000/tool", true, corev1.PullAlways},
	{"localhost:5000/tool:v2", true, corev1.PullIfNotPresent},
	{"localhost:5000/tool:latest-1", true, corev1.PullIfNotPresent},
	{"quay.io/acme/app" + digest, true, corev1.PullIfNotPresent},
	{"quay.io/acme/app:latest" + digest, true, corev1.PullAlways},
	{"docker.io/library/nginx", false, corev1.PullAlways},
	{"docker.io/library/nginx:latest", false, corev1.PullAlways},
	{"quay.io/acme/app:v1" + digest, false, corev1.PullIfNotPresent},
	{"quay.io/acme/app:v10", false, corev1.PullIfNotPresent},
	{"quay.io/acme/ap", false, corev1.PullAlways},
	{"", false, corev1.PullIfNotPresent},
}

func podOf(at place, name, image string, policy corev1.PullPolicy) corev1.PodSpec {
	spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "other", Image: "quay.io/acme/other:v1", ImagePullPolicy: corev1.PullAlways}}}
	at.put(&spec, name, image, policy)
	return spec
}

// Each kind × place × spelling × policy, created, and as an update that brings it.
func everyUse() []AdvisoryRow {
	var rows []AdvisoryRow
	for _, kind := range workloads {
		for _, at := range places {
			if at.words == "ephemeral container" && kind.resource != "pods" {
				continue // no template has any
			}
			for _, one := range spellings {
				for _, policy := range []corev1.PullPolicy{corev1.PullAlways, "", corev1.PullIfNotPresent, corev1.PullNever} {
					var found []string
					if one.listed && (policy == corev1.PullAlways || (policy == "" && one.filled == corev1.PullAlways)) {
						found = []string{one.image + " (" + at.words + " app)"}
					}
					name := fmt.Sprintf("%s, %s, %q, %q", kind.kind, at.words, one.image, policy)
					spec := podOf(at, "app", one.image, policy)
					// Bare, as objects come that leave out what they can.
					bare := podOf(at, "app", "quay.io/acme/app:v0", policy)
					rows = append(rows, AdvisoryRow{Name: name, Request: kind.created(spec), Found: found},
						AdvisoryRow{Name: name + ", as an update", Request: kind.updated(bare, spec), Found: found},
						AdvisoryRow{Name: name + ", from before the policy", Request: kind.updated(spec, spec)})
				}
			}
		}
	}
	return rows
}

func advisoryRows() []AdvisoryRow {
	pods, deployments := workloads[0], workloads[4]
	container, initContainer, ephemeral, volume := places[0], places[1], places[2], places[3]
	always, two := podOf(container, "app", "nginx", corev1.PullAlways), podOf(container, "app", "nginx", corev1.PullAlways)
	initContainer.put(&two, "first", "quay.io/acme/app:v1", corev1.PullAlways)
	container.put(&two, "more", "quay.io/acme/app:v1", corev1.PullIfNotPresent)
	volume.put(&two, "data", "quay.io/acme/data:v1", corev1.PullAlways)
	debugged := podOf(container, "app", "nginx", corev1.PullAlways)
	ephemeral.put(&debugged, "debugger", "nginx", corev1.PullAlways)
	relabelled := pods.updated(always, always)
	relabelled.Object.(*corev1.Pod).Labels = map[string]string{"a": "b"}
	scaled, replicas := deployments.updated(always, always), int32(5)
	scaled.Object.(*appsv1.Deployment).Spec.Replicas = &replicas
	elsewhere := func(request Request, namespace string) Request { request.Namespace = namespace; return request }
	subresource := func(request Request, name string) Request { request.Subresource = name; return request }
	var many corev1.PodSpec
	for i := range 11 {
		container.put(&many, fmt.Sprintf("app-%d", i), "quay.io/acme/app:v1", corev1.PullAlways)
	}
	var ten corev1.PodSpec
	ten.Containers = many.Containers[:10]
	var allTen []string
	for _, one := range ten.Containers {
		allTen = append(allTen, one.Image+" (container "+one.Name+")")
	}
	withoutTemplate := workloads[2].created(always)
	withoutTemplate.Object.(*corev1.ReplicationController).Spec.Template = nil
	otherKind := pods.created(always)
	otherKind.Resource, otherKind.Kind = "services", "Service"
	deleted := pods.created(always)
	deleted.Operation, deleted.OldObject, deleted.Object = operationDelete, deleted.Object, nil
	rows := []AdvisoryRow{
		{Name: "several at once", Request: pods.created(two), Found: []string{
			"nginx (container app)", "quay.io/acme/app:v1 (init container first)", "quay.io/acme/data:v1 (image volume data)"}},
		{Name: "what an update adds", Request: deployments.updated(always, two), Found: []string{
			"quay.io/acme/app:v1 (init container first)", "quay.io/acme/data:v1 (image volume data)"}},
		{Name: "what an update takes away", Request: deployments.updated(two, always)},
		{Name: "another image in the same container", Request: pods.updated(always, podOf(container, "app", "quay.io/acme/app:v1", corev1.PullAlways)),
			Found: []string{"quay.io/acme/app:v1 (container app)"}},
		{Name: "a new label of a pod from before", Request: relabelled},
		{Name: "kubectl debug", Request: subresource(pods.updated(always, debugged), "ephemeralcontainers"), Found: []string{
			"nginx (ephemeral container debugger)"}},
		{Name: "a status", Request: subresource(pods.updated(podOf(container, "app", "a:v1", ""), always), "status"), NotMatched: true},
		{Name: "kubectl scale", Request: subresource(deployments.updated(podOf(container, "app", "a:v1", ""), always), "scale"),
			NotMatched: true},
		{Name: "more replicas of a controller from before", Request: scaled},
		{Name: "a pod of a controller from before", Request: pods.created(always), Found: []string{"nginx (container app)"}},
		{Name: "ten", Request: pods.created(ten), Found: allTen},
		{Name: "eleven", Request: pods.created(many), Found: []string{"quay.io/acme/app:v1 (container app-0) and 10 more"}},
		{Name: "a controller without a template", Request: withoutTemplate},
		{Name: "no containers", Request: pods.created(corev1.PodSpec{Containers: []corev1.Container{}})},
		{Name: "another kind", Request: otherKind, NotMatched: true},
		{Name: "a deletion", Request: deleted, NotMatched: true},
		{Name: "an agent", Request: elsewhere(workloads[3].created(always), "prefetchd"), NotMatched: true},
		{Name: "a touch pod", Request: elsewhere(pods.created(always), "prefetchd-touch"), NotMatched: true},
	}
	return append(rows, everyUse()...)
}

// A list as large as generate lets one be, and more containers than any pod has, none of which is on it.
func largeAdvisoryCase(images, containers int) (AdvisoryRow, *corev1.ConfigMap) {
	var list []string
	for i := range images {
		list = append(list, fmt.Sprintf("registry.example.com/organisation/team-%03d/application-%05d:v1.22.333", i%100, i))
	}
	var spec corev1.PodSpec
	for i := range containers {
		places[0].put(&spec, fmt.Sprintf("app-%d", i), fmt.Sprintf("registry.example.com/other/application-%05d:v1", i), corev1.PullAlways)
	}
	slices.Sort(list)
	return AdvisoryRow{Name: fmt.Sprintf("%d containers and a list of %d", containers, images),
		Request: workloads[7].updated(spec, spec)}, imagesParam(list)
}
