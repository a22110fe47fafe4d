//go:build !stable

package main

// Policies as the API server's own code compiles, matches and evaluates them.

import (
	"context"
	"errors"
	"fmt"

	"cel.dev/cel-go/cel"
	celtypes "cel.dev/cel-go/common/types"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"
)

const costBudget = celconfig.RuntimeCELCostBudget

// What an API server of 1.30, the oldest that the policies are for, lets new expressions use: what its version before
// knows, so that it can be taken back.
var oldest = version.MajorMinor(1, 29)

// Types of today have every field that the policies speak of.
var unheardOf []string

// Evaluator is one policy, compiled. One thread.
type Evaluator struct {
	policy      *admissionv1.ValidatingAdmissionPolicy
	matcher     matchconditions.Matcher
	validations plugincel.ConditionEvaluator
	messages    plugincel.ConditionEvaluator
}

type expression struct {
	name, text string
	types      []*cel.Type
}

func (e *expression) GetName() string          { return e.name }
func (e *expression) GetExpression() string    { return e.text }
func (e *expression) ReturnTypes() []*cel.Type { return e.types }

// Compile fails where the API server would refuse the policy.
func Compile(policy *admissionv1.ValidatingAdmissionPolicy) (*Evaluator, error) {
	compiler, err := plugincel.NewCompositedCompiler(environment.MustBaseEnvSet(oldest))
	if err != nil {
		return nil, err
	}
	declared := plugincel.OptionalVariableDeclarations{HasParams: policy.Spec.ParamKind != nil, HasAuthorizer: true}
	var problems []error
	for _, variable := range policy.Spec.Variables {
		result := compiler.CompileAndStoreVariable(
			&expression{variable.Name, variable.Expression, []*cel.Type{cel.AnyType, cel.DynType}}, declared, environment.NewExpressions)
		if result.Error != nil {
			problems = append(problems, fmt.Errorf("variable %s: %v", variable.Name, result.Error))
		}
	}
	var conditions, validations, messages []plugincel.ExpressionAccessor
	for i := range policy.Spec.MatchConditions {
		conditions = append(conditions, (*matchconditions.MatchCondition)(&policy.Spec.MatchConditions[i]))
	}
	for _, validation := range policy.Spec.Validations {
		validations = append(validations, &expression{validation.Message, validation.Expression, []*cel.Type{cel.BoolType}})
		var message plugincel.ExpressionAccessor // nil: there is none
		if validation.MessageExpression != "" {
			message = &expression{validation.Message, validation.MessageExpression, []*cel.Type{cel.StringType}}
		}
		messages = append(messages, message)
	}
	matching := compiler.CompileCondition(conditions, declared, environment.NewExpressions)
	validating := compiler.CompileCondition(validations, declared, environment.NewExpressions)
	declared.HasAuthorizer = false
	telling := compiler.CompileCondition(messages, declared, environment.NewExpressions)
	problems = append(problems, matching.CompilationErrors()...)
	problems = append(problems, validating.CompilationErrors()...)
	problems = append(problems, telling.CompilationErrors()...)
	return &Evaluator{
		policy:      policy,
		matcher:     matchconditions.NewMatcher(matching, policy.Spec.FailurePolicy, "policy", "validate", policy.Name),
		validations: validating,
		messages:    telling,
	}, errors.Join(problems...)
}

func (e *Evaluator) isConstrained(attributes admission.Attributes) bool {
	for _, rule := range e.policy.Spec.MatchConstraints.ResourceRules {
		matcher := rules.Matcher{Rule: rule.RuleWithOperations, Attr: attributes}
		if matcher.Matches() {
			return true
		}
	}
	return false
}

var nobodyAsks = authorizer.AuthorizerFunc(
	func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
		return authorizer.DecisionDeny, "", nil
	})

func (e *Evaluator) judge(request *Request, param runtime.Object) Verdict {
	attributes := admission.NewAttributesRecord(request.Object, request.OldObject, request.kind(), request.Namespace,
		request.Name, request.resource(), request.Subresource, admission.Operation(request.Operation), nil, false,
		&user.DefaultInfo{Name: request.User, Extra: request.extra()})
	if !e.isConstrained(attributes) {
		return Verdict{}
	}
	versioned := &admission.VersionedAttributes{Attributes: attributes, VersionedKind: request.kind(),
		VersionedObject: request.Object, VersionedOldObject: request.OldObject}
	matched := e.matcher.Match(context.Background(), versioned, param, nobodyAsks)
	if matched.Error != nil {
		return Verdict{Matched: true, Errors: []string{matched.Error.Error()}}
	}
	if !matched.Matches {
		return Verdict{}
	}
	asked := plugincel.CreateAdmissionRequest(attributes, metav1.GroupVersionResource(request.resource()),
		metav1.GroupVersionKind(request.kind()))
	results, left, err := e.validations.ForInput(context.Background(), versioned, asked,
		plugincel.OptionalVariableBindings{VersionedParams: param, Authorizer: nobodyAsks}, nil, celconfig.RuntimeCELCostBudget)
	verdict := Verdict{Matched: true}
	if err != nil {
		verdict.Errors = append(verdict.Errors, err.Error())
	}
	// As the API server does it: messages have the rest of the budget, and are made whether anything is denied or not.
	messages, left, err := e.messages.ForInput(context.Background(), versioned, asked,
		plugincel.OptionalVariableBindings{VersionedParams: param}, nil, left)
	if err != nil {
		verdict.Errors = append(verdict.Errors, err.Error())
	}
	verdict.Cost = celconfig.RuntimeCELCostBudget - left
	for i, result := range results {
		message := e.policy.Spec.Validations[i].Message
		if result.Error != nil {
			verdict.Errors = append(verdict.Errors, message+": "+result.Error.Error())
		} else if result.EvalResult != celtypes.True {
			if i < len(messages) && messages[i].EvalResult != nil && messages[i].Error == nil {
				if said, is := messages[i].EvalResult.Value().(string); is {
					message = said
				}
			}
			verdict.Denials = append(verdict.Denials, message)
		}
	}
	return verdict
}
