package robots

import (
	"encoding/base64"
	"strconv"
	"unicode/utf8"

	"github.com/robotskit/robots/internal/quote"
)

// JSON is written by hand, because a batch has millions of answers: Verdict.AppendJSON and
// Rules.AppendJSON, with a comma between them, write the members of docs/batch.md in their order.

// JSONLimits limits the lists of Rules.AppendJSON; 0 is no limit. The members lines_dropped (of
// group), request_rates_dropped and sitemaps_dropped, each after its list, count the rest, if there is
// any.
type JSONLimits struct {
	Lines    int // of the group
	Rates    int
	Sitemaps int
}

// AppendJSON appends the JSON members of an answer that are the same for all paths, without braces:
// group, those of the state, crawl_delay, request_rates, sitemaps and dialect. Delays and rates are what
// the group declares, whether or not the dialect honors it.
func (r *Rules) AppendJSON(dst []byte, limits JSONLimits) []byte {
	r = r.orInvalid()
	c := sharedMembers{limits: limits}
	for rec := range r.Records() {
		c.add(&rec)
	}
	return c.appendJSON(dst, r.Group(), r.state, r.dialect.Name)
}

// sharedMembers is the part of an answer that is the same for all paths.
type sharedMembers struct {
	limits       JSONLimits
	hasDelay     bool
	delay        float64 // seconds
	rates        []byte  // in JSON, each with a comma before it
	rateCount    int
	sitemaps     []byte // in JSON, each with a comma before it
	sitemapCount int
}

// add adds a record that applies to the crawler.
func (c *sharedMembers) add(rec *Record) {
	switch {
	case !rec.Usable:
	case rec.Field == FieldCrawlDelay:
		c.delay = max(c.delay, rec.Delay)
		c.hasDelay = true
	case rec.Field == FieldRequestRate:
		c.rateCount++
		if withinLimit(c.rateCount, c.limits.Rates) {
			c.rates = rec.Rate.appendJSON(append(c.rates, ','))
		}
	case rec.Field == FieldSitemap:
		c.sitemapCount++
		if withinLimit(c.sitemapCount, c.limits.Sitemaps) {
			c.sitemaps = quote.Append(append(c.sitemaps, ','), rec.Value)
		}
	}
}

// withinLimit reports whether a limit allows n entries.
func withinLimit(n, limit int) bool { return limit == 0 || n <= limit }

// appendDropped appends a member with the number of entries beyond a limit, if there are any.
func appendDropped(dst []byte, name string, n, limit int) []byte {
	if withinLimit(n, limit) {
		return dst
	}
	dst = append(append(append(dst, ',', '"'), name...), `_dropped":`...)
	return strconv.AppendInt(dst, int64(n-limit), 10)
}

