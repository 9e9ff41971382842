package robots

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// An Explanation is a verdict and how it was reached.
type Explanation struct {
	Verdict Verdict
	Path    string // as given
	Normal  string // normal form in the dialect
	Steps   []Note // decisions that led to the verdict
	Matches []Note // every rule of the crawler that matches, the deciding one first, and why it won or lost
	Notes   []Note // lines that do not have the effect that they seem to have, at most 50
	Near    int    // number of near misses, with which Notes begins, of lint.Explain
	Dropped int    // number of further notes

	normal string // Normal as it is compared
}

// maxNotes limits the notes of an explanation of a hostile file.
const maxNotes = 50

// A Note is a decision that led to a verdict, or a remark on a line of the file.
type Note struct {
	Line   int    // from 1, or 0 for the file as a whole
	Clause string // id of the clause in docs/clauses.md
	Text   string // one sentence without its period
	Rule   Rule   // of a match; the zero value in other notes
}

// Explain returns the verdict of Match and how it was reached. lint.Explain adds the rules that
// nearly match.
func (r *Rules) Explain(p Path) Explanation {
	r = r.orInvalid()
	e := Explanation{Verdict: r.Match(p), Path: p.raw, normal: r.dialect.normalize(p, nil)}
	e.Normal = sourceForm(e.normal, r.dialect.Escapes)
	r.explainState(&e)
	if r.isFallback || e.Verdict.Reason == ReasonInvalid {
		e.step(outcome{reason: e.Verdict.Reason}.clause(), e.Verdict.sentence())
		return e
	}
	r.explainFile(&e)
	r.explainGroup(&e)
	r.explainPath(&e)
	r.explainMatches(&e)
	e.step(r.lastClause(&e), e.Verdict.String())
	r.noteLines(&e)
	r.noteAgents(&e)
	r.noteEmpty(&e)
	r.noteRecords(&e)
	slices.SortStableFunc(e.Notes, func(a, b Note) int { return a.Line - b.Line })
	return e
}

func (e *Explanation) step(clause, text string) {
	e.Steps = append(e.Steps, Note{Clause: clause, Text: Printable(text)})
}

// note adds a note on the line of an offset, if there are not too many.
func (e *Explanation) note(f *File, offset int, clause, text string) {
	if len(e.Notes) == maxNotes {
		e.Dropped++
		return
	}
	e.Notes = append(e.Notes, Note{Line: f.lineNumber(offset), Clause: clause, Text: Printable(text)})
}

// Notes reports problems of the file as a whole: it exceeds the dialect's size limit, is
// UTF-16, or looks like an HTML page. Explain includes them.
func (f *File) Notes(d Dialect) []Note {
	var notes []Note
	for _, n := range []Note{f.sizeNote(&d), f.kindNote()} {
		if n.Text != "" {
			notes = append(notes, n)
		}
	}
	return notes
}

// sizeNote reports which part of a file over the size limit counts.
func (f *File) sizeNote(d *Dialect) (n Note) {
	size := strconv.Itoa(len(f.body)) + " bytes"
	switch limit, applies := f.limit(d); {
	case !applies:
		return Note{Clause: "SPEC 3.5", Text: "the file has " + size + ", more than " + strconv.Itoa(d.MaxFileBytes) + ", so it is ignored"}
	case limit < len(f.body):
		return Note{Clause: "D-17", Text: "only the first " + strconv.Itoa(limit) + " of " + size + " are read"}
	}
	return n
}

// kindNote reports a file that is not a robots.txt.
func (f *File) kindNote() (n Note) {
	body := trimAllSpace(f.body)
	switch {
	case bytes.HasPrefix(f.body, []byte("\xFE\xFF")) || bytes.HasPrefix(f.body, []byte("\xFF\xFE")):
		return Note{Clause: "D-51", Text: "the file is UTF-16; its lines cannot be read, so it has no rules"}
	case bytes.HasPrefix(f.body, []byte("\x1F\x8B")):
		return Note{
			Clause: "FORM-02",
			Text: "the file is compressed with gzip, and crawlers read its bytes as text, so it has no rules; " +
				"store the text, or send Content-Encoding: gzip",
		}
	case bytes.HasPrefix(body, []byte("<?xml")), bytes.HasPrefix(body, []byte("<Error")):
		return Note{
			Clause: "D-27",
			Text:   "the file is XML, perhaps an error of the storage, not a robots.txt; only lines that happen to be robots.txt lines count",
		}
	case len(body) > 0 && body[0] == '<':
		return Note{Clause: "D-27", Text: "the file looks like an HTML page; only lines that happen to be robots.txt lines count"}
	case len(body) > 1 && body[0] == '{' && (body[1] == '"' || body[1] == '\n' || body[1] == ' '):
		return Note{Clause: "D-27", Text: "the file looks like JSON, not a robots.txt; only lines that happen to be robots.txt lines count"}
	}
	return n
}

