package main

import (
	"iter"
	"slices"
	"strings"

	"github.com/robotskit/robots"
)

// A draft is the document that a field follows.
type draft struct {
	title  string
	source signalSource
	values map[string]string // of each name, separated by spaces; those of "" are the field's own; nil for any
}

type signalSource struct {
	Document string `json:"document"`
	Date     string `json:"date"` // of the version that was read
	URL      string `json:"url"`
	// noField is why a line is of no effect, if the document defines no field of robots.txt.
	noField string
}

// drafts has every signal that is reported.
var drafts = []draft{
	{"Content-Signal", signalSource{Document: "draft-romm-aipref-contentsignals-00", Date: "2025-10-01", URL: "https://contentsignals.org/"},
		map[string]string{"search": "yes no", "ai-input": "yes no", "ai-train": "yes no", "use": "immediate reference full"}},
	{"Content-Usage", signalSource{Document: "draft-ietf-aipref-attach-05", Date: "2026-08-19", URL: "https://datatracker.ietf.org/doc/draft-ietf-aipref-attach/"},
		map[string]string{"train-ai": "y n", "search": "y n"}},
	{"License", signalSource{Document: "RSL 1.0", Date: "2025-12-10", URL: "https://rslstandard.org/rsl"}, nil},
	{"tdm-reservation", tdmRep, map[string]string{"": "0 1"}},
	{"tdm-policy", tdmRep, nil},
	{"LLMs-Txt", signalSource{"llms.txt", "2024-09-03", "https://llmstxt.org/", "its proposal defines no field of robots.txt; llms.txt is not fetched"}, nil},
}

var tdmRep = signalSource{"TDM Reservation Protocol", "2024-05-10", "https://www.w3.org/community/reports/tdmrep/CG-FINAL-tdmrep-20240510/",
	"this protocol uses a header, /.well-known/tdmrep.json and the page, and defines no field of robots.txt; none of them is fetched"}

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

// A siteSignal is one value of a file.
type siteSignal struct {
	robots.Preference
	*draft
	scope string // group or file
}

// known reports whether the document has the name and the value.
func (s siteSignal) known() bool { return s.has(s.Name, s.Value) }

func (s siteSignal) MarshalJSON() ([]byte, error) {
	return jsonObject{
		{"field", strings.ToLower(s.title)}, {"name", notEmpty(s.Name)}, {"value", s.Value}, {"path", notEmpty(s.Path)}, {"scope", s.scope}, {"line", s.Line},
		{"known", s.known()}, {"source", s.source},
	}.MarshalJSON()
}

// text is the value as a line of the file has it.
func (s *siteSignal) text() string {
	text := s.Value
	if s.Name != "" {
		text = s.Name + "=" + text
	}
	return strings.TrimPrefix(s.Path+" "+text, " ")
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
func signalsOf(rules *robots.Rules, path *robots.Path) []siteSignal {
	list, stated := []siteSignal{}, map[robots.Preference]bool{}
	if path != nil {
		for _, p := range append(rules.ContentUsage(*path), rules.ContentSignals(*path)...) {
			stated[p] = true
		}
	}
	for rec, applies := range recordsOf(rules) {
		if !applies {
			continue
		}
		d, scope := draftOf(rec.Field.String()), "file"
		if rec.Group {
			scope = "group"
		}
		if rec.Usable && d.values == nil {
			list = append(list, siteSignal{robots.Preference{Value: rec.Value, Line: rec.Line}, d, scope})
		}
		for _, p := range rec.Preferences {
			if path == nil || stated[p] {
				list = append(list, siteSignal{p, d, scope})
			}
		}
	}
	for l := range rules.Unknown() {
		if d := draftOf(rules.File().Text(l.Name)); d != nil {
			list = append(list, siteSignal{robots.Preference{Value: rules.File().Text(l.Value), Line: l.Number}, d, "file"})
		}
	}
	slices.SortStableFunc(list, func(a, b siteSignal) int { return a.Line - b.Line })
	return list
}

// signalRows returns the columns of each value.
func signalRows(colors palette, list []siteSignal) (rows [][]string) {
	for _, s := range list {
		rows = append(rows, []string{"  " + lineList([]int{s.Line}), s.title, robots.Printable(s.text()), s.scope, colors.paint(faint, s.source.Document+", "+s.source.Date)})
	}
	return rows
}
