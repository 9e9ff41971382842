package main

import (
	"strings"

	"github.com/robotskit/robots/lint"
	"github.com/spf13/cobra"
)

// failNever is the value of --fail-on that keeps the exit status 0.
const failNever = "never"

// severities are the names that --fail-on accepts in lint, diff and watch.
func severities() []string {
	return []string{lint.Note.String(), lint.Warning.String(), lint.Error.String()}
}

// failOnFlag declares --fail-on. Some commands accept more values than severities.
func failOnFlag(cmd *cobra.Command, value *string, standard string, more ...string) {
	list := append(append(severities(), failNever), more...)
	choiceFlag(cmd, value, "fail-on", standard, "`SEVERITY` lowest severity that exits 1: "+strings.Join(list, ", "), list...)
}

// failLevel is the lowest severity that fails: for a value that is no severity, above all.
func failLevel(failOn string) lint.Severity {
	if s, ok := lint.ParseSeverity(failOn); ok {
		return s
	}
	return lint.Error + 1
}
