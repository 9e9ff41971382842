package answer

import (
	"iter"
	"slices"
	"strings"

	"github.com/robotskit/robots"
)

// A draft is what a document defines for a field.
type draft struct {
	Draft
	title  string
	values map[string]string // of each name, separated by spaces; those of "" are the field's own; nil for any
}

// A Draft is the document that a field follows.
type Draft struct {
	Document string `json:"document"` // its name
	Date     string `json:"date"`     // of the version that was read
	URL      string `json:"url"`      // where it is published

	// noField is why a line is of no effect, if the document defines no field of robots.txt.
	noField string
}

// drafts has every signal that is reported.
var drafts = []draft{
	{
		Draft{Document: "draft-romm-aipref-contentsignals-00", Date: "2025-10-01", URL: "https://contentsignals.org/"},
		"Content-Signal", map[string]string{"search": "yes no", "ai-input": "yes no", "ai-train": "yes no", "use": "immediate reference full"},
	},
	{
		Draft{Document: "draft-ietf-aipref-attach-05", Date: "2026-08-19", URL: "https://datatracker.ietf.org/doc/draft-ietf-aipref-attach/"},
		"Content-Usage", map[string]string{"train-ai": "y n", "search": "y n"},
	},
	{Draft{Document: "RSL 1.0", Date: "2025-12-10", URL: "https://rslstandard.org/rsl"}, "License", nil},
	{tdmRep, "tdm-reservation", map[string]string{"": "0 1"}},
	{tdmRep, "tdm-policy", nil},
	{
		Draft{"llms.txt", "2024-09-03", "https://llmstxt.org/", "its proposal defines no field of robots.txt; llms.txt is not fetched"},
		"LLMs-Txt", nil,
	},
}

var tdmRep = Draft{
	"TDM Reservation Protocol", "2024-05-10", "https://www.w3.org/community/reports/tdmrep/CG-FINAL-tdmrep-20240510/",
	"this protocol uses a header, /.well-known/tdmrep.json and the page, and defines no field of robots.txt; none of them is fetched",
}

// llmsNames are the names under which files point to an llms.txt, in lower case.
var llmsNames = []string{"llms-txt", "llms.txt", "llms", "llm-txt", "llms-full-txt", "llms-txt-full", "llms-full", "llms-full.txt"}

func draftOf(field string) *draft {
	field = strings.ToLower(field)
	if slices.Contains(llmsNames, field) {
		field = "llms-txt"
	}
	if i := slices.IndexFunc(drafts, func(d draft) bool { return strings.ToLower(d.title) == field }); i >= 0 {
		return &drafts[i]
	}
	return nil
}

// has reports whether a draft has a name with this value.
func (d *draft) has(name, value string) bool {
	values, ok := d.values[name]
	return d.values == nil || ok && slices.Contains(strings.Fields(values), value)
}

// A Signal is one value of a field that states a preference, such as Content-Signal. It changes
// no verdict.
type Signal struct {
	Field  string  `json:"field"`  // in lower case
	Name   *string `json:"name"`   // of the preference
	Value  string  `json:"value"`  // as written
	Path   *string `json:"path"`   // to which it applies, null for all
	Scope  string  `json:"scope"`  // group or file
	Line   int     `json:"line"`   // from 1
	Known  bool    `json:"known"`  // the document has the name and the value
	Source Draft   `json:"source"` // the document that defines it

	draft *draft
}

// newSignal returns a signal; the name and the path can be "".
func newSignal(d *draft, p robots.Preference, scope string) Signal {
	return Signal{
		Field: strings.ToLower(d.title), Name: OrNull(p.Name), Value: p.Value, Path: OrNull(p.Path), Scope: scope, Line: p.Line,
		Known: d.has(p.Name, p.Value), Source: d.Draft, draft: d,
	}
}

