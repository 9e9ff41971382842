package lint

import (
	"slices"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/crawlers"
)

// Near misses in user-agent lines, groups and fields.

// crawler returns the crawler's first product token, "*" if there is none.
func (s *nearSearch) crawler() string {
	for _, token := range s.rules.Tokens() {
		if token != "" {
			return token
		}
	}
	return "*"
}

// ownGroup returns the token of the group of the crawler's own, "" if it has none or is not named.
func (s *nearSearch) ownGroup() string {
	if g := s.rules.Group(); !g.IsZero() && g.Token() != "*" {
		return g.Token()
	}
	return ""
}

// groups finds rules of the group of * and of less specific tokens, which the crawler's own group
// replaces.
func (s *nearSearch) groups() {
	own := s.ownGroup()
	if own == "" || s.dialect.MergeTokens {
		return
	}
	tokens := s.rules.Tokens()
	at := slices.IndexFunc(tokens, func(token string) bool { return strings.EqualFold(token, own) })
	for _, token := range append(slices.Clone(tokens[at+1:]), "*") {
		if !s.spend(len(s.body)) {
			return
		}
		v := robots.Parse(s.body).Rules(s.dialect, token).Match(s.path)
		if v.Allowed == s.verdict.Allowed || v.Reason != robots.ReasonRule || !strings.EqualFold(v.Group.Token(), token) {
			continue
		}
		line := title(v.Rule) + ": " + v.Rule.Path()
		agent, number := s.lastAgentLine()
		s.add(
			nearReplaced, v.Rule.Weight(), v.Rule.Line(), "GROUP-09",
			line+" would match, but it belongs to the group of "+token+", and the group of "+own+" ("+lineWord(number)+
				") replaces that group for this crawler; below "+
				lineWord(number)+", add "+line,
			s.insertBelow(agent, line),
		)
		return
	}
}

// lastAgentLine returns the offset and the number of the last user-agent line of the run that first
// names the crawler's group.
func (s *nearSearch) lastAgentLine() (offset, number int) {
	first := s.rules.Group().Lines()[0]
	group := -1
	for l := range s.rules.File().Lines(s.dialect) {
		switch {
		case l.Field == robots.FieldUserAgent && l.Number == first:
			group = l.Group
		case group < 0 || l.Field == robots.FieldNone || l.Field == robots.FieldUnknown:
			continue
		case l.Field != robots.FieldUserAgent || l.Group != group:
			return offset, number
		}
		offset = l.Span.Start
		number = l.Number
	}
	return offset, number
}

// names finds user-agent lines that only seem to name the crawler, and those that join two groups.
func (s *nearSearch) names() {
	token := s.crawler()
	if !s.spend(len(s.body)) {
		return
	}
	ownGroup := s.rules.Group().Lines()
	var last robots.Line // the last line of the crawler's group, until a rule ends the user-agent lines
	between := false     // another line follows it
	for l := range s.rules.File().Lines(s.dialect) {
		switch {
		case l.Field != robots.FieldUserAgent:
			between = true
			if isRule(l.Field) {
				last = robots.Line{}
			}
			continue
		case last.Number > 0 && between && l.Group == last.Group:
			s.add(
				nearFused, 0, l.Number, "D-07",
				"there is no rule between this line and "+lineWord(last.Number)+", so the rules below apply to both; below "+
					lineWord(last.Number)+", add Disallow:",
				Edit{l.Span.Start, l.Span.Start, "Disallow:\n"},
			)
			last = robots.Line{} // further lines are of the second group
		}
		if slices.Contains(ownGroup, l.Number) {
			last = l
			between = false
		}
		if token != "*" && !slices.Contains(l.Names, strings.ToLower(token)) && !slices.Contains(ownGroup, l.Number) {
			s.name(l, token)
		}
	}
}

