package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/fetch"
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

// A programBuild is the answer of --version.
type programBuild struct {
	Version  string   `json:"version"`  // v1.2.3, a pseudo-version between tags, or (devel)
	Commit   *string  `json:"commit"`   // null for a build without version control
	Modified bool     `json:"modified"` // the files differed from the commit
	Go       string   `json:"go"`       // version of Go
	Platform string   `json:"platform"` // operating system and architecture, such as linux/amd64
	Dialects []string `json:"dialects"` // known ones
}

func newProgramBuild() *programBuild {
	settings := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
	}
	return &programBuild{
		Version:  programVersion(),
		Commit:   answer.OrNull(settings["vcs.revision"]),
		Modified: settings["vcs.modified"] == "true",
		Go:       runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Dialects: ask.DialectNames(),
	}
}

// writeText writes the build for people.
func (b *programBuild) writeText(w io.Writer) {
	commit := "unknown"
	if b.Commit != nil {
		commit = *b.Commit
		if b.Modified {
			commit += ", modified"
		}
	}
	fmt.Fprintf(w, "robots %s (commit %s)\n%s %s\ndialects: %s\n", b.Version, commit, b.Go, b.Platform, strings.Join(b.Dialects, ", "))
}

// writeVersion writes the build as JSON or text.
func writeVersion(std *screen.Streams, format string) {
	build := newProgramBuild()
	if format == formatJSON {
		std.EncodeAnswer(build)
		return
	}
	build.writeText(std.Out)
}
