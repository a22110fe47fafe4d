package main

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// How the messages of prefetchd-node-gate-events begin.
const (
	notItsEvent = "an agent tells events only of the node"
	notItsName  = "an agent tells events in its own name"
)

func someEvent() *corev1.Event {
	return &corev1.Event{
		TypeMeta:       metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
		ObjectMeta:     metav1.ObjectMeta{Name: "n1.17", Namespace: "default"},
		InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: ownNode, UID: "u1"},
		Reason:         "ImageDenied", Message: "401", Count: 1, Type: corev1.EventTypeWarning,
		Source: corev1.EventSource{Component: "prefetchd", Host: ownNode},
	}
}

// An event that is told again; `change` gets the old one, too, and may change it.
func eventRow(name, denied string, change func(old, updated *corev1.Event)) Row {
	old, updated := someEvent(), someEvent()
	updated.Count++
	change(old, updated)
	return Row{Name: name, Denied: denied, Request: Request{Operation: operationUpdate, Resource: "events", Kind: "Event",
		Namespace: "default", Name: updated.Name, User: agentUser, OnNode: ownNode, Object: updated, OldObject: old}}
}

func newEventRow(name, denied string, change func(event *corev1.Event)) Row {
	row := eventRow(name, denied, func(_, updated *corev1.Event) { change(updated) })
	row.Request.Operation, row.Request.OldObject = operationCreate, nil
	return row
}

func eventRows() []Row {
	told := newEventRow("an event of its node", "", func(*corev1.Event) {})
	return []Row{
		told,
		eventRow("the event once more", "", func(_, updated *corev1.Event) { updated.Message = "403" }),
		newEventRow("of another node", notItsEvent, func(event *corev1.Event) { event.InvolvedObject.Name = "n2" }),
		newEventRow("of a pod", notItsEvent, func(event *corev1.Event) { event.InvolvedObject.Kind = "Pod" }),
		newEventRow("in kubelet's name", notItsName, func(event *corev1.Event) { event.Source.Component = "kubelet" }),
		eventRow("another node's event", notItsEvent, func(old, _ *corev1.Event) { old.InvolvedObject.Name = "n2" }),
		eventRow("a pod's event", notItsEvent, func(old, _ *corev1.Event) { old.InvolvedObject.Kind = "Pod" }),
		eventRow("kubelet's event", notItsName, func(old, _ *corev1.Event) { old.Source.Component = "kubelet" }),
		eventRow("kubelet's event stays kubelet's", notItsName, func(old, updated *corev1.Event) {
			old.Source.Component, updated.Source.Component = "kubelet", "kubelet"
		}),
		as(told, "of a token for another node", notItsEvent, func(request *Request) { request.OnNode = "n2" }),
		as(told, "of a token that names no node", notItsEvent, func(request *Request) { request.OnNode = "" }),
		as(told, "of a token that names a pod and no node", notItsEvent, func(request *Request) {
			request.OnNode, request.OtherClaims = "", true
		}),
		as(told, "it is kubelet", notMatched, func(request *Request) { request.User = "system:node:n1" }),
		as(told, "a Service", notMatched, func(request *Request) { request.Resource = "services" }),
	}
}
