package main

import (
	stdjson "encoding/json"
	"errors"
	"strings"
	"time"

	jsonpatch "github.com/evanphx/json-patch"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

func init() {
	// kubelet-config RELEASE: kubelet's main file, and behind each line "=== drop-in" one of its drop-ins. What kubelet
	// starts with, so far as it concerns images. Debian has no package of it: its loader, its defaults and its validation
	// of these fields, re-typed.
	lenient, strict := configCodecs(), configCodecs(serializer.EnableStrict)
	families["kubelet-config"] = func(text []byte, arguments []string) (any, error) {
		parts := strings.Split("\n"+string(text), "\n=== drop-in\n")
		config := &KubeletConfiguration{}
		if main := strings.TrimPrefix(parts[0], "\n"); main != "" {
			decoded, err := configOf(lenient, []byte(main))
			if err != nil {
				return nil, err
			}
			config = decoded
		} else if len(parts) == 1 {
			return nil, errors.New("the file was empty")
		}
		config.setDefaults(arguments[0])
		if len(parts) > 1 {
			merged, err := config.merge(strict, parts[1:])
			if err != nil {
				return nil, err
			}
			config = merged
			config.setDefaults(arguments[0])
		}
		if err := config.validate(arguments[0]); err != nil {
			return nil, err
		}
		read := map[string]any{"gate": config.gate(arguments[0]), "high": config.High, "low": config.Low,
			"youngest": config.MinimumAge.Nanoseconds(), "oldest": config.MaximumAge.Nanoseconds(), "pods": config.MaxPods,
			"runtime": config.Runtime, "imageService": config.ImageService}
		if config.gate(arguments[0]) {
			read["policy"], read["allowlist"] = config.Policy, append([]string{}, config.Allowlist...)
		}
		return read, nil
	}
}

// KubeletConfiguration has those fields of k8s.io/kubelet/config/v1beta1's that concern images.
type KubeletConfiguration struct {
	metav1.TypeMeta `json:",inline"`
	FeatureGates    map[string]bool `json:"featureGates,omitempty"`
	Policy          string          `json:"imagePullCredentialsVerificationPolicy,omitempty"`
	Allowlist       []string        `json:"preloadedImagesVerificationAllowlist,omitempty"`
	High            *int32          `json:"imageGCHighThresholdPercent,omitempty"`
	Low             *int32          `json:"imageGCLowThresholdPercent,omitempty"`
	MinimumAge      metav1.Duration `json:"imageMinimumGCAge,omitempty"`
	MaximumAge      metav1.Duration `json:"imageMaximumGCAge,omitempty"`
	MaxPods         int32           `json:"maxPods,omitempty"`
	Runtime         string          `json:"containerRuntimeEndpoint"`
	ImageService    string          `json:"imageServiceEndpoint,omitempty"`
}

// DeepCopyObject is part of runtime.Object; nobody copies.
func (c *KubeletConfiguration) DeepCopyObject() runtime.Object { return c }

func configCodecs(options ...serializer.CodecFactoryOptionsMutator) serializer.CodecFactory {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(schema.GroupVersion{Group: configGroup, Version: "v1beta1"}, &KubeletConfiguration{})
	return serializer.NewCodecFactory(scheme, options...)
}

// pkg/kubelet/kubeletconfig/util/codec/codec.go: the strict reading is tried first, and the lenient one counts.
func configOf(codecs serializer.CodecFactory, text []byte) (*KubeletConfiguration, error) {
	object, _, err := codecs.UniversalDeserializer().Decode(text, nil, nil)
	if err != nil {
		return nil, err
	}
	config, ok := object.(*KubeletConfiguration)
	if !ok {
		return nil, errors.New("another kind")
	}
	return config, nil
}

// cmd/kubelet/app/server.go: mergeKubeletConfigurations. The result is read by encoding/json, with keys in any case.
func (c *KubeletConfiguration) merge(strict serializer.CodecFactory, dropIns []string) (*KubeletConfiguration, error) {
	c.APIVersion, c.Kind = configGroup+"/v1beta1", "KubeletConfiguration"
	merged, err := stdjson.Marshal(c)
	if err != nil {
		return nil, err
	}
	for _, text := range dropIns {
		object, kind, err := strict.UniversalDecoder().Decode([]byte(text), nil, &unstructured.Unstructured{})
		if err != nil {
			return nil, err
		}
		if kind.GroupVersion().String() != c.APIVersion || kind.Kind != c.Kind {
			return nil, errors.New("a drop-in of another kind")
		}
		patch, err := stdjson.Marshal(object.(*unstructured.Unstructured).Object)
		if err != nil {
			return nil, err
		}
		if merged, err = jsonpatch.MergePatch(merged, patch); err != nil {
			return nil, err
		}
	}
	all := &KubeletConfiguration{}
	return all, stdjson.Unmarshal(merged, all)
}

// The gate that makes kubelet verify images: alpha up to 1.34, then beta and on.
func (c *KubeletConfiguration) gate(release string) bool {
	stage, enabled := "AllBeta", true
	if release < "1.35" {
		stage, enabled = "AllAlpha", false
	}
	for _, name := range []string{"KubeletEnsureSecretPulledImages", stage} {
		if value, ok := c.FeatureGates[name]; ok {
			return value
		}
	}
	return enabled
}

// pkg/kubelet/apis/config/v1beta1/defaults.go
func (c *KubeletConfiguration) setDefaults(release string) {
	high, low := int32(85), int32(80)
	if c.High == nil {
		c.High = &high
	}
	if c.Low == nil {
		c.Low = &low
	}
	if c.MinimumAge.Duration == 0 {
		c.MinimumAge.Duration = 2 * time.Minute
	}
	if c.MaxPods == 0 {
		c.MaxPods = 110
	}
	if c.Runtime == "" {
		c.Runtime = "unix:///run/containerd/containerd.sock"
	}
	if c.Policy == "" && c.gate(release) {
		c.Policy = "NeverVerifyPreloadedImages"
	}
}

// pkg/kubelet/apis/config/validation/validation.go
func (c *KubeletConfiguration) validate(release string) error {
	for _, percent := range []int32{*c.High, *c.Low} {
		if percent < 0 || percent > 100 {
			return errors.New("no percentage")
		}
	}
	if *c.Low >= *c.High {
		return errors.New("low above high")
	}
	if c.MaximumAge.Duration < 0 || c.MaximumAge.Duration > 0 && c.MaximumAge.Duration <= c.MinimumAge.Duration {
		return errors.New("maximum age")
	}
	if c.MaxPods < 0 {
		return errors.New("negative maxPods")
	}
	if !c.gate(release) {
		if c.Policy != "" || len(c.Allowlist) > 0 {
			return errors.New("a policy or allowlist without the gate")
		}
		return nil
	}
	switch c.Policy {
	case "NeverVerify", "NeverVerifyPreloadedImages", "AlwaysVerify":
		if len(c.Allowlist) > 0 {
			return errors.New("an allowlist beside another policy")
		}
	case "NeverVerifyAllowlistedImages":
	default:
		return errors.New("no policy")
	}
	return nil
}
