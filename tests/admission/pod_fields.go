package main

import (
	"reflect"
	"sort"

	corev1 "k8s.io/api/core/v1"
)

// Who has a say about each field of a pod that an attacker with the agent's token could fill.
const (
	byPolicy     = "the policy" // denies another value than the agent's
	byRestricted = "Pod Security, level restricted"
	harmless     = "nobody: it does no harm in a pod of this shape"
	ownRows      = "rows of its own"
	// How any message of the policy begins.
	anyMessage = "a"
)

var podFields = map[string]string{
	"volumes": ownRows, "activeDeadlineSeconds": ownRows, "priority": ownRows, "priorityClassName": ownRows,
	"initContainers": byPolicy, "containers": byPolicy, "ephemeralContainers": byPolicy,
	"restartPolicy": byPolicy, "terminationGracePeriodSeconds": byPolicy,
	"serviceAccountName": byPolicy, "automountServiceAccountToken": byPolicy, "nodeName": byPolicy,
	"imagePullSecrets": byPolicy, "resources": byPolicy,

	"hostNetwork": byPolicy, "hostPID": byPolicy, "hostIPC": byPolicy, "shareProcessNamespace": byPolicy,

	"schedulerName": byPolicy, "schedulingGates": byPolicy, "resourceClaims": byPolicy, "readinessGates": byPolicy,
	"dnsPolicy": byPolicy, "dnsConfig": byPolicy, "hostAliases": byPolicy, "hostname": byPolicy, "subdomain": byPolicy,
	"setHostnameAsFQDN": byPolicy,

	"securityContext": byRestricted,

	"serviceAccount": byPolicy, "nodeSelector": byPolicy, "affinity": byPolicy, "tolerations": byPolicy,
	"overhead": byPolicy, "runtimeClassName": byPolicy, "enableServiceLinks": byPolicy,
	"hostUsers": byPolicy, "os": byPolicy, "preemptionPolicy": byPolicy, "topologySpreadConstraints": byPolicy,

	// Newer than the Kubernetes whose pods the policy names.
	"hostnameOverride": harmless, "workloadRef": harmless, "schedulingGroup": harmless,
}

var containerFields = map[string]string{
	"command": byPolicy, "args": byPolicy, "env": byPolicy, "envFrom": byPolicy, "resources": byPolicy, "lifecycle": byPolicy,
	"livenessProbe": byPolicy, "readinessProbe": byPolicy, "startupProbe": byPolicy,
	"workingDir": byPolicy, "stdin": byPolicy, "stdinOnce": byPolicy, "tty": byPolicy, "restartPolicy": byPolicy,

	"securityContext": byPolicy, "ports": byPolicy,

	"name": byPolicy, "imagePullPolicy": byPolicy, "volumeMounts": byPolicy, "volumeDevices": byPolicy,
	"resizePolicy": byPolicy, "terminationMessagePath": byPolicy, "terminationMessagePolicy": byPolicy,

	"restartPolicyRules": harmless, // newer; the API server wants a restartPolicy beside them

	"image": harmless, // it is what the right is for
}

// A row for each field that the real types have and somebody has judged: with some other value.
func podFieldRows(sent *corev1.Pod) []Row {
	rows := fieldsOf(reflect.TypeFor[corev1.PodSpec](), podFields, sent, func(pod *corev1.Pod) reflect.Value {
		return reflect.ValueOf(&pod.Spec).Elem()
	})
	return append(rows, fieldsOf(reflect.TypeFor[corev1.Container](), containerFields, sent, func(pod *corev1.Pod) reflect.Value {
		return reflect.ValueOf(&pod.Spec.Containers[1]).Elem()
	})...)
}

func fieldsOf(kind reflect.Type, judged map[string]string, sent *corev1.Pod, of func(*corev1.Pod) reflect.Value) []Row {
	var rows []Row
	for i := range kind.NumField() {
		who, known := judged[FieldName(kind.Field(i))]
		if !known || who == ownRows {
			continue
		}
		row := Row{Name: kind.Name() + "." + FieldName(kind.Field(i)) + " is up to " + who, Errors: who == byPolicy}
		if who == byPolicy {
			row.Denied = anyMessage
		}
		row.Request = podCreation(sent, func(pod *corev1.Pod) { Fill(of(pod).Field(i), 1) })
		rows = append(rows, row)
	}
	return rows
}

// UnjudgedFields are those of the real types that are in no table.
func UnjudgedFields() []string {
	var names []string
	for kind, judged := range map[reflect.Type]map[string]string{
		reflect.TypeFor[corev1.PodSpec](): podFields, reflect.TypeFor[corev1.Container](): containerFields} {
		for i := range kind.NumField() {
			if name := FieldName(kind.Field(i)); judged[name] == "" {
				names = append(names, kind.Name()+"."+name)
			}
		}
	}
	sort.Strings(names)
	return names
}
