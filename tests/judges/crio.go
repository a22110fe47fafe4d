package main

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/containers/image/pkg/docker/config"
	"github.com/containers/image/types"
	"github.com/sirupsen/logrus"
)

// The repositories whose credentials are looked up in each auth.json.
var loginsFor = []string{
	"quay.io/team/app", "quay.io/other", "docker.io/library/busybox", "registry.example.test:5000/a/b/c", "localhost/x",
}

var helperProgram = regexp.MustCompile(`"docker-credential-([a-z-]*)": executable file not found`)

func init() {
	logrus.SetOutput(io.Discard)
	// crio-auth FOLDER, crio-dockercfg FOLDER: what CRI-O's library takes from an auth.json, or from docker's old file,
	// for each of these repositories.
	families["crio-auth"] = func(text []byte, arguments []string) (any, error) {
		return loginsOf(text, arguments[0], types.SystemContext{AuthFilePath: filepath.Join(arguments[0], "auth.json")}, text)
	}
	families["crio-dockercfg"] = func(text []byte, arguments []string) (any, error) {
		system := types.SystemContext{LegacyFormatAuthFilePath: filepath.Join(arguments[0], "auth.json")}
		return loginsOf(text, arguments[0], system, []byte(`{"auths":`+string(text)+"}"))
	}
}

// loginsOf reads `text` as auth.json of the folder. `asAuths` is the same as an auth.json has it.
func loginsOf(text []byte, folder string, system types.SystemContext, asAuths []byte) (any, error) {
	if err := os.Setenv("PATH", folder); err != nil {
		return nil, err
	}
	file := filepath.Join(folder, "auth.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, err
	}
	conf := filepath.Join(folder, "registries.conf")
	if err := os.WriteFile(conf, nil, 0o600); err != nil {
		return nil, err
	}
	system.SystemRegistriesConfPath = conf
	system.SystemRegistriesConfDirPath = filepath.Join(folder, "absent")
	logins := []any{}
	for _, repository := range loginsFor {
		attempts := 1
		if manyFit(asAuths, strings.Split(repository, "/")[0]) {
			attempts = 250 // a small map begins with its second entry one time in eight
		}
		login, err := loginOf(&system, repository, attempts)
		if err != nil {
			return nil, err
		}
		logins = append(logins, login)
	}
	return logins, nil
}

// Where several entries fit equally, the library takes one by Go's order of maps.
func loginOf(system *types.SystemContext, repository string, attempts int) (any, error) {
	var first any
	for attempt := range attempts {
		one, err := oneLoginOf(system, repository)
		if err != nil {
			return nil, err
		}
		if attempt > 0 && !sameJSON(first, one) {
			return "ambiguous", nil
		}
		first = one
	}
	return first, nil
}

func manyFit(text []byte, registry string) bool {
	var file struct {
		Auths map[string]any `json:"auths"`
	}
	_ = stdjson.Unmarshal(text, &file) // a mistake is the library's to say
	hub := strings.NewReplacer("index.docker.io", "docker.io", "registry-1.docker.io", "docker.io")
	fit := 0
	for key := range file.Auths {
		for _, scheme := range []string{"http://", "https://"} {
			key = strings.TrimPrefix(key, scheme)
		}
		if strings.HasPrefix(hub.Replace(key), hub.Replace(registry)) {
			fit++
		}
	}
	return fit > 1
}

func oneLoginOf(system *types.SystemContext, repository string) (any, error) {
	login, err := config.GetCredentials(system, repository)
	if err != nil {
		said := err.Error()
		if strings.Contains(said, "unmarshaling JSON") {
			return nil, errors.New(said)
		}
		if match := helperProgram.FindStringSubmatch(said); match != nil {
			return "helper " + match[1], nil
		}
		if strings.Contains(said, "docker-credential-") {
			return "helper", nil
		}
		return "broken", nil
	}
	if login == (types.DockerAuthConfig{}) {
		return "none", nil
	}
	return []any{login.Username, login.Password, login.IdentityToken != ""}, nil
}

func sameJSON(a, b any) bool {
	one, err := stdjson.Marshal(a)
	other, otherErr := stdjson.Marshal(b)
	return err == nil && otherErr == nil && fmt.Sprintf("%s", one) == fmt.Sprintf("%s", other)
}
