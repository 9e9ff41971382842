package main

import (
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDirectorySearches: with a file, the directory of crawlers is searched for a name similar
// to that of -a only if the file names one.
func TestDirectorySearches(t *testing.T) {
	file := filepath.Join(t.TempDir(), "robots.txt")
	if err := os.WriteFile(file, []byte("User-agent: *\nUser-agent: GPTBot\nUser-agent: Slurp\nDisallow: /a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	searches, names := 0, directoryNames
	directoryNames = func() iter.Seq[string] {
		searches++
		return names()
	}
	defer func() { directoryNames = names }()
	for _, c := range []struct {
		agent    string
		searches int
		hint     string
	}{
		{"SomeBot", 0, ""}, {"Googlebo", 0, ""}, {"GPTBot", 0, ""}, {"gptbot", 0, ""}, {"GooglebotX", 0, ""}, {"Slurpy", 1, "did you mean Slurp?"},
		{"GTPBot", 1, "did you mean GPTBot?"}, {"gptbots", 1, "did you mean GPTBot?"},
	} {
		var said strings.Builder
		searches = 0
		if status := run(t.Context(), []string{"check", "-f", file, "-a", c.agent, "/b"}, strings.NewReader(""), io.Discard, &said); status != exitAllowed {
			t.Errorf("%s: status %d: %s", c.agent, status, &said)
		}
		if searches != c.searches || strings.Contains(said.String(), "did you mean") != (c.hint != "") || !strings.Contains(said.String(), c.hint) {
			t.Errorf("%s: %d searches, want %d: %q, want %q", c.agent, searches, c.searches, &said, c.hint)
		}
	}
}
