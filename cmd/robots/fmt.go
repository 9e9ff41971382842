package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/lint"
	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"
)

// formatting is one run of robots fmt.
type formatting struct {
	*command
	site              siteFlags
	list, write, diff bool
}

func fmtCommand(std *screen.Streams) *cobra.Command {
	f := &formatting{command: newCommand(std)}
	cmd := &cobra.Command{Use: "fmt", RunE: f.run(f.formatFiles)}
	cmd.Flags().BoolVarP(&f.list, "list", "l", false, "list files with a different layout instead of printing")
	cmd.Flags().BoolVarP(&f.write, "write", "w", false, "write the files in place instead of printing")
	cmd.Flags().BoolVarP(&f.diff, "diff", "d", false, "show what would change instead of printing")
	f.site.register(cmd)
	return cmd
}

func (f *formatting) formatFiles(ctx context.Context) (int, error) {
	files, err := f.readFiles(ctx, &f.site)
	if err != nil {
		return exitBad, err
	}
	after := make([][]byte, len(files))
	for i := range files {
		if f.write && !files[i].InPlace() {
			return exitBad, fmt.Errorf("-w cannot write %s; remove it", files[i].Title())
		}
		if after[i], err = lint.Format(files[i].Body); err != nil {
			return exitBad, fmt.Errorf("%s: %w", files[i].Title(), err)
		}
	}
	status := exitAllowed
	for i := range files {
		changed := !bytes.Equal(files[i].Body, after[i])
		if changed && (f.list || f.diff) {
			status = exitDisallowed
		}
		if changed && f.list {
			fmt.Fprintln(f.std.Out, files[i].Title())
		}
		if changed && f.diff {
			printDiff(f.std, files[i].Title(), files[i].Body, after[i])
		}
		if changed && f.write {
			if err := source.ReplaceFile(files[i].Name, after[i]); err != nil {
				return exitBad, err
			}
		}
		if !f.list && !f.diff && !f.write {
			f.std.Out.Write(after[i])
		}
	}
	return status, nil
}

// printDiff writes the changes of a file.
func printDiff(std *screen.Streams, title string, before, after []byte) {
	title = robots.Printable(title)
	text := string(diff.Diff(title, before, title, after))
	if std.Terminal {
		text = render.PrintableLines(text)
	}
	std.Out.WriteString(text)
}