func (r *Rules) explainFile(e *Explanation) {
	if n := r.file.sizeNote(r.dialect); n.Text != "" {
		e.step(n.Clause, n.Text)
	}
	if n := r.file.kindNote(); n.Text != "" {
		e.Notes = append(e.Notes, n)
	}
}

func (r *Rules) explainGroup(e *Explanation) {
	d := r.dialect
	tokens := r.Tokens()
	who := ""
	if len(tokens) > 1 || len(tokens) == 1 && tokens[0] != "" && tokens[0] != "*" {
		who = quoteList(tokens, ", then ")
		if d.MergeTokens {
			who = quoteList(tokens, " and ")
		}
	}
	if !slices.Equal(r.callerTokens, tokens) {
		for _, value := range r.callerTokens {
			if products := ProductTokens(value); len(products) > 1 || len(products) == 1 && products[0] != value {
				e.step("D-03", strconv.Quote(value)+" is read as "+quoteList(products, ", then "))
			}
		}
	}
	g := r.Group()
	switch {
	case !g.IsZero() && !r.choice.star:
		clause := "AGENT-01"
		if d.MergeTokens && len(tokens) > 1 {
			clause = "C-11"
		} else if len(tokens) > 1 {
			clause = "D-04"
		}
		e.step(clause, "the group of "+nameOf(g.Token())+" applies to "+who+": user-agent "+lineList(g.Lines())+rulesIn(r.Len()))
	case !g.IsZero() && who == "":
		e.step("D-47", "no crawler is given, so the group of * applies: user-agent "+lineList(g.Lines())+rulesIn(r.Len()))
	case r.anyRule && who == "":
		e.step("D-47", "no crawler is given and there is no group of *, so no rule applies")
	case !g.IsZero():
		e.step("AGENT-09", "no group names "+who+", so the group of * applies: user-agent "+lineList(g.Lines())+rulesIn(r.Len()))
	case r.anyRule && d.ignoresStar(tokens):
		e.step("D-53", "no group names "+who+", and "+tokens[0]+" never obeys the group of *, so no rule applies")
	case r.anyRule:
		e.step("AGENT-09", "no group names "+who+" and there is no group of *, so no rule applies")
	default:
		e.step("FORM-10", "the file has no rules for any crawler")
	}
	if len(g.lines) > 1 {
		e.step("GROUP-08", "its "+strconv.Itoa(len(g.lines))+" user-agent lines are read as one group")
	}
}

func quoteList(tokens []string, between string) string {
	quoted := make([]string, len(tokens))
	for i, t := range tokens {
		quoted[i] = strconv.Quote(t)
	}
	return strings.Join(quoted, between)
}

func rulesIn(n int) string {
	switch n {
	case 0:
		return ", no rules"
	case 1:
		return ", 1 rule"
	}
	return ", " + strconv.Itoa(n) + " rules"
}

func lineList(lines []int) string {
	if len(lines) == 1 {
		return "line " + strconv.Itoa(lines[0])
	}
	s := "lines "
	for i, n := range lines {
		if i == 8 && len(lines) > 10 {
			return s + " and " + strconv.Itoa(len(lines)-i) + " more"
		}
		if i > 0 {
			s += ", "
		}
		s += strconv.Itoa(n)
	}
	return s
}

func (r *Rules) explainPath(e *Explanation) {
	if e.Normal == e.Path {
		return
	}
	clause := "D-14"
	if r.dialect.Escapes == EscapesGoogle {
		clause = "D-43"
	}
	e.step(clause, "the path is compared as "+e.Normal)
}

