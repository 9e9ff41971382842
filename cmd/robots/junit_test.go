package main

import (
	"encoding/xml"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// A junitElement is an element of an XML document.
type junitElement struct {
	XMLName  xml.Name
	Attrs    []xml.Attr     `xml:",any,attr"`
	Children []junitElement `xml:",any"`
	Text     string         `xml:",chardata"`
}

// A junitShape is an element as the schema defines it.
type junitShape struct {
	required, optional map[string]string // patterns of whole values by attribute
	children           string            // a pattern of their names, each followed by a space
	text               bool
}

// junitSchema has the elements of the strictest schema in use, that of Ant's junit task
// (JUnit.xsd of Windy Road). What it accepts, junit-10.xsd of Jenkins' xunit plugin accepts too.
var junitSchema = map[string]junitShape{
	"testsuites": {children: `(testsuite )*`},
	"testsuite": {
		required: map[string]string{
			"name": notBlank, "timestamp": `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d`, "hostname": notBlank, "tests": number, "failures": number,
			"errors": number, "time": decimal, "package": anyText, "id": number,
		},
		optional: map[string]string{"skipped": number},
		children: `properties (testcase )*system-out system-err `,
	},
	"properties": {children: `(property )*`},
	"property":   {required: map[string]string{"name": notBlank, "value": anyText}},
	"testcase": {
		required: map[string]string{"name": anyText, "classname": anyText, "time": decimal},
		children: `((skipped|error|failure) )?`,
	},
	"error":      {required: map[string]string{"type": anyText}, optional: map[string]string{"message": anyText}, text: true},
	"failure":    {required: map[string]string{"type": anyText}, optional: map[string]string{"message": anyText}, text: true},
	"system-out": {text: true},
	"system-err": {text: true},
}

const (
	anyText  = `(?s).*`
	notBlank = `(?s).*\S.*`
	number   = `-?\d+`
	decimal  = `-?(\d+(\.\d*)?|\.\d+)`
)

// junitFaults returns the violations of the schema.
func junitFaults(t *testing.T, text string) (faults []string) {
	t.Helper()
	var root junitElement
	if err := xml.Unmarshal([]byte(text), &root); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if root.XMLName.Local != "testsuites" {
		faults = append(faults, "the root is "+root.XMLName.Local)
	}
	var check func(e *junitElement)
	check = func(e *junitElement) {
		fault := func(format string, args ...any) {
			faults = append(faults, e.XMLName.Local+": "+fmt.Sprintf(format, args...))
		}
		shape, known := junitSchema[e.XMLName.Local]
		if !known {
			fault("unknown element")
			return
		}
		has := map[string]bool{}
		for _, a := range e.Attrs {
			has[a.Name.Local] = true
			pattern, known := shape.required[a.Name.Local]
			if !known {
				pattern, known = shape.optional[a.Name.Local]
			}
			if !known {
				fault("unknown attribute %s", a.Name.Local)
			} else if !regexp.MustCompile(`^(` + pattern + `)$`).MatchString(a.Value) {
				fault("%s=%q", a.Name.Local, a.Value)
			}
		}
		for name := range shape.required {
			if !has[name] {
				fault("no attribute %s", name)
			}
		}
		var children strings.Builder
		for i := range e.Children {
			children.WriteString(e.Children[i].XMLName.Local + " ")
			check(&e.Children[i])
		}
		if !regexp.MustCompile(`^(` + shape.children + `)$`).MatchString(children.String()) {
			fault("has the elements %s", &children)
		}
		if !shape.text && strings.TrimSpace(e.Text) != "" {
			fault("has the text %q", e.Text)
		}
	}
	check(&root)
	return faults
}

// TestJUnitSchema: reports are valid for programs that read JUnit.
func TestJUnitSchema(t *testing.T) {
	tests := writeFile(t, "version: 1\ntext: \"User-agent: *\\nDisallow: /]]>&\\nAllow: /*a*b*c\\n\"\ntests:\n"+
		"  - {name: \"<a> & ]]>\\u0001, 100%\", allow: [/, \"/]]>&\"], disallow: {every: \"/]]*\"}}\n")
	hard := writeFile(t, "version: 1\ntext: \"User-agent: *\\nDisallow: /*a*b*c\\n\"\ntests:\n  - {disallow: {every: \"/*a*b*c\"}}\n")
	before, after := writeFile(t, hostileOld), writeFile(t, hostileNew)
	empty := writeFile(t, "")
	reports := map[string]string{
		"test":            program(t, exitDisallowed, "test", "--format", "junit", tests, hard),
		"test, undecided": program(t, exitUndecided, "test", "--format", "junit", "--budget", "1", hard),
		"diff":            program(t, exitDisallowed, "diff", "--format", "junit", before, after),
		"diff, no faults": program(t, exitAllowed, "diff", "--format", "junit", "--fail-on", "never", before, after),
		"diff, the same":  program(t, exitAllowed, "diff", "--format", "junit", empty, empty),
	}
	for name, text := range reports {
		for _, fault := range junitFaults(t, text) {
			t.Errorf("%s: %s", name, fault)
		}
	}
	for what, text := range map[string]string{
		"<failure ": reports["test"], "<error ": reports["test, undecided"], "newly": reports["diff, no faults"], tests + ":4": reports["test"],
	} {
		if !strings.Contains(text, what) {
			t.Errorf("no %s in %s", what, text)
		}
	}
	for _, wrong := range []string{
		`<testsuites><testsuite name="a" tests="1" failures="0"/></testsuites>`,
		`<testsuites><testsuite name="a" tests="1" failures="0" errors="0"><testcase name="a" file="b"/></testsuite></testsuites>`,
		`<testsuites><testsuite name="a" tests="1" failures="0" errors="0" time="1:0"/></testsuites>`,
		`<testsuites><testsuite name="a" tests="1" failures="0" errors="0">text</testsuite></testsuites>`,
		`<testsuite/>`,
	} {
		if len(junitFaults(t, wrong)) == 0 {
			t.Errorf("accepts %s", wrong)
		}
	}
}
