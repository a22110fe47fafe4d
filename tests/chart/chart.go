package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"
)

// Chart: what a chart's folder holds. Read once, rendered often.
type Chart struct {
	about     map[string]any
	defaults  []byte
	templates map[string]string
	files     Files
}

// Files is the object .Files: all files but templates, and those that the chart is described by.
type Files map[string][]byte

func (files Files) Get(name string) string { return string(files[name]) }

// Helm's own files of a chart are not in .Files.
func isDescription(name string) bool {
	return name == "Chart.yaml" || name == "values.yaml" || name == "values.schema.json" || name == ".helmignore"
}

func LoadChart(folder string) (*Chart, error) {
	chart := &Chart{templates: map[string]string{}, files: Files{}}
	err := filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, file)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(file)
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(name, "templates/"):
			chart.templates[name] = string(content)
		case !isDescription(name):
			chart.files[name] = content
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	about, err := os.ReadFile(filepath.Join(folder, "Chart.yaml"))
	if err != nil {
		return nil, err
	}
	described := map[string]any{}
	if err := yaml.UnmarshalStrict(about, &described); err != nil {
		return nil, fmt.Errorf("Chart.yaml: %w", err)
	}
	// Templates see its fields with their Go names.
	chart.about = map[string]any{}
	for key, value := range described {
		chart.about[strings.ToUpper(key[:1])+key[1:]] = value
	}
	chart.about["IsRoot"] = true
	chart.defaults, err = os.ReadFile(filepath.Join(folder, "values.yaml"))
	if err != nil {
		return nil, err
	}
	if err := yaml.UnmarshalStrict(chart.defaults, &map[string]any{}); err != nil {
		return nil, fmt.Errorf("values.yaml: %w", err)
	}
	return chart, nil
}

// Defaults are anew for each rendering: templates change values in place.
func (chart *Chart) Defaults() map[string]any {
	values := map[string]any{}
	_ = yaml.Unmarshal(chart.defaults, &values) // LoadChart has read them
	return values
}

// Coalesce: the user's values win, mappings are merged, and a null takes a default away.
func Coalesce(given, defaults map[string]any) map[string]any {
	if given == nil {
		given = map[string]any{}
	}
	for key, usual := range defaults {
		value, there := given[key]
		inner, isMap := value.(map[string]any)
		innerDefaults, areMaps := usual.(map[string]any)
		switch {
		case !there:
			given[key] = usual
		case value == nil:
			delete(given, key)
		case isMap && areMaps:
			given[key] = Coalesce(inner, innerDefaults)
		}
	}
	return given
}

// Render: every template that makes manifests, and NOTES.txt.
func (chart *Chart) Render(values map[string]any, request Request) (map[string]string, error) {
	all := template.New("chart").Option("missingkey=zero")
	all.Funcs(Functions(all))
	for name, text := range chart.templates {
		if _, err := all.New(name).Parse(text); err != nil {
			return nil, err
		}
	}
	rendered := map[string]string{}
	for name := range chart.templates {
		if strings.HasPrefix(path.Base(name), "_") {
			continue
		}
		var out strings.Builder
		if err := all.ExecuteTemplate(&out, name, chart.context(values, request, name)); err != nil {
			return nil, err
		}
		rendered[name] = strings.ReplaceAll(out.String(), "<no value>", "")
	}
	return rendered, nil
}

// The objects that Helm documents, but for Capabilities: the chart is the same for every cluster.
func (chart *Chart) context(values map[string]any, request Request, name string) map[string]any {
	about := any(chart.about)
	return map[string]any{
		"Values": values, "Chart": about, "Files": chart.files, "Subcharts": map[string]any{},
		"Release": map[string]any{"Name": request.Release, "Namespace": request.Namespace, "Revision": 1,
			"IsInstall": !request.Upgrade, "IsUpgrade": request.Upgrade, "Service": "Helm"},
		"Template": map[string]any{"Name": chart.about["Name"].(string) + "/" + name,
			"BasePath": chart.about["Name"].(string) + "/templates"},
	}
}
