package robotstest

import (
	"cmp"
	"os"
	"testing"
)

// TestConfirm runs the cases of one dialect on another program:
//
//	ROBOTS_CONFIRM='robots_main %robots% %user-agent% %url%' ROBOTS_CONFIRM_DIALECT=google-cpp \
//		go test ./robotstest -run TestConfirm -v
//
// The template is that of Program; the dialect is google-cpp if none is named.
func TestConfirm(t *testing.T) {
	template := os.Getenv("ROBOTS_CONFIRM")
	if template == "" {
		t.Skip("ROBOTS_CONFIRM names no program, such as 'robots_main %robots% %user-agent% %url%'")
	}
	dialect := cmp.Or(os.Getenv("ROBOTS_CONFIRM_DIALECT"), "google-cpp")
	Run(t, Program(template), Options{
		Dialects:  []string{dialect},
		TwoValued: true,
		Known:     confirmKnown[dialect],
	})
}

// Reasons for differences of Google's public C++ library from the dialect google: what Googlebot
// adds is not in the library.
const (
	knownURL  = "the library leaves the URL as it came (C-15), Googlebot normalises it (D-43)"
	knownSelf = "the library does not exempt /robots.txt (C-14, D-38)"
	knownSize = "the library has no limit of size (C-05, FORM-09)"
)

// confirmKnown lists the known differences of that library by dialect and case. In google-cpp
// there are none.
var confirmKnown = map[string]map[string]string{
	"google": {
		"escape-blank":                 knownURL,
		"escape-blank-in-url":          knownURL,
		"escape-foreign-in-rule":       knownURL,
		"escape-foreign-in-url":        knownURL,
		"escape-hex-case":              knownURL,
		"escape-nonascii-escaped-rule": knownURL,
		"escape-nonascii-rule":         knownURL,
		"escape-raw-byte-in-url":       knownURL,
		"escape-reserved-hex-case":     knownURL,
		"escape-star-in-rule":          knownURL,
		"escape-unreserved-in-rule":    knownURL,
		"escape-unreserved-in-url":     knownURL,
		"match-robots-txt":             knownSelf,
		"match-robots-txt-own-rule":    knownSelf,
		"page-draft-1996":              knownSelf + "; " + knownURL,
		"parse-invalid-utf8":           knownURL,
		"size-cut-at-line-end":         knownSize,
		"size-cut-inside-line":         knownSize,
		"size-group-cut-off":           knownSize,
		"url-dot-segments":             knownURL,
		"url-dot-segments-escaped":     knownURL,
	},
}
