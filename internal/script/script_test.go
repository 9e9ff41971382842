package script_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/robotskit/robots/internal/redistest"
	"github.com/robotskit/robots/internal/script"
)

// TestRun: a server that does not know a script receives it once.
func TestRun(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := server.Client()
	for i, s := range []*script.Script{
		{Text: func() string { return "return KEYS[1] .. ARGV[1]" }},
		{Text: func() string { return "return KEYS[1] .. ARGV[1] --" }, Retry: true},
	} {
		for range 2 {
			for _, r := range s.RunAll(t.Context(), client, []script.Call{{[]string{"a"}, []string{"b"}}}) {
				if got, err := r.ToString(); got != "ab" || err != nil {
					t.Errorf("%q, %v", got, err)
				}
			}
		}
		if want, stats := fmt.Sprintf("cmdstat_eval:calls=%d,", i+1), server.Do("INFO", "commandstats"); !strings.Contains(stats, want) {
			t.Errorf("%s, want %s", stats, want)
		}
	}
}

// TestKind checks the kinds of real replies of a server.
func TestKind(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := server.Client()
	server.Do("LPUSH", "list", "a")
	server.Do("ACL", "SETUSER", "default", "-time")
	for text, want := range map[string]script.Kind{
		"return redis.call('GET', 'list')":                      script.Refused,
		"return redis.call('TIME')":                             script.Down,
		"return redis.error_reply('NOPERM no right')":           script.Down,
		"return redis.error_reply('LOADING a file')":            script.Down,
		"return redis.error_reply('READONLY a replica')":        script.ReadOnly,
		"return redis.error_reply('OOM command not allowed')":   script.Full,
		"return redis.error_reply('BUSY with a script')":        script.Other,
		"return redis.error_reply('ERR value is out of range')": script.Refused,
	} {
		s := &script.Script{Text: func() string { return text }}
		err := s.Run(t.Context(), client, nil, nil).Error()
		if got := script.KindOf(err); got != want {
			t.Errorf("%s: kind %d of %v, want %d", text, got, err, want)
		}
	}
	for _, err := range []error{io.EOF, context.DeadlineExceeded, errors.New("OOM of our own")} {
		if got := script.KindOf(err); got != script.Lost || script.Says(err, "OOM") {
			t.Errorf("kind %d of %v, want Lost", got, err)
		}
	}
}

func TestPrefix(t *testing.T) {
	for prefix, want := range map[string]string{
		"": "robots", "crawl": "crawl", strings.Repeat("a", 64): strings.Repeat("a", 64),
		"a b": "", "{a}": "", "a\x00": "", strings.Repeat("a", 65): "",
	} {
		if got, err := script.Prefix(prefix); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", prefix, got, err, want)
		}
	}
}
