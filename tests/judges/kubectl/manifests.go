package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/distribution/reference"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsjson "sigs.k8s.io/json"
)

// The loader is that of kubectl (k8s.io/cli-runtime/pkg/resource: FileVisitor, StreamVisitor), re-typed on the
// decoders that it uses itself. The types below are those fields of k8s.io/api that name an image, or what it is
// pulled with; the API server refuses other types in them.

type metadata struct {
	Name         string `json:"name"`
	GenerateName string `json:"generateName"`
	Namespace    string `json:"namespace"`
}

type container struct {
	Name            string `json:"name"`
	Image           string `json:"image"`
	ImagePullPolicy string `json:"imagePullPolicy"`
}

type podSpec struct {
	InitContainers      []container `json:"initContainers"`
	Containers          []container `json:"containers"`
	EphemeralContainers []container `json:"ephemeralContainers"`
	Volumes             []struct {
		Name  any `json:"name"` // checked with its image only
		Image *struct {
			Reference  string `json:"reference"`
			PullPolicy string `json:"pullPolicy"`
		} `json:"image"`
	} `json:"volumes"`
	ImagePullSecrets []struct {
		Name string `json:"name"`
	} `json:"imagePullSecrets"`
	ServiceAccountName string `json:"serviceAccountName"`
	ServiceAccount     string `json:"serviceAccount"`
}

type template struct {
	Spec podSpec `json:"spec"`
}

type controller struct {
	Spec struct {
		Template template `json:"template"`
	} `json:"spec"`
}

type podKind struct {
	group, kind string
	spec        func(object []byte) (podSpec, error)
}

func decoded(object []byte, into any) error {
	return sigsjson.UnmarshalCaseSensitivePreserveInts(object, into)
}

func ofController(object []byte) (podSpec, error) {
	var read controller
	err := decoded(object, &read)
	return read.Spec.Template.Spec, err
}

var podKinds = []podKind{
	{"", "Pod", func(object []byte) (podSpec, error) {
		var read template
		err := decoded(object, &read)
		return read.Spec, err
	}},
	{"", "PodTemplate", func(object []byte) (podSpec, error) {
		var read struct {
			Template template `json:"template"`
		}
		err := decoded(object, &read)
		return read.Template.Spec, err
	}},
	{"batch", "CronJob", func(object []byte) (podSpec, error) {
		var read struct {
			Spec struct {
				JobTemplate controller `json:"jobTemplate"`
			} `json:"spec"`
		}
		err := decoded(object, &read)
		return read.Spec.JobTemplate.Spec.Template.Spec, err
	}},
	{"", "ReplicationController", ofController},
	{"apps", "Deployment", ofController},
	{"apps", "StatefulSet", ofController},
	{"apps", "DaemonSet", ofController},
	{"apps", "ReplicaSet", ofController},
	{"batch", "Job", ofController},
}

type use struct {
	Kind, Namespace, Name string
	Container             string
	Image, Policy         string
	Secrets               []string
	Account               string
}

// The API server's default: SetDefaults_Container with parsers.ParseImageName.
func policyOf(image, written string) (string, error) {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return "", err // kubelet: InvalidImageName
	}
	switch written {
	case "Always", "IfNotPresent", "Never":
		return written, nil
	case "":
	default:
		return "", fmt.Errorf("unsupported policy %q", written)
	}
	_, digested := named.(reference.Digested)
	tagged, hasTag := named.(reference.Tagged)
	if (hasTag && tagged.Tag() == "latest") || (!hasTag && !digested) {
		return "Always", nil
	}
	return "IfNotPresent", nil
}

func usesOf(object *unstructured.Unstructured) ([]use, error) {
	kind := object.GroupVersionKind()
	if kind.Kind == "" || object.GetAPIVersion() == "" {
		return nil, errors.New("no kind or version")
	}
	for _, pod := range podKinds {
		if pod.kind != kind.Kind {
			continue
		}
		if pod.group != kind.Group {
			return nil, errors.New("no such kind")
		}
		sent, err := object.MarshalJSON()
		if err != nil {
			return nil, err
		}
		return usesOfPod(sent, kind, pod)
	}
	return nil, nil
}

