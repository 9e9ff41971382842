package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots/cmd/internal/ask"
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

// Shorter names for package ask.
const noLimit = ask.NoLimit

var clip = ask.Clip

func registerMaxBytes(cmd *cobra.Command, n *int) {
	cmd.Flags().Func("max-bytes", "`BYTES` size limit of the file, instead of the dialect's", func(s string) error {
		size, err := strconv.ParseUint(s, 10, strconv.IntSize-1)
		if err != nil && !errors.Is(err, strconv.ErrRange) { // a number out of range is the largest
			return fmt.Errorf("--max-bytes %s is not a number of bytes, 0 or more", strconv.Quote(clip(s)))
		}
		*n = int(size)
		return nil
	})
}

// judgedAt is the usage of --at for verbs that give verdicts.
const judgedAt = "`TIME` time to judge at, such as 2026-01-31T18:00:00Z (only outages depend on it)"

// registerFormat declares --format. Of a verb that has more formats than text and
// json, more names them.
func registerFormat(cmd *cobra.Command, format *string, more ...string) {
	usage := "`FORMAT` text, or json (one object per line)"
	if len(more) > 0 {
		usage = "`FORMAT` text, json, " + strings.Join(more, ", ")
	}
	cmd.Flags().StringVar(format, "format", formatText, usage)
	complete(cmd, "format", append([]string{formatText, formatJSON}, more...))
}

// complete lets the shell complete a flag from a closed list.
func complete(cmd *cobra.Command, flag string, values []string) {
	// The only errors are an unknown flag and a flag that is completed twice.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// checkFormat returns an error unless the format is one that the verb writes.
func checkFormat(format string, more ...string) error {
	formats := append([]string{formatText, formatJSON}, more...)
	if !slices.Contains(formats, format) {
		return fmt.Errorf("unknown --format %q (known: %s)", clip(format), strings.Join(formats, ", "))
	}
	return nil
}
