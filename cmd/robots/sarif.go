package main

import (
	"bytes"
	"cmp"
	"io"
	"net/url"
	"path/filepath"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/robotskit/robots/lint"
)

// SARIF 2.1.0 (OASIS), the part of it that says what lint finds.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifRule struct {
		ID                   string      `json:"id"`
		Name                 string      `json:"name"`
		ShortDescription     sarifText   `json:"shortDescription"`
		FullDescription      sarifText   `json:"fullDescription"`
		HelpURI              string      `json:"helpUri"`
		DefaultConfiguration sarifConfig `json:"defaultConfiguration"`
	}
	sarifConfig struct {
		Enabled bool   `json:"enabled"`
		Level   string `json:"level"`
	}
	sarifResult struct {
		RuleID              string            `json:"ruleId"`
		RuleIndex           int               `json:"ruleIndex"`
		Level               string            `json:"level"`
		Message             sarifText         `json:"message"`
		Locations           []sarifLocation   `json:"locations"`
		PartialFingerprints map[string]string `json:"partialFingerprints"`
		Fixes               []sarifFix        `json:"fixes,omitempty"`
		Properties          sarifProperties   `json:"properties"`
	}
	sarifLocation struct {
		PhysicalLocation sarifPlace `json:"physicalLocation"`
	}
	sarifPlace struct {
		ArtifactLocation sarifURI    `json:"artifactLocation"`
		Region           sarifRegion `json:"region"`
	}
	sarifURI struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
		EndLine     int `json:"endLine"`
		EndColumn   int `json:"endColumn"`
	}
	sarifFix struct {
		Description     sarifText     `json:"description"`
		ArtifactChanges []sarifChange `json:"artifactChanges"`
	}
	sarifChange struct {
		ArtifactLocation sarifURI           `json:"artifactLocation"`
		Replacements     []sarifReplacement `json:"replacements"`
	}
	sarifReplacement struct {
		DeletedRegion   sarifRegion `json:"deletedRegion"`
		InsertedContent sarifText   `json:"insertedContent"`
	}
	sarifProperties struct {
		Dialects []string `json:"dialects"`
		SafeFix  *bool    `json:"safeFix,omitempty"`
	}
)

const (
	sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	projectURL  = "https://github.com/robotskit/robots"
)

// printSARIF writes the findings of all files as one run.
func printSARIF(w io.Writer, files []*linted, least lint.Severity) error {
	run := sarifRun{
		Tool:       sarifTool{sarifDriver{Name: "robots lint", Version: programVersion(), InformationURI: projectURL}},
		ColumnKind: "unicodeCodePoints",
		Results:    []sarifResult{},
	}
	index := map[*lint.Check]int{}
	for i := range lint.Checks {
		c := &lint.Checks[i]
		index[c] = i
		level := c.Severity.String()
		if c.Severity == lint.Off {
			level = lint.Note.String()
		}
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{
			ID: c.ID, Name: c.Name, ShortDescription: sarifText{c.What}, FullDescription: sarifText{c.What + " " + c.Why},
			HelpURI:              projectURL + "/blob/main/docs/lint.md#" + strings.ToLower(c.ID) + "-" + c.Name,
			DefaultConfiguration: sarifConfig{c.Severity != lint.Off, level},
		})
	}
	for _, f := range files {
		uri := sarifURI{(&url.URL{Path: filepath.ToSlash(f.name)}).String()}
		lines := linesOf(f.checked)
		for i := range f.Diagnostics {
			d := &f.Diagnostics[i]
			if d.Severity < least {
				continue
			}
			text := d.Message
			if about := advice(d); about != "" {
				text += ": " + about
			}
			r := sarifResult{
				RuleID: d.Check.ID, RuleIndex: index[d.Check], Level: d.Severity.String(),
				Message:             sarifText{text + " (" + dialectsText(d.Dialects) + ")"},
				Locations:           []sarifLocation{{sarifPlace{uri, lines.region(d.Span.Start, d.Span.End)}}},
				PartialFingerprints: map[string]string{"checkAndText/v1": knownOf(f, d).fingerprint()},
				Properties:          sarifProperties{Dialects: d.Dialects},
			}
			if d.Fix != nil && d.Check.ID != "RT104" { // no character of the text is a mark at its start
				r.Properties.SafeFix = &d.Fix.Safe
				change := sarifChange{ArtifactLocation: uri}
				for _, e := range d.Fix.Edits {
					change.Replacements = append(change.Replacements, sarifReplacement{lines.region(e.Start, e.End), sarifText{e.Text}})
				}
				r.Fixes = []sarifFix{{sarifText{cmp.Or(advice(d), d.Message)}, []sarifChange{change}}}
			}
			run.Results = append(run.Results, r)
		}
	}
	return encode(w, sarifLog{sarifSchema, "2.1.0", []sarifRun{run}})
}

// fileLines knows where the lines of a file begin.
type fileLines struct {
	body   []byte
	starts []int
}

func linesOf(body []byte) fileLines {
	f := fileLines{body: body, starts: []int{0}}
	for i, c := range body {
		if c == '\n' || c == '\r' && (i+1 == len(body) || body[i+1] != '\n') {
			f.starts = append(f.starts, i+1)
		}
	}
	return f
}

// region returns a part of a file in lines and columns, which count characters.
func (f *fileLines) region(start, end int) (r sarifRegion) {
	r.StartLine, r.StartColumn = f.place(start)
	r.EndLine, r.EndColumn = f.place(end)
	return r
}

func (f *fileLines) place(offset int) (line, column int) {
	line = sort.SearchInts(f.starts, offset+1)
	start := f.body[f.starts[line-1]:offset]
	if line == 1 {
		start = bytes.TrimPrefix(start, []byte("\uFEFF"))
	}
	return line, 1 + utf8.RuneCount(start)
}