// name finds out whether a user-agent line nearly names the crawler.
func (s *nearSearch) name(l robots.Line, token string) {
	value := s.rules.File().Text(l.Value)
	if len(value) < 2 || len(value) > maxValue {
		return
	}
	s.spend(16 + len(value))
	kind := nearName
	why := ""
	switch folded := foldName(value); {
	case s.dialect.ExactCase && strings.EqualFold(value, token):
		why = "differs from " + token + " in letter case, which " + s.dialect.Name + " compares"
	case folded == foldName(token):
		why = "is not " + token + " letter by letter, so it names another crawler"
	case len(folded) > 3 && near(folded, foldName(token), 1):
		why = "is one letter away from " + token
		if known(token) && known(value) {
			return
		}
		if known(value) {
			s.add(nearUnconfirmed, 0, l.Number, "AGENT-06", quote(value)+" "+why+", which is not in the directory; did you mean "+value+"?", Edit{})
			return
		}
		s.add(nearUnconfirmed, 0, l.Number, "AGENT-06", quote(value)+" "+why+"; write User-agent: "+token, Edit{})
	case listsName(value, token):
		s.add(nearName, 0, l.Number, "AGENT-08",
			"this line names one crawler, not a list; write a line for each name: User-agent: "+token, Edit{l.Value.Start, l.Value.End, token})
		return
	case globName(folded, strings.ToLower(token)):
		why = "has a literal star, which matches no other characters, so it does not name " + token
	case s.ownGroup() == "" && sameOperator(value, token):
		s.add(
			nearOperator, 0, l.Number, "AGENT-06",
			"this line names "+value+", another "+kindOf(value)+" of "+crawlers.Resolve(value).Operator+", not "+token+
				"; below, add User-agent: "+token,
			s.insertBelow(l.Span.Start, "User-agent: "+token),
		)
		return
	default:
		return
	}
	s.add(kind, 0, l.Number, "AGENT-06", quote(value)+" "+why+"; write User-agent: "+token, Edit{l.Value.Start, l.Value.End, token})
}

// foldName returns the letters, digits and stars of a name in lower case.
func foldName(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '*', r > 0x7F && r != '’' && r != '“' && r != '”' && r != '‘':
			return r
		}
		return -1
	}, name)
}

// listsName reports whether a value is a list or a header with a name in it.
func listsName(value, token string) bool {
	parts := strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" \t,;|/()[]\"'", r) })
	return len(parts) > 1 && slices.ContainsFunc(parts, func(part string) bool { return strings.EqualFold(part, token) })
}

// globName reports whether a name with stars would match a token if they were wildcards.
func globName(pattern, token string) bool {
	if len(pattern) < 4 || !strings.Contains(pattern, "*") {
		return false
	}
	pieces := strings.Split(pattern, "*")
	if !strings.HasPrefix(token, pieces[0]) || !strings.HasSuffix(token, pieces[len(pieces)-1]) {
		return false
	}
	for _, piece := range pieces {
		i := strings.Index(token, piece)
		if i < 0 {
			return false
		}
		token = token[i+len(piece):]
	}
	return true
}

// known reports whether the directory has a crawler of a name that is no misspelling.
func known(name string) bool {
	p := crawlers.Resolve(name)
	return p.Operator != crawlers.Unknown && p.Status != crawlers.Mistake
}

// kindOf returns whether a name of the directory is that of a crawler.
func kindOf(name string) string {
	switch crawlers.Resolve(name).Status {
	case crawlers.Used, crawlers.Unknown:
		return "crawler"
	}
	return "name"
}

func sameOperator(name, token string) bool {
	operator := crawlers.Resolve(token).Operator
	return operator != crawlers.Unknown && operator == crawlers.Resolve(name).Operator
}

// fields finds misspelled fields, rules before the first group, and rules below a blank line of
// another group.
func (s *nearSearch) fields() {
	if !s.spend(len(s.body)) {
		return
	}
	file := s.rules.File()
	group := s.rules.Group().Lines()
	owner := s.crawler()
	if s.ownGroup() == "" {
		owner = "*"
	}
	var agent robots.Line // the first user-agent line of the current group
	own := false          // the group applies to the crawler
	current := -1
	blank := false // a blank line precedes, after a rule of the group
	rules := 0     // of the current group
	for l := range file.Lines(s.dialect) {
		switch {
		case l.Field == robots.FieldUserAgent:
			if l.Group != current {
				current = l.Group
				agent = l
				own = false
				blank = false
				rules = 0
			}
			own = own || slices.Contains(group, l.Number)
		case isRule(l.Field):
			rules++
			if s.wrongDirection(l.Field) || own {
				continue
			}
			s.foreignRule(l, agent, owner, blank)
		case l.Field == robots.FieldNone || l.Field == robots.FieldUnknown:
			if strings.TrimSpace(file.Text(l.Span)) == "" {
				blank = blank || rules > 0
				continue
			}
			s.field(l)
		}
	}
}

