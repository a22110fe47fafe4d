package main

import (
	stdjson "encoding/json"
	"errors"
	"fmt"

	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
	goyaml "sigs.k8s.io/yaml/goyaml.v2"
)

func init() {
	families["json"] = func(text []byte, _ []string) (any, error) {
		var value any
		err := json.UnmarshalCaseSensitivePreserveInts(text, &value)
		return value, err
	}
	// yaml last|once: how duplicate keys are taken.
	families["yaml"] = func(text []byte, arguments []string) (any, error) {
		if err := ambiguous(text); err != nil {
			return nil, err
		}
		convert := yaml.YAMLToJSON
		if arguments[0] == "once" {
			convert = yaml.YAMLToJSONStrict
		}
		value, err := convert(text)
		return stdjson.RawMessage(value), err
	}
}

// Keys that are different in YAML and the same in JSON: sigs.k8s.io/yaml takes either, by Go's order of maps.
func ambiguous(text []byte) error {
	var value any
	if err := goyaml.Unmarshal(text, &value); err != nil {
		return nil // said by the reading itself
	}
	return ambiguousKeys(value)
}

func ambiguousKeys(value any) error {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			if err := ambiguousKeys(item); err != nil {
				return err
			}
		}
	case map[any]any:
		seen := map[string]bool{}
		for key, item := range value {
			one, err := yaml.YAMLToJSON(marshal(map[any]any{key: nil}))
			if err == nil && seen[string(one)] {
				return errors.New("ambiguous keys")
			}
			seen[string(one)] = true
			if err := ambiguousKeys(item); err != nil {
				return err
			}
		}
	}
	return nil
}

func marshal(value any) []byte {
	text, err := goyaml.Marshal(value)
	if err != nil {
		panic(fmt.Sprint("cannot be written: ", err))
	}
	return text
}
