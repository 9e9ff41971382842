package lint

import (
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/compare"
)

// Checks of all rules of a crawler together.

// rules returns the rules of a crawler with some tokens in a dialect, nil if the steps for proofs
// are used up: choosing the rules reads the whole file, the first time for all single tokens.
func (p *pass) rules(v *view, tokens ...string) *robots.Rules {
	long := 0
	var few [64]byte
	key := few[:0]
	for _, token := range tokens {
		long = max(long, len(token))
		key = v.appendGroups(key, token)
	}
	if r := v.rules[string(key)]; r != nil {
		return r
	}
	// All pairs of product tokens in a long name are compared.
	if !p.spend(1 + len(p.fields) + len(p.body)/64 + long*long/256) {
		return nil
	}
	if len(v.rules) == 0 && p.spend(2*stepsOfName*len(v.names)) {
		p.readRules(v)
		if r := v.rules[string(key)]; r != nil {
			return r
		}
	}
	r := p.file.Rules(v.dialect, tokens...)
	v.rules[string(key)] = r
	return r
}

// readRules reads the rules of all single tokens.
func (p *pass) readRules(v *view) {
	var crawlers robots.Crawlers
	var keys []string
	tokens := append(v.tokens(), "*")
	v.rules = make(map[string]*robots.Rules, len(tokens))
	for _, token := range tokens {
		key := string(v.appendGroups(nil, token))
		if _, known := v.rules[key]; known {
			continue
		}
		v.rules[key] = nil
		if r := p.baseRules(v, token); r != nil {
			v.rules[key] = r
			continue
		}
		keys = append(keys, key)
		crawlers.Add(v.dialect, token)
	}
	for i, r := range crawlers.Rules(p.file) {
		v.rules[keys[i]] = r
	}
}

// baseRules returns the rules of a token in the file that this one was edited from, if they have been read and the groups
// of the token have the same lines in both files, and otherwise nil.
func (p *pass) baseRules(v *view, token string) *robots.Rules {
	if p.base == nil || v.readsTokensIn(token) {
		return nil
	}
	base := p.base.view(v.dialect)
	sameText := func(i, k uint32) bool { return p.groupText(v, i) == p.base.groupText(base, k) }
	if !slices.EqualFunc(v.groupsOf[token], base.groupsOf[token], sameText) {
		return nil
	}
	return base.rules[string(base.appendGroups(nil, token))]
}

// groupText returns the lines of a group.
func (p *pass) groupText(v *view, group uint32) string {
	lines := v.lines[v.groups[group]:]
	if int(group)+1 < len(v.groups) {
		lines = lines[:v.groups[group+1]-v.groups[group]]
	}
	span := robots.Span{Start: int(p.lineStarts[lines[0].number-1]), End: len(p.body)}
	if last := int(lines[len(lines)-1].number); last < len(p.lineStarts) {
		span.End = int(p.lineStarts[last])
	}
	return p.textOf(span)
}

// readsTokensIn reports whether a name stands for the product tokens in it, which can have groups of their own (D-03).
func (v *view) readsTokensIn(name string) bool {
	return !v.dialect.RawTokens && !slices.Equal(robots.ProductTokens(name), []string{name})
}

// appendGroups appends a key of the rules of a token: crawlers in the same groups have the same rules, unless
// the token stands for several.
func (v *view) appendGroups(key []byte, token string) []byte {
	groups := v.groupsOf[token]
	if len(groups) == 0 || token == "*" || v.readsTokensIn(token) {
		return append(append(key, token...), '\n')
	}
	key = append(key, "in "...)
	for _, group := range groups {
		key = strconv.AppendUint(append(key, ' '), uint64(group), 10)
	}
	return append(key, '\n')
}

// spend takes steps for a proof, of about twenty nanoseconds each, and reports whether any were
// left. Reading a line again takes a few.
func (p *pass) spend(steps int) bool {
	if p.steps < steps {
		p.undecided = true
		return false
	}
	p.steps -= steps
	return true
}

// A rulesText is the hash of the rules of a crawler, and what else of a dialect decides.
type rulesText struct {
	hash    [sha256.Size]byte
	escapes robots.Escapes
	exempt  bool // the file itself
}

