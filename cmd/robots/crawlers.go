package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

func newCrawlers(std *streams, status *int) *cobra.Command {
	c := &crawlersCommand{command: newCommand(std, formatCSV), ruleFlags: ruleFlags{maxBytes: noLimit}}
	cmd := &cobra.Command{
		Use:   "crawlers [FILE | URL | - | NAME]",
		Short: "List access for known crawlers",
		Long: `List which known crawlers have access to a site: all, part or none of it, and the
line that decides. Each crawler is judged by its own product tokens in its own
dialect, rfc9309 if that is not known. With --path it lists who may fetch one page.

All, part and none are proved over all URLs; the rule is the one that blocks the
shortest blocked URL. The table shows what the file states; a remark says which
crawlers are known not to obey it.

Without a robots.txt it lists the directory of crawlers; with the name of one, the
facts about that crawler and their sources. Names that are no longer in use, that are
mistakes, or that only old lists contain, are included with --all.

Categories: ` + purposeList() + `

Exit status: 0 whatever the verdicts, 2 invalid usage or input.`,
		Example: `  robots crawlers https://example.com/ --purpose ai
  robots crawlers robots.txt --purpose search,seo
  robots crawlers robots.txt --path /images/logo.png --operator google
  robots crawlers robots.txt --format csv > crawlers.csv
  robots crawlers GPTBot`,
		DisableFlagsInUseLine: true,
		ValidArgsFunction: func(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
			for _, e := range crawlers.All() {
				names = append(names, e.Name)
			}
			return names, cobra.ShellCompDirectiveDefault
		},
		RunE: c.run(status, c.answer),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringSliceVar(&c.purposes, "purpose", nil, "`CATEGORY` categories of the crawlers to list, separated by commas (see above)")
	complete(cmd, "purpose", append([]string{anyAI}, purposeNames()...))
	f.StringVar(&c.operator, "operator", "", "`NAME` operator of the crawlers to list, or a word of its name")
	f.StringVar(&c.path, "path", "", "`PATH` path or URL of a page, to list which crawlers may fetch it")
	f.BoolVar(&c.all, "all", false, "include crawlers that are not in use")
	c.registerFile(cmd, &c.file)
	c.formatFlag(cmd)
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
	if c.list, err = choose(c.purposes, c.operator, c.all); err != nil {
		return exitBad, err
	}
	if every, err := choose(c.purposes, c.operator, true); err == nil {
		c.omitted = len(every) - len(c.list)
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
	return exitAllowed, c.printDirectory()
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
	return "", false, fmt.Errorf("%q is not a file, a URL or a known crawler%s", clip(arg), cmp.Or(suggestion(arg), "; robots crawlers lists them"))
}

// directoryNames is a variable so that a test counts how often the directory is searched.
var directoryNames = crawlers.Names

// suggestion suggests the crawler in use whose name has one other letter. It returns "" if there is
// none or the name is known.
func suggestion(name string) string {
	const least = 5 // letters: shorter names have too many neighbors
	if len(name) < least {
		return ""
	}
	near := ""
	for known := range directoryNames() {
		switch n := len(known) - len(name); {
		case n < -1 || n > 1:
		case strings.EqualFold(known, name):
			return ""
		case near == "" && ask.Edits(strings.ToLower(name), strings.ToLower(known)) == 1:
			if e, _ := crawlers.Find(known); !idle(e) {
				near = known
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

func purposeList() string {
	names := purposeNames()
	return strings.Join(names[:8], ", ") + ",\n" + strings.Join(names[8:], ", ") + ",\nor " + anyAI + " for all of " + anyAI + "-*"
}

// choose returns the crawlers of some purposes and an operator, only those in use unless all.
func choose(purposes []string, operator string, all bool) ([]crawlers.Crawler, error) {
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
			return nil, fmt.Errorf("unknown category %q (known: %s, and %s for all of ai-*)", clip(name), strings.Join(purposeNames(), ", "), anyAI)
		}
	}
	var list []crawlers.Crawler
	var operators []string
	for _, e := range crawlers.All() {
		operators = append(operators, append(strings.Fields(words(e.Operator)), strings.ToLower(e.Operator))...)
		if (len(wanted) == 0 || wanted[e.Purpose]) && (all || !idle(e)) && strings.Contains(words(e.Operator), words(operator)) {
			list = append(list, e)
		}
	}
	if len(list) > 0 {
		return list, nil
	}
	hint := ""
	if near := nearest(operator, operators); near != "" && near != strings.ToLower(operator) {
		hint = "; did you mean " + near + "?"
	}
	return nil, fmt.Errorf("no crawler in use matches operator %q and these categories%s", clip(operator), hint)
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

// byPurpose calls fn for each run of crawlers with one purpose: list[from:to].
func byPurpose(list []crawlers.Crawler, fn func(p crawlers.Purpose, from, to int)) {
	for from := 0; from < len(list); {
		to := from + 1
		for to < len(list) && list[to].Purpose == list[from].Purpose {
			to++
		}
		fn(list[from].Purpose, from, to)
		from = to
	}
}

// titles are the headings of purposes whose name is not one.
var titles = map[crawlers.Purpose]string{
	crawlers.AITraining: "AI training", crawlers.AISearch: "AI search", crawlers.AIUser: "AI user",
	crawlers.SEO: "SEO", crawlers.Unknown: "unclassified",
}

func titleOf(p crawlers.Purpose) string { return cmp.Or(titles[p], string(p)) }

// jsonCrawler is a line of JSON for a crawler, with its access if there is a file.
type jsonCrawler struct {
	Schema   int               `json:"schema"`
	Name     string            `json:"name"`
	Tokens   []string          `json:"tokens"`
	Operator string            `json:"operator"`
	Purpose  crawlers.Purpose  `json:"purpose"`
	Dialect  string            `json:"dialect"`
	Obeys    crawlers.Obeys    `json:"obeys"`
	Sources  []crawlers.Source `json:"sources"`
	*jsonStanding
	*jsonDetails
}

// jsonDetails has the other facts of the directory.
type jsonDetails struct {
	Status      crawlers.Status `json:"status"`
	Spellings   []string        `json:"spellings"`
	CrawlDelay  string          `json:"crawl_delay"`
	RequestRate string          `json:"request_rate"`
	ReverseDNS  string          `json:"reverse_dns"`
	Addresses   string          `json:"addresses"`
	Rival       *string         `json:"rival"`
	GoogleReads *string         `json:"google_reads"`
	Note        *string         `json:"note"`
}

func newJSONCrawler(e crawlers.Crawler) jsonCrawler {
	return jsonCrawler{Schema: 1, Name: e.Name, Tokens: e.Tokens, Operator: e.Operator, Purpose: e.Purpose, Dialect: e.Dialect, Obeys: e.Obeys, Sources: e.Sources}
}

// printDirectory lists entries of the directory.
func (c *crawlersCommand) printDirectory() error {
	rows := [][]string{{"name", "tokens", "operator", "purpose", "dialect", "obeys", "status"}}
	for _, e := range c.list {
		rows = append(rows, []string{e.Name, strings.Join(e.Tokens, " > "), e.Operator, string(e.Purpose), e.Dialect, string(e.Obeys), string(e.Status)})
	}
	switch c.format {
	case formatJSON:
		for _, e := range c.list {
			line := newJSONCrawler(e)
			line.jsonDetails = &jsonDetails{
				e.Status, append([]string{}, e.Spellings...), e.CrawlDelay, e.RequestRate, e.ReverseDNS, e.Addresses,
				notEmpty(e.Rival), notEmpty(e.GoogleReads), notEmpty(e.Note),
			}
			if err := encode(c.std.out, line); err != nil {
				return err
			}
		}
		return nil
	case formatCSV:
		return writeCSV(c.std.out, rows)
	}
	byPurpose(c.list, func(p crawlers.Purpose, from, to int) {
		if from > 0 {
			fmt.Fprintln(c.std.out)
		}
		fmt.Fprintln(c.std.out, c.palette.paint(bold, fmt.Sprintf("%s: %d", titleOf(p), to-from)))
		names, operators := 0, 0
		for _, e := range c.list[from:to] {
			names, operators = max(names, columns(e.Name)), max(operators, columns(e.Operator))
		}
		for _, e := range c.list[from:to] {
			line := "  " + fill(e.Name, names) + "  " + fill(e.Operator, operators) + "  " + c.palette.paint(faint, remark(e, true))
			fmt.Fprintln(c.std.out, strings.TrimRight(line, " "))
		}
	})
	c.printOmitted()
	return nil
}

// printOmitted ends the text with the number of crawlers that are not listed.
func (c *crawlersCommand) printOmitted() {
	if c.omitted > 0 {
		fmt.Fprintf(c.std.out, "\n%s\n", c.palette.paint(faint, "Omitted: "+count(c.omitted, "crawler")+" not in use (--all includes them)"))
	}
}

// remark returns whether a crawler sends requests and obeys robots.txt. Without all, it
// leaves out that a crawler obeys.
func remark(e crawlers.Crawler, all bool) string {
	var remarks []string
	switch e.Status {
	case crawlers.OptOut:
		remarks = append(remarks, "opt-out, sends no requests")
	case crawlers.Token:
		remarks = append(remarks, "applies to other crawlers")
	case crawlers.Former:
		remarks = append(remarks, "no longer in use")
	case crawlers.Mistake:
		remarks = append(remarks, "not the name of a crawler")
	}
	switch e.Obeys {
	case crawlers.ObeysNo:
		remarks = append(remarks, "does not obey")
	case crawlers.ObeysNamed:
		remarks = append(remarks, "ignores the group of *")
	case crawlers.UserInitiated:
		remarks = append(remarks, "user-initiated, might not obey")
	case crawlers.ObeysYes:
		if all {
			remarks = append(remarks, "obeys")
		}
	}
	return strings.Join(remarks, "; ")
}

// printEntry writes the facts about one crawler.
func (c *crawlersCommand) printEntry(e crawlers.Crawler) {
	w := c.std.out
	fmt.Fprintln(w, c.palette.paint(bold, e.Name))
	line := func(name, value string) {
		if value != "" {
			help.Wrap(w, fmt.Sprintf("  %-13s ", name), value)
		}
	}
	dialect := e.Dialect
	if dialect == crawlers.Unknown {
		dialect += ", judged by " + e.ReadAs().Name
	}
	status := map[crawlers.Status]string{
		crawlers.OptOut: "sends no requests: it controls the use of pages that others fetch",
		crawlers.Token:  "sends no requests: it applies to crawlers with other names",
		crawlers.Former: "no longer in use", crawlers.Mistake: "no crawler looks for this name",
	}
	obeys := map[crawlers.Obeys]string{
		crawlers.ObeysNamed: "only a group that names it, not that of *", crawlers.UserInitiated: "might not, as a user starts its fetches",
	}
	line("operator", e.Operator)
	line("purpose", string(e.Purpose))
	line("status", cmp.Or(status[e.Status], string(e.Status)))
	line("tokens", strings.Join(e.Tokens, ", else "))
	if e.Rival != "" {
		line("rival", "obeys the group of "+e.Rival+", a crawler of another operator")
	}
	line("spellings", strings.Join(e.Spellings, ", "))
	if e.GoogleReads != "" {
		line("Google reads", e.GoogleReads)
	}
	line("obeys", cmp.Or(obeys[e.Obeys], string(e.Obeys)))
	line("dialect", dialect)
	line("Crawl-delay", e.CrawlDelay)
	line("Request-rate", e.RequestRate)
	line("reverse DNS", e.ReverseDNS)
	line("addresses", e.Addresses)
	line("note", e.Note)
	fmt.Fprintln(w, "  sources")
	for _, s := range e.Sources {
		seen := "seen " + s.Seen
		if s.Seen == crawlers.Unknown {
			seen = "of unknown date"
		}
		fmt.Fprintf(w, "    %s, %s\n      %s\n", s.Document, seen, c.palette.paint(faint, strings.Join(s.Says, ", ")))
	}
}
