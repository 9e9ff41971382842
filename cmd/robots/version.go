package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/robotskit/robots/fetch"
	"github.com/spf13/cobra"
)

func versionCommand(std *streams) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:                   "version",
		Short:                 "Say which version this is",
		Example:               "  robots version --format json",
		DisableFlagsInUseLine: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unexpected argument %q", clip(args[0]))
			}
			return version(std, format)
		},
	}
	registerFormat(cmd, &format)
	return cmd
}

// programVersion is as Go gives it: v1.2.3 of a program that go install made from
// that version or that was built where that tag is, a pseudo-version between tags,
// "(devel)" without version control.
var programVersion = mainVersion()

func mainVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

// defaultUserAgent is the library's with the version of the program, if it has one.
func defaultUserAgent() string {
	number, released := strings.CutPrefix(programVersion, "v")
	if !released {
		return fetch.DefaultUserAgent
	}
	return strings.Replace(fetch.DefaultUserAgent, " ", "/"+number+" ", 1)
}

// A built is what the build recorded about itself. A build without version control
// has no commit.
type built struct {
	Schema   int      `json:"schema"`
	Version  string   `json:"version"`
	Commit   *string  `json:"commit"`
	Modified bool     `json:"modified"`
	Go       string   `json:"go"`
	Platform string   `json:"platform"`
	Dialects []string `json:"dialects"`
}

func buildOf() built {
	b := built{Schema: 1, Version: programVersion, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Dialects: dialectNames()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Commit = notEmpty(s.Value)
			case "vcs.modified":
				b.Modified = s.Value == "true"
			}
		}
	}
	return b
}

// version says which version this is.
func version(std *streams, format string) error {
	if err := checkFormat(format); err != nil {
		return err
	}
	b := buildOf()
	if format == formatJSON {
		return encode(std.out, b)
	}
	commit := "unknown"
	if b.Commit != nil {
		if commit = *b.Commit; b.Modified {
			commit += ", modified"
		}
	}
	fmt.Fprintf(std.out, "robots %s (commit %s)\n%s %s\ndialects: %s\n", b.Version, commit, b.Go, b.Platform, dialectList())
	return nil
}
