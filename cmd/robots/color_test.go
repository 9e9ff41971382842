package main

import (
	"testing"

	"github.com/robotskit/robots/cmd/internal/render"
)

func TestPalette(t *testing.T) {
	for _, c := range []struct {
		name            string
		flag            string
		noColour, force string
		term            string
		terminal, want  bool
	}{
		{name: "pipe", flag: "auto"},
		{name: "terminal", flag: "auto", terminal: true, want: true},
		{name: "dumb terminal", flag: "auto", term: "dumb", terminal: true},
		{name: "NO_COLOR on a terminal", flag: "auto", noColour: "1", terminal: true},
		{name: "FORCE_COLOR on a pipe", flag: "auto", force: "1", want: true},
		{name: "FORCE_COLOR=0 on a pipe", flag: "auto", force: "0"},
		{name: "FORCE_COLOR on a dumb terminal", flag: "auto", force: "1", term: "dumb", terminal: true, want: true},
		{name: "NO_COLOR and FORCE_COLOR", flag: "auto", noColour: "1", force: "1", terminal: true},
		{name: "always on a pipe with NO_COLOR", flag: "always", noColour: "1", want: true},
		{name: "never on a terminal with FORCE_COLOR", flag: "never", force: "1", terminal: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("NO_COLOR", c.noColour)
			t.Setenv("FORCE_COLOR", c.force)
			t.Setenv("TERM", c.term)
			got := render.NewPalette(c.flag, c.terminal)
			if got.On != c.want {
				t.Errorf("got %v, want %v", got.On, c.want)
			}
		})
	}
}

func TestLink(t *testing.T) {
	const page = "\x1b]8;;https://github.com/robotskit/robots/blob/main/docs/clauses.md#"
	for id, want := range map[string]string{
		"D-09":     page + "d-09\x1b\\D-09\x1b]8;;\x1b\\",
		"SPEC 3.5": page + "spec-35\x1b\\SPEC 3.5\x1b]8;;\x1b\\",
	} {
		if got := (render.Palette{On: true}).Link(id); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
