package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/http/httpproxy"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/pkg/apis/clientauthentication"
	authinstall "k8s.io/client-go/pkg/apis/clientauthentication/install"
	_ "k8s.io/client-go/plugin/pkg/client/auth/oidc" // the one that kubectl has
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/transport"
	"k8s.io/klog"
)

var authCodecs serializer.CodecFactory

func init() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	scheme := runtime.NewScheme()
	authinstall.Install(scheme)
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	authCodecs = serializer.NewCodecFactory(scheme)
	// kubeconfig FOLDER: what kubectl would send to list the nodes. Lines "#env NAME=VALUE" at the text's begin are the
	// environment.
	families["kubeconfig"] = func(text []byte, arguments []string) (any, error) {
		environment := environmentOf(text)
		file := filepath.Join(arguments[0], "config")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			panic(err)
		}
		rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: file}
		overrides := &clientcmd.ConfigOverrides{ClusterDefaults: clientcmd.ClusterDefaults}
		loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
		config, err := loader.ClientConfig()
		if err != nil {
			return nil, err
		}
		namespace, _, err := loader.Namespace()
		if err != nil {
			return nil, err
		}
		return requestOf(config, namespace, environment)
	}
}

func environmentOf(text []byte) *httpproxy.Config {
	found := map[string]string{}
	for rest := string(text); strings.HasPrefix(rest, "#env "); {
		line, more, _ := strings.Cut(rest, "\n")
		name, value, _ := strings.Cut(strings.TrimPrefix(line, "#env "), "=")
		found[name] = strings.TrimSpace(value)
		rest = more
	}
	first := func(names ...string) string {
		for _, name := range names {
			if found[name] != "" {
				return found[name]
			}
		}
		return ""
	}
	return &httpproxy.Config{HTTPProxy: first("HTTP_PROXY", "http_proxy"), HTTPSProxy: first("HTTPS_PROXY", "https_proxy"),
		NoProxy: first("NO_PROXY", "no_proxy")}
}

// recorder keeps the request that would go out.
type recorder struct{ headers http.Header }

func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	r.headers = request.Header
	return nil, errors.New("not sent")
}

func requestOf(config *rest.Config, namespace string, environment *httpproxy.Config) (any, error) {
	config.APIPath = "/api"
	config.GroupVersion = &schema.GroupVersion{Version: "v1"}
	config.NegotiatedSerializer = authCodecs.WithoutConversion()
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	if base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("unsupported protocol scheme %q", base.Scheme)
	}
	client, err := rest.RESTClientForConfigAndClient(config, http.DefaultClient)
	if err != nil {
		return nil, err
	}
	target := client.Get().Resource("nodes").URL()
	conf, err := config.TransportConfig()
	if err != nil {
		return nil, err
	}
	request := map[string]any{"namespace": namespace, "url": urlOf(target)}
	if _, port, found := strings.Cut(target.Host, "]:"); !found && target.Port() != "" {
		if _, err := strconv.ParseUint(target.Port(), 10, 16); err != nil {
			return nil, errors.New("dial: no such port")
		}
	} else if found {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return nil, errors.New("dial: no such port")
		}
	}
	asks := environment.ProxyFunc()
	if conf.Proxy != nil {
		asks = func(target *url.URL) (*url.URL, error) { return conf.Proxy(&http.Request{URL: target}) }
	}
	proxy, err := asks(target)
	if err != nil {
		return nil, err
	}
	request["proxy"] = proxyOf(proxy)
	if target.Scheme == "https" {
		if conf.HasCA() && conf.TLS.Insecure {
			return nil, errors.New("authorities and insecure")
		}
		if err := rest.LoadTLSFiles(config); err != nil {
			return nil, err
		}
		request["tls"] = map[string]any{"name": conf.TLS.ServerName, "insecure": conf.TLS.Insecure,
			"ca": string(config.CAData), "certificate": string(config.CertData), "key": string(config.KeyData)}
	}
	if conf.TLS.GetCertHolder != nil {
		conf.WrapTransport = nil // which would run the plugin
		if request["exec"], err = execOf(config); err != nil {
			return nil, err
		}
	}
	request["headers"], err = headersOf(conf, target)
	return request, err
}

func headersOf(conf *transport.Config, target *url.URL) (any, error) {
	conf.UserAgent = ""
	sent := &recorder{}
	wrapped, err := transport.HTTPWrappersForConfig(conf, sent)
	if err != nil {
		return nil, err
	}
	_, err = wrapped.RoundTrip(&http.Request{Method: http.MethodGet, URL: target, Header: http.Header{}})
	if sent.headers == nil {
		return nil, err
	}
	named := map[string][]string{}
	for name, values := range sent.headers {
		for _, value := range values {
			if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
				return nil, errors.New("no valid header")
			}
			lower := strings.ToLower(name)
			named[lower] = append(named[lower], textproto.TrimString(value))
		}
		sort.Strings(named[strings.ToLower(name)])
	}
	return named, nil
}

func urlOf(target *url.URL) string {
	port := target.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[target.Scheme]
	}
	host, zone, hasZone := strings.Cut(target.Hostname(), "%")
	host = strings.ToLower(host)
	if hasZone {
		host += "%25" + zone
	}
	return fmt.Sprintf("%s://%s:%s%s", target.Scheme, host, port, target.EscapedPath())
}

// proxyOf is spelt as libcurl has it, whose socks5h is Go's socks5.
func proxyOf(proxy *url.URL) string {
	if proxy == nil {
		return ""
	}
	scheme, port := proxy.Scheme, proxy.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[scheme]
	}
	if scheme == "socks5" {
		scheme = "socks5h"
	}
	user := ""
	if proxy.User != nil {
		password, _ := proxy.User.Password()
		user = proxy.User.Username() + ":" + password + "@"
	}
	return fmt.Sprintf("%s://%s%s", scheme, user, net.JoinHostPort(proxy.Hostname(), port))
}

func execOf(config *rest.Config) (any, error) {
	plugin := config.ExecProvider
	if plugin.InteractiveMode == "Always" {
		return nil, errors.New("exec plugin cannot support interactive mode: standard input is not a terminal")
	}
	var cluster *clientauthentication.Cluster
	if plugin.ProvideClusterInfo {
		var err error
		if cluster, err = rest.ConfigToExecCluster(config); err != nil {
			return nil, err
		}
	}
	group, err := schema.ParseGroupVersion(plugin.APIVersion)
	if err != nil {
		return nil, err
	}
	credential := &clientauthentication.ExecCredential{Spec: clientauthentication.ExecCredentialSpec{Cluster: cluster}}
	info, err := runtime.Encode(authCodecs.LegacyCodec(group), credential)
	if err != nil {
		return nil, err
	}
	environment := map[string]string{}
	for _, one := range plugin.Env {
		// As os/exec has it: the last of a name counts.
		name, value, _ := strings.Cut(one.Name+"="+one.Value, "=")
		if strings.ContainsRune(name+value, 0) {
			return nil, errors.New("a variable with NUL")
		}
		environment[name] = value
	}
	for _, argument := range append([]string{plugin.Command}, plugin.Args...) {
		if strings.ContainsRune(argument, 0) || !utf8.ValidString(argument) {
			return nil, errors.New("an argument with NUL")
		}
	}
	return map[string]any{"command": plugin.Command, "arguments": append([]string{}, plugin.Args...), "environment": environment,
		"info": json.RawMessage(info)}, nil
}
