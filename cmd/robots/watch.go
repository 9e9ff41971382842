package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/cmd/internal/webhook"
	"github.com/robotskit/robots/lint"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const formatSlack = "slack"

// watchOptions are one run of robots watch.
type watchOptions struct {
	std           *screen.Streams
	args          []string
	flags         *pflag.FlagSet
	output        outputFlags
	site          siteFlags
	state         string // the file of --state
	expect        string // the file of --expect
	every         time.Duration
	failOn        string
	budget        int
	quiet         bool
	webhook       string
	webhookFormat string
}

func newWatchCommand(std *screen.Streams) *cobra.Command {
	o := &watchOptions{std: std}
	cmd := &cobra.Command{Use: "watch", RunE: runE(std, &o.args, o.run)}
	o.flags = cmd.Flags()
	f := cmd.Flags()
	f.StringVar(&o.state, "state", "", "`FILE` last version of each site")
	f.StringVar(&o.expect, "expect", "", "`FILE` robots.txt to compare each site with")
	failOnFlag(cmd, &o.failOn, lint.Error.String())
	f.DurationVar(&o.every, "every", 0, "`DURATION` time between rounds, such as 1h, until interrupted")
	f.StringVar(&o.webhook, "webhook", "", "`URL` endpoint for reports with a change, sent by POST (bearer token in $"+webhook.TokenName+")")
	choiceFlag(cmd, &o.webhookFormat, "webhook-format", formatJSON, "`FORMAT` json or slack", formatJSON, formatSlack)
	budgetFlag(cmd, &o.budget)
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print only sites with a change")
	o.output.registerFormat(cmd, formatMarkdown)
	o.site.register(cmd)
	o.output.registerColor(cmd)
	return cmd
}

// run watches the sites once, or until it is interrupted.
func (o *watchOptions) run(ctx context.Context) (int, error) {
	if err := o.validate(); err != nil {
		return exitBad, err
	}
	ctx, stop := screen.Interruptible(ctx)
	defer stop()
	for first := true; ; first = false {
		status, err := o.round(ctx)
		switch {
		case o.every == 0, err != nil && (first || ctx.Err() != nil):
			return status, err
		case err != nil: // such as a webhook that is down for some time
			o.std.Complain(err)
		}
		if err := o.std.Out.Flush(); err != nil {
			return exitBad, err
		}
		select {
		case <-ctx.Done():
			return exitAllowed, nil
		case <-time.After(o.every): //nolint:forbidigo // the interval of --every
		}
	}
}

// validate checks the flags and arguments.
func (o *watchOptions) validate() error {
	switch {
	case len(o.args) == 0:
		return errors.New("no site given; name the URL of each")
	case o.state != "" && o.expect != "":
		return errors.New("--state and --expect exclude each other")
	case o.state == "" && o.expect == "":
		return errors.New("no version to compare with given; add --state FILE for the last one, or --expect FILE")
	case o.expect != "" && o.every != 0:
		return errors.New("--every repeats a comparison with --state, not with --expect")
	case o.every < 0 || o.every > 0 && o.every < time.Second:
		return errors.New("--every must be at least 1s")
	}
	u, err := url.Parse(o.webhook) //nolint:forbidigo // not the URL of a site
	if o.flags.Changed("webhook") && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return fmt.Errorf("--webhook %q is not an http or https URL", clip(o.webhook))
	}
	for _, arg := range o.args {
		if !ask.NamesSite(arg) {
			return fmt.Errorf("%q is not the URL of a site such as https://example.com/", clip(arg))
		}
	}
	return nil
}

