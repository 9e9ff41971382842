package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/robotskit/robots/fetch"

	"github.com/robotskit/robots/cmd/internal/ask"
)

// programVersion is the version that Go recorded: v1.2.3 for a tag, a pseudo-version between
// tags, "(devel)" without version control.
var programVersion = sync.OnceValue(func() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
})

// defaultUserAgent is the library's with the version of the program, if it has one.
func defaultUserAgent() string {
	number, released := strings.CutPrefix(programVersion(), "v")
	if !released {
		return fetch.DefaultUserAgent
	}
	return strings.Replace(fetch.DefaultUserAgent, " ", "/"+number+" ", 1)
}

// version prints the version and the build settings. A build without version control has no
// commit.
func version(std *streams, format string) {
	settings := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
	}
	commit, modified := settings["vcs.revision"], settings["vcs.modified"] == "true"
	platform := runtime.GOOS + "/" + runtime.GOARCH
	if format == formatJSON {
		std.encode(struct {
			Schema   int      `json:"schema"`
			Version  string   `json:"version"`
			Commit   *string  `json:"commit"`
			Modified bool     `json:"modified"`
			Go       string   `json:"go"`
			Platform string   `json:"platform"`
			Dialects []string `json:"dialects"`
		}{1, programVersion(), notEmpty(commit), modified, runtime.Version(), platform, ask.DialectNames()})
		return
	}
	if commit == "" {
		commit = "unknown"
	} else if modified {
		commit += ", modified"
	}
	fmt.Fprintf(std.out, "robots %s (commit %s)\n%s %s\ndialects: %s\n", programVersion(), commit, runtime.Version(), platform, strings.Join(ask.DialectNames(), ", "))
}
