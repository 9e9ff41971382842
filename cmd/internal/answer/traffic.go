package answer

import (
	"net/netip"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/crawlers"
)

const (
	// MaxVisits limits what Traffic counts before its addresses are verified: some 5 MB.
	// An address that returns later is verified and counted again.
	MaxVisits = 1 << 15
	// maxFakes limits the addresses that are listed per crawler.
	maxFakes = 5
	// maxSample is how much of a request target or a User-Agent is kept, in characters.
	maxSample = 120
	// maxPrograms limits the names that are counted of programs which are not in the directory: clients send any.
	maxPrograms = 1000
	// maxHeaders and maxHeader limit the User-Agent headers whose callers are remembered, and their bytes.
	maxHeaders = 4096
	maxHeader  = 1024
)

// otherPrograms is the name of the programs beyond maxPrograms.
const otherPrograms = "(other programs)"

// Traffic counts the requests of crawlers, and of other programs that name themselves, in access logs of any length,
// in bounded memory. Add the requests; whenever Full, and at the end, verify the addresses of Claims and Settle them.
type Traffic struct {
	File *robots.File // that programs must obey, nil for none
	// Decide returns the decision of package guard on a request of a crawler in the directory; nil without File.
	Decide func(LogRequest) LogDecision
	As     string // name of the only crawler that is counted, "" for all programs
	Owners bool   // requests without a User-Agent count for the owner of a verified address
	Unused bool   // count the requests that each rule of File decides

	Lines       int  // of requests
	NoUserAgent int  // lines in the common format, which has none
	Unreadable  int  // requests without a readable target, not checked with File
	Failed      bool // a name server or list was unavailable

	from, to    time.Time // of the first and last request, zero if no line has a time
	visits      map[visit]int
	visitors    map[string]*visitor // crawlers of the directory by name
	programs    map[string]*visitor // others by the name that they give themselves
	callers     map[string]*visitor // by User-Agent header, nil for a browser
	uses        map[int]*RuleUse    // by line
	anyone      *robots.Rules       // of File for a crawler without a group
	ipv4        int                 // addresses
	ipv4Network int                 // those that end in .0
}

// A LogRequest is a request in an access log.
type LogRequest struct {
	Address   netip.Addr // the zero value if the log has none
	UserAgent string
	Common    bool      // the log has no User-Agent
	Target    string    // as sent, "" if it is not readable
	Time      time.Time // zero if the log has none
}

// A LogDecision is what a robots.txt says of a request.
type LogDecision struct {
	Rule    robots.Rule // that decides, the zero value for none
	Refused bool        // the rule disallows the request
	Valid   bool        // the target is one
}

// A visit is what requests have in common that are counted together.
type visit struct {
	address netip.Addr
	visitor *visitor // nil without a User-Agent
	line    int      // of robots.txt, which disallows them; 0 counts all
}

// A visitor is a crawler or another program with its requests.
type visitor struct {
	crawlers.Crawler
	userAgent string        // the first header of a program that is not in the directory, else ""
	rules     *robots.Rules // of a program that is not in the directory, nil until they are needed

	requests  RequestCounts
	robotsTXT int // requests for robots.txt
	addresses int
	lines     map[int]*ForbiddenRequests // by line of robots.txt
	unknown   crawlers.Identity          // the first one that is unknown
	fakes     []FakeAddress
}

// isKnown reports whether a visitor is a crawler of the directory.
func (v *visitor) isKnown() bool { return v.userAgent == "" }

// NewTraffic returns an empty count, to which requests can be added when its fields are set.
func NewTraffic() *Traffic {
	return &Traffic{
		visits: map[visit]int{}, visitors: map[string]*visitor{}, programs: map[string]*visitor{}, callers: map[string]*visitor{},
		uses: map[int]*RuleUse{},
	}
}

// Counts reports whether requests of a crawler are counted.
func (t *Traffic) Counts(c crawlers.Crawler) bool {
	if t.As != "" {
		return c.Name == t.As
	}
	return c.Status == crawlers.Used
}

