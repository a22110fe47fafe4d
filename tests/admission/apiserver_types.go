//go:build !stable

package main

// Type checking, as the API server does it for a policy's status: expressions against the kinds that it matches.

import (
	"fmt"
	"reflect"

	"cel.dev/cel-go/cel"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/version"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
	"k8s.io/apiserver/pkg/cel/openapi"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

const checksTypes = true

// TypeProblems says which expressions of a policy do not fit the kind of `object`, a pointer to its real type.
func TypeProblems(policy *admissionv1.ValidatingAdmissionPolicy, object any) []string {
	kind := reflect.TypeOf(object).Elem()
	declared := common.SchemaDeclType(&openapi.Schema{Schema: schemaOf(kind)}, true).MaybeAssignTypeName(kind.Name())
	typed, err := typedEnvironment(declared)
	if err != nil {
		return []string{err.Error()}
	}
	compiler, err := plugincel.NewCompositedCompilerForTypeChecking(typed)
	if err != nil {
		return []string{err.Error()}
	}
	checking := &typeChecking{environment: compiler}
	compiler.Compiler = checking
	var problems []string
	check := func(what, text string, result plugincel.CompilationResult) {
		if result.Error != nil {
			problems = append(problems, fmt.Sprintf("%s: %s: %v", what, text, result.Error))
		}
	}
	options := plugincel.OptionalVariableDeclarations{HasAuthorizer: true}
	for _, variable := range policy.Spec.Variables {
		check("variable "+variable.Name, variable.Expression, compiler.CompileAndStoreVariable(
			&expression{variable.Name, variable.Expression, nil}, options, environment.StoredExpressions))
	}
	for _, condition := range policy.Spec.MatchConditions {
		check("condition "+condition.Name, condition.Expression, checking.CompileCELExpression(
			&expression{condition.Name, condition.Expression, nil}, options, environment.StoredExpressions))
	}
	for _, validation := range policy.Spec.Validations {
		check("validation", validation.Message, checking.CompileCELExpression(
			&expression{validation.Message, validation.Expression, nil}, options, environment.StoredExpressions))
	}
	return problems
}

func typedEnvironment(object *apiservercel.DeclType) (*environment.EnvSet, error) {
	request, namespace := plugincel.BuildRequestType(), plugincel.BuildNamespaceType()
	return environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		DeclTypes:         []*apiservercel.DeclType{namespace, request, object},
		EnvOptions: []cel.EnvOption{
			cel.Variable(plugincel.NamespaceVarName, namespace.CelType()),
			cel.Variable(plugincel.RequestVarName, request.CelType()),
			cel.Variable(plugincel.ObjectVarName, object.CelType()),
			cel.Variable(plugincel.OldObjectVarName, object.CelType()),
			cel.Variable(plugincel.ParamsVarName, cel.DynType),
			cel.Variable("authorizer", library.AuthorizerType),
		},
	})
}

// Compiles against the types, and makes no program.
type typeChecking struct {
	environment *plugincel.CompositedCompiler
}

func (c *typeChecking) CompileCELExpression(accessor plugincel.ExpressionAccessor, _ plugincel.OptionalVariableDeclarations, mode environment.Type) plugincel.CompilationResult {
	env, err := c.environment.Env(mode)
	if err != nil {
		return plugincel.CompilationResult{Error: &apiservercel.Error{Type: apiservercel.ErrorTypeInternal, Detail: err.Error()}}
	}
	tree, issues := env.Compile(accessor.GetExpression())
	if issues != nil {
		return plugincel.CompilationResult{Error: &apiservercel.Error{Type: apiservercel.ErrorTypeInvalid, Detail: issues.String()}}
	}
	return plugincel.CompilationResult{OutputType: tree.OutputType()}
}

// The OpenAPI schema of one of Kubernetes' own types, as its server publishes it.
func schemaOf(kind reflect.Type) *spec.Schema {
	switch kind {
	case reflect.TypeFor[resource.Quantity]():
		return spec.StringProperty()
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		return spec.DateTimeProperty()
	case reflect.TypeFor[intstr.IntOrString]():
		either := &spec.Schema{}
		either.AddExtension("x-kubernetes-int-or-string", true)
		return either
	case reflect.TypeFor[metav1.FieldsV1]():
		return spec.MapProperty(nil)
	}
	switch kind.Kind() {
	case reflect.Pointer:
		return schemaOf(kind.Elem())
	case reflect.Slice:
		if kind.Elem().Kind() == reflect.Uint8 {
			return spec.StringProperty()
		}
		return spec.ArrayProperty(schemaOf(kind.Elem()))
	case reflect.Map:
		return spec.MapProperty(schemaOf(kind.Elem()))
	case reflect.Struct:
		object := &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}, Properties: map[string]spec.Schema{}}}
		addFields(object, kind)
		return object
	case reflect.Bool:
		return spec.BooleanProperty()
	case reflect.Int, reflect.Int32, reflect.Int64:
		return spec.Int64Property()
	}
	return spec.StringProperty()
}

func addFields(object *spec.Schema, kind reflect.Type) {
	for i := range kind.NumField() {
		field := kind.Field(i)
		if name := FieldName(field); name != "" {
			object.Properties[name] = *schemaOf(field.Type)
		} else if field.Anonymous {
			addFields(object, field.Type)
		}
	}
}
