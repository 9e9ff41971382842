package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/lint"
	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"
)

// formatting is a call of robots fmt.
type formatting struct {
	std               *streams
	list, write, diff bool
}

func fmtCommand(std *streams, status *int) *cobra.Command {
	f := &formatting{std: std}
	cmd := &cobra.Command{
		Use:   "fmt [-l] [-w] [-d] FILE...",
		Short: "Write a robots.txt in the customary layout",
		Long: `Fmt prints a robots.txt in one layout: known fields in their customary case,
"Field: value", lines ended by LF, no blanks around lines, at most one blank line
together and one before a group. Comments stay. Order, paths and misspellings stay
too, and so does a blank line between user-agent lines, which Yandex reads.

It proves that all crawlers read the same rules, delays and sitemaps out of the
result, in all dialects. A file for which that is not so is refused, as are HTML
and UTF-16; then nothing is written.

Exit status: 0; 1 if -l or -d found something to change; 2 for bad use, a file
that cannot be read or written, or one that is refused.`,
		Example: `  robots fmt robots.txt
  robots fmt -w robots.txt
  robots fmt -l -d public/robots.txt staging/robots.txt
  robots fmt - < robots.txt`,
		DisableFlagsInUseLine: true,
		RunE: func(_ *cobra.Command, args []string) (err error) {
			*status, err = f.run(args)
			return err
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVarP(&f.list, "list", "l", false, "name the files that are laid out otherwise, and print no file")
	cmd.Flags().BoolVarP(&f.write, "write", "w", false, "write the files, and print none")
	cmd.Flags().BoolVarP(&f.diff, "diff", "d", false, "show what would change, and print no file")
	return cmd
}

func (f *formatting) run(names []string) (int, error) {
	files, err := readFiles(f.std, names)
	if err != nil {
		return exitBad, err
	}
	after := make([][]byte, len(files))
	for i := range files {
		if f.write && files[i].name == "-" {
			return exitBad, errors.New("-w cannot write standard input: leave it out")
		}
		if after[i], err = lint.Format(files[i].body); err != nil {
			return exitBad, fmt.Errorf("%s is refused: %w", files[i].title(), err)
		}
	}
	status := exitAllowed
	for i := range files {
		changed := !bytes.Equal(files[i].body, after[i])
		if changed && (f.list || f.diff) {
			status = exitDisallowed
		}
		if changed && f.list {
			fmt.Fprintln(f.std.out, files[i].title())
		}
		if changed && f.diff {
			f.std.printDiff(files[i].title(), files[i].body, after[i])
		}
		if changed && f.write {
			if err := replaceFile(files[i].name, after[i]); err != nil {
				return exitBad, err
			}
		}
		if !f.list && !f.diff && !f.write {
			f.std.out.Write(after[i])
		}
	}
	return status, nil
}

// printDiff writes what changes in a file.
func (s *streams) printDiff(title string, before, after []byte) {
	for line := range strings.Lines(string(diff.Diff(title, before, title, after))) {
		if s.terminal {
			line = robots.Printable(strings.TrimSuffix(line, "\n")) + "\n"
		}
		s.out.WriteString(line)
	}
}