// key is equal for two sets of rules only if they have the same verdicts.
func (p *pass) key(r *robots.Rules) rulesText {
	if k, ok := p.keys[r]; ok {
		return k
	}
	d := r.Dialect()
	b := p.scratch[:0]
	for rule := range r.All() {
		b = strconv.AppendInt(b, int64(rule.Weight()), 10)
		if rule.Allows() {
			b = append(b, '+')
		}
		b = append(append(append(b, ' '), rule.Pattern().String()...), '\n')
	}
	p.scratch = b
	k := rulesText{sha256.Sum256(b), d.Escapes, !d.MatchRobotsTxt}
	p.keys[r] = k
	return k
}

// budget is the part of the remaining steps for one direction of a comparison.
func (p *pass) budget() compare.Options {
	return compare.Options{Steps: max(1, min(p.steps, compare.DefaultSteps)), SkipRobotsTxt: true}
}

func siteBlocked(p *pass) {
	type blocked struct {
		rule     robots.Rule
		others   bool
		names    []string
		seen     map[string]bool
		dialects []string
	}
	var all []*blocked
	byLine := map[int]*blocked{}
	root, _ := robots.ParsePath("/")
	blocks := map[rulesText]bool{}
	for _, v := range p.views {
		for _, name := range v.crawlers() {
			r := p.rules(v, name)
			if r == nil {
				break
			}
			verdict := r.Match(root)
			if verdict.Allowed || verdict.Rule.IsZero() {
				continue
			}
			none, known := blocks[p.key(r)]
			if !known && !p.allowsSome(r) {
				c, _ := compare.Every(r, "/", false, p.budget())
				none = c.Holds
				p.undecided = p.undecided || !c.Complete
				p.spend(c.Steps)
			}
			blocks[p.key(r)] = none
			if !none {
				continue
			}
			line := verdict.Rule.Line()
			b := byLine[line]
			if b == nil {
				b = &blocked{rule: verdict.Rule, seen: map[string]bool{}}
				byLine[line] = b
				all = append(all, b)
			}
			if name == "*" {
				b.others = true
			} else if low := strings.ToLower(name); !b.seen[low] { // google-cpp keeps the case
				b.seen[low] = true
				b.names = append(b.names, name)
			}
			if !slices.Contains(b.dialects, v.dialect.Name) {
				b.dialects = append(b.dialects, v.dialect.Name)
			}
		}
	}
	for _, b := range all {
		who := "all crawlers that the file does not name"
		if !b.others {
			who = nameList(b.names)
		}
		d := p.add(b.rule.Span(), "the whole site is blocked for "+who)
		d.Dialects = b.dialects
		if !b.others {
			d.Severity = min(d.Severity, Note)
		}
	}
}

// allowsSome reports whether an Allow rule decides the simplest URL that it matches, of the first few.
func (p *pass) allowsSome(r *robots.Rules) bool {
	left := 4
	for rule := range r.All() {
		if !rule.Allows() {
			continue
		}
		path, err := robots.ParsePath(plain(rule.Pattern().String()))
		if err == nil && p.spend(matchSteps(r, path)) {
			if verdict := r.Match(path); verdict.Allowed && !verdict.Rule.IsZero() {
				return true
			}
		}
		left--
		if left == 0 {
			break
		}
	}
	return false
}

// nameList lists at most three names.
func nameList(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + " and " + itoa(len(names)-most) + " more"
}

// doubles are, by line, the line of the rule that a rule repeats, and all rules that are both
// allowed and disallowed in a group as RFC 9309 reads it, with the one that came first.
type doubles struct{ same, opposite map[int]int }

func (p *pass) duplicates() (same, opposite map[int]int) {
	if p.doubles != nil {
		return p.doubles.same, p.doubles.opposite
	}
	type rule struct {
		group int
		allow bool
		path  string
	}
	same = map[int]int{}
	opposite = map[int]int{}
	p.doubles = &doubles{same, opposite}
	lines := map[rule]int{}
	p.paths(func(l robots.Line, path string) {
		r := rule{p.allViews[0].group(l), l.Field == robots.FieldAllow, path}
		if r.group < 0 {
			return
		}
		if other, ok := lines[rule{r.group, !r.allow, path}]; ok {
			opposite[l.Number] = other
		}
		if first, ok := lines[r]; ok {
			same[l.Number] = first
		} else {
			lines[r] = l.Number
		}
	})
	return same, opposite
}

func duplicateRule(p *pass) {
	same, _ := p.duplicates()
	for l := range p.lines() {
		number, ok := same[l.Number]
		if !ok {
			continue
		}
		first := p.line(number)
		d := p.add(l.Span, "line "+itoa(number)+" is the same rule")
		d.Advice = "delete this line"
		d.Dialects = p.where(d, func(v *view) bool { return v.group(l) >= 0 && v.group(l) == v.group(first) })
		p.deletes(d, l)
	}
}

