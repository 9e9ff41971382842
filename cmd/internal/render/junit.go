package render

import (
	"encoding/xml"
	"io"
	"strings"
	"time"

	"github.com/robotskit/robots"
)

// JUnit's XML, valid for the schemas of Jenkins' xunit plugin (junit-10.xsd) and of Ant's
// junit task: Ant requires each attribute and element.
type (
	JunitSuites struct {
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
func (r *Report) writeJUnit(w io.Writer, now time.Time) error {
	var suites []*junitSuite
	byName := map[string]*junitSuite{}
	for _, f := range r.Findings {
		s := byName[f.File]
		if s == nil {
			s = &junitSuite{
				Name: robots.Printable(f.File), Package: r.Command, ID: len(suites), Timestamp: now.UTC().Format("2006-01-02T15:04:05"),
				Host: "localhost",
			}
			byName[f.File] = s
			suites = append(suites, s)
		}
		c := junitCase{Name: robots.Printable(f.Case), Class: strings.Join(f.Dialects, " ")}
		problem := &junitProblem{f.ID, robots.Printable(f.Message), "\n" + robots.Printable(f.location()) + "\n" + PrintableLines(f.Details)}
		switch {
		case f.Undecided:
			c.Error = problem
			s.Errors++
		case f.Failed:
			c.Failure = problem
			s.Failures++
		case f.Level != "":
			s.Out += robots.Printable(f.location()+": "+f.Message) + "\n"
		}
		s.Tests++
		s.Cases = append(s.Cases, c)
	}
	text, err := xml.MarshalIndent(JunitSuites{Suites: suites}, "", "  ")
	_, _ = io.WriteString(w, xml.Header+string(text)+"\n")
	return err
}
