package lint

import (
	"errors"
	"strings"

	"github.com/robotskit/robots"
)

// Format returns a file in the standard layout: UTF-8, LF line ends, "Field: value", one space
// before a comment, one blank line between groups. Order, paths, comments, misspellings and
// blank lines between user-agent lines (GROUP-05) are kept. It returns an error if the file is
// not a robots.txt, or if a dialect would read the result differently, for example near a size
// limit.
func Format(body []byte) ([]byte, error) {
	f := robots.Parse(body)
	if k := Kind(f); k != "" {
		return nil, errors.New("it looks like " + k + ", not a robots.txt")
	}
	out := layout(f)
	if err := sameForAll(f, robots.Parse(out)); err != nil {
		return nil, err
	}
	return out, nil
}

// marks are the first bytes of the byte order marks of UTF-8 and UTF-16.
const marks = "\xEF\xFE\xFF"

// layout formats a file.
func layout(f *robots.File) []byte {
	var out []byte
	var lines []string // comments, which might belong to the group below
	rule := false      // the last field was a rule
	blank := false     // blank lines came after what was written last
	flush := func(before bool) {
		if before && len(out) > 0 {
			out = append(out, '\n')
		}
		for _, l := range lines {
			out = append(append(out, l...), '\n')
		}
		lines = lines[:0]
	}
	for l := range f.Lines(robots.Dialect{}) {
		text := written(f, l)
		if len(out) == 0 && len(lines) == 0 && text != "" && strings.IndexByte(marks, text[0]) >= 0 &&
			(l.Span.Start > 0 || f.Text(l.Span)[0] != text[0]) {
			// At the start of the file engines would ignore the mark, or part of it (C-07).
			out = append(out, '\n')
			blank = false
		}
		switch {
		case text == "":
			if len(lines) > 0 {
				flush(blank)
			}
			blank = true
		case text[0] == '#':
			lines = append(lines, text)
		default:
			flush(blank || rule && l.Field == robots.FieldUserAgent)
			blank = false
			rule = isRule(l.Field)
			out = append(append(out, text...), '\n')
		}
	}
	if len(lines) > 0 {
		flush(blank)
	}
	return out
}

// written returns a line in the standard layout.
func written(f *robots.File, l robots.Line) string {
	comment := strings.TrimRight(f.Text(l.Comment), " \t")
	line := strings.Trim(f.Text(robots.Span{Start: l.Span.Start, End: l.Comment.Start}), " \t")
	if l.Field != robots.FieldNone {
		name := f.Text(l.Name)
		value := f.Text(l.Value)
		if known := customary(name); known != "" {
			name = known
		}
		line = strings.TrimRight(name+": "+value, " ")
	}
	if line != "" && comment != "" {
		line += " "
	}
	return line + comment
}
