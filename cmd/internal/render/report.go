package render

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/screen"
)

// Formats that show findings.
const (
	FormatGitHub = "github"
	FormatJUnit  = "junit"
	FormatSARIF  = "sarif"
)

// A Finding is one result of lint, diff or test.
type Finding struct {
	File      string // as named by the user
	Region    Region // zero for the whole file
	Level     string // error, warning or note; "" if the check passed
	Failed    bool
	Undecided bool
	ID        string // of its rule
	Case      string // what was checked: a check, a crawler, an assertion
	Message   string // one sentence
	Details   string // lines
	Key       string // identifies the finding when its line moves, "" if nothing does
	Dialects  []string
	Fix       *Fix // nil if there is none
}

// A Region is a part of a file. Lines and columns count from 1, columns in characters.
type Region struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn,omitempty"`
	EndLine     int `json:"endLine,omitempty"`
	EndColumn   int `json:"endColumn,omitempty"`
}

// A Report is what a command has found.
type Report struct {
	Command  string
	Summary  string // counts, without text of a file
	Version  string // of the program
	Rules    []Rule // of all findings
	Findings []Finding
}

// Shown returns the findings other than checks that passed.
func (r *Report) Shown() []Finding {
	return slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return f.Level == "" })
}

// Write writes a report for a program that shows it.
func (r *Report) Write(std *screen.Streams, format string) {
	switch format {
	case FormatSARIF:
		std.Encode(r.sarif())
	case FormatJUnit:
		std.Keep(r.writeJUnit(std.Out, std.Now()))
	case FormatGitHub:
		r.writeGitHub(std.Out)
	default:
		r.writeMarkdown(std.Out)
	}
}

// writeGitHub writes workflow commands of GitHub Actions, each on one line.
func (r *Report) writeGitHub(w io.Writer) {
	text := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	for _, f := range r.Shown() {
		var properties []string
		if f.File != "-" && !ask.NamesSite(f.File) {
			properties = append(properties, "file="+property.Replace(robots.Printable(filepath.ToSlash(filepath.Clean(f.File)))))
			if f.Region.StartLine > 0 {
				properties = append(properties, "line="+strconv.Itoa(f.Region.StartLine))
			}
		}
		properties = append(properties, "title="+property.Replace(robots.Printable(r.Command+": "+f.Case)))
		level := strings.Replace(f.Level, "note", "notice", 1)
		fmt.Fprintf(w, "::%s %s::%s\n", level, strings.Join(properties, ","), text.Replace(robots.Printable(f.Message)))
	}
	fmt.Fprintf(w, "%s: %s\n", r.Command, r.Summary)
}

// location is the file and line of a finding.
func (f *Finding) location() string {
	if f.Region.StartLine == 0 {
		return f.File
	}
	return f.File + ":" + strconv.Itoa(f.Region.StartLine)
}
