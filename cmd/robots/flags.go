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
	formatTSV  = "tsv" // of batches alone
	formatJSON = "json"
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

// judgingFlags declares the flags of the verbs that judge URLs.
func (c *call) judgingFlags(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	c.agentFlag(cmd)
	c.asFlag(cmd)
	c.fileFlags(cmd, allDialects)
	cmd.Flags().BoolVar(&c.userInitiated, "user-initiated", false, "a user asked for this fetch, so robots.txt does not apply")
	c.atFlag(cmd, judgedAt)
	c.site.register(cmd)
	registerFormat(cmd, &c.format, c.formats...)
	c.colourFlag(cmd)
	c.site.registerProbe(cmd)
}

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
	f.Func("max-bytes", "read `N` bytes of the file in place of the dialect's limit", func(s string) error {
		n, err := strconv.ParseUint(s, 10, strconv.IntSize-1)
		if err != nil && !errors.Is(err, strconv.ErrRange) { // what is too large is the largest
			return fmt.Errorf("--max-bytes %s is not a number of bytes, 0 or more", strconv.Quote(clip(s)))
		}
		c.maxBytes = int(n)
		return nil
	})
}

// judgedAt is the usage of --at for verbs that give verdicts.
const judgedAt = "judge as at this `TIME`, as in 2026-01-31T18:00:00Z: it decides what\nholds while a site is out of reach, and nothing with -f"

func (c *call) atFlag(cmd *cobra.Command, usage string) {
	cmd.Flags().Func("at", usage, func(s string) (err error) {
		if c.at, err = ask.Time(s); err != nil {
			return fmt.Errorf("--at %w", err)
		}
		return nil
	})
}

func (c *call) colourFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.colour, "color", colourAuto, "colour the text or not: `WHEN` is auto, always or never")
	complete(cmd, "color", []string{colourAuto, colourAlways, colourNever})
}

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
