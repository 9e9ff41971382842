package render

import (
	"fmt"
	"io"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
)

// Show writes what a robots.txt declares.
func Show(w io.Writer, colors Palette, s *answer.ShownFile) {
	group := "no group applies"
	if s.Group != nil {
		group = "group " + s.Group.String() + ", " + LineList(s.Group.Lines)
	}
	reader := "(" + robots.Printable(s.Crawler.Name+", "+s.Dialect+", ") + group + ")"
	fmt.Fprintf(w, "%s  %s\n", colors.Paint(Bold, robots.Printable(s.Title)), colors.Paint(Faint, reader))
	if s.Fallback != nil {
		fmt.Fprintln(w, colors.Paint(Faint, robots.Printable(s.Crawler.Sentence(*s.Fallback))))
	}
	writeFaint(w, colors, "", s.State)
	if s.Groups != nil {
		var rows [][]string
		for _, g := range s.Groups {
			rows = append(rows, []string{"  " + g.String(), Count(g.Rules, "rule") + ", " + LineList(g.Lines)})
		}
		writePart(w, colors, "Groups", rows)
	}
	if s.Delays != nil {
		writeDelays(w, colors, s.Delays, s.ByFleet)
	}
	if s.Sitemaps != nil {
		var rows [][]string
		for _, url := range s.Sitemaps {
			rows = append(rows, []string{"  " + robots.Printable(url)})
		}
		writePart(w, colors, "Sitemaps", rows)
	}
	if len(s.CleanParams) > 0 || s.CleanURL != nil {
		writePart(w, colors, "Clean-param", cleanParamRows(s))
	}
	if s.Signals != nil {
		writePart(w, colors, "Signals", signalRows(colors, s.Signals.Signals))
		writeNotes(w, colors, s.Notes, s.Dropped)
	}
}

// writePart writes the rows of a part below its title.
func writePart(w io.Writer, colors Palette, title string, rows [][]string) {
	Heading(w, colors, title)
	if len(rows) == 0 {
		fmt.Fprintln(w, "  none")
	}
	Align(w, rows)
}

// cleanParamRows returns the columns of each line Clean-param, and of the cleaned URL.
func cleanParamRows(s *answer.ShownFile) (rows [][]string) {
	for i := range s.CleanParams {
		c := &s.CleanParams[i]
		rows = append(rows, []string{"  " + LineList([]int{c.Line}), robots.Printable(c.String())})
	}
	if s.CleanURL != nil {
		rows = append(rows, []string{"  URL", robots.Printable(*s.CleanURL)})
	}
	return rows
}
