package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/robotskit/robots"
	"golang.org/x/term"
)

// The values of --color.
const (
	colourAuto   = "auto"
	colourAlways = "always"
	colourNever  = "never"
)

// isTerminal reports whether w is a terminal: only there are colours wanted,
// and only there can a file's bytes do harm.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// A palette colours text for a terminal; the zero value leaves it as it is.
type palette struct{ on bool }

// newPalette decides whether to colour. The flag outranks the environment, and
// there NO_COLOR outranks FORCE_COLOR: who asks for silence gets it.
func newPalette(flag string, terminal bool) (palette, error) {
	switch flag {
	case colourAlways:
		return palette{true}, nil
	case colourNever:
		return palette{}, nil
	case colourAuto:
	default:
		return palette{}, fmt.Errorf("unknown --color %q: it is one of auto, always and never", flag)
	}
	force := os.Getenv("FORCE_COLOR")
	switch {
	case os.Getenv("NO_COLOR") != "":
		return palette{}, nil
	case force != "" && force != "0" && force != "false":
		return palette{true}, nil
	case os.Getenv("TERM") == "dumb":
		return palette{}, nil
	}
	return palette{terminal}, nil
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

// link returns the id of a statement, filled up to a width. Where there are
// colours it is a link to the page (OSC 8), which a terminal shows as the id.
func (p palette) link(id string, width int) string {
	if !p.on {
		return fill(id, width)
	}
	anchor := strings.NewReplacer(" ", "-", ".", "").Replace(strings.ToLower(id)) // as GitHub makes it of the heading
	return "\x1b]8;;" + clausePage + "#" + anchor + "\x1b\\" + id + "\x1b]8;;\x1b\\" + fill("", width-len(id))
}

func (p palette) paint(style, s string) string {
	if !p.on || s == "" {
		return s
	}
	return "\x1b[" + style + "m" + s + "\x1b[0m"
}

// verdict returns the verdict's word, filled up to the longest of the three so
// that what follows is aligned.
func (p palette) verdict(v robots.Verdict) string {
	word := fmt.Sprintf("%-9s", v.Word())
	switch {
	case v.Undefined:
		return p.paint(yellow, word)
	case v.Allowed:
		return p.paint(green, word)
	default:
		return p.paint(red, word)
	}
}
