package main

import (
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// How the messages of prefetchd-node-gate begin.
const (
	noNewNode    = "an agent creates no nodes"
	notItsNode   = "an agent writes only to the node"
	notItsLabel  = "an agent changes no labels"
	notItsMeta   = "an agent changes no annotations"
	notItsTaint  = "an agent changes no taints"
	notItsSpec   = "an agent changes nothing else of a node's spec"
	notItsKind   = "an agent changes no condition"
	notItsStatus = "an agent changes nothing else of a node's status"
	startupTaint = "prefetchd.dev/not-ready"
	ourCondition = "ImagesPrefetched"
)

// A Node as clusters have them: others' labels, taints and conditions, and ours.
func someNode() *corev1.Node {
	node := &corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{
			Name: ownNode, UID: "u1",
			Labels:      map[string]string{"kubernetes.io/hostname": ownNode, "zone": "a", "prefetchd.dev/prefetchd": "notready"},
			Annotations: map[string]string{"csi.volume.kubernetes.io/nodeid": "{}"},
			Finalizers:  []string{"wrangler.cattle.io/node"},
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "cluster.x-k8s.io/v1beta1", Kind: "Machine", Name: "m1", UID: "u2"}},
		},
		Spec: corev1.NodeSpec{
			PodCIDR: "10.0.0.0/24", PodCIDRs: []string{"10.0.0.0/24"}, ProviderID: "aws:///a/i-1",
			Taints: []corev1.Taint{
				{Key: startupTaint, Effect: corev1.TaintEffectNoSchedule},
				{Key: "dedicated", Value: "ci", Effect: corev1.TaintEffectNoSchedule},
				{Key: "node.kubernetes.io/unreachable", Effect: corev1.TaintEffectNoExecute, TimeAdded: &metav1.Time{}}},
		},
		Status: corev1.NodeStatus{
			Capacity:    corev1.ResourceList{"cpu": resource.MustParse("8")},
			Allocatable: corev1.ResourceList{"cpu": resource.MustParse("7900m")},
			Addresses:   []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.1.0.7"}},
			NodeInfo:    corev1.NodeSystemInfo{KubeletVersion: "v1.36.2"},
			Images:      []corev1.ContainerImage{{Names: []string{"quay.io/acme/app:v1"}, SizeBytes: 1}},
			Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"},
				{Type: ourCondition, Status: corev1.ConditionFalse, Reason: "ImagesNotReady"}},
		},
	}
	node.Spec.Taints[2].TimeAdded.Time = metav1.Unix(1000, 0).Time
	return node
}

// An update by the agent of that Node; `change` gets the old one, too, and may change it.
func nodeUpdate(subresource string, change func(old, updated *corev1.Node)) Request {
	old, updated := someNode(), someNode()
	change(old, updated)
	return Request{Operation: operationUpdate, Resource: "nodes", Subresource: subresource, Kind: "Node",
		Name: updated.Name, User: agentUser, OnNode: ownNode, Object: updated, OldObject: old}
}

func nodeRow(name, denied string, change func(old, updated *corev1.Node)) Row {
	return Row{Name: name, Denied: denied, Request: nodeUpdate("", change)}
}

func statusRow(name, denied string, change func(old, updated *corev1.Node)) Row {
	return Row{Name: name, Denied: denied, Request: nodeUpdate("status", change)}
}

func as(row Row, name, denied string, change func(request *Request)) Row {
	row.Name, row.Denied = name, denied
	change(&row.Request)
	return row
}

func setLabel(key, value string) func(old, updated *corev1.Node) {
	return func(_, updated *corev1.Node) { updated.Labels[key] = value }
}

func conditionOf(node *corev1.Node, kind corev1.NodeConditionType) *corev1.NodeCondition {
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == kind {
			return &node.Status.Conditions[i]
		}
	}
	return nil
}

func withoutTaint(node *corev1.Node, key string) []corev1.Taint {
	return slices.DeleteFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == key })
}

