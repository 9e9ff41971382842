package lint

import (
	"errors"
	"strings"

	"github.com/robotskit/robots"
)

// Format returns a file in the customary layout: UTF-8 without a mark, lines ended by LF,
// known fields in their customary case, "Field: value", no blanks around lines, one blank
// before a comment, at most one blank line together, and one before a group. It changes no
// order, path, comment or misspelling, and a blank line between user-agent lines stays
// what it is, because Yandex reads it (GROUP-05). A mark that does not begin the file is text,
// and comes after a blank line where nothing else precedes it.
//
// An error says why a file is refused: it is no text, or a crawler would find other rules,
// delays or sitemaps in the result, which happens where a file or a line is about as long as
// an engine reads.
func Format(body []byte) ([]byte, error) {
	f := robots.Parse(body)
	if k := kind(f); k != "" {
		return nil, errors.New("it looks like " + k + ", not a robots.txt")
	}
	out := layout(f)
	if err := sameForAll(f, robots.Parse(out)); err != nil {
		return nil, err
	}
	return out, nil
}

// layout writes a file anew.
func layout(f *robots.File) []byte {
	var out []byte
	var lines []string // comments that may belong to the group below them
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
	for l := range f.Lines() {
		text := written(f, l)
		if len(out) == 0 && len(lines) == 0 && text != "" && text[0] == byteOrderMark[0] && (l.Span.Start > 0 || f.Text(l.Span)[0] != text[0]) {
			out, blank = append(out, '\n'), false // where the file begins, engines would drop the mark or a part of it (C-07)
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
			blank, rule = false, isRule(l.Field)
			out = append(append(out, text...), '\n')
		}
	}
	if len(lines) > 0 {
		flush(blank)
	}
	return out
}

// written returns a line in the customary layout.
func written(f *robots.File, l robots.Line) string {
	comment := strings.TrimRight(f.Text(l.Comment), " \t")
	line := strings.Trim(f.Text(robots.Span{Start: l.Span.Start, End: l.Comment.Start}), " \t")
	if l.Field != robots.FieldNone {
		name, value := f.Text(l.Name), f.Text(l.Value)
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
