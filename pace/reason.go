package pace

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/robotskit/robots"
)

// Cause is what asks for a pace or for waiting: a closed set.
type Cause uint8

const (
	// CauseNone is the zero value; no reason has it.
	CauseNone        Cause = iota
	CauseCrawlDelay        // a Crawl-delay line
	CauseRequestRate       // a Request-rate line that is in force (D-31)
	CauseVisitTime         // the site is closed for crawlers: later, never "never"
	CauseDefault           // nothing declared is in force, so the operator's default
	CauseFloor             // the operator goes no faster
	CauseCeiling           // the operator goes no slower
	CauseBackOff           // the site answered 429 or 503, or not in time, and the interval is longer for a while
	CauseRetryAfter        // the site said in a Retry-After when to come again
	CauseBusy              // no further request to the site may be under way
	CauseAddress           // another site on the same address was requested a moment ago
	CauseFull              // the limiter has no room for a further site
	CauseDegraded          // the server of a shared limiter is unreachable
	CauseHeld              // an operator of the fleet holds the site
)

var causes = [...]struct{ name, sentence string }{
	CauseNone:        {"", "there is no reason"},
	CauseCrawlDelay:  {"crawl-delay", "the site asks for a Crawl-delay"},
	CauseRequestRate: {"request-rate", "the site declares a Request-rate"},
	CauseVisitTime:   {"visit-time", "the site is closed for crawlers by its Visit-time"},
	CauseDefault:     {"default", "nothing declared is in force, so the default interval holds"},
	CauseFloor:       {"floor", "the operator's floor: no faster"},
	CauseCeiling:     {"ceiling", "the operator's ceiling: no slower"},
	CauseBackOff:     {"back-off", "the site answered that it is overloaded"},
	CauseRetryAfter:  {"retry-after", "the site said when to come again"},
	CauseBusy:        {"busy", "a request to the site is under way"},
	CauseAddress:     {"address", "another site on its address was requested a moment ago"},
	CauseFull:        {"full", "the limiter has no memory for another site"},
	CauseDegraded:    {"degraded", "the server of the shared pace is unreachable"},
	CauseHeld:        {"held", "an operator holds the site"},
}

// Causes returns all causes but CauseNone.
func Causes() []Cause {
	list := make([]Cause, 0, len(causes)-1)
	for c := range causes {
		if Cause(c) != CauseNone {
			list = append(list, Cause(c))
		}
	}
	return list
}

// String returns the name of the cause in JSON, such as "crawl-delay".
func (c Cause) String() string {
	if int(c) < len(causes) {
		return causes[c].name
	}
	return ""
}

// Sentence returns the cause as a clause for people.
func (c Cause) Sentence() string {
	if int(c) < len(causes) {
		return causes[c].sentence
	}
	return causes[CauseNone].sentence
}

// MarshalText returns the name of the cause.
func (c Cause) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText accepts the names of String.
func (c *Cause) UnmarshalText(text []byte) error {
	i := slices.IndexFunc(causes[:], func(c struct{ name, sentence string }) bool { return c.name == string(text) })
	if i < 0 {
		return errors.New("unknown cause " + strconv.Quote(string(text)))
	}
	*c = Cause(i)
	return nil
}

// A Reason is one thing behind the start of a request.
type Reason struct {
	Cause Cause
	Line  int // of the file, 0 if it comes from none
	// Value is the declared value as written, such as "1/30s 1800-1900", at most
	// 80 bytes; "" if there is none. It is whatever the site wrote: see
	// robots.Printable.
	Value string
	// Interval is the spacing that this reason alone asks for, 0 if it asks for
	// none.
	Interval time.Duration
	// Until is the first instant that this reason alone allows, the zero time if
	// it asked for no waiting.
	Until time.Time
}

