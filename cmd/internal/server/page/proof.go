package page

import (
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/budget"
	"github.com/robotskit/robots/crawlers"
	"github.com/robotskit/robots/lint"
)

// Limits in steps of package compare, about ten nanoseconds each and several times that in a
// browser: a person waits for the answer.
const (
	diffSteps    = 300_000    // per crawler and direction
	diffTotal    = 10_000_000 // for all crawlers
	lintSteps    = 2_000_000
	decidesSteps = 300_000 // per crawler
	accessSteps  = 2_000_000
)

// A lintedFile has the mistakes in a file, with their numbers.
type lintedFile struct {
	answer.Findings
	Problems int `json:"problems"` // errors and warnings
	Remarks  int `json:"remarks"`  // notes, which are no problems
}

// findings returns the mistakes in a file.
func findings(b *budget.Budget, args []string) (any, error) {
	const most = 500
	found, err := answer.Lint(b, robots.Parse([]byte(args[0])), lint.Options{MaxSteps: lintSteps}, most)
	if err != nil {
		return nil, err
	}
	f := lintedFile{Findings: found}
	for i := range found.Findings {
		if found.Findings[i].Severity == lint.Note.String() {
			f.Remarks++
		} else {
			f.Problems++
		}
	}
	return f, nil
}

// A fixedFile is a file with its fixes.
type fixedFile struct {
	Body []byte `json:"body"` // in base64, because it can have any bytes
}

// fix returns the file after all safe fixes.
func fix(b *budget.Budget, args []string) (any, error) {
	fixed, _, left := lint.ApplyFixes([]byte(args[0]), lint.Options{MaxSteps: b.Left(lintSteps)}, false)
	if err := b.Work(left.Steps); err != nil {
		return nil, err
	}
	return fixedFile{fixed}, nil
}

// A blockedFile is a file in which crawlers have no access.
type blockedFile struct {
	*answer.Blocking
	Body  []byte `json:"body"`  // in base64, the file as it was unless all is proved
	Added string `json:"added"` // the text that was inserted
	Line  int    `json:"line"`  // of it
}

// block returns the file after robots block --purpose ai-training, if it would write that.
func block(b *budget.Budget, args []string) (any, error) {
	file := robots.Parse([]byte(args[0]))
	entries, _, err := ask.ChooseCrawlers([]string{string(crawlers.AITraining)}, "", false)
	if err != nil {
		return nil, err
	}
	var chosen []answer.Crawler
	for _, e := range entries {
		chosen = append(chosen, answer.Auto(e.Name, e.Name))
	}
	reading := budget.Reading(args[0])
	if err := b.Work(len(answer.CurrentDialects()) * reading); err != nil {
		return nil, err
	}
	named := answer.Named(file)
	const name = 1 << 10 // bytes for a crawler
	if err := b.Hold(name * len(named)); err != nil {
		return nil, err
	}
	const readings = 6 // of the file, and of it with each insertion, besides those in Steps
	if err := b.Work(2 * readings * reading); err != nil {
		return nil, err
	}
	result := answer.Block(file, chosen, named, b.Left(answer.AccessSteps))
	if err := b.Work(result.Steps + max(0, result.Attempts-1)*readings*reading); err != nil {
		return nil, err
	}
	blocked := blockedFile{Blocking: result, Body: file.Bytes()}
	if result.Possible && result.Complete && result.Changed {
		blocked.Body = result.Body
		start, end := insertedSpan(args[0], string(result.Body))
		blocked.Added = strings.ToValidUTF8(string(result.Body[start:end]), "\uFFFD")
		before := args[0][:start]
		blocked.Line = 1 + strings.Count(before, "\n") + strings.Count(before, "\r") - strings.Count(before, "\r\n")
	}
	return blocked, nil
}

// insertedSpan returns the text that was inserted into a file, from the beginning of a line if that is
// possible.
func insertedSpan(before, after string) (start, end int) {
	for start < len(before) && before[start] == after[start] {
		start++
	}
	n := len(after) - len(before)
	for start > 0 && before[start-1] != '\n' && before[start-1] == after[start+n-1] {
		start--
	}
	return start, start + n
}

// A comparison is the differences of two files.
type comparison struct {
	Budget   int                         `json:"budget"`   // limit of steps for a crawler and direction
	Crawlers []*answer.CrawlerDifference `json:"crawlers"` // those of the question in order, then others
	Dropped  int                         `json:"dropped"`  // crawlers beyond the limit
}

// Limits of a comparison.
const (
	mostCompared = 2 * MaxCrawlers // crawlers
	mostChanges  = 20              // of a direction
	changesText  = 2 << 20         // bytes of all paths, patterns and values
)

// diff compares two files for each crawler over all URLs: those of the question, then others for
// which the files can differ.
func diff(b *budget.Budget, args []string) (any, error) {
	before := robots.Parse([]byte(args[0]))
	after := robots.Parse([]byte(args[1]))
	who, err := readCrawlers(args[2])
	if err != nil {
		return nil, err
	}
	key := func(c *answer.Crawler) string {
		return strings.ToLower(c.Dialect.Name + "\t" + strings.Join(c.Tokens, "\t"))
	}
	if err := b.Work(answer.ComparableReadings() * budget.Reading(args[:2]...)); err != nil {
		return nil, err
	}
	given := map[string]bool{}
	star := false // given in some dialect
	for i := range who {
		given[key(&who[i])] = true
		star = star || who[i].Name == answer.AnyCrawler
	}
	result := comparison{Budget: diffSteps}
	for _, c := range answer.Comparable(before, after, [2]robots.Dialect{}) {
		switch {
		case given[key(&c)], c.Name == answer.AnyCrawler && star && !c.IsImplied():
		case len(who) == mostCompared:
			result.Dropped++
		default:
			who = append(who, c)
		}
	}
	dialects := map[string]bool{}
	for _, c := range who {
		dialects[c.Dialect.Name] = true
	}
	if err := b.Work(len(dialects) * budget.Reading(args[:2]...)); err != nil {
		return nil, err
	}
	const entry = 1 << 10 // bytes of a crawler
	if err := b.Hold(len(who)*entry + 2*changesText); err != nil {
		return nil, err
	}
	o := answer.DiffOptions{Steps: diffSteps, Total: b.Left(diffTotal), Changes: mostChanges, Text: changesText}
	difference := answer.Diff(before, after, who, o)
	if err := b.Work(difference.Steps); err != nil {
		return nil, err
	}
	result.Crawlers = difference.Crawlers
	return result, nil
}

// decides returns the lines of rules that are proved never to decide for any of the crawlers.
func decides(b *budget.Budget, args []string) (any, error) {
	who, err := readCrawlers(args[1])
	if err != nil {
		return nil, err
	}
	return answer.FindUnused(b, robots.Parse([]byte(args[0])), who, decidesSteps)
}
