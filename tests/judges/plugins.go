package main

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/pkg/apis/clientauthentication"
)

func init() {
	// exec-answer VERSION: what a credential plugin printed for client-go. plugin/pkg/client/auth/exec/exec.go, but for its
	// look into the certificate, which we leave to the connection.
	families["exec-answer"] = func(text []byte, arguments []string) (any, error) {
		group := schema.GroupVersion{Group: "client.authentication.k8s.io", Version: arguments[0]}
		credential := &clientauthentication.ExecCredential{}
		_, kind, err := authCodecs.UniversalDecoder(group).Decode(text, nil, credential)
		if err != nil {
			return nil, err
		}
		if kind.GroupVersion() != group {
			return nil, errors.New("another version")
		}
		status := credential.Status
		if status == nil {
			return nil, errors.New("no status")
		}
		if status.Token == "" && status.ClientCertificateData == "" && status.ClientKeyData == "" {
			return nil, errors.New("neither a token nor a certificate")
		}
		if (status.ClientCertificateData == "") != (status.ClientKeyData == "") {
			return nil, errors.New("only certificate or key")
		}
		answer := map[string]any{"token": status.Token, "certificate": status.ClientCertificateData, "key": status.ClientKeyData}
		if status.ExpirationTimestamp != nil {
			answer["expires"] = min(max(status.ExpirationTimestamp.Unix(), 0), 4102444800)
		}
		return answer, nil
	}
	// kubelet's files, of which Debian has no package: its types and its loader of Kubernetes 1.34, re-typed.
	for version, strict := range map[string]bool{"1.31": false, "1.34": true} {
		codecs := kubeletCodecs(strict)
		families["provider-config "+version] = func(text []byte, _ []string) (any, error) { return providersOf(codecs, text) }
		families["provider-answer "+version] = func(text []byte, arguments []string) (any, error) {
			return responseOf(codecs, text, arguments[1])
		}
	}
	families["provider-config"] = func(text []byte, arguments []string) (any, error) {
		return families["provider-config "+arguments[0]](text, arguments)
	}
	families["provider-answer"] = func(text []byte, arguments []string) (any, error) {
		return families["provider-answer "+arguments[0]](text, arguments)
	}
}

// CredentialProviderConfig is k8s.io/kubelet/config/v1's.
type CredentialProviderConfig struct {
	metav1.TypeMeta `json:",inline"`
	Providers       []credentialProvider `json:"providers"`
}

type credentialProvider struct {
	Name                 string           `json:"name"`
	MatchImages          []string         `json:"matchImages"`
	DefaultCacheDuration *metav1.Duration `json:"defaultCacheDuration"`
	APIVersion           string           `json:"apiVersion"`
	Args                 []string         `json:"args,omitempty"`
	Env                  []variable       `json:"env,omitempty"`
	TokenAttributes      *tokenAttributes `json:"tokenAttributes,omitempty"`
}

type variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type tokenAttributes struct {
	Audience     string   `json:"serviceAccountTokenAudience"`
	CacheType    string   `json:"cacheType,omitempty"`
	Required     *bool    `json:"requireServiceAccount"`
	RequiredKeys []string `json:"requiredServiceAccountAnnotationKeys,omitempty"`
	OptionalKeys []string `json:"optionalServiceAccountAnnotationKeys,omitempty"`
}

// CredentialProviderConfigV1beta1 is that of the older versions, as 1.31 has all of them.
type CredentialProviderConfigV1beta1 struct {
	metav1.TypeMeta `json:",inline"`
	Providers       []credentialProviderV1beta1 `json:"providers"`
}

type credentialProviderV1beta1 struct {
	Name                 string           `json:"name"`
	MatchImages          []string         `json:"matchImages"`
	DefaultCacheDuration *metav1.Duration `json:"defaultCacheDuration"`
	APIVersion           string           `json:"apiVersion"`
	Args                 []string         `json:"args,omitempty"`
	Env                  []variable       `json:"env,omitempty"`
}

// CredentialProviderResponse is k8s.io/kubelet/pkg/apis/credentialprovider/v1's; the older versions have the same.
type CredentialProviderResponse struct {
	metav1.TypeMeta `json:",inline"`
	CacheKeyType    string                `json:"cacheKeyType"`
	CacheDuration   *metav1.Duration      `json:"cacheDuration,omitempty"`
	Auth            map[string]authConfig `json:"auth,omitempty"`
}

type authConfig struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

// DeepCopyObject is part of runtime.Object; nobody copies.
func (c *CredentialProviderConfig) DeepCopyObject() runtime.Object { return c }

// DeepCopyObject is part of runtime.Object; nobody copies.
func (c *CredentialProviderConfigV1beta1) DeepCopyObject() runtime.Object { return c }

// DeepCopyObject is part of runtime.Object; nobody copies.
func (c *CredentialProviderResponse) DeepCopyObject() runtime.Object { return c }

const (
	configGroup   = "kubelet.config.k8s.io"
	providerGroup = "credentialprovider.kubelet.k8s.io"
)

