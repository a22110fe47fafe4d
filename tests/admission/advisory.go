package main

import (
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	advisoryFile   = "deploy/components/policy/admission-policy.yaml"
	advisoryPolicy = "prefetchd-policy"
)

// IsAdvisory: by its name, with or without an instance's suffix.
func (b Bound) IsAdvisory() bool { return strings.Contains(b.Policy.Name, advisoryPolicy) }

// Answer is what the API server does with a request, by the binding's actions.
type Answer struct {
	Denied            bool
	Warnings, Audited []string
}

func (b Bound) selects(namespace labels.Set) bool {
	resources := b.Binding.Spec.MatchResources
	if resources == nil || resources.NamespaceSelector == nil {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(resources.NamespaceSelector)
	return err == nil && selector.Matches(namespace)
}

// With failurePolicy Ignore, what cannot be evaluated has no consequence.
func (b Bound) Answer(namespace labels.Set, verdict Verdict) Answer {
	var answer Answer
	if !verdict.Matched || !b.selects(namespace) {
		return answer
	}
	for _, message := range verdict.Denials {
		for _, action := range b.Binding.Spec.ValidationActions {
			switch action {
			case admissionv1.Deny:
				answer.Denied = true
			case admissionv1.Warn:
				answer.Warnings = append(answer.Warnings, message)
			case admissionv1.Audit:
				answer.Audited = append(answer.Audited, message)
			}
		}
	}
	return answer
}

// WhatEndangers says how the policy or its binding could stop requests that have nothing of the list. Empty: in no way.
func (b Bound) WhatEndangers() string {
	if b.Binding == nil {
		return "no binding puts it in force"
	}
	ref := b.Binding.Spec.ParamRef
	switch {
	case b.Policy.Spec.FailurePolicy == nil || *b.Policy.Spec.FailurePolicy != admissionv1.Ignore:
		return "it denies what it cannot judge"
	case ref == nil || ref.Name != "" || ref.Namespace == "" || ref.Selector == nil || len(ref.Selector.MatchLabels) == 0:
		return "it selects ConfigMaps of every kind"
	case ref.ParameterNotFoundAction == nil || *ref.ParameterNotFoundAction != admissionv1.AllowAction:
		return "it denies everything while its ConfigMap is missing"
	case len(b.Binding.Spec.ValidationActions) != 1:
		return "it has not one action"
	}
	for _, one := range []struct {
		name, label string
		isSelected  bool
	}{{"ci", "enforce", true}, {"ci", "", false}, {"ci", "other", false}, {"kube-system-ci", "enforce", true},
		{"kube-system", "enforce", false}, {"kube-public", "enforce", false}, {"kube-node-lease", "enforce", false}} {
		set := labels.Set{"kubernetes.io/metadata.name": one.name}
		if one.label != "" {
			set["prefetchd.dev/policy"] = one.label
		}
		if b.selects(set) != one.isSelected {
			return fmt.Sprintf("namespace %s with the label %q: selected is %v", one.name, one.label, !one.isSelected)
		}
	}
	return ""
}

// JudgeAdvisory judges prefetchd-policy: row by row, without each of its parts, and at its limits.
func JudgeAdvisory(cases *Cases) {
	bound := policyOf(cases, advisoryFile, advisoryPolicy)
	if bound.Policy == nil {
		return
	}
	cases.Check(advisoryPolicy+": endangers nobody", bound.WhatEndangers())
	evaluator, err := Compile(bound.Policy)
	cases.Check(advisoryPolicy+": compiles", text(err))
	if err != nil {
		return
	}
	params, rows := []runtime.Object{imagesParam(listedImages)}, advisoryRows()
	firstProblem := func(evaluator *Evaluator) string {
		for _, row := range rows {
			if problem := row.Problem(evaluator.JudgeWith(&row.Request, params)); problem != "" {
				return row.Name + ": " + problem
			}
		}
		return ""
	}
	for _, row := range rows {
		cases.Check(advisoryPolicy+": "+row.Name, row.Problem(evaluator.JudgeWith(&row.Request, params)))
	}
	judgeAdvisoryMutations(cases, bound.Policy, firstProblem)
	judgeAdvisoryTypes(cases, bound.Policy)
	judgeAdvisoryParams(cases, evaluator)
	judgeAdvisoryActions(cases, bound, evaluator)
}

// Without any of its parts a row fails. Of its variables, these are the parts.
var advisoryParts = [][2]string{{"? [dyn(object), dyn(oldObject)]", "? [dyn(object)]"}, {"has(o.template) ?", "false ?"},
	{"has(o.spec.jobTemplate) ?", "false ?"}, {"has(o.spec.template) ?", "false ?"}, {"s.?containers", "s.?none"},
	{"s.?initContainers", "s.?none"}, {"s.?ephemeralContainers", "s.?none"}, {"s.?volumes", "s.?none"},
	{"filter(v, has(v.image))", "filter(v, true)"}, {"u.image != ''", "true"}, {"u.policy == 'Always'", "false"},
	{"(u.policy == '' &&", "(true &&"}, {"(u.policy == '' &&", "(false &&"}, {"(^|/)[^/:@]+$|", ""}, {"(^|/)[^/:@]+$", "^[^:@]+$"},
	{"|:latest(@|$)", ""}, {"(@|$)", "$"}, {"(@|$)", ""}, {"u.image in variables.listed", "true"},
	{"size(variables.always) == 1 ||", ""}, {"!(u in variables.always[1])", "true"}, {"!(u in variables.always[1])", "false"}}

func judgeAdvisoryMutations(cases *Cases, policy *admissionv1.ValidatingAdmissionPolicy, firstProblem func(*Evaluator) string) {
	mutations := Mutations(policy)
	for _, part := range advisoryParts {
		copied := policy.DeepCopy()
		found := false
		for i := range copied.Spec.Variables {
			before := copied.Spec.Variables[i].Expression
			copied.Spec.Variables[i].Expression = strings.ReplaceAll(before, part[0], part[1])
			found = found || copied.Spec.Variables[i].Expression != before
		}
		what := fmt.Sprintf("%q instead of %q", part[1], part[0])
		if !found {
			cases.Check(advisoryPolicy+": "+what, "the policy has no such part")
		}
		mutations = append(mutations, Mutation{what, copied})
	}
	for _, mutation := range mutations {
		mutant, err := Compile(mutation.Policy)
		problem := ""
		if err != nil {
			problem = "does not compile: " + err.Error()
		} else if firstProblem(mutant) == "" {
			problem = "no row fails"
		}
		cases.Check(advisoryPolicy+": without "+mutation.What, problem)
	}
}

func judgeAdvisoryTypes(cases *Cases, policy *admissionv1.ValidatingAdmissionPolicy) {
	for name, object := range map[string]any{"pods": &corev1.Pod{}, "podtemplates": &corev1.PodTemplate{},
		"replicationcontrollers": &corev1.ReplicationController{}, "daemonsets": &appsv1.DaemonSet{}, "deployments": &appsv1.Deployment{},
		"replicasets": &appsv1.ReplicaSet{}, "statefulsets": &appsv1.StatefulSet{}, "jobs": &batchv1.Job{}, "cronjobs": &batchv1.CronJob{}} {
		cases.Check(advisoryPolicy+": fits the types of "+name, joined(TypeProblems(policy, object)))
	}
}

// A ConfigMap that has nothing, and one that is as large as it may be.
func judgeAdvisoryParams(cases *Cases, evaluator *Evaluator) {
	request := workloads[0].created(podOf(places[0], "app", "nginx", corev1.PullAlways))
	for name, data := range map[string]map[string]string{"no data": nil, "no images": {"images": ""}, "a comment": {"images": "# nginx\n"},
		"another key": {"other": "nginx"}} {
		param := imagesParam(nil)
		param.Data = data
		verdict := evaluator.JudgeWith(&request, []runtime.Object{param})
		cases.Check(advisoryPolicy+": "+name, AdvisoryRow{Request: request}.Problem(verdict))
	}
	for _, size := range [][2]int{{5000, 180}, {10000, 90}} {
		row, param := largeAdvisoryCase(size[0], size[1])
		verdict := evaluator.JudgeWith(&row.Request, []runtime.Object{param})
		cases.Check(advisoryPolicy+": "+row.Name, row.Problem(verdict))
		fmt.Printf("%s: %s cost %d of %d\n", advisoryPolicy, row.Name, verdict.Cost, costBudget)
	}
	if !checksTypes {
		return // the older library has another price for a search through a list
	}
	row, param := largeAdvisoryCase(10000, 900)
	verdict := evaluator.JudgeWith(&row.Request, []runtime.Object{param})
	cases.Check(advisoryPolicy+": planted: a list that costs too much is found", map[bool]string{true: "is judged"}[len(verdict.Errors) == 0])
}

// Each action, in a namespace with the label and in others.
func judgeAdvisoryActions(cases *Cases, bound Bound, evaluator *Evaluator) {
	request := workloads[7].created(podOf(places[0], "app", "nginx", corev1.PullAlways))
	verdict := evaluator.JudgeWith(&request, []runtime.Object{imagesParam(listedImages)})
	for _, action := range []admissionv1.ValidationAction{admissionv1.Warn, admissionv1.Audit, admissionv1.Deny} {
		with := Bound{bound.Policy, bound.Binding.DeepCopy()}
		with.Binding.Spec.ValidationActions = []admissionv1.ValidationAction{action}
		for _, one := range []struct {
			name      string
			namespace labels.Set
			counts    bool
		}{{"opted in", labels.Set{"prefetchd.dev/policy": "enforce"}, true}, {"another value", labels.Set{"prefetchd.dev/policy": "no"}, false},
			{"no label", labels.Set{}, false}} {
			answer := with.Answer(one.namespace, verdict)
			is := []bool{answer.Denied, len(answer.Warnings) == 1, len(answer.Audited) == 1}
			want := []bool{one.counts && action == admissionv1.Deny, one.counts && action == admissionv1.Warn, one.counts && action == admissionv1.Audit}
			problem := ""
			if fmt.Sprint(is) != fmt.Sprint(want) {
				problem = fmt.Sprintf("denied, warned, audited: %v, not %v", is, want)
			}
			cases.Check(fmt.Sprintf("%s: %s, %s", advisoryPolicy, action, one.name), problem)
		}
	}
}

// InRendering says whether the binding selects a ConfigMap of the objects, and the agents there are not judged.
func (b Bound) InRendering(objects []runtime.Object) string {
	ref := b.Binding.Spec.ParamRef
	var param *corev1.ConfigMap
	for _, object := range objects {
		one, is := object.(*corev1.ConfigMap)
		selector, err := metav1.LabelSelectorAsSelector(ref.Selector)
		if is && err == nil && selector.Matches(labels.Set(one.Labels)) && one.Namespace == ref.Namespace {
			param = one
		}
	}
	if param == nil {
		return fmt.Sprintf("it selects no ConfigMap in %s", ref.Namespace)
	}
	evaluator, err := Compile(b.Policy)
	if err != nil {
		return err.Error()
	}
	param = param.DeepCopy()
	for _, object := range objects {
		agent, is := object.(*appsv1.DaemonSet)
		if !is {
			continue
		}
		agent = agent.DeepCopy()
		agent.Spec.Template.Spec.Containers[0].ImagePullPolicy = corev1.PullAlways
		param.Data = map[string]string{"images": agent.Spec.Template.Spec.Containers[0].Image}
		request := Request{Operation: operationCreate, Group: "apps", Resource: "daemonsets", Kind: "DaemonSet", Namespace: agent.Namespace,
			Name: agent.Name, Object: agent}
		if evaluator.JudgeWith(&request, []runtime.Object{param}).Matched {
			return "it judges the agent"
		}
		request.Namespace = workloadName
		if evaluator.JudgeWith(&request, []runtime.Object{param}).Admitted() {
			return "it does not judge others' DaemonSets"
		}
	}
	return ""
}
