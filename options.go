package robots

import "strconv"

// An Option is one field of a Dialect with what stands behind it, for
// documents, answers and comparisons.
type Option struct {
	// Name is the option's name, such as "max-line-bytes".
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
	own, known := DialectByName(d.Name)
	sources := sources()[d.Name]
	all := make([]Option, len(options))
	for i := range options {
		o := &options[i]
		all[i] = Option{Name: o.name, Value: o.value(&d)}
		if known && o.value(&own) == all[i].Value {
			all[i].Source = sources[o.name]
			all[i].Inherited = all[i].Source == ""
		}
	}
	return all
}

// options has one row for each field of Dialect, in the order of the struct: how
// its value is written. A field without a row fails TestOptions.
var options = [...]struct {
	name  string
	value func(*Dialect) string
}{
	{"agent-match", func(d *Dialect) string {
		return word(d.AgentMatch, "whole-or-cut", "token-cut", "whole")
	}},
	{"exact-case", func(d *Dialect) string { return yesNo(d.ExactCase) }},
	{"header-values", func(d *Dialect) string { return yesNo(d.HeaderValues) }},
	{"merge-tokens", func(d *Dialect) string { return yesNo(d.MergeTokens) }},
	{"raw-tokens", func(d *Dialect) string { return yesNo(d.RawTokens) }},
	{"ignore-star", func(d *Dialect) string {
		if d.IgnoreStar == "" {
			return "none"
		}
		return d.IgnoreStar
	}},
	{"run-end", func(d *Dialect) string { return word(d.RunEnd, "by-rule", "by-member", "by-rule-or-blank") }},
	{"misspellings", func(d *Dialect) string { return yesNo(d.Misspellings) }},
	{"missing-colon", func(d *Dialect) string { return yesNo(d.MissingColon) }},
	{"c-strings", func(d *Dialect) string { return yesNo(d.CStrings) }},
	{"max-line-bytes", func(d *Dialect) string { return limitWord(d.MaxLineBytes) }},
	{"max-file-bytes", func(d *Dialect) string { return limitWord(d.MaxFileBytes) }},
	{"over-size-opens", func(d *Dialect) string { return yesNo(d.OverSizeOpens) }},
	{"assume-slash", func(d *Dialect) string { return yesNo(d.AssumeSlash) }},
	{"escapes", func(d *Dialect) string { return word(d.Escapes, "rfc", "google", "raw") }},
	{"literal-weight", func(d *Dialect) string { return yesNo(d.LiteralWeight) }},
	{"star-conflict-undefined", func(d *Dialect) string { return yesNo(d.StarConflictUndefined) }},
	{"empty-disallow-allows", func(d *Dialect) string { return yesNo(d.EmptyDisallowAllows) }},
	{"index-html", func(d *Dialect) string { return yesNo(d.IndexHTML) }},
	{"match-robots-txt", func(d *Dialect) string { return yesNo(d.MatchRobotsTxt) }},
	{"crawl-delay", func(d *Dialect) string { return d.CrawlDelay.word() }},
	{"request-rate", func(d *Dialect) string { return d.RequestRate.word() }},
	{"rate-floor", func(d *Dialect) string {
		if d.RateFloor == 0 {
			return "none"
		}
		return "1/" + strconv.Itoa(d.RateFloor) + "s"
	}},
	{"too-many-is-missing", func(d *Dialect) string { return yesNo(d.TooManyIsMissing) }},
	{"failure-undefined", func(d *Dialect) string { return yesNo(d.FailureUndefined) }},
	{"server-errors-may-miss", func(d *Dialect) string { return yesNo(d.ServerErrorsMayMiss) }},
	{"outage", func(d *Dialect) string { return d.outageWord() }},
	{"redirect-limit", func(d *Dialect) string { return limitWord(d.Redirects) }},
	{"lifetime", func(d *Dialect) string { return ageWord(d.Lifetime) }},
}

