// Judges what is shipped, and what the agent sends, by Kubernetes' own library: the admission policies by their
// CEL, every object by the types of its kind.
//
//	admission [--sent FOLDER]... [--rendered FOLDER]...
//
// Run by tests/run at the root of the repository; built twice, by the API server's own library of Debian
// unstable, and with the tag stable by what its stable release has of CEL and of Kubernetes' types: see packages.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

func main() {
	cases := &Cases{}
	JudgePlanted(cases)
	evaluators := judgePolicies(cases)
	JudgeAdvisory(cases)
	rendered := false
	// Rendered policies come first: some of what was sent is judged by them.
	for _, turn := range []string{"--rendered", "--sent"} {
		for i := 1; i+1 < len(os.Args); i += 2 {
			switch what, folder := os.Args[i], os.Args[i+1]; {
			case what != "--rendered" && what != "--sent":
				fmt.Fprintln(os.Stderr, "admission: unknown argument", what)
				os.Exit(2)
			case what != turn:
			case what == "--sent":
				JudgeSent(cases, folder, evaluators)
			default:
				rendered = true
				JudgeRendered(cases, folder)
				if path := filepath.Join(folder, compatFile); exists(path) {
					evaluators["nodes, migrate"] = judgePolicy(cases, path, compatPolicy, compatRows())
				}
				if path := filepath.Join(folder, taintKeyFile); exists(path) {
					evaluators["nodes, taint key"] = judgePolicy(cases, path, "prefetchd-node-gate", taintKeyRows())
				}
			}
		}
	}
	for _, policy := range []string{"nodes, migrate", "nodes, taint key"} {
		if _, judged := evaluators[policy]; rendered && !judged {
			cases.Check(policy, "no rendered folder has the policy")
		}
	}
	os.Exit(cases.Report())
}

// The evaluators by the resource that they are about.
func judgePolicies(cases *Cases) map[string]*Evaluator {
	evaluators := map[string]*Evaluator{
		"nodes": judgePolicy(cases, "deploy/components/node-gate/admission-policy.yaml", "prefetchd-node-gate",
			nodeRows("prefetchd.dev/prefetchd")),
		"pods": judgePolicy(cases, "deploy/touch/admission-policy.yaml", "prefetchd-touch",
			touchRows(goldenPod(cases, "touch-pod.yaml"), goldenPod(cases, "touch-pod-volumes.yaml"))),
		"pods, priority": judgePolicy(cases, "deploy/touch/admission-policy.yaml", "prefetchd-touch-priority",
			priorityRows(goldenPod(cases, "touch-pod.yaml"))),
	}
	// What Kubernetes adds is to be judged, but no reason to stop on the day on which unstable has it.
	if unjudged := strings.Join(UnjudgedFields(), ", "); checksTypes && unjudged != "" {
		fmt.Println("nobody has judged whether an attacker could use", unjudged)
	} else {
		cases.Check("prefetchd-touch: every field of a pod is judged", unjudged)
	}
	evaluators["events"] = judgePolicy(cases, "deploy/components/node-gate/admission-policy.yaml", "prefetchd-node-gate-events", eventRows())
	if evaluator := evaluators["nodes"]; evaluator != nil {
		row := largeNodeRow()
		verdict := evaluator.Judge(&row.Request)
		cases.Check("prefetchd-node-gate: "+row.Name, row.Problem(verdict))
		fmt.Printf("%s costs %d of %d\n", row.Name, verdict.Cost, costBudget)
	}
	return evaluators
}

func goldenPod(cases *Cases, name string) *corev1.Pod {
	objects, _, err := Objects("tests/testdata/kube/" + name)
	if err != nil || len(objects) != 1 {
		cases.Check(name, fmt.Sprintf("is not one object: %v", err))
		return &corev1.Pod{}
	}
	return objects[0].(*corev1.Pod)
}

func policyOf(cases *Cases, path, name string) Bound {
	objects, _, err := Objects(path)
	if err != nil {
		cases.Check(path, err.Error())
	}
	for _, bound := range BoundPolicies(objects) {
		if bound.Policy.Name == name {
			return bound
		}
	}
	cases.Check(path, "has no policy "+name)
	return Bound{}
}

var typesOf = map[string]any{"nodes": &corev1.Node{}, "pods": &corev1.Pod{}, "events": &corev1.Event{}}

func judgePolicy(cases *Cases, path, name string, rows []Row) *Evaluator {
	bound := policyOf(cases, path, name)
	if bound.Policy == nil {
		return nil
	}
	cases.Check(name+": nothing weakens it", bound.WhatWeakens())
	evaluator, err := Compile(bound.Policy)
	cases.Check(name+": compiles", text(err))
	if err != nil {
		return nil
	}
	for _, rule := range bound.Policy.Spec.MatchConstraints.ResourceRules {
		for _, resource := range rule.Resources {
			kind, _, _ := strings.Cut(resource, "/")
			cases.Check(name+": fits the types of "+resource, joined(TypeProblems(bound.Policy, typesOf[kind])))
		}
	}
	for _, row := range rows {
		cases.Check(name+": "+row.Name, row.Problem(evaluator.Judge(&row.Request)))
	}
	for _, mutation := range Mutations(bound.Policy) {
		mutant, err := Compile(mutation.Policy)
		if err != nil {
			cases.Check(name+": without "+mutation.What, "does not compile: "+err.Error())
			continue
		}
		problem := ""
		isAbout := func(field string) bool { return strings.Contains(mutation.What, "?"+field) }
		if FirstProblem(mutant, rows) == "" && !slices.ContainsFunc(unheardOf, isAbout) {
			problem = "no row fails"
		}
		cases.Check(name+": without "+mutation.What, problem)
	}
	return evaluator
}

func joined(problems []string) string { return strings.Join(problems, "\n  ") }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
