package main

import (
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// Mutation is a policy that says less.
type Mutation struct {
	What   string
	Policy *admissionv1.ValidatingAdmissionPolicy
}

// Mutations are the policy without each of its parts: each validation, each term of one (an operand of an && at
// any depth), each condition, resource and operation.
func Mutations(policy *admissionv1.ValidatingAdmissionPolicy) []Mutation {
	var all []Mutation
	mutate := func(what string, change func(spec *admissionv1.ValidatingAdmissionPolicySpec)) {
		copied := policy.DeepCopy()
		change(&copied.Spec)
		all = append(all, Mutation{what, copied})
	}
	for i, validation := range policy.Spec.Validations {
		mutate("validation: "+validation.Message, func(spec *admissionv1.ValidatingAdmissionPolicySpec) {
			spec.Validations = append(spec.Validations[:i:i], spec.Validations[i+1:]...)
		})
		for _, term := range terms(validation.Expression) {
			text := validation.Expression[term.begin:term.end]
			mutate(fmt.Sprintf("term of %q: %s", validation.Message, text), func(spec *admissionv1.ValidatingAdmissionPolicySpec) {
				spec.Validations[i].Expression = validation.Expression[:term.begin] + "true" + validation.Expression[term.end:]
			})
		}
	}
	for i, condition := range policy.Spec.MatchConditions {
		mutate("condition: "+condition.Name, func(spec *admissionv1.ValidatingAdmissionPolicySpec) {
			spec.MatchConditions = append(spec.MatchConditions[:i:i], spec.MatchConditions[i+1:]...)
		})
	}
	for i, rule := range policy.Spec.MatchConstraints.ResourceRules {
		for j, resource := range rule.Resources {
			mutate("resource: "+resource, func(spec *admissionv1.ValidatingAdmissionPolicySpec) {
				rule := &spec.MatchConstraints.ResourceRules[i]
				rule.Resources = append(rule.Resources[:j:j], rule.Resources[j+1:]...)
			})
		}
		for j, operation := range rule.Operations {
			mutate("operation: "+string(operation), func(spec *admissionv1.ValidatingAdmissionPolicySpec) {
				rule := &spec.MatchConstraints.ResourceRules[i]
				rule.Operations = append(rule.Operations[:j:j], rule.Operations[j+1:]...)
			})
		}
	}
	return all
}

type span struct{ begin, end int }

// The operands of every && of an expression. CEL's && binds looser than anything but || and ?:, so an operand ends
// at those, at a comma, and where its parenthesis does.
func terms(expression string) []span {
	type level struct {
		begin   int
		operand bool // an && stands before it
	}
	var found []span
	levels := []level{{}}
	end := func(at int, and bool) {
		top := &levels[len(levels)-1]
		if top.operand || and {
			found = append(found, trimmed(expression, top.begin, at))
		}
		*top = level{operand: and}
	}
	for i := 0; i < len(expression); i++ {
		switch c := expression[i]; {
		case c == '\'':
			i += 1 + strings.IndexByte(expression[i+1:], '\'')
		case c == '(' || c == '[' || c == '{':
			levels = append(levels, level{begin: i + 1})
		case c == ')' || c == ']' || c == '}':
			end(i, false)
			levels = levels[:len(levels)-1]
		case strings.HasPrefix(expression[i:], "&&"):
			end(i, true)
			levels[len(levels)-1].begin = i + 2
			i++
		case strings.HasPrefix(expression[i:], "||"):
			end(i, false)
			levels[len(levels)-1].begin = i + 2
			i++
		case c == ',' || c == ':' || (c == '?' && expression[i-1] != '.'): // a.?b is no choice
			end(i, false)
			levels[len(levels)-1].begin = i + 1
		}
	}
	end(len(expression), false)
	return found
}

func trimmed(text string, begin, end int) span {
	for begin < end && (text[begin] == ' ' || text[begin] == '\n') {
		begin++
	}
	for begin < end && (text[end-1] == ' ' || text[end-1] == '\n') {
		end--
	}
	return span{begin, end}
}
