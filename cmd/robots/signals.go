package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/access"
	"github.com/robotskit/robots/cmd/internal/shapes"
	"github.com/robotskit/robots/crawlers"
	"github.com/spf13/cobra"
)

// A draft is the document that a field follows.
type draft struct {
	field    string // in lower case
	title    string
	document string
	date     string // of the version that was read
	page     string
	values   map[string]string // of each name, with a blank between two; those of "" are the field's own
}

// drafts holds every signal that is reported. TDMRep has no field for robots.txt and
// llms.txt neither: of what some sites write there in their stead it is said so.
var drafts = []draft{
	{"content-signal", "Content-Signal", "draft-romm-aipref-contentsignals-00", "2025-10-01", "https://contentsignals.org/",
		map[string]string{"search": "yes no", "ai-input": "yes no", "ai-train": "yes no", "use": "immediate reference full"}},
	{"content-usage", "Content-Usage", "draft-ietf-aipref-attach-05", "2026-08-19", "https://datatracker.ietf.org/doc/draft-ietf-aipref-attach/",
		map[string]string{"train-ai": "y n", "search": "y n"}},
	{"license", "License", "RSL 1.0", "2025-12-10", "https://rslstandard.org/rsl", nil},
	{"tdm-reservation", "tdm-reservation", tdmRep, "2024-05-10", tdmPage, map[string]string{"": "0 1"}},
	{"tdm-policy", "tdm-policy", tdmRep, "2024-05-10", tdmPage, nil},
	{"llms-txt", "LLMs-Txt", "llms.txt", "2024-09-03", "https://llmstxt.org/", nil},
}

const (
	tdmRep  = "TDM Reservation Protocol"
	tdmPage = "https://www.w3.org/community/reports/tdmrep/CG-FINAL-tdmrep-20240510/"
)

// llmsNames are the names under which files point to an llms.txt, in lower case.
var llmsNames = []string{"llms-txt", "llms.txt", "llms", "llm-txt", "llms-full-txt", "llms-txt-full", "llms-full", "llms-full.txt"}

func draftOf(field string) *draft {
	field = strings.ToLower(field)
	if slices.Contains(llmsNames, field) {
		field = "llms-txt"
	}
	if i := slices.IndexFunc(drafts, func(d draft) bool { return d.field == field }); i >= 0 {
		return &drafts[i]
	}
	return nil
}

// has reports whether a draft has a name with this value.
func (d *draft) has(name, value string) bool {
	values, ok := d.values[name]
	return d.values == nil || ok && slices.Contains(strings.Fields(values), value)
}

// uses are the names that say what crawlers are for.
var uses = map[string][]crawlers.Purpose{
	"ai-train": {crawlers.AITraining}, "train-ai": {crawlers.AITraining}, "ai-input": {crawlers.AISearch, crawlers.AIUser},
}

// meanings are the names of one draft that the other has too, by either.
var meanings = map[string]string{"ai-train": "training", "train-ai": "training", "search": "search"}

// A siteSignal is one value of a file, as it is written in JSON too.
type siteSignal struct {
	Field  string       `json:"field"`
	Name   *string      `json:"name"`
	Value  string       `json:"value"`
	Path   *string      `json:"path"`
	Scope  string       `json:"scope"` // group or file
	Line   int          `json:"line"`
	Known  bool         `json:"known"` // the document has the name and the value
	Source signalSource `json:"source"`
	title  string
}

type signalSource struct {
	Document string `json:"document"`
	Date     string `json:"date"`
	URL      string `json:"url"`
}

func newSignal(d *draft, name, value, path, scope string, line int) siteSignal {
	return siteSignal{d.field, notEmpty(name), value, notEmpty(path), scope, line, d.has(name, value), signalSource{d.document, d.date, d.page}, d.title}
}

func (s *siteSignal) name() string {
	if s.Name == nil {
		return ""
	}
	return *s.Name
}

func (s *siteSignal) path() string {
	if s.Path == nil {
		return ""
	}
	return *s.Path
}

// text is the value as a line of the file has it.
func (s *siteSignal) text() string {
	text := s.Value
	if s.Name != nil {
		text = *s.Name + "=" + text
	}
	return strings.TrimPrefix(s.path()+" "+text, " ")
}

