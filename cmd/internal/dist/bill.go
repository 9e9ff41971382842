package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// The members of CycloneDX 1.6 that a bill of ours has
// (https://cyclonedx.org/docs/1.6/json/).
type (
	billOfMaterials struct {
		Format      string       `json:"bomFormat"`
		SpecVersion string       `json:"specVersion"`
		Version     int          `json:"version"`
		Metadata    metadata     `json:"metadata"`
		Components  []component  `json:"components"`
		Depends     []dependency `json:"dependencies"`
	}
	metadata struct {
		Timestamp string    `json:"timestamp"`
		Component component `json:"component"`
	}
	component struct {
		Type       string     `json:"type"`
		Ref        string     `json:"bom-ref"`
		Name       string     `json:"name"`
		Version    string     `json:"version"`
		Hashes     []hash     `json:"hashes,omitempty"`
		URL        string     `json:"purl"`
		Properties []property `json:"properties,omitempty"`
	}
	hash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	dependency struct {
		Ref       string   `json:"ref"`
		DependsOn []string `json:"dependsOn,omitempty"`
	}
)

// bill returns the bill of materials of a program: the modules in it, and the
// standard library, which has faults of its own.
func bill(p *program, version string, modified time.Time) ([]byte, error) {
	self := part("application", p.info.Main.Path, version)
	self.Hashes = []hash{{"SHA-256", fmt.Sprintf("%x", sha256.Sum256(p.data))}}
	self.Properties = []property{{"go:target", p.String()}}
	for _, s := range p.info.Settings {
		if s.Key == "vcs.revision" {
			self.Properties = append(self.Properties, property{"go:vcs.revision", s.Value})
		}
	}
	b := billOfMaterials{
		Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		Metadata:   metadata{modified.Format(time.RFC3339), self},
		Components: []component{part("library", "std", strings.TrimPrefix(p.info.GoVersion, "go"))},
	}
	for _, d := range p.info.Deps {
		if d.Path == module {
			d.Version = version // of the same commit
		}
		c := part("library", d.Path, d.Version)
		if d.Sum != "" {
			c.Properties = []property{{"go:sum", d.Sum}}
		}
		b.Components = append(b.Components, c)
	}
	depends := dependency{Ref: self.Ref}
	for _, c := range b.Components {
		depends.DependsOn = append(depends.DependsOn, c.Ref)
	}
	b.Depends = []dependency{depends}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(b)
	return out.Bytes(), err
}

func part(kind, path, version string) component {
	url := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	return component{Type: kind, Ref: url, Name: path, Version: version, URL: url}
}
