package main

import (
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots"
)

// This file writes what other programs show: annotations of GitHub, JUnit's XML,
// Markdown.

// An annotation is a line that GitHub Actions shows beside a line of a file.
type annotation struct {
	level string // error, warning or notice
	file  string // as in the repository, "" for none
	line  int    // 0 for none
	title string
	text  string
}

// annotate writes an annotation as a workflow command. Its message is one line of
// output whatever it holds.
func annotate(w io.Writer, a annotation) {
	text := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	out := "::" + a.level + " "
	if a.file != "" {
		out += "file=" + property.Replace(a.file) + ","
		if a.line > 0 {
			out += "line=" + strconv.Itoa(a.line) + ","
		}
	}
	_, _ = io.WriteString(w, out+"title="+property.Replace(a.title)+"::"+text.Replace(a.text)+"\n")
}

// inRepository returns the name of a file as annotations take it, "" for what is no
// file.
func inRepository(name string) string {
	if name == "-" || isURL(name) {
		return ""
	}
	return filepath.ToSlash(filepath.Clean(name))
}

// The XML of JUnit, as the schemas of Jenkins' xunit plugin (junit-10.xsd) and of Ant's junit
// task both have it: every attribute and element here is one that Ant demands, and no other
// is allowed there.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string      `xml:"name,attr"`
		Package    string      `xml:"package,attr"` // the command
		ID         int         `xml:"id,attr"`      // from 0
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
		Seconds int           `xml:"time,attr"` // which is not measured
		Failure *junitProblem `xml:"failure,omitempty"`
		Error   *junitProblem `xml:"error,omitempty"` // neither passed nor failed
	}
	junitProblem struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// writeJUnit completes and writes the suites of a command, as of now.
func writeJUnit(w io.Writer, command string, now time.Time, suites []junitSuite) error {
	for i := range suites {
		s := &suites[i]
		s.Package, s.ID = command, i
		s.Timestamp, s.Host = now.UTC().Format("2006-01-02T15:04:05"), "localhost"
		s.Tests = len(s.Cases)
		for _, c := range s.Cases {
			if c.Failure != nil {
				s.Failures++
			}
			if c.Error != nil {
				s.Errors++
			}
		}
	}
	_, _ = io.WriteString(w, xml.Header)
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(junitSuites{Suites: suites}); err != nil {
		return errors.New("cannot write the answer")
	}
	_, _ = io.WriteString(w, "\n")
	return nil
}

// mdCode writes text that a file may have chosen as code in a cell of a table: no
// sign in it is Markdown, and no name in it calls anybody.
func mdCode(s string) string {
	const most = 200
	s = robots.Printable(s)
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	longest, run := 0, 0
	for _, c := range s {
		if run++; c != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence, pad := strings.Repeat("`", longest+1), ""
	if longest > 0 || s == "" || s[0] == ' ' {
		pad = " "
	}
	return fence + pad + strings.ReplaceAll(s, "|", `\|`) + pad + fence
}

func writeCSV(w io.Writer, rows [][]string) error {
	if err := csv.NewWriter(w).WriteAll(rows); err != nil {
		return errors.New("cannot write the answer")
	}
	return nil
}

// writeMarkdown writes a table whose first row is its header. Text of a file does not become
// markup.
func writeMarkdown(w io.Writer, rows [][]string) {
	for i, row := range rows {
		writeMarkdownRow(w, row)
		if i == 0 {
			fmt.Fprintln(w, strings.Repeat("| --- ", len(row))+"|")
		}
	}
}

func writeMarkdownRow(w io.Writer, row []string) {
	for _, cell := range row {
		fmt.Fprint(w, "| ", markup.Replace(robots.Printable(cell)), " ")
	}
	fmt.Fprintln(w, "|")
}

var markup = strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", "[", `\[`, "&", "&amp;")
