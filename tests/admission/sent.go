package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// Sent is a write of the agent's, as the fake API server of the C++ tests noted it (tests/fakes/sent_requests.h).
type Sent struct {
	User        string          `json:"user"`
	Verb        string          `json:"verb"`
	Resource    string          `json:"resource"`
	Subresource string          `json:"subresource"`
	Namespace   string          `json:"namespace"`
	ContentType string          `json:"contentType"`
	Body        string          `json:"body"`
	Answer      string          `json:"answer"`
	Before      json.RawMessage `json:"before"`
}

func readSent(path string) (Sent, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Sent{}, err
	}
	var sent Sent
	return sent, json.Unmarshal(text, &sent)
}

func (sent Sent) name() string {
	full := sent.Resource
	if sent.Subresource != "" {
		full += "/" + sent.Subresource
	}
	return sent.Verb + " " + full
}

// Kinds that the agent writes, for objects of which the fake keeps no kind.
func emptyOf(resource string) runtime.Object {
	switch resource {
	case "nodes":
		return &corev1.Node{}
	case "events":
		return &corev1.Event{}
	}
	return &corev1.Pod{}
}

// Lenient: what others put into the fake is theirs.
func stored(resource string, text []byte) (runtime.Object, error) {
	object := emptyOf(resource)
	err := json.Unmarshal(text, object)
	kind := map[string]string{"nodes": "Node", "events": "Event", "pods": "Pod"}[resource]
	object.GetObjectKind().SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	return object, err
}

// RFC 7386.
func mergePatch(target, patch any) any {
	changes, isObject := patch.(map[string]any)
	if !isObject {
		return patch
	}
	result, isObject := target.(map[string]any)
	if !isObject {
		result = map[string]any{}
	}
	for key, value := range changes {
		if value == nil {
			delete(result, key)
		} else {
			result[key] = mergePatch(result[key], value)
		}
	}
	return result
}

// Patched is the object after the patch, as Kubernetes' own code merges it, decoded strictly.
func (sent Sent) patched(before runtime.Object) (runtime.Object, error) {
	was, err := json.Marshal(before)
	if err != nil {
		return nil, err
	}
	var is []byte
	switch sent.ContentType {
	case "application/strategic-merge-patch+json":
		is, err = strategicpatch.StrategicMergePatch(was, []byte(sent.Body), emptyOf(sent.Resource))
	case "application/merge-patch+json":
		var target, patch any
		if err = json.Unmarshal(was, &target); err == nil {
			if err = json.Unmarshal([]byte(sent.Body), &patch); err == nil {
				is, err = json.Marshal(mergePatch(target, patch))
			}
		}
	default:
		return nil, fmt.Errorf("a patch of type %q", sent.ContentType)
	}
	if err != nil {
		return nil, err
	}
	return Decode(is)
}

// Request is what admission would be asked, if the kind is one that is admitted. What cannot be decoded strictly is
// an error.
func (sent Sent) Request() (*Request, error) {
	request := &Request{Resource: sent.Resource, Subresource: sent.Subresource, Namespace: sent.Namespace,
		User: sent.User, OnNode: ownNode}
	var before runtime.Object
	if sent.Before != nil {
		var err error
		if before, err = stored(sent.Resource, sent.Before); err != nil {
			return nil, err
		}
	}
	var err error
	switch sent.Verb {
	case "create":
		request.Operation = operationCreate
		request.Object, err = Decode([]byte(sent.Body))
	case "patch":
		request.Operation, request.OldObject = operationUpdate, before
		request.Object, err = sent.patched(before)
	case "delete":
		request.Operation, request.OldObject = operationDelete, before
		if sent.Body != "" {
			_, err = Decode([]byte(sent.Body))
		}
	}
	if err != nil {
		return nil, err
	}
	switch object := request.Object.(type) {
	case *corev1.Node:
		keepOtherHalf(sent.Subresource, before.(*corev1.Node), object)
		if problem := sent.differsFromFake(object); problem != "" {
			return nil, fmt.Errorf("%s", problem)
		}
	case *corev1.Pod:
		if sent.Verb == "create" {
			request.Object = defaulted(object)
		}
	}
	return request, nil
}

// As the API server's strategies for Nodes: the status changes through its subresource, the spec otherwise.
func keepOtherHalf(subresource string, before, after *corev1.Node) {
	if subresource == "status" {
		after.Spec = before.Spec
	} else {
		after.Status = before.Status
	}
}

