package main

import "fmt"

// JudgeRendered decodes every object below a folder strictly, and compiles each policy in it.
func JudgeRendered(cases *Cases, folder string) {
	foreigners := 0
	compiled := map[string]bool{}
	for _, path := range Files(folder, ".yaml") {
		objects, others, err := Objects(path)
		foreigners += others
		if err == nil && len(objects)+others == 0 {
			err = fmt.Errorf("%s holds nothing", path)
		}
		cases.Check("objects: "+path, text(err))
		for _, bound := range BoundPolicies(objects) {
			spec := bound.Policy.Spec.String()
			if compiled[spec] && !bound.IsAdvisory() { // whose bindings differ
				continue
			}
			compiled[spec] = true
			if bound.IsAdvisory() {
				problem := bound.WhatEndangers()
				if problem == "" {
					problem = bound.InRendering(objects)
				}
				cases.Check("objects: "+path+": "+bound.Policy.Name+" endangers nobody", problem)
			} else {
				cases.Check("objects: "+path+": "+bound.Policy.Name+" is in force", bound.WhatWeakens())
			}
			_, err := Compile(bound.Policy)
			cases.Check("objects: "+path+": "+bound.Policy.Name+" compiles", text(err))
		}
	}
	fmt.Printf("%d objects of others' kinds (PodMonitor, PrometheusRule, PodMonitoring, ClusterRules, SecurityContextConstraints, and those of CI systems): no types of them here\n", foreigners)
}
