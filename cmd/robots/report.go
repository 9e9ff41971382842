package main

import (
	"encoding/xml"
	"errors"
	"io"
	"path/filepath"
	"strconv"
	"strings"

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

// The XML of JUnit, as far as programs agree on it.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		File    string        `xml:"file,attr,omitempty"`
		Line    int           `xml:"line,attr,omitempty"`
		Failure *junitProblem `xml:"failure,omitempty"`
		Error   *junitProblem `xml:"error,omitempty"` // neither passed nor failed
		Out     string        `xml:"system-out,omitempty"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// writeJUnit counts and writes suites.
func writeJUnit(w io.Writer, name string, suites []junitSuite) error {
	all := junitSuites{Name: name, Suites: suites}
	for i := range suites {
		s := &suites[i]
		s.Tests = len(s.Cases)
		for _, c := range s.Cases {
			if c.Failure != nil {
				s.Failures++
			}
			if c.Error != nil {
				s.Errors++
			}
		}
		all.Tests, all.Failures, all.Errors = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors
	}
	_, _ = io.WriteString(w, xml.Header)
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
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
