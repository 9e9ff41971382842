package robots

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestPrintable puts every byte at every position of texts of many lengths: the result has no
// byte that controls a terminal, and a text without one is unchanged.
func TestPrintable(t *testing.T) {
	for length := range 25 {
		for at := range length {
			for c := range 256 {
				s := strings.Repeat("~", at) + string([]byte{byte(c)}) + strings.Repeat(" ", length-at-1)
				want := s
				if c < ' ' || c > '~' {
					want = s[:at] + `\x` + upperHex[c>>4:][:1] + upperHex[c&15:][:1] + s[at+1:]
				}
				if got := Printable(s); got != want {
					t.Fatalf("%q: got %q, want %q", s, got, want)
				}
			}
		}
	}
	for _, s := range []string{"", "/caf\u00e9/\u65e5\u672c", "/\u202ex/", "\uFEFF", "/\u0085/aaaaaaaa"} {
		got := Printable(s)
		if !utf8.ValidString(got) || (got == s) != !strings.ContainsAny(s, "\u202e\uFEFF\u0085") {
			t.Errorf("%q: got %q", s, got)
		}
	}
}
