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
	"time"
	"unicode"

	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/crawlers"
	"github.com/spf13/cobra"
)

// A crawlersCommand is one run of crawlers.
type crawlersCommand struct {
	*command
	site     siteFlags
	at       time.Time // zero for now
	file     string
	purposes []string
	operator string
	path     string
	all      bool

	list    []crawlers.Crawler
	omitted int // crawlers that --all adds
}

func newCrawlers(std *screen.Streams) *cobra.Command {
	c := &crawlersCommand{command: newCommand(std)}
	cmd := &cobra.Command{
		Use: "crawlers",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return slices.Collect(crawlers.Names()), cobra.ShellCompDirectiveDefault
		},
		RunE: c.run(c.answer),
	}
	f := cmd.Flags()
	f.StringSliceVar(&c.purposes, "purpose", nil, "`PURPOSE` purposes of the crawlers to list, separated by commas (see above)")
	complete(cmd, "purpose", purposeWords())
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
	for _, arg := range c.args {
		e, known := crawlers.Find(arg)
		switch {
		case isRobots(arg) && c.given("file"):
			return exitBad, fmt.Errorf("unexpected argument %q: the robots.txt is given with -f", clip(arg))
		case isRobots(arg):
			name = arg
		case known:
			c.list, c.omitted, entry = []crawlers.Crawler{e}, 0, true
		default:
			return exitBad, fmt.Errorf("%q is not a file, a URL or a known crawler%s", clip(arg), didYouMean(arg))
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
	c.printList()
	return exitAllowed, nil
}

// isRobots reports whether an argument names a robots.txt: standard input, a file or a URL, which
// a User-Agent header only contains.
func isRobots(arg string) bool {
	_, err := os.Stat(arg)
	scheme, _, url := strings.Cut(arg, "://")
	return arg == "-" || err == nil || url && !strings.ContainsAny(scheme, " /")
}

// didYouMean ends a message on the name of an unknown crawler.
func didYouMean(name string) string {
	return cmp.Or(suggestion(name, crawlers.Names()), "; robots crawlers lists them")
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
		if strings.EqualFold(other, name) {
			return ""
		}
		if n := len(other) - len(name); near == "" && -1 <= n && n <= 1 && ask.Edits(strings.ToLower(name), strings.ToLower(other)) == 1 {
			if e, known := crawlers.Find(other); known && !idle(e) {
				near = e.Name
			}
		}
	}
	if near != "" {
		if _, known := crawlers.Find(name); !known { // by a spelling
			return "; did you mean " + near + "?"
		}
	}
	return ""
}

// idle reports whether an entry is included only with --all.
func idle(e crawlers.Crawler) bool {
	return e.Status == crawlers.Former || e.Status == crawlers.Mistake || e.Status == crawlers.Unknown
}

// anyAI stands for the three purposes of AI crawlers.
const anyAI = "ai"

// purposeWords are the names of all purposes, after anyAI.
func purposeWords() []string {
	names := []string{anyAI}
	for _, p := range crawlers.Purposes() {
		names = append(names, string(p))
	}
	return names
}

// choose returns the crawlers of some purposes and an operator, only those in use unless all,
// and how many it omits.
func choose(purposes []string, operator string, all bool) (list []crawlers.Crawler, omitted int, err error) {
	wanted, known := map[string]bool{}, purposeWords()
	for _, name := range purposes {
		purpose := strings.ToLower(strings.TrimSpace(name))
		if !slices.Contains(known, purpose) {
			return nil, 0, fmt.Errorf("unknown purpose %q (known: %s, and %s for all of ai-*)", clip(name), strings.Join(known[1:], ", "), anyAI)
		}
		wanted[purpose] = true
	}
	matches := func(p crawlers.Purpose) bool { return wanted[string(p)] || wanted[anyAI] && p.IsAI() }
	var operators []string
	for _, e := range crawlers.All() {
		operators = append(operators, append(strings.Fields(words(e.Operator)), strings.ToLower(e.Operator))...)
		switch {
		case len(wanted) > 0 && !slices.ContainsFunc(append([]crawlers.Purpose{e.Purpose}, e.Also...), matches):
		case !strings.Contains(words(e.Operator), words(operator)):
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
	return nil, 0, fmt.Errorf("no crawler in use matches operator %q and these purposes%s", clip(operator), hint)
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

// titles makes headings of the names of purposes.
var titles = strings.NewReplacer("ai-", "AI ", "seo", "SEO", crawlers.Unknown, "unclassified")

// crawlerWords are the words for a status or obedience: a remark in a table, and a fact, "" if the
// value is one.
var crawlerWords = map[any][2]string{
	crawlers.OptOut:        {"opt-out, sends no requests", "sends no requests: it controls the use of pages that others fetch"},
	crawlers.Token:         {"applies to other crawlers", "sends no requests: it applies to crawlers with other names"},
	crawlers.Former:        {"no longer in use", "no longer in use"},
	crawlers.Mistake:       {"not the name of a crawler", "no crawler looks for this name"},
	crawlers.ObeysNo:       {"does not obey"},
	crawlers.ObeysNamed:    {"ignores the group of *", "only a group that names it, not that of *"},
	crawlers.UserInitiated: {"user-initiated, might not obey", "might not, as a user starts its fetches"},
	crawlers.ObeysYes:      {"obeys"},
}

// remark returns whether a crawler sends requests and obeys robots.txt. Without all, it
// leaves out that a crawler obeys.
func remark(e crawlers.Crawler, all bool) string {
	obeys := crawlerWords[e.Obeys][0]
	if !all && e.Obeys == crawlers.ObeysYes {
		obeys = ""
	}
	return strings.Trim(crawlerWords[e.Status][0]+"; "+obeys, "; ")
}

// printEntry writes the facts about one crawler.
func (c *crawlersCommand) printEntry(e crawlers.Crawler) {
	w := c.std.Out
	fmt.Fprintln(w, c.palette.Paint(render.Bold, e.Name))
	dialect, rival := e.Dialect, ""
	if dialect == crawlers.Unknown {
		dialect += ", judged by " + e.ReadAs().Name
	}
	if e.Rival != "" {
		rival = "obeys the group of " + e.Rival + ", a crawler of another operator"
	}
	for _, fact := range [][2]string{
		{"operator", e.Operator}, {"purpose", string(e.Purpose)}, {"status", cmp.Or(crawlerWords[e.Status][1], string(e.Status))},
		{"tokens", strings.Join(e.Tokens, ", else ")}, {"rival", rival}, {"spellings", strings.Join(e.Spellings, ", ")},
		{"Google reads", e.GoogleReads}, {"obeys", cmp.Or(crawlerWords[e.Obeys][1], string(e.Obeys))}, {"dialect", dialect},
		{"Crawl-delay", e.CrawlDelay}, {"Request-rate", e.RequestRate}, {"reverse DNS", e.ReverseDNS}, {"addresses", e.Addresses}, {"note", e.Note},
	} {
		if fact[1] != "" {
			render.Wrap(w, fmt.Sprintf("  %-13s ", fact[0]), fact[1])
		}
	}
	fmt.Fprintln(w, "  sources")
	for _, s := range e.Sources {
		seen := "seen " + s.Seen
		if s.Seen == crawlers.Unknown {
			seen = "of unknown date"
		}
		fmt.Fprintf(w, "    %s, %s\n      %s\n", s.Document, seen, c.palette.Paint(render.Faint, strings.Join(s.Says, ", ")))
	}
}
