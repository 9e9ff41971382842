package robots

import "time"

// A Dialect is how one engine reads robots.txt: plain data, one field for each
// documented difference. The zero value is RFC 9309 without a size limit and
// without an end to an outage; take one of the eight below and change a field if a crawler needs it:
//
//	d := robots.RFC9309
//	d.MaxFileBytes = 1 << 20
//
// Each field names the statement of docs/clauses.md that it decides. What stands behind
// each value, and what nobody documents, is in docs/dialects.md.
type Dialect struct {
	// Name is the dialect's name in flags, JSON and documents.
	Name string

	// AgentMatch says how the value of a user-agent line names a crawler (D-02).
	AgentMatch AgentMatch
	// ExactCase compares letter case there (AGENT-03); otherwise Googlebot is
	// googlebot (RFC 9309 section 2.2.1).
	ExactCase bool
	// HeaderValues lets a value that is a whole User-Agent header name the product
	// tokens inside it too (AGENT-07).
	HeaderValues bool
	// MergeTokens treats all tokens as one crawler whose groups merge
	// (C-11); otherwise the first token with a group counts (D-04).
	MergeTokens bool
	// RawTokens takes the crawler's tokens as they are, a whole header and the
	// empty string included; otherwise they are read as product tokens (D-03, D-47).
	RawTokens bool
	// IgnoreStar names the crawlers for which the group of '*' does not hold if
	// theirs is the crawler's first token: product tokens, a blank between two (D-53).
	IgnoreStar string
	// RunEnd says which lines end a run of user-agent lines (D-07, GROUP-05).
	RunEnd RunEnd

	// Misspellings accepts field names by prefix and the misspellings of the
	// public C++ library (C-01, C-02, D-39).
	Misspellings bool
	// MissingColon accepts a line of exactly two words (C-03).
	MissingColon bool
	// CStrings reads lines as C strings: a NUL ends a line's content, vertical
	// tab and form feed are blanks, part of a byte order mark is dropped (C-07, C-18).
	CStrings bool
	// MaxLineBytes is the number of bytes read of a line, 0 for all; what is left
	// of a cut line still counts (C-05).
	MaxLineBytes int
	// MaxFileBytes is the number of bytes read of a file, 0 for all (FORM-09).
	MaxFileBytes int
	// OverSizeOpens lets a larger file not count at all (SPEC 3.5); otherwise its
	// whole lines within the limit count (D-17).
	OverSizeOpens bool

	// AssumeSlash puts a slash before a path that begins with neither '/' nor '*'
	// (RULE-03); otherwise it matches nothing (D-09, C-16).
	AssumeSlash bool
	// Escapes is the normal form in which path and pattern are compared
	// (PCT-01 to PCT-05, D-14, D-43).
	Escapes Escapes
	// LiteralWeight weighs a rule without its stars and its '$' at the end (D-41);
	// otherwise all bytes of the normalised pattern count (PREC-01, D-11, D-12).
	LiteralWeight bool
	// StarConflictUndefined makes the verdict undefined if an allow and a disallow
	// match and the longest of either holds a wildcard; its boolean follows the
	// weight, as it does otherwise (PREC-03, D-01).
	StarConflictUndefined bool
	// EmptyDisallowAllows makes an empty Disallow a rule like "Allow: /" (D-41);
	// otherwise it is no rule (RULE-01).
	EmptyDisallowAllows bool
	// IndexHTML lets "Allow: /dir/index.html" open /dir/ too (C-06).
	IndexHTML bool
	// MatchRobotsTxt applies rules to /robots.txt itself (C-14); otherwise it is
	// always allowed (RULE-08, D-38).
	MatchRobotsTxt bool

	// CrawlDelay and RequestRate say whether the engine honours these records.
	// They are reported in every dialect (SPEC 3.7, RATE-01).
	CrawlDelay  Honor
	RequestRate Honor
	// RateFloor is the slowest Request-rate the engine goes down to, seconds
	// for one document, 0 for none (RATE-04, D-33).
	RateFloor int

	// The rest is what the engine makes of a robots.txt that it cannot have.
	// The zero values never allow.

	// TooManyIsMissing takes status 429 for a client error like any other (HTTP-02
	// to the letter); otherwise it is a server error (HTTP-03, D-20).
	TooManyIsMissing bool
	// FailureUndefined makes the verdict undefined, and not allowed, on trouble below
	// HTTP and invalid answers (FAIL-01); otherwise they are server errors (FAIL-02,
	// D-23, D-46).
	FailureUndefined bool
	// ServerErrorsMayMiss takes the 5xx of a site that is known to answer so for
	// missing pages for a missing file (HTTP-07).
	ServerErrorsMayMiss bool
	// Outage is what the engine does while robots.txt is unreachable (HTTP-04 to
	// HTTP-08, D-21, D-22, D-42).
	Outage Outage
	// Redirects is the number of redirects that must be followed: a file behind
	// more of them is no file (REDIR-01, REDIR-02, D-24), and a fetch that gave up
	// earlier has learnt nothing.
	Redirects int
	// Lifetime is how long an answer holds whose site says nothing about it
	// (CACHE-01).
	Lifetime time.Duration
}

