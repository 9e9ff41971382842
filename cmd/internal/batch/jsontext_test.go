package batch

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/robotskit/robots/internal/campaign"
)

// TestUnquote compares with encoding/json, whose answers ours must be.
func TestUnquote(t *testing.T) {
	for _, text := range []string{
		`""`, `"a"`, `"\"\\\/\b\f\n\r\t"`, `"\u0041\u00e9\u00E9\uFFFD\u0000"`,
		`"\ud83d\ude00"`, `"\ud83d"`, `"\ud83dx"`, `"\ud83d\u0041"`, `"\ud83d\ud83d\ude00"`, `"\ude00\ud83d"`, `"\ud83d\n"`,
		"\"é\u2028\"", "\"a\xffb\"", "\"\xff\xfe\"", "\"\xe2\x82\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\\n\xff\\n\"",
	} {
		checkUnquote(t, text)
	}
}

func FuzzUnquote(f *testing.F) {
	f.Add(`"a\u00e9\ud83d\ude00\n"`)
	f.Add("\"\xff\"")
	f.Fuzz(checkUnquote)
}

func checkUnquote(t *testing.T, text string) {
	var want string
	if json.Unmarshal([]byte(text), &want) != nil {
		return
	}
	text = strings.Trim(text, " \t\r\n")
	got, ok := decodeString([]byte(text))
	if ok != (text != "null") || got != want {
		t.Errorf("%q: got %q, %v, want %q", text, got, ok, want)
	}
}

// TestMembers compares what is JSON and the members of it with encoding/json, over
// texts and all that are one byte away from them.
func TestMembers(t *testing.T) {
	campaign.OneGoroutine(t)
	deep := func(n int) string { return strings.Repeat(`[`, n) + strings.Repeat(`]`, n) }
	for _, text := range []string{
		"", " ", "{}", " {} ", "[]", "null", "true", "falsey", "nul", `"a`, `{"a":1`, `{"a"`, `{,}`, `{"a":1,}`, `[1,]`, `{"a":1}{`, "{\"a\":1}\x00", "\x00",
		"0", "-", "-0", "01", "1.", "1.0", ".5", "1e", "1e+", "1E-05", "-1.5e3", "+1", "0x1", "1-", "Infinity",
		`"\u12"`, `"\u00e9"`, `"\uD83d\ude00"`, `"\x"`, `"\`, `"\"`, "\"\t\"", "\"\x7f\xff\"", "\"12345678\x1f\"", "\"1234567\x80\x01\"", "\"!12345#[]^\"",
		`{"a":"12345678901234567\n8\"","b":{"c":[{},[],"]}"]},"a":2}`, "{\t\"a\"\r:\n[ 1 , 2 ] }", "{\v}", "\xef\xbb\xbf{}",
		deep(9_999), deep(10_000), deep(10_001), `{"a":` + deep(9_999) + "}", `{"a":` + deep(10_000) + "}",
	} {
		checkMembers(t, text)
		near := min(len(text), 100)
		if len(text) > 1000 { // a deep one, each change of which takes a millisecond
			near = 3
		}
		for i := range near {
			checkMembers(t, text[:i]+text[i+1:])
			for _, c := range "\x00\x1f \"\\,:[]{}-+.019eEu/\x7f" {
				checkMembers(t, text[:i]+string(c)+text[i:])
				checkMembers(t, text[:i]+string(c)+text[i+1:])
			}
		}
	}
}

func FuzzMembers(f *testing.F) {
	f.Add(` {"a":1,"b" : [ {"c":"}]"} , null ],"a":"\"","":{}, "d":-1.5e3 } `)
	f.Add(`{}`)
	f.Add(`{"a":[],"b":true}`)
	f.Fuzz(checkMembers)
}

func checkMembers(t *testing.T, text string) {
	got := map[string]string{}
	object, valid := eachMember([]byte(text), func(name, value []byte) {
		n, _ := decodeString(name)
		got[n] = string(value)
	})
	if want := json.Valid([]byte(text)); valid != want {
		t.Fatalf("%.200q: JSON is %v, want %v", text, valid, want)
	}
	if !valid {
		return
	}
	var want map[string]json.RawMessage
	isObject := json.Unmarshal([]byte(text), &want) == nil && want != nil
	if object != isObject {
		t.Fatalf("%.200q: got %v, want %v", text, object, isObject)
	}
	if len(got) != len(want) {
		t.Fatalf("%.200q: got %q, want %q", text, got, want)
	}
	for name, value := range want {
		if got[name] != string(value) {
			t.Errorf("%.200q: %q is %q, want %q", text, name, got[name], value)
		}
	}
	first := map[string]string{}
	eachMember([]byte(text), func(name, value []byte) {
		if n := string(name[1 : len(name)-1]); first[n] == "" {
			first[n] = string(value)
		}
	})
	for _, name := range append(slices.Collect(maps.Keys(first)), "no such") {
		if value, ok := Member([]byte(text), name); ok != isObject || string(value) != first[name] {
			t.Errorf("%.200q: the first %q is %q, %v, want %q", text, name, value, ok, first[name])
		}
	}
}

func TestWholeNumber(t *testing.T) {
	const most = int(^uint(0) >> 1)
	for _, c := range []struct {
		text string
		want int
		ok   bool
	}{
		{"0", 0, true}, {"17", 17, true}, {"1e3", 1000, true}, {"2.0", 2, true}, {"-0", 0, true},
		{"9223372036854775807", most, true}, {"9223372036854775808", most, true}, {"1e400", most, true},
		{"-1", 0, false}, {"0.5", 0, false}, {"-1e400", 0, false}, {`"1"`, 0, false}, {"true", 0, false}, {"[1]", 0, false},
	} {
		if got, err := wholeNumber([]byte(c.text)); got != c.want || (err == nil) != c.ok {
			t.Errorf("%s: got %d, %v, want %d, %v", c.text, got, err, c.want, c.ok)
		}
	}
}
