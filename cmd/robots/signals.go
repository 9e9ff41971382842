package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/robotskit/robots"
)

// A draft is the document that a field follows.
type draft struct {
	title  string
	source signalSource
	values map[string]string // of each name, separated by spaces; those of "" are the field's own
}

type signalSource struct {
	Document string `json:"document"`
	Date     string `json:"date"` // of the version that was read
	URL      string `json:"url"`
}

// drafts has every signal that is reported. TDMRep and llms.txt define no field of robots.txt;
// a note says so where sites write one.
var drafts = []draft{
	{"Content-Signal", signalSource{"draft-romm-aipref-contentsignals-00", "2025-10-01", "https://contentsignals.org/"},
		map[string]string{"search": "yes no", "ai-input": "yes no", "ai-train": "yes no", "use": "immediate reference full"}},
	{"Content-Usage", signalSource{"draft-ietf-aipref-attach-05", "2026-08-19", "https://datatracker.ietf.org/doc/draft-ietf-aipref-attach/"},
		map[string]string{"train-ai": "y n", "search": "y n"}},
	{"License", signalSource{"RSL 1.0", "2025-12-10", "https://rslstandard.org/rsl"}, nil},
	{"tdm-reservation", tdmRep, map[string]string{"": "0 1"}},
	{"tdm-policy", tdmRep, nil},
	{"LLMs-Txt", signalSource{"llms.txt", "2024-09-03", "https://llmstxt.org/"}, nil},
}

var tdmRep = signalSource{"TDM Reservation Protocol", "2024-05-10", "https://www.w3.org/community/reports/tdmrep/CG-FINAL-tdmrep-20240510/"}

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

// recordsOf returns the records of a field that apply to the crawler: those of its group, or, if
// it has none, those of the file, which a group otherwise replaces (D-40).
func recordsOf(rules *robots.Rules, field robots.Field) (hold, replaced []robots.Record) {
	for rec := range rules.Records() {
		switch {
		case rec.Field != field:
		case rec.Group || !rec.Usable:
			hold = append(hold, rec)
		default:
			replaced = append(replaced, rec)
		}
	}
	if !slices.ContainsFunc(hold, func(rec robots.Record) bool { return rec.Usable }) {
		hold, replaced = append(replaced, hold...), nil
	}
	return hold, replaced
}

// signalsOf returns the signals that apply to the crawler, for one path or for all, in file
// order.
func signalsOf(rules *robots.Rules, path *robots.Path) (list []siteSignal) {
	for _, field := range contentFields {
		d := draftOf(field.String())
		var stated []robots.Preference // for the path
		if path != nil && field == robots.FieldContentUsage {
			stated = rules.ContentUsage(*path)
		} else if path != nil {
			stated = rules.ContentSignals(*path)
		}
		applies := map[robots.Preference]bool{}
		for _, p := range stated {
			applies[p] = true
		}
		hold, _ := recordsOf(rules, field)
		for _, rec := range hold {
			scope := "file"
			if rec.Group {
				scope = "group"
			}
			if rec.Usable && field == robots.FieldLicense {
				list = append(list, siteSignal{robots.Preference{Value: rec.Value, Line: rec.Line}, d, scope})
			}
			for _, p := range rec.Preferences {
				if path == nil || applies[p] {
					list = append(list, siteSignal{p, d, scope})
				}
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

var contentFields = []robots.Field{robots.FieldContentSignal, robots.FieldContentUsage, robots.FieldLicense}

// note returns a note without control characters of the file.
func note(line int, clause, format string, args ...any) robots.Note {
	return robots.Note{Line: line, Clause: clause, Text: robots.Printable(fmt.Sprintf(format, args...))}
}

// printSignals writes a line for each value.
func printSignals(w io.Writer, colors palette, list []siteSignal) {
	var rows [][]string
	for _, s := range list {
		rows = append(rows, []string{"  " + lineList([]int{s.Line}), s.title, robots.Printable(s.text()), s.scope, colors.paint(faint, s.source.Document+", "+s.source.Date)})
	}
	align(w, rows)
}
