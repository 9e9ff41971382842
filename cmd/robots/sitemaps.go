package main

import (
	"context"
	"fmt"

	"github.com/robotskit/robots"
	"github.com/spf13/cobra"
)

func sitemapsCommand(std *streams) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "sitemaps -f FILE",
		Short: "List the sitemaps a robots.txt names",
		Long: `Sitemaps lists the values of all Sitemap lines as written, one a line, in the
order of the file. They belong to no crawler. Exit status: 0 even if there are
none, 2 bad use or unreadable input.`,
		Example: `  robots sitemaps -f robots.txt
  robots sitemaps -f - --format json < robots.txt`,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.urls = args
			return sitemaps(cmd.Context(), &o, std)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	registerFile(cmd, &o.file)
	registerDialect(cmd, &o.dialect)
	registerMaxBytes(cmd, &o.maxBytes)
	registerFormat(cmd, &o.format)
	return cmd
}

// sitemaps lists sitemaps. A program that reads them gets the octets of the
// file; a terminal gets nothing that could steer it.
func sitemaps(_ context.Context, o *options, std *streams) error {
	if len(o.urls) > 0 {
		return fmt.Errorf("unexpected argument %q: the file is named with -f FILE", clip(o.urls[0]))
	}
	d, err := dialectByName(o.dialect)
	if err != nil {
		return err
	}
	if err := checkFormat(o.format); err != nil {
		return err
	}
	maxBytes := noLimit
	if o.maxBytes.given {
		if maxBytes, err = parseMaxBytes(o.maxBytes.text); err != nil {
			return fmt.Errorf("--max-bytes %w", err)
		}
	}
	file, err := readFile(std, "robots sitemaps", o.file)
	if err != nil {
		return err
	}
	file, d = limited(file, d, maxBytes)
	list := file.Rules(d).Sitemaps()
	if o.format == formatJSON {
		dst := appendStrings([]byte(`{"schema":1,"sitemaps":`), list)
		dst = append(dst, `,"dialect":`...)
		dst = robots.AppendQuoted(dst, d.Name)
		std.out.Write(append(dst, "}\n"...))
		return nil
	}
	for _, s := range list {
		if std.terminal {
			s = robots.Printable(s)
		}
		fmt.Fprintln(std.out, s)
	}
	return nil
}