func kubeletCodecs(strict bool) serializer.CodecFactory {
	scheme := runtime.NewScheme()
	for _, version := range []string{"v1alpha1", "v1beta1", "v1"} {
		group := schema.GroupVersion{Group: configGroup, Version: version}
		if strict && version == "v1" {
			scheme.AddKnownTypes(group, &CredentialProviderConfig{})
		} else {
			scheme.AddKnownTypeWithName(group.WithKind("CredentialProviderConfig"), &CredentialProviderConfigV1beta1{})
		}
		scheme.AddKnownTypes(schema.GroupVersion{Group: providerGroup, Version: version}, &CredentialProviderResponse{})
	}
	if strict {
		return serializer.NewCodecFactory(scheme, serializer.EnableStrict)
	}
	return serializer.NewCodecFactory(scheme)
}

// plugin/config.go: decode and validateCredentialProviderConfig.
func providersOf(codecs serializer.CodecFactory, text []byte) (any, error) {
	object, kind, err := codecs.UniversalDeserializer().Decode(text, nil, nil)
	if err != nil {
		return nil, err
	}
	if kind.Kind != "CredentialProviderConfig" || kind.Group != configGroup {
		return nil, errors.New("another kind")
	}
	var providers []credentialProvider
	switch config := object.(type) {
	case *CredentialProviderConfig:
		providers = config.Providers
	case *CredentialProviderConfigV1beta1:
		for _, one := range config.Providers {
			providers = append(providers, credentialProvider{Name: one.Name, MatchImages: one.MatchImages,
				DefaultCacheDuration: one.DefaultCacheDuration, APIVersion: one.APIVersion, Args: one.Args, Env: one.Env})
		}
	}
	if len(providers) == 0 {
		return nil, errors.New("no providers")
	}
	seen := map[string]bool{}
	read := []any{}
	for _, provider := range providers {
		if err := validateProvider(provider); err != nil {
			return nil, err
		}
		if seen[provider.Name] {
			return nil, errors.New("a provider twice")
		}
		seen[provider.Name] = true
		variables := []string{}
		for _, one := range provider.Env {
			variables = append(variables, one.Name+"="+one.Value)
		}
		one := map[string]any{"name": provider.Name, "images": provider.MatchImages, "apiVersion": provider.APIVersion,
			"duration": provider.DefaultCacheDuration.Nanoseconds(), "args": append([]string{}, provider.Args...), "env": variables}
		if token := provider.TokenAttributes; token != nil {
			one["token"] = map[string]any{"audience": token.Audience, "cacheType": token.CacheType, "required": *token.Required,
				"keys": append([]string{}, token.RequiredKeys...), "optional": append([]string{}, token.OptionalKeys...)}
		}
		read = append(read, one)
	}
	return read, nil
}

func validateProvider(provider credentialProvider) error {
	if strings.ContainsAny(provider.Name, "/ ") || provider.Name == "." || provider.Name == ".." {
		return errors.New("name")
	}
	switch provider.APIVersion {
	case providerGroup + "/v1alpha1", providerGroup + "/v1beta1", providerGroup + "/v1":
	default:
		return errors.New("apiVersion of the provider")
	}
	if len(provider.MatchImages) == 0 {
		return errors.New("no matchImages")
	}
	for _, image := range provider.MatchImages {
		if _, err := url.Parse("https://" + image); err != nil {
			return err
		}
	}
	if provider.DefaultCacheDuration == nil || provider.DefaultCacheDuration.Duration < 0 {
		return errors.New("defaultCacheDuration")
	}
	return validateToken(provider)
}

func validateToken(provider credentialProvider) error {
	token := provider.TokenAttributes
	if token == nil {
		return nil
	}
	if token.Audience == "" || token.Required == nil {
		return errors.New("audience or requireServiceAccount")
	}
	if token.CacheType != "ServiceAccount" && token.CacheType != "Token" {
		return errors.New("cacheType")
	}
	if provider.APIVersion != providerGroup+"/v1" {
		return errors.New("tokenAttributes need v1")
	}
	if len(token.RequiredKeys) > 0 && !*token.Required {
		return errors.New("required keys without a required account")
	}
	seen := map[string]bool{}
	for _, key := range append(append([]string{}, token.RequiredKeys...), token.OptionalKeys...) {
		if seen[key] || len(validation.IsQualifiedName(strings.ToLower(key))) > 0 {
			return errors.New("annotation keys")
		}
		seen[key] = true
	}
	return nil
}

// plugin/plugin.go: ExecPlugin and decodeResponse, and what provideFromPlugin takes.
func responseOf(codecs serializer.CodecFactory, text []byte, version string) (any, error) {
	meta, err := json.DefaultMetaFactory.Interpret(text)
	if err != nil {
		return nil, err
	}
	if meta.GroupVersion().String() != providerGroup+"/"+version {
		return nil, errors.New("another apiVersion")
	}
	object, kind, err := codecs.UniversalDeserializer().Decode(text, nil, nil)
	if err != nil {
		return nil, err
	}
	response, ok := object.(*CredentialProviderResponse)
	if !ok || kind.Kind != "CredentialProviderResponse" {
		return nil, fmt.Errorf("another kind: %v", kind)
	}
	if response.CacheKeyType != "Image" && response.CacheKeyType != "Registry" && response.CacheKeyType != "Global" {
		return nil, errors.New("cacheKeyType")
	}
	auth := map[string]any{}
	for key, one := range response.Auth {
		auth[key] = []string{one.Username, one.Password}
	}
	read := map[string]any{"type": response.CacheKeyType, "auth": auth}
	if response.CacheDuration != nil {
		read["duration"] = response.CacheDuration.Duration / time.Nanosecond
	}
	return read, nil
}
