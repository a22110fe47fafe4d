package main

import (
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
)

// JudgePlanted makes sure that what is judged here is judged at all: each of these is wrong, and has to be found.
func JudgePlanted(cases *Cases) {
	found := func(name string, isFound bool) {
		problem := ""
		if !isFound {
			problem = "is not found"
		}
		cases.Check("planted: "+name, problem)
	}
	for name, document := range map[string]string{
		"a field that is none": "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {nodename: n1}\n",
		"a field twice":        "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {nodeName: n1}\nspec: {}\n",
		"a value of no type":   "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {activeDeadlineSeconds: soon}\n",
		"a kind that is none":  "apiVersion: v1\nkind: Bod\nmetadata: {name: x}\n",
	} {
		_, err := Decode([]byte(document))
		found(name, err != nil)
	}
	policy := func(expression string) *admissionv1.ValidatingAdmissionPolicy {
		return &admissionv1.ValidatingAdmissionPolicy{Spec: admissionv1.ValidatingAdmissionPolicySpec{
			Validations: []admissionv1.Validation{{Expression: expression}}}}
	}
	for name, expression := range map[string]string{
		"an expression that is none":           "object.spec.",
		"a validation that is no bool":         "'yes'",
		"a function of Kubernetes 1.31":        "format.dns1123Label().validate(object.metadata.name).hasValue()",
		"a variable that the policy has not":   "unheard.of == 1",
		"a comparison of what has other types": "request.name == 1",
	} {
		_, err := Compile(policy(expression))
		found(name, err != nil || (!checksTypes && strings.HasPrefix(name, "a comparison")))
	}
	_, err := Compile(policy("object.spec.nodename == 'n1'"))
	cases.Check("planted: a field that no type has compiles", text(err))
	found("a field that the type has not", !checksTypes || len(TypeProblems(policy("object.spec.nodename == 'n1'"), &corev1.Pod{})) > 0)
	cases.Check("planted: a field that the type has fits",
		joined(TypeProblems(policy("object.spec.nodeName == 'n1'"), &corev1.Pod{})))
}
