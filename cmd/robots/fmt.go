package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/lint"
	"github.com/spf13/cobra"
)

// fmtOptions are one run of robots fmt.
type fmtOptions struct {
	std   *screen.Streams
	args  []string
	site  siteFlags
	list  bool
	write bool
	diff  bool
}

func newFmtCommand(std *screen.Streams) *cobra.Command {
	o := &fmtOptions{std: std}
	cmd := &cobra.Command{Use: "fmt", RunE: runE(std, &o.args, o.run)}
	cmd.Flags().BoolVarP(&o.list, "list", "l", false, "list files with a different layout instead of printing")
	cmd.Flags().BoolVarP(&o.write, "write", "w", false, "write the files in place instead of printing")
	cmd.Flags().BoolVarP(&o.diff, "diff", "d", false, "show what would change instead of printing")
	o.site.register(cmd)
	return cmd
}

// run formats all files before the first is written.
func (o *fmtOptions) run(ctx context.Context) (int, error) {
	files, err := o.site.completeFiles(ctx, new(outputFlags).reader(o.std), o.args)
	if err != nil {
		return exitBad, err
	}
	formatted := make([][]byte, len(files))
	for i := range files {
		if o.write && !files[i].InPlace() {
			return exitBad, fmt.Errorf("-w cannot write %s; remove it", files[i].Title())
		}
		if formatted[i], err = lint.Format(files[i].Body); err != nil {
			return exitBad, fmt.Errorf("%s: %w", files[i].Title(), err)
		}
	}
	status := exitAllowed
	for i := range files {
		changed := !bytes.Equal(files[i].Body, formatted[i])
		if changed && (o.list || o.diff) {
			status = exitDisallowed
		}
		if err := o.put(&files[i], formatted[i], changed); err != nil {
			return exitBad, err
		}
	}
	return status, nil
}

// put lists, shows, writes or prints a file.
func (o *fmtOptions) put(f *source.Text, formatted []byte, changed bool) error {
	if changed && o.list {
		fmt.Fprintln(o.std.Out, f.Title())
	}
	if changed && o.diff {
		render.FileDiff(o.std, f.Title(), f.Body, formatted)
	}
	if !o.list && !o.diff && !o.write {
		_, err := o.std.Out.Write(formatted)
		o.std.Keep(err)
	}
	if changed && o.write {
		return source.ReplaceFile(f.Name, formatted)
	}
	return nil
}
