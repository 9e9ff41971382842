package batch

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// TestMembers: members are in order, names are exact, and values are as written.
func TestMembers(t *testing.T) {
	for _, test := range []struct {
		text          string
		object, valid bool
		members       string
	}{
		{` {"a":1,"A" : [ {"c":"}]"} , null ],"a":"\"","\u0062":{} } `, true, true, `a=1;A=[ {"c":"}]"} , null ];a="\"";b={};`},
		{`{}`, true, true, ""}, {"[]", false, true, ""}, {"null", false, true, ""}, {"1", false, true, ""},
		{`{"a":1,}`, true, false, ""}, {`{"a":1}{`, false, false, ""}, {"", false, false, ""},
		{`{"a":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + "}", false, false, ""},
	} {
		got := ""
		object, valid := Members([]byte(test.text), func(name string, value []byte) { got += name + "=" + string(value) + ";" })
		if valid != test.valid || valid && (object != test.object || got != test.members) {
			t.Errorf("%.80q: object %v, JSON %v, %s", test.text, object, valid, got)
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

// FuzzMembers compares the members and elements of any text with those that a decoder reads.
func FuzzMembers(f *testing.F) {
	for _, text := range []string{
		`{"id":1,"url":"\\","robots":"a\"b\\\"","x":[1,{"y":"]}"},-1.5e3] , "id":null}`, ` [ 1 , "a,]" , {"b":[]} , true ] `, `{"\u0075rl":"\ud800","":{}}`,
		"\t{\"a\\\\\":\"\\\\\\\\\"}\r", `[]`, `{}`, `7`, `"a"`, `[[[["\""]]]]`, `{"a":1}}`, "{\"\xff\":\"\xff\"}", `[1 2]`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var got, want []string
		object, valid := Members(text, func(name string, value []byte) { got = append(got, name, string(value)) })
		isList := isJSON(text) && Elements(text, func(value []byte) { got = append(got, string(value)) })
		d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		whole, err := d.ReadValue()
		kind := whole.Kind()
		isValid := err == nil
		if isValid {
			_, err = d.ReadToken()
			isValid = errors.Is(err, io.EOF)
		}
		if valid != isValid || isValid && (object != (kind == '{') || isList != (kind == '[')) || !isValid && (object || isList) {
			t.Fatalf("%q: object %v, valid %v, list %v", text, object, valid, isList)
		}
		if !isValid || !object && !isList {
			return
		}
		d = jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		_, _ = d.ReadToken()
		for d.PeekKind() != '}' && d.PeekKind() != ']' {
			if object {
				name, _ := d.ReadToken()
				want = append(want, name.String())
			}
			value, err := d.ReadValue()
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, string(value))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	})
}
