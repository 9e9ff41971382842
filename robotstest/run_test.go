package robotstest

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestAnswerAgrees(t *testing.T) {
	tests := []struct {
		want, got Answer
		agrees    bool
	}{
		{Answer{"allow", 3, "rule"}, Answer{"allow", 3, "rule"}, true},
		{Answer{"allow", 3, "rule"}, Boolean(true), true},
		{Answer{"allow", 3, "rule"}, Boolean(false), false},
		{Answer{"allow", 3, "rule"}, Answer{"allow", 4, "rule"}, false},
		{Answer{"allow", 3, "rule"}, Answer{"allow", 0, ""}, false},
		{Answer{"allow", -1, ""}, Answer{"allow", 4, "rule"}, true},
		{Answer{"allow", 0, "no-rule"}, Answer{"allow", 0, "no-group"}, false},
		{Answer{"allow", 0, "no-rule"}, Answer{"allow", -1, ""}, true},
		{Answer{"undefined", 2, "rule"}, Boolean(true), false},
	}
	for _, tt := range tests {
		if got := tt.want.agrees(tt.got); got != tt.agrees {
			t.Errorf("want %+v, got %+v: %t, want %t", tt.want, tt.got, got, tt.agrees)
		}
	}
}

// named returns the cases with these names.
func named(t *testing.T, names ...string) []*Case {
	t.Helper()
	cases, err := Cases()
	cases = slices.DeleteFunc(cases, func(c *Case) bool { return !slices.Contains(names, c.Name) })
	if err != nil || len(cases) != len(names) {
		t.Fatalf("%d of the cases %q (%v)", len(cases), names, err)
	}
	return cases
}

func never([]byte, string, []string, string) (Answer, error) { return Boolean(false), nil }

// TestKnown: a known difference does not fail, by cell or by case, of a verdict or of a fact.
func TestKnown(t *testing.T) {
	Run(t, never, Options{
		Cases:    named(t, "match-path-case", "match-dollar-root", "delay-largest"),
		Dialects: []string{"rfc9309"},
		Facts:    func(Kind, []byte, string, []string) (string, error) { return "unlike any", nil },
		Known: map[string]string{
			"match-path-case/rfc9309 GooseBot /fish": "it forbids everything",
			"match-path-case/rfc9309 GooseBot /FISH": "it forbids everything",
			"match-dollar-root":                      "it forbids everything",
			"delay-largest":                          "it knows no delays",
		},
	})
}

// TestMistakes: names of dialects and cases that do not exist fail.
func TestMistakes(t *testing.T) {
	const name = "ROBOTSTEST_MISTAKES"
	if os.Getenv(name) != "" {
		Run(t, never, Options{Dialects: []string{"rfc-9309"}, Known: map[string]string{"no-such-case": "none"}})
		return
	}
	run := exec.Command(os.Args[0], "-test.run=^TestMistakes$")
	run.Env = append(os.Environ(), name+"=1")
	out, err := run.CombinedOutput()
	if text := string(out); err == nil || !strings.Contains(text, `unknown dialect "rfc-9309"`) || !strings.Contains(text, "no-such-case: unknown case") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestListing(t *testing.T) {
	got := listing([]byte("\xEF\xBB\xBFa\r\nb\rc\x00\n\nd" + strings.Repeat("x", 300)))
	want := "    1 a\\r\\n\n    2 b\\r\n    3 c\\x00\\n\n    4 \\n\n    5 d" + strings.Repeat("x", 199) + "...(301 bytes)"
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
