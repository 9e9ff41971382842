package robots

import (
	"iter"
	"slices"
	"strings"
)

// A Record is a line with a known field that is neither a user-agent line nor a rule,
// as it applies to a crawler.
type Record struct {
	Field Field
	Value string // without surrounding spaces and comment
	Line  int    // from 1
	// Group is set if the line belongs to the crawler's group (D-08). Sitemap, Host
	// and Clean-param apply to the whole file (MAP-04, SPEC 3.5), Content-Signal and
	// License before the first group to all crawlers (D-40).
	Group bool
	// Inherited is set for a Crawl-delay of '*' that applies to a group without a valid
	// one of its own (SPEC 3.6, bing).
	Inherited bool
	// Usable is set if the value is valid. Delay, Rate, Window or Preferences is then
	// the value of a Crawl-delay, Request-rate, Visit-time, or of a Content-Signal or
	// Content-Usage.
	Usable bool
	Delay  float64     // seconds (D-44)
	Rate   RequestRate // D-45
	Window Window      // in UTC, unless the operator sets another time zone
	// Preferences are in the order of the line; in a Content-Usage each name is unique.
	Preferences []Preference
	// Problem is why the value is invalid, or which part of a valid one is ignored,
	// such as an invalid window of a rate (D-35). It is a phrase, "" if there is none.
	Problem string
}

// Records returns the records that apply to the crawler, in file order: those of its
// group, those of the whole file, and an inherited Crawl-delay. It does not matter whether
// the engine of the dialect follows them.
func (r *Rules) Records() iter.Seq[Record] {
	return func(yield func(Record) bool) {
		r := r.orInvalid()
		groupSpans, inherited := r.recordSpans()
		groupSeen := false
		s := r.file.scan(r.limit, r.dialect)
		for s.next() {
			field := s.field
			start := s.valueStart
			end := s.valueEnd
			switch field {
			case FieldNone, FieldUnknown, FieldAllow, FieldDisallow:
				continue
			case FieldUserAgent:
				groupSeen = true
				continue
			}
			span := Span{start, end}
			inGroup := takeFirst(&groupSpans, span)
			isInherited := takeFirst(&inherited, span)
			fileWide := field == FieldSitemap || field == FieldHost || field == FieldCleanParam
			preamble := field == FieldContentSignal || field == FieldLicense
			if !inGroup && !isInherited && !fileWide && !(preamble && !groupSeen) {
				continue
			}
			rec := readRecord(field, r.file.Text(span))
			rec.Line = r.file.lineNumber(start)
			rec.Group = inGroup && !fileWide
			rec.Inherited = isInherited
			if rec.Usable && rec.Field == FieldRequestRate {
				rec.Rate.Line = rec.Line
			}
			for i := range rec.Preferences {
				rec.Preferences[i].Line = rec.Line
			}
			if !yield(rec) {
				return
			}
		}
	}
}

// recordSpans returns the spans of the values in the crawler's group, and of the Crawl-delays of
// '*' if the crawler inherits them, both in file order.
func (r *Rules) recordSpans() (group, inherited []Span) {
	if !r.anyRecord {
		return nil, nil // as in most files
	}
	hasDelay := false
	for field, span := range r.groupLines() {
		if field <= FieldSitemap {
			continue
		}
		group = append(group, span)
		hasDelay = hasDelay || field == FieldCrawlDelay && readRecord(field, r.file.Text(span)).Usable
	}
	if hasDelay || r.dialect.CrawlDelay != HonorInherited || r.choice.star {
		return group, nil
	}
	for field, span := range r.file.Rules(*r.dialect, "*").groupLines() {
		if field == FieldCrawlDelay {
			inherited = append(inherited, span)
		}
	}
	return group, inherited
}

// takeFirst removes span from the list if it is the first there, and reports whether it was.
func takeFirst(list *[]Span, span Span) bool {
	if len(*list) == 0 || (*list)[0] != span {
		return false
	}
	*list = (*list)[1:]
	return true
}

// readRecord reads the value of a record.
func readRecord(field Field, value string) Record {
	rec := Record{Field: field, Value: value, Usable: true}
	require := func(ok bool, problem string) {
		if !ok {
			rec.Usable = false
			rec.Problem = problem
		}
	}
	var why problem
	switch field {
	case FieldCrawlDelay:
		rec.Delay, rec.Usable, why = parseDelay(value)
		rec.Problem = string(why)
	case FieldRequestRate:
		rec.Rate, rec.Usable, why = parseRequestRate(value)
		rec.Problem = string(why)
	case FieldVisitTime:
		var ok bool
		rec.Window, ok = parseWindow(value)
		require(ok, "it is not HHMM-HHMM")
	case FieldLicense:
		require(strings.Contains(value, "://"), "it is not an absolute URI")
	case FieldCleanParam:
		require(isCleanParam(value), "it is not names joined by &, then a path")
	case FieldContentSignal:
		rec.Preferences = parseSignals(value)
		require(len(rec.Preferences) > 0, "it is not a list of name=value")
	case FieldContentUsage:
		rec.Preferences = parseUsage(value)
		require(len(rec.Preferences) > 0, "it is not a list of name=y or name=n")
	}
	require(value != "", "it has no value")
	return rec
}

// CrawlDelay returns the largest valid Crawl-delay of the crawler's group, in seconds, and
// false if it has none (D-44). A group inherits nothing from '*', except in Bing.
func (r *Rules) CrawlDelay() (seconds float64, ok bool) {
	for _, rec := range r.validRecords(FieldCrawlDelay) {
		seconds = max(seconds, rec.Delay)
		ok = true
	}
	return seconds, ok
}

// RequestRates returns the valid rates of the crawler's group as declared, in file order.
// The dialect's RateFloor is not applied.
func (r *Rules) RequestRates() []RequestRate {
	var rates []RequestRate
	for _, rec := range r.validRecords(FieldRequestRate) {
		rates = append(rates, rec.Rate)
	}
	return rates
}

// Sitemaps returns the values of all Sitemap lines of the file as written, in file order,
// including duplicates (MAP-03, MAP-04). Empty values are ignored (D-49).
func (r *Rules) Sitemaps() []string {
	var maps []string
	for _, rec := range r.validRecords(FieldSitemap) {
		maps = append(maps, rec.Value)
	}
	return maps
}

// isCleanParam reports whether a value is "name&name", optionally with a path.
func isCleanParam(s string) bool {
	i := firstBlank(s)
	path := trimSpaces(s[i:])
	return !slices.Contains(strings.Split(s[:i], "&"), "") && (path == "" || path[0] == '/' || path[0] == '*')
}

// Hosts returns the Host records of the file, with which Yandex formerly named the main
// mirror.
func (r *Rules) Hosts() []Record { return r.validRecords(FieldHost) }

// Licenses returns the valid License records (RSL 1.0) of the crawler's group or, if it
// has none, those before the first group.
func (r *Rules) Licenses() []Record {
	all := r.validRecords(FieldLicense)
	if inGroup := slices.DeleteFunc(slices.Clone(all), func(rec Record) bool { return !rec.Group }); len(inGroup) > 0 {
		return inGroup
	}
	return all
}

// validRecords returns the valid records of one field.
func (r *Rules) validRecords(field Field) []Record {
	var list []Record
	for rec := range r.Records() {
		if rec.Field == field && rec.Usable {
			list = append(list, rec)
		}
	}
	return list
}