// explainMatches lists the rules that match, in order of precedence, and why each won or lost.
func (r *Rules) explainMatches(e *Explanation) {
	if e.Verdict.Reason == ReasonNoRule {
		return
	}
	matching := r.matching(e)
	if len(matching) == 0 {
		return
	}
	decides := e.Verdict.Reason == ReasonRule
	best := matching[0]
	e.Matches = make([]Note, len(matching))
	for i, rule := range matching {
		n := Note{Line: rule.Line(), Rule: rule, Clause: "PREC-01"}
		switch {
		case !decides:
			n.Clause = r.lastClause(e)
			n.Text = "not considered: " + e.Verdict.Reason.Sentence()
		case i == 0 && len(matching) == 1:
			n.Text = "the only match, " + byteCount(rule.Weight())
		case i == 0:
			n.Text = "the longest match, " + byteCount(rule.Weight())
		case rule.Weight() < best.Weight():
			n.Text = byteCount(rule.Weight()) + ", shorter than " + strconv.Itoa(best.Weight())
		case rule.Allows() != best.Allows():
			n.Clause = "PREC-02"
			n.Text = "as long, but an equally long allow wins"
		default:
			n.Clause = "PREC-04"
			n.Text = "as long, but line " + strconv.Itoa(best.Line()) + " comes first"
		}
		e.Matches[i] = n
	}
	if decides && len(e.Matches) > 1 && e.Matches[1].Clause == "PREC-02" {
		e.Matches[0].Clause = "PREC-02"
		e.Matches[0].Text = "an equally long allow wins, " + byteCount(best.Weight())
	}
}

// matching returns the rules that match, the deciding one first: those of higher precedence do
// not match.
func (r *Rules) matching(e *Explanation) []Rule {
	decides := e.Verdict.Reason == ReasonRule
	var list []Rule
	for i := range r.rules {
		if !r.contains(i) {
			continue
		}
		v := &r.rules[i]
		matches := false
		if decides && len(list) == 0 {
			matches = *v == e.Verdict.Rule.rule
		} else {
			matches = r.pattern(v).match(e.normal)
		}
		if matches {
			list = append(list, Rule{rules: r, rule: *v})
		}
	}
	return list
}

func byteCount(n int) string {
	if n == 1 {
		return "1 byte"
	}
	return strconv.Itoa(n) + " bytes"
}

// lastClause returns the clause behind the verdict.
func (r *Rules) lastClause(e *Explanation) string {
	switch e.Verdict.Reason {
	case ReasonRule:
		switch {
		case e.Verdict.Rule.empty:
			return "D-41"
		case e.Verdict.Undefined:
			return "D-01"
		}
		return "PREC-01"
	case ReasonNoRule:
		return "PREC-05"
	case ReasonNoGroup:
		return "AGENT-09"
	case ReasonRobotsTxt:
		return "D-38"
	case ReasonUserInitiated:
		return "WHO-02"
	}
	return "FORM-10"
}

// noteLines reports lines that another dialect would read, and rules outside groups.
func (r *Rules) noteLines(e *Explanation) {
	f := r.file
	d := r.dialect
	inGroup := false    // a user-agent line has been read
	earlyNoted := false // the first rule outside groups has been reported
	recordRead := false // a record other than a rule has followed the last user-agent line
	var run agentRun
	s := f.scan(r.limit, d)
	for s.next() {
		field := s.field
		start := s.valueStart
		startsGroup := run.startsGroup(f, d, field, start)
		// This looks like two groups: a name, a Crawl-delay, then another name.
		if field == FieldUserAgent && !startsGroup && recordRead && !d.RecordsEndRun && !d.BlanksEndRun {
			e.note(
				f, start, "D-07",
				"the rules below apply to this user-agent line and to those above it: only Allow and Disallow end a list of user-agent lines",
			)
		}
		switch {
		case field == FieldUserAgent:
			inGroup = true
			recordRead = false
		case field > FieldSitemap:
			recordRead = true
		case (field == FieldAllow || field == FieldDisallow) && !inGroup && !earlyNoted:
			earlyNoted = true
			e.note(f, start, "GROUP-03", "rules that precede the first user-agent line apply to no crawler")
		}
		from := s.start
		to := s.end
		switch {
		case to-from > d.MaxLineBytes && d.MaxLineBytes > 0:
			e.note(f, from, "C-05", d.Name+" reads only the first "+byteCount(d.MaxLineBytes)+" of this line")
		case field == FieldNone || field == FieldUnknown:
			googleField, _, _ := readLine(&GoogleCPP, f.body, from, to)
			if googleField == FieldNone || googleField == FieldUnknown {
				continue
			}
			e.note(
				f, from, "D-39",
				strconv.Quote(shorten(f.body[from:to]))+" is not a valid "+googleField.String()+" line in "+d.Name+" and is ignored; google accepts it",
			)
		}
	}
}