// String says the reason in a clause:
//
//	Request-rate 1/30s 1800-1900, line 31: one request every 30 s
func (r Reason) String() string {
	s := r.Cause.Sentence()
	switch r.Cause {
	case CauseCrawlDelay:
		s = "Crawl-delay"
	case CauseRequestRate:
		s = "Request-rate"
	case CauseVisitTime:
		s = "Visit-time"
	}
	if r.Value != "" {
		s += " " + robots.Printable(r.Value)
	}
	if r.Line > 0 {
		s += ", line " + strconv.Itoa(r.Line)
	}
	if r.Interval > 0 {
		s += ": " + Every(r.Interval)
	}
	return s
}

// Fate is what became of a declared line: a closed set.
type Fate uint8

const (
	FateHonoured   Fate = iota // as declared
	FateAdjusted               // honoured at another interval than declared; Why says why
	FateOverridden             // honoured, but other lines decide at all times of the day ("outdone" in JSON)
	FateIgnored                // usable, but not honoured
	FateUnusable               // not usable (D-35, D-44)
)

var fates = [...]string{"honoured", "adjusted", "outdone", "ignored", "unusable"}

// String returns the name of the fate in JSON.
func (f Fate) String() string {
	if int(f) < len(fates) {
		return fates[f]
	}
	return ""
}

// MarshalText returns the name of the fate.
func (f Fate) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText accepts the names of String.
func (f *Fate) UnmarshalText(text []byte) error {
	i := slices.Index(fates[:], string(text))
	if i < 0 {
		return errors.New("unknown fate " + strconv.Quote(string(text)))
	}
	*f = Fate(i)
	return nil
}

// An Entry is one declared line about pace and what became of it.
type Entry struct {
	Field robots.Field // Crawl-delay, Request-rate or Visit-time
	Line  int
	// Value is as written, at most 80 bytes of it. It is whatever the site
	// wrote: see robots.Printable.
	Value string
	// Declared is the interval that the line asks for, Interval what the schedule
	// makes of it alone. Both are 0 for a Visit-time and an unusable line.
	Declared time.Duration
	Interval time.Duration
	Window   robots.Window // of a Request-rate or a Visit-time
	Fate     Fate
	// Why is a clause for people; "" if the line is honoured as declared.
	Why string
}

// Every says an interval as a pace, in the unit that reads best: "one request
// every 30 s", "5 requests a second".
func Every(interval time.Duration) string {
	if interval <= 0 {
		return "no waiting"
	}
	if interval < time.Second && time.Second%interval == 0 {
		return strconv.Itoa(int(time.Second/interval)) + " requests a second"
	}
	return "one request every " + Words(interval)
}

// Words writes a duration for people, in at most two units: "30 s", "2.5 s",
// "1 h 30 m", "5 h 00 m", "3 d 04 h".
func Words(d time.Duration) string {
	const day = 24 * time.Hour
	two := func(big time.Duration, bigUnit string, small time.Duration, smallUnit string) string {
		n, rest := d/big, d%big/small
		s := strconv.Itoa(int(n)) + " " + bigUnit + " "
		if rest < 10 {
			s += "0"
		}
		return s + strconv.Itoa(int(rest)) + " " + smallUnit
	}
	switch {
	case d < 0:
		return "-" + Words(-max(d, -MaxInterval))
	case d == 0:
		return "0 s"
	case d < time.Millisecond:
		return d.String()
	case d < time.Second:
		return strconv.FormatFloat(d.Round(time.Millisecond).Seconds()*1000, 'f', -1, 64) + " ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Round(time.Millisecond).Seconds(), 'f', -1, 64) + " s"
	}
	switch d = d.Round(time.Second); {
	case d < time.Hour && d%time.Minute == 0:
		return strconv.Itoa(int(d/time.Minute)) + " m"
	case d < time.Hour:
		return two(time.Minute, "m", time.Second, "s")
	case d < day:
		return two(time.Hour, "h", time.Minute, "m")
	default:
		return two(day, "d", time.Hour, "h")
	}
}
