package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/lint"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The values of --fix.
const (
	fixSafe = "safe"
	fixAll  = "all"
)

// lintOptions are one run of robots lint.
type lintOptions struct {
	std           *screen.Streams
	args          []string
	flags         *pflag.FlagSet
	output        outputFlags
	site          siteFlags
	severity      string
	failOn        string
	fix           string
	diff          bool
	config        string
	baseline      string
	writeBaseline bool
	explain       string
}

func newLintCommand(std *screen.Streams) *cobra.Command {
	o := &lintOptions{std: std}
	cmd := &cobra.Command{Use: "lint", RunE: runE(std, &o.args, o.run)}
	o.flags = cmd.Flags()
	f := cmd.Flags()
	choiceFlag(
		cmd, &o.severity, "severity", lint.Warning.String(),
		"`SEVERITY` lowest severity shown: note, warning or error (formats other than text: note)",
		ask.Severities()...)
	failOnFlag(cmd, &o.failOn, lint.Warning.String())
	choiceFlag(cmd, &o.fix, "fix", "", "write safe fixes to the file; --fix=all also writes fixes that change verdicts", fixSafe, fixAll)
	f.Lookup("fix").NoOptDefVal = fixSafe
	f.BoolVar(&o.diff, "diff", false, "show what --fix would change, and write nothing")
	f.StringVar(&o.baseline, "baseline", "", "`FILE` known findings to hide, whatever their line")
	f.BoolVar(&o.writeBaseline, "write-baseline", false, "write the findings to the --baseline file")
	f.StringVar(&o.config, "config", "", "`FILE` configuration file instead of .robots-lint.yaml")
	f.StringVar(&o.explain, "explain", "", "`ID` check to describe, by ID or name")
	o.output.registerFormat(cmd, render.FormatSARIF, render.FormatJUnit, render.FormatGitHub, formatMarkdown)
	o.site.register(cmd)
	return cmd
}

// run finds mistakes in files, and fixes them.
func (o *lintOptions) run(ctx context.Context) (int, error) {
	if o.explain != "" {
		return exitAllowed, o.explainCheck()
	}
	if err := o.validate(); err != nil {
		return exitBad, err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(200)) // a file needs little memory
	files, err := o.lintFiles(ctx)
	if err != nil {
		return exitBad, err
	}
	if o.writeBaseline {
		return exitAllowed, source.WriteBaseline(o.baseline, files)
	}
	if o.baseline != "" {
		known, err := source.ReadBaseline(o.baseline)
		if err != nil {
			return exitBad, err
		}
		for _, f := range files {
			known.Remove(f)
		}
	}
	result := render.Lint{Files: files, Diff: o.diff, All: o.fix == fixAll}
	status := exitAllowed
	for _, f := range files {
		if f.Fails() {
			status = exitDisallowed
		}
		if o.fix != "" && !o.diff && f.IsFixed() {
			if err := source.ReplaceFile(f.Name, f.Fixed); err != nil {
				return exitBad, err
			}
		}
		if o.diff && f.IsFixed() {
			f.Diagnostics = nil // the fixes are shown instead
		}
		f.NoFix = o.diff && len(f.Diagnostics) > 0
		result.Counts.Hide(f, o.leastShown())
	}
	o.write(&result)
	return status, nil
}

// validate checks the flags before anything is read.
func (o *lintOptions) validate() error {
	switch {
	case o.diff && o.output.format != formatText:
		return errors.New("--diff writes text; remove --format")
	case o.writeBaseline && o.baseline == "":
		return errors.New("--write-baseline requires --baseline FILE")
	case o.writeBaseline && (o.fix != "" || o.diff):
		return errors.New("--write-baseline does not fix anything; remove --fix and --diff")
	}
	return nil
}

// leastShown returns the lowest severity that is shown.
func (o *lintOptions) leastShown() lint.Severity {
	if o.output.format != formatText && !o.flags.Changed("severity") {
		return lint.Note
	}
	return ask.FailLevel(o.severity)
}

// lintFiles reads files and finds their mistakes, or those left after the fixes that will be written.
func (o *lintOptions) lintFiles(ctx context.Context) (files []*answer.LintedFile, err error) {
	read, err := o.site.completeFiles(ctx, o.output.reader(o.std), o.args)
	if err != nil {
		return nil, err
	}
	fixes := answer.LintFixes{Apply: o.fix != "" || o.diff, All: o.fix == fixAll, Show: o.diff}
	for _, text := range read {
		title := text.Title()
		if !text.InPlace() && o.fix != "" && !o.diff {
			return nil, fmt.Errorf("--fix cannot write %s; add --diff to see the fixes", title)
		}
		config, err := o.configFor(text.Name)
		if err != nil {
			return nil, err
		}
		f := answer.LintFile(text.Body, config.Options, fixes)
		f.Name = text.Name
		f.Title = title
		f.Fail = ask.FailLevel(o.failOn)
		if config.FailOn != 0 && !o.flags.Changed("fail-on") {
			f.Fail = config.FailOn
		}
		if f.Undecided {
			o.std.Warn("%s: the proofs exceeded their limit, so findings RT502, RT503, RT504 and safe fixes might be missing", title)
		}
		if f.Dropped > 0 {
			o.std.Warn("%s: %s omitted, beyond %s per check", title, render.Count(f.Dropped, "finding"), screen.Thousands(lint.MaxFindings))
		}
		files = append(files, f)
	}
	return files, nil
}

// configFor returns the configuration for a file.
func (o *lintOptions) configFor(name string) (source.LintConfig, error) {
	if o.config != "" {
		return source.ReadLintConfig(o.config)
	}
	return source.FindLintConfig(name)
}

// write writes the findings, or with --diff the fixes.
func (o *lintOptions) write(result *render.Lint) {
	switch o.output.format {
	case formatText:
		result.Text(o.std)
	case formatJSON:
		for _, f := range result.Files {
			for _, finding := range f.Findings() {
				o.std.EncodeAnswer(finding)
			}
		}
	default:
		result.Report(programVersion()).Write(o.std, o.output.format)
	}
}

// explainCheck describes the check of --explain.
func (o *lintOptions) explainCheck() error {
	if len(o.args) > 0 {
		return fmt.Errorf("unexpected argument %q: --explain takes no file", clip(o.args[0]))
	}
	c := cmp.Or(lint.Find(o.explain), lint.Find(strings.ToUpper(o.explain)))
	if c == nil {
		return fmt.Errorf("unknown check %q; docs/lint.md lists them", clip(o.explain))
	}
	render.LintCheck(o.std.Out, c)
	return nil
}
