package main

import (
	"encoding/json"
	"strings"
	"testing"
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

// FuzzMembers compares the members of an object with those that encoding/json
// finds.
func FuzzMembers(f *testing.F) {
	f.Add(` {"a":1,"b" : [ {"c":"}]"} , null ],"a":"\"","":{}, "d":-1.5e3 } `)
	f.Add(`{}`)
	f.Add(`{"a":[],"b":true}`)
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) {
			return
		}
		var want map[string]json.RawMessage
		isObject := json.Unmarshal([]byte(text), &want) == nil && want != nil
		got := map[string]string{}
		if ok := eachMember([]byte(text), func(name string, value []byte) { got[name] = string(value) }); ok != isObject {
			t.Fatalf("%q: got %v, want %v", text, ok, isObject)
		}
		if !isObject {
			return
		}
		if len(got) != len(want) {
			t.Fatalf("%q: got %q, want %q", text, got, want)
		}
		for name, value := range want {
			if got[name] != string(value) {
				t.Errorf("%q: %q is %q, want %q", text, name, got[name], value)
			}
		}
	})
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
