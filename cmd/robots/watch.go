package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
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

func watchCommand(std *screen.Streams) *cobra.Command {
	w := &watcher{command: newCommand(std)}
	cmd := &cobra.Command{Use: "watch"}
	f := cmd.Flags()
	f.StringVar(&w.state, "state", "", "`FILE` last version of each site")
	f.StringVar(&w.expect, "expect", "", "`FILE` robots.txt to compare each site with")
	failOnFlag(cmd, &w.failOn, lint.Error.String())
	f.DurationVar(&w.every, "every", 0, "`DURATION` time between rounds, such as 1h, until interrupted")
	f.StringVar(&w.webhook, "webhook", "", "`URL` endpoint for reports with a change, sent by POST (bearer token in $"+webhookTokenName+")")
	choiceFlag(cmd, &w.webhookFormat, "webhook-format", formatJSON, "`FORMAT` json or slack", formatJSON, formatSlack)
	budgetFlag(cmd, &w.budget)
	w.formatFlag(cmd, formatMarkdown)
	w.site.register(cmd)
	w.colorFlag(cmd)
	cmd.RunE = w.run(w.watch)
	return cmd
}

func (w *watcher) watch(ctx context.Context) (int, error) {
	if err := w.check(); err != nil {
		return exitBad, err
	}
	ctx, stop := screen.Interruptible(ctx)
	defer stop()
	for first := true; ; first = false {
		status, err := w.round(ctx)
		switch {
		case w.every == 0, err != nil && (first || ctx.Err() != nil):
			return status, err
		case err != nil: // such as a webhook that is down for some time
			w.std.Complain(err)
		}
		if err := w.std.Out.Flush(); err != nil {
			return exitBad, err
		}
		select {
		case <-ctx.Done():
			return exitAllowed, nil
		case <-time.After(w.every): //nolint:forbidigo // the interval of --every
		}
	}
}

// check checks the flags and arguments.
func (w *watcher) check() error {
	w.fail = failLevel(w.failOn)
	if w.expect != "" && !w.given("fail-on") {
		w.fail = lint.Warning
	}
	switch {
	case len(w.args) == 0:
		return errors.New("no site given; name the URL of each")
	case w.state != "" && w.expect != "":
		return errors.New("--state and --expect exclude each other")
	case w.state == "" && w.expect == "":
		return errors.New("add --state FILE, to compare with the last version, or --expect FILE")
	case w.expect != "" && w.every != 0:
		return errors.New("--every repeats a comparison with --state, not with --expect")
	case w.every < 0 || w.every > 0 && w.every < time.Second:
		return fmt.Errorf("--every %s is too short; the least is 1s", w.every)
	}
	if u, err := url.Parse(w.webhook); w.given("webhook") && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") { //nolint:forbidigo // not the URL of a site
		return fmt.Errorf("--webhook %q: not an http or https URL", clip(w.webhook))
	}
	for _, arg := range w.args {
		if !ask.NamesSite(arg) {
			return fmt.Errorf("%q is not the URL of a site, such as https://example.com/", clip(arg))
		}
	}
	return nil
}

// round fetches every site once and reports what changed. The state is written after the webhook has accepted the reports, so
// that no change is lost.
func (w *watcher) round(ctx context.Context) (int, error) {
	var kept map[string]siteState
	var expected *robots.File
	var err error
	if w.state != "" {
		kept, err = readState(w.state)
	} else {
		expected, err = w.reader().Robots(w.expect)
	}
	if err != nil {
		return exitBad, err
	}
	wanted, err := w.wanted(&w.site, robots.Dialects(), 0, w.args)
	if err != nil {
		return exitBad, err
	}
	files, live, err := w.reader().Files(ctx, &wanted, func(l *source.Live, f *source.Text) error {
		l.Hint(f.Record)
		return nil
	})
	live.Close()
	if err != nil {
		return exitBad, err
	}
	var reports []*siteReport
	status, versions := exitAllowed, map[string]siteState{}
	for _, f := range files {
		if slices.ContainsFunc(reports, func(r *siteReport) bool { return r.Site == f.Record.Origin.String() }) {
			continue // it is named twice
		}
		r := &siteReport{Site: f.Record.Origin.String(), Observed: w.std.Now().UTC().Truncate(time.Second), Events: []watchEvent{}}
		if w.state != "" {
			versions[r.Site] = r.observe(kept[r.Site], f.Record, w.budget)
		} else {
			r.expect(expected, f.Record, w.budget)
		}
		status = worse(status, r.status(w.fail))
		reports = append(reports, r)
		w.print(r)
	}
	if err := w.notify(ctx, reports); err != nil {
		return exitBad, err
	}
	if w.state == "" {
		return status, nil
	}
	// Another run with other sites can have written the file meanwhile.
	if kept, err = readState(w.state); err != nil {
		return exitBad, err
	}
	maps.Copy(kept, versions)
	text, _ := json.MarshalIndent(watchState{1, kept}, "", " ") // never an error
	if err := replaceFile(w.state, append(text, '\n')); err != nil {
		return exitBad, err
	}
	return status, nil
}

