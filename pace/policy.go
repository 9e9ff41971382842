package pace

import (
	"cmp"
	"errors"
	"strconv"
	"sync"
	"time"
)

// Defaults of a Policy.
const (
	// defaultInterval is the time between two requests to a site that declares nothing, as in
	// large open crawlers.
	defaultInterval = 4 * time.Second
	// defaultMaxCrawlDelay is the longest Crawl-delay that is followed in full.
	defaultMaxCrawlDelay = 300 * time.Second
)

// maxInterval is the longest interval of a schedule, about 100 years. It prevents overflows.
const maxInterval = 36525 * 24 * time.Hour

// A Policy is the operator's settings for crawl rates. The zero value suits a polite crawler:
// UTC, 4 s where nothing is declared, and everything that a site declares unless its engine
// ignores it. All durations are intervals from the end of a response to the start of the next
// request.
type Policy struct {
	// Obey selects the declared values that are followed, ObeyUnlessIgnored if "".
	Obey Obey
	// Floor is the shortest interval: a faster declared rate gets this one. 0 for none.
	Floor time.Duration
	// Ceiling is the longest interval without a back-off, even if a site declares more. 0 for none, which
	// is polite: a site that declares one page per hour gets that.
	Ceiling time.Duration
	// Default is the interval where no declared value applies, outside the windows of rates
	// too (RATE-06, D-31). 0 for 4 s; time.Nanosecond is practically none.
	Default time.Duration
	// MaxCrawlDelay is the longest Crawl-delay that is followed in full; a longer one counts
	// as this one, and is reported. 0 for 5 minutes. It does not limit a
	// Request-rate, which states its period.
	MaxCrawlDelay time.Duration
	// Zone is the time zone of windows, a name of the IANA database such as Europe/Prague; ""
	// for UTC (D-29). Windows follow the local clock, through changes of daylight saving time
	// too.
	Zone string
}

// Obey selects the declared values that a schedule follows; the others are only reported
// (Schedule.Entries). Each dialect documents whether its engine follows Crawl-delay and
// Request-rate (bing and seznam), ignores them (google), or leaves them open (rfc9309): then
// the operator decides. Visit-time is treated like Request-rate, as both are from Conner's
// draft.
type Obey string

// The ways to obey, as in flags and JSON.
const (
	// ObeyUnlessIgnored follows all values except those that the dialect ignores. It is the
	// default.
	ObeyUnlessIgnored Obey = "unless-ignored"
	// ObeyDocumented follows only values that the dialect documents. With rfc9309 that is
	// none, so the default interval applies.
	ObeyDocumented Obey = "honored"
	// ObeyDeclared follows every usable value in every dialect.
	ObeyDeclared Obey = "declared"
)

// Check returns an error if the policy is invalid, as NewSchedule does, for programs that read
// their configuration early.
func (p Policy) Check() error {
	_, _, err := p.filled()
	return err
}

// filled returns the policy with defaults, and its zone.
func (p Policy) filled() (Policy, *time.Location, error) {
	for _, v := range [...]struct {
		name  string
		value *time.Duration
		zero  time.Duration
	}{
		{"floor", &p.Floor, 0},
		{"ceiling", &p.Ceiling, maxInterval},
		{"default interval", &p.Default, defaultInterval},
		{"maximal crawl delay", &p.MaxCrawlDelay, defaultMaxCrawlDelay},
	} {
		if *v.value < 0 {
			return p, nil, errors.New("the " + v.name + " is " + v.value.String() + ", and an interval is never negative")
		}
		if *v.value == 0 {
			*v.value = v.zero
		}
		*v.value = min(*v.value, maxInterval)
	}
	if p.Floor > p.Ceiling {
		return p, nil, errors.New("the floor of " + p.Floor.String() + " is above the ceiling of " + p.Ceiling.String() + ": no interval is both")
	}
	p.Obey = cmp.Or(p.Obey, ObeyUnlessIgnored)
	if p.Obey != ObeyUnlessIgnored && p.Obey != ObeyDocumented && p.Obey != ObeyDeclared {
		return p, nil, errors.New("unknown way to obey " + strconv.Quote(string(p.Obey)) + ": it is unless-ignored, honored or declared")
	}
	zone, err := location(p.Zone)
	return p, zone, err
}

// zones caches time zones, since time.LoadLocation reads a file each time. It contains at most
// all zones of the database.
var zones sync.Map // of *time.Location by name

func location(name string) (*time.Location, error) {
	if name == "" || name == "UTC" {
		return time.UTC, nil
	}
	if zone, ok := zones.Load(name); ok {
		return zone.(*time.Location), nil
	}
	if name == "Local" { // valid for time.LoadLocation: the zone of this machine
		return nil, errors.New(`the time zone "Local" depends on the machine: name it, such as Europe/Prague`)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, errors.New("unknown time zone " + strconv.Quote(name) + ": it is a name such as Europe/Prague or UTC")
	}
	zones.Store(name, zone)
	return zone, nil
}