// refuses and permits say what a value means, in either draft.
func refuses(value string) bool { return value == "no" || value == "n" }
func permits(value string) bool { return value == "yes" || value == "y" }

func signalsCommand(std *streams, status *int) *cobra.Command {
	c := &signalsCall{call: newCall(std)}
	cmd := &cobra.Command{
		Use:   "signals [FILE | -f FILE] [-a TOKEN]... [URL...]",
		Short: "List what a robots.txt says of the use of content",
		Long: `Signals lists what a robots.txt says beside its rules: Content-Signal,
Content-Usage and License (RSL), and lines that name a reservation of text and
data mining or an llms.txt. Each is listed with its line, whether it belongs to
the crawler's group, and the document that it follows with its date. None
changes a verdict. The documents are drafts, but for RSL, TDMRep and llms.txt.

Of a URL the values are listed that hold for it: a Content-Signal or Content-Usage
may begin with a path, and of a page that may not be fetched Content-Usage says
nothing. A file without a URL is listed whole.

TDMRep has its place in a header, in /.well-known/tdmrep.json and in the page;
none of these is fetched, and neither is llms.txt.

Notes name contradictions: values that differ, and crawlers of the directory that
may fetch what the file does not want used so. Each crawler is asked by its own
group and in its own dialect.

Exit status: 0 even if there are none, 2 bad use, unreadable input, a line of -
that is no URL or interrupted, 3 undecided: a robots.txt cannot be reached and no earlier copy
holds.`,
		Example: `  robots signals https://example.com/
  robots signals robots.txt
  robots signals robots.txt -a GPTBot /news/ /about
  robots signals -f - --format json < robots.txt`,
		DisableFlagsInUseLine: true,
		RunE:                  c.run(status, c.answerAll),
	}
	cmd.Flags().SortFlags = false
	c.agentFlag(cmd)
	c.asFlag(cmd)
	c.fileFlags(cmd)
	c.atFlag(cmd, judgedAt)
	c.site.register(cmd)
	registerFormat(cmd, &c.format)
	c.colourFlag(cmd)
	return cmd
}

// A signalsCall is one run of the verb.
type signalsCall struct {
	*call
	whole bool // no URL is asked about

	remarked source // whose remarks have been printed

	// The crawlers whose rules are held against the signals of the last source.
	list     []crawlers.Crawler
	together *robots.Crawlers
	source   source
	obeyed   []*robots.Rules // by each
	prover   *access.Prover
}

func (c *signalsCall) answerAll(ctx context.Context) (int, error) {
	if err := c.arguments(); err != nil {
		return exitBad, err
	}
	if err := c.open(); err != nil {
		return exitBad, err
	}
	first, open := true, false
	status, err := c.answer(ctx, func(p *page) error {
		rules := c.rules[0].Rules
		state := c.state(p, (*robots.State).Text)
		if _, fallback := rules.FallbackReason(); fallback && state != "" {
			c.warn("%s", state)
			state = ""
		}
		known := isKnown(rules)
		open = open || !known
		if c.format == formatJSON {
			return c.printJSON(rules, p)
		}
		if known {
			if !first {
				fmt.Fprintln(c.std.out)
			}
			first = false
			c.print(rules, p, state)
		}
		return nil
	})
	switch {
	case status == exitBad:
		return exitBad, err
	case open:
		return exitUndecided, nil
	}
	return exitAllowed, nil
}

// arguments takes the first argument for the file if it is one and -f names none.
func (c *signalsCall) arguments() error {
	if !c.given("file") && len(c.args) > 0 {
		info, _ := os.Stat(c.args[0])
		if c.args[0] == "-" || info != nil && !info.IsDir() {
			if err := c.cmd.Flags().Set("file", c.args[0]); err != nil {
				return err
			}
			c.args, c.fetches = c.args[1:], false
		}
	}
	switch {
	case !c.given("file") && len(c.args) == 0:
		return errors.New("nothing given: name a robots.txt, or a URL of the site")
	case len(c.args) == 0:
		c.whole = true
		return c.fileAlone()
	}
	return nil
}

// asked returns the path of the page, nil if no URL is asked about.
func (c *signalsCall) asked(p *page) *robots.Path {
	if c.whole {
		return nil
	}
	return &p.paths[0]
}

