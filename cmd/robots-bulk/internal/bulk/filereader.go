package bulk

import (
	"bytes"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/crawlers"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/lint"
)

// A fileReader makes the rows about files. Its rows are valid until the next call of read. It is for one
// goroutine.
type fileReader struct {
	PackOptions
	rfc9309, google robots.Dialect // with the size limit of the file

	summary  FileSummary
	lines    []FieldLine
	agents   []NamedAgent
	signals  []SignalValue
	sitemaps []SitemapLine
	findings []FindingCount

	hash       string
	file       *robots.File
	group      groupTokens
	agentLines []agentLine
	counts     fieldCounts
	// known are the directory's crawlers by the value of a line User-agent, the last ones.
	known map[string]crawlers.Crawler
}

// fieldCounts are numbers of lines, as in FileSummary.
type fieldCounts struct{ comments, groups, userAgents, rules, sitemaps, unknownFields, blank, other int32 }

// A storedBody is a body of a snapshot.
type storedBody struct {
	Body
	bytes     int64 // of the whole body
	truncated bool
}

func newFileReader(o PackOptions) fileReader {
	return fileReader{PackOptions: o, known: map[string]crawlers.Crawler{}}
}

// read makes the rows of a body.
func (r *fileReader) read(body *storedBody) error {
	r.hash = body.SHA256
	r.file = robots.Parse(body.Body.Body)
	copied := fetch.Copy{Body: body.Body.Body, Truncated: body.truncated}
	r.rfc9309 = copied.Dialect(robots.RFC9309)
	r.google = copied.Dialect(robots.Google)
	r.lines = r.lines[:0]
	r.agents = r.agents[:0]
	r.agentLines = r.agentLines[:0]
	r.signals = r.signals[:0]
	r.sitemaps = r.sitemaps[:0]
	r.findings = r.findings[:0]
	r.counts = fieldCounts{}
	r.group = groupTokens{}
	kind := lint.Kind(r.file)
	r.summary = FileSummary{
		SHA256: body.SHA256, Bytes: body.bytes, Truncated: body.truncated, Kind: contentKind(body.Body.Body), OtherFormat: kind,
		BOM: bytes.HasPrefix(body.Body.Body, []byte("\uFEFF")),
	}
	r.readLines(kind == "")
	if r.Lint {
		r.readFindings()
	}
	if kind != "" {
		return nil
	}
	r.setCounts()
	r.addAgents()
	if r.Access {
		return r.proveAccess(body)
	}
	return nil
}

// readLines reads the lines as rfc9309 does, and their fields if the file is a robots.txt.
func (r *fileReader) readLines(isRobotsTxt bool) {
	ends := lineEnds{body: r.file.Bytes()}
	for line := range r.file.Lines(r.rfc9309) {
		r.summary.Lines++
		r.summary.LongestLine = max(r.summary.LongestLine, int32(line.Span.End-line.Span.Start))
		ends.add(line.Span.End)
		if isRobotsTxt {
			r.addLine(line)
		}
	}
	r.summary.LineEnds = ends.String()
}

// addLine counts a line and adds its rows, except those of agents.
func (r *fileReader) addLine(line robots.Line) {
	if line.Comment.End > line.Comment.Start {
		r.counts.comments++
	}
	if line.Field == robots.FieldNone {
		r.countWithoutField(line)
		return
	}
	r.group.add(line)
	r.counts.groups = max(r.counts.groups, int32(line.Group+1))
	tokens := asUTF8(r.group.tokens(line))
	value := asUTF8(r.file.Text(line.Value))
	row := FieldLine{
		SHA256: r.hash, Line: int32(line.Number), Field: line.Field.String(), Known: true,
		GroupNumber: int32(line.Group + 1), GroupTokens: tokens, Value: value,
	}
	switch line.Field {
	case robots.FieldUnknown:
		row.Field = asUTF8(r.file.Text(line.Name))
		row.Known = false
		r.counts.unknownFields++
	case robots.FieldUserAgent:
		r.counts.userAgents++
		agent, token := r.newAgentLine(line)
		agent.rfc9309 = token
		r.agentLines = append(r.agentLines, agent)
	case robots.FieldAllow, robots.FieldDisallow:
		r.counts.rules++
	case robots.FieldSitemap:
		r.addSitemap(line, value)
	case robots.FieldContentSignal, robots.FieldContentUsage, robots.FieldLicense:
		r.addSignals(line, tokens)
	}
	r.lines = append(r.lines, row)
}

