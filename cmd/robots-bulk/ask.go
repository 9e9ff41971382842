package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/bulk"
	"github.com/spf13/cobra"
)

// A question is a call of a verb that asks captures for crawlers.
type question struct {
	tableRun
	agents    []string
	agentFile string
	dialects  string
	paths     []string
}

func (b *question) askFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SortFlags = false
	f.StringArrayVarP(&b.agents, "agent", "a", nil, "ask for the crawler with this product `TOKEN`; repeat it, the most\nwanted first, for one with several (default one that nobody names)")
	f.StringVar(&b.agentFile, "agents", "", "ask for the crawlers in `FILE`, one a line: tokens with blanks or\ncommas between, the most wanted first")
	f.StringVarP(&b.dialects, "dialect", "d", "rfc9309", "ask in these dialects, a `LIST` with commas between: "+strings.Join(ask.DialectNames(), ",\n")+", or all")
}

// askOptions returns what the flags ask for.
func (b *question) askOptions() (o bulk.AskOptions, err error) {
	switch {
	case len(b.agents) > 0 && b.agentFile != "":
		return o, errors.New("-a and --agents are given: -a is one crawler, --agents FILE lists them")
	case len(b.agents) > 0:
		o.Agents = [][]string{b.agents}
	case b.agentFile != "":
		f, err := b.std.open(b.agentFile)
		if err != nil {
			return o, fmt.Errorf("--agents: %w", err)
		}
		defer f.Close()
		if o.Agents, err = bulk.ReadAgents(f); err != nil {
			return o, fmt.Errorf("--agents %s: %w", b.agentFile, err)
		}
	}
	if o.Dialects = strings.Split(b.dialects, ","); b.dialects == ask.AllDialects {
		o.Dialects = ask.DialectNames()
	}
	for i, name := range o.Dialects {
		o.Dialects[i] = strings.TrimSpace(name)
	}
	o.Paths = b.paths
	return o, nil
}

// output says that the folder is missing.
func (b *tableRun) output() error {
	if b.dir == "" {
		return errors.New("where to? -o names the folder of the tables")
	}
	return nil
}

func askCommand(std *streams, status *int) *cobra.Command {
	b := &question{tableRun: tableRun{std: std}}
	cmd := &cobra.Command{
		Use:   "ask [flags] -o DIR SNAPSHOT",
		Short: "Ask every capture of a snapshot for crawlers",
		Long: `Ask makes the table verdicts: a row for each capture, crawler, dialect and path, with
the verdict, the line behind it, and how much of the site the file leaves (all, part,
none; undecided: the proof would take too long; unknown: the archive holds no answer of
the site, which is never an allow). The columns are in docs/bulk.md.

A crawler's row holds its tokens with a blank between. A hundred crawlers cost little
more than one.`,
		Example: `  robots-bulk ask -a GPTBot -o verdicts cc-2026-41
  robots-bulk ask --agents ai.txt -d google,rfc9309 -o verdicts cc-2026-41`,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			b.name = cmd.CommandPath()
			if len(args) != 1 {
				return errors.New("one snapshot is needed: the folder that robots-bulk pack made")
			}
			o, err := b.askOptions()
			if err = cmp.Or(err, b.output()); err != nil {
				return err
			}
			t, err := o.AskTask(b.dir, b.format, args[0])
			if err != nil {
				return err
			}
			*status, err = b.run(cmd.Context(), t)
			return err
		},
	}
	b.askFlags(cmd)
	cmd.Flags().StringArrayVar(&b.paths, "path", nil, "ask for this `PATH` or URL of each site; repeat it for more\n(default \"/\")")
	b.register(cmd, bulk.Formats...)
	return cmd
}

func joinCommand(std *streams, status *int) *cobra.Command {
	b := &question{tableRun: tableRun{std: std}}
	var at string
	var o bulk.JoinOptions
	cmd := &cobra.Command{
		Use:   "join [flags] -o DIR SNAPSHOT LIST...",
		Short: "Ask for lists of URLs, as of their times",
		Long: `Join makes the table joined: a row for each URL of the lists, crawler and dialect, with
the verdict of the capture that was in force at the time of the URL, the last one that
is not younger. Without one, access is unknown.

A list is JSON Lines with url and at, CSV with such columns, CDXJ, or Parquet, as the
columnar index of Common Crawl; the first three also by gzip or zstd. Lists are sorted
by the keys of sites (SURT: com,example), as indexes are, and follow one another in the
order of their names. A list in another order takes --sort.`,
		Example: `  robots-bulk join -a CCBot -o joined cc-2026-41 cdx-*.gz
  robots-bulk join -a GPTBot --sort --at 2026-10-01T00:00:00Z -o joined cc-2026-41 urls.csv`,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			b.name = cmd.CommandPath()
			if len(args) < 2 {
				return errors.New("a snapshot and a list are needed: the folder that robots-bulk pack made, and files of URLs")
			}
			o.AskOptions, err = b.askOptions()
			if at != "" && err == nil {
				if o.At, err = ask.Time(at); err != nil {
					err = fmt.Errorf("--at %w", err)
				}
			}
			if err = cmp.Or(err, b.output()); err != nil {
				return err
			}
			t, err := o.JoinTask(b.dir, b.format, args[0], args[1:])
			if err != nil {
				return err
			}
			*status, err = b.run(cmd.Context(), t)
			return err
		},
	}
	b.askFlags(cmd)
	cmd.Flags().StringVar(&at, "at", "", "ask as of this `TIME` for URLs of which the list has none")
	cmd.Flags().BoolVar(&o.Sort, "sort", false, "the lists are in any order: sort them first, in the folder of the output")
	b.register(cmd, bulk.Formats...)
	return cmd
}

func diffCommand(std *streams, status *int) *cobra.Command {
	b := &question{tableRun: tableRun{std: std}}
	cmd := &cobra.Command{
		Use:   "diff [flags] -o DIR SNAPSHOT SNAPSHOT",
		Short: "Say which sites changed their answers between two snapshots",
		Long: `Diff makes the table changes: a row for each site, crawler and dialect. It compares
what the last answer of a site says in each snapshot, proved over all URLs, and not its
text: same; changed, with a URL as witness and the lines that decide it; appeared and
gone; undecided where a snapshot holds no answer, or the proof would take too long.`,
		Example:               `  robots-bulk diff --agents ai.txt -o changes cc-2026-36 cc-2026-41`,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			b.name = cmd.CommandPath()
			if len(args) != 2 {
				return errors.New("two snapshots are needed, the older one first: folders that robots-bulk pack made")
			}
			o, err := b.askOptions()
			if err = cmp.Or(err, b.output()); err != nil {
				return err
			}
			t, err := o.DiffTask(b.dir, b.format, args[0], args[1])
			if err != nil {
				return err
			}
			*status, err = b.run(cmd.Context(), t)
			return err
		},
	}
	b.askFlags(cmd)
	b.register(cmd, bulk.Formats...)
	return cmd
}
