package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"time"

	config2 "github.com/containerd/containerd/v2/cmd/containerd/server/config"
	"github.com/containerd/containerd/v2/version"
)

// What decides how registries are reached (image::RuntimeRegistries).
type registries struct {
	ConfigPath     string   `json:"configPath"`
	InTables       []string `json:"inTables"`
	HasMirrors     bool     `json:"hasMirrors"`
	LocalPull      bool     `json:"localPull"`
	DiscardsLayers bool     `json:"discardsLayers"`
}

// ImageConfig and its parts of containerd's internal/cri/config, whose package cannot be imported.
type imageConfig struct {
	Snapshotter                string                   `toml:"snapshotter"`
	DisableSnapshotAnnotations bool                     `toml:"disable_snapshot_annotations"`
	DiscardUnpackedLayers      bool                     `toml:"discard_unpacked_layers"`
	PinnedImages               map[string]string        `toml:"pinned_images"`
	RuntimePlatforms           map[string]imagePlatform `toml:"runtime_platforms"`
	Registry                   registryConfig           `toml:"registry"`
	ImageDecryption            `toml:"image_decryption"`
	MaxConcurrentDownloads     int    `toml:"max_concurrent_downloads"`
	ConcurrentLayerFetchBuffer int    `toml:"concurrent_layer_fetch_buffer"`
	ImagePullProgressTimeout   string `toml:"image_pull_progress_timeout"`
	ImagePullWithSyncFs        bool   `toml:"image_pull_with_sync_fs"`
	StatsCollectPeriod         int    `toml:"stats_collect_period"`
	UseLocalImagePull          bool   `toml:"use_local_image_pull"`
}

type imagePlatform struct {
	Platform    string `toml:"platform"`
	Snapshotter string `toml:"snapshotter"`
}

type ImageDecryption struct {
	KeyModel string `toml:"key_model"`
}

type registryConfig struct {
	ConfigPath string `toml:"config_path"`
	Mirrors    map[string]struct {
		Endpoints []string `toml:"endpoint"`
	} `toml:"mirrors"`
	Configs map[string]struct {
		Auth *registryAuth `toml:"auth"`
		TLS  any           `toml:"tls"` // of releases before 2.1
	} `toml:"configs"`
	Auths   map[string]registryAuth `toml:"auths"`
	Headers map[string][]string     `toml:"headers"`
}

type registryAuth struct {
	Username      string `toml:"username"`
	Password      string `toml:"password"`
	Auth          string `toml:"auth"`
	IdentityToken string `toml:"identitytoken"`
}

var nextFile = regexp.MustCompile(`(?m)^# file (conf\.d/[a-z0-9-]+\.toml)\n`)

// containerd FOLDER: how containerd 2.1 reaches registries by the config.toml of this folder and by its drop-ins, which
// follow "# file conf.d/NAME.toml".
func init() {
	families["containerd"] = func(text []byte, arguments []string) (any, error) {
		folder := arguments[0]
		if err := writeFiles(folder, string(text)); err != nil {
			return nil, err
		}
		ctx := context.Background()
		config := &config2.Config{Version: version.ConfigVersion, StreamProcessors: map[string]config2.StreamProcessor{}}
		if err := config2.LoadConfig(ctx, filepath.Join(folder, "config.toml"), config); err != nil {
			return nil, err
		}
		// server.New
		for _, text := range config.Timeouts {
			if _, err := time.ParseDuration(text); err != nil {
				return nil, err
			}
		}
		images := imageConfig{DisableSnapshotAnnotations: true, MaxConcurrentDownloads: 3}
		// server.New, and the plugin's migration.
		before := config.Version
		if err := config.MigrateConfig(ctx); err != nil {
			return nil, err
		}
		if before < version.ConfigVersion {
			migrateImages(config.Plugins)
		}
		if _, err := config.Decode(ctx, "io.containerd.cri.v1.images", &images); err != nil {
			return nil, err
		}
		return reduce(&images)
	}
}

func writeFiles(folder, text string) error {
	if err := os.RemoveAll(filepath.Join(folder, "conf.d")); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(folder, "conf.d"), 0o700); err != nil {
		return err
	}
	name := "config.toml"
	for {
		found := nextFile.FindStringSubmatchIndex(text)
		here := text
		if found != nil {
			here = text[:found[0]]
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(here), 0o600); err != nil || found == nil {
			return err
		}
		name, text = text[found[2]:found[3]], text[found[1]:]
	}
}

