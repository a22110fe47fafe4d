package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Groups for which Kubernetes' own library has no types: of others (tests/deploy/shapes.py has types of ours), of
// kustomize's own files, which are judged as rendered, and of the agent's configuration.
var foreign = []string{"monitoring.coreos.com/", "monitoring.googleapis.com/", "security.openshift.io/",
	"actions.github.com/", "prow.k8s.io/", "tekton.dev/", "kustomize.config.k8s.io/", "prefetchd.dev/"}

var (
	scheme  = newScheme()
	decoder = json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme,
		json.SerializerOptions{Yaml: true, Strict: true})
)

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{admissionv1.AddToScheme, appsv1.AddToScheme,
		authenticationv1.AddToScheme, batchv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme,
		rbacv1.AddToScheme, schedulingv1.AddToScheme} {
		utilruntime.Must(add(scheme))
	}
	return scheme
}

// Decode reads one object, JSON or YAML, as an API server with fieldValidation=Strict: what its type does not
// have, or has twice, is an error.
func Decode(document []byte) (runtime.Object, error) {
	object, _, err := decoder.Decode(document, nil, nil)
	return object, err
}

func isForeign(document []byte) bool {
	for _, line := range strings.Split(string(document), "\n") {
		for _, group := range foreign {
			if strings.HasPrefix(line, "apiVersion: "+group) {
				return true
			}
		}
	}
	return false
}

// Objects decodes all documents of a YAML file but the foreign ones, which it counts. Every mistake is told.
func Objects(path string) (objects []runtime.Object, foreigners int, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, err
	}
	var problems []error
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for n := 1; ; n++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, 0, err
		}
		if len(bytes.TrimSpace(document)) == 0 {
			continue
		}
		if isForeign(document) {
			foreigners++
			continue
		}
		object, err := Decode(document)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s, document %d: %w", path, n, err))
			continue
		}
		objects = append(objects, object)
	}
	return objects, foreigners, errors.Join(problems...)
}

// Files below a folder that end with this, sorted.
func Files(folder, suffix string) []string {
	var found []string
	_ = filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(path, suffix) {
			found = append(found, path)
		}
		return nil
	})
	sort.Strings(found)
	return found
}

// Policies with the binding that puts each in force.
type Bound struct {
	Policy  *admissionv1.ValidatingAdmissionPolicy
	Binding *admissionv1.ValidatingAdmissionPolicyBinding
}

func BoundPolicies(objects []runtime.Object) []Bound {
	var found []Bound
	for _, object := range objects {
		if policy, is := object.(*admissionv1.ValidatingAdmissionPolicy); is {
			found = append(found, Bound{Policy: policy})
		}
	}
	for _, object := range objects {
		if binding, is := object.(*admissionv1.ValidatingAdmissionPolicyBinding); is {
			for i := range found {
				if found[i].Policy.Name == binding.Spec.PolicyName {
					found[i].Binding = binding
				}
			}
		}
	}
	return found
}

// WhatWeakens says what of a policy or its binding lets requests through that its rows are about, beside its
// expressions. Empty: nothing.
func (b Bound) WhatWeakens() string {
	spec := b.Policy.Spec
	switch {
	case b.Binding == nil:
		return "no binding puts it in force"
	case len(b.Binding.Spec.ValidationActions) != 1 || b.Binding.Spec.ValidationActions[0] != admissionv1.Deny:
		return "its binding does not deny"
	case b.Binding.Spec.MatchResources != nil:
		return "its binding narrows it"
	case (spec.ParamKind != nil) != (b.Binding.Spec.ParamRef != nil) || !isAboutEachOne(b.Binding.Spec.ParamRef):
		return "it is not evaluated for every object that it is about"
	case spec.FailurePolicy == nil || *spec.FailurePolicy != admissionv1.Fail:
		return "it admits what it cannot judge"
	case spec.MatchConstraints == nil || spec.MatchConstraints.NamespaceSelector != nil ||
		spec.MatchConstraints.ObjectSelector != nil || len(spec.MatchConstraints.ExcludeResourceRules) != 0:
		return "its constraints leave something out"
	case spec.MatchConstraints.MatchPolicy != nil && *spec.MatchConstraints.MatchPolicy != admissionv1.Equivalent:
		return "another version of the API is past it"
	}
	return ""
}

func isAboutEachOne(ref *admissionv1.ParamRef) bool {
	return ref == nil || (ref.Name == "" && ref.Namespace == "" && ref.Selector != nil &&
		len(ref.Selector.MatchLabels) == 0 && len(ref.Selector.MatchExpressions) == 0)
}
