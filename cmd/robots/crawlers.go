package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/help"
	"github.com/robotskit/robots/crawlers"
	"github.com/spf13/cobra"
)

// A crawlersCommand is one run of crawlers.
type crawlersCommand struct {
	*command
	ruleFlags
	site     siteFlags
	file     string
	purposes []string
	operator string
	path     string
	all      bool

	list    []crawlers.Crawler
	omitted int // crawlers that --all adds
}

func newCrawlers(std *streams) *cobra.Command {
	c := &crawlersCommand{command: newCommand(std), ruleFlags: ruleFlags{maxBytes: noLimit}}
	cmd := &cobra.Command{
		Use: "crawlers",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return slices.Collect(crawlers.Names()), cobra.ShellCompDirectiveDefault
		},
		RunE: c.run(c.answer),
	}
	f := cmd.Flags()
	f.StringSliceVar(&c.purposes, "purpose", nil, "`CATEGORY` categories of the crawlers to list, separated by commas (see above)")
	complete(cmd, "purpose", append([]string{anyAI}, purposeNames()...))
	f.StringVar(&c.operator, "operator", "", "`NAME` operator of the crawlers to list, or a word of its name")
	f.StringVar(&c.path, "path", "", "`PATH` path or URL of a page, to list which crawlers may fetch it")
	f.BoolVar(&c.all, "all", false, "include crawlers that are not in use")
	c.registerFile(cmd, &c.file)
	c.formatFlag(cmd, formatCSV)
	c.site.register(cmd)
	timeFlag(cmd, &c.at, judgedAt)
	c.colorFlag(cmd)
	return cmd
}

func (c *crawlersCommand) answer(ctx context.Context) (int, error) {
	if len(c.args) > 1 {
		return exitBad, fmt.Errorf("unexpected argument %q: one file, URL or name at a time", clip(c.args[1]))
	}
	var err error
	if c.list, c.omitted, err = choose(c.purposes, c.operator, c.all); err != nil {
		return exitBad, err
	}
	name, entry := c.file, false
	if len(c.args) == 1 {
		if name, entry, err = c.argument(c.args[0]); err != nil {
			return exitBad, err
		}
	}
	switch {
	case name != "" || c.given("file"):
		return c.judge(ctx, name)
	case c.path != "":
		return exitBad, errors.New("--path requires a robots.txt: name a file, or the URL of a site")
	}
	if err := c.site.unused("without a URL"); err != nil {
		return exitBad, err
	}
	if entry && c.format == formatText {
		c.printEntry(c.list[0])
		return exitAllowed, nil
	}
	all := make([]row, len(c.list))
	for i, e := range c.list {
		all[i].Crawler = e
	}
	c.print(all, "")
	return exitAllowed, nil
}

// argument returns the name of the robots.txt that an argument is, or reports that it is the
// name of a crawler.
func (c *crawlersCommand) argument(arg string) (name string, isCrawler bool, err error) {
	info, _ := os.Stat(arg)
	scheme, _, url := strings.Cut(arg, "://")
	url = url && !strings.ContainsAny(scheme, " /") // as in a header with a URL
	if arg == "-" || info != nil || url {
		if c.given("file") {
			return "", false, fmt.Errorf("unexpected argument %q: the robots.txt is given with -f", clip(arg))
		}
		return arg, false, nil
	}
	if e, ok := crawlers.Find(arg); ok {
		c.list, c.omitted = []crawlers.Crawler{e}, 0
		return c.file, true, nil
	}
	return "", false, fmt.Errorf("%q is not a file, a URL or a known crawler%s", clip(arg), cmp.Or(suggestion(arg, crawlers.Names()), "; robots crawlers lists them"))
}

// suggestion suggests the crawler in use among some names that has one other letter. It returns
// "" if there is none or the name is known.
func suggestion(name string, names iter.Seq[string]) string {
	const least = 5 // letters: shorter names have too many neighbors
	if len(name) < least {
		return ""
	}
	near := ""
	for other := range names {
		switch n := len(other) - len(name); {
		case n < -1 || n > 1:
		case strings.EqualFold(other, name):
			return ""
		case near == "" && ask.Edits(strings.ToLower(name), strings.ToLower(other)) == 1:
			if e, known := crawlers.Find(other); known && !idle(e) {
				near = e.Name
			}
		}
	}
	if near == "" {
		return ""
	}
	if _, known := crawlers.Find(name); known { // by a spelling
		return ""
	}
	return "; did you mean " + near + "?"
}

// idle reports whether an entry is included only with --all.
func idle(e crawlers.Crawler) bool {
	return e.Status == crawlers.Former || e.Status == crawlers.Mistake || e.Status == crawlers.Unknown
}

// anyAI stands for the three categories of AI crawlers.
const anyAI = "ai"

func purposeNames() []string {
	var names []string
	for _, p := range crawlers.Purposes() {
		names = append(names, string(p))
	}
	return names
}

