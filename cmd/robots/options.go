package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/spf13/cobra"
)

// The values of --format.
const (
	formatText = "text"
	formatJSON = "json"
)

// allDialects is the name that --dialect takes for all of them side by side.
const allDialects = "all"

// optional is a flag of which it matters whether it was given at all.
type optional struct {
	text  string
	given bool
}

func (o *optional) String() string { return o.text }

// Set takes a flag's value; cobra calls it only if the flag is given.
func (o *optional) Set(s string) error {
	o.text, o.given = s, true
	return nil
}

// Type is empty because the name of the value stands in the flag's usage.
func (o *optional) Type() string { return "" }

// options are the flags of the verbs that judge URLs, as written.
type options struct {
	agents        []string
	file          optional
	dialect       string
	at            optional
	maxBytes      optional
	format        string
	colour        string
	userInitiated bool
	batch         bool // check only
	live          liveFlags
	urls          []string
}

// register declares the flags that judging verbs share.
func (o *options) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SortFlags = false
	registerAgent(cmd, &o.agents)
	registerFile(cmd, &o.file)
	registerDialect(cmd, &o.dialect, allDialects)
	registerMaxBytes(cmd, &o.maxBytes)
	f.BoolVar(&o.userInitiated, "user-initiated", false, "a user asked for this fetch, so robots.txt does not apply")
	registerAt(cmd, &o.at)
	o.live.register(cmd)
	registerFormat(cmd, &o.format)
	registerColour(cmd, &o.colour)
}

func registerAgent(cmd *cobra.Command, agents *[]string) {
	cmd.Flags().StringArrayVarP(agents, "agent", "a", nil, "the crawler's product `TOKEN`; repeat it for fallbacks, most wanted\nfirst (default *, a crawler that no group names); of a version or a\nwhole User-Agent header the tokens in it are taken")
}

func registerFile(cmd *cobra.Command, file *optional) {
	cmd.Flags().VarP(file, "file", "f", "take this `FILE` as the robots.txt, - for standard input")
}

// registerDialect declares --dialect, which may take more than the names of
// dialects.
func registerDialect(cmd *cobra.Command, dialect *string, more ...string) {
	usage := "read the file as `NAME` does: " + strings.Replace(dialectList(), " google-legacy", "\ngoogle-legacy", 1)
	for _, m := range more {
		usage += ", or " + m + " to compare them"
	}
	cmd.Flags().StringVarP(dialect, "dialect", "d", robots.RFC9309.Name, usage)
	complete(cmd, "dialect", append(dialectNames(), more...))
}

func registerMaxBytes(cmd *cobra.Command, maxBytes *optional) {
	cmd.Flags().Var(maxBytes, "max-bytes", "read `N` bytes of the file in place of the dialect's limit")
}

func registerAt(cmd *cobra.Command, at *optional) {
	cmd.Flags().Var(at, "at", "judge as at this `TIME`, as in 2026-01-31T18:00:00Z: it decides what\nholds while a site is out of reach, and nothing with -f")
}

func registerFormat(cmd *cobra.Command, format *string) {
	cmd.Flags().StringVar(format, "format", formatText, "answer in this `FORMAT`: text, or json, one object per line")
	complete(cmd, "format", []string{formatText, formatJSON})
}

func registerColour(cmd *cobra.Command, colour *string) {
	cmd.Flags().StringVar(colour, "color", colourAuto, "colour the text or not: `WHEN` is auto, always or never")
	complete(cmd, "color", []string{colourAuto, colourAlways, colourNever})
}

