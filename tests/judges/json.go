package main

import "sigs.k8s.io/json"

func init() {
	families["json"] = func(text []byte, _ []string) (any, error) {
		var value any
		err := json.UnmarshalCaseSensitivePreserveInts(text, &value)
		return value, err
	}
}
