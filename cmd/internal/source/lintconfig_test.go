package source

import (
	"strings"
	"testing"
)

// FuzzLintConfig: each mistake in a configuration of lint has its position.
func FuzzLintConfig(f *testing.F) {
	f.Add("checks: {RT504: off, no-leading-slash: loud}\ndialects: [google]\nfail-on: never\n---")
	f.Add("a: &a [*a]\n---\n? [1]\n: !!binary x")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := ParseLintConfig("f.yaml", []byte(text)); err != nil && !strings.HasPrefix(err.Error(), "f.yaml:") {
			t.Errorf("%q: a mistake without its position: %v", text, err)
		}
	})
}
