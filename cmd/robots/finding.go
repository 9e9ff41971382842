package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/lint"
	"github.com/spf13/cobra"
)

// Formats that show findings.
const (
	formatGitHub = "github"
	formatJUnit  = "junit"
	formatSARIF  = "sarif"
)

// failNever is the value of --fail-on that keeps the exit status 0.
const failNever = "never"

// severities are the names that --fail-on accepts in lint, diff and watch.
func severities() []string {
	return []string{lint.Note.String(), lint.Warning.String(), lint.Error.String()}
}

// failOnFlag declares --fail-on. Some commands accept more values than severities.
func failOnFlag(cmd *cobra.Command, value *string, standard string, more ...string) {
	list := append(append(severities(), failNever), more...)
	choiceFlag(cmd, value, "fail-on", standard, "`SEVERITY` lowest severity that exits 1: "+strings.Join(list, ", "), list...)
}

// failLevel is the lowest severity that fails: for a value that is no severity, above all.
func failLevel(failOn string) lint.Severity {
	if s, ok := lint.ParseSeverity(failOn); ok {
		return s
	}
	return lint.Error + 1
}

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
	Fix       object // of SARIF, nil if there is none
	SafeFix   bool
}

// A Region is a part of a file. Lines and columns count from 1, columns in characters.
type Region struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn,omitempty"`
	EndLine     int `json:"endLine,omitempty"`
	EndColumn   int `json:"endColumn,omitempty"`
}

// A report is what a command has found.
type report struct {
	command  string
	summary  string
	rules    []object // of SARIF, those of all findings
	findings []Finding
}

// shown returns the findings other than checks that passed.
func (r *report) shown() []Finding {
	return slices.DeleteFunc(slices.Clone(r.findings), func(f Finding) bool { return f.Level == "" })
}

// write writes a report for a program that shows it.
func (r *report) write(std *screen.Streams, format string) {
	switch format {
	case formatSARIF:
		std.Encode(r.sarif())
	case formatJUnit:
		std.Keep(r.writeJUnit(std.Out, std.Now()))
	case formatGitHub:
		r.writeGitHub(std.Out)
	default:
		r.writeMarkdown(std.Out)
	}
}

// writeGitHub writes workflow commands of GitHub Actions, each on one line.
func (r *report) writeGitHub(w io.Writer) {
	text := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	for _, f := range r.shown() {
		var properties []string
		if f.File != "-" && !ask.NamesSite(f.File) {
			properties = append(properties, "file="+property.Replace(robots.Printable(filepath.ToSlash(filepath.Clean(f.File)))))
			if f.Region.StartLine > 0 {
				properties = append(properties, "line="+strconv.Itoa(f.Region.StartLine))
			}
		}
		properties = append(properties, "title="+property.Replace(robots.Printable(r.command+": "+f.Case)))
		level := strings.Replace(f.Level, "note", "notice", 1)
		fmt.Fprintf(w, "::%s %s::%s\n", level, strings.Join(properties, ","), text.Replace(robots.Printable(f.Message)))
	}
	fmt.Fprintf(w, "%s: %s\n", r.command, r.summary)
}

// maxMarkdown limits what is written for a comment, in bytes: GitHub takes 65,536
// characters.
const maxMarkdown = 60_000

func (r *report) writeMarkdown(w io.Writer) {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s: %s\n", r.command, r.summary)
	head := "\n| | place | finding |\n| --- | --- | --- |\n"
	for _, f := range r.shown() {
		row := fmt.Sprintf("%s| %s | %s | %s |\n", head, f.Level, mdCode(f.place()), mdCode(f.Message))
		if b.Len()+len(row) > maxMarkdown {
			fmt.Fprintf(&b, "\nTruncated to fit a comment: `%s` shows everything.\n", r.command)
			break
		}
		b.WriteString(row)
		head = ""
	}
	_, _ = io.WriteString(w, b.String())
}

// place is the file and line of a finding.
func (f *Finding) place() string {
	if f.Region.StartLine == 0 {
		return f.File
	}
	return f.File + ":" + strconv.Itoa(f.Region.StartLine)
}

// printableLines makes lines safe for a terminal.
func printableLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		content, ended := strings.CutSuffix(line, "\n")
		b.WriteString(robots.Printable(content))
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// mdCode writes text from a file as code in a cell of a table, shortened.
func mdCode(s string) string {
	const most = 200
	s = robots.Printable(s)
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return strings.ReplaceAll(mdSpan(s), "|", `\|`)
}

