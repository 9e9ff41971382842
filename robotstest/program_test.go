package robotstest

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// asProgram makes the test binary a program whose exit status is the verdict, like Google's
// command: arguments dialect, file, agent and URL.
const asProgram = "ROBOTSTEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		os.Exit(m.Run())
	}
	args := os.Args[1:]
	body, err := os.ReadFile(args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	a, err := Own(body, args[0], args[2:3], args[3])
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	case a.Verdict == "disallow":
		os.Exit(1)
	}
	os.Exit(0)
}

// TestProgram runs a program, this test binary, on the few cases with difficult command lines:
// spaces, empty words, several tokens, bytes that are not UTF-8. More cases would take seconds,
// as each cell is a process.
func TestProgram(t *testing.T) {
	hard := named(t, "agent-whole-header", "agent-nobody", "agent-list-order", "escape-blank", "escape-raw-byte-in-url", "parse-nul-in-value")
	t.Setenv(asProgram, "1")
	engine := Program(os.Args[0] + " %dialect% %robots% %user-agent% %url%")
	Run(t, engine, Options{Cases: hard, Dialects: []string{"rfc9309", "google-cpp"}, TwoValued: true})
}

func TestProgramErrors(t *testing.T) {
	t.Setenv(asProgram, "1")
	body := []byte("User-agent: *\nDisallow: /a\n")
	tests := []struct {
		name, template string
		agents         []string
		url            string
		unsupported    bool
		want           string
	}{
		{"usage", os.Args[0] + " %dialect% %robots%.gone %user-agent% %url%", []string{"a"}, "/a", false, "exit status 2: open "},
		{"no such program", "/no/such/program", []string{"a"}, "/a", false, "no such file or directory"},
		{"empty template", " ", []string{"a"}, "/a", false, "the command template is empty"},
		{"several tokens", os.Args[0], []string{"a", "b"}, "/a", true, "several tokens"},
		{"NUL", os.Args[0], []string{"a"}, "/a\x00", true, "NUL"},
	}
	for _, tt := range tests {
		_, err := Program(tt.template)(body, "rfc9309", tt.agents, tt.url)
		if err == nil || errors.Is(err, errors.ErrUnsupported) != tt.unsupported || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s\ngot:  %v\nwant: %s (unsupported: %t)", tt.name, err, tt.want, tt.unsupported)
		}
	}
}