// Concerns reports whether requests of a crawler have been added, or can be among those without a
// User-Agent.
func (t *Traffic) Concerns(c crawlers.Crawler) bool {
	return t.visitors[c.Name] != nil || t.NoUserAgent > 0 && t.Counts(c)
}

// Add counts a request.
func (t *Traffic) Add(r LogRequest) {
	t.Lines++
	t.addTime(r.Time)
	if r.Common {
		t.NoUserAgent++
		if t.Owners {
			t.visits[visit{address: r.Address}]++
		}
	}
	var by *visitor
	if !r.Common {
		by = t.caller(r.UserAgent)
	}
	v := visit{address: r.Address, visitor: by}
	if by != nil {
		t.visits[v]++
		if isRobotsTXT(r.Target) {
			by.robotsTXT++
		}
	}
	if by == nil || by.Name == NoName {
		if t.Unused {
			t.addUse(nil, t.decide(nil, r.Target).Rule)
		}
		return
	}
	if t.File == nil {
		return
	}
	v.line = t.forbids(by, r)
	if v.line > 0 {
		t.visits[v]++
	}
}

// addTime extends the period.
func (t *Traffic) addTime(at time.Time) {
	if at.IsZero() {
		return
	}
	if t.from.IsZero() || at.Before(t.from) {
		t.from = at
	}
	if t.to.IsZero() || at.After(t.to) {
		t.to = at
	}
}

// Full reports whether the addresses must be verified before more requests are added.
func (t *Traffic) Full() bool { return len(t.visits) >= MaxVisits }

// caller returns the program that sent a User-Agent header, nil for a browser and for what is not counted.
func (t *Traffic) caller(header string) *visitor {
	if v, ok := t.callers[header]; ok {
		return v
	}
	v := t.newCaller(header)
	if len(t.callers) == maxHeaders {
		clear(t.callers)
	}
	if len(header) <= maxHeader {
		t.callers[strings.Clone(header)] = v
	}
	return v
}

func (t *Traffic) newCaller(header string) *visitor {
	if c, ok := crawlers.Sender(header); ok {
		if t.As != "" && !t.Counts(c) {
			return nil
		}
		return t.visitor(c)
	}
	name := callerName(header)
	if name == "" || t.As != "" {
		return nil
	}
	if t.programs[name] == nil && len(t.programs) >= maxPrograms {
		name = otherPrograms
	}
	v := t.programs[name]
	if v == nil {
		c := crawlers.Crawler{Purpose: crawlers.Unknown}
		c.Name = strings.Clone(name)
		c.Operator = crawlers.Unknown
		v = newVisitor(c)
		v.userAgent = strings.Clone(sampleOf(header))
		if v.userAgent == "" {
			v.userAgent = "-"
		}
		t.programs[v.Name] = v
	}
	return v
}

// visitor returns a crawler of the directory with its requests.
func (t *Traffic) visitor(c crawlers.Crawler) *visitor {
	v := t.visitors[c.Name]
	if v == nil {
		v = newVisitor(c)
		t.visitors[c.Name] = v
	}
	return v
}

func newVisitor(c crawlers.Crawler) *visitor {
	return &visitor{Crawler: c, lines: map[int]*ForbiddenRequests{}, fakes: []FakeAddress{}}
}

// forbids returns the line of robots.txt that disallows a request, 0 if none does or the
// request has no readable target.
func (t *Traffic) forbids(by *visitor, r LogRequest) int {
	var d LogDecision
	switch {
	case r.Target == "":
	case by.isKnown():
		d = t.Decide(r)
	default:
		d = t.decide(by, r.Target)
	}
	if !d.Valid {
		t.Unreadable++
		return 0
	}
	if t.Unused {
		t.addUse(by, d.Rule)
	}
	if !d.Refused {
		return 0
	}
	line := d.Rule.Line()
	if line > 0 && by.lines[line] == nil {
		by.lines[line] = &ForbiddenRequests{Line: line, Rule: d.Rule.String(), Sample: strings.Clone(sampleOf(r.Target))}
	}
	return line
}

// sampleOf returns the beginning of a request target or a header.
func sampleOf(target string) string {
	if runes := []rune(target); len(runes) > maxSample {
		return string(runes[:maxSample]) + "…"
	}
	return target
}
