package main

import (
	"flag"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/cobra/doc"
)

var (
	manualFolder  = flag.String("manual", "", "where TestManual leaves manual pages and completions")
	manualVersion = flag.String("manual-version", "", "the `version` they are for")
	manualTime    = flag.Int64("manual-time", 0, "and its time, in seconds since 1970")
)

// TestManual generates the manual pages and shell completions; make dist runs it.
func TestManual(t *testing.T) {
	folder := *manualFolder
	if folder == "" {
		folder = t.TempDir()
	}
	status := 0
	root := newRoot(&streams{}, &status)
	root.DisableAutoGenTag = true
	root.InitDefaultCompletionCmd()
	released := time.Unix(*manualTime, 0).UTC()
	if err := doc.GenManTree(root, &doc.GenManHeader{Date: &released, Source: "robots-bulk " + *manualVersion, Manual: "Robots"}, folder); err != nil {
		t.Fatal(err)
	}
	for name, make := range map[string]func(string) error{
		"robots-bulk.bash": func(name string) error { return root.GenBashCompletionFileV2(name, true) },
		"_robots-bulk":     root.GenZshCompletionFile,
		"robots-bulk.fish": func(name string) error { return root.GenFishCompletionFile(name, true) },
		"robots-bulk.ps1":  root.GenPowerShellCompletionFileWithDesc,
	} {
		if err := make(filepath.Join(folder, name)); err != nil {
			t.Error(err)
		}
	}
}