func allowAndDisallow(p *pass) {
	same, opposite := p.duplicates()
	for l := range p.lines() {
		number, ok := opposite[l.Number]
		if _, again := same[l.Number]; !ok || again {
			continue
		}
		other := p.line(number)
		d := p.add(l.Span, "line "+itoa(number)+" has the opposite rule for the same path; the Allow wins")
		d.Advice = "delete one of them"
		d.Dialects = p.where(d, func(v *view) bool { return v.group(l) >= 0 && v.group(l) == v.group(other) })
	}
}

// cssBlocked uses the rules of the crawler that renders pages. It reports only rules for the
// whole site: a rule for a folder was probably written for the scripts in it. A rule with exceptions
// for such files is what the advice says; which files pages need is known only to the site.
func cssBlocked(p *pass) {
	for _, v := range p.views {
		if v.dialect.Name != robots.Google.Name {
			continue
		}
		r := p.rules(v, "googlebot")
		if r == nil {
			return
		}
		for rule := range r.All() {
			path := rule.Path()
			if rule.Allows() || !strings.HasPrefix(strings.TrimLeft(path, "/"), "*") || !endsIn(path, ".css", ".js") {
				continue
			}
			if hasException(r, path) {
				continue
			}
			sample, err := robots.ParsePath("/x" + strings.ReplaceAll(strings.TrimRight(strings.TrimLeft(path, "/*"), "*$"), "*", "x"))
			if err != nil || !p.spend(matchSteps(r, sample)) {
				continue
			}
			if verdict := r.Match(sample); !verdict.Allowed && verdict.Rule.Line() == rule.Line() {
				d := p.add(rule.Span(), "rule blocks styles or scripts for Googlebot, which renders pages")
				d.Dialects = []string{v.dialect.Name}
				d.Advice = "delete it, or allow the files that pages need"
			}
		}
	}
}

// hasException reports whether a longer rule allows styles, if the path is of styles, or scripts.
func hasException(r *robots.Rules, path string) bool {
	for rule := range r.All() {
		if !rule.Allows() || len(rule.Path()) <= len(path) {
			continue
		}
		for _, ending := range []string{".css", ".js"} {
			if endsIn(path, ending) && endsIn(rule.Path(), ending) {
				return true
			}
		}
	}
	return false
}

// matchSteps is the cost of a match in steps.
func matchSteps(r *robots.Rules, path robots.Path) int { return 64 + r.Len()/16 + len(path.String()) }

// endsIn reports whether a path has one of the endings, before stars and a $.
func endsIn(path string, endings ...string) bool {
	path = strings.ToLower(strings.TrimRight(path, "*$?"))
	return slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(path, e) })
}

func sitemapBlocked(p *pass) {
	if slices.ContainsFunc(p.found, func(d *Diagnostic) bool { return d.Check.ID == "RT501" && d.Severity > Note }) {
		return // all is blocked, and so said
	}
	p.sitemaps(func(l robots.Line, value string) {
		_, path, err := robots.ParseURL(value)
		if err != nil {
			return
		}
		line := 0
		blocked := p.where(nil, func(v *view) bool {
			for _, name := range []string{"Googlebot", "*"} {
				if r := p.rules(v, name); r != nil && p.spend(matchSteps(r, path)) {
					if verdict := r.Match(path); !verdict.Allowed {
						line = verdict.Rule.Line()
						return true
					}
				}
			}
			return false
		})
		if len(blocked) > 0 {
			d := p.add(l.Value, "line "+itoa(line)+" blocks this sitemap")
			d.Advice = "allow its path"
			d.Dialects = blocked
		}
	})
}

// secrets are parts of paths that reveal content that should be protected.
var secrets = []string{"/.git", "/.env", "/.svn", "/.ht", "/.ssh", "id_rsa", ".sql", ".bak", ".pem", ".key", ".pfx", "/.aws", "wp-config"}

func secretInPath(p *pass, l robots.Line, path string) {
	low := strings.ToLower(strings.TrimRight(path, "*$"))
	for _, s := range secrets {
		_, rest, found := strings.Cut(low, s)
		if !found {
			continue
		}
		if rest != "" && rest[0] != '/' && rest[0] != '.' && rest[0] != '*' && s != "/.ht" {
			continue
		}
		p.add(l.Value, "robots.txt is public, and this path reveals a sensitive location").
			Advice = "protect the path on the server; a rule does not protect it"
		return
	}
}
