package main

import (
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// The priority classes of the cluster that rows are about: the API server's own, and two of its operator's.
var priorityClasses = []runtime.Object{
	priorityClass("system-node-critical", 2000001000, false),
	priorityClass("system-cluster-critical", 2000000000, false),
	priorityClass("important", 1000, false),
	priorityClass("default", 1000, true),
}

func priorityClass(name string, value int32, isDefault bool) *schedulingv1.PriorityClass {
	return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value, GlobalDefault: isDefault}
}

// Judge evaluates the policy for one request: once, or once for each object that its binding selects. As in an API
// server, one denial denies.
func (e *Evaluator) Judge(request *Request) Verdict {
	if e.policy.Spec.ParamKind == nil {
		return e.judge(request, nil)
	}
	return e.JudgeWith(request, priorityClasses)
}

// JudgeWith evaluates it for these objects.
func (e *Evaluator) JudgeWith(request *Request, params []runtime.Object) Verdict {
	var all Verdict
	for _, param := range params {
		one := e.judge(request, param)
		all.Matched = all.Matched || one.Matched
		all.Denials = append(all.Denials, one.Denials...)
		all.Errors = append(all.Errors, one.Errors...)
		all.Cost = max(all.Cost, one.Cost)
	}
	return all
}
