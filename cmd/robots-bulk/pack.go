package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots/cmd/internal/bulk"
	"github.com/robotskit/robots/fetch"
	"github.com/spf13/cobra"
)

// packFormats are those of a snapshot. CSV is not one: nobody reads bodies from it.
var packFormats = []string{bulk.Parquet, bulk.JSONL, bulk.JSONLZ}

func packCommand(std *streams, status *int) *cobra.Command {
	b := &tableRun{std: std}
	var o bulk.PackOptions
	var paths, base string
	var strict bool
	cmd := &cobra.Command{
		Use:   "pack -o DIR [flags] [INPUT...]",
		Short: "Make a snapshot of archives",
		Long: `Pack reads archives and makes a snapshot: a table of captures, which says what each
request for a robots.txt came to, and a table of bodies. Redirects are followed inside the
archives, across all inputs; one that leads to what was not archived is an outcome of
its own, redirect-unresolved.

An input is a WARC file, however it is compressed; a tar or zip of files; JSON Lines of
docs/batch.md; a folder of any of these and of robots.txt files; or an URL of one, which
is read once and not kept. What a file is its content says. A robots.txt in a folder, a tar
or a zip is named by its site: example.com, example.com.txt, http%3A%2F%2Fexample.com, or
example.com/robots.txt, perhaps in a folder http or https; its time is that of the file.

Where machines take shares (--shard) each reads its own inputs first. Redirects lead into
those of others, so a share that is ahead ends with status 3, and is run again.`,
		Example: `  robots-bulk pack -o snap CC-MAIN-*.warc.gz
  robots-bulk pack -o snap --paths robotstxt.paths.gz --base https://data.commoncrawl.org/`,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			b.name = cmd.CommandPath()
			switch {
			case b.dir == "":
				return errors.New("-o DIR is needed: where the snapshot is to be")
			case base != "" && paths == "":
				return errors.New("--base has no use without --paths")
			case cmd.Flags().Changed("user-agent") && strings.TrimSpace(o.UserAgent) == "":
				return errors.New("--user-agent is empty: name yourself and how to reach you")
			case o.Window <= 0:
				return errors.New("--redirect-window is no time")
			}
			if !slices.Contains(packFormats, b.format) {
				return fmt.Errorf("unknown --format %q: it is %s", b.format, strings.Join(packFormats, ", "))
			}
			if paths != "" {
				more, err := readPaths(std, paths, base)
				if err != nil {
					return err
				}
				args = append(args, more...)
			}
			if len(args) == 0 {
				return errors.New("no input is given: name files, folders or URLs, or a list of them with --paths")
			}
			inputs, err := o.Inputs(cmd.Context(), args, bulk.Known(b.dir))
			if err != nil {
				return err
			}
			if len(inputs) == 0 {
				return errors.New("the folders hold no files")
			}
			t, err := o.PackTask(b.dir, b.format, inputs)
			if err != nil {
				return err
			}
			*status, err = b.runBy(cmd.Context(), t, bulk.Pack)
			if waits, ok := errors.AsType[*bulk.PhaseError](err); ok {
				complain(std, b.name, waits)
				*status, err = exitUnfinished, nil
			}
			if err != nil || b.dryRun || *status != exitDone && *status != exitFailed {
				return err
			}
			s, err := bulk.Look(b.dir)
			if err != nil {
				return err
			}
			if lost := s.Lost(); lost != "" {
				fmt.Fprintf(std.err, "%s: %s: see %s\n", b.name, lost, filepath.Join(b.dir, "errors"))
				if strict {
					*status = exitFailed
				}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&paths, "paths", "", "read more inputs from this list, `FILE`, one a line, also by gzip; - is\nstandard input")
	f.StringVar(&base, "base", "", "put this `URL` or folder before each path of the list")
	f.DurationVar(&o.Window, "redirect-window", 24*time.Hour, "follow a redirect to what was archived at most this `TIME` before or after")
	f.BoolVar(&o.Merge, "merge", false, "make one part of all inputs, sorted, with each body once overall")
	f.BoolVar(&strict, "strict", false, "exit with 1 if something of an input could not be read, or it gave nothing")
	f.BoolVar(&o.AllowPrivate, "allow-private", false, "read URLs from private and loopback addresses too")
	f.StringVar(&o.UserAgent, "user-agent", "", "the User-Agent `STRING` of requests (default\n"+strconv.Quote(fetch.DefaultUserAgent)+")")
	b.register(cmd, packFormats...)
	return cmd
}

// readPaths reads the list of --paths.
func readPaths(std *streams, name, base string) ([]string, error) {
	in, err := std.open(name)
	if err != nil {
		return nil, fmt.Errorf("--paths: %w", err)
	}
	defer in.Close()
	list, err := bulk.Paths(in, base)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("cannot read --paths %s: %w", name, err)
	}
	return list, nil
}
