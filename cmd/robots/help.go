package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/robotskit/robots/cmd/internal/help"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A verb is a command in the order of the help.
type verb struct {
	group string // "" for that of the verb before
	name  string
	short string
	make  func(std *screen.Streams) *cobra.Command
}

func verbList() []verb {
	return []verb{
		{"Check URLs", "check", "Check whether crawlers may fetch URLs", newCheckCommand},
		{"", "explain", "Explain which line decides, and why", newExplainCommand},
		{"", "crawlers", "List access for known crawlers", newCrawlersCommand},
		{"", "page", "Check crawling and indexing of a page", newPageCommand},
		{"Inspect", "fetch", "Fetch a robots.txt; show status, redirects, lifetime", newFetchCommand},
		{"", "show", "Show groups, delays, sitemaps, signals", newShowCommand},
		{"Edit and test", "lint", "Find mistakes and fix them", newLintCommand},
		{"", "fmt", "Format a robots.txt", newFmtCommand},
		{"", "block", "Block crawlers by purpose, operator or name", newBlockCommand},
		{"", "test", "Run assertions (robots.test.yaml)", newTestCommand},
		{"", "diff", "Show which URLs a change blocks or allows", newDiffCommand},
		{"", "lsp", "Start the language server", newLspCommand},
		{"Monitor", "watch", "Report robots.txt changes that affect crawlers", newWatchCommand},
		{"", "verify", "Verify crawler IP addresses, or check an access log", newVerifyCommand},
		{"", "guard", "Enforce a robots.txt behind a web server", newGuardCommand},
		{"Run", "serve", "Run the HTTP API and web page", newServeCommand},
		{"", "fleet", "Inspect and control workers sharing Redis", newFleetCommand},
		{"Reference", "clause", "Print the specification clause behind a decision", newClauseCommand},
	}
}

// rootHelp is the help of the program.
func rootHelp(w io.Writer) {
	fmt.Fprint(w, "Check, explain and test robots.txt rules.\n\n")
	for _, v := range verbList() {
		fmt.Fprintf(w, "%-14s %-9s %s\n", v.group, v.name, v.short)
	}
	fmt.Fprint(w, `
robots.txt is fetched from the site, or given with -f. It is read by RFC 9309, or as
documented for Google, Bing, Yandex and Seznam: --dialect, by default that of the crawler.

Examples:
  robots check -a Googlebot https://example.com/list?sort=price
  robots explain -f robots.txt -a Googlebot /list?sort=price
  robots check --batch < questions.jsonl > answers.jsonl

Environment: NO_COLOR; ROBOTS_REDIS_PASSWORD, ROBOTS_REDIS_SENTINEL_USER and
ROBOTS_REDIS_SENTINEL_PASSWORD for --redis (with _FILE appended: a file that has it).

robots COMMAND --help shows the flags of a command, --help-all also the rare ones;
robots help COMMAND is the same, robots completion writes completions of a shell, and
robots --version [--format json] prints the version.

Exit status: 0 done or all allowed, 1 some disallowed or found, 2 invalid usage or
input, 3 undecided.
`)
}

// rareFlags are shown only by --help-all, unless the usage line of the command names them.
var rareFlags = []string{
	"at", "max-bytes", "color", "user-initiated", "chunk-header", "probe", "redis", "allow-eviction", "user-agent", "proxy",
	"address-pace", "floor", "ceiling", "obey", "zone", "timeout",
}

// commonFlags are those of commands with many flags that --help shows.
var commonFlags = map[string][]string{
	"robots lint":   {"severity", "fail-on", "fix", "diff", "baseline", "write-baseline", "config", "explain", "format", "allow-private"},
	"robots verify": {"as", "log", "file", "unused", "all", "dns", "resolver", "list", "fetch-lists", "offline", "format"},
	"robots serve":  {"listen", "public", "anonymous", "tokens-file", "store", "dialect", "client-rate", "demo", "config"},
}

// helpFor has a command print its help within 100 columns, without rare flags unless
// --help-all asks for them.
func helpFor(cmd *cobra.Command) {
	common, limited := commonFlags[cmd.CommandPath()]
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		rare := slices.Contains(rareFlags, f.Name) && !strings.Contains(cmd.Use, "--"+f.Name+" ")
		f.Hidden = f.Hidden || rare || limited && !slices.Contains(common, f.Name)
	})
	cmd.Flags().BoolFunc("help-all", "show all flags", func(string) error {
		cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Hidden = false })
		return cmd.Flags().Set("help", "true")
	})
	cmd.DisableFlagsInUseLine = true
	cmd.Flags().SortFlags = false
	cmd.SetUsageFunc(help.Usage)
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		fmt.Fprint(cmd.OutOrStdout(), strings.TrimSpace(cmd.Long)+"\n\n")
		_ = cmd.Usage() // its error is that of standard output, which the last flush reports
	})
	for _, sub := range cmd.Commands() {
		helpFor(sub)
	}
}
