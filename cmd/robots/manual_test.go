package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots/cmd/internal/help"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

var (
	manualFolder  = flag.String("manual", "", "where TestManual leaves manual pages and completions")
	manualVersion = flag.String("manual-version", "", "the `version` they are for")
	manualTime    = flag.Int64("manual-time", 0, "and its time, in seconds since 1970")
)

// TestManual writes the manual pages and the completions of all shells from the commands. They
// are not in the repository, so they cannot be out of date; make dist has this test write them:
//
//	go test ./cmd/robots -run TestManual -args -manual DIR -manual-version v1.2.3 -manual-time 1700000000
//
// It is a test instead of a command, so that the program does not contain the generator.
func TestManual(t *testing.T) {
	folder := *manualFolder
	if folder == "" {
		folder = t.TempDir()
	}
	if *manualVersion != "" {
		defer func(was func() string) { programVersion = was }(programVersion)
		programVersion = func() string { return *manualVersion }
	}
	root := newRoot(&screen.Streams{}, "")
	root.DisableAutoGenTag = true
	var all []*cobra.Command
	var collect func(*cobra.Command)
	collect = func(c *cobra.Command) {
		if c == root || c.IsAvailableCommand() {
			all = append(all, c)
			for _, sub := range c.Commands() {
				collect(sub)
			}
		}
	}
	collect(root)
	said := map[*cobra.Command]string{}
	for _, c := range all {
		if c.HasParent() && c.Parent().Name() == "completion" {
			continue // the texts of these are not ours and in Markdown
		}
		said[c] = c.Short + " " + c.Long
		c.Short, c.Long = markdown(c.Short), markdown(c.Long)
		c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			f.Hidden = false // the manual has the rare flags too
			placeholder, usage := help.FlagText(f)
			said[c] += " " + usage
			f.Usage = markdown(usage)
			if kind := f.Value.Type(); kind != "string" && f.NoOptDefVal == "" && (kind != "func" || f.DefValue == "") {
				f.DefValue = placeholder // which the generator prints where it has a default
			}
		})
	}
	released := time.Unix(*manualTime, 0).UTC()
	header := &doc.GenManHeader{Date: &released, Source: "robots " + programVersion(), Manual: "Robots"}
	if err := doc.GenManTree(root, header, folder); err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		page, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Error(err)
			continue
		}
		at := 0
		words := strings.Fields(plainText(string(page)))
		for _, word := range strings.Fields(said[c]) { // in this order, others between them
			for at < len(words) && words[at] != word {
				at++
			}
			if at == len(words) {
				t.Errorf("%s has lost %q of the help, or its place:\n%s", name, word, page)
				break
			}
			at++
		}
	}

	for shell, name := range map[string]string{"bash": "robots.bash", "zsh": "_robots", "fish": "robots.fish", "powershell": "robots.ps1"} {
		var out, complaints bytes.Buffer
		if status := run(context.Background(), []string{"completion", shell}, strings.NewReader(""), &out, &complaints); status != exitAllowed {
			t.Fatalf("completion of %s: status %d, %s", shell, status, &complaints)
		}
		if err := os.WriteFile(filepath.Join(folder, name), out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// markdown escapes stars and underscores, which the generator would read as emphasis.
func markdown(text string) string {
	return regexp.MustCompile("[*_<`\\[\\]]").ReplaceAllString(text, `\$0`)
}

// plainText returns a manual page without roff commands and escapes.
func plainText(page string) string {
	page = regexp.MustCompile(`(?m)^\.(PP|TH|SH|nh).*$`).ReplaceAllString(page, "")
	page = regexp.MustCompile(`\\f[BIR]`).ReplaceAllString(page, "")
	return strings.NewReplacer(`\-`, "-", `\&`, "", `\e`, `\`, `\(aq`, "'", `\[dq]`, `"`, `\(dq`, `"`).Replace(page)
}
