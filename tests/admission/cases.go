package main

import "fmt"

// Cases are named ideas that hold or do not; each counts. One thread.
type Cases struct {
	passed, failed int
}

// Check counts one case. `problem` says in a sentence what does not hold; empty: it holds.
func (c *Cases) Check(name, problem string) {
	if problem == "" {
		c.passed++
		return
	}
	c.failed++
	fmt.Printf("FAILED %s\n  %s\n", name, problem)
}

// Report prints what tests/run reads as the last line, and gives the exit code.
func (c *Cases) Report() int {
	fmt.Printf("%d passed, %d failed\n", c.passed, c.failed)
	if c.failed > 0 || c.passed == 0 {
		return 1
	}
	return 0
}
