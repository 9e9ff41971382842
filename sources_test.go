package robots

import (
	"slices"
	"strconv"
	"time"
)

// An option is a field of Dialect with its sources, for docs/dialects.md.
type option struct {
	// Name is the option's name, such as "max-line-bytes".
	Name string
	// Value is its value in words or as a number: "whole-or-cut", "16663".
	Value string
	// Source is the clause with this value for an engine ("C-05", see docs/clauses.md). It is
	// empty where nobody documents the value, or the dialect is a changed one.
	Source string
	// Inherited means that no document of the engine states the value, which is that of RFC9309.
	Inherited bool
}

// options returns every field of d except its name, in the order of the struct. A field that
// differs from the dialect of that name has no source, and so has every field of a dialect that
// is not in Dialects.
func (d Dialect) options() []option {
	dialects := Dialects()
	own := slices.IndexFunc(dialects, func(o Dialect) bool { return o.Name == d.Name })
	if own >= len(ids{}) {
		own = -1
	}
	all := make([]option, len(optionRows))
	for i := range optionRows {
		o := &optionRows[i]
		all[i] = option{Name: o.name, Value: o.value(&d)}
		if own >= 0 && o.value(&dialects[own]) == all[i].Value {
			all[i].Source = o.source[own]
			all[i].Inherited = all[i].Source == ""
		}
	}
	return all
}

// ids are the clauses with the value of an option for each dialect, in the order of Dialects.
// Without one the value is inherited: no document of the engine states it, and it must be that
// of RFC9309 (TestOptions).
type ids [8]string

