package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/containerd/containerd/remotes/docker/auth"
	"github.com/distribution/reference"
)

func init() {
	// reference: a name as kubelet and the runtimes take it.
	families["reference"] = func(text []byte, _ []string) (any, error) {
		named, err := reference.ParseDockerRef(string(text))
		if err != nil {
			return nil, err
		}
		// A host that is none for this library ("my_host/x") is one for containerd's own.
		domain, path := reference.Domain(named), reference.Path(named)
		if domain == "" {
			domain, path, _ = strings.Cut(path, "/")
		}
		return []string{domain, path, named.String()}, nil
	}
	// token: the answer of a token service to containerd.
	families["token"] = func(text []byte, _ []string) (any, error) {
		options := auth.TokenOptions{Realm: "https://token.example.test/"}
		answer, err := auth.FetchToken(context.Background(), &http.Client{Transport: answering(text)}, nil, options)
		if err != nil {
			return nil, err
		}
		return answer.Token, nil
	}
	// docker: credentials of a file for kubelet. pkg/credentialprovider/config.go of Kubernetes 1.34, re-typed: Debian
	// has no package of it.
	families["docker"] = func(text []byte, _ []string) (any, error) {
		var config struct {
			Auths       map[string]entry  `json:"auths"`
			HTTPHeaders map[string]string `json:"HttpHeaders,omitempty"`
		}
		if err := json.Unmarshal(text, &config); err != nil {
			return nil, err
		}
		found := map[string][]string{}
		for name, one := range config.Auths {
			found[name] = []string{one.username, one.password}
		}
		return found, nil
	}
}

type answering []byte

func (body answering) RoundTrip(request *http.Request) (*http.Response, error) {
	response := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: request}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

type entry struct{ username, password string }

func (e *entry) UnmarshalJSON(data []byte) error {
	var written struct {
		Username string `json:"username,omitempty"`
		Password string `json:"password,omitempty"`
		Email    string `json:"email,omitempty"`
		Auth     string `json:"auth,omitempty"`
	}
	if err := json.Unmarshal(data, &written); err != nil {
		return err
	}
	e.username, e.password = written.Username, written.Password
	if written.Auth == "" {
		return nil
	}
	encoding := base64.RawStdEncoding
	if strings.HasSuffix(strings.TrimSpace(written.Auth), "=") {
		encoding = base64.StdEncoding
	}
	decoded, err := encoding.DecodeString(written.Auth)
	if err != nil {
		return err
	}
	username, password, found := strings.Cut(string(decoded), ":")
	if !found {
		return errors.New("no user:password")
	}
	e.username, e.password = username, password
	return nil
}