// sources returns one column for each dialect: the statement that gives it the value
// of an option. An option that is missing is inherited from RFC9309: no document
// of the engine states it, and its value must be that of RFC9309 (TestOptions).
func sources() map[string]map[string]string {
	return map[string]map[string]string{
		"rfc9309": {
			"agent-match":             "D-02",
			"exact-case":              "AGENT-03",
			"header-values":           "D-02",
			"merge-tokens":            "D-04",
			"raw-tokens":              "D-03",
			"ignore-star":             "AGENT-09",
			"run-end":                 "D-07",
			"misspellings":            "D-39",
			"missing-colon":           "FORM-05",
			"c-strings":               "D-16",
			"max-line-bytes":          "GRAM",
			"max-file-bytes":          "FORM-09",
			"over-size-opens":         "D-17",
			"assume-slash":            "D-09",
			"escapes":                 "D-14",
			"literal-weight":          "PREC-01",
			"star-conflict-undefined": "PREC-01",
			"empty-disallow-allows":   "RULE-05",
			"index-html":              "MATCH-01",
			"match-robots-txt":        "RULE-08",
			"crawl-delay":             "SPEC 3.7",
			"request-rate":            "RATE-01",
			"rate-floor":              "D-33",
			"too-many-is-missing":     "D-20",
			"failure-undefined":       "FAIL-01",
			"server-errors-may-miss":  "HTTP-04",
			"outage":                  "D-21",
			"redirect-limit":          "D-24",
			"lifetime":                "CACHE-01",
		},
		"google": {
			"agent-match":             "AGENT-02",
			"exact-case":              "AGENT-03",
			"header-values":           "AGENT-02",
			"merge-tokens":            "AGENT-01",
			"raw-tokens":              "D-03",
			"ignore-star":             "D-53",
			"run-end":                 "GROUP-11",
			"misspellings":            "D-39",
			"missing-colon":           "C-03",
			"c-strings":               "C-18",
			"max-line-bytes":          "C-05",
			"max-file-bytes":          "FORM-09",
			"over-size-opens":         "D-17",
			"assume-slash":            "RULE-03",
			"escapes":                 "D-43",
			"literal-weight":          "PREC-01",
			"star-conflict-undefined": "PREC-03",
			"empty-disallow-allows":   "RULE-01",
			"index-html":              "C-06",
			"match-robots-txt":        "D-38",
			"crawl-delay":             "SPEC 3.7",
			"request-rate":            "SPEC 3.2",
			"rate-floor":              "D-33",
			"too-many-is-missing":     "HTTP-03",
			"failure-undefined":       "FAIL-01",
			"server-errors-may-miss":  "HTTP-08",
			"outage":                  "HTTP-08",
			"redirect-limit":          "REDIR-01",
			"lifetime":                "CACHE-01",
		},
		"google-cpp": {
			"agent-match":             "C-10",
			"exact-case":              "AGENT-03",
			"header-values":           "C-10",
			"merge-tokens":            "C-11",
			"raw-tokens":              "C-10",
			"ignore-star":             "C-13",
			"run-end":                 "C-12",
			"misspellings":            "C-02",
			"missing-colon":           "C-03",
			"c-strings":               "C-18",
			"max-line-bytes":          "C-05",
			"max-file-bytes":          "C-05",
			"over-size-opens":         "C-05",
			"assume-slash":            "C-16",
			"escapes":                 "C-15",
			"literal-weight":          "C-19",
			"star-conflict-undefined": "C-19",
			"empty-disallow-allows":   "C-19",
			"index-html":              "C-06",
			"match-robots-txt":        "C-14",
			"crawl-delay":             "SPEC 3.7",
			"request-rate":            "C-20",
			"rate-floor":              "D-33",
			"too-many-is-missing":     "HTTP-03",
			"failure-undefined":       "FAIL-01",
			"server-errors-may-miss":  "HTTP-08",
			"outage":                  "HTTP-08",
			"redirect-limit":          "REDIR-01",
			"lifetime":                "CACHE-01",
		},
		"google-2019": {
			"agent-match":             "AGENT-02",
			"exact-case":              "AGENT-03",
			"header-values":           "AGENT-02",
			"merge-tokens":            "AGENT-04",
			"raw-tokens":              "D-03",
			"ignore-star":             "AGENT-09",
			"run-end":                 "GROUP-02",
			"misspellings":            "FORM-08",
			"missing-colon":           "FORM-05",
			"c-strings":               "D-16",
			"max-line-bytes":          "GRAM",
			"max-file-bytes":          "FORM-09",
			"over-size-opens":         "D-17",
			"assume-slash":            "RULE-03",
			"escapes":                 "D-43",
			"literal-weight":          "PREC-01",
			"star-conflict-undefined": "PREC-03",
			"empty-disallow-allows":   "RULE-01",
			"index-html":              "MATCH-01",
			"match-robots-txt":        "D-38",
			"crawl-delay":             "SPEC 3.7",
			"request-rate":            "SPEC 4.1",
			"rate-floor":              "D-33",
			"too-many-is-missing":     "HTTP-02",
			"failure-undefined":       "FAIL-01",
			"server-errors-may-miss":  "HTTP-07",
			"outage":                  "HTTP-06",
			"redirect-limit":          "REDIR-01",
			"lifetime":                "CACHE-01",
		},
		"google-legacy": {
			"agent-match":             "AGENT-02",
			"exact-case":              "AGENT-03",
			"header-values":           "AGENT-02",
			"merge-tokens":            "AGENT-04",
			"raw-tokens":              "D-03",
			"ignore-star":             "AGENT-09",
			"run-end":                 "GROUP-02",
			"misspellings":            "D-39",
			"missing-colon":           "FORM-05",
			"c-strings":               "D-16",
			"max-line-bytes":          "GRAM",
			"max-file-bytes":          "D-18",
			"over-size-opens":         "D-17",
			"assume-slash":            "RULE-03",
			"escapes":                 "D-43",
			"literal-weight":          "PREC-01",
			"star-conflict-undefined": "PREC-03",
			"empty-disallow-allows":   "RULE-01",
			"index-html":              "MATCH-01",
			"match-robots-txt":        "D-38",
			"crawl-delay":             "SPEC 3.7",
			"request-rate":            "SPEC 4.1",
			"rate-floor":              "D-33",
			"too-many-is-missing":     "HTTP-02",
			"failure-undefined":       "FAIL-01",
			"server-errors-may-miss":  "HTTP-07",
			"outage":                  "HTTP-04",
			"redirect-limit":          "REDIR-01",
			"lifetime":                "CACHE-01",
		},
		"seznam": {
			"header-values":         "AGENT-07",
			"raw-tokens":            "D-03",
			"run-end":               "D-07",
			"missing-colon":         "FORM-05",
			"assume-slash":          "RULE-03",
			"empty-disallow-allows": "RULE-01",
			"crawl-delay":           "SPEC 3.7",
			"request-rate":          "RATE-01",
			"rate-floor":            "RATE-04",
		},
		"bing": {
			"raw-tokens":   "D-03",
			"crawl-delay":  "SPEC 3.6",
			"request-rate": "SPEC 4.1",
		},
		"yandex": {
			"agent-match":           "D-41",
			"exact-case":            "SPEC 3.5",
			"header-values":         "D-41",
			"merge-tokens":          "SPEC 3.5",
			"raw-tokens":            "D-03",
			"run-end":               "GROUP-05",
			"misspellings":          "D-41",
			"missing-colon":         "D-41",
			"max-line-bytes":        "SPEC 3.5",
			"max-file-bytes":        "SPEC 3.5",
			"over-size-opens":       "SPEC 3.5",
			"assume-slash":          "SPEC 3.5",
			"literal-weight":        "D-41",
			"empty-disallow-allows": "D-41",
			"crawl-delay":           "SPEC 3.5",
			"request-rate":          "SPEC 4.1",
			"too-many-is-missing":   "SPEC 3.5",
		},
	}
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
