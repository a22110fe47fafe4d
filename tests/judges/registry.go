package main

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"
)

// A registry with one image, "<id>/app:v1", in each scenario that was put to /scenario/<id>. It writes its answers byte
// by byte, so that they may be anything. A scenario is an object of JSON; whatever it leaves out is as in a good
// registry.
type scenario struct {
	// Without a bearer token "tok", a request for a manifest gets 401 with these WWW-Authenticate headers.
	Challenge []string `json:"challenge"`
	// The token service's answer: by the number in "hop=" of the request's query, the last one for all beyond.
	Token []reply `json:"token"`
	// The same for HEAD and GET of the tag, and for GET of a digest.
	Head   []reply `json:"head"`
	Tag    []reply `json:"tag"`
	Digest []reply `json:"digest"`
	// "index", else a manifest.
	Kind string `json:"kind"`
	// Stands for it, with its own digest and size.
	Manifest string `json:"manifest"`
	// Stands behind the image's name; "{digest}" is that of the manifest; "": ":v1".
	Reference string `json:"reference"`
	// Are sent with the image. A manifest is given to them too, without a token.
	User     string `json:"user"`
	Password string `json:"password"`
	// The token service gives none without them.
	Needs bool `json:"needs"`
	// Its answer to POST; absent: 404, which sends containerd to GET.
	Post []reply `json:"post"`
	// This product trusts no other hosts with the credentials. Nothing changes here.
	Wary bool `json:"wary"`
	// A host that is asked before this registry: the same address as "localhost". What it leaves out is as here.
	Mirror *scenario `json:"mirror"`
	// It resolves no tags.
	PullOnly bool `json:"pullOnly"`
}

// at returns what is at the host that the request was sent to.
func (found scenario) at(host string) scenario {
	if found.Mirror == nil || !strings.HasPrefix(host, "localhost:") {
		return found
	}
	mirror := *found.Mirror
	mirror.User, mirror.Password, mirror.Reference = found.User, found.Password, found.Reference
	if mirror.Manifest == "" && mirror.Kind == "" {
		mirror.Manifest, mirror.Kind = found.Manifest, found.Kind
	}
	return mirror
}

func (found scenario) reference() string {
	if found.Reference == "" {
		return ":v1"
	}
	manifest := found.Manifest
	if manifest == "" {
		manifest = image(found.Kind, "app")
	}
	return strings.ReplaceAll(found.Reference, "{digest}", digest.FromString(manifest).String())
}

// basic returns the Authorization header of the image's credentials; "": there are none.
func (found scenario) basic() string {
	if found.User == "" || found.Password == "" {
		return ""
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(found.User+":"+found.Password))
}

// knows returns whether the request to the token service has them.
func (found scenario) knows(request *http.Request, body []byte) bool {
	form, _ := url.ParseQuery(string(body))
	if request.Method == http.MethodPost {
		return found.Password != "" && form.Get("username") == found.User && form.Get("password") == found.Password
	}
	return request.Header.Get("Authorization") == found.basic() && found.Password != ""
}

type reply struct {
	Status  int       `json:"status"` // 0: 200
	Line    string    `json:"line"`   // the status line; "": that of the status
	Headers *[]string `json:"headers"`
	Body    *string   `json:"body"`
	Encode  string    `json:"encode"` // gzip, deflate
	Chunked bool      `json:"chunked"`
	Length  *string   `json:"length"` // of Content-Length; "none": there is no such header; absent: the true one
	Cut     *int      `json:"cut"`    // the connection ends after so many bytes of the body
}

const (
	ociManifest = "application/vnd.oci.image.manifest.v1+json"
	ociIndex    = "application/vnd.oci.image.index.v1+json"
)

var kilobytes = strings.Repeat("x", 3000)

type fakeRegistry struct {
	mutex     sync.Mutex
	scenarios map[string]scenario
	address   string
}

func init() { servers["registry"] = serveRegistry }

