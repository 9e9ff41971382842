package robots

import "strconv"

// An Option is one field of a Dialect with what stands behind it, for
// documents, answers and comparisons.
type Option struct {
	// Name is the option's name, such as "line-limit".
	Name string
	// Value is its value in words or as a number: "whole-or-cut", "16663".
	Value string
	// Source is the statement that gives an engine this value ("C-05", see
	// docs/clauses.md). It is empty where nobody documents it and where the
	// dialect was changed by hand.
	Source string
	// Inherited says that no document of the engine states the value; it is
	// the one of RFC9309.
	Inherited bool
}

// Options returns every field of d except its name, in the order of the struct.
// A field that differs from the dialect of that name has no source, and so has
// every field of a dialect that is none of Dialects.
func (d Dialect) Options() []Option {
	own, column := Dialect{}, -1
	for i, known := range Dialects() {
		if known.Name == d.Name {
			own, column = known, i
		}
	}
	all := make([]Option, len(options))
	for i := range options {
		o := &options[i]
		all[i] = Option{Name: o.name, Value: o.value(&d)}
		if column >= 0 && o.value(&own) == all[i].Value {
			all[i].Source = o.sources[column]
			all[i].Inherited = all[i].Source == inherited
		}
	}
	return all
}

// inherited is the source of a value that nobody documents.
const inherited = ""

