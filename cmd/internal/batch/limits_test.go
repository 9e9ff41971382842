package batch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
)

// TestLimits: a member beyond a limit of the API is an error of its line, and the largest allowed one is answered.
func TestLimits(t *testing.T) {
	a := NewAnswerer(&Defaults{Dialect: robots.RFC9309, Limits: Limits{URL: 20, Tokens: 3, Token: 5}})
	for line, want := range map[string]string{
		`"url":"/` + strings.Repeat("a", 19) + `"`:             `"allowed":true`,
		`"url":"/` + strings.Repeat("a", 20) + `"`:             `"error":"url has more than 20 bytes","code":"bad-url"`,
		`"url":"/","agent":["a","b","c"]`:                      `"allowed":true`,
		`"url":"/","agent":["a","b","c","d"]`:                  `"error":"agent has 4 product tokens: at most 3 are allowed","code":"bad-parameter"`,
		`"url":"/","agent":[` + strings.Repeat("1,", 9) + `1]`: `"error":"agent is neither`,
		`"url":"/","agent":"abcde"`:                            `"allowed":true`,
		`"url":"/","agent":["a","abcdef"]`:                     `"error":"agent has a product token of more than 5 bytes: use one such as MyBot","code":"bad-parameter"`,
	} {
		q := Read([]byte(`{"robots":"",` + line + `}`))
		if got := string(a.Append(nil, &q)); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
	q := Read([]byte(`{"url":"http://a.test/` + strings.Repeat("a", 20) + `"}`))
	if site, _ := a.Site(&q); !site.IsZero() {
		t.Errorf("the site %v of a long URL is fetched", site)
	}
}

// TestMemberMeant: a misspelled name is found as by the number of edits, whatever is added or changed.
func TestMemberMeant(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	letters := []rune("agentrobsdilcmxy_6é\uFFFD世")
	for range 200_000 {
		known := memberNames[r.IntN(len(memberNames))]
		name := []rune(known)
		for range r.IntN(3) {
			i := r.IntN(len(name) + 1)
			switch r.IntN(4) {
			case 0:
				name = slices.Insert(name, i, letters[r.IntN(len(letters))])
			case 1:
				name = slices.Delete(name, i, min(i+1, len(name)))
			case 2:
				name = append(append(slices.Clone(name[:i]), letters[r.IntN(len(letters))]), name[min(i+1, len(name)):]...)
			default:
				if i+1 < len(name) {
					name[i], name[i+1] = name[i+1], name[i]
				}
			}
		}
		if got, want := oneEdit(string(name), known), ask.Edits(string(name), known) == 1; got != want {
			t.Fatalf("%q is one edit away from %s: %v, want %v", string(name), known, got, want)
		}
	}
}

// TestUnknownMembers: unknown members of a line allocate nothing each, also those of a length that a misspelled name has.
func TestUnknownMembers(t *testing.T) {
	line := func(members int) []byte {
		var b strings.Builder
		b.WriteString(`{"url":"/","robots":""`)
		for i := range members {
			fmt.Fprintf(&b, `,"robotx_%06d":%d,"x":{"a":"b"}`, i, i)
		}
		return []byte(b.String() + "}")
	}
	few, many := line(10), line(10_000)
	read := func(line []byte) float64 {
		return testing.AllocsPerRun(5, func() {
			if q := Read(line); q.bad != nil {
				t.Fatal(q.bad)
			}
		})
	}
	// The decoder allocates for what has no buffer of its own yet.
	if more := read(many) - read(few); more > 20_000 {
		t.Errorf("10,000 unknown members more allocate %v times", more)
	}
}
