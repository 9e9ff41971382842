package answer

import (
	"fmt"
	"slices"

	"github.com/robotskit/robots"
)

// twins maps names and values of one draft to what the other has for them.
var twins = map[string]string{"ai-train": "train-ai", "train-ai": "ai-train", "yes": "y", "no": "n", "y": "yes", "n": "no"}

// refuses reports whether a value means no, in either draft.
func refuses(value string) bool { return value == "no" || value == "n" }

// note returns a note without control characters of the file.
func note(line int, clause, format string, args ...any) robots.Note {
	return robots.Note{Line: line, Clause: clause, Text: robots.Printable(fmt.Sprintf(format, args...))}
}

// signalNotes returns notes on lines that do not apply to the crawler, and on signals that their
// document does not define.
func signalNotes(rules *robots.Rules, list []Signal) (notes []robots.Note) {
	add := func(line int, clause, format string, args ...any) {
		notes = append(notes, note(line, clause, format, args...))
	}
	for rec, applies := range recordsOf(rules) {
		if title := draftOf(rec.Field.String()).title; !applies {
			add(rec.Line, "D-40", "the crawler's group has its own %s, so this one does not apply to it", title)
		} else if !rec.Usable {
			add(rec.Line, "SPEC 3.8", "%s %s is not used: %s", title, clip(rec.Value), rec.Problem)
		}
	}
	for l := range rules.File().Lines(rules.Dialect()) {
		if l.Field == robots.FieldContentUsage && l.Group < 0 {
			add(l.Number, "GROUP-03", "Content-Usage precedes the first user-agent line, so it applies to no crawler")
		}
	}
	said := map[string][]string{} // of each document
	for _, s := range list {
		text := s.Source.noField
		if text == "" && s.Name != nil && !s.Known {
			text = s.Source.Document + " has no " + clip(*s.Name+"="+s.Value) + s.draft.suggestion(*s.Name, s.Value)
		}
		before := said[s.Source.Document]
		if text != "" && len(before) < maxUndefined && !slices.Contains(before, text) {
			said[s.Source.Document] = append(before, text)
			add(s.Line, "SPEC 3.8", "%s", text)
		}
	}
	return notes
}

// maxUndefined limits the notes on values of a field that its draft does not define.
const maxUndefined = 5

// suggestion suggests what the draft has for a name and value of the other draft, "" if nothing.
func (d *draft) suggestion(name, value string) string {
	for _, n := range []string{name, twins[name]} {
		for _, v := range []string{value, twins[value]} {
			if d.has(n, v) {
				return "; did you mean " + n + "=" + v + "?"
			}
		}
	}
	return ""
}

// disagreements returns notes on values for one path that contradict each other: of one field,
// or of the two drafts.
func disagreements(list []Signal) (notes []robots.Note) {
	type key struct{ field, name, path string }
	seen := map[key]*Signal{}
	differ := func(s *Signal, k key, differs func(first *Signal) bool) {
		first := seen[k]
		if first == nil {
			seen[k] = s
		} else if differs(first) {
			text := "%s is %s, but %s in line %d is %s"
			notes = append(notes, note(s.Line, "SPEC 3.8", text, s.Title(), s.Text(), first.Title(), first.Line, first.Text()))
		}
	}
	for i := range list {
		s := &list[i]
		if s.draft.values == nil || !s.Known {
			continue
		}
		differ(s, key{s.Title(), valueOf(s.Name), valueOf(s.Path)}, func(first *Signal) bool { return first.Value != s.Value })
		// A name of both drafts means the same in both.
		differ(s, key{"", max(valueOf(s.Name), twins[valueOf(s.Name)]), valueOf(s.Path)}, func(first *Signal) bool {
			return first.draft != s.draft && refuses(first.Value) != refuses(s.Value)
		})
	}
	return notes
}