// serveRegistry prints the address and serves until standard input ends.
func serveRegistry() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	registry := &fakeRegistry{scenarios: map[string]scenario{}, address: listener.Addr().String()}
	fmt.Println(registry.address)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for {
		connection, err := listener.Accept()
		if err != nil {
			return err
		}
		go registry.serve(connection)
	}
}

func (registry *fakeRegistry) serve(connection net.Conn) {
	defer connection.Close()
	reader := bufio.NewReader(connection)
	for {
		request, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return
		}
		answer, last := registry.answer(request, body)
		if _, err := connection.Write(answer); err != nil || last {
			return
		}
	}
}

func plain(status int) []byte {
	return []byte(fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Length: 0\r\n\r\n", status, http.StatusText(status)))
}

// answer returns all bytes of one, and whether the connection ends behind it.
func (registry *fakeRegistry) answer(request *http.Request, body []byte) ([]byte, bool) {
	parts := strings.Split(request.URL.Path, "/") // "", "v2", id, "app", "manifests", reference
	if len(parts) == 3 && parts[1] == "scenario" {
		var read scenario
		if err := json.Unmarshal(body, &read); err != nil {
			return plain(http.StatusBadRequest), false
		}
		registry.mutex.Lock()
		registry.scenarios[parts[2]] = read
		registry.mutex.Unlock()
		reference := read.reference()
		return []byte(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(reference), reference)), false
	}
	id := ""
	if len(parts) > 2 {
		id = parts[2]
	}
	registry.mutex.Lock()
	found, ok := registry.scenarios[id]
	registry.mutex.Unlock()
	found = found.at(request.Host)
	switch {
	case request.URL.Path == "/v2/":
		return plain(http.StatusOK), false
	case !ok:
		return plain(http.StatusNotFound), false
	case parts[1] == "token" && found.Needs && !found.knows(request, body):
		return plain(http.StatusUnauthorized), false
	case parts[1] == "token" && request.Method == http.MethodPost && found.Post == nil:
		return plain(http.StatusNotFound), false
	case parts[1] == "token":
		token := `{"token":"tok","access_token":"tok"}`
		replies := found.Token
		if request.Method == http.MethodPost {
			replies = found.Post
		}
		return registry.write(request, id, found, replies, reply{Body: &token, Headers: &[]string{"Content-Type: application/json"}})
	case len(parts) == 6 && parts[1] == "v2" && parts[4] == "manifests":
		return registry.manifest(request, id, found, parts[5])
	}
	return plain(http.StatusNotFound), false
}

func (registry *fakeRegistry) manifest(request *http.Request, id string, found scenario, reference string) ([]byte, bool) {
	authorization := request.Header.Get("Authorization")
	accepted := authorization == "Bearer tok" || (authorization != "" && authorization == found.basic())
	if found.Challenge != nil && !accepted {
		refusal := reply{Status: http.StatusUnauthorized, Headers: &[]string{}}
		for _, challenge := range found.Challenge {
			*refusal.Headers = append(*refusal.Headers, "WWW-Authenticate: "+challenge)
		}
		return registry.write(request, id, found, nil, refusal)
	}
	answers := found.Tag
	if strings.Contains(reference, ":") {
		answers = found.Digest
	}
	if request.Method == http.MethodHead {
		answers = found.Head
	}
	return registry.write(request, id, found, answers, reply{})
}

func image(kind string, tag string) string {
	if kind == "index" {
		return `{"schemaVersion":2,"mediaType":"` + ociIndex + `","manifests":[{"mediaType":"` + ociManifest + `","digest":"` +
			digest.FromString(tag).String() + `","size":7,"platform":{"os":"linux","architecture":"amd64"}}]}`
	}
	return `{"schemaVersion":2,"mediaType":"` + ociManifest + `","config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"` +
		digest.FromString(tag).String() + `","size":3},"layers":[]}`
}

func encoded(text []byte, encode string) []byte {
	var out bytes.Buffer
	var writer io.WriteCloser
	switch encode {
	case "gzip":
		writer = gzip.NewWriter(&out)
	case "deflate":
		writer, _ = flate.NewWriter(&out, flate.DefaultCompression)
	default:
		return text
	}
	_, _ = writer.Write(text)
	_ = writer.Close()
	return out.Bytes()
}

