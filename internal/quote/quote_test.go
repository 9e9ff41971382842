package quote

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
)

// TestControls: every character that controls a terminal, ends a line, or hides or reorders the text
// around it is escaped, and no other one that encoding/json leaves as it is.
func TestControls(t *testing.T) {
	for u := range rune(unicode.MaxRune + 1) {
		if 0xD800 <= u && u < 0xE000 {
			continue
		}
		s := "/" + string(u) + "a"
		controls := unicode.In(u, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
		quoted := string(Append(nil, s))
		if Controls(u) != controls || strings.Contains(quoted, string(u)) == controls {
			t.Errorf("%U: quoted as %s", u, quoted)
		}
		var back string
		if err := json.Unmarshal([]byte(quoted), &back); err != nil || back != s {
			t.Errorf("%U: %s is read as %q, %v", u, quoted, back, err)
		}
	}
}

// TestIsPlain: every byte is found in every position of eight that are compared together, and before them.
func TestIsPlain(t *testing.T) {
	for c := range 256 {
		for at := range 12 {
			text := []byte("aaaaaaaaaaaa")
			text[at] = byte(c)
			if got, want := IsPlain(string(text)), ' ' <= c && c <= '~'; got != want {
				t.Fatalf("byte %#x at %d: %v, want %v", c, at, got, want)
			}
		}
	}
}

// FuzzQuoted: a string is written as encoding/json writes it without escapes for HTML, after each
// byte that is not UTF-8 was replaced, but for the escapes of what Controls reports.
func FuzzQuoted(f *testing.F) {
	f.Add("/caf\u00e9\u2028\u2029\ufffd<>&'")
	for c := range 256 {
		f.Add("a" + string([]byte{byte(c)}) + "b")
	}
	f.Fuzz(func(t *testing.T, s string) {
		valid := string([]rune(s))
		var want bytes.Buffer
		encoder := json.NewEncoder(&want)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(valid); err != nil {
			t.Fatal(err)
		}
		got := string(Append(nil, s))
		if strings.IndexFunc(valid, func(u rune) bool { return u >= 0x7F && Controls(u) }) < 0 && got+"\n" != want.String() {
			t.Errorf("%q: got %s, want %s", s, got, want.String())
		}
		var back string
		if err := json.Unmarshal([]byte(got), &back); err != nil || back != valid {
			t.Errorf("%q: %s is read as %q, %v", s, got, back, err)
		}
	})
}