func usesOfPod(sent []byte, kind schema.GroupVersionKind, pod podKind) ([]use, error) {
	var about struct {
		Metadata metadata `json:"metadata"`
	}
	spec, err := pod.spec(sent)
	if err = errors.Join(err, decoded(sent, &about)); err != nil {
		return nil, err
	}
	common := use{Kind: kind.Kind, Namespace: about.Metadata.Namespace, Name: about.Metadata.Name, Secrets: []string{}}
	if common.Name == "" && about.Metadata.GenerateName != "" {
		common.Name = about.Metadata.GenerateName + "*"
	}
	for _, secret := range spec.ImagePullSecrets {
		if secret.Name != "" {
			common.Secrets = append(common.Secrets, secret.Name)
		}
	}
	common.Account = spec.ServiceAccountName
	if common.Account == "" {
		common.Account = spec.ServiceAccount
	}
	var uses []use
	add := func(name, image, policy string) error {
		one := common
		one.Container, one.Image = name, image
		var err error
		if one.Policy, err = policyOf(image, policy); err != nil {
			return err
		}
		uses = append(uses, one)
		return nil
	}
	for _, list := range [][]container{spec.InitContainers, spec.Containers, spec.EphemeralContainers} {
		for _, one := range list {
			if err := add(one.Name, one.Image, one.ImagePullPolicy); err != nil {
				return nil, err
			}
		}
	}
	for _, volume := range spec.Volumes {
		if volume.Image == nil {
			continue
		}
		name, isText := volume.Name.(string)
		if !isText && volume.Name != nil {
			return nil, errors.New("the name of a volume must be a string")
		}
		if err := add(name, volume.Image.Reference, volume.Image.PullPolicy); err != nil {
			return nil, err
		}
	}
	if len(uses) == 0 {
		return nil, errors.New("no container")
	}
	return uses, nil
}

// FlattenListVisitor.
func visit(object runtime.Object, uses *[]use) error {
	list, isList := object.(*unstructured.UnstructuredList)
	if !isList {
		some, err := usesOf(object.(*unstructured.Unstructured))
		*uses = append(*uses, some...)
		return err
	}
	for i := range list.Items {
		item, err := list.Items[i].MarshalJSON()
		if err != nil {
			return err
		}
		inner, _, err := unstructured.UnstructuredJSONScheme.Decode(item, nil, nil)
		if err != nil {
			return err
		}
		if err := visit(inner, uses); err != nil {
			return err
		}
	}
	return nil
}

func init() {
	// manifests: the images that the pods of a file of manifests ask for.
	families["manifests"] = func(text []byte, _ []string) (any, error) {
		in := transform.NewReader(bytes.NewReader(text), unicode.BOMOverride(unicode.UTF8.NewDecoder()))
		decoder := yaml.NewYAMLOrJSONDecoder(in, 4096)
		uses := []use{}
		for {
			raw := runtime.RawExtension{}
			if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
				return uses, nil
			} else if err != nil {
				return nil, err
			}
			raw.Raw = bytes.TrimSpace(raw.Raw)
			if len(raw.Raw) == 0 || string(raw.Raw) == "null" {
				continue
			}
			// The last `items` counts; kubectl refuses the object if an earlier one is no list.
			var last map[string]any
			if err := decoded(raw.Raw, &last); err != nil {
				return nil, err
			}
			once, err := json.Marshal(last)
			if err != nil {
				return nil, err
			}
			object, _, err := unstructured.UnstructuredJSONScheme.Decode(once, nil, nil)
			if err != nil {
				return nil, err
			}
			if err := visit(object, &uses); err != nil {
				return nil, err
			}
		}
	}
}