// What the agents of nodes may write to them, row by row. `ours` is a label that is theirs.
func nodeRows(ours string) []Row {
	label := nodeRow("our label is set", "", setLabel(ours, "ready"))
	rows := []Row{
		label,
		nodeRow("our label is taken away", "", func(old, updated *corev1.Node) {
			old.Labels[ours] = "ready"
			delete(updated.Labels, ours)
		}),
		nodeRow("our label comes to a node without labels", "", func(old, updated *corev1.Node) {
			old.Labels, updated.Labels = nil, map[string]string{ours: "ready"}
		}),
		nodeRow("the last label, ours, goes", "", func(old, updated *corev1.Node) {
			old.Labels, updated.Labels = map[string]string{ours: "ready"}, nil
		}),
		statusRow("our label by the status subresource", "", setLabel(ours, "ready")),
		nodeRow("nothing changes", "", func(_, _ *corev1.Node) {}),

		nodeRow("another's label is set", notItsLabel, setLabel("zone", "b")),
		nodeRow("another's label is added", notItsLabel, setLabel("node-role.kubernetes.io/control-plane", "")),
		nodeRow("a label that begins as ours", notItsLabel, setLabel("prefetchd.devious/x", "y")),
		nodeRow("another's label is taken away", notItsLabel, func(_, updated *corev1.Node) { delete(updated.Labels, "zone") }),
		nodeRow("all labels are taken away", notItsLabel, func(_, updated *corev1.Node) { updated.Labels = nil }),
		statusRow("another's label by the status subresource", notItsLabel, setLabel("zone", "b")),

		statusRow("our condition changes", "", func(_, updated *corev1.Node) {
			conditionOf(updated, ourCondition).Status = corev1.ConditionTrue
		}),
		statusRow("our condition comes", "", func(old, _ *corev1.Node) { old.Status.Conditions = old.Status.Conditions[:1] }),
		statusRow("our condition goes", "", func(_, updated *corev1.Node) { updated.Status.Conditions = updated.Status.Conditions[:1] }),
		statusRow("our condition is the first", "", func(old, updated *corev1.Node) {
			old.Status.Conditions, updated.Status.Conditions = nil, updated.Status.Conditions[1:]
		}),
		statusRow("another's condition changes", notItsKind, func(_, updated *corev1.Node) {
			conditionOf(updated, corev1.NodeReady).Status = corev1.ConditionFalse
		}),
		statusRow("another's condition goes", notItsKind, func(_, updated *corev1.Node) { updated.Status.Conditions = updated.Status.Conditions[1:] }),
		statusRow("another's condition comes", notItsKind, func(_, updated *corev1.Node) {
			updated.Status.Conditions = append(updated.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeDiskPressure, Status: corev1.ConditionTrue})
		}),

		nodeRow("the startup taint is taken away", "", func(_, updated *corev1.Node) { updated.Spec.Taints = withoutTaint(updated, startupTaint) }),
		nodeRow("the startup taint is the last that goes", "", func(old, updated *corev1.Node) {
			old.Spec.Taints, updated.Spec.Taints = old.Spec.Taints[:1], nil
		}),
		nodeRow("the startup taint is put on", notItsTaint, func(old, _ *corev1.Node) { old.Spec.Taints = withoutTaint(old, startupTaint) }),
		nodeRow("the startup taint with another effect", notItsTaint, func(_, updated *corev1.Node) {
			updated.Spec.Taints[0].Effect = corev1.TaintEffectNoExecute
		}),
		nodeRow("another's taint is taken away", notItsTaint, func(_, updated *corev1.Node) { updated.Spec.Taints = withoutTaint(updated, "dedicated") }),
		nodeRow("another's taint changes", notItsTaint, func(_, updated *corev1.Node) { updated.Spec.Taints[1].Value = "x" }),
		nodeRow("another's taint comes", notItsTaint, func(_, updated *corev1.Node) {
			updated.Spec.Taints = append(updated.Spec.Taints, corev1.Taint{Key: "x", Effect: corev1.TaintEffectNoExecute})
		}),

		nodeRow("cordoned", notItsSpec, func(_, updated *corev1.Node) { updated.Spec.Unschedulable = true }),
		nodeRow("uncordoned", notItsSpec, func(old, _ *corev1.Node) { old.Spec.Unschedulable = true }),
		nodeRow("an annotation is set", notItsMeta, func(_, updated *corev1.Node) { updated.Annotations["x"] = "y" }),
		nodeRow("the last annotation goes", notItsMeta, func(_, updated *corev1.Node) { updated.Annotations = nil }),
		nodeRow("the first annotation comes", notItsMeta, func(old, _ *corev1.Node) { old.Annotations = nil }),
		nodeRow("the last finalizer goes", notItsMeta, func(_, updated *corev1.Node) { updated.Finalizers = nil }),
		nodeRow("the first finalizer comes", notItsMeta, func(old, _ *corev1.Node) { old.Finalizers = nil }),
		nodeRow("another owner", notItsMeta, func(_, updated *corev1.Node) { updated.OwnerReferences[0].Name = "m2" }),
		nodeRow("the last owner goes", notItsMeta, func(_, updated *corev1.Node) { updated.OwnerReferences = nil }),
		nodeRow("the first owner comes", notItsMeta, func(old, _ *corev1.Node) { old.OwnerReferences = nil }),

		as(label, "of a token for another node", notItsNode, func(request *Request) { request.OnNode = "n2" }),
		as(label, "of a token that names no node", notItsNode, func(request *Request) { request.OnNode = "" }),
		as(label, "of a token that names a pod and no node", notItsNode, func(request *Request) {
			request.OnNode, request.OtherClaims = "", true
		}),
		as(label, "of another instance", "", func(request *Request) {
			request.User = "system:serviceaccount:prefetchd-team-a:prefetchd-team-a"
		}),
		as(label, "of an agent with a prefix, for another node", notItsNode, func(request *Request) {
			request.User, request.OnNode = "system:serviceaccount:ci:acme-prefetchd", "n2"
		}),
		as(label, "of another instance, for another node", notItsNode, func(request *Request) {
			request.User, request.OnNode = "system:serviceaccount:prefetchd-team-a:prefetchd-team-a", "n2"
		}),
		as(label, "a node is created", noNewNode, func(request *Request) {
			request.Operation, request.OldObject = operationCreate, nil
		}),
	}
	rows[len(rows)-1].Errors = true
	cordon := nodeUpdate("", func(_, updated *corev1.Node) { updated.Spec.Unschedulable = true })
	for _, user := range []string{"system:node:n1", "kubernetes-admin", "system:serviceaccount:kube-system:prefetcher",
		"system:serviceaccount:prefetchd:prefetchdx", "system:serviceaccount:prefetchd:acmeprefetchd", "x:system:serviceaccount:prefetchd:prefetchd"} {
		request := cordon
		request.User = user
		rows = append(rows, Row{Name: "it is " + user, Denied: notMatched, Request: request})
	}
	for _, resource := range []string{"pods", "services"} {
		rows = append(rows, as(label, "of "+resource, notMatched, func(request *Request) { request.Resource = resource }))
	}
	return append(append(rows, specFieldRows()...), statusFieldRows()...)
}

