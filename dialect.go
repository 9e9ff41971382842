package robots

import "time"

// A Dialect is the way one engine reads robots.txt: plain data, with one field for each
// documented difference. Copy one of the eight below to change a field:
//
//	d := robots.RFC9309
//	d.MaxFileBytes = 1 << 20
//
// The zero value is RFC 9309 without a size limit, which never allows in an outage. The
// source of each value is in docs/dialects.md, and the clauses in docs/clauses.md.
type Dialect struct {
	// Name is the dialect's name in flags, JSON and documents.
	Name string

	// AgentMatch is how the value of a user-agent line is compared with a token (D-02).
	AgentMatch AgentMatch
	// ExactCase compares tokens case-sensitively; otherwise Googlebot is googlebot
	// (RFC 9309 section 2.2.1, AGENT-03).
	ExactCase bool
	// HeaderValues also reads the product tokens in a value that is a full User-Agent
	// header (AGENT-07).
	HeaderValues bool
	// MergeTokens combines the groups of all the crawler's tokens (C-11); otherwise
	// only the first token that has a group counts (D-04).
	MergeTokens bool
	// RawTokens compares the crawler's tokens as they are, even a full header or the
	// empty string; otherwise they are read as product tokens (D-03, D-47).
	RawTokens bool
	// IgnoreStar lists the crawlers, separated by spaces, to which the group of '*'
	// does not apply if they are the crawler's first token (D-53).
	IgnoreStar string
	// RecordsEndRun ends a run of user-agent lines, so that the next such line starts
	// another group, at Crawl-delay, Request-rate and Visit-time; otherwise only Allow
	// and Disallow end it, empty ones too (D-07).
	RecordsEndRun bool
	// BlanksEndRun ends such a run at blank lines too (GROUP-05).
	BlanksEndRun bool

	// Misspellings accepts field names by prefix, and the misspellings of the
	// public C++ library (C-01, C-02, D-39).
	Misspellings bool
	// MissingColon accepts a line of exactly two words (C-03).
	MissingColon bool
	// CStrings reads lines as C strings: a NUL ends a line's content, vertical tab
	// and form feed are white space, part of a byte order mark is ignored (C-07, C-18).
	CStrings bool
	// MaxLineBytes is the number of bytes read of a line, 0 for all. The rest of a
	// longer line is ignored (C-05).
	MaxLineBytes int
	// MaxFileBytes is the number of bytes read of a file, 0 for all (FORM-09).
	MaxFileBytes int
	// OverSizeOpens ignores a larger file (SPEC 3.5); otherwise its complete lines
	// within the limit count (D-17).
	OverSizeOpens bool

	// AssumeSlash adds a slash to a path that starts with neither '/' nor '*'
	// (RULE-03); otherwise it matches nothing (D-09, C-16).
	AssumeSlash bool
	// Escapes is the normal form in which paths and patterns are compared
	// (PCT-01 to PCT-05, D-14, D-43).
	Escapes Escapes
	// LiteralWeight excludes stars and the final '$' from a rule's weight (D-41);
	// otherwise all bytes of the normalized pattern count (PREC-01, D-11, D-12).
	LiteralWeight bool
	// StarConflictUndefined makes the verdict undefined if both an allow and a
	// disallow match and the longest of either has a wildcard. Allowed then follows
	// the weight as usual (PREC-03, D-01).
	StarConflictUndefined bool
	// EmptyDisallowAllows makes an empty Disallow the same as "Allow: /" (D-41);
	// otherwise it is ignored (RULE-01).
	EmptyDisallowAllows bool
	// IndexHTML makes "Allow: /dir/index.html" allow /dir/ too (C-06).
	IndexHTML bool
	// MatchRobotsTxt applies the rules to /robots.txt itself (C-14); otherwise it is
	// always allowed (RULE-08, D-38).
	MatchRobotsTxt bool

	// CrawlDelay and RequestRate are what the engine does with these records. They
	// are reported in every dialect (SPEC 3.7, RATE-01).
	CrawlDelay  Honor
	RequestRate Honor
	// RateFloor is the lowest Request-rate that the engine accepts, in seconds per
	// request, 0 for none (RATE-04, D-33).
	RateFloor int

	// The fields below apply when there is no robots.txt to read. Their zero values
	// never allow.

	// TooManyIsMissing treats status 429 as any other client error (HTTP-02);
	// otherwise it is a server error (HTTP-03, D-20).
	TooManyIsMissing bool
	// FailureUndefined makes the verdict undefined, and not allowed, after network
	// errors and invalid responses (FAIL-01); otherwise they are server errors
	// (FAIL-02, D-23, D-46).
	FailureUndefined bool
	// ServerErrorsMayMiss treats a 5xx status as a missing file on a site that is
	// known to send it for missing pages (HTTP-07).
	ServerErrorsMayMiss bool
	// Outage is what the engine does while robots.txt is unreachable (HTTP-04 to
	// HTTP-08, D-21, D-22, D-42).
	Outage Outage
	// Redirects is the number of redirects that a fetch must follow (REDIR-01, REDIR-02, D-24):
	// one that gave up after fewer failed, after as many or more the file counts as missing.
	Redirects int
	// Lifetime is the lifetime of a response that does not specify one (CACHE-01). Package fetch
	// uses that of RFC9309, as a record serves all dialects.
	Lifetime time.Duration
}

