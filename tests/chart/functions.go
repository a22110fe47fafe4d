package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"sigs.k8s.io/yaml"
)

// Includes may nest; one that never ends is a mistake of the chart.
const mostNestedIncludes = 1000

// Functions: sprig's but for those that Helm takes away, and Helm's own.
func Functions(all *template.Template) template.FuncMap {
	functions := sprig.TxtFuncMap()
	for _, taken := range []string{"env", "expandenv"} {
		delete(functions, taken)
	}
	depth := map[string]int{}
	include := func(name string, data any) (string, error) {
		if depth[name] >= mostNestedIncludes {
			return "", fmt.Errorf("%s includes itself", name)
		}
		depth[name]++
		defer func() { depth[name]-- }()
		var out strings.Builder
		err := all.ExecuteTemplate(&out, name, data)
		return out.String(), err
	}
	tpl := func(text string, data any) (string, error) {
		inner, err := all.Clone()
		if err != nil {
			return "", err
		}
		parsed, err := inner.New("tpl").Parse(text)
		if err != nil {
			return "", err
		}
		var out strings.Builder
		err = parsed.Execute(&out, data)
		return strings.ReplaceAll(out.String(), "<no value>", ""), err
	}
	for name, function := range map[string]any{
		"include": include, "tpl": tpl,
		"toYaml": toYaml, "fromYaml": fromYaml, "fromYamlArray": fromYamlArray,
		"toJson": toJson, "fromJson": fromJson, "fromJsonArray": fromJsonArray,
		"required": required, "fail": fail, "lookup": lookup,
	} {
		functions[name] = function
	}
	return functions
}

// Helm tells of no error here, and of those below in the result.
func toYaml(value any) string {
	text, err := yaml.Marshal(value)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(text), "\n")
}

func toJson(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}

func fromYaml(text string) map[string]any {
	value := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		value["Error"] = err.Error()
	}
	return value
}

func fromYamlArray(text string) []any {
	value := []any{}
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		return []any{err.Error()}
	}
	return value
}

func fromJson(text string) map[string]any {
	value := map[string]any{}
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		value["Error"] = err.Error()
	}
	return value
}

func fromJsonArray(text string) []any {
	value := []any{}
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return []any{err.Error()}
	}
	return value
}

func required(why string, value any) (any, error) {
	if text, isText := value.(string); value == nil || (isText && text == "") {
		return nil, errors.New(why)
	}
	return value, nil
}

func fail(why string) (string, error) { return "", errors.New(why) }

// Without a cluster, as in `helm template`, there is nothing to be found.
func lookup(version, kind, namespace, name string) map[string]any { return map[string]any{} }