// wrongDirection reports whether rules of a field would not change the verdict.
func (s *nearSearch) wrongDirection(f robots.Field) bool {
	return (f == robots.FieldDisallow) != s.verdict.Allowed
}

// foreignRule finds out whether a rule that is not the crawler's would change the verdict.
func (s *nearSearch) foreignRule(l, agent robots.Line, owner string, blank bool) {
	value := s.rules.File().Text(l.Value)
	switch {
	case agent.Number > 0 && (!blank || slices.Contains(agent.Names, "*")), !s.ruleMatches(value, s.path):
		return
	case agent.Number == 0:
		s.add(nearEarly, 0, l.Number, "GROUP-03",
			"this rule precedes the first User-agent line, so it applies to no crawler; move it below User-agent: "+owner,
			Edit{l.Span.Start, l.Span.Start, "User-agent: " + owner + "\n"})
	default:
		s.add(
			nearSection, 0, l.Number, "GROUP-05",
			"this rule belongs to the group of "+s.rules.File().Text(agent.Value)+" ("+lineWord(agent.Number)+
				"), because a blank line does not end a group; move it below User-agent: "+owner,
			Edit{l.Span.Start, l.Span.Start, "User-agent: " + owner + "\n"},
		)
	}
}

// fieldWords are words instead of the names of fields, in lower case without other characters.
var fieldWords = map[string]string{
	"deny": "Disallow", "denied": "Disallow", "block": "Disallow", "exclude": "Disallow", "forbid": "Disallow", "noindex": "Disallow", "nofollow": "Disallow",
	"noallow": "Disallow", "notallow": "Disallow", "permit": "Allow", "agent": "User-agent", "bot": "User-agent", "robot": "User-agent", "crawler": "User-agent",
}

// field finds out whether a line would be a rule or a user-agent line with the right spelling.
func (s *nearSearch) field(l robots.Line) {
	text := strings.TrimSpace(s.rules.File().Text(robots.Span{Start: l.Span.Start, End: l.Comment.Start}))
	if text == "" || len(text) > maxValue {
		return
	}
	s.spend(16 + len(text))
	name, value := cutField(strings.TrimLeft(text, "-*•·>– \t")) // without the mark of a list
	if name == "" || value == "" {
		return
	}
	if name == "Allow" && s.verdict.Allowed || name == "Disallow" && !s.verdict.Allowed {
		return
	}
	if name != "User-agent" && !s.ruleMatches(value, s.path) {
		return
	}
	why := quote(text) + " is not a valid line, so it is ignored; write "
	if strings.HasPrefix(strings.ToLower(text), "noindex") {
		why = "Noindex is not a field of robots.txt, so this line is ignored; to keep crawlers away, write "
	}
	s.add(nearField, 0, l.Number, "D-39", why+name+": "+value, Edit{l.Span.Start, l.Comment.Start, name + ": " + value})
}

// cutField returns the field that a misspelled line begins with, and its value.
func cutField(text string) (name, value string) {
	word := text
	for i, r := range text {
		if strings.ContainsRune(":=/\t*;：", r) ||
			r == ' ' && i > 0 && !strings.HasPrefix(strings.TrimLeft(text[i:], " "), "agent") &&
				!strings.HasPrefix(strings.TrimLeft(text[i:], " "), "Agent") {
			word = text[:i]
			break
		}
	}
	value = strings.TrimSpace(strings.TrimLeft(text[len(word):], " \t:=;："))
	folded := foldName(word)
	switch {
	case fieldWords[folded] != "":
		return fieldWords[folded], value
	case len(folded) > 5 && near(folded, "disallow", 2):
		return "Disallow", value
	case near(folded, "allow", 1):
		return "Allow", value
	case len(folded) > 6 && near(folded, "useragent", 2):
		return "User-agent", value
	}
	return "", ""
}