// OrNull returns nil, which is null in JSON, for a zero value.
func OrNull[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

// Title is the name of the field as files have it.
func (s *Signal) Title() string { return s.draft.title }

// Text is the value as a line of the file has it.
func (s *Signal) Text() string {
	text := s.Value
	if s.Name != nil {
		text = *s.Name + "=" + text
	}
	return strings.TrimPrefix(valueOf(s.Path)+" "+text, " ")
}

// recordsOf returns the records with a draft in file order, and whether they apply to the crawler:
// those of its group do, or, if a field has none there, those of the file (D-40).
func recordsOf(rules *robots.Rules) iter.Seq2[robots.Record, bool] {
	own := map[robots.Field]bool{}
	for rec := range rules.Records() {
		own[rec.Field] = own[rec.Field] || rec.Group && rec.Usable
	}
	return func(yield func(robots.Record, bool) bool) {
		for rec := range rules.Records() {
			if draftOf(rec.Field.String()) != nil && !yield(rec, rec.Group || !rec.Usable || !own[rec.Field]) {
				return
			}
		}
	}
}

// signalsOf returns the signals that apply to the crawler, for one path or for all, in file
// order; not nil.
func signalsOf(rules *robots.Rules, path *robots.Path) []Signal {
	list := []Signal{}
	stated := map[robots.Preference]bool{}
	if path != nil {
		for _, p := range append(rules.ContentUsage(*path), rules.ContentSignals(*path)...) {
			stated[p] = true
		}
	}
	for rec, applies := range recordsOf(rules) {
		if !applies {
			continue
		}
		d := draftOf(rec.Field.String())
		scope := "file"
		if rec.Group {
			scope = "group"
		}
		if rec.Usable && d.values == nil {
			list = append(list, newSignal(d, robots.Preference{Value: rec.Value, Line: rec.Line}, scope))
		}
		for _, p := range rec.Preferences {
			if path == nil || stated[p] {
				list = append(list, newSignal(d, p, scope))
			}
		}
	}
	if hasUnknownDraft(rules.File().Bytes()) {
		list = append(list, unknownSignals(rules)...)
	}
	slices.SortStableFunc(list, func(a, b Signal) int { return a.Line - b.Line })
	return list
}

// unknownSignals returns those of fields that package robots does not know.
func unknownSignals(rules *robots.Rules) (list []Signal) {
	for l := range rules.Unknown() {
		if d := draftOf(rules.File().Text(l.Name)); d != nil {
			list = append(list, newSignal(d, robots.Preference{Value: rules.File().Text(l.Value), Line: l.Number}, "file"))
		}
	}
	return list
}

// hasUnknownDraft reports whether a file can have a field with a draft that package robots does not
// know, whose names all contain "llm" or "tdm". Reading its lines takes several times as long.
func hasUnknownDraft(body []byte) bool {
	const toLower = 'a' - 'A'
	for i := 2; i < len(body); i++ {
		if body[i]|toLower != 'm' {
			continue
		}
		if first, second := body[i-2]|toLower, body[i-1]|toLower; first == 'l' && second == 'l' || first == 't' && second == 'd' {
			return true
		}
	}
	return false
}

// Signals are those of a file that apply to a crawler.
type Signals struct {
	Signals []Signal `json:"signals"` // in file order
	Notes   []Note   `json:"notes"`   // lines without effect, and values that contradict each other
	Dropped int      `json:"dropped"` // notes beyond the limit
}

// maxNotes limits the notes, as those of an explanation are.
const maxNotes = 50

// signalsWithNotes returns the signals that apply to a crawler.
func signalsWithNotes(r *robots.Rules) Signals {
	list := signalsOf(r, nil)
	notes := append(signalNotes(r, list), disagreements(list)...)
	slices.SortStableFunc(notes, func(a, b robots.Note) int { return a.Line - b.Line })
	shown := min(len(notes), maxNotes)
	return Signals{Signals: list, Notes: NewNotes(notes[:shown]), Dropped: len(notes) - shown}
}

// LineSignals returns the signals that a line of a file states, whoever they apply to: none if it is
// not a line Content-Signal, Content-Usage or License, if its value is invalid, or if it is a
// Content-Usage without a group, which applies to no crawler.
func LineSignals(f *robots.File, l robots.Line) []Signal {
	d := draftOf(l.Field.String())
	inGroup := l.Group >= 0
	if d == nil || !inGroup && l.Field == robots.FieldContentUsage {
		return nil
	}
	// The value is read in a file of its own: the records of a file are those of one crawler.
	alone := robots.Parse([]byte("User-agent: *\n" + d.title + ": " + f.Text(l.Value)))
	list := signalsOf(alone.Rules(robots.Dialect{}), nil)
	for i := range list {
		list[i].Line = l.Number
		if !inGroup {
			list[i].Scope = "file"
		}
	}
	return list
}