// choose returns the crawlers of some purposes and an operator, only those in use unless all,
// and how many it omits.
func choose(purposes []string, operator string, all bool) (list []crawlers.Crawler, omitted int, err error) {
	wanted := map[crawlers.Purpose]bool{}
	for _, name := range purposes {
		p := crawlers.Purpose(strings.ToLower(strings.TrimSpace(name)))
		switch {
		case p == anyAI:
			for _, q := range crawlers.Purposes() {
				wanted[q] = wanted[q] || q.IsAI()
			}
		case slices.Contains(crawlers.Purposes(), p):
			wanted[p] = true
		default:
			return nil, 0, fmt.Errorf("unknown category %q (known: %s, and %s for all of ai-*)", clip(name), strings.Join(purposeNames(), ", "), anyAI)
		}
	}
	var operators []string
	for _, e := range crawlers.All() {
		operators = append(operators, append(strings.Fields(words(e.Operator)), strings.ToLower(e.Operator))...)
		switch {
		case len(wanted) > 0 && !wanted[e.Purpose] || !strings.Contains(words(e.Operator), words(operator)):
		case all || !idle(e):
			list = append(list, e)
		default:
			omitted++
		}
	}
	if len(list) > 0 {
		return list, omitted, nil
	}
	hint := ""
	if near := ask.Nearest(operator, operators); near != "" && near != strings.ToLower(operator) {
		hint = "; did you mean " + near + "?"
	}
	return nil, 0, fmt.Errorf("no crawler in use matches operator %q and these categories%s", clip(operator), hint)
}

// words returns the words of a name in lower case, each between spaces, to search for some
// of them.
func words(name string) string {
	text := ""
	for _, word := range strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		text += " " + word + " "
	}
	return text
}

// titles are the headings of purposes whose name is not one.
var titles = map[crawlers.Purpose]string{
	crawlers.AITraining: "AI training", crawlers.AISearch: "AI search", crawlers.AIUser: "AI user",
	crawlers.SEO: "SEO", crawlers.Unknown: "unclassified",
}

// statusRemarks and obeysRemarks say in a table what printEntry says in sentences.
var (
	statusRemarks = map[crawlers.Status]string{
		crawlers.OptOut: "opt-out, sends no requests", crawlers.Token: "applies to other crawlers",
		crawlers.Former: "no longer in use", crawlers.Mistake: "not the name of a crawler",
	}
	obeysRemarks = map[crawlers.Obeys]string{
		crawlers.ObeysNo: "does not obey", crawlers.ObeysNamed: "ignores the group of *",
		crawlers.UserInitiated: "user-initiated, might not obey", crawlers.ObeysYes: "obeys",
	}
)

// remark returns whether a crawler sends requests and obeys robots.txt. Without all, it
// leaves out that a crawler obeys.
func remark(e crawlers.Crawler, all bool) string {
	remarks := []string{statusRemarks[e.Status], obeysRemarks[e.Obeys]}
	if !all && e.Obeys == crawlers.ObeysYes {
		remarks[1] = ""
	}
	return strings.Join(slices.DeleteFunc(remarks, func(s string) bool { return s == "" }), "; ")
}

// printEntry writes the facts about one crawler.
func (c *crawlersCommand) printEntry(e crawlers.Crawler) {
	w := c.std.out
	fmt.Fprintln(w, c.palette.paint(bold, e.Name))
	status := map[crawlers.Status]string{
		crawlers.OptOut: "sends no requests: it controls the use of pages that others fetch",
		crawlers.Token:  "sends no requests: it applies to crawlers with other names",
		crawlers.Former: "no longer in use", crawlers.Mistake: "no crawler looks for this name",
	}
	obeys := map[crawlers.Obeys]string{
		crawlers.ObeysNamed: "only a group that names it, not that of *", crawlers.UserInitiated: "might not, as a user starts its fetches",
	}
	dialect, rival := e.Dialect, ""
	if dialect == crawlers.Unknown {
		dialect += ", judged by " + e.ReadAs().Name
	}
	if e.Rival != "" {
		rival = "obeys the group of " + e.Rival + ", a crawler of another operator"
	}
	for _, fact := range [][2]string{
		{"operator", e.Operator}, {"purpose", string(e.Purpose)}, {"status", cmp.Or(status[e.Status], string(e.Status))},
		{"tokens", strings.Join(e.Tokens, ", else ")}, {"rival", rival}, {"spellings", strings.Join(e.Spellings, ", ")},
		{"Google reads", e.GoogleReads}, {"obeys", cmp.Or(obeys[e.Obeys], string(e.Obeys))}, {"dialect", dialect},
		{"Crawl-delay", e.CrawlDelay}, {"Request-rate", e.RequestRate}, {"reverse DNS", e.ReverseDNS}, {"addresses", e.Addresses}, {"note", e.Note},
	} {
		if fact[1] != "" {
			help.Wrap(w, fmt.Sprintf("  %-13s ", fact[0]), fact[1])
		}
	}
	fmt.Fprintln(w, "  sources")
	for _, s := range e.Sources {
		seen := "seen " + s.Seen
		if s.Seen == crawlers.Unknown {
			seen = "of unknown date"
		}
		fmt.Fprintf(w, "    %s, %s\n      %s\n", s.Document, seen, c.palette.paint(faint, strings.Join(s.Says, ", ")))
	}
}