// Every field that the real types have, but those that have rows of their own: it comes, it goes, it changes.
func specFieldRows() []Row {
	return fieldRows(reflect.TypeFor[corev1.NodeSpec](), []string{"taints"}, notItsSpec, "", func(node *corev1.Node) reflect.Value {
		return reflect.ValueOf(&node.Spec).Elem()
	})
}

func statusFieldRows() []Row {
	return fieldRows(reflect.TypeFor[corev1.NodeStatus](), []string{"conditions"}, notItsStatus, "status", func(node *corev1.Node) reflect.Value {
		return reflect.ValueOf(&node.Status).Elem()
	})
}

func fieldRows(fields reflect.Type, but []string, denied, subresource string, of func(*corev1.Node) reflect.Value) []Row {
	var rows []Row
	for i := range fields.NumField() {
		name := FieldName(fields.Field(i))
		if slices.Contains(but, name) {
			continue
		}
		set := func(node *corev1.Node, seed int) {
			field := of(node).Field(i)
			field.SetZero()
			if seed > 0 {
				Fill(field, seed)
			}
		}
		for what, seeds := range map[string][2]int{"comes": {0, 1}, "goes": {1, 0}, "changes": {1, 2}} {
			request := nodeUpdate(subresource, func(old, updated *corev1.Node) {
				set(old, seeds[0])
				set(updated, seeds[1])
			})
			if !reflect.DeepEqual(request.Object, request.OldObject) { // one truth is like another
				rows = append(rows, Row{Name: fmt.Sprintf("%s %s", name, what), Denied: denied, Request: request})
			}
		}
	}
	return rows
}

