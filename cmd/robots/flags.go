package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/compare"
	"github.com/spf13/cobra"
)

// This file holds the flags that verbs share: each is declared once, and its value
// is checked when it is read. How a command line is read strictly is in strict.go.

// The values of --format.
const (
	formatText = "text"
	formatTSV  = "tsv" // only with --batch
	formatCSV  = "csv"

	formatMarkdown = "markdown"
	formatJSON     = "json"
)

var clip = ask.Clip

func registerMaxBytes(cmd *cobra.Command, n *int) {
	cmd.Flags().Func("max-bytes", "`BYTES` size limit of the file, instead of the dialect's", func(s string) error {
		size, err := strconv.ParseUint(s, 10, strconv.IntSize-1)
		if err != nil && !errors.Is(err, strconv.ErrRange) { // a number out of range is the largest
			return fmt.Errorf("--max-bytes %s is not a number of bytes, 0 or more", strconv.Quote(clip(s)))
		}
		*n = answer.SizeLimit(int(size))
		return nil
	})
}

// judgedAt is the usage of --at for verbs that give verdicts.
const judgedAt = "`TIME` time to judge at, such as 2026-01-31T18:00:00Z (only outages depend on it)"

// choiceFlag declares a flag with a value from a closed list, which the shell completes.
func choiceFlag(cmd *cobra.Command, value *string, name, standard, usage string, known ...string) {
	*value = standard
	cmd.Flags().Func(name, usage, func(s string) error {
		if !slices.Contains(known, s) {
			return fmt.Errorf("unknown --%s %q (known: %s)", name, clip(s), strings.Join(known, ", "))
		}
		*value = s
		return nil
	})
	cmd.Flags().Lookup(name).DefValue = standard // for the help
	complete(cmd, name, known)
}

// complete lets the shell complete a flag from a closed list.
func complete(cmd *cobra.Command, flag string, values []string) {
	// The only errors are an unknown flag and a flag that is completed twice.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// timeFlag declares --at.
func timeFlag(cmd *cobra.Command, at *time.Time, usage string) {
	cmd.Flags().Func("at", usage, func(s string) error {
		t, err := ask.Time(s)
		if err != nil {
			return fmt.Errorf("--at %w", err)
		}
		*at = t
		return nil
	})
}

// numberFlag declares a flag with a whole number, of which an error says what to write.
func numberFlag(cmd *cobra.Command, n *int, least uint64, name, usage, write string) {
	cmd.Flags().Func(name, usage, func(s string) error {
		number, err := strconv.ParseUint(s, 10, 31)
		if err != nil || number < least {
			return fmt.Errorf("--%s %q is not %s", name, clip(s), write)
		}
		*n = int(number)
		return nil
	})
}

// budgetFlag declares the limit of a proof.
func budgetFlag(cmd *cobra.Command, budget *int) {
	*budget = compare.DefaultSteps
	numberFlag(
		cmd, budget, 1, "budget", "`N` maximum steps of a proof (default "+strconv.Itoa(compare.DefaultSteps)+")",
		"a number of steps, 1 to 2147483647",
	)
}

// failOnFlag declares --fail-on. Some commands accept more values than severities.
func failOnFlag(cmd *cobra.Command, value *string, standard string, more ...string) {
	list := append(append(ask.Severities(), ask.NeverFail), more...)
	choiceFlag(cmd, value, "fail-on", standard, "`SEVERITY` lowest severity that exits 1: "+strings.Join(list, ", "), list...)
}