func shorten(b []byte) string {
	const most = 60
	b = trimAllSpace(b)
	if len(b) > most {
		return string(b[:most]) + "..."
	}
	return string(b)
}

// noteAgents reports user-agent lines that seem to name the crawler.
func (r *Rules) noteAgents(e *Explanation) {
	d := r.dialect
	f := r.file
	tokens := r.Tokens()
	for l := range f.Lines(*d) {
		if l.Field != FieldUserAgent {
			continue
		}
		value := f.Text(l.Value)
		if d.namesStar(value) && r.choice.token == "" && d.ignoresStar(tokens) {
			e.note(f, l.Value.Start, "D-53", tokens[0]+" obeys only a group that names it, and never the group of *")
		}
		if d.namesStar(value) || slices.ContainsFunc(tokens, func(t string) bool { return d.namesToken(value, t) }) {
			continue
		}
		for _, t := range tokens {
			if len(t) < 3 {
				continue
			}
			switch {
			case d.ExactCase && equalFold(value[:tokenLen(value)], t):
				e.note(f, l.Value.Start, "AGENT-03", d.Name+" compares letter case, so this line names a different crawler than "+t)
			case d.AgentMatch == AgentTokenCut && equalFold(value, t):
				e.note(f, l.Value.Start, "C-10", cutNote(d, value, t))
			case foldContains(value, t):
				e.note(f, l.Value.Start, "AGENT-06", "full names are compared, so "+value+" is a different crawler than "+t)
			case len(value) >= 3 && foldContains(t, value):
				e.note(f, l.Value.Start, "AGENT-04", "this group is for "+value+"; if "+t+" falls back to it, give "+value+" as the second name")
			}
		}
	}
}

// cutNote reports which crawler a name means in Google's dialects.
func cutNote(d *Dialect, value, token string) string {
	read := value[:tokenLen(value)]
	if read == "" {
		return d.Name + " reads only the letters, - and _ at the start of a name, and this one has none, so this line names no crawler"
	}
	return d.Name + " reads only the letters, - and _ at the start of a name, so this line names the crawler " + read + ", not " + token
}

// foldContains reports whether s contains part, case-insensitively.
func foldContains(s, part string) bool {
	for i := 0; i+len(part) <= len(s); i++ {
		if equalFold(s[i:i+len(part)], part) {
			return true
		}
	}
	return false
}

// noteEmpty reports the crawler's rules without a path.
func (r *Rules) noteEmpty(e *Explanation) {
	for field, span := range r.groupLines() {
		if (field == FieldAllow || field == FieldDisallow) && span.Start == span.End && (field == FieldAllow || !r.dialect.EmptyDisallowAllows) {
			e.note(r.file, span.Start, "RULE-01", "a line "+field.title()+" without a path has no effect")
		}
	}
}

// noteRecords reports the user-agent line to which a Crawl-delay, Request-rate or Visit-time
// belongs (D-08), and why a value is invalid.
func (r *Rules) noteRecords(e *Explanation) {
	agent := 0 // the line of the last user-agent line that names the crawler
	for field, span := range r.groupLines() {
		if field == FieldUserAgent {
			agent = r.file.lineNumber(span.Start)
		}
		if field != FieldCrawlDelay && field != FieldRequestRate && field != FieldVisitTime {
			continue
		}
		rec := readRecord(field, r.file.Text(span))
		if text := field.title() + " " + rec.Value; rec.Problem == "" {
			e.note(r.file, span.Start, "D-08", text+" belongs to user-agent line "+strconv.Itoa(agent))
		} else if rec.Usable {
			e.note(r.file, span.Start, "D-35", text+": "+rec.Problem)
		} else {
			clause := "D-35"
			if field == FieldCrawlDelay {
				clause = "D-44"
			}
			e.note(r.file, span.Start, clause, text+" is not used: "+rec.Problem)
		}
	}
	_, inherited := r.recordSpans()
	for _, span := range inherited {
		if rec := readRecord(FieldCrawlDelay, r.file.Text(span)); rec.Usable {
			e.note(r.file, span.Start, "SPEC 3.6", "Crawl-delay "+rec.Value+" of the group of * applies here too: the crawler's own group has none")
		}
	}
}
