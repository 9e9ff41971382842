package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/pace"
)

// TestFleetLeased: of a site that a worker has, show says who has it, and forget that it rests
// until the lease would have ended.
func TestFleetLeased(t *testing.T) {
	redis := redistest.Start(t, redistest.Options{})
	f, err := fleet.Open(t.Context(), redis.URL(), fleet.Options{Leased: true, Name: "crawl-7"})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	origin, _, err := robots.ParseURL("https://shop.example/")
	if err != nil {
		t.Fatal(err)
	}
	if g, err := f.Limiter().Reserve(t.Context(), pace.Key{Origin: origin}, nil, 0); err != nil || !g.OK() {
		t.Fatalf("%+v, %v", g, err)
	}
	for _, step := range []struct{ call, want string }{
		{"show", "  leased     worker crawl-7 has the site until 20"},
		{"forget --yes", "https://shop.example: forgotten; a worker has the site and gives it up, and it rests for "},
		{"show", "  leased     to nobody until 20"},
		{"show --format json", `"leased":null`},
	} {
		var out, said bytes.Buffer
		call := append([]string{"fleet"}, strings.Fields(step.call)...)
		if status := run(t.Context(), append(call, "--redis", redis.URL(), origin.String()), strings.NewReader(""), &out, &said); status != exitAllowed || !strings.Contains(out.String(), step.want) {
			t.Errorf("%s: %d %s%s, want %s", step.call, status, &out, &said, step.want)
		}
	}
}
