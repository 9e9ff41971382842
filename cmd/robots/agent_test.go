package main

import (
	"io"
	"strings"
	"testing"
)

// TestSuggestions: with a file, only names of known crawlers in it are suggested for a name
// similar to them.
func TestSuggestions(t *testing.T) {
	file := writeFile(t, "User-agent: *\nUser-agent: GPTBot\nUser-agent: Slurp\nUser-agent: UnknownBot\nDisallow: /a\n")
	for agent, hint := range map[string]string{
		"SomeBot": "", "Googlebo": "", "GPTBot": "", "gptbot": "", "GooglebotX": "", "UnknownBots": "",
		"Slurpy": "did you mean Slurp?", "GTPBot": "did you mean GPTBot?", "gptbots": "did you mean GPTBot?",
	} {
		var said strings.Builder
		if status := run(t.Context(), []string{"check", "-f", file, "-a", agent, "/b"}, strings.NewReader(""), io.Discard, &said); status != exitAllowed {
			t.Errorf("%s: status %d: %s", agent, status, &said)
		}
		if strings.Contains(said.String(), "did you mean") != (hint != "") || !strings.Contains(said.String(), hint) {
			t.Errorf("%s: %q, want %q", agent, &said, hint)
		}
	}
}
