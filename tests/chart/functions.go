package main

import (
	"fmt"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"sigs.k8s.io/yaml"
)

// Includes may nest; one that never ends is a mistake of the chart.
const mostNestedIncludes = 1000

// Functions: sprig's but for those that Helm takes away or has otherwise, and those of Helm's own that the chart calls.
func Functions(all *template.Template) template.FuncMap {
	functions := sprig.TxtFuncMap()
	for _, taken := range []string{"env", "expandenv", "fromJson"} {
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
	functions["include"], functions["toYaml"], functions["fromYaml"] = include, toYaml, fromYaml
	return functions
}

// Helm reports no error here, and that of fromYaml in the result.
func toYaml(value any) string {
	text, err := yaml.Marshal(value)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(text), "\n")
}

func fromYaml(text string) map[string]any {
	value := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		value["Error"] = err.Error()
	}
	return value
}