// AgentMatch is how the value of a user-agent line is compared with a token.
type AgentMatch uint8

const (
	// AgentWholeOrCut compares three forms of the value: the whole, cut at the first
	// blank or slash, cut to its leading letters, '_' and '-' (D-02).
	AgentWholeOrCut AgentMatch = iota
	// AgentTokenCut compares only the leading letters, '_' and '-' (AGENT-02, C-10);
	// '*' followed by white space is '*' (C-09).
	AgentTokenCut
	// AgentWhole compares the whole value (D-41).
	AgentWhole
)

// RunEnd is what ends a run of user-agent lines, so that the next such line
// starts another group.
type RunEnd uint8

const (
	RunEndRule        RunEnd = iota // allow and disallow, empty ones too (D-07)
	RunEndMember                    // these, Crawl-delay, Request-rate and Visit-time (D-07)
	RunEndRuleOrBlank               // allow, disallow and blank lines (GROUP-05)
)

// Escapes names the normal form of paths and patterns.
type Escapes uint8

const (
	// EscapesRFC brings both sides into one form (D-14).
	EscapesRFC Escapes = iota
	// EscapesGoogle normalises the URL (D-43) and the pattern as the C++ library
	// does (PCT-05), with printable characters that no URI may hold escaped.
	EscapesGoogle
	// EscapesRaw leaves the URL alone (C-15); the pattern is as in the C++ library (PCT-05).
	EscapesRaw
)

// Honor is what an engine does with a record it can read.
type Honor uint8

const (
	HonorReported  Honor = iota // left to the crawler
	HonorIgnored                // the engine says it does not follow it
	HonorObeyed                 // followed
	HonorInherited              // followed, taken from '*' if the own group has none (SPEC 3.6)
)

// Outage is what an engine does while robots.txt is unreachable. Ages count from the
// first failure; a step that allows everything needs failures that cover its age (D-54).
// Package fetch applies it.
type Outage uint8

const (
	// OutageDisallow disallows until robots.txt is fetched again (HTTP-04).
	OutageDisallow Outage = iota
	// OutageKeepCopy uses the last good copy. Without one it disallows for 30 days,
	// then allows (D-21, D-22).
	OutageKeepCopy
	// OutageGoogle disallows for 12 hours, then uses the last good copy or, without
	// one, allows. After 30 days it allows only if the caller knows that the rest of
	// the site responds, and disallows otherwise (HTTP-08).
	OutageGoogle
	// Outage2019 disallows for 30 days, then uses the last good copy or, without
	// one, allows (HTTP-04, HTTP-06).
	Outage2019
)

// The eight dialects agree on these: five redirects and a day (REDIR-01, D-24,
// CACHE-01).
const (
	redirects = 5
	lifetime  = 24 * time.Hour
)

// The size limits of the documents: Google's and the RFC's 500 KiB (FORM-09,
// D-18) and Yandex's 500 KB.
const (
	sizeLimit       = 500 << 10
	sizeLimitYandex = 500_000
	lineLimitGoogle = 2083*8 - 1 // 16,663 bytes (C-05)
	lineLimitYandex = 1024       // SPEC 3.5
)