// A watchState is what --state holds.
type watchState struct {
	Schema int                  `json:"schema"`
	Sites  map[string]siteState `json:"sites"`
}

// readState returns the sites of --state, none if there is no such file.
func readState(name string) (map[string]siteState, error) {
	state := watchState{1, map[string]siteState{}}
	text, err := os.ReadFile(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return state.Sites, nil
	case err != nil:
		return nil, fmt.Errorf("cannot read --state: %w", err)
	case json.Unmarshal(text, &state) != nil || state.Schema != 1 || state.Sites == nil:
		return nil, fmt.Errorf("--state %s is not a state of robots watch; name another file", name)
	}
	return state.Sites, nil
}

// print writes a report.
func (w *watcher) print(r *siteReport) {
	switch w.format {
	case formatJSON:
		w.std.EncodeAnswer(r)
	case formatMarkdown:
		fmt.Fprintf(w.std.Out, "### %s: %s\n\n", r.Site, cmp.Or(r.Severity, "unchanged"))
		for _, e := range r.Events {
			who := ""
			for i, name := range e.Crawlers {
				who += [...]string{" for ", ", "}[min(i, 1)] + render.MdSpan(name)
			}
			fmt.Fprintf(w.std.Out, "- **%s**%s: %s\n", e.Severity, who, render.MdSpan(e.Text))
		}
		fmt.Fprintln(w.std.Out)
	default:
		r.text(w.std.Out, "")
	}
}

// slackText escapes what begins links and mentions, such as <!channel>, in Slack's messages.
var slackText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// A webhookMessage is the body of a request to a webhook.
type webhookMessage struct {
	Reports []webhookReport `json:"reports"`
	Schema  int             `json:"schema"`
}

// A webhookReport is a report as on standard output.
type webhookReport struct {
	Schema int `json:"schema"`
	*siteReport
}

// A slackMessage is the body of a request to an incoming webhook of Slack.
type slackMessage struct {
	Text string `json:"text"`
}

// message returns what the webhook receives.
func (w *watcher) message(reports []*siteReport) any {
	if w.webhookFormat == formatSlack {
		var text strings.Builder
		for _, r := range reports {
			r.text(&text, "*")
		}
		return slackMessage{slackText.Replace(text.String())}
	}
	message := webhookMessage{Schema: 1}
	for _, r := range reports {
		message.Reports = append(message.Reports, webhookReport{Schema: 1, siteReport: r})
	}
	return message
}

// notify posts the reports that have an event, and tries again after failures.
func (w *watcher) notify(ctx context.Context, reports []*siteReport) error {
	reports = slices.DeleteFunc(reports, func(r *siteReport) bool { return len(r.Events) == 0 })
	if w.webhook == "" || len(reports) == 0 {
		return nil
	}
	body, _ := json.Marshal(w.message(reports)) // never an error
	for try := 1; ; try++ {
		err := w.post(ctx, body)
		if err == nil {
			return nil
		}
		if try == webhookTries {
			return fmt.Errorf("cannot post to --webhook after %d attempts: %w; the state is unchanged, so the next run reports again", try, err)
		}
		if ctx.Err() == nil {
			w.warn("--webhook: %v; trying again", err)
		}
		select {
		case <-ctx.Done():
			return screen.ErrInterrupted
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
		return screen.Cause(err)
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // so that the connection can be closed cleanly
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	return nil
}
