package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/spf13/cobra"
)

// checkOptions are one run of robots check.
type checkOptions struct {
	std         *screen.Streams
	args        []string // URLs
	urls        urlFlags
	output      outputFlags
	batch       bool
	chunkHeader bool
}

func newCheckCommand(std *screen.Streams) *cobra.Command {
	o := &checkOptions{std: std}
	cmd := &cobra.Command{Use: "check", RunE: runE(std, &o.args, o.run)}
	o.urls.register(cmd, &o.output, formatCSV, formatTSV)
	cmd.Flags().BoolVar(&o.batch, "batch", false, "answer JSON Lines from standard input (with --format tsv: rows)")
	cmd.Flags().BoolVar(&o.chunkHeader, "chunk-header", false, "with --batch --format tsv: the number of rows precedes each chunk")
	return cmd
}

func (o *checkOptions) run(ctx context.Context) (int, error) {
	if o.urls.file != "" {
		// One file and some lines are in use at a time. 12 MB more garbage save a tenth of the processor time.
		defer debug.SetGCPercent(debug.SetGCPercent(400))
	}
	if o.batch {
		return o.runBatch(ctx)
	}
	if o.output.format == formatTSV || o.chunkHeader {
		return exitBad, errors.New("--format tsv and --chunk-header require --batch")
	}
	chosen, urls, err := o.urls.open(ctx, o.std, &o.output, o.args)
	if err != nil {
		return exitBad, err
	}
	defer urls.Close()
	ctx, stop := screen.Interruptible(ctx)
	defer stop()
	verdicts := answer.Verdicts{Crawlers: chosen.list}
	write := o.writer(chosen)
	tally := urlTally{std: o.std}
	for checked, err := range urls.All(ctx) {
		if err != nil {
			tally.addBadLine(err)
			continue
		}
		verdicts.Judge(checked.URL, &checked.Target, checked.Rules)
		write(checked, &verdicts)
		tally.add(chosen.status(verdicts.List))
	}
	return tally.status(urls)
}

// writer returns what writes the verdicts on a URL: JSON, a line for one crawler, or a table.
func (o *checkOptions) writer(chosen *chosenCrawlers) func(*source.CheckedURL, *answer.Verdicts) {
	w := o.std.Out
	colors := o.output.palette(o.std)
	switch {
	case o.output.json():
		return func(_ *source.CheckedURL, v *answer.Verdicts) {
			for i := range v.List {
				line := v.AppendJSON(w.AvailableBuffer(), i)
				_, _ = w.Write(append(line, '\n')) // the last flush reports its error
			}
		}
	case o.output.format == formatCSV:
		rows := csv.NewWriter(w)              // uses w itself, which is a bufio.Writer
		_ = rows.Write(render.VerdictColumns) // likewise
		return func(_ *source.CheckedURL, v *answer.Verdicts) {
			for i := range v.List {
				_ = rows.Write(render.VerdictCells(v, i))
			}
		}
	case len(chosen.list) == 1:
		lines := render.VerdictLines{Colors: colors}
		return func(checked *source.CheckedURL, v *answer.Verdicts) {
			_, _ = w.Write(lines.Append(w.AvailableBuffer(), v, checked.Printable, checked.Padding)) // likewise
			if checked.First {
				render.SiteLine(w, colors, v.Fallback(0))
				render.SiteLine(w, colors, checked.State((*robots.State).Text))
			}
		}
	}
	return func(checked *source.CheckedURL, v *answer.Verdicts) {
		if checked.Number > 0 {
			fmt.Fprintln(w)
		}
		render.VerdictTable(w, colors, v, chosen.decisive >= 0, checked.State(source.FactOf))
	}
}
