package pace

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/duration"
)

// Cause is the cause of an interval or a wait: its name in JSON.
type Cause string

// The causes.
const (
	CauseCrawlDelay  Cause = "crawl-delay"  // a Crawl-delay line
	CauseRequestRate Cause = "request-rate" // a Request-rate line that applies (D-31)
	CauseVisitTime   Cause = "visit-time"   // the site is closed until later
	CauseDefault     Cause = "default"      // no declared value applies: the operator's default
	CauseFloor       Cause = "floor"        // the operator's shortest interval
	CauseCeiling     Cause = "ceiling"      // the operator's longest interval
	CauseBackOff     Cause = "back-off"     // the site answered 429 or 503, or not in time, so the interval is longer for a while
	CauseRetryAfter  Cause = "retry-after"  // the site sent Retry-After
	CauseBusy        Cause = "busy"         // the maximum number of requests to the site is in progress
	CauseAddress     Cause = "address"      // the address was requested a moment ago, for this site or another
	CauseFull        Cause = "full"         // the limiter has no room for another site
	CauseDegraded    Cause = "degraded"     // the server of a shared limiter is unreachable
	CauseHeld        Cause = "held"         // an operator of the fleet holds the site
)

var sentences = map[Cause]string{
	CauseCrawlDelay:  "the site declares a Crawl-delay",
	CauseRequestRate: "the site declares a Request-rate",
	CauseVisitTime:   "the Visit-time of the site is over or has not begun",
	CauseDefault:     "no declared value applies, so the default interval does",
	CauseFloor:       "the operator's minimum interval",
	CauseCeiling:     "the operator's maximum interval",
	CauseBackOff:     "the site is overloaded",
	CauseRetryAfter:  "the site sent Retry-After",
	CauseBusy:        "a request to the site is in progress",
	CauseAddress:     "its address was requested a moment ago",
	CauseFull:        "the limiter has no memory for another site",
	CauseDegraded:    "the server of the shared limiter is unreachable",
	CauseHeld:        "an operator holds the site",
}

// Causes returns all causes, by name.
func Causes() []Cause { return slices.Sorted(maps.Keys(sentences)) }

// Sentence returns the cause as a phrase for people.
func (c Cause) Sentence() string { return cmp.Or(sentences[c], "there is no reason") }

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

// Use is how a schedule uses a declared line: its name in JSON.
type Use string

// The uses.
const (
	UseHonored    Use = "honored"  // as declared
	UseAdjusted   Use = "adjusted" // with another interval than declared; Why is the reason
	UseOverridden Use = "outdone"  // followed, but other lines decide at all times
	UseIgnored    Use = "ignored"  // valid, but not followed
	UseUnusable   Use = "unusable" // invalid (D-35, D-44)
)

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
