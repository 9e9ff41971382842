package pace

import (
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"
)

// The values that a zero field of a Policy stands for.
const (
	// DefaultInterval is the time between two requests to a site that says
	// nothing: what large open crawlers take where nobody asks for anything else.
	DefaultInterval = 4 * time.Second
	// DefaultMaxCrawlDelay is the longest Crawl-delay that is honoured in full.
	DefaultMaxCrawlDelay = 300 * time.Second
)

// MaxInterval is the longest interval that a schedule knows, about 100 years:
// a slower rate is read as this one, so that no sum of times overflows.
const MaxInterval = 36525 * 24 * time.Hour

// A Policy is what the operator of a crawler says about pace, beside what a
// site declares. The zero value is right for a crawler that wants to be polite:
// UTC, whatever the site asks for that its engine does not refuse, 4 s where it
// asks for nothing.
//
// All durations are intervals, the time from the end of one response of a site
// to the start of the next request, so a longer one is the slower pace.
type Policy struct {
	// Obey says which declared values are honoured.
	Obey Obey
	// Floor is the shortest interval that is ever used: a site that invites a
	// faster pace gets this one. 0 for none.
	Floor time.Duration
	// Ceiling is the longest interval that is ever used, even against the wish of
	// a site. 0 for none, which is the polite value: a site that wants a page an
	// hour gets a page an hour.
	Ceiling time.Duration
	// Default is the interval where nothing declared is in force: the site says
	// nothing, or it is outside all windows of its rates (RATE-06, D-31). 0 for
	// DefaultInterval; time.Nanosecond is as good as none.
	Default time.Duration
	// MaxCrawlDelay is the longest Crawl-delay honoured in full; a longer one
	// counts as this one and is reported, and no page is skipped for it. 0 for
	// DefaultMaxCrawlDelay. It does not bound a Request-rate, whose author wrote
	// the period down.
	MaxCrawlDelay time.Duration
	// Zone is the time zone in which the site means its windows, a name of the
	// IANA database such as Europe/Prague. "" for UTC (D-29). A window follows the
	// clocks there: in summer time too, and on the days on which it begins and ends.
	Zone string
}

// Obey says which of the values that a site declares a schedule honours. The
// others are reported (Schedule.Entries).
//
// What an engine does with Crawl-delay and Request-rate is in its dialect:
// honoured (seznam and Request-rate, bing and Crawl-delay), ignored because the
// engine says so (google), or left to the crawler (rfc9309, since RFC 9309 knows
// neither). For the last the operator chooses. The default is to obey: it costs nothing
// but time. Visit-time goes with Request-rate, as both come from Conner's draft of
// version 2.0.
type Obey uint8

const (
	// ObeyUnlessIgnored honours what the dialect honours or leaves to the crawler.
	ObeyUnlessIgnored Obey = iota
	// ObeyHonoured honours only what the engine of the dialect documents: the
	// schedule of that engine, and of rfc9309 the default interval.
	ObeyHonoured
	// ObeyDeclared honours every usable value in every dialect.
	ObeyDeclared
)

var obeyNames = [...]string{"unless-ignored", "honoured", "declared"}

// String returns the name of the value in flags and JSON.
func (o Obey) String() string {
	if int(o) < len(obeyNames) {
		return obeyNames[o]
	}
	return "obey " + strconv.Itoa(int(o))
}

// MarshalText returns the name.
func (o Obey) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText accepts the names of String.
func (o *Obey) UnmarshalText(text []byte) error {
	i := slices.Index(obeyNames[:], string(text))
	if i < 0 {
		return errors.New("unknown way to obey " + strconv.Quote(string(text)) + ": it is unless-ignored, honoured or declared")
	}
	*o = Obey(i)
	return nil
}

// Check returns an error if the policy is impossible, in one sentence for
// people. NewSchedule does the same; Check is for whoever reads a configuration
// long before the first robots.txt.
func (p Policy) Check() error {
	_, _, err := p.filled()
	return err
}

// filled returns the policy with the defaults for zero fields, and its zone.
func (p Policy) filled() (Policy, *time.Location, error) {
	for _, v := range [...]struct {
		name  string
		value *time.Duration
		zero  time.Duration
	}{
		{"floor", &p.Floor, 0},
		{"ceiling", &p.Ceiling, MaxInterval},
		{"default interval", &p.Default, DefaultInterval},
		{"maximal crawl delay", &p.MaxCrawlDelay, DefaultMaxCrawlDelay},
	} {
		if *v.value < 0 {
			return p, nil, errors.New("the " + v.name + " is " + v.value.String() + ", and an interval is never negative")
		}
		if *v.value == 0 {
			*v.value = v.zero
		}
		*v.value = min(*v.value, MaxInterval)
	}
	if p.Floor > p.Ceiling {
		return p, nil, errors.New("the floor of " + p.Floor.String() + " is above the ceiling of " + p.Ceiling.String() + ": no interval is both")
	}
	if int(p.Obey) >= len(obeyNames) {
		return p, nil, errors.New("unknown way to obey " + strconv.Itoa(int(p.Obey)) + ": it is ObeyUnlessIgnored, ObeyHonoured or ObeyDeclared")
	}
	zone, err := location(p.Zone)
	return p, zone, err
}

// zones keeps the zones that have been asked for, since time.LoadLocation reads
// a file each time. It holds at most as many as the database has names.
var zones sync.Map // of *time.Location by name

func location(name string) (*time.Location, error) {
	if name == "" || name == "UTC" {
		return time.UTC, nil
	}
	if zone, ok := zones.Load(name); ok {
		return zone.(*time.Location), nil
	}
	if name == "Local" { // time.LoadLocation knows it: the zone of this machine, whatever that is
		return nil, errors.New(`the time zone "Local" depends on the machine: name it, such as Europe/Prague`)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, errors.New("unknown time zone " + strconv.Quote(name) + ": it is a name such as Europe/Prague or UTC")
	}
	zones.Store(name, zone)
	return zone, nil
}
