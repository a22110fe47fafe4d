package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/containers/image/docker/reference"
	"github.com/containers/image/pkg/sysregistriesv2"
	"github.com/containers/image/types"
)

// The names that are looked up in each registries.conf.
var (
	aliasesOf = []string{"busybox", "app", "team/app", "fedora"}
	pullsOf   = []string{
		"quay.io/team/app:v1", "docker.io/library/busybox:latest", "sub.example.test/x/y:1", "registry.example.test:5000/a/b@sha256:" + strings.Repeat("a", 64),
	}
)

func init() {
	// registries-conf FOLDER: CRI-O's registries.conf, and behind each line "=== drop-in" a file of registries.conf.d.
	families["registries-conf"] = func(text []byte, arguments []string) (any, error) {
		system, err := registriesOf(text, arguments[0])
		if err != nil {
			return nil, err
		}
		sysregistriesv2.InvalidateCache()
		conf, err := sysregistriesv2.TryUpdatingCache(system)
		if err != nil {
			return nil, err
		}
		registries := []any{}
		for _, one := range conf.Registries {
			trimMirrors(one.Mirrors)
			mirrors := []any{}
			for _, mirror := range one.Mirrors {
				mirrors = append(mirrors, []any{mirror.Location, mirror.Insecure, useOf(mirror)})
			}
			registries = append(registries, map[string]any{"prefix": one.Prefix, "location": one.Location, "insecure": one.Insecure,
				"blocked": one.Blocked, "byDigest": one.MirrorByDigestOnly, "mirrors": mirrors})
		}
		aliases := map[string]string{}
		for _, name := range aliasesOf {
			named, origin, err := sysregistriesv2.ResolveShortNameAlias(system, name)
			if err != nil {
				return nil, err
			}
			if named != nil {
				aliases[name] = named.Name()
			} else if origin != "" {
				aliases[name] = ""
			}
		}
		pulls := []any{}
		for _, name := range pullsOf {
			pulls = append(pulls, sourcesOf(system, name))
		}
		return map[string]any{"registries": registries, "search": append([]string{}, conf.UnqualifiedSearchRegistries...),
			"helpers": conf.CredentialHelpers, "aliases": aliases, "pulls": pulls}, nil
	}
}

func registriesOf(text []byte, folder string) (*types.SystemContext, error) {
	parts := strings.Split("\n"+string(text), "\n=== drop-in\n")
	dropIns := filepath.Join(folder, "registries.conf.d")
	if err := os.RemoveAll(dropIns); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dropIns, 0o700); err != nil {
		return nil, err
	}
	if err := os.Setenv("HOME", folder); err != nil {
		return nil, err
	}
	system := &types.SystemContext{SystemRegistriesConfPath: filepath.Join(folder, "registries.conf"), SystemRegistriesConfDirPath: dropIns,
		UserShortNameAliasConfPath: filepath.Join(folder, "aliases.conf")}
	for i, part := range parts {
		path := filepath.Join(dropIns, fmt.Sprintf("%03d.conf", i))
		if i == 0 {
			path, part = system.SystemRegistriesConfPath, strings.TrimPrefix(part, "\n")
		}
		if err := os.WriteFile(path, []byte(part), 0o600); err != nil {
			return nil, err
		}
	}
	return system, nil
}

// This release trims copies. Later ones trim the mirrors themselves.
func trimMirrors(mirrors []sysregistriesv2.Endpoint) {
	for i := range mirrors {
		mirrors[i].Location = strings.TrimRight(mirrors[i].Location, "/")
	}
}

func useOf(mirror sysregistriesv2.Endpoint) string {
	if mirror.PullFromMirror == "" {
		return sysregistriesv2.MirrorAll
	}
	return mirror.PullFromMirror
}

// The places that docker_image_src.go asks, and by which entry each is blocked; nil if it gives up.
func sourcesOf(system *types.SystemContext, name string) any {
	named, err := reference.ParseNamed(name)
	if err != nil {
		panic(err)
	}
	registry, err := sysregistriesv2.FindRegistry(system, named.Name())
	if err != nil {
		panic(err)
	}
	if registry == nil {
		return []any{[]any{named.String(), false, ""}}
	}
	trimMirrors(registry.Mirrors)
	found, err := registry.PullSourcesFromReference(named)
	if err != nil {
		return nil
	}
	sources := []any{}
	for _, source := range found {
		blocked := ""
		judge, err := sysregistriesv2.FindRegistry(system, source.Reference.Name())
		if err != nil {
			panic(err)
		}
		if judge != nil && judge.Blocked {
			blocked = judge.Prefix
		}
		sources = append(sources, []any{source.Reference.String(), source.Endpoint.Insecure, blocked})
	}
	return sources
}
