package main

import (
	"io"
	"time"

	"github.com/robotskit/robots/pace"
)

// The JSON of schedule. Durations are in seconds; a moment is RFC 3339 in the
// zone of the schedule.
type (
	jsonPlan struct {
		Schema   int         `json:"schema"`
		Agent    []string    `json:"agent"`
		Group    *string     `json:"group"`
		Dialect  string      `json:"dialect"`
		Obey     pace.Obey   `json:"obey"`
		Zone     string      `json:"zone"`
		At       string      `json:"at"`
		Next     []jsonTurn  `json:"next"`
		Day      []jsonSpan  `json:"day"`
		Declared []jsonEntry `json:"declared"`
		Dropped  int         `json:"dropped"`
		Pages    int         `json:"pages"`
		Seconds  *float64    `json:"seconds"` // null: more than ten years
		*jsonState
	}
	// jsonUndecided is the answer while nobody knows what a site asks for.
	jsonUndecided struct {
		Schema  int      `json:"schema"`
		Agent   []string `json:"agent"`
		Dialect string   `json:"dialect"`
		At      string   `json:"at"`
		jsonState
		NextTry *string `json:"next_try"` // null: not by itself
	}
	jsonTurn struct {
		Start    string       `json:"start"`
		Interval float64      `json:"interval"`
		Reasons  []jsonReason `json:"reasons"`
	}
	jsonSpan struct {
		From     string       `json:"from"`
		To       string       `json:"to"`
		Open     bool         `json:"open"`
		Interval float64      `json:"interval"`
		Reasons  []jsonReason `json:"reasons"`
	}
	jsonReason struct {
		Cause    pace.Cause `json:"cause"`
		Line     *int       `json:"line"`
		Value    *string    `json:"value"`
		Interval float64    `json:"interval"`
		Text     string     `json:"text"`
	}
	jsonEntry struct {
		Line     int       `json:"line"`
		Field    string    `json:"field"`
		Value    string    `json:"value"`
		Declared float64   `json:"declared"`
		Interval float64   `json:"interval"`
		Fate     pace.Fate `json:"fate"`
		Why      *string   `json:"why"`
	}
)

func (p *plan) printJSON(w io.Writer) error {
	j := jsonPlan{
		Schema: 1, Agent: p.agents, Dialect: p.schedule.Dialect(), Obey: p.schedule.Policy().Obey,
		Zone: p.schedule.Zone().String(), At: p.at.Format(time.RFC3339Nano),
		Declared: []jsonEntry{}, Dropped: p.schedule.Dropped(), Pages: p.pages,
	}
	if !p.group.IsZero() {
		j.Group = notEmpty(p.group.Token())
	}
	if p.within {
		seconds := p.takes.Seconds()
		j.Seconds = &seconds
	}
	for _, t := range p.next {
		j.Next = append(j.Next, jsonTurn{t.Start.Format(time.RFC3339Nano), t.Interval.Seconds(), jsonReasons(t.Reasons)})
	}
	for _, s := range p.day {
		j.Day = append(j.Day, jsonSpan{s.From.Format(time.RFC3339), s.To.Format(time.RFC3339), s.Open, s.Interval.Seconds(), jsonReasons(s.Reasons)})
	}
	for _, e := range p.schedule.Entries() {
		j.Declared = append(j.Declared, jsonEntry{e.Line, e.Field.String(), e.Value, e.Declared.Seconds(), e.Interval.Seconds(), e.Fate, notEmpty(e.Why)})
	}
	if p.record != nil {
		j.jsonState = newJSONState(p.record, p.note)
	}
	return encode(w, j)
}

// printUndecided writes an object without a pace: none is known.
func (p *plan) printUndecided(w io.Writer, dialect string) error {
	j := jsonUndecided{Schema: 1, Agent: p.agents, Dialect: dialect, At: p.at.UTC().Format(time.RFC3339Nano), jsonState: *newJSONState(p.record, p.note)}
	if t := p.record.NextTry; !t.IsZero() {
		j.NextTry = notEmpty(stamp(t))
	}
	return encode(w, j)
}

func jsonReasons(reasons []pace.Reason) []jsonReason {
	all := []jsonReason{}
	for _, r := range reasons {
		j := jsonReason{Cause: r.Cause, Value: notEmpty(r.Value), Interval: r.Interval.Seconds(), Text: r.String()}
		if r.Line > 0 {
			j.Line = &r.Line
		}
		all = append(all, j)
	}
	return all
}
