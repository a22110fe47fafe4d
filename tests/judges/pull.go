package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/remotes/docker"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

var pullsDone atomic.Int64

func init() {
	// pull ADDRESS FOLDER: the manifest that containerd's resolver finds and fetches in the registry that the text
	// describes (registry.go), over plain http, with the image's credentials for each host, as CRI has them.
	families["pull"] = func(text []byte, arguments []string) (any, error) {
		id := fmt.Sprintf("a%d", pullsDone.Add(1))
		reference, err := describeRegistry(arguments[0], id, text)
		if err != nil {
			return nil, err
		}
		var found scenario
		if err := json.Unmarshal(text, &found); err != nil {
			return nil, err
		}
		return pulled(arguments[0]+"/"+id+"/app"+reference, found)
	}
}

// describeRegistry returns what stands behind the image's name.
func describeRegistry(address, id string, text []byte) (string, error) {
	request, err := http.NewRequest(http.MethodPut, "http://"+address+"/scenario/"+id, bytes.NewReader(text))
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return "", errors.New("this is no scenario")
	}
	reference, err := io.ReadAll(response.Body)
	return string(reference), err
}

// hostsOf returns those of core/remotes/docker/config for a hosts.toml with the mirror; other families judge that file.
func hostsOf(found scenario) docker.RegistryHosts {
	authorizer := docker.NewDockerAuthorizer(docker.WithAuthClient(http.DefaultClient),
		docker.WithAuthCreds(func(string) (string, string, error) {
			if found.User == "" { // as ParseAuth of internal/cri/server/images has it
				return "", "", nil
			}
			return found.User, found.Password, nil
		}))
	host := func(address string, capabilities docker.HostCapabilities) docker.RegistryHost {
		return docker.RegistryHost{Client: http.DefaultClient, Authorizer: authorizer, Host: address, Scheme: "http", Path: "/v2", Capabilities: capabilities}
	}
	return func(address string) ([]docker.RegistryHost, error) {
		own := host(address, docker.HostCapabilityPull|docker.HostCapabilityResolve)
		if found.Mirror == nil {
			return []docker.RegistryHost{own}, nil
		}
		capabilities := docker.HostCapabilityPull
		if !found.PullOnly {
			capabilities |= docker.HostCapabilityResolve
		}
		return []docker.RegistryHost{host("localhost"+address[strings.LastIndex(address, ":"):], capabilities), own}, nil
	}
}

func pulled(reference string, found scenario) (any, error) {
	ctx := context.Background()
	resolver := docker.NewResolver(docker.ResolverOptions{Hosts: hostsOf(found)})
	name, desc, err := resolver.Resolve(ctx, reference)
	if err != nil {
		return nil, err
	}
	fetcher, err := resolver.Fetcher(ctx, name)
	if err != nil {
		return nil, err
	}
	// As core/remotes/handlers.go has it, and the store of content, which knows the canonical digest alone.
	if desc.Size == 0 {
		return nil, errors.New("content size of zero")
	}
	reader, err := fetcher.Fetch(ctx, desc)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	text, err := io.ReadAll(reader)
	if err != nil {
		return nil, err
	}
	if int64(len(text)) != desc.Size || digest.Canonical.FromBytes(text) != desc.Digest {
		return nil, errors.New("unexpected commit size or digest")
	}
	if !images.IsManifestType(desc.MediaType) && !images.IsIndexType(desc.MediaType) {
		return nil, fmt.Errorf("%q is no manifest", desc.MediaType)
	}
	if _, err := images.Children(ctx, inMemory(text), desc); err != nil {
		return nil, err
	}
	return map[string]string{"digest": desc.Digest.String(), "mediaType": desc.MediaType}, nil
}

type inMemory []byte

func (text inMemory) ReaderAt(context.Context, ocispec.Descriptor) (content.ReaderAt, error) {
	return inMemoryReader{bytes.NewReader(text)}, nil
}

type inMemoryReader struct{ *bytes.Reader }

func (inMemoryReader) Close() error { return nil }