// The eight dialects. They are values: a copy may be changed freely.
var (
	// RFC9309 is the standard, the default everywhere.
	RFC9309 = Dialect{
		Name:         "rfc9309",
		MaxFileBytes: sizeLimit,
		Outage:       OutageKeepCopy,
		Redirects:    redirects,
		Lifetime:     lifetime,
	}

	// Google is what Googlebot does with an address: the URL is normalised,
	// then the rules of its public library apply, with the documented size
	// limit, the ordered choice of tokens and /robots.txt allowed.
	Google = Dialect{
		Name:         "google",
		AgentMatch:   AgentTokenCut,
		IgnoreStar:   "APIs-Google AdsBot-Google AdsBot-Google-Mobile Mediapartners-Google",
		Misspellings: true,
		MissingColon: true,
		CStrings:     true,
		MaxLineBytes: lineLimitGoogle,
		MaxFileBytes: sizeLimit,
		Escapes:      EscapesGoogle,
		IndexHTML:    true,
		CrawlDelay:   HonorIgnored,
		RequestRate:  HonorIgnored,
		Outage:       OutageGoogle,
		Redirects:    redirects,
		Lifetime:     lifetime,
	}

	// GoogleCPP is google/robotstxt, the public C++ library, bit for bit: raw
	// input, no size limit, no fallback, no exemption of /robots.txt. It knows no
	// fetching, so a missing file is for it what it is for Google.
	GoogleCPP = Dialect{
		Name:           "google-cpp",
		AgentMatch:     AgentTokenCut,
		MergeTokens:    true,
		RawTokens:      true,
		Misspellings:   true,
		MissingColon:   true,
		CStrings:       true,
		MaxLineBytes:   lineLimitGoogle,
		Escapes:        EscapesRaw,
		IndexHTML:      true,
		MatchRobotsTxt: true,
		CrawlDelay:     HonorIgnored,
		RequestRate:    HonorIgnored,
		Outage:         OutageGoogle,
		Redirects:      redirects,
		Lifetime:       lifetime,
	}

	// Google2019 is Google's specification of July 2019 as written. It exists
	// to reproduce that document; do not crawl by it.
	Google2019 = Dialect{
		Name:                  "google-2019",
		AgentMatch:            AgentTokenCut,
		ExactCase:             true,
		MaxFileBytes:          sizeLimit,
		Escapes:               EscapesGoogle,
		StarConflictUndefined: true,
		CrawlDelay:            HonorIgnored,
		RequestRate:           HonorIgnored,
		TooManyIsMissing:      true,
		ServerErrorsMayMiss:   true,
		Outage:                Outage2019,
		Redirects:             redirects,
		Lifetime:              lifetime,
	}

	// GoogleLegacy is Google's specification before July 2019 as written. It
	// exists to reproduce that document; do not crawl by it. An outage disallows
	// until another answer comes (HTTP-04); the document leaves a permanent one
	// undefined (HTTP-06).
	GoogleLegacy = Dialect{
		Name:                  "google-legacy",
		AgentMatch:            AgentTokenCut,
		MaxFileBytes:          sizeLimit,
		AssumeSlash:           true,
		Escapes:               EscapesGoogle,
		StarConflictUndefined: true,
		CrawlDelay:            HonorIgnored,
		RequestRate:           HonorIgnored,
		TooManyIsMissing:      true,
		FailureUndefined:      true,
		ServerErrorsMayMiss:   true,
		Outage:                OutageDisallow,
		Redirects:             redirects,
		Lifetime:              lifetime,
	}

	// Seznam is Seznam's help page: SeznamBot honours Request-rate.
	Seznam = Dialect{
		Name:         "seznam",
		HeaderValues: true,
		RunEnd:       RunEndMember,
		MaxFileBytes: sizeLimit,
		CrawlDelay:   HonorIgnored,
		RequestRate:  HonorObeyed,
		RateFloor:    30,
		Outage:       OutageKeepCopy,
		Redirects:    redirects,
		Lifetime:     lifetime,
	}

	// Bing is RFC 9309 with Crawl-delay, which a named group inherits from '*'.
	Bing = Dialect{
		Name:         "bing",
		MaxFileBytes: sizeLimit,
		CrawlDelay:   HonorInherited,
		RequestRate:  HonorIgnored,
		Outage:       OutageKeepCopy,
		Redirects:    redirects,
		Lifetime:     lifetime,
	}

	// Yandex follows Yandex's pages and the observed answers of its tester. In an
	// outage it follows RFC 9309: an older page of Yandex says that any status
	// but 200 opens the site, which would turn every failure into permission.
	Yandex = Dialect{
		Name:                "yandex",
		AgentMatch:          AgentWhole,
		RunEnd:              RunEndRuleOrBlank,
		MaxLineBytes:        lineLimitYandex,
		MaxFileBytes:        sizeLimitYandex,
		OverSizeOpens:       true,
		LiteralWeight:       true,
		EmptyDisallowAllows: true,
		CrawlDelay:          HonorIgnored,
		RequestRate:         HonorIgnored,
		TooManyIsMissing:    true,
		Outage:              OutageKeepCopy,
		Redirects:           redirects,
		Lifetime:            lifetime,
	}
)

// Dialects returns the eight dialects, the default first.
func Dialects() []Dialect {
	return []Dialect{RFC9309, Google, GoogleCPP, Google2019, GoogleLegacy, Seznam, Bing, Yandex}
}

// DialectByName returns the dialect of that name and whether there is one.
func DialectByName(name string) (Dialect, bool) {
	for _, d := range Dialects() {
		if d.Name == name {
			return d, true
		}
	}
	return Dialect{}, false
}

// known holds the eight dialects as they are at the start of the program.
var known = Dialects()

// shared returns d in a place of its own, one place for all rules of a dialect
// that nobody changed: a Dialect has some 200 bytes, and a match that reads
// them from one place finds them in the cache.
func shared(d *Dialect) *Dialect {
	for i := range known {
		if known[i] == *d {
			return &known[i]
		}
	}
	own := *d
	return &own
}

// lenient reports whether d reads lines marked ambiguous in its own way.
func (d *Dialect) lenient() bool {
	return d.Misspellings || d.MissingColon || d.CStrings || d.MaxLineBytes > 0
}