func (c *signalsCall) print(rules *robots.Rules, p *page, state string) {
	w := c.std.out
	title := "The whole file"
	if !c.whole {
		title = robots.Printable(p.url)
	}
	if who := c.whom(rules); who != "" {
		title += ", for " + who
	}
	fmt.Fprintln(w, c.palette.paint(bold, title))
	c.printState("  ", state)
	list, notes := signalsOf(rules, c.asked(p))
	if len(list) == 0 {
		fmt.Fprintln(w, "  no signals")
	}
	printSignals(w, c.palette, list)
	if s := (source{File: c.file, Record: c.record}); c.remarked != s {
		c.remarked = s
		notes = append(notes, remarks(rules)...)
	}
	printNotes(w, c.palette, c.notes(rules, p, list, notes))
}

// whom names the crawler and its group, "" for a crawler without a name.
func (c *signalsCall) whom(rules *robots.Rules) string {
	if len(c.agents) == 0 {
		return ""
	}
	who := robots.Printable(c.agents[0])
	if g := rules.Group(); !g.IsZero() {
		return who + " (group " + robots.Printable(g.Token()) + ", " + lineList(g.Lines()) + ")"
	}
	return who + " (no group)"
}

// maxNotes bounds the notes, as those of an explanation are.
const maxNotes = 50

// notes adds contradictions to the notes, and keeps to the bound of an explanation.
func (c *signalsCall) notes(rules *robots.Rules, p *page, list []siteSignal, notes []robots.Note) *robots.Explanation {
	notes = append(notes, disagreements(list, c.whole)...)
	notes = append(notes, c.contradictions(rules, p)...)
	slices.SortStableFunc(notes, func(a, b robots.Note) int { return a.Line - b.Line })
	e := &robots.Explanation{Notes: notes}
	if len(notes) > maxNotes {
		e.Notes, e.Dropped = notes[:maxNotes], len(notes)-maxNotes
	}
	return e
}

func (c *signalsCall) printJSON(rules *robots.Rules, p *page) error {
	list, notes := signalsOf(rules, c.asked(p))
	var url *string
	var group *jsonGroup
	var state *jsonState
	if !c.whole {
		url = &p.url
	}
	if g := rules.Group(); !g.IsZero() {
		group = &jsonGroup{g.Token(), g.Lines()}
	}
	if c.record != nil {
		state = newJSONState(c.record, rules.State().Text())
	}
	e := c.notes(rules, p, list, append(notes, remarks(rules)...))
	return encode(c.std.out, struct {
		Schema  int           `json:"schema"`
		URL     *string       `json:"url"` // null for the whole file
		Agent   []string      `json:"agent"`
		Group   *jsonGroup    `json:"group"`
		Dialect string        `json:"dialect"`
		Signals []siteSignal  `json:"signals"`
		Notes   []shapes.Note `json:"notes"`
		*jsonState
	}{1, url, rules.Tokens(), group, rules.Dialect().Name, append([]siteSignal{}, list...), jsonNotes(e), state})
}

type jsonGroup struct {
	Token string `json:"token"`
	Lines []int  `json:"lines"`
}

// recordsOf returns the records of a field that hold for the caller: those of its group,
// or, if it has none, those of the file, which a group else replaces (D-40).
func recordsOf(rules *robots.Rules, field robots.Field) (hold, replaced []robots.Record) {
	for rec := range rules.Records() {
		switch {
		case rec.Field != field:
		case rec.Group || !rec.Usable:
			hold = append(hold, rec)
		default:
			replaced = append(replaced, rec)
		}
	}
	if !slices.ContainsFunc(hold, func(rec robots.Record) bool { return rec.Usable }) {
		hold, replaced = append(replaced, hold...), nil
	}
	return hold, replaced
}