// round fetches every site once and reports what changed. The state is written after the webhook has accepted the reports, so
// that no change is lost.
func (o *watchOptions) round(ctx context.Context) (int, error) {
	compare, err := o.comparison()
	if err != nil {
		return exitBad, err
	}
	wanted, err := o.site.wanted(robots.Dialects(), 0, o.args)
	if err != nil {
		return exitBad, err
	}
	files, live, err := o.output.reader(o.std).Files(ctx, &wanted, func(l *source.Live, f *source.Text) error {
		l.Hint(f.Record)
		return nil
	})
	live.Close()
	if err != nil {
		return exitBad, err
	}
	var reports []*answer.SiteReport
	status := exitAllowed
	versions := map[string]answer.SiteState{}
	for _, f := range files {
		site := f.Record.Origin.String()
		if slices.ContainsFunc(reports, func(r *answer.SiteReport) bool { return r.Site == site }) {
			continue // it is named twice
		}
		observation := source.Observe(f.Record, o.std.Now().UTC().Truncate(time.Second))
		r := answer.NewSiteReport(site, observation)
		versions[site] = compare(r, observation)
		status = worse(status, o.status(r))
		reports = append(reports, r)
		o.write(r)
	}
	if err := o.notify(ctx, reports); err != nil {
		return exitBad, err
	}
	if o.state == "" {
		return status, nil
	}
	if err := source.UpdateSites(o.state, versions); err != nil {
		return exitBad, err
	}
	return status, nil
}

// comparison returns what compares an observation with the last version of its site, or with the file
// of --expect, and returns the version to keep.
func (o *watchOptions) comparison() (func(*answer.SiteReport, *answer.Observation) answer.SiteState, error) {
	if o.state != "" {
		sites, err := source.ReadSites(o.state)
		return func(r *answer.SiteReport, observation *answer.Observation) answer.SiteState {
			return r.Observe(sites[r.Site], observation, o.budget)
		}, err
	}
	expected, err := o.output.reader(o.std).Robots(o.expect)
	return func(r *answer.SiteReport, observation *answer.Observation) answer.SiteState {
		r.Expect(expected, observation, o.budget)
		return answer.SiteState{}
	}, err
}

// status returns the exit status of a report.
func (o *watchOptions) status(r *answer.SiteReport) int {
	fail := ask.FailLevel(o.failOn)
	if o.expect != "" && !o.flags.Changed("fail-on") {
		fail = lint.Warning
	}
	switch {
	case r.Worst >= fail:
		return exitDisallowed
	case r.Undecided:
		return exitUndecided
	}
	return exitAllowed
}

// write writes a report, with --quiet only one with an event.
func (o *watchOptions) write(r *answer.SiteReport) {
	if o.quiet && len(r.Events) == 0 {
		return
	}
	switch o.output.format {
	case formatJSON:
		o.std.EncodeAnswer(r)
	case formatMarkdown:
		render.SiteMarkdown(o.std.Out, r)
	default:
		render.Site(o.std.Out, r, "")
	}
}

// A webhookMessage is the body of a request to a webhook.
type webhookMessage struct {
	Reports []webhookReport `json:"reports"`
	Schema  int             `json:"schema"`
}

// A webhookReport is a report as on standard output.
type webhookReport struct {
	Schema int `json:"schema"`
	*answer.SiteReport
}

// message returns what the webhook receives.
func (o *watchOptions) message(reports []*answer.SiteReport) any {
	if o.webhookFormat == formatSlack {
		return render.Slack(reports)
	}
	message := webhookMessage{Schema: 1}
	for _, r := range reports {
		message.Reports = append(message.Reports, webhookReport{Schema: 1, SiteReport: r})
	}
	return message
}

// notify posts the reports that have an event to --webhook.
func (o *watchOptions) notify(ctx context.Context, reports []*answer.SiteReport) error {
	reports = slices.DeleteFunc(reports, func(r *answer.SiteReport) bool { return len(r.Events) == 0 })
	if o.webhook == "" || len(reports) == 0 {
		return nil
	}
	hook := webhook.Hook{
		URL: o.webhook, UserAgent: defaultUserAgent(),
		Failed: func(err error) { o.std.Warn("--webhook: %v; trying again", err) },
	}
	err := hook.Post(ctx, o.message(reports))
	if err != nil && !errors.Is(err, screen.ErrInterrupted) {
		err = fmt.Errorf("cannot post to --webhook %w; the state is unchanged, so the next run reports again", err)
	}
	return err
}
