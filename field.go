package robots

import "strings"

// Field is the field of a line, the part before its colon. Names are compared
// case-insensitively (FORM-07).
type Field uint8

const (
	// FieldNone is a blank line, a comment, or text without a colon.
	FieldNone Field = iota
	// FieldUnknown is any other name. Such lines are kept and never an error
	// (RFC 9309 section 2.2.4).
	FieldUnknown
	FieldUserAgent     // start of a group (GROUP-01)
	FieldAllow         // rule (RULE-05)
	FieldDisallow      // rule (RULE-05)
	FieldSitemap       // independent of groups (MAP-04)
	FieldCrawlDelay    // member of a group, seconds (D-44)
	FieldRequestRate   // member of a group, Seznam's syntax (RATE-01)
	FieldVisitTime     // member of a group, HHMM-HHMM
	FieldCleanParam    // Yandex, independent of groups
	FieldHost          // Yandex, retired
	FieldContentSignal // group or whole file (D-40)
	FieldContentUsage  // group rule of draft-ietf-aipref-attach
	FieldLicense       // RSL 1.0, group or whole file
)

// fieldNames holds the names in lower case, in the order of the constants.
var fieldNames = [...]string{
	FieldNone:          "",
	FieldUnknown:       "unknown",
	FieldUserAgent:     "user-agent",
	FieldAllow:         "allow",
	FieldDisallow:      "disallow",
	FieldSitemap:       "sitemap",
	FieldCrawlDelay:    "crawl-delay",
	FieldRequestRate:   "request-rate",
	FieldVisitTime:     "visit-time",
	FieldCleanParam:    "clean-param",
	FieldHost:          "host",
	FieldContentSignal: "content-signal",
	FieldContentUsage:  "content-usage",
	FieldLicense:       "license",
}

// String returns the field's name in lower case, "" for FieldNone.
func (f Field) String() string {
	if int(f) < len(fieldNames) {
		return fieldNames[f]
	}
	return ""
}

// title returns the name with its first letter in upper case, as files write it.
func (f Field) title() string { return fieldTitles[f] }

var fieldTitles = func() (titles [len(fieldNames)]string) {
	for f, name := range fieldNames[FieldUnknown:] {
		titles[FieldUnknown+Field(f)] = strings.ToUpper(name[:1]) + name[1:]
	}
	return titles
}()

// exactField returns the field of a name written in full, in any case.
func exactField(name []byte) Field {
	for f := FieldUserAgent; int(f) < len(fieldNames); f++ {
		if len(name) == len(fieldNames[f]) && foldHasPrefix(name, fieldNames[f]) {
			return f
		}
	}
	return FieldUnknown
}

// lenientPrefixes are the beginnings by which the public C++ library knows a
// field, in its order: the name itself and the accepted misspellings, each
// compared as a prefix (C-01, C-02; robots.cc, ParsedRobotsKey::Parse).
var lenientPrefixes = [...]struct {
	prefix string
	field  Field
}{
	{"user-agent", FieldUserAgent},
	{"useragent", FieldUserAgent},
	{"user agent", FieldUserAgent},
	{"allow", FieldAllow},
	{"disallow", FieldDisallow},
	{"dissallow", FieldDisallow},
	{"dissalow", FieldDisallow},
	{"disalow", FieldDisallow},
	{"diasllow", FieldDisallow},
	{"disallaw", FieldDisallow},
	{"sitemap", FieldSitemap},
	{"site-map", FieldSitemap},
}

// lenientField returns the field that the public C++ library sees in a name.
// Names that library does not know are compared in full.
func lenientField(name []byte) Field {
	if len(name) < len("host") {
		return FieldUnknown // shorter than any name
	}
	for i := range lenientPrefixes {
		// The first letter excludes most words.
		if p := &lenientPrefixes[i]; name[0]|0x20 == p.prefix[0] && foldHasPrefix(name, p.prefix) {
			return p.field
		}
	}
	return exactField(name)
}

// foldHasPrefix reports whether b begins with prefix, which is in lower case,
// ASCII letters compared without regard to case.
func foldHasPrefix(b []byte, prefix string) bool {
	if len(b) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		if lower(b[i]) != prefix[i] {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + ('a' - 'A')
	}
	return c
}

// equalFold compares bytes, ASCII letters without regard to case. Unicode
// folding is wrong here: product tokens are ASCII (RFC 9309 section 2.2.1).
func equalFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if a[i] != b[i] && lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}