// options has one row for each field of Dialect: how its value is written, and
// which statement gives it to each dialect, in the order of Dialects. A field
// without a row fails TestOptions, a row that inherits another value than that
// of RFC9309 too.
var options = [...]struct {
	name    string
	value   func(*Dialect) string
	sources [8]string
}{
	// rfc9309, google, google-cpp, google-2019, google-legacy, seznam, bing, yandex
	{
		"agent-match",
		func(d *Dialect) string {
			return word(d.AgentMatch, "whole-or-cut", "token-cut", "whole")
		},
		[8]string{"D-02", "AGENT-02", "C-10", "AGENT-02", "AGENT-02", inherited, inherited, "D-41"},
	},
	{
		"agent-case",
		func(d *Dialect) string { return word(d.AgentCase, "fold-case", "exact-case") },
		[8]string{"AGENT-03", "AGENT-03", "AGENT-03", "AGENT-03", "AGENT-03", inherited, inherited, "SPEC 3.5"},
	},
	{
		"header-values",
		func(d *Dialect) string { return yesNo(d.HeaderValues) },
		[8]string{"D-02", "AGENT-02", "C-10", "AGENT-02", "AGENT-02", "AGENT-07", inherited, "D-41"},
	},
	{
		"tokens",
		func(d *Dialect) string { return word(d.Tokens, "first-found", "merged") },
		[8]string{"D-04", "AGENT-01", "C-11", "AGENT-04", "AGENT-04", inherited, inherited, "SPEC 3.5"},
	},
	{
		"raw-tokens",
		func(d *Dialect) string { return yesNo(d.RawTokens) },
		[8]string{"D-03", "D-03", "C-10", "D-03", "D-03", "D-03", "D-03", "D-03"},
	},
	{
		"ignore-star",
		func(d *Dialect) string {
			if d.IgnoreStar == "" {
				return "none"
			}
			return d.IgnoreStar
		},
		[8]string{"AGENT-09", "D-53", "C-13", "AGENT-09", "AGENT-09", inherited, inherited, inherited},
	},
	{
		"run-end",
		func(d *Dialect) string { return word(d.RunEnd, "by-rule", "by-member", "by-rule-or-blank") },
		[8]string{"D-07", "GROUP-11", "C-12", "GROUP-02", "GROUP-02", "D-07", inherited, "GROUP-05"},
	},
	{
		"misspellings",
		func(d *Dialect) string { return yesNo(d.Misspellings) },
		[8]string{"D-39", "D-39", "C-02", "FORM-08", "D-39", inherited, inherited, "D-41"},
	},
	{
		"missing-colon",
		func(d *Dialect) string { return yesNo(d.MissingColon) },
		[8]string{"FORM-05", "C-03", "C-03", "FORM-05", "FORM-05", "FORM-05", inherited, "D-41"},
	},
	{
		"c-strings",
		func(d *Dialect) string { return yesNo(d.CStrings) },
		[8]string{"D-16", "C-18", "C-18", "D-16", "D-16", inherited, inherited, inherited},
	},
	{
		"line-limit",
		func(d *Dialect) string { return limitWord(d.LineLimit) },
		[8]string{"GRAM", "C-05", "C-05", "GRAM", "GRAM", inherited, inherited, "SPEC 3.5"},
	},
	{
		"size-limit",
		func(d *Dialect) string { return limitWord(d.SizeLimit) },
		[8]string{"FORM-09", "FORM-09", "C-05", "FORM-09", "D-18", inherited, inherited, "SPEC 3.5"},
	},
	{
		"over-size",
		func(d *Dialect) string { return word(d.OverSize, "cut-file", "open-site") },
		[8]string{"D-17", "D-17", "C-05", "D-17", "D-17", inherited, inherited, "SPEC 3.5"},
	},
	{
		"path-start",
		func(d *Dialect) string { return word(d.PathStart, "literal-start", "assume-slash") },
		[8]string{"D-09", "RULE-03", "C-16", "RULE-03", "RULE-03", "RULE-03", inherited, "SPEC 3.5"},
	},
	{
		"escapes",
		func(d *Dialect) string { return word(d.Escapes, "rfc", "google", "raw") },
		[8]string{"D-14", "D-43", "C-15", "D-43", "D-43", inherited, inherited, inherited},
	},
	{
		"weight",
		func(d *Dialect) string { return word(d.Weight, "octets", "literal-octets") },
		[8]string{"PREC-01", "PREC-01", "C-19", "PREC-01", "PREC-01", inherited, inherited, "D-41"},
	},
	{
		"star-conflict",
		func(d *Dialect) string { return word(d.StarConflict, "by-weight", "undefined-by-weight") },
		[8]string{"PREC-01", "PREC-03", "C-19", "PREC-03", "PREC-03", inherited, inherited, inherited},
	},
	{
		"empty-disallow-allows",
		func(d *Dialect) string { return yesNo(d.EmptyDisallowAllows) },
		[8]string{"RULE-05", "RULE-01", "C-19", "RULE-01", "RULE-01", "RULE-01", inherited, "D-41"},
	},
	{
		"index-html",
		func(d *Dialect) string { return yesNo(d.IndexHTML) },
		[8]string{"MATCH-01", "C-06", "C-06", "MATCH-01", "MATCH-01", inherited, inherited, inherited},
	},
	{
		"robots-txt",
		func(d *Dialect) string { return word(d.RobotsTxt, "always-allowed", "matched") },
		[8]string{"RULE-08", "D-38", "C-14", "D-38", "D-38", inherited, inherited, inherited},
	},
	{
		"crawl-delay",
		func(d *Dialect) string { return d.CrawlDelay.word() },
		[8]string{"SPEC 3.7", "SPEC 3.7", "SPEC 3.7", "SPEC 3.7", "SPEC 3.7", "SPEC 3.7", "SPEC 3.6", "SPEC 3.5"},
	},
	{
		"request-rate",
		func(d *Dialect) string { return d.RequestRate.word() },
		[8]string{"RATE-01", "SPEC 3.2", "C-20", "SPEC 4.1", "SPEC 4.1", "RATE-01", "SPEC 4.1", "SPEC 4.1"},
	},
	{
		"rate-floor",
		func(d *Dialect) string {
			if d.RateFloor == 0 {
				return "none"
			}
			return "1/" + strconv.Itoa(d.RateFloor) + "s"
		},
		[8]string{"D-33", "D-33", "D-33", "D-33", "D-33", "RATE-04", inherited, inherited},
	},
	{
		"too-many-requests",
		func(d *Dialect) string { return word(d.TooManyRequests, "failure", "missing") },
		[8]string{"D-20", "HTTP-03", "HTTP-03", "HTTP-02", "HTTP-02", inherited, inherited, "SPEC 3.5"},
	},
	{
		"network-failure",
		func(d *Dialect) string { return word(d.NetworkFailure, "server-error", "undefined") },
		[8]string{"FAIL-01", "FAIL-01", "FAIL-01", "FAIL-01", "FAIL-01", inherited, inherited, inherited},
	},
	{
		"server-errors",
		func(d *Dialect) string { return word(d.ServerErrors, "fail", "may-miss") },
		[8]string{"HTTP-04", "HTTP-08", "HTTP-08", "HTTP-07", "HTTP-07", inherited, inherited, inherited},
	},
	{
		"outage",
		func(d *Dialect) string { return d.outageWord() },
		[8]string{"D-21", "HTTP-08", "HTTP-08", "HTTP-06", "HTTP-04", inherited, inherited, inherited},
	},
	{
		"redirect-limit",
		func(d *Dialect) string { return limitWord(d.Redirects) },
		[8]string{"D-24", "REDIR-01", "REDIR-01", "REDIR-01", "REDIR-01", inherited, inherited, inherited},
	},
	{
		"lifetime",
		func(d *Dialect) string { return ageWord(d.Lifetime) },
		[8]string{"CACHE-01", "CACHE-01", "CACHE-01", "CACHE-01", "CACHE-01", inherited, inherited, inherited},
	},
}

// word returns the word of a constant, its number if there is none.
func word[T ~uint8](value T, words ...string) string {
	if int(value) < len(words) {
		return words[value]
	}
	return strconv.Itoa(int(value))
}

func (h Honour) word() string {
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
