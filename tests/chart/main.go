// Renders deploy/chart as Helm does, with the functions and objects that Helm documents, over Go's text/template and
// sprig. It answers one JSON request a line on standard input with one JSON line.
//
//	renderer CHART
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// Request: the user's values, in place of files and options of the command line.
type Request struct {
	Values    map[string]any `json:"values"`
	Release   string         `json:"release"`
	Namespace string         `json:"namespace"`
	Upgrade   bool           `json:"upgrade"`
}

// Answer: the rendered files by their paths, and all values that a schema has to judge; or why there are none.
type Answer struct {
	Files  map[string]string `json:"files,omitempty"`
	Values map[string]any    `json:"values,omitempty"`
	Error  string            `json:"error,omitempty"`
}

func answer(chart *Chart, line []byte) Answer {
	var request Request
	if err := json.Unmarshal(line, &request); err != nil {
		return Answer{Error: err.Error()}
	}
	values := Coalesce(request.Values, chart.Defaults())
	files, err := chart.Render(values, request)
	if err != nil {
		return Answer{Values: values, Error: err.Error()}
	}
	return Answer{Values: values, Files: files}
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: renderer CHART")
		os.Exit(2)
	}
	chart, err := LoadChart(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "renderer:", err)
		os.Exit(2)
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 8<<20)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		if err := out.Encode(answer(chart, lines.Bytes())); err != nil {
			fmt.Fprintln(os.Stderr, "renderer:", err)
			os.Exit(1)
		}
	}
}