// AgentMatch is how the value of a user-agent line is compared with a token.
type AgentMatch uint8

const (
	// AgentWholeOrCut compares three forms of the value: all of it, up to the first
	// space or slash, and its leading letters, '_' and '-' (D-02).
	AgentWholeOrCut AgentMatch = iota
	// AgentTokenCut compares the leading letters, '_' and '-' (AGENT-02, C-10);
	// '*' followed by white space is '*' (C-09).
	AgentTokenCut
	// AgentWhole compares all of the value (D-41).
	AgentWhole
)

// Escapes is the normal form of paths and patterns.
type Escapes uint8

const (
	// EscapesRFC normalizes both as RFC 9309 does (D-14).
	EscapesRFC Escapes = iota
	// EscapesGoogle normalizes the URL (D-43), and the pattern as the public C++
	// library does (PCT-05), with printable characters escaped that are invalid in URIs.
	EscapesGoogle
	// EscapesRaw keeps the URL (C-15) and normalizes the pattern as that library does (PCT-05).
	EscapesRaw
)

// Honor is what an engine does with a Crawl-delay or Request-rate.
type Honor uint8

const (
	HonorReported  Honor = iota // left to the crawler
	HonorIgnored                // ignored, as the engine documents
	HonorObeyed                 // followed
	HonorInherited              // followed; a group without a Crawl-delay inherits that of '*' (SPEC 3.6)
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

// All eight dialects follow five redirects, and keep a response for a day (REDIR-01,
// D-24, CACHE-01).
const (
	redirects = 5
	lifetime  = 24 * time.Hour
)

// Size limits: Google and RFC 9309 have 500 KiB (FORM-09, D-18), Yandex 500 KB.
const (
	sizeLimit       = 500 << 10
	sizeLimitYandex = 500_000
	lineLimitGoogle = 2083*8 - 1 // 16,663 bytes (C-05)
	lineLimitYandex = 1024       // SPEC 3.5
)

// The eight dialects.
var (
	// RFC9309 is the standard and the default.
	RFC9309 = Dialect{
		Name:         "rfc9309",
		MaxFileBytes: sizeLimit,
		Outage:       OutageKeepCopy,
		Redirects:    redirects,
		Lifetime:     lifetime,
	}

	// Google is Googlebot: the rules of its public library for normalized URLs, with
	// the documented size limit, ordered tokens, and /robots.txt allowed.
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

	// GoogleCPP is google/robotstxt, the public C++ library, bit for bit: raw input, no
	// size limit, no fallback, no exemption of /robots.txt. The library does not fetch;
	// failures are handled as in Google.
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

	// Google2019 is Google's specification of July 2019 as written, to reproduce that
	// document. Do not crawl with it.
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

	// GoogleLegacy is Google's specification before July 2019 as written, to reproduce
	// that document. Do not crawl with it. The document does not define a permanent
	// outage (HTTP-06).
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

	// Seznam is Seznam's documentation: SeznamBot follows Request-rate.
	Seznam = Dialect{
		Name:          "seznam",
		HeaderValues:  true,
		RecordsEndRun: true,
		MaxFileBytes:  sizeLimit,
		CrawlDelay:    HonorIgnored,
		RequestRate:   HonorObeyed,
		RateFloor:     30,
		Outage:        OutageKeepCopy,
		Redirects:     redirects,
		Lifetime:      lifetime,
	}

	// Bing is RFC 9309 with Crawl-delay, which a group inherits from '*'.
	Bing = Dialect{
		Name:         "bing",
		MaxFileBytes: sizeLimit,
		CrawlDelay:   HonorInherited,
		RequestRate:  HonorIgnored,
		Outage:       OutageKeepCopy,
		Redirects:    redirects,
		Lifetime:     lifetime,
	}

	// Yandex follows Yandex's documentation and the results of its tester. In an outage
	// it follows RFC 9309: in an older document of Yandex any status but 200 allows
	// everything, which would make every failure a permission.
	Yandex = Dialect{
		Name:                "yandex",
		AgentMatch:          AgentWhole,
		BlanksEndRun:        true,
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

// DialectByName returns the dialect with a name, and false if there is none.
func DialectByName(name string) (Dialect, bool) {
	for _, d := range Dialects() {
		if d.Name == name {
			return d, true
		}
	}
	return Dialect{}, false
}

// unchangedDialects holds the eight dialects as they are when the program starts.
var unchangedDialects = Dialects()

// sharedDialect returns a copy of d, the same for all rules of an unchanged dialect, so
// that a match finds it in the processor's cache.
func sharedDialect(d *Dialect) *Dialect {
	for i := range unchangedDialects {
		if unchangedDialects[i] == *d {
			return &unchangedDialects[i]
		}
	}
	changed := *d
	return &changed
}
