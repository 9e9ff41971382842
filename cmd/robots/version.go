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
		std.encode(jsonObject{
			{"schema", 1}, {"version", programVersion()}, {"commit", notEmpty(commit)}, {"modified", modified}, {"go", runtime.Version()},
			{"platform", platform}, {"dialects", ask.DialectNames()},
		})
		return
	}
	if commit == "" {
		commit = "unknown"
	} else if modified {
		commit += ", modified"
	}
	fmt.Fprintf(std.out, "robots %s (commit %s)\n%s %s\ndialects: %s\n", programVersion(), commit, runtime.Version(), platform, strings.Join(ask.DialectNames(), ", "))
}
