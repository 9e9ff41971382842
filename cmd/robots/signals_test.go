package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/crawlers"
	"github.com/robotskit/robots/internal/campaign"
)

// TestSignalsHostile: whatever a file contains, no escape sequence reaches the terminal, every
// line of JSON is valid, and notes are bounded.
func TestSignalsHostile(t *testing.T) {
	campaign.NotForRace(t)
	var names, lines, agents strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&names, "n%d=%c,", i, "yn"[i%2])
		fmt.Fprintf(&lines, "Content-Signal: ai-train=%s\nContent-Usage: x%d\n", []string{"yes", "no"}[i%2], i)
	}
	for _, c := range crawlers.All() {
		fmt.Fprintf(&agents, "User-agent: %s\nContent-Signal: ai-train=no, ai-input=no\nContent-Usage: train-ai=n\nAllow: /\n", c.Name)
	}
	for name, tt := range map[string]struct {
		body    string
		signals int
	}{
		"bytes": {"User-agent: *\nContent-Signal: a\x1b[31m=\xff\x00, \u202eb=\x9bc\nContent-Usage: /\xff\x1b train-ai=n\n" +
			"Content-Usage: \x1b\xff\nLicense: x://\x1b]8;;\xff\nTDM-Policy: \x1b\xff\nLLMs-Txt:\x7f\n", 6},
		"names":    {"User-agent: *\nContent-Signal: " + names.String() + "\nContent-Usage: " + strings.TrimSuffix(names.String(), ",") + "\n", 20_000},
		"lines":    {"User-agent: *\n" + lines.String(), 10_000},
		"crawlers": {agents.String(), 0},
		"fields":   {"User-agent: *\n" + strings.Repeat("tdm-reservation: 1\nllms: x\n", 1000), 2000},
	} {
		{
			args := []string{"show", "-", "--only", "signals"}
			var text, out, errs bytes.Buffer
			if status := run(context.Background(), args, strings.NewReader(tt.body), &text, &errs); status != exitAllowed || errs.Len() > 0 {
				t.Errorf("%s: status %d, %s", name, status, errs.String())
			}
			if !utf8.Valid(text.Bytes()) || bytes.ContainsAny(text.Bytes(), "\x00\x1b\x7f\u202e\u009b") {
				t.Errorf("%s: the text is not safe: %q", name, text.Bytes()[:min(text.Len(), 1000)])
			}
			run(context.Background(), append(args, "--format", "json"), strings.NewReader(tt.body), &out, &errs)
			var got struct {
				Signals []any
				Notes   []answer.Note
			}
			if err := json.Unmarshal(out.Bytes(), &got); err != nil || bytes.Count(out.Bytes(), []byte("\n")) != 1 || !utf8.Valid(out.Bytes()) {
				t.Errorf("%s: %v, %q", name, err, out.Bytes()[:min(out.Len(), 1000)])
			}
			if len(got.Signals) != tt.signals || len(got.Notes) > 51 {
				t.Errorf("%s: %d signals and %d notes, want %d", name, len(got.Signals), len(got.Notes), tt.signals)
			}
		}
	}
}
