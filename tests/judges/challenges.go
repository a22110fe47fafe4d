package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/containerd/containerd/remotes/docker"
)

func init() {
	// challenge: a line is a WWW-Authenticate header of one answer. What containerd asks of a token service then, or the
	// password that it sends.
	families["challenge"] = func(text []byte, _ []string) (any, error) {
		service := &tokenService{}
		authorizer := docker.NewDockerAuthorizer(docker.WithAuthClient(&http.Client{Transport: service}),
			docker.WithAuthCreds(func(string) (string, string, error) { return "user", "password", nil }))
		request, err := http.NewRequest(http.MethodHead, "https://registry.example.test/v2/x/manifests/1", nil)
		if err != nil {
			return nil, err
		}
		header := http.Header{}
		for _, line := range strings.Split(string(text), "\n") {
			header.Add("WWW-Authenticate", strings.Trim(line, " \t"))
		}
		answers := []*http.Response{{StatusCode: http.StatusUnauthorized, Header: header, Request: request}}
		if err := authorizer.AddResponses(context.Background(), answers); err != nil {
			if strings.HasPrefix(err.Error(), "failed to find supported auth scheme") {
				return "none", nil
			}
			return nil, err
		}
		if err := authorizer.Authorize(docker.WithScope(context.Background(), "repository:x:pull"), request); err != nil && service.asked == nil {
			return nil, err
		}
		if service.asked == nil {
			return strings.ToLower(strings.Split(request.Header.Get("Authorization"), " ")[0]), nil
		}
		return service.asked, nil
	}
}

// tokenService notes what it was asked for by GET. It knows no POST, as many do not.
type tokenService struct{ asked map[string]any }

func (s *tokenService) RoundTrip(request *http.Request) (*http.Response, error) {
	answer := &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{}, Request: request}
	answer.Body = io.NopCloser(bytes.NewReader(nil))
	if request.URL.Scheme != "http" && request.URL.Scheme != "https" || request.URL.Host == "" {
		return nil, errors.New("what the transport of net/http refuses")
	}
	if request.Method == http.MethodPost {
		return answer, nil
	}
	query := request.URL.Query()
	scopes := []string{}
	for _, scope := range query["scope"] {
		if scope = pullOnly(scope); scope != "" && !slices.Contains(scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	query["scope"] = scopes
	path := request.URL.Path
	if path == "" {
		path = "/"
	}
	s.asked = map[string]any{"origin": originOf(request.URL), "path": path, "query": query}
	return answer, nil
}

// We never ask for a token that can push.
func pullOnly(scope string) string {
	named := strings.LastIndex(scope, ":")
	if named < 0 || strings.Index(scope, ":") == named {
		return scope
	}
	if slices.Contains(strings.Split(scope[named+1:], ","), "pull") {
		return scope[:named] + ":pull"
	}
	return ""
}

func originOf(at *url.URL) string {
	port := map[string]string{"http": ":80", "https": ":443"}[at.Scheme]
	return at.Scheme + "://" + strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(at.Host), port), ":")
}