// The largest Node that the API server could be asked about: what it costs to judge it.
func largeNodeRow() Row {
	return statusRow("a large node", "", func(old, updated *corev1.Node) {
		for _, node := range []*corev1.Node{old, updated} {
			for i := range 300 {
				node.Labels[fmt.Sprintf("example.test/label-%d", i)] = "some value of a label"
				node.Annotations[fmt.Sprintf("example.test/annotation-%d", i)] = "some value of an annotation"
			}
			for i := range 60 {
				node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: fmt.Sprintf("example.test/taint-%d", i), Effect: corev1.TaintEffectNoExecute})
				node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeConditionType(fmt.Sprintf("Condition%d", i)), Status: corev1.ConditionTrue, Message: "some words about it"})
			}
			for i := range 2000 {
				node.Status.Images = append(node.Status.Images, corev1.ContainerImage{SizeBytes: 1, Names: []string{
					fmt.Sprintf("registry.example.test/team/some-application-%d@sha256:%064d", i, i), fmt.Sprintf("registry.example.test/team/some-application-%d:v1", i)}})
			}
		}
		conditionOf(updated, ourCondition).Status = corev1.ConditionTrue
	})
}

// What `prefetchctl migrate image-prefetcher my-images --result-label` makes of the policy: for one agent,
// and one label.
const (
	compatFile   = "compat_label.yaml"
	compatPolicy = "prefetchd-node-gate-my-images"
	compatLabel  = "image-prefetcher.stackrox.io/my-images"
	compatUser   = "system:serviceaccount:prefetch-images:image-prefetcher-my-images"
)

// What `prefetchctl generate --startup-taint-key` makes of the policy: another taint that agents may take away.
const (
	taintKeyFile = "startup_taint_key.yaml"
	taintKey     = "startup-taint.cluster-autoscaler.kubernetes.io/prefetchd"
)

func taintKeyRows() []Row {
	other := func(name, denied, key string) Row {
		return nodeRow(name, denied, func(old, updated *corev1.Node) {
			old.Spec.Taints[1].Key, updated.Spec.Taints[1].Key = key, key
			updated.Spec.Taints = withoutTaint(updated, key)
		})
	}
	return append(nodeRows("prefetchd.dev/prefetchd"), other("the other startup taint is taken away", "", taintKey),
		other("a taint that begins as the other startup taint", notItsTaint, taintKey+"x"))
}

func compatRows() []Row {
	var rows []Row
	for _, row := range nodeRows(compatLabel) {
		if row.Request.User == agentUser {
			row.Request.User = compatUser
			rows = append(rows, row)
		}
	}
	return append(rows, as(nodeRow("a label below prefetchd.dev/", notItsLabel, setLabel("prefetchd.dev/x", "y")),
		"a label below prefetchd.dev/", notItsLabel, func(request *Request) { request.User = compatUser }),
		nodeRow("another agent", notMatched, setLabel("zone", "b")))
}