// appendJSON appends the members that are the same for all paths.
func (c *sharedMembers) appendJSON(dst []byte, g Group, s *State, dialect string) []byte {
	dst = append(dst, `"group":`...)
	dst = g.appendJSON(dst, c.limits.Lines)
	dst = s.appendJSON(dst)
	dst = append(dst, `,"crawl_delay":`...)
	if c.hasDelay {
		dst = strconv.AppendFloat(dst, c.delay, 'f', -1, 64)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"request_rates":[`...)
	dst = append(append(dst, c.rates[min(1, len(c.rates)):]...), ']')
	dst = appendDropped(dst, "request_rates", c.rateCount, c.limits.Rates)
	dst = append(dst, `,"sitemaps":[`...)
	dst = append(append(dst, c.sitemaps[min(1, len(c.sitemaps)):]...), ']')
	dst = appendDropped(dst, "sitemaps", c.sitemapCount, c.limits.Sitemaps)
	dst = append(dst, `,"dialect":`...)
	return quote.Append(dst, dialect)
}

// MarshalJSON returns an object with the members allowed, verdict, reason, rule and group, those of the
// state if there is one, and dialect.
func (v Verdict) MarshalJSON() ([]byte, error) {
	dst := v.AppendJSON([]byte{'{'})
	dst = append(dst, `,"group":`...)
	dst = v.Group.appendJSON(dst, 0)
	dst = v.State.appendJSON(dst)
	dst = append(dst, `,"dialect":`...)
	dst = quote.Append(dst, v.Dialect)
	return append(dst, '}'), nil
}

// AppendJSON appends the JSON members of an answer that depend on the path, without braces: allowed,
// verdict, reason and rule.
func (v Verdict) AppendJSON(dst []byte) []byte {
	dst = append(dst, `"allowed":`...)
	dst = strconv.AppendBool(dst, v.Allowed)
	dst = append(dst, `,"verdict":"`...)
	dst = append(dst, v.Word()...)
	dst = append(dst, `","reason":"`...)
	dst = append(dst, v.Reason.String()...)
	dst = append(dst, `","rule":`...)
	return v.Rule.appendJSON(dst)
}

func (r Rule) appendJSON(dst []byte) []byte {
	if r.IsZero() {
		return append(dst, "null"...)
	}
	path := r.Path()
	dst = append(dst, `{"line":`...)
	dst = strconv.AppendInt(dst, int64(r.Line()), 10)
	dst = append(dst, `,"directive":"`...)
	dst = append(dst, r.field.String()...)
	dst = append(dst, `","pattern":`...)
	dst = quote.Append(dst, path)
	if !utf8.ValidString(path) {
		dst = append(dst, `,"pattern_b64":"`...)
		dst = base64.StdEncoding.AppendEncode(dst, []byte(path))
		dst = append(dst, '"')
	}
	return append(dst, '}')
}

// appendJSON appends the group with at most so many lines, 0 for all.
func (g Group) appendJSON(dst []byte, limit int) []byte {
	if g.IsZero() {
		return append(dst, "null"...)
	}
	dst = append(dst, `{"token":`...)
	dst = quote.Append(dst, g.Token())
	dst = append(dst, `,"lines":[`...)
	for i, offset := range g.lines {
		if !withinLimit(i+1, limit) {
			break
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(g.file.lineNumber(int(offset))), 10)
	}
	return append(appendDropped(append(dst, ']'), "lines", len(g.lines), limit), '}')
}

func (r RequestRate) appendJSON(dst []byte) []byte {
	dst = append(dst, `{"requests":`...)
	dst = strconv.AppendInt(dst, int64(r.Requests), 10)
	dst = append(dst, `,"seconds":`...)
	dst = strconv.AppendInt(dst, int64(r.Seconds), 10)
	if r.Window.Always() {
		return append(dst, `,"from":null,"to":null}`...)
	}
	dst = append(dst, `,"from":"`...)
	dst = append(dst, hhmm(r.Window.From)...)
	dst = append(dst, `","to":"`...)
	dst = append(dst, hhmm(r.Window.To)...)
	return append(dst, `"}`...)
}

// Printable makes s safe for a terminal: control characters, invalid UTF-8 and characters
// that end a line, or hide or reorder text are written as \xHH.
func Printable(s string) string {
	if quote.IsPlain(s) {
		return s
	}
	dst := make([]byte, 0, len(s)+8)
	for i := 0; i < len(s); {
		u, size := utf8.DecodeRuneInString(s[i:])
		if quote.Controls(u) || u == utf8.RuneError && size <= 1 {
			for _, c := range []byte(s[i : i+size]) {
				dst = append(dst, '\\', 'x', upperHex[c>>4], upperHex[c&15])
			}
		} else {
			dst = append(dst, s[i:i+size]...)
		}
		i += size
	}
	return string(dst)
}

func lowerString(s string) string {
	for i := range len(s) {
		if s[i] != lower(s[i]) {
			b := []byte(s)
			for ; i < len(b); i++ {
				b[i] = lower(b[i])
			}
			return string(b)
		}
	}
	return s
}