// countWithoutField counts a line that is neither a field nor only a comment.
func (r *fileReader) countWithoutField(line robots.Line) {
	text, _, hasComment := strings.Cut(r.file.Text(line.Span), "#")
	switch blank := strings.Trim(text, " \t") == ""; {
	case !blank:
		r.counts.other++
	case !hasComment:
		r.counts.blank++
	}
}

// addSitemap adds the row of a line Sitemap.
func (r *fileReader) addSitemap(line robots.Line, url string) {
	if url == "" {
		return
	}
	r.counts.sitemaps++
	row := SitemapLine{SHA256: r.hash, Line: int32(line.Number), URL: url}
	if origin, _, err := robots.ParseURL(url); err == nil {
		row.Origin = origin.String()
	}
	r.sitemaps = append(r.sitemaps, row)
}

// addSignals adds the rows of a line that states preferences.
func (r *fileReader) addSignals(line robots.Line, tokens string) {
	for _, signal := range answer.LineSignals(r.file, line) {
		row := SignalValue{
			SHA256: r.hash, Line: int32(line.Number), Field: signal.Field, Value: asUTF8(signal.Value),
			Scope: signal.Scope, Known: signal.Known, Tokens: tokens,
		}
		if signal.Name != nil {
			row.Name = asUTF8(*signal.Name)
		}
		if signal.Path != nil {
			row.Path = asUTF8(*signal.Path)
		}
		r.signals = append(r.signals, row)
	}
}

// setCounts copies the counts to the summary.
func (r *fileReader) setCounts() {
	counts := r.counts
	r.summary.Comments = &counts.comments
	r.summary.Groups = &counts.groups
	r.summary.UserAgents = &counts.userAgents
	r.summary.Rules = &counts.rules
	r.summary.Sitemaps = &counts.sitemaps
	r.summary.UnknownFields = &counts.unknownFields
	r.summary.BlankLines = &counts.blank
	r.summary.OtherLines = &counts.other
}

// readFindings counts the findings of each check.
func (r *fileReader) readFindings() {
	result := lint.File(r.file, lint.Options{})
	r.summary.Lint = "complete"
	if result.Undecided {
		r.summary.Lint = "undecided"
	}
	counts := map[string]int32{}
	for i := range result.Diagnostics {
		counts[result.Diagnostics[i].Check.ID]++
	}
	for _, check := range lint.Checks {
		if n := counts[check.ID]; n > 0 {
			r.findings = append(r.findings, FindingCount{SHA256: r.hash, ID: check.ID, Severity: check.Severity.String(), Findings: n})
		}
	}
}

// A lineEnds counts the line ends of a file by kind.
type lineEnds struct {
	body         []byte
	lf, crlf, cr bool
}

// add adds the end of a line whose text ends at an offset.
func (e *lineEnds) add(end int) {
	rest := e.body[end:]
	switch {
	case len(rest) == 0:
	case rest[0] == '\n':
		e.lf = true
	case len(rest) > 1 && rest[1] == '\n':
		e.crlf = true
	default:
		e.cr = true
	}
}

// String returns lf, crlf, cr or mixed, "" without a line end.
func (e *lineEnds) String() string {
	var kinds []string
	for _, kind := range []struct {
		name  string
		found bool
	}{{"lf", e.lf}, {"crlf", e.crlf}, {"cr", e.cr}} {
		if kind.found {
			kinds = append(kinds, kind.name)
		}
	}
	if len(kinds) > 1 {
		return "mixed"
	}
	return strings.Join(kinds, "")
}
