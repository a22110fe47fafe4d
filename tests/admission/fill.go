package main

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Fill makes every part of a value something that is not its zero; two seeds differ in each of them.
func Fill(value reflect.Value, seed int) {
	switch value.Interface().(type) {
	case resource.Quantity:
		value.Set(reflect.ValueOf(*resource.NewQuantity(int64(seed), resource.DecimalSI)))
		return
	case metav1.Time:
		value.Set(reflect.ValueOf(metav1.Unix(int64(seed)*1000, 0)))
		return
	case metav1.FieldsV1:
		return
	case intstr.IntOrString:
		value.Set(reflect.ValueOf(intstr.FromInt32(int32(seed))))
		return
	}
	switch value.Kind() {
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		Fill(value.Elem(), seed)
	case reflect.Struct:
		for i := range value.NumField() {
			if value.Type().Field(i).IsExported() {
				Fill(value.Field(i), seed)
			}
		}
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 1, 1))
		Fill(value.Index(0), seed)
	case reflect.Map:
		value.Set(reflect.MakeMap(value.Type()))
		key, element := reflect.New(value.Type().Key()).Elem(), reflect.New(value.Type().Elem()).Elem()
		Fill(key, 1)
		Fill(element, seed)
		value.SetMapIndex(key, element)
	case reflect.String:
		value.SetString(strings.Repeat("x", seed))
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		value.SetInt(int64(seed))
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		value.SetUint(uint64(seed))
	}
}

// FieldName is a field's name as JSON has it.
func FieldName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}
