package render

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/lint"
)

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
		PhysicalLocation sarifPhysicalLocation `json:"physicalLocation"`
	}
	sarifPhysicalLocation struct {
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
	physical := sarifPhysicalLocation{ArtifactLocation: file}
	if f.Region.StartLine > 0 {
		physical.Region = &f.Region
	}
	result := sarifResult{
		Level: f.Level, Locations: []sarifLocation{{physical}}, Message: sarifMessage{robots.Printable(f.Message)},
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
