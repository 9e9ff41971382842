package main

import "github.com/robotskit/robots"

// meanings maps names that both drafts have to what they mean.
var meanings = map[string]string{"ai-train": "training", "train-ai": "training", "search": "search"}

// twins maps names and values of one draft to what the other has for them.
var twins = map[string]string{"ai-train": "train-ai", "train-ai": "ai-train", "yes": "y", "no": "n", "y": "yes", "n": "no"}

// refuses reports whether a value means no, in either draft.
func refuses(value string) bool { return value == "no" || value == "n" }

// remarks returns notes on lines that do not apply to the crawler, or that their document does
// not define.
func remarks(rules *robots.Rules) (notes []robots.Note) {
	add := func(line int, clause, format string, args ...any) {
		notes = append(notes, note(line, clause, format, args...))
	}
	for _, field := range contentFields {
		d := draftOf(field.String())
		hold, replaced := recordsOf(rules, field)
		for _, rec := range replaced {
			add(rec.Line, "D-40", "the crawler's group has its own %s, so this one does not apply to it", d.title)
		}
		undefined := map[string]bool{}
		for _, rec := range hold {
			if !rec.Usable {
				add(rec.Line, "SPEC 3.8", "%s %s is not used: %s", d.title, clip(rec.Value), rec.Problem)
			}
			for _, p := range rec.Preferences {
				said := p.Name + "=" + p.Value
				if !d.has(p.Name, p.Value) && !undefined[said] && len(undefined) < maxUndefined {
					undefined[said] = true
					add(p.Line, "SPEC 3.8", "%s has no %s%s", d.source.Document, clip(said), d.suggestion(p.Name, p.Value))
				}
			}
		}
	}
	for l := range rules.File().Lines(rules.Dialect()) {
		if l.Field == robots.FieldContentUsage && l.Group < 0 {
			add(l.Number, "GROUP-03", "Content-Usage precedes the first user-agent line, so it applies to no crawler")
		}
	}
	said := map[string]bool{} // documents
	for l := range rules.Unknown() {
		d := draftOf(rules.File().Text(l.Name))
		if d == nil || said[d.source.Document] {
			continue
		}
		said[d.source.Document] = true
		where := "its proposal defines no field of robots.txt; llms.txt is not fetched"
		if d.source == tdmRep {
			where = "this protocol uses a header, /.well-known/tdmrep.json and the page, and defines no field of robots.txt; none of them is fetched"
		}
		add(l.Number, "SPEC 3.8", "%s", where)
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
func disagreements(list []siteSignal) (notes []robots.Note) {
	type key struct{ field, name, path string }
	seen := map[key]*siteSignal{}
	differ := func(s *siteSignal, k key, differs func(a, b *siteSignal) bool) {
		first := seen[k]
		if first == nil {
			seen[k] = s
		} else if differs(first, s) {
			notes = append(notes, note(s.Line, "SPEC 3.8", "%s is %s, but %s in line %d is %s", s.title, s.text(), first.title, first.Line, first.text()))
		}
	}
	for i := range list {
		s := &list[i]
		if !s.known() {
			continue
		}
		if s.Name != "" || s.title == "tdm-reservation" {
			differ(s, key{s.title, s.Name, s.Path}, func(a, b *siteSignal) bool { return a.Value != b.Value })
		}
		if m := meanings[s.Name]; m != "" {
			differ(s, key{"", m, s.Path}, func(a, b *siteSignal) bool { return a.draft != b.draft && refuses(a.Value) != refuses(b.Value) })
		}
	}
	return notes
}