// signalsOf returns what is said to the caller, of one path or of all, in file order,
// and notes on lines that say nothing of the path.
func signalsOf(rules *robots.Rules, path *robots.Path) (list []siteSignal, notes []robots.Note) {
	for _, field := range contentFields {
		d := draftOf(field.String())
		hold, _ := recordsOf(rules, field)
		if len(hold) == 0 {
			continue
		}
		shown := func(robots.Preference) bool { return true }
		allowed := true
		if path != nil {
			stated := rules.ContentSignals(*path)
			if field == robots.FieldContentUsage {
				stated, allowed = rules.ContentUsage(*path), rules.Allowed(*path)
			}
			holds := map[robots.Preference]bool{}
			for _, p := range stated {
				holds[p] = true
			}
			shown = func(p robots.Preference) bool { return holds[p] }
		}
		var others []int // lines
		for _, rec := range hold {
			scope := "file"
			if rec.Group {
				scope = "group"
			}
			before := len(list)
			if rec.Usable && field == robots.FieldLicense {
				list = append(list, newSignal(d, "", rec.Value, "", scope, rec.Line))
			}
			for _, p := range rec.Preferences {
				if shown(p) {
					list = append(list, newSignal(d, p.Name, p.Value, p.Path, scope, p.Line))
				}
			}
			if rec.Usable && len(list) == before {
				others = append(others, rec.Line)
			}
		}
		switch {
		case !allowed:
			notes = append(notes, note(hold[0].Line, "SPEC 3.8", "the URL may not be fetched, so Content-Usage says nothing of it"))
		case len(others) > 0:
			notes = append(notes, note(others[0], "SPEC 3.8", "of the %s in %s nothing holds for this URL: another path is meant, or a longer path or a stricter value counts", d.title, lineList(others)))
		}
	}
	for l := range rules.Unknown() {
		if d := draftOf(rules.File().Text(l.Name)); d != nil {
			list = append(list, newSignal(d, "", rules.File().Text(l.Value), "", "file", l.Number))
		}
	}
	slices.SortStableFunc(list, func(a, b siteSignal) int { return a.Line - b.Line })
	return list, notes
}

var contentFields = []robots.Field{robots.FieldContentSignal, robots.FieldContentUsage, robots.FieldLicense}

// note returns a note in which no byte of the file does harm.
func note(line int, clause, format string, args ...any) robots.Note {
	return robots.Note{Line: line, Clause: clause, Text: robots.Printable(fmt.Sprintf(format, args...))}
}

// remarks returns notes on lines that say nothing to the caller or nothing that their
// document has, whatever the path.
func remarks(rules *robots.Rules) (notes []robots.Note) {
	add := func(line int, clause, format string, args ...any) {
		notes = append(notes, note(line, clause, format, args...))
	}
	for _, field := range contentFields {
		d := draftOf(field.String())
		hold, replaced := recordsOf(rules, field)
		for _, rec := range replaced {
			add(rec.Line, "D-40", "the crawler's group has a %s of its own, so this one does not hold for it", d.title)
		}
		strange := map[string]bool{}
		for _, rec := range hold {
			if !rec.Usable {
				add(rec.Line, "SPEC 3.8", "%s %s is not used: %s", d.title, clip(rec.Value), rec.Problem)
			}
			for _, p := range rec.Preferences {
				said := p.Name + "=" + p.Value
				if !d.has(p.Name, p.Value) && !strange[said] && len(strange) < mostStrange {
					strange[said] = true
					add(p.Line, "SPEC 3.8", "%s has no %s%s", d.document, clip(said), d.meant(p.Name, p.Value))
				}
			}
		}
	}
	for r := range rules.File().Readings(rules.Dialect()) {
		if r.Field == robots.FieldContentUsage && r.Group < 0 {
			add(r.Line, "GROUP-03", "a Content-Usage before the first user-agent line holds for no crawler")
		}
	}
	said := map[string]bool{} // documents
	for l := range rules.Unknown() {
		d := draftOf(rules.File().Text(l.Name))
		if d == nil || said[d.document] {
			continue
		}
		said[d.document] = true
		where := "its proposal has no field for robots.txt, and the llms.txt is not fetched"
		if d.document == tdmRep {
			where = "this protocol has its place in a header, in /.well-known/tdmrep.json and in the page: it has no field for robots.txt, and none of these is fetched"
		}
		add(l.Number, "SPEC 3.8", "%s", where)
	}
	return notes
}

// mostStrange is of how many values of a field it is said that the draft has them not.
const mostStrange = 5

