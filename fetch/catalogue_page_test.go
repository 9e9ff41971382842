package fetch

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestFaultPage: docs/fault-catalogue.md agrees with the catalogue. To rewrite it:
//
//	go test ./fetch -run TestFaultPage -update
func TestFaultPage(t *testing.T) {
	const page = "../docs/fault-catalogue.md"
	var b bytes.Buffer
	all := catalogue()
	b.WriteString(faultPageHead)
	for _, c := range Causes() {
		fmt.Fprintf(&b, "| `%v` | %s | %v | %s |\n", c, c.Sentence(), c.Outcome(), firstVerdict(c))
	}
	fmt.Fprintf(&b, faultPageMiddle, len(all))
	area := ""
	for _, row := range faultRows(all) {
		if row.area != area {
			area = row.area
			fmt.Fprintf(&b, "\n## %s\n\n| behavior | what happens | cause | limit |\n| --- | --- | --- | --- |\n", areaTitles[area])
		}
		cause := "`" + row.cause.String() + "`"
		if row.or != CauseNone {
			cause += " or `" + row.or.String() + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", row.label(), row.does, cause, row.limit())
	}
	if *update {
		if err := os.WriteFile(page, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	got = regexp.MustCompile(`(?s)\nSections: .*?\n\n`).ReplaceAll(got, []byte("\n")) // of TestDocuments
	if !bytes.Equal(got, b.Bytes()) {
		t.Errorf("%s differs from the catalogue of the tests; run go test ./fetch -run TestFaultPage -update", page)
	}
}

// firstVerdict describes the verdict of rfc9309 right after a fetch without an earlier copy.
func firstVerdict(c Cause) string {
	switch {
	case c == Empty:
		return "allow"
	case c.Outcome() == Success:
		return "the file's rules"
	case c.Outcome() == Unavailable:
		return "allow"
	case c.OwnSide():
		return "disallow, no outage"
	}
	return "disallow, outage begins"
}

// A faultRow is a row of the page: behaviors of an area that differ only in their names.
type faultRow struct {
	fault
	names []string
}

// faultRows returns the rows of the page, those of an area in the order of their first behavior. Behaviors that overHTTP2
// repeats are marked instead of listed again.
func faultRows(all []fault) []*faultRow {
	var rows []*faultRow
	repeated := map[string]bool{}
	for _, f := range overHTTP2() {
		repeated[f.name] = true
	}
	for _, f := range all {
		if f.area == "http2" && repeated[f.name] {
			continue
		}
		name := f.name
		if repeated[f.area+", "+f.name] {
			name += " ²"
		}
		i := slices.IndexFunc(rows, func(r *faultRow) bool {
			return r.area == f.area && r.does == f.does && r.cause == f.cause && r.or == f.or && r.limit() == f.limit()
		})
		if i < 0 {
			rows = append(rows, &faultRow{fault: f, names: []string{name}})
			continue
		}
		rows[i].names = append(rows[i].names, name)
	}
	return rows
}

// label joins the names of a row. A part before a comma that all share is written once.
func (r *faultRow) label() string {
	names := slices.Clone(r.names)
	isVariant := func(name string) bool {
		for _, suffix := range []string{", no body", ", 205"} {
			if base, found := strings.CutSuffix(name, suffix); found && slices.Contains(r.names, base) {
				return true
			}
		}
		return false
	}
	variants := ""
	if slices.ContainsFunc(names, isVariant) {
		names = slices.DeleteFunc(names, isVariant)
		variants = "; each also without a body, and with 205"
	}
	lead := ""
	if first, _, found := strings.Cut(names[0], ", "); found && len(names) > 2 {
		first += ", "
		if !slices.ContainsFunc(names, func(name string) bool { return !strings.HasPrefix(name, first) }) {
			lead = strings.TrimSuffix(first, ", ") + ": "
			for i := range names {
				names[i] = strings.TrimPrefix(names[i], first)
			}
		}
	}
	return lead + strings.Join(names, "; ") + variants
}

// limit returns the limits that end a behavior, other than the usual ones.
func (f *fault) limit() string {
	var limits []string
	if f.within != atOnce {
		limits = append(limits, f.within.words())
	}
	if f.byteCount != few {
		limits = append(limits, f.byteCount.words())
	}
	return strings.Join(limits, ", ")
}

var areaTitles = map[string]string{
	"dns": "Names", "tcp": "Connections", "tls": "TLS", "status": "Status codes", "framing": "Framing of HTTP",
	"redirect": "Redirects", "encoding": "Content encodings", "size": "Size and pace", "http2": "HTTP/2", "proxy": "Proxies", "ftp": "FTP", "guard": "Address guard",
}

const faultPageHead = `# Fault catalogue

<!-- Generated from the catalogue of package fetch's tests; go test ./fetch -run TestFaultPage -update rewrites it. -->

What a fetch of robots.txt returns when a site misbehaves, and what ` + "`rfc9309`" + ` then allows without an earlier copy.
During an outage the row ` + "`outage`" + ` of [dialects.md](dialects.md) applies.

| cause | meaning | outcome | verdict |
| --- | --- | --- | --- |
`

const faultPageMiddle = `
The tests serve each of the %d behaviors below from a scripted server, on every run. They check outcome, cause, time and bytes, and
that no dialect allows anything that its failure policy does not list.

A fetch takes less than a second and receives at most 4 KiB, headers included, unless a limit is listed: its default, plus what the
machine takes. ² marks behaviors that are also tested over HTTP/2, with the same outcome.
`
