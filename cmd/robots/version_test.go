package main

import (
	"strings"
	"testing"

	"github.com/robotskit/robots/cmd/internal/screen"
)

// TestDefaultUserAgent: requests name the version of the program, if it has one.
func TestDefaultUserAgent(t *testing.T) {
	defer func(was func() string) { programVersion = was }(programVersion)
	for version, want := range map[string]string{
		"v1.2.3": "robotskit/1.2.3 (+https://github.com/robotskit/robots)",
		"v0.0.0-20261122012631-9f6e5add98ab+dirty": "robotskit/0.0.0-20261122012631-9f6e5add98ab+dirty (+https://github.com/robotskit/robots)",
		"(devel)": "robotskit (+https://github.com/robotskit/robots)",
		"unknown": "robotskit (+https://github.com/robotskit/robots)",
	} {
		programVersion = func() string { return version }
		if got := defaultUserAgent(); got != want {
			t.Errorf("%s: %q, want %q", version, got, want)
		}
		for _, cmd := range newRoot(&screen.Streams{}, "").Commands() {
			if f := cmd.Flags().Lookup("user-agent"); f != nil && !strings.Contains(f.Usage+f.DefValue, want) {
				t.Errorf("%s: the help of %s does not name %q", version, cmd.Name(), want)
			}
		}
	}
}