// meant names the value of the draft that was meant by one of the other draft or by
// one in its manner, "" if none is known.
func (d *draft) meant(name, value string) string {
	for known, values := range d.values {
		if known != name && (meanings[known] == "" || meanings[known] != meanings[name]) {
			continue
		}
		for v := range strings.FieldsSeq(values) {
			if refuses(v) && refuses(value) || permits(v) && permits(value) {
				return ": " + known + "=" + v + " is meant?"
			}
		}
	}
	return ""
}

// disagreements names values that contradict one another: of one field, or of the two
// drafts. Of a URL only what holds is listed, so paths are compared for a whole file.
func disagreements(list []siteSignal, whole bool) (notes []robots.Note) {
	type key struct{ field, name, path string }
	seen := map[key]*siteSignal{}
	differ := func(s *siteSignal, k key, differs func(a, b *siteSignal) bool) {
		if !whole {
			k.path = ""
		}
		first := seen[k]
		if first == nil {
			seen[k] = s
		} else if differs(first, s) {
			notes = append(notes, note(s.Line, "SPEC 3.8", "%s says %s, but %s in line %d says %s", s.title, s.text(), first.title, first.Line, first.text()))
		}
	}
	for i := range list {
		s := &list[i]
		if s.Known && (s.Name != nil || s.Field == "tdm-reservation") {
			differ(s, key{s.Field, s.name(), s.path()}, func(a, b *siteSignal) bool { return a.Value != b.Value })
		}
	}
	clear(seen)
	for i := range list {
		if s := &list[i]; s.Known && meanings[s.name()] != "" {
			k := key{"", meanings[s.name()], s.path()}
			differ(s, k, func(a, b *siteSignal) bool { return a.Field != b.Field && refuses(a.Value) != refuses(b.Value) })
		}
	}
	return notes
}

// A claim is what the file says of one use to a crawler.
type claim struct {
	text string // name=value
	no   bool
	line int
}

// claims returns what rules say of the uses that crawlers are for: of a path, or, if it
// is nil, of every path.
func claims(rules *robots.Rules, path *robots.Path) map[string]claim {
	all := map[string]claim{} // by name
	add := func(field robots.Field, list []robots.Preference) {
		d := draftOf(field.String())
		for _, p := range list {
			if c, ok := all[p.Name]; uses[p.Name] != nil && d.has(p.Name, p.Value) && (!ok || !c.no) {
				all[p.Name] = claim{p.Name + "=" + p.Value, refuses(p.Value), p.Line}
			}
		}
	}
	if path != nil {
		add(robots.FieldContentSignal, rules.ContentSignals(*path))
		add(robots.FieldContentUsage, rules.ContentUsage(*path))
		return all
	}
	for _, field := range contentFields {
		hold, _ := recordsOf(rules, field)
		for _, rec := range hold {
			if len(rec.Preferences) > 0 && rec.Preferences[0].Path == "" {
				add(field, rec.Preferences)
			}
		}
	}
	return all
}

// A contradiction is between what a file says of a use and what a crawler may do.
type contradiction struct {
	text, access string
	unheard      bool // what is said to '*' does not reach it, as it has a group of its own (GROUP-09)
}

// note tells a contradiction of some crawlers.
func (k contradiction) note(line int, names []string) robots.Note {
	who := someOf(names)
	switch {
	case !k.unheard:
		return note(line, "SPEC 3.8", "%s, but %s %s", k.text, who, k.access)
	case len(names) == 1:
		return note(line, "GROUP-09", "%s stands in the group of *, which %s does not obey: it has a group of its own and %s", k.text, who, k.access)
	}
	return note(line, "GROUP-09", "%s stands in the group of *, which %s do not obey: they have a group of their own and %s", k.text, who, k.access)
}