// optionRows has a row for each field of Dialect, in the order of the struct: the source of its
// value, and how it is written. A field without a row fails TestOptions.
var optionRows = [...]struct {
	name   string
	source ids
	value  func(*Dialect) string
}{
	{"agent-match", ids{"D-02", "AGENT-02", "C-10", "AGENT-02", "AGENT-02", "", "", "D-41"}, func(d *Dialect) string {
		return word(d.AgentMatch, "whole-or-cut", "token-cut", "whole")
	}},
	{"exact-case", ids{"AGENT-03", "AGENT-03", "AGENT-03", "AGENT-03", "AGENT-03", "", "", "SPEC 3.5"}, func(d *Dialect) string { return yesNo(d.ExactCase) }},
	{"header-values", ids{"D-02", "AGENT-02", "C-10", "AGENT-02", "AGENT-02", "AGENT-07", "", "D-41"}, func(d *Dialect) string { return yesNo(d.HeaderValues) }},
	{"merge-tokens", ids{"D-04", "AGENT-01", "C-11", "AGENT-04", "AGENT-04", "", "", "SPEC 3.5"}, func(d *Dialect) string { return yesNo(d.MergeTokens) }},
	{"raw-tokens", ids{"D-03", "D-03", "C-10", "D-03", "D-03", "D-03", "D-03", "D-03"}, func(d *Dialect) string { return yesNo(d.RawTokens) }},
	{"ignore-star", ids{"AGENT-09", "D-53", "C-13", "AGENT-09", "AGENT-09", "", "", ""}, func(d *Dialect) string {
		if d.IgnoreStar == "" {
			return "none"
		}
		return d.IgnoreStar
	}},
	{"records-end-run", ids{"D-07", "GROUP-11", "C-12", "GROUP-02", "GROUP-02", "D-07", "", "GROUP-05"}, func(d *Dialect) string { return yesNo(d.RecordsEndRun) }},
	{"blanks-end-run", ids{"D-07", "GROUP-11", "C-12", "GROUP-02", "GROUP-02", "D-07", "", "GROUP-05"}, func(d *Dialect) string { return yesNo(d.BlanksEndRun) }},
	{"misspellings", ids{"D-39", "D-39", "C-02", "FORM-08", "D-39", "", "", "D-41"}, func(d *Dialect) string { return yesNo(d.Misspellings) }},
	{"missing-colon", ids{"FORM-05", "C-03", "C-03", "FORM-05", "FORM-05", "FORM-05", "", "D-41"}, func(d *Dialect) string { return yesNo(d.MissingColon) }},
	{"c-strings", ids{"D-16", "C-18", "C-18", "D-16", "D-16", "", "", ""}, func(d *Dialect) string { return yesNo(d.CStrings) }},
	{"max-line-bytes", ids{"GRAM", "C-05", "C-05", "GRAM", "GRAM", "", "", "SPEC 3.5"}, func(d *Dialect) string { return limitWord(d.MaxLineBytes) }},
	{"max-file-bytes", ids{"FORM-09", "FORM-09", "C-05", "FORM-09", "D-18", "", "", "SPEC 3.5"}, func(d *Dialect) string { return limitWord(d.MaxFileBytes) }},
	{"over-size-opens", ids{"D-17", "D-17", "C-05", "D-17", "D-17", "", "", "SPEC 3.5"}, func(d *Dialect) string { return yesNo(d.OverSizeOpens) }},
	{"assume-slash", ids{"D-09", "RULE-03", "C-16", "RULE-03", "RULE-03", "RULE-03", "", "SPEC 3.5"}, func(d *Dialect) string { return yesNo(d.AssumeSlash) }},
	{"escapes", ids{"D-14", "D-43", "C-15", "D-43", "D-43", "", "", ""}, func(d *Dialect) string { return word(d.Escapes, "rfc", "google", "raw") }},
	{"literal-weight", ids{"PREC-01", "PREC-01", "C-19", "PREC-01", "PREC-01", "", "", "D-41"}, func(d *Dialect) string { return yesNo(d.LiteralWeight) }},
	{"star-conflict-undefined", ids{"PREC-01", "PREC-03", "C-19", "PREC-03", "PREC-03", "", "", ""}, func(d *Dialect) string { return yesNo(d.StarConflictUndefined) }},
	{"empty-disallow-allows", ids{"RULE-05", "RULE-01", "C-19", "RULE-01", "RULE-01", "RULE-01", "", "D-41"}, func(d *Dialect) string { return yesNo(d.EmptyDisallowAllows) }},
	{"index-html", ids{"MATCH-01", "C-06", "C-06", "MATCH-01", "MATCH-01", "", "", ""}, func(d *Dialect) string { return yesNo(d.IndexHTML) }},
	{"match-robots-txt", ids{"RULE-08", "D-38", "C-14", "D-38", "D-38", "", "", ""}, func(d *Dialect) string { return yesNo(d.MatchRobotsTxt) }},
	{"crawl-delay", ids{"SPEC 3.7", "SPEC 3.7", "SPEC 3.7", "SPEC 3.7", "SPEC 3.7", "SPEC 3.7", "SPEC 3.6", "SPEC 3.5"}, func(d *Dialect) string { return d.CrawlDelay.word() }},
	{"request-rate", ids{"RATE-01", "SPEC 3.2", "C-20", "SPEC 4.1", "SPEC 4.1", "RATE-01", "SPEC 4.1", "SPEC 4.1"}, func(d *Dialect) string { return d.RequestRate.word() }},
	{"rate-floor", ids{"D-33", "D-33", "D-33", "D-33", "D-33", "RATE-04", "", ""}, func(d *Dialect) string {
		if d.RateFloor == 0 {
			return "none"
		}
		return "1/" + strconv.Itoa(d.RateFloor) + "s"
	}},
	{"too-many-is-missing", ids{"D-20", "HTTP-03", "HTTP-03", "HTTP-02", "HTTP-02", "", "", "SPEC 3.5"}, func(d *Dialect) string { return yesNo(d.TooManyIsMissing) }},
	{"failure-undefined", ids{"FAIL-01", "FAIL-01", "FAIL-01", "FAIL-01", "FAIL-01", "", "", ""}, func(d *Dialect) string { return yesNo(d.FailureUndefined) }},
	{"server-errors-may-miss", ids{"HTTP-04", "HTTP-08", "HTTP-08", "HTTP-07", "HTTP-07", "", "", ""}, func(d *Dialect) string { return yesNo(d.ServerErrorsMayMiss) }},
	{"outage", ids{"D-21", "HTTP-08", "HTTP-08", "HTTP-06", "HTTP-04", "", "", ""}, func(d *Dialect) string {
		return word(d.Outage, "nothing", "copy or nothing, 30d: copy or open", "nothing, 12h: copy or open, 30d: if-answering", "nothing, 30d: copy or open")
	}},
	{"redirect-limit", ids{"D-24", "REDIR-01", "REDIR-01", "REDIR-01", "REDIR-01", "", "", ""}, func(d *Dialect) string { return limitWord(d.Redirects) }},
	{"lifetime", ids{"CACHE-01", "CACHE-01", "CACHE-01", "CACHE-01", "CACHE-01", "", "", ""}, func(d *Dialect) string { return ageWord(d.Lifetime) }},
}

// word returns the name of a constant, its number if there is none.
func word[T ~uint8](value T, words ...string) string {
	if int(value) < len(words) {
		return words[value]
	}
	return strconv.Itoa(int(value))
}

func (h Honor) word() string {
	return word(h, "reported", "ignored", "honoured", "honoured-inherits")
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func limitWord(n int) string {
	if n <= 0 {
		return "none"
	}
	return strconv.Itoa(n)
}

// ageWord formats a duration in the largest unit that divides it, days only above one: "24h",
// "30d".
func ageWord(age time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case age <= 0:
		return "none"
	case age > day && age%day == 0:
		return strconv.Itoa(int(age/day)) + "d"
	case age%time.Hour == 0:
		return strconv.Itoa(int(age/time.Hour)) + "h"
	}
	return age.String()
}
