package pace

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/duration"
)

// Cause is the cause of an interval or a wait.
type Cause uint8

const (
	// CauseNone is the zero value.
	CauseNone        Cause = iota
	CauseCrawlDelay        // a Crawl-delay line
	CauseRequestRate       // a Request-rate line that applies (D-31)
	CauseVisitTime         // the site is closed until later
	CauseDefault           // no declared value applies: the operator's default
	CauseFloor             // the operator's shortest interval
	CauseCeiling           // the operator's longest interval
	CauseBackOff           // the site answered 429 or 503, or not in time, so the interval is longer for a while
	CauseRetryAfter        // the site sent Retry-After
	CauseBusy              // the maximum number of requests to the site is in progress
	CauseAddress           // another site at the same address was just requested
	CauseFull              // the limiter has no room for another site
	CauseDegraded          // the server of a shared limiter is unreachable
	CauseHeld              // an operator of the fleet holds the site
)

var causes = [...]struct{ name, sentence string }{
	CauseNone:        {"", "there is no reason"},
	CauseCrawlDelay:  {"crawl-delay", "the site declares a Crawl-delay"},
	CauseRequestRate: {"request-rate", "the site declares a Request-rate"},
	CauseVisitTime:   {"visit-time", "the Visit-time of the site is over or has not begun"},
	CauseDefault:     {"default", "no declared value applies, so the default interval does"},
	CauseFloor:       {"floor", "the operator's minimum interval"},
	CauseCeiling:     {"ceiling", "the operator's maximum interval"},
	CauseBackOff:     {"back-off", "the site is overloaded"},
	CauseRetryAfter:  {"retry-after", "the site sent Retry-After"},
	CauseBusy:        {"busy", "a request to the site is in progress"},
	CauseAddress:     {"address", "another site at its address was just requested"},
	CauseFull:        {"full", "the limiter has no memory for another site"},
	CauseDegraded:    {"degraded", "the server of the shared pace is unreachable"},
	CauseHeld:        {"held", "an operator holds the site"},
}

// String returns the name in JSON, such as "crawl-delay".
func (c Cause) String() string {
	if int(c) < len(causes) {
		return causes[c].name
	}
	return ""
}

// Sentence returns the cause as a phrase for people.
func (c Cause) Sentence() string {
	if int(c) < len(causes) {
		return causes[c].sentence
	}
	return causes[CauseNone].sentence
}

// MarshalText returns the name.
func (c Cause) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText accepts the names that String returns.
func (c *Cause) UnmarshalText(text []byte) error {
	i := slices.IndexFunc(causes[:], func(c struct{ name, sentence string }) bool { return c.name == string(text) })
	if i < 0 {
		return errors.New("unknown cause " + strconv.Quote(string(text)))
	}
	*c = Cause(i)
	return nil
}

// A Reason is a reason for the start of a request.
type Reason struct {
	Cause Cause
	Line  int // of the file, 0 for none
	// Value is the declared value as written, such as "1/30s 1800-1900", at most 80 bytes, or
	// "". It can contain any bytes: see robots.Printable.
	Value string
	// Interval is the interval for this reason alone, 0 for none.
	Interval time.Duration
	// Until is the first start that this reason permits, the zero time if it requires no wait.
	Until time.Time
}

// String returns the reason as a phrase:
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
		s += ": " + duration.Rate(r.Interval)
	}
	return s
}

// Use is how a schedule uses a declared line.
type Use uint8

const (
	UseHonored    Use = iota // as declared
	UseAdjusted              // with another interval than declared; Why is the reason
	UseOverridden            // followed, but other lines decide at all times ("outdone" in JSON)
	UseIgnored               // valid, but not followed
	UseUnusable              // invalid (D-35, D-44)
)

var uses = [...]string{"honoured", "adjusted", "outdone", "ignored", "unusable"}

// String returns the name in JSON.
func (f Use) String() string {
	if int(f) < len(uses) {
		return uses[f]
	}
	return ""
}

// MarshalText returns the name.
func (f Use) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText accepts the names that String returns.
func (f *Use) UnmarshalText(text []byte) error {
	i := slices.Index(uses[:], string(text))
	if i < 0 {
		return errors.New("unknown use " + strconv.Quote(string(text)))
	}
	*f = Use(i)
	return nil
}

// An Entry is a declared Crawl-delay, Request-rate or Visit-time line and its use.
type Entry struct {
	Field robots.Field // Crawl-delay, Request-rate or Visit-time
	Line  int
	// Value is as written, at most 80 bytes. It can contain any bytes: see robots.Printable.
	Value string
	// Declared is the interval that the line declares, Interval the one that the schedule uses
	// for it. Both are 0 for a Visit-time and an unusable line.
	Declared time.Duration
	Interval time.Duration
	Window   robots.Window // of a Request-rate or a Visit-time
	Use      Use
	// Why is a phrase for people, "" if the line is followed as declared.
	Why string
}
