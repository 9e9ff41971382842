package main

import (
	"context"
	"fmt"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/spf13/cobra"
)

// explainOptions are one run of robots explain.
type explainOptions struct {
	std    *screen.Streams
	args   []string // URLs
	urls   urlFlags
	output outputFlags
}

func newExplainCommand(std *screen.Streams) *cobra.Command {
	o := &explainOptions{std: std}
	cmd := &cobra.Command{Use: "explain", RunE: runE(std, &o.args, o.run)}
	o.urls.register(cmd, &o.output)
	return cmd
}

func (o *explainOptions) run(ctx context.Context) (int, error) {
	chosen, urls, err := o.urls.open(ctx, o.std, &o.output, o.args)
	if err != nil {
		return exitBad, err
	}
	defer urls.Close()
	ctx, stop := screen.Interruptible(ctx)
	defer stop()
	tally := urlTally{std: o.std}
	for checked, err := range urls.All(ctx) {
		if err != nil {
			tally.addBadLine(err)
			continue
		}
		var verdicts []robots.Verdict
		for i, rules := range checked.Rules {
			c := &chosen.list[i]
			e := answer.Explain(rules.Rules, c, checked.Target.Path(&c.Dialect), checked.URL, c.Echo(), answer.ExplainLimits{})
			e.Notes = append(e.Notes, source.Evidence(checked.Robots.Record)...)
			verdicts = append(verdicts, e.Decision)
			o.write(checked, chosen, i, &e)
		}
		tally.add(chosen.status(verdicts))
	}
	return tally.status(urls)
}

// write writes the explanation for a crawler as JSON or text.
func (o *explainOptions) write(checked *source.CheckedURL, chosen *chosenCrawlers, crawler int, e *answer.Explanation) {
	if o.output.json() {
		o.std.EncodeAnswer(e)
		return
	}
	if crawler+checked.Number > 0 {
		fmt.Fprintln(o.std.Out)
	}
	var options render.ExplanationOptions
	options.Dialect = chosen.decisive >= 0
	if len(chosen.list) > 1 {
		options.Crawler = chosen.list[crawler].Name
	}
	if checked.First {
		options.Fallback = chosen.list[crawler].FallbackSentence(checked.Rules[crawler].Rules)
	}
	if crawler == 0 {
		options.State = checked.State((*robots.State).Text)
	}
	render.Explanation(o.std.Out, o.output.palette(o.std), e, options)
}