// contradictions names the crawlers in use that may fetch what the file does not want
// used so: of each value and access one note. Of a whole file it names also those that
// may fetch nothing of what may be used.
func (c *signalsCall) contradictions(rules *robots.Rules, p *page) (notes []robots.Note) {
	if !speaks(rules) {
		return nil
	}
	c.compileCrawlers()
	var found []contradiction
	lines, names := map[contradiction]int{}, map[contradiction][]string{}
	known := map[*robots.Rules]map[string]claim{}
	claimsOf := func(r *robots.Rules, path *robots.Path) map[string]claim {
		if known[r] == nil {
			known[r] = claims(r, path)
		}
		return known[r]
	}
	star := c.compile(c.source, robots.RFC9309, c.maxBytes, c.moment(), []string{"*"}).Rules
	for i, e := range c.list {
		r := c.obeyed[i]
		var path *robots.Path
		if !c.whole {
			_, own, err := split(r.Dialect(), p.url, false)
			if err != nil {
				continue // no dialect of the directory reads a URL that the call's does not
			}
			path = &own
		}
		mine, all := claimsOf(r, path), claimsOf(star, path)
		for _, use := range []string{"ai-train", "train-ai", "ai-input"} {
			if !slices.Contains(uses[use], e.Purpose) {
				continue
			}
			if k, line, ok := c.against(use, r, path, mine, all); ok {
				if names[k] == nil {
					found, lines[k] = append(found, k), line
				}
				names[k] = append(names[k], e.Name)
			}
		}
	}
	for _, k := range found {
		notes = append(notes, k.note(lines[k], names[k]))
	}
	return notes
}

// against finds what a crawler may do against what is said of a use: to it, or, where
// nothing is said to it, to '*'.
func (c *signalsCall) against(use string, r *robots.Rules, path *robots.Path, mine, all map[string]claim) (k contradiction, line int, ok bool) {
	said, heard := mine[use]
	if !heard {
		if said, ok = all[use]; !ok || r.Group().IsZero() || r.Group().Token() == "*" {
			return k, 0, false
		}
	}
	k = contradiction{said.text, c.may(r, path), !heard}
	if said.no {
		return k, said.line, k.access != "" && k.access != mayNothing
	}
	return k, said.line, heard && k.access == mayNothing
}

// What a crawler may do.
const (
	mayAll     = "may fetch everything"
	mayPart    = "may fetch a part of the site"
	mayNothing = "may fetch nothing"
	mayURL     = "may fetch this URL"
)

// may says what rules leave to a crawler, "" if that is not known.
func (c *signalsCall) may(r *robots.Rules, path *robots.Path) string {
	if path != nil {
		if r.Allowed(*path) {
			return mayURL
		}
		return ""
	}
	return map[access.Access]string{access.All: mayAll, access.Part: mayPart, access.None: mayNothing}[c.prover.Stand(r).Access]
}

// speaks reports whether a file has a line that a crawler's rules may contradict.
func speaks(rules *robots.Rules) bool {
	for r := range rules.File().Readings(rules.Dialect()) {
		if r.Field == robots.FieldContentSignal || r.Field == robots.FieldContentUsage {
			return true
		}
	}
	return false
}

// compileCrawlers makes the rules of the crawlers that come for the uses, once for each
// robots.txt.
func (c *signalsCall) compileCrawlers() {
	s := source{File: c.file, Record: c.record}
	if c.obeyed != nil && c.source == s {
		return
	}
	if c.together == nil {
		for _, e := range crawlers.All() {
			if e.Purpose.IsAI() && e.Status == crawlers.Used {
				c.list = append(c.list, e)
			}
		}
		c.together = crawlers.Callers(c.list)
	}
	at := c.moment()
	c.source, c.prover = s, access.NewProver(access.Steps)
	c.obeyed = c.together.RulesBy(func(d robots.Dialect) *robots.Rules {
		return c.compile(s, d, c.maxBytes, at, nil).Rules
	})
}

// someOf names the first of some crawlers.
func someOf(names []string) string {
	const most = 3
	switch n := len(names); {
	case n > most:
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", n-most)
	case n > 1:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return names[0]
}

// printSignals writes a line for each value.
func printSignals(w io.Writer, colours palette, list []siteSignal) {
	place, field, value, scope := 0, 0, 0, 0
	for i := range list {
		s := &list[i]
		place, field = max(place, len(lineList([]int{s.Line}))), max(field, len(s.title))
		value, scope = max(value, min(columns(s.text()), maxRuleColumn)), max(scope, len(s.Scope))
	}
	for i := range list {
		s := &list[i]
		fmt.Fprintf(w, "  %s  %s  %s  %s  %s\n", fill(lineList([]int{s.Line}), place), fill(s.title, field),
			fill(robots.Printable(s.text()), value), fill(s.Scope, scope), colours.paint(faint, s.Source.Document+", "+s.Source.Date))
	}
}
