package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	config1 "github.com/containerd/containerd/remotes/docker/config"
	config2 "github.com/containerd/containerd/v2/core/remotes/docker/config"
	"github.com/containerd/log"
)

type host struct {
	Lost       bool                `json:"lost"`
	Server     string              `json:"server"`
	Pull       bool                `json:"pull"`
	Resolve    bool                `json:"resolve"`
	SkipVerify bool                `json:"skipVerify"`
	HTTPSFirst bool                `json:"httpsFirst"`
	Headers    map[string][]string `json:"headers,omitempty"`
}

// hosts 1|2 REGISTRY FOLDER: the servers that containerd asks. Mutations write hosts.toml of this folder.
func init() {
	log.L.Logger.SetOutput(io.Discard)
	families["hosts"] = func(text []byte, arguments []string) (any, error) {
		release, registry, folder := arguments[0], arguments[1], arguments[2]
		if err := prepare(folder); err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(folder, "hosts.toml"), text, 0o600); err != nil {
			return nil, err
		}
		here := func(string) (string, error) { return folder, nil }
		found := []host{}
		if release == "1" {
			hosts, err := config1.ConfigureHosts(context.Background(), config1.HostOptions{HostDir: here})(registry)
			if err != nil {
				return nil, errors.New("no pull")
			}
			for _, one := range hosts {
				found = append(found, describe(one.Scheme, one.Host, one.Path, int(one.Capabilities), one.Header, one.Client))
			}
			return found, nil
		}
		hosts, err := config2.ConfigureHosts(context.Background(), config2.HostOptions{HostDir: here})(registry)
		if err != nil {
			return nil, errors.New("no pull")
		}
		for _, one := range hosts {
			found = append(found, describe(one.Scheme, one.Host, one.Path, int(one.Capabilities), one.Header, one.Client))
		}
		return found, nil
	}
}

// The files that the corpus names: an authority, and a certificate with its key.
func prepare(folder string) error {
	if _, err := os.Stat(filepath.Join(folder, "ca.pem")); err == nil {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	private := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})
	for name, content := range map[string][]byte{
		"cert.pem": certificate, "key.pem": private, "both.pem": append(append([]byte{}, certificate...), private...),
		"ca.pem": certificate,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// The transport within containerd's own, which asks by https first.
func withoutFallback(transport http.RoundTripper) (*http.Transport, bool) {
	if plain, ok := transport.(*http.Transport); ok {
		return plain, false
	}
	super := reflect.ValueOf(transport).Elem().FieldByName("super")
	inner := reflect.NewAt(super.Type(), super.Addr().UnsafePointer()).Elem().Interface()
	return inner.(*http.Transport), true
}

func describe(scheme, name, root string, capabilities int, headers http.Header, client *http.Client) host {
	transport, fallback := withoutFallback(client.Transport)
	if fallback {
		scheme = "http"
	}
	const image = "/r/manifests/t"
	asked := path.Join("/", root, image)
	parsed, err := url.Parse(scheme + "://" + name + asked)
	if err != nil || parsed.Path != asked || parsed.RawQuery != "" || !canBeAsked(parsed, headers, transport) {
		return host{Lost: true}
	}
	address := strings.ToLower(parsed.Host)
	address = strings.TrimSuffix(address, ":")
	if port := map[string]string{"http": ":80", "https": ":443"}[scheme]; strings.HasSuffix(address, port) {
		address = strings.TrimSuffix(address, port)
	}
	found := host{
		Server:     scheme + "://" + address + strings.TrimSuffix(parsed.EscapedPath(), image),
		Pull:       capabilities&1 != 0,
		Resolve:    capabilities&2 != 0,
		HTTPSFirst: fallback,
		Headers:    map[string][]string{},
	}
	for name, values := range headers {
		if len(values) != 0 {
			found.Headers[name] = values
		}
	}
	if transport.TLSClientConfig != nil {
		found.SkipVerify = transport.TLSClientConfig.InsecureSkipVerify
	}
	return found
}

var dnsName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,253}$`)

// Would a request leave this machine?
func canBeAsked(server *url.URL, headers http.Header, transport *http.Transport) bool {
	if server.Scheme != "http" && server.Scheme != "https" {
		return false
	}
	if !dnsName.MatchString(server.Hostname()) && net.ParseIP(server.Hostname()) == nil {
		return false
	}
	if port, err := strconv.Atoi(server.Port()); server.Port() != "" && (err != nil || port < 1 || port > 65535) {
		return false
	}
	for name, values := range headers {
		if !httpguts.ValidHeaderFieldName(name) {
			return false
		}
		for _, value := range values {
			if !httpguts.ValidHeaderFieldValue(value) {
				return false
			}
		}
	}
	// A negative time limit has passed before anything is asked; nobody listens there.
	_, err := transport.DialContext(context.Background(), "tcp", "127.0.0.1:1")
	var failed net.Error
	return !errors.As(err, &failed) || !failed.Timeout()
}
