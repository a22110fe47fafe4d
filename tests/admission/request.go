package main

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	operationCreate = "CREATE"
	operationUpdate = "UPDATE"
	operationDelete = "DELETE"

	nodeClaim = "authentication.kubernetes.io/node-name"
	agentUser = "system:serviceaccount:prefetchd:prefetchd"
	ownNode   = "n1"
)

// Request is what the API server asks its validating admission: after authorization, mutation and the
// kind's own strategy (a status update carries the old spec, any other the old status).
type Request struct {
	Operation             string
	Group                 string // "apps"; empty: the core
	Resource, Subresource string
	Kind                  string // "Node"
	Namespace, Name       string
	User                  string
	OnNode                string // the token's claim; empty: it has none
	OtherClaims           bool   // the token has claims
	// As the API server has them: of the real types. nil: CREATE has no old one, DELETE no new one.
	Object, OldObject runtime.Object
}

func (r *Request) resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: r.Group, Version: "v1", Resource: r.Resource}
}

func (r *Request) kind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: r.Group, Version: "v1", Kind: r.Kind}
}

func (r *Request) extra() map[string][]string {
	extra := map[string][]string{}
	if r.OnNode != "" {
		extra[nodeClaim] = []string{r.OnNode}
	}
	if r.OtherClaims {
		extra["authentication.kubernetes.io/pod-name"] = []string{"prefetchd-x"}
	}
	return extra
}

// Verdict is what a policy says of a request.
type Verdict struct {
	Matched bool     // by its constraints and conditions; if not, nothing else was looked at
	Denials []string // a message for each validation that does not hold, its messageExpression's if it has one
	Errors  []string // expressions that cannot be evaluated, or cost too much; each denies, by failurePolicy
	Cost    int64    // in the units of CEL's budget, of the validations and their messages
}

func (v Verdict) Admitted() bool { return len(v.Denials) == 0 && len(v.Errors) == 0 }
