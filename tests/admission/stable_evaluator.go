//go:build stable

package main

// Policies as the CEL library of Debian's stable release evaluates them, in an environment like the API server's: for the
// days on which unstable's API server cannot be had or built, and as the older of two opinions on all others.

import (
	"errors"
	"fmt"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// As k8s.io/apiserver/pkg/apis/cel: for one expression, and for all of a policy's.
const (
	costOfOne  = 1000000
	costBudget = 10 * costOfOne
)

// What older types lack cannot change, so no row needs the terms about it.
var unheardOf = []string{"declaredFeatures"}

// Evaluator is one policy, compiled. One thread.
type Evaluator struct {
	policy                                       *admissionv1.ValidatingAdmissionPolicy
	variables, conditions, validations, messages []cel.Program // nil: no messageExpression
}

// Compile fails where the API server would refuse the policy.
func Compile(policy *admissionv1.ValidatingAdmissionPolicy) (*Evaluator, error) {
	environment, err := cel.NewEnv(cel.OptionalTypes(), ext.Strings(ext.StringsVersion(0)), cel.HomogeneousAggregateLiterals(),
		cel.DefaultUTCTimeZone(true), cel.CrossTypeNumericComparisons(true), cel.Variable("object", cel.DynType),
		cel.Variable("oldObject", cel.DynType), cel.Variable("request", cel.DynType))
	if err != nil {
		return nil, err
	}
	if policy.Spec.ParamKind != nil {
		if environment, err = environment.Extend(cel.Variable("params", cel.DynType)); err != nil {
			return nil, err
		}
	}
	evaluator := &Evaluator{policy: policy}
	var problems []error
	compile := func(environment *cel.Env, text string, mustBe *cel.Type) cel.Program {
		tree, issues := environment.Compile(text)
		if issues.Err() != nil {
			problems = append(problems, issues.Err())
			return nil
		}
		if mustBe != nil && !tree.OutputType().IsExactType(mustBe) {
			problems = append(problems, fmt.Errorf("%s: is no %s", text, mustBe))
		}
		program, err := environment.Program(tree, cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost), cel.CostLimit(costOfOne))
		problems = append(problems, err)
		return program
	}
	if len(policy.Spec.Variables) > 0 {
		if environment, err = environment.Extend(cel.Variable("variables", cel.MapType(cel.StringType, cel.DynType))); err != nil {
			return nil, err
		}
	}
	for _, variable := range policy.Spec.Variables {
		evaluator.variables = append(evaluator.variables, compile(environment, variable.Expression, nil))
	}
	for _, condition := range policy.Spec.MatchConditions {
		evaluator.conditions = append(evaluator.conditions, compile(environment, condition.Expression, cel.BoolType))
	}
	for _, validation := range policy.Spec.Validations {
		evaluator.validations = append(evaluator.validations, compile(environment, validation.Expression, cel.BoolType))
		var message cel.Program
		if validation.MessageExpression != "" {
			message = compile(environment, validation.MessageExpression, cel.StringType)
		}
		evaluator.messages = append(evaluator.messages, message)
	}
	return evaluator, errors.Join(problems...)
}

func isConstrained(rules []admissionv1.NamedRuleWithOperations, request *Request) bool {
	asked := request.Resource
	if request.Subresource != "" {
		asked += "/" + request.Subresource
	}
	return slices.ContainsFunc(rules, func(rule admissionv1.NamedRuleWithOperations) bool {
		return slices.Contains(rule.APIGroups, request.Group) && slices.Contains(rule.APIVersions, "v1") &&
			slices.Contains(rule.Resources, asked) && slices.Contains(rule.Operations, admissionv1.OperationType(request.Operation))
	})
}

func unstructured(object runtime.Object) (any, error) {
	if object == nil {
		return nil, nil
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(object)
}

func inputOf(request *Request, param runtime.Object) (map[string]any, error) {
	object, err := unstructured(request.Object)
	if err != nil {
		return nil, err
	}
	params, err := unstructured(param)
	if err != nil {
		return nil, err
	}
	old, err := unstructured(request.OldObject)
	user := map[string]any{"username": request.User}
	if extra := request.extra(); len(extra) > 0 {
		user["extra"] = extra
	}
	return map[string]any{"object": object, "oldObject": old, "params": params, "request": map[string]any{"operation": request.Operation,
		"namespace": request.Namespace, "name": request.Name, "userInfo": user}}, err
}

func (e *Evaluator) judge(request *Request, param runtime.Object) Verdict {
	if !isConstrained(e.policy.Spec.MatchConstraints.ResourceRules, request) {
		return Verdict{}
	}
	input, err := inputOf(request, param)
	verdict := Verdict{Matched: true}
	if err != nil {
		verdict.Errors = append(verdict.Errors, err.Error())
		return verdict
	}
	evaluate := func(program cel.Program) (ref.Val, error) {
		value, details, err := program.Eval(input)
		if details != nil && details.ActualCost() != nil {
			verdict.Cost += int64(*details.ActualCost())
		}
		return value, err
	}
	for _, condition := range e.conditions {
		value, err := evaluate(condition)
		if err != nil {
			verdict.Errors = append(verdict.Errors, err.Error())
		} else if value != types.True {
			return Verdict{}
		}
	}
	variables := map[string]any{}
	input["variables"] = variables
	for i, variable := range e.variables {
		value, err := evaluate(variable)
		if err != nil {
			value = types.NewErr("%s", err) // for who uses it
		}
		variables[e.policy.Spec.Variables[i].Name] = value
	}
	for i, validation := range e.validations {
		message := e.policy.Spec.Validations[i].Message
		value, err := evaluate(validation)
		if err != nil {
			verdict.Errors = append(verdict.Errors, message+": "+err.Error())
		} else if value != types.True {
			if e.messages[i] != nil {
				if said, err := evaluate(e.messages[i]); err == nil {
					message = fmt.Sprint(said.Value())
				}
			}
			verdict.Denials = append(verdict.Denials, message)
		}
	}
	if verdict.Cost > costBudget {
		verdict.Errors = append(verdict.Errors, "costs too much")
	}
	return verdict
}

// TypeProblems: this library checks no types.
func TypeProblems(*admissionv1.ValidatingAdmissionPolicy, any) []string { return nil }

const checksTypes = false
