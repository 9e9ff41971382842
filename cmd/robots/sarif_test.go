package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/lint"
)

// SARIF 2.1.0 (OASIS section 3), the members that the program writes and their types. Others fail.
type (
	logFileLog struct {
		Schema  string   `json:"$schema"`
		Version string   `json:"version"`
		Runs    []logRun `json:"runs"`
	}
	logRun struct {
		Tool struct {
			Driver logDriver `json:"driver"`
		} `json:"tool"`
		ColumnKind string      `json:"columnKind"`
		Results    []logResult `json:"results"`
	}
	logDriver struct {
		Name           string    `json:"name"`
		Version        string    `json:"version,omitempty"`
		InformationURI string    `json:"informationUri"`
		Rules          []logRule `json:"rules"`
	}
	logMessage struct {
		Text string `json:"text"`
	}
	logRule struct {
		ID                   string      `json:"id"`
		Name                 string      `json:"name,omitempty"`
		ShortDescription     logMessage  `json:"shortDescription"`
		FullDescription      *logMessage `json:"fullDescription,omitempty"`
		HelpURI              string      `json:"helpUri,omitempty"`
		DefaultConfiguration *logConfig  `json:"defaultConfiguration,omitempty"`
	}
	logConfig struct {
		Enabled bool   `json:"enabled"`
		Level   string `json:"level"`
	}
	logResult struct {
		RuleID              string            `json:"ruleId"`
		RuleIndex           int               `json:"ruleIndex"`
		Level               string            `json:"level"`
		Message             logMessage        `json:"message"`
		Locations           []logLocation     `json:"locations"`
		PartialFingerprints map[string]string `json:"partialFingerprints,omitempty"`
		Fixes               []logFix          `json:"fixes,omitempty"`
		Properties          logProperties     `json:"properties"`
	}
	logLocation struct {
		PhysicalLocation struct {
			ArtifactLocation logURI         `json:"artifactLocation"`
			Region           *render.Region `json:"region,omitempty"`
		} `json:"physicalLocation"`
	}
	logURI struct {
		URI string `json:"uri"`
	}
	logFix struct {
		Description     logMessage  `json:"description"`
		ArtifactChanges []logChange `json:"artifactChanges"`
	}
	logChange struct {
		ArtifactLocation logURI           `json:"artifactLocation"`
		Replacements     []logReplacement `json:"replacements"`
	}
	logReplacement struct {
		DeletedRegion   render.Region `json:"deletedRegion"`
		InsertedContent logMessage    `json:"insertedContent"`
	}
	logProperties struct {
		Dialects []string `json:"dialects"`
		SafeFix  *bool    `json:"safeFix,omitempty"`
	}
)

// TestSARIF: the SARIF of lint has the members, values and references that version 2.1.0
// requires, and its fixes make the same edits as those in JSON.
func TestSARIF(t *testing.T) {
	folder := t.TempDir()
	name := filepath.Join(folder, "a b%é.txt")
	body := "\xef\xbb\xbfUser-agent: *\r\nDisallow: /é b\r\nDisallow: private/\rDisallow: /x\nDisallow: /x/é/y\nUser-agent: a, b\nDisallow: /"
	if err := os.WriteFile(name, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	var sarif, plain bytes.Buffer
	for format, out := range map[string]io.Writer{"sarif": &sarif, "json": &plain} {
		if status := run(context.Background(), []string{"lint", "--format", format, name}, strings.NewReader(""), out, os.Stderr); status != exitDisallowed {
			t.Fatalf("%s: status %d", format, status)
		}
	}
	type finding struct {
		ID, Severity, Message string
		Fix                   *answer.Fix
	}
	var findings []finding
	for d := json.NewDecoder(&plain); d.More(); {
		var f finding
		if err := d.Decode(&f); err != nil {
			t.Fatal(err)
		}
		findings = append(findings, f)
	}

	r := checkSARIF(t, sarif.String())
	levels := []string{"none", "note", "warning", "error"}
	if r.Tool.Driver.Name == "" || r.ColumnKind != "unicodeCodePoints" {
		t.Errorf("tool %q, columns %q", r.Tool.Driver.Name, r.ColumnKind)
	}
	ids := map[string]bool{}
	for _, rule := range r.Tool.Driver.Rules {
		if ids[rule.ID] || rule.ShortDescription.Text == "" || !slices.Contains(levels, rule.DefaultConfiguration.Level) {
			t.Errorf("rule %+v", rule)
		}
		ids[rule.ID] = true
		if u, err := url.Parse(rule.HelpURI); err != nil || !u.IsAbs() {
			t.Errorf("%s: help %q", rule.ID, rule.HelpURI)
		}
	}
	if len(r.Results) != len(findings) || len(findings) < 5 {
		t.Fatalf("%d results, %d findings", len(r.Results), len(findings))
	}
	fixes := 0
	for i, result := range r.Results {
		f := findings[i]
		if result.RuleID != f.ID || result.Level != f.Severity || !strings.HasPrefix(result.Message.Text, f.Message) {
			t.Errorf("result %+v of %+v", result, f)
		}
		if len(result.PartialFingerprints) != 1 {
			t.Fatalf("%s: %+v", f.ID, result)
		}
		at := result.Locations[0].PhysicalLocation
		if u, err := url.Parse(at.ArtifactLocation.URI); err != nil || filepath.FromSlash(u.Path) != name {
			t.Errorf("%s: address %q", f.ID, at.ArtifactLocation.URI)
		}
		start, end := offset(t, body, at.Region.StartLine, at.Region.StartColumn), offset(t, body, at.Region.EndLine, at.Region.EndColumn)
		if end < start {
			t.Errorf("%s: region %+v", f.ID, at.Region)
		}
		if f.Fix == nil || f.ID == "RT104" { // the mark is no character that SARIF counts
			if result.Fixes != nil {
				t.Errorf("%s: a fix", f.ID)
			}
			continue
		}
		fixes++
		var edits []lint.Edit
		for _, e := range f.Fix.Edits {
			edits = append(edits, lint.Edit{Start: e.Start, End: e.End, Text: e.Text})
		}
		var replaced []lint.Edit
		for _, e := range result.Fixes[0].ArtifactChanges[0].Replacements {
			g := e.DeletedRegion
			replaced = append(replaced, lint.Edit{Start: offset(t, body, g.StartLine, g.StartColumn), End: offset(t, body, g.EndLine, g.EndColumn), Text: e.InsertedContent.Text})
		}
		want, got := lint.Apply([]byte(body), edits), lint.Apply([]byte(body), replaced)
		if !bytes.Equal(got, want) || result.Fixes[0].Description.Text == "" || *result.Properties.SafeFix != f.Fix.Safe {
			t.Errorf("%s: the fix makes %q, want %q", f.ID, got, want)
		}
	}
	t.Logf("%d results, %d with a fix", len(r.Results), fixes)
}

// offset converts a line and a character, both from 1, to an offset.
func offset(t *testing.T, body string, line, column int) int {
	t.Helper()
	text := strings.NewReplacer("\r\n", "\r\n", "\r", "\n", "\n", "\n").Replace(body)
	at := 0
	for range line - 1 {
		at += strings.IndexByte(text[at:], '\n') + 1
	}
	if line == 1 {
		at += len("\uFEFF")
	}
	runes := []rune(body[at:])
	if column < 1 || column-1 > len(runes) {
		t.Fatalf("no place %d:%d", line, column)
	}
	return at + len(string(runes[:column-1]))
}