// configMigration of containerd's plugins/cri/images.
func migrateImages(plugins map[string]any) {
	original, ok := plugins["io.containerd.grpc.v1.cri"]
	if !ok {
		return
	}
	src := original.(map[string]any)
	dst := map[string]any{}
	if updated, ok := plugins["io.containerd.cri.v1.images"]; ok {
		dst = updated.(map[string]any)
	}
	pinned := map[string]any{}
	if value, ok := dst["pinned_images"]; ok {
		pinned = value.(map[string]any)
	}
	if value, ok := src["sandbox_image"]; ok {
		pinned["sandbox"] = value
	}
	if len(pinned) > 0 {
		dst["pinned_images"] = pinned
	}
	for _, key := range []string{"registry", "image_decryption", "max_concurrent_downloads", "image_pull_progress_timeout",
		"image_pull_with_sync_fs", "stats_collect_period"} {
		if value, ok := src[key]; ok {
			dst[key] = value
		}
	}
	plugins["io.containerd.cri.v1.images"] = dst
	within, ok := src["containerd"]
	if !ok {
		return
	}
	containerd := within.(map[string]any)
	runtimes, ok := containerd["runtimes"]
	if !ok {
		return
	}
	platforms := map[string]any{}
	if value, ok := dst["runtime_platform"]; ok {
		platforms = value.(map[string]any)
	}
	for name, value := range runtimes.(map[string]any) {
		if snapshotter, ok := value.(map[string]any)["snapshot"]; ok && snapshotter != "" {
			platforms[name] = map[string]any{"platform": "linux/amd64", "snapshotter": snapshotter}
		}
	}
	if len(platforms) > 0 {
		dst["runtime_platform"] = platforms
	}
	for _, key := range []string{"snapshotter", "disable_snapshot_annotations", "discard_unpacked_layers"} {
		if value, ok := containerd[key]; ok {
			dst[key] = value
		}
	}
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9.:\[\]-]{1,255}$`)

// ValidateImageConfig and CheckLocalImagePullConfigs of containerd's internal/cri/config; then what we keep of it, as
// image::TableHosts does.
func reduce(images *imageConfig) (any, error) {
	registry := &images.Registry
	if len(registry.Mirrors) > 0 && registry.ConfigPath != "" {
		return nil, errors.New("`mirrors` cannot be set when `config_path` is provided")
	}
	for endpoint := range registry.Auths {
		if _, err := url.Parse(endpoint); err != nil {
			return nil, fmt.Errorf("auths: %w", err)
		}
	}
	if images.ImagePullProgressTimeout != "" {
		if _, err := time.ParseDuration(images.ImagePullProgressTimeout); err != nil {
			return nil, err
		}
	}
	told := registries{
		ConfigPath:     registry.ConfigPath,
		HasMirrors:     len(registry.Mirrors) > 0,
		DiscardsLayers: images.DiscardUnpackedLayers,
		LocalPull: images.UseLocalImagePull || !images.DisableSnapshotAnnotations || images.DiscardUnpackedLayers ||
			len(registry.Mirrors) > 0 || len(registry.Configs) > 0 || len(registry.Auths) > 0 ||
			images.MaxConcurrentDownloads != 3 || images.ImagePullWithSyncFs,
	}
	hosts := map[string]bool{}
	add := func(name string) {
		if _, behind, found := strings.Cut(name, "://"); found {
			name = behind
		}
		name, _, _ = strings.Cut(name, "/")
		if !hostName.MatchString(name) {
			name = "*"
		}
		hosts[name] = true
	}
	for name := range registry.Mirrors {
		add(name)
	}
	for name, config := range registry.Configs {
		tls, _ := config.TLS.(map[string]any)
		if len(tls) > 0 || (config.Auth != nil && *config.Auth != registryAuth{}) {
			add(name)
		}
	}
	for name := range registry.Auths {
		add(name)
	}
	for name := range registry.Headers {
		if !strings.EqualFold(name, "User-Agent") && !strings.EqualFold(name, "X-Meta-Source-Client") {
			hosts["*"] = true
		}
	}
	if path := registry.ConfigPath; path != "" && (path[0] != '/' || strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r > '~' })) {
		told.ConfigPath = ""
		hosts["*"] = true
	}
	told.InTables = []string{}
	for name := range hosts {
		told.InTables = append(told.InTables, name)
	}
	sort.Strings(told.InTables)
	if hosts["*"] {
		told.InTables = []string{"*"}
	}
	return told, nil
}
