package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/cmd/internal/webhook"
)

// TestWebhook: a report with a change is posted, again after a failure; if all attempts fail, the next run reports the change
// again.
func TestWebhook(t *testing.T) {
	defer func(wait time.Duration) { webhook.Wait = wait }(webhook.Wait)
	webhook.Wait = time.Millisecond
	t.Setenv(webhook.TokenName, "secret")
	var mu sync.Mutex
	text, failures := "User-agent: *\nDisallow: /a\n", 0
	var posts []string
	fetched, posted := func() {}, func() {} // called with mu
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Method != http.MethodPost {
			_, _ = io.WriteString(w, text)
			fetched()
			return
		}
		if failures > 0 {
			failures--
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		body, _ := io.ReadAll(r.Body)
		posts = append(posts, r.Header.Get("Authorization")+" "+string(body))
		posted()
	}))
	defer site.Close()
	state := filepath.Join(t.TempDir(), "state.json")
	try := func(want int, newText string, fail int, more ...string) []string {
		t.Helper()
		mu.Lock()
		text, failures, posts = newText, fail, nil
		mu.Unlock()
		var out bytes.Buffer
		args := append([]string{"watch", "--allow-private", "--state", state, "--webhook", site.URL + "/hook", site.URL}, more...)
		if got := run(context.Background(), args, strings.NewReader(""), &out, &out); got != want {
			t.Errorf("exit status %d, want %d: %s", got, want, out.String())
		}
		return posts
	}
	try(exitAllowed, text, 0)
	if posts := try(exitAllowed, text, 0); len(posts) != 0 {
		t.Errorf("posts without a change: %q", posts)
	}
	blocked := "User-agent: *\nDisallow: /\n"
	if posts := try(exitBad, blocked, webhook.Attempts); len(posts) != 0 {
		t.Errorf("posts of a failed webhook: %q", posts)
	}
	sent := try(exitDisallowed, blocked, 2)
	if len(sent) != 1 {
		t.Fatalf("posts: %q", sent)
	}
	token, body, _ := strings.Cut(sent[0], "{")
	var report struct {
		Reports []answer.SiteReport
	}
	if err := json.Unmarshal([]byte("{"+body), &report); err != nil || token != "Bearer secret " || len(report.Reports) != 1 || report.Reports[0].Severity != "error" || report.Reports[0].Events[0].Path != "/" {
		t.Errorf("posted %q: %v", sent[0], err)
	}
	if posts := try(exitAllowed, "", 0, "--webhook-format", "slack"); len(posts) != 1 || !strings.Contains(posts[0], `{"text":"*`+site.URL+`*: warning`) {
		t.Errorf("posted for Slack: %q", posts)
	}

	// A loop goes on after a round that failed.
	ctx, cancel := context.WithCancel(context.Background())
	posts = nil
	posted = func() { fetched = cancel } // in the fourth round
	fetched = func() {
		text, failures, fetched = blocked, webhook.Attempts, func() {} // for the second round
	}
	var out bytes.Buffer
	args := []string{"watch", "--allow-private", "--state", state, "--webhook", site.URL + "/hook", "--every", "1s", site.URL}
	run(ctx, args, strings.NewReader(""), &out, &out)
	if len(posts) != 1 || !strings.Contains(out.String(), "cannot post to --webhook after 4 attempts") {
		t.Errorf("posts %q: %s", posts, out.String())
	}
}

// TestWatchTogether: runs with different sites and one state keep each other's sites.
func TestWatchTogether(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state.json")
	watch := func(site string) int {
		return run(context.Background(), []string{"watch", "--allow-private", "--state", state, site}, strings.NewReader(""), io.Discard, io.Discard)
	}
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { // while the first run has read the state
		if status := watch(other.URL); status != exitAllowed {
			t.Errorf("exit status %d", status)
		}
	}))
	defer site.Close()
	if status := watch(site.URL); status != exitAllowed {
		t.Errorf("exit status %d", status)
	}
	// Runs that end at the same time.
	var runs sync.WaitGroup
	for i := range 8 {
		runs.Go(func() {
			many := map[string]answer.SiteState{fmt.Sprintf("http://site%d.example", i): {Changed: time.Now()}}
			if err := source.UpdateSites(state, many); err != nil {
				t.Error(err)
			}
		})
	}
	runs.Wait()
	kept, err := source.ReadSites(state)
	if err != nil || len(kept) != 10 {
		t.Errorf("%v: %d sites in the state, want 10", err, len(kept))
	}
}

// TestWatchInterrupted: a run that waits for a slow site ends without a report, and the state stays as it was.
func TestWatchInterrupted(t *testing.T) {
	_, slow, requested := newPair(t)
	state := filepath.Join(t.TempDir(), "state.json")
	const before = "{}\n"
	if err := os.WriteFile(state, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	var messages bytes.Buffer
	cmd, _, out := start(t, &messages, "watch", "--allow-private", "--state", state, slow+"/")
	<-requested
	if got := interrupted(t, cmd, out, &messages, "robots watch: interrupted\n"); got != "" {
		t.Errorf("after the interrupt there is %q, want nothing", got)
	}
	if after, err := os.ReadFile(state); err != nil || string(after) != before {
		t.Errorf("the state is %q, %v", after, err)
	}
}
