package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/internal/duration"
)

// This file writes text for people: colors, columns, wrapped lines, numbers, times.

// The values of --color.
const (
	colorAuto   = "auto"
	colorAlways = "always"
	colorNever  = "never"
)

// A palette colors text for a terminal; the zero value leaves it as it is.
type palette struct{ on bool }

// newPalette decides whether to color. The flag outranks the environment, in which NO_COLOR
// outranks FORCE_COLOR.
func newPalette(flag string, terminal bool) palette {
	force := os.Getenv("FORCE_COLOR")
	switch {
	case flag != colorAuto:
		return palette{flag == colorAlways}
	case os.Getenv("NO_COLOR") != "":
		return palette{}
	case force != "" && force != "0" && force != "false":
		return palette{true}
	case os.Getenv("TERM") == "dumb":
		return palette{}
	}
	return palette{terminal}
}

// Select Graphic Rendition parameters (ECMA-48 section 8.3.117).
const (
	bold   = "1"
	faint  = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

// clausePage is docs/clauses.md as it is published.
const clausePage = "https://github.com/robotskit/robots/blob/main/docs/clauses.md"

// link returns the id of a clause. With colors it is a link (OSC 8).
func (p palette) link(id string) string {
	if !p.on {
		return id
	}
	anchor := strings.NewReplacer(" ", "-", ".", "").Replace(strings.ToLower(id)) // as GitHub makes it of the heading
	return "\x1b]8;;" + clausePage + "#" + anchor + "\x1b\\" + id + "\x1b]8;;\x1b\\"
}

func (p palette) paint(style, s string) string {
	if !p.on || s == "" {
		return s
	}
	return "\x1b[" + style + "m" + s + "\x1b[0m"
}

// verdict returns the word of a verdict, padded to the longest of the three.
func (p palette) verdict(v robots.Verdict) string {
	style := red
	switch {
	case v.Undefined:
		style = yellow
	case v.Allowed:
		style = green
	}
	return p.paint(style, fill(v.Word(), len("undefined")))
}

// listed joins values: of many only the first, unless most is 0.
func listed(values []string, most int) string {
	if n := len(values) - most; most > 0 && n > 1 {
		return strings.Join(values[:most], ", ") + " and " + strconv.Itoa(n) + " more"
	}
	return strings.Join(values, ", ")
}

// lineList names lines.
func lineList(lines []int) string {
	numbers := make([]string, len(lines))
	for i, n := range lines {
		numbers[i] = strconv.Itoa(n)
	}
	if len(lines) > 1 {
		return "lines " + listed(numbers, 5)
	}
	return "line " + listed(numbers, 5)
}

// fill pads with spaces to a width.
func fill(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

func heading(w io.Writer, colors palette, s string) {
	fmt.Fprintf(w, "\n%s\n", colors.paint(bold, s))
}

// stamp formats a time as --at accepts it.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// took formats a duration that was measured, at least 1 ms.
func took(d time.Duration) string {
	return duration.Text(max(d.Round(time.Millisecond), time.Millisecond))
}

// count formats a number of things: 1 byte, 2 bytes, 12,345 bytes.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return screen.Thousands(n) + " " + thing
}

// short formats a number in at most five characters.
func short(n float64) string {
	switch {
	case n >= 1e6:
		return strconv.FormatFloat(n/1e6, 'f', 1, 64) + "M"
	case n >= 1e5:
		return strconv.FormatFloat(n/1e3, 'f', 0, 64) + "k"
	case n >= 10 || n == math.Trunc(n):
		return strconv.FormatFloat(n, 'f', 0, 64)
	default:
		return strconv.FormatFloat(n, 'f', 2, 64)
	}
}
