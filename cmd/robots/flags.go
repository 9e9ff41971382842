package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/spf13/cobra"
)

// This file holds the flags that verbs share: each is declared once, and its value
// is checked when it is read. How a command line is read strictly is in strict.go.

// The values of --format.
const (
	formatText = "text"
	formatTSV  = "tsv" // only of batches
	formatCSV  = "csv"

	formatMarkdown = "markdown"
	formatJSON     = "json"
)

// What package ask calls by these names is used all over the program.
const (
	allDialects = ask.AllDialects
	noLimit     = ask.NoLimit
)

var (
	clip          = ask.Clip
	nearest       = ask.Nearest
	dialectByName = ask.Dialect
	dialectNames  = ask.DialectNames
	split         = ask.URL
	checkAgents   = ask.CheckAgents
)

type source = ask.Source

func (c *call) agentFlag(cmd *cobra.Command) {
	cmd.Flags().StringArrayVarP(&c.agents, "agent", "a", nil, "the crawler's product `TOKEN`; repeat it for fallbacks, most wanted\nfirst (default *, a crawler that no group names); of a version or a\nwhole User-Agent header the tokens in it are taken")
}

// fileFlags declares which file is read and how. Where dialect may be more than
// the name of one, more says what.
func (c *call) fileFlags(cmd *cobra.Command, more ...string) {
	f := cmd.Flags()
	f.StringVarP(&c.fileName, "file", "f", "", "take this `FILE` as the robots.txt, - for standard input")
	c.comparing = len(more) > 0
	usage := "read the file as `NAME` does: " + strings.Replace(dialectList(), " google-legacy", "\ngoogle-legacy", 1)
	for _, m := range more {
		usage += ", or " + m + " to compare them"
	}
	f.StringVarP(&c.dialect, "dialect", "d", robots.RFC9309.Name, usage)
	complete(cmd, "dialect", append(dialectNames(), more...))
	registerMaxBytes(cmd, &c.maxBytes)
}

func registerMaxBytes(cmd *cobra.Command, n *int) {
	cmd.Flags().Func("max-bytes", "size limit of the file in `BYTES`, instead of the dialect's", func(s string) error {
		size, err := strconv.ParseUint(s, 10, strconv.IntSize-1)
		if err != nil && !errors.Is(err, strconv.ErrRange) { // a number out of range is the largest
			return fmt.Errorf("--max-bytes %s is not a number of bytes, 0 or more", strconv.Quote(clip(s)))
		}
		*n = int(size)
		return nil
	})
}

// rare hides flags from the help; --help-all shows them.
func rare(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		cmd.Flags().Lookup(name).Hidden = true
	}
}

// judgedAt is the usage of --at for verbs that give verdicts.
const judgedAt = "judge as of this `TIME`, such as 2026-01-31T18:00:00Z (only outages depend on it)"

func (c *call) atFlag(cmd *cobra.Command, usage string) {
	cmd.Flags().Func("at", usage, func(s string) (err error) {
		if c.at, err = ask.Time(s); err != nil {
			return fmt.Errorf("--at %w", err)
		}
		return nil
	})
}

func (c *call) colourFlag(cmd *cobra.Command) { c.colorFlag(cmd) }

// registerFormat declares --format. Of a verb that has more formats than text and
// json, more names them.
func registerFormat(cmd *cobra.Command, format *string, more ...string) {
	usage := "answer in this `FORMAT`: text, or json, one object per line"
	if len(more) > 0 {
		usage = "answer in this `FORMAT`: text, json, one object per line, " + strings.Join(more, " or ")
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
		last := len(formats) - 1
		return fmt.Errorf("unknown --format %q: it is %s or %s", format, strings.Join(formats[:last], ", "), formats[last])
	}
	return nil
}

func dialectList() string { return strings.Join(dialectNames(), ", ") }