// mdSpan writes text from a file as code: no character of it is Markdown, and no name in it
// notifies anybody.
func mdSpan(s string) string {
	s = robots.Printable(s)
	fence, pad := "`", ""
	for strings.Contains(s, fence) {
		fence, pad = fence+"`", " "
	}
	if s == "" || s[0] == ' ' {
		pad = " "
	}
	return fence + pad + s + pad + fence
}

// JUnit's XML, valid for the schemas of Jenkins' xunit plugin (junit-10.xsd) and of Ant's
// junit task: Ant requires each attribute and element.
type (
	junitSuites struct {
		XMLName xml.Name      `xml:"testsuites"`
		Suites  []*junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string      `xml:"name,attr"`
		Package    string      `xml:"package,attr"`
		ID         int         `xml:"id,attr"`
		Timestamp  string      `xml:"timestamp,attr"`
		Host       string      `xml:"hostname,attr"`
		Tests      int         `xml:"tests,attr"`
		Failures   int         `xml:"failures,attr"`
		Errors     int         `xml:"errors,attr"`
		Seconds    int         `xml:"time,attr"`
		Properties struct{}    `xml:"properties"`
		Cases      []junitCase `xml:"testcase"`
		Out        string      `xml:"system-out"`
		Err        string      `xml:"system-err"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Seconds int           `xml:"time,attr"`
		Failure *junitProblem `xml:"failure,omitempty"`
		Error   *junitProblem `xml:"error,omitempty"` // undecided
	}
	junitProblem struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// writeJUnit writes a suite for each file and a case for each finding. Findings that do
// not fail are cases that pass, with their text as output.
func (r *report) writeJUnit(w io.Writer, now time.Time) error {
	var suites []*junitSuite
	byName := map[string]*junitSuite{}
	for _, f := range r.findings {
		s := byName[f.File]
		if s == nil {
			s = &junitSuite{Name: robots.Printable(f.File), Package: r.command, ID: len(suites), Timestamp: now.UTC().Format("2006-01-02T15:04:05"), Host: "localhost"}
			byName[f.File], suites = s, append(suites, s)
		}
		c := junitCase{Name: robots.Printable(f.Case), Class: strings.Join(f.Dialects, " ")}
		problem := &junitProblem{f.ID, robots.Printable(f.Message), "\n" + robots.Printable(f.place()) + "\n" + printableLines(f.Details)}
		switch {
		case f.Undecided:
			c.Error = problem
			s.Errors++
		case f.Failed:
			c.Failure = problem
			s.Failures++
		case f.Level != "":
			s.Out += robots.Printable(f.place()+": "+f.Message) + "\n"
		}
		s.Tests++
		s.Cases = append(s.Cases, c)
	}
	text, err := xml.MarshalIndent(junitSuites{Suites: suites}, "", "  ")
	_, _ = io.WriteString(w, xml.Header+string(text)+"\n")
	return err
}

// SARIF 2.1.0 (OASIS).
const (
	sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	projectURL  = "https://github.com/robotskit/robots"
)

// An object is one of SARIF.
type object map[string]any

func sarifText(s string) object { return object{"text": s} }

// sarifFile is a file or site.
func sarifFile(name string) object {
	if !ask.NamesSite(name) {
		name = (&url.URL{Path: filepath.ToSlash(name)}).String()
	}
	return object{"uri": name}
}

func (r *report) sarif() jsonObject {
	driver := object{"name": r.command, "informationUri": projectURL, "version": programVersion(), "rules": r.rules}
	results := []object{}
	for _, f := range r.shown() {
		place := object{"artifactLocation": sarifFile(f.File)}
		if f.Region.StartLine > 0 {
			place["region"] = f.Region
		}
		properties := object{"dialects": f.Dialects}
		result := object{
			"ruleId": f.ID, "ruleIndex": slices.IndexFunc(r.rules, func(rule object) bool { return rule["id"] == f.ID }),
			"level": f.Level, "message": sarifText(robots.Printable(f.Message)), "locations": []object{{"physicalLocation": place}},
			"properties": properties,
		}
		if f.Key != "" {
			result["partialFingerprints"] = object{"checkAndText/v1": f.Key}
		}
		if f.Fix != nil {
			result["fixes"], properties["safeFix"] = []object{f.Fix}, f.SafeFix
		}
		results = append(results, result)
	}
	run := object{"tool": object{"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
	return jsonObject{{"$schema", sarifSchema}, {"version", "2.1.0"}, {"runs", []object{run}}}
}
