// Prints how other programs read texts, by their own libraries. tests/judges/compare.py compares it with ours.
//
//	judge FAMILY [ARGUMENT…]
//	judge registry
//
// Standard input is a sequence of texts, each behind a line with its length in bytes. Each gets one line of JSON:
// {"value": …} as the family reads it, or {"error": "…"}.
//
// Go's defaults are those of the programs that are judged, and not the oldest, as without a go.mod.
//
//go:debug default=go1.23
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// A family reads one text. The arguments are those of the command line.
type family func(text []byte, arguments []string) (any, error)

// Each family's file adds itself.
var families = map[string]family{}

type answer struct {
	Value any    `json:"value"`
	Error string `json:"error,omitempty"`
}

func read(reads family, text []byte, arguments []string) (result answer) {
	defer func() {
		if cause := recover(); cause != nil {
			result = answer{Error: fmt.Sprint("panic: ", cause)}
		}
	}()
	value, err := reads(text, arguments)
	if err != nil {
		return answer{Error: "error: " + err.Error()}
	}
	return answer{Value: value}
}

func nextText(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	size, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return nil, err
	}
	text := make([]byte, size)
	_, err = io.ReadFull(in, text)
	return text, err
}

func run(reads family, arguments []string) error {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	lines := json.NewEncoder(out)
	for {
		text, err := nextText(in)
		if errors.Is(err, io.EOF) {
			return out.Flush()
		}
		if err != nil {
			return err
		}
		if err := lines.Encode(read(reads, text, arguments)); err != nil {
			return err
		}
	}
}

// Servers that both sides of a family ask, by name. kubectl's judge has none.
var servers = map[string]func() error{}

func main() {
	if len(os.Args) == 2 && servers[os.Args[1]] != nil {
		fmt.Fprintln(os.Stderr, "judge:", servers[os.Args[1]]())
		os.Exit(1)
	}
	if len(os.Args) < 2 || families[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: judge FAMILY [ARGUMENT…]")
		os.Exit(2)
	}
	if err := run(families[os.Args[1]], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "judge:", err)
		os.Exit(1)
	}
}
