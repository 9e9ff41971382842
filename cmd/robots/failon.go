package main

import (
	"strings"

	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/spf13/cobra"
)

// failOnFlag declares --fail-on. Some commands accept more values than severities.
func failOnFlag(cmd *cobra.Command, value *string, standard string, more ...string) {
	list := append(append(ask.Severities(), ask.NeverFail), more...)
	choiceFlag(cmd, value, "fail-on", standard, "`SEVERITY` lowest severity that exits 1: "+strings.Join(list, ", "), list...)
}