// complete lets the shell complete a flag from a closed list.
func complete(cmd *cobra.Command, flag string, values []string) {
	// The only errors are an unknown flag and a flag that is completed twice.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// settings are flags that several verbs share, read.
type settings struct {
	colours  palette
	at       time.Time // zero: now
	maxBytes int       // noLimit without --max-bytes
}

func (o *options) settings(std *streams) (s settings, err error) {
	s.maxBytes = noLimit
	if err = checkFormat(o.format); err != nil {
		return s, err
	}
	if s.colours, err = newPalette(o.colour, std.terminal); err != nil {
		return s, err
	}
	std.errColours, _ = newPalette(o.colour, std.errTerminal)
	if o.at.given {
		if s.at, err = parseTime(o.at.text); err != nil {
			return s, fmt.Errorf("--at %w", err)
		}
	}
	if o.maxBytes.given {
		if s.maxBytes, err = parseMaxBytes(o.maxBytes.text); err != nil {
			return s, fmt.Errorf("--max-bytes %w", err)
		}
	}
	return s, nil
}

// checkFormat returns an error unless the format is one we write.
func checkFormat(format string) error {
	if format != formatText && format != formatJSON {
		return fmt.Errorf("unknown --format %q: it is text or json", format)
	}
	return nil
}

// dialects returns what --dialect names: one, or all eight.
func dialects(name string) ([]robots.Dialect, error) {
	if name == allDialects {
		return robots.Dialects(), nil
	}
	d, err := dialectByName(name)
	if err != nil {
		return nil, err
	}
	return []robots.Dialect{d}, nil
}

func dialectByName(name string) (robots.Dialect, error) {
	d, ok := robots.DialectByName(name)
	if ok {
		return d, nil
	}
	hint := ""
	if near := nearest(name, dialectNames()); near != "" {
		hint = " (did you mean " + near + "?)"
	}
	return d, fmt.Errorf("unknown dialect %q%s: there are %s", clip(name), hint, dialectList())
}

func dialectNames() []string {
	var names []string
	for _, d := range robots.Dialects() {
		names = append(names, d.Name)
	}
	return names
}

func dialectList() string { return strings.Join(dialectNames(), ", ") }

// noLimit is the value of maxBytes that leaves the dialect's own limit.
const noLimit = -1

// parseMaxBytes reads a number of bytes; one that is too large for an int is
// as good as the largest.
func parseMaxBytes(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 63)
	if err == nil {
		return int(min(n, math.MaxInt)), nil
	}
	if s != "" && strings.Trim(s, "0123456789") == "" {
		return math.MaxInt, nil
	}
	return 0, fmt.Errorf("%s is not a number of bytes, 0 or more", strconv.Quote(clip(s)))
}

// limited returns file and dialect with maxBytes in place of the dialect's size
// limit. In a Dialect 0 means no limit, so that nothing at all is to be read
// has to be said by an empty file.
func limited(f *robots.File, d robots.Dialect, maxBytes int) (*robots.File, robots.Dialect) {
	switch {
	case maxBytes == 0:
		return robots.Parse(nil), d
	case maxBytes > 0:
		d.MaxFileBytes = maxBytes
	}
	return f, d
}

// parseTime reads a time as RFC 3339 writes it, where t and z may be in lower
// case.
func parseTime(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, strings.ToUpper(s))
	if err != nil {
		return t, fmt.Errorf("%q is not a time such as 2026-01-31T18:00:00Z", clip(s))
	}
	return t, nil
}

// clip bounds how much of a bad value a message repeats.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

// nearest returns the name that differs from s by the fewest edits, "" if none
// is near enough to be meant.
func nearest(s string, names []string) string {
	best, least := "", min(3, len(s)/2+1)
	for _, name := range names {
		if n := edits(strings.ToLower(s), name); n < least {
			best, least = name, n
		}
	}
	return best
}

// edits is the Levenshtein distance, of strings of a length names may have.
func edits(a, b string) int {
	if len(a) > 40 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		left, diagonal := i+1, i
		for j := range len(b) {
			up := row[j+1]
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, left, up)
			}
			row[j], diagonal, left = left, up, cost
		}
		row[len(b)] = left
	}
	return row[len(b)]
}
