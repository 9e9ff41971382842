package ask

import (
	"slices"
	"testing"
)

// TestTokens: a list is split at its commas, but not within parentheses; one that is never opened
// closes nothing, and one that is never closed reaches to the end.
func TestTokens(t *testing.T) {
	for value, want := range map[string][]string{
		"GPTBot":                  {"GPTBot"},
		"a,b":                     {"a", "b"},
		" a , b ":                 {"a", "b"},
		"Mozilla (KHTML, like x)": {"Mozilla (KHTML, like x)"},
		"a (x, (y), z), b":        {"a (x, (y), z)", "b"},
		"a), (b, c), d":           {"a)", "(b, c)", "d"},
		"a)), ((b, c), d":         {"a))", "((b, c), d"},
		"a (b, c":                 {"a (b, c"},
		"":                        {""},
		",a":                      nil,
		"a,,b":                    nil,
		"a,":                      nil,
	} {
		got, err := Tokens(value)
		if (err != nil) != (want == nil) || !slices.Equal(got, want) {
			t.Errorf("%q: got %q, %v; want %q", value, got, err, want)
		}
	}
}
