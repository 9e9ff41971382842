package render

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

// maxMarkdown limits what is written for a comment, in bytes: GitHub takes 65,536
// characters.
const maxMarkdown = 60_000

func (r *Report) writeMarkdown(w io.Writer) {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s: %s\n", r.Command, r.Summary)
	head := "\n| | place | finding |\n| --- | --- | --- |\n"
	for _, f := range r.Shown() {
		row := fmt.Sprintf("%s| %s | %s | %s |\n", head, f.Level, mdCode(f.place()), mdCode(f.Message))
		if b.Len()+len(row) > maxMarkdown {
			fmt.Fprintf(&b, "\nTruncated to fit a comment: `%s` shows everything.\n", r.Command)
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

// PrintableLines makes lines safe for a terminal.
func PrintableLines(text string) string {
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
	return strings.ReplaceAll(MdSpan(s), "|", `\|`)
}

// MdSpan writes text from a file as code: no character of it is Markdown, and no name in it
// notifies anybody.
func MdSpan(s string) string {
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
			s = &junitSuite{Name: robots.Printable(f.File), Package: r.Command, ID: len(suites), Timestamp: now.UTC().Format("2006-01-02T15:04:05"), Host: "localhost"}
			byName[f.File], suites = s, append(suites, s)
		}
		c := junitCase{Name: robots.Printable(f.Case), Class: strings.Join(f.Dialects, " ")}
		problem := &junitProblem{f.ID, robots.Printable(f.Message), "\n" + robots.Printable(f.place()) + "\n" + PrintableLines(f.Details)}
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
	text, err := xml.MarshalIndent(JunitSuites{Suites: suites}, "", "  ")
	_, _ = io.WriteString(w, xml.Header+string(text)+"\n")
	return err
}

// SARIF 2.1.0 (OASIS).
const (
	sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	projectURL  = "https://github.com/robotskit/robots"
)

// The objects of SARIF. Their members are in alphabetical order.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
		Tool       sarifTool     `json:"tool"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		InformationURI string `json:"informationUri"`
		Name           string `json:"name"`
		Rules          []Rule `json:"rules"`
		Version        string `json:"version"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifConfiguration struct {
		Enabled bool   `json:"enabled"`
		Level   string `json:"level"`
	}
	sarifResult struct {
		Fixes               []sarifFix         `json:"fixes,omitempty"`
		Level               string             `json:"level"`
		Locations           []sarifLocation    `json:"locations"`
		Message             sarifMessage       `json:"message"`
		PartialFingerprints *sarifFingerprints `json:"partialFingerprints,omitempty"`
		Properties          sarifProperties    `json:"properties"`
		RuleID              string             `json:"ruleId"`
		RuleIndex           int                `json:"ruleIndex"`
	}
	sarifFingerprints struct {
		CheckAndText string `json:"checkAndText/v1"`
	}
	sarifProperties struct {
		Dialects []string `json:"dialects"`
		SafeFix  *bool    `json:"safeFix,omitempty"`
	}
	sarifLocation struct {
		PhysicalLocation sarifPlace `json:"physicalLocation"`
	}
	sarifPlace struct {
		ArtifactLocation sarifFile `json:"artifactLocation"`
		Region           *Region   `json:"region,omitempty"`
	}
	sarifFile struct {
		URI string `json:"uri"`
	}
	sarifFix struct {
		ArtifactChanges []sarifChange `json:"artifactChanges"`
		Description     sarifMessage  `json:"description"`
	}
	sarifChange struct {
		ArtifactLocation sarifFile     `json:"artifactLocation"`
		Replacements     []Replacement `json:"replacements"`
	}
)

// A Rule is what findings are about.
type Rule struct {
	Configuration    *sarifConfiguration `json:"defaultConfiguration,omitempty"`
	FullDescription  *sarifMessage       `json:"fullDescription,omitempty"`
	HelpURI          string              `json:"helpUri,omitempty"`
	ID               string              `json:"id"`
	Name             string              `json:"name,omitempty"`
	ShortDescription sarifMessage        `json:"shortDescription"`
}

// NewRule returns a rule with one sentence about it.
func NewRule(id, what string) Rule { return Rule{ID: id, ShortDescription: sarifMessage{what}} }

// NewCheck returns the rule of a check of lint.
func NewCheck(c *lint.Check) Rule {
	rule := NewRule(c.ID, c.What)
	rule.Name = c.Name
	rule.FullDescription = &sarifMessage{c.What + " " + c.Why}
	rule.HelpURI = projectURL + "/blob/main/docs/lint.md#" + strings.ToLower(c.ID) + "-" + c.Name
	rule.Configuration = &sarifConfiguration{Enabled: c.Severity != lint.Off, Level: c.Severity.String()}
	if c.Severity == lint.Off {
		rule.Configuration.Level = lint.Note.String()
	}
	return rule
}

// A Fix is what removes a finding.
type Fix struct {
	Description  string
	Replacements []Replacement
	Safe         bool // it changes no verdict
}

// A Replacement is an edit of a file.
type Replacement struct {
	DeletedRegion   Region       `json:"deletedRegion"`
	InsertedContent sarifMessage `json:"insertedContent"`
}

// NewReplacement returns the replacement of a region by a text.
func NewReplacement(region Region, text string) Replacement {
	return Replacement{DeletedRegion: region, InsertedContent: sarifMessage{text}}
}

// newSARIFFile returns a file or site.
func newSARIFFile(name string) sarifFile {
	if !ask.NamesSite(name) {
		name = (&url.URL{Path: filepath.ToSlash(name)}).String()
	}
	return sarifFile{name}
}

func (r *Report) sarif() sarifLog {
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{InformationURI: projectURL, Name: r.Command, Rules: r.Rules, Version: r.Version}
	for _, f := range r.Shown() {
		run.Results = append(run.Results, r.sarifResult(&f))
	}
	return sarifLog{Schema: sarifSchema, Version: "2.1.0", Runs: []sarifRun{run}}
}

func (r *Report) sarifResult(f *Finding) sarifResult {
	file := newSARIFFile(f.File)
	place := sarifPlace{ArtifactLocation: file}
	if f.Region.StartLine > 0 {
		place.Region = &f.Region
	}
	result := sarifResult{
		Level: f.Level, Locations: []sarifLocation{{place}}, Message: sarifMessage{robots.Printable(f.Message)},
		Properties: sarifProperties{Dialects: f.Dialects}, RuleID: f.ID,
		RuleIndex: slices.IndexFunc(r.Rules, func(rule Rule) bool { return rule.ID == f.ID }),
	}
	if f.Key != "" {
		result.PartialFingerprints = &sarifFingerprints{f.Key}
	}
	if f.Fix != nil {
		change := sarifChange{ArtifactLocation: file, Replacements: f.Fix.Replacements}
		result.Fixes = []sarifFix{{ArtifactChanges: []sarifChange{change}, Description: sarifMessage{f.Fix.Description}}}
		result.Properties.SafeFix = &f.Fix.Safe
	}
	return result
}
