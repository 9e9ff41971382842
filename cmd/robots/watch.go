package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/lint"
	"github.com/spf13/cobra"
)

const (
	formatSlack = "slack"
	// webhookTokenName is the environment variable with the bearer token of --webhook.
	webhookTokenName = "ROBOTS_WEBHOOK_TOKEN"
	webhookTries     = 4
)

// webhookWait is the time to the second attempt; it doubles. Tests shorten it.
var webhookWait = time.Second

// A watcher is one run of watch.
type watcher struct {
	*command
	site          siteFlags
	state         string // the file of --state
	expect        string // the file of --expect
	every         time.Duration
	failOn        string
	fail          lint.Severity // of --fail-on
	budget        int
	webhook       string
	webhookFormat string
}

func watchCommand(std *streams, status *int) *cobra.Command {
	w := &watcher{command: newCommand(std, formatMarkdown)}
	cmd := &cobra.Command{
		Use:   "watch {--state FILE | --expect FILE} URL...",
		Short: "Report robots.txt changes that affect crawlers",
		Long: `Fetch the robots.txt of each site and report what changed since the last run, for every crawler
named in either version and for *: URLs that are newly blocked or allowed, proved over all URLs,
and delays, sitemaps and other declarations. The last version of each site is kept in --state.
With --expect, the file of a site is compared with the one that was deployed instead.

Severities: critical (newly blocked for * or a search crawler; unreachable twice in a row, so that
crawlers treat the site as blocked), warning (other verdicts, delays, sitemaps), info (comments and
layout, with a proof that no URL changes; first failure; first run). --fail-on has the severities of
lint and diff: error is critical here, and note is info. With --expect the default is warning.

Run it from cron or CI, or as a loop with --every. A --webhook gets each report with a change.

Exit status: 0 nothing of the --fail-on severity or above; 1 such an event; 2 invalid usage,
unreadable state, or a webhook that failed; 3 no such event found, but a proof exceeded --budget,
robots.txt could not be requested or, with --expect, a site is unreachable.`,
		Example: `  robots watch --state state.json https://example.com/
  robots watch --state state.json --every 1h --webhook https://hooks.example/x https://example.com/
  robots watch --expect public/robots.txt https://www.example.com/`,
		DisableFlagsInUseLine: true,
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&w.state, "state", "", "`FILE` last version of each site")
	f.StringVar(&w.expect, "expect", "", "`FILE` robots.txt to compare each site with")
	failOnFlag(cmd, &w.failOn, lint.Error.String())
	f.DurationVar(&w.every, "every", 0, "`DURATION` time between rounds, such as 1h, until interrupted")
	f.StringVar(&w.webhook, "webhook", "", "`URL` endpoint for reports with a change, sent by POST (bearer token in $"+webhookTokenName+")")
	f.StringVar(&w.webhookFormat, "webhook-format", formatJSON, "`FORMAT` json or slack")
	complete(cmd, "webhook-format", []string{formatJSON, formatSlack})
	budgetFlag(cmd, &w.budget)
	w.formatFlag(cmd)
	w.site.register(cmd)
	w.colorFlag(cmd)
	cmd.RunE = w.run(status, w.watch)
	return cmd
}

func (w *watcher) watch(ctx context.Context) (int, error) {
	origins, err := w.check()
	if err != nil {
		return exitBad, err
	}
	var expected *robots.File
	if w.expect != "" {
		if expected, err = w.readRobots(w.expect, robots.RFC9309); err != nil {
			return exitBad, err
		}
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	for first := true; ; first = false {
		status, err := w.round(ctx, origins, expected)
		switch {
		case w.every == 0, err != nil && (first || ctx.Err() != nil):
			return status, err
		case err != nil: // such as a webhook that is down for some time
			complain(w.std, w.name, err)
		}
		if err := w.std.out.Flush(); err != nil {
			return exitBad, err
		}
		select {
		case <-ctx.Done():
			return exitAllowed, nil
		case <-time.After(w.every): //nolint:forbidigo // the interval of --every
		}
	}
}

// check checks the flags, and returns the sites.
func (w *watcher) check() (origins []robots.Origin, err error) {
	if w.fail, err = severityNamed("--fail-on", w.failOn, failNever); err != nil {
		return nil, err
	}
	if w.expect != "" && !w.given("fail-on") {
		w.fail = lint.Warning
	}
	switch {
	case len(w.args) == 0:
		return nil, errors.New("no site given; name the URL of each")
	case (w.state == "") == (w.expect == ""):
		return nil, errors.New("add --state FILE, to compare with the last version, or --expect FILE")
	case w.expect != "" && w.every != 0:
		return nil, errors.New("--every repeats a comparison with --state, not with --expect")
	case w.every < 0 || w.every > 0 && w.every < time.Second:
		return nil, fmt.Errorf("--every %s is too short; the least is 1s", w.every)
	case w.webhookFormat != formatJSON && w.webhookFormat != formatSlack:
		return nil, fmt.Errorf("unknown --webhook-format %q (known: json, slack)", clip(w.webhookFormat))
	}
	if u, err := url.Parse(w.webhook); w.given("webhook") && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") { //nolint:forbidigo // not the URL of a site
		return nil, fmt.Errorf("--webhook %q: not an http or https URL", clip(w.webhook))
	}
	for _, arg := range w.args {
		if !isURL(arg) {
			return nil, fmt.Errorf("%q is not the URL of a site, such as https://example.com/", clip(arg))
		}
		o, err := siteOf(arg)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(origins, o) {
			origins = append(origins, o)
		}
	}
	return origins, nil
}