func (registry *fakeRegistry) write(request *http.Request, id string, found scenario, answers []reply, usual reply) ([]byte, bool) {
	hop, _ := strconv.Atoi(request.URL.Query().Get("hop"))
	chosen := usual
	if len(answers) > 0 {
		chosen = answers[min(max(hop, 0), len(answers)-1)]
	}
	mediaType := ociManifest
	if found.Kind == "index" {
		mediaType = ociIndex
	}
	manifest := found.Manifest
	if manifest == "" {
		manifest = image(found.Kind, "app")
	}
	port := registry.address[strings.LastIndex(registry.address, ":"):]
	other := registry.address
	if request.Host == registry.address {
		other = "localhost" + port
	}
	words := strings.NewReplacer(
		"{manifest}", manifest, "{other}", image(found.Kind, "other"),
		"{index}", image("index", "app"), "{type}", mediaType,
		"{digest}", digest.FromString(manifest).String(), "{DIGEST}", strings.ToUpper(digest.FromString(manifest).String()),
		"{hex}", digest.FromString(manifest).Encoded(), "{sha512}", digest.SHA512.FromString(manifest).String(),
		"{size}", strconv.Itoa(len(manifest)), "{kilobytes}", kilobytes,
		"{origin}", "http://"+registry.address, "{address}", registry.address, "{elsewhere}", "http://localhost"+port,
		"{realm}", "http://"+request.Host+"/token/"+id, "{other realm}", "http://"+other+"/token/"+id, "{path}", request.URL.Path, "{hop}", request.URL.Path+"?hop="+strconv.Itoa(hop+1),
		"{next}", "hop="+strconv.Itoa(hop+1))
	body := []byte(manifest)
	if chosen.Body != nil {
		body = []byte(words.Replace(*chosen.Body))
	}
	body = encoded(body, chosen.Encode)
	headers := []string{"Content-Type: {type}", "Docker-Content-Digest: {digest}"}
	if chosen.Headers != nil {
		headers = *chosen.Headers
	}

	var out bytes.Buffer
	line := chosen.Line
	if line == "" {
		status := chosen.Status
		if status == 0 {
			status = http.StatusOK
		}
		line = fmt.Sprintf("HTTP/1.1 %d %s", status, http.StatusText(status))
	}
	out.WriteString(line + "\r\n")
	length := strconv.Itoa(len(body))
	if chosen.Chunked {
		length = "none"
		out.WriteString("Transfer-Encoding: chunked\r\n")
	}
	if chosen.Length != nil {
		length = words.Replace(*chosen.Length)
	}
	if length != "none" {
		out.WriteString("Content-Length: " + length + "\r\n")
	}
	for _, header := range headers {
		out.WriteString(words.Replace(header) + "\r\n")
	}
	// Nothing may stay behind on a connection whose length is wrong.
	last := chosen.Line != "" || chosen.Cut != nil || (!chosen.Chunked && length != strconv.Itoa(len(body))) ||
		chosen.Status == http.StatusNoContent || chosen.Status == http.StatusNotModified
	for _, header := range headers {
		name, _, ok := strings.Cut(strings.ToLower(header), ":")
		last = last || !ok || name == "content-length" || name == "transfer-encoding"
	}
	if last {
		out.WriteString("Connection: close\r\n")
	}
	out.WriteString("\r\n")
	if request.Method == http.MethodHead {
		return out.Bytes(), last
	}
	if chosen.Cut != nil {
		body = body[:min(len(body), *chosen.Cut)]
	}
	if chosen.Chunked {
		if len(body) > 0 {
			fmt.Fprintf(&out, "%x\r\n%s\r\n", len(body), body)
		}
		if chosen.Cut == nil {
			out.WriteString("0\r\n\r\n")
		}
		return out.Bytes(), last
	}
	out.Write(body)
	return out.Bytes(), last
}
