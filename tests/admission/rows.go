package main

import (
	"fmt"
	"slices"
	"strings"
)

// Row is one idea: a request, and what the policy is to say of it.
type Row struct {
	Name    string
	Request Request
	// How the message begins that denies it; others may deny it, too. "": admitted. notMatched: it is none of
	// the policy's business.
	Denied string
	// Other validations cannot be evaluated for it, which denies it as well.
	Errors bool
}

const notMatched = "(not matched)"

// Problem says how a verdict differs from what the row wants. Empty: it does not.
func (row Row) Problem(verdict Verdict) string {
	switch {
	case len(verdict.Errors) > 0 && !row.Errors:
		return "cannot be evaluated: " + strings.Join(verdict.Errors, "; ")
	case row.Denied == notMatched:
		if verdict.Matched {
			return "is matched"
		}
	case !verdict.Matched:
		return "is not matched"
	case row.Denied == "":
		if !verdict.Admitted() {
			return "is denied: " + strings.Join(verdict.Denials, "; ")
		}
	case verdict.Admitted():
		return "is admitted"
	case !slices.ContainsFunc(verdict.Denials, func(message string) bool { return strings.HasPrefix(message, row.Denied) }):
		return fmt.Sprintf("is denied for another reason: %s", strings.Join(verdict.Denials, "; "))
	}
	return ""
}

// FirstProblem of many rows; empty: all hold.
func FirstProblem(evaluator *Evaluator, rows []Row) string {
	for _, row := range rows {
		if problem := row.Problem(evaluator.Judge(&row.Request)); problem != "" {
			return row.Name + " " + problem
		}
	}
	return ""
}