// round fetches every site once and reports what changed. The state is written after the webhook has accepted the reports, so
// that no change is lost.
func (w *watcher) round(ctx context.Context, origins []robots.Origin, expected *robots.File) (int, error) {
	kept, err := readState(w.state)
	if err != nil {
		return exitBad, err
	}
	live, err := newLive(w.command, &w.site, robots.Dialects(), noLimit)
	if err != nil {
		return exitBad, err
	}
	defer live.close()
	sites := make([]*site, len(origins))
	for i, o := range origins {
		sites[i] = live.start(ctx, o)
	}
	var reports []siteReport
	status := exitAllowed
	for i, o := range origins {
		if !sites[i].await(ctx, func() {}) {
			return exitBad, errInterrupted
		}
		from, err := live.get(ctx, sites[i])
		if err != nil {
			return exitBad, err
		}
		r := siteReport{Schema: 1, Site: o.String(), Observed: w.std.now().UTC().Truncate(time.Second)}
		if expected != nil {
			r.expect(expected, from.Record, w.budget)
		} else {
			if next := r.observe(kept.Sites[r.Site], from.Record, w.budget); next != nil {
				kept.Sites[r.Site] = next
			}
		}
		live.hint(from.Record)
		status = worse(status, r.status(w.fail))
		reports = append(reports, r)
		if err := w.print(r); err != nil {
			return exitBad, err
		}
	}
	if err := w.notify(ctx, reports); err != nil {
		return exitBad, err
	}
	if w.state != "" {
		err = kept.write(w.state)
	}
	if err != nil {
		return exitBad, err
	}
	return status, nil
}

// A watchState is what --state holds.
type watchState struct {
	Schema int                   `json:"schema"`
	Sites  map[string]*siteState `json:"sites"`
}

// A siteState is the last version of one site, and its failures since.
type siteState struct {
	Changed      time.Time  `json:"changed"` // when the version was seen first
	Missing      bool       `json:"missing,omitempty"`
	Text         string     `json:"robots,omitempty"`
	Bytes        []byte     `json:"robots_b64,omitempty"` // a file that is not valid UTF-8
	Failures     int        `json:"failures,omitempty"`
	FailingSince *time.Time `json:"failing_since,omitempty"`
}

func (s *siteState) body() []byte {
	if s.Bytes != nil {
		return s.Bytes
	}
	return []byte(s.Text)
}

func (s *siteState) set(body []byte) {
	s.Text, s.Bytes = "", nil
	if utf8.Valid(body) {
		s.Text = string(body)
	} else {
		s.Bytes = body
	}
}

func readState(name string) (*watchState, error) {
	state := &watchState{Schema: 1, Sites: map[string]*siteState{}}
	if name == "" {
		return state, nil
	}
	text, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return state, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read --state: %w", err)
	}
	if err := json.Unmarshal(text, state); err != nil || state.Schema != 1 {
		return nil, fmt.Errorf("--state %s is not a state of robots watch; name another file", name)
	}
	maps.DeleteFunc(state.Sites, func(_ string, s *siteState) bool { return s == nil })
	if state.Sites == nil {
		state.Sites = map[string]*siteState{}
	}
	return state, nil
}

// write replaces the file in one step, so that a crash leaves the old one or the new one.
func (s *watchState) write(name string) error {
	text, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".robots-watch-")
	if err != nil {
		return fmt.Errorf("cannot write --state: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("cannot write --state: %w", err)
	}
	return nil
}

// notify posts the reports that have an event, and tries again after failures.
func (w *watcher) notify(ctx context.Context, reports []siteReport) error {
	reports = slices.DeleteFunc(slices.Clone(reports), func(r siteReport) bool { return r.Severity == "" })
	if w.webhook == "" || len(reports) == 0 {
		return nil
	}
	var body []byte
	var err error
	if w.webhookFormat == formatSlack {
		var text strings.Builder
		for _, r := range reports {
			r.text(&text, "*", "*")
		}
		body, err = json.Marshal(map[string]string{"text": text.String()})
	} else {
		body, err = json.Marshal(map[string]any{"schema": 1, "reports": reports})
	}
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		if err = w.post(ctx, body); err == nil {
			return nil
		}
		if try == webhookTries {
			return fmt.Errorf("cannot post to --webhook after %d attempts: %w; the state is unchanged, so the next run reports again", try, err)
		}
		w.warn("--webhook: %v; trying again", err)
		select {
		case <-ctx.Done():
			return errInterrupted
		case <-time.After(webhookWait << (try - 1)): //nolint:forbidigo // between attempts
		}
	}
}

func (w *watcher) post(ctx context.Context, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.webhook, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", defaultUserAgent())
	if token := os.Getenv(webhookTokenName); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return cause(err)
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // so that the connection can be closed cleanly
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	return nil
}

// blockedIn returns the dialects in which the failure of a site blocks all of it now.
func blockedIn(r *fetch.Record, now time.Time) (names []string) {
	for _, d := range []robots.Dialect{robots.RFC9309, robots.Google, robots.Bing, robots.Seznam, robots.Yandex} {
		if !(ask.Source{Record: r}).Obey(d, 0, now, []string{anyCrawler}).Allowed(robots.RawPath("/")) {
			names = append(names, d.Name)
		}
	}
	return names
}