// The fake's merge is ours; here it is held against Kubernetes'.
func (sent Sent) differsFromFake(node *corev1.Node) string {
	object, err := stored(sent.Resource, []byte(sent.Answer))
	if err != nil {
		return err.Error()
	}
	fake, real := object.(*corev1.Node), node.DeepCopy()
	for _, one := range []*corev1.Node{fake, real} {
		one.ResourceVersion = ""
		// New ones come first, or last; nobody goes by the order.
		slices.SortFunc(one.Status.Conditions, func(a, b corev1.NodeCondition) int { return cmp.Compare(a.Type, b.Type) })
	}
	if equality.Semantic.DeepEqual(real, fake) {
		return ""
	}
	is, _ := json.Marshal(real)
	wrong, _ := json.Marshal(fake)
	return fmt.Sprintf("the fake made %s of it, Kubernetes makes %s", wrong, is)
}

// JudgeSent judges every write below a folder: decoded strictly; admitted by the policies that match it, and denied
// to an agent of another node.
func JudgeSent(cases *Cases, folder string, evaluators map[string]*Evaluator) {
	wanted := map[string]bool{"create pods": false, "delete pods": false, "patch nodes": false, "patch nodes/status": false,
		"create events": false, "patch events": false, "create serviceaccounts/token": false}
	for _, path := range Files(folder, ".json") {
		sent, err := readSent(path)
		if err != nil {
			cases.Check(path, err.Error())
			continue
		}
		wanted[sent.name()] = true
		request, err := sent.Request()
		if err != nil {
			cases.Check("sent: "+sent.name(), fmt.Sprintf("%s: %v", path, err))
			continue
		}
		evaluator := evaluators[sent.Resource]
		if strings.Contains(sent.Body, "image-prefetcher.stackrox.io/") {
			request.User, evaluator = compatUser, evaluators["nodes, migrate"]
		}
		if sent.Resource == "nodes" && strings.Contains(string(sent.Before), taintKey) {
			evaluator = evaluators["nodes, taint key"]
		}
		cases.Check("sent: "+sent.name(), admittedHereOnly(evaluator, request, path))
		if sent.ContentType == "application/strategic-merge-patch+json" {
			cases.Check("sent: "+sent.name()+" to a Node of many owners", sent.problemOnBusyNodes(evaluator, path))
		}
	}
	for name, found := range wanted {
		if !found {
			cases.Check("sent: "+name, "was sent by no test")
		}
	}
}

// A list that is merged must leave all that is others' as it is, in its order, wherever ours stands.
func (sent Sent) problemOnBusyNodes(evaluator *Evaluator, path string) string {
	for at := range 5 {
		node := someNode()
		for _, kind := range []corev1.NodeConditionType{corev1.NodeMemoryPressure, "ZCustom", corev1.NodeDiskPressure} {
			node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{Type: kind, Status: corev1.ConditionFalse})
		}
		ours := node.Status.Conditions[1]
		node.Status.Conditions = slices.Delete(node.Status.Conditions, 1, 2)
		if at < 4 { // else it is not there yet
			node.Status.Conditions = slices.Insert(node.Status.Conditions, at, ours)
		}
		after, err := sent.patched(node)
		if err != nil {
			return path + ": " + err.Error()
		}
		keepOtherHalf(sent.Subresource, node, after.(*corev1.Node))
		request := &Request{Operation: operationUpdate, Resource: sent.Resource, Subresource: sent.Subresource, User: sent.User,
			OnNode: ownNode, OldObject: node, Object: after}
		if problem := admittedHereOnly(evaluator, request, path); problem != "" {
			return problem
		}
	}
	return ""
}

func admittedHereOnly(evaluator *Evaluator, request *Request, path string) string {
	if evaluator == nil {
		return ""
	}
	verdict := evaluator.Judge(request)
	if !verdict.Matched || !verdict.Admitted() {
		return fmt.Sprintf("%s is refused: matched %v, %v, %v", path, verdict.Matched, verdict.Denials, verdict.Errors)
	}
	elsewhere := *request
	elsewhere.OnNode = "another"
	if evaluator.Judge(&elsewhere).Admitted() {
		return path + " is admitted for an agent of another node"
	}
	return ""
}
