// Package render shows answers to people: columns, colors, wrapped lines, numbers and times.
package render

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

// The values of --color.
const (
	ColorAuto   = "auto"
	ColorAlways = "always"
	ColorNever  = "never"
)

// A Palette colors text for a terminal; the zero value leaves it as it is.
type Palette struct{ On bool }

// NewPalette decides whether to color. The flag outranks the environment, in which NO_COLOR
// outranks FORCE_COLOR.
func NewPalette(flag string, terminal bool) Palette {
	force := os.Getenv("FORCE_COLOR")
	switch {
	case flag != ColorAuto:
		return Palette{flag == ColorAlways}
	case os.Getenv("NO_COLOR") != "":
		return Palette{}
	case force != "" && force != "0" && force != "false":
		return Palette{true}
	case os.Getenv("TERM") == "dumb":
		return Palette{}
	}
	return Palette{terminal}
}

// Select Graphic Rendition parameters (ECMA-48 section 8.3.117).
const (
	Bold   = "1"
	Faint  = "2"
	Red    = "31"
	Green  = "32"
	Yellow = "33"
)

// clausePage is docs/clauses.md as it is published.
const clausePage = "https://github.com/robotskit/robots/blob/main/docs/clauses.md"

// Link returns the id of a clause. With colors it is a link (OSC 8).
func (p Palette) Link(id string) string {
	if !p.On {
		return id
	}
	anchor := strings.NewReplacer(" ", "-", ".", "").Replace(strings.ToLower(id)) // as GitHub makes it of the heading
	return "\x1b]8;;" + clausePage + "#" + anchor + "\x1b\\" + id + "\x1b]8;;\x1b\\"
}

// Paint returns text in a style, one of the constants above.
func (p Palette) Paint(style, s string) string {
	if !p.On || s == "" {
		return s
	}
	return "\x1b[" + style + "m" + s + "\x1b[0m"
}

// Verdict returns the word of a verdict, padded to the longest of the three.
func (p Palette) Verdict(v robots.Verdict) string {
	style := Red
	switch {
	case v.Undefined:
		style = Yellow
	case v.Allowed:
		style = Green
	}
	return p.Paint(style, Fill(v.Word(), len("undefined")))
}

// Listed joins values: of many only the first, unless most is 0.
func Listed(values []string, most int) string {
	if n := len(values) - most; most > 0 && n > 1 {
		return strings.Join(values[:most], ", ") + " and " + strconv.Itoa(n) + " more"
	}
	return strings.Join(values, ", ")
}

// LineList names lines.
func LineList(lines []int) string {
	numbers := make([]string, len(lines))
	for i, n := range lines {
		numbers[i] = strconv.Itoa(n)
	}
	if len(lines) > 1 {
		return "lines " + Listed(numbers, 5)
	}
	return "line " + Listed(numbers, 5)
}

// Fill pads with spaces to a width.
func Fill(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

// Heading writes the heading of a part after an empty line.
func Heading(w io.Writer, colors Palette, s string) {
	fmt.Fprintf(w, "\n%s\n", colors.Paint(Bold, s))
}

// Stamp formats a time as --at accepts it.
func Stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Took formats a duration that was measured, at least 1 ms.
func Took(d time.Duration) string {
	return duration.Text(max(d.Round(time.Millisecond), time.Millisecond))
}

// Count formats a number of things: 1 byte, 2 bytes, 12,345 bytes.
func Count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return screen.Thousands(n) + " " + thing
}

// Short formats a number in at most five characters.
func Short(n float64) string {
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
