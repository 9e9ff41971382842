package answer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/budget"
	"github.com/robotskit/robots/compare"
	"github.com/robotskit/robots/crawlers"
)

// rulesOf returns the rules of each crawler, by the old and by the new side.
func (d *Difference) rulesOf(before, after Source, who []Crawler, o DiffOptions) (rules [2][]*robots.Rules) {
	for side, source := range []Source{before, after} {
		var all robots.Crawlers
		for _, c := range who {
			if side == 1 && d.betweenDialects {
				c.Dialect = o.NewDialect
			}
			all.Add(c.Dialect, c.Tokens...)
		}
		rules[side] = rulesOfAll(&all, source)
	}
	return rules
}

// classesOf returns the class of each crawler, and the rules of each class: crawlers that are named in the same
// blocks of both files have the same rules. It returns the steps of reading the files, too.
func classesOf(rules [2][]*robots.Rules) (class []int, distinct [2][]*robots.Rules, steps int) {
	before, stepsBefore := blocksOf(rules[0])
	after, stepsAfter := blocksOf(rules[1])
	known := map[[2]string]int{}
	for i := range before {
		blocks := [2]string{before[i], after[i]}
		number, ok := known[blocks]
		if !ok {
			number = len(known)
			known[blocks] = number
			distinct[0] = append(distinct[0], rules[0][i])
			distinct[1] = append(distinct[1], rules[1][i])
		}
		class = append(class, number)
	}
	return class, distinct, stepsBefore + stepsAfter
}

// linesOf returns the lines of rules.
func linesOf(r *robots.Rules) (lines []int) {
	for rule := range r.All() {
		lines = append(lines, rule.Line())
	}
	return lines
}

// blocksOf names the blocks of user-agent lines that name each crawler of one file: crawlers
// named in the same blocks have the same rules and records (D-08). It returns the steps of reading the file in
// each dialect.
func blocksOf(crawlers []*robots.Rules) (blocks []string, steps int) {
	ends := map[string][]int{} // by dialect
	for _, r := range crawlers {
		dialect := r.Dialect()
		group := r.Group()
		lines, read := ends[dialect.Name]
		if !read {
			lines = blockEnds(r.File(), dialect)
			ends[dialect.Name] = lines
			steps += budget.Reading(r.File().Bytes())
		}
		var numbers []int
		for _, line := range group.Lines() {
			number, _ := slices.BinarySearch(lines, line+1)
			numbers = append(numbers, number)
		}
		blocks = append(blocks, fmt.Sprintln(dialect.Name, group.Token() == AnyCrawler, slices.Compact(numbers)))
	}
	return blocks, steps
}

// blockEnds returns the lines of a file that end a block of user-agent lines or begin a group.
func blockEnds(f *robots.File, d robots.Dialect) (lines []int) {
	group := -1
	for l := range f.Lines(d) {
		if l.Field > robots.FieldUserAgent || l.Field == robots.FieldUserAgent && l.Group > group {
			group = max(group, l.Group)
			lines = append(lines, l.Number)
		}
	}
	return lines
}

// Comparable returns * and the crawlers for which two files can have different rules: each file
// read in its dialect, or, if these have no name, each crawler in the dialect auto. The crawlers
// are in the dialect of the first file.
func Comparable(before, after Source, dialects [2]robots.Dialect) (who []Crawler) {
	if dialects[0].Name == "" {
		who = Named(before.Rules(robots.RFC9309).File(), after.Rules(robots.RFC9309).File())
		return slices.Insert(who, 1, otherStars(before, after)...)
	}
	for _, name := range compare.Names(before.Rules(dialects[0]), after.Rules(dialects[1])) {
		who = append(who, InDialect(dialects[0], name, name))
	}
	return who
}

// Named returns * and the crawlers that files name, each in the dialect auto. It reads them in each of
// CurrentDialects.
func Named(files ...*robots.File) (who []Crawler) {
	for _, c := range compare.Crawlers(files...) {
		who = append(who, Auto(c.Name, c.Tokens[0]))
	}
	return who
}

// ComparableReadings returns how often Comparable reads both files at most, which is if the dialects have no name.
func ComparableReadings() int { return 1 + 2*len(CurrentDialects()) }

// otherStars returns * in each dialect in which its rules change and are not certainly those of rfc9309: crawlers
// that no file names, such as Googlebot, can be blocked by a line that other crawlers do not read.
func otherStars(before, after Source) (stars []Crawler) {
	sides := [2]Source{before, after}
	var standard [2]string
	for side, source := range sides {
		rules := source.Rules(robots.RFC9309)
		if _, noFile := rules.FallbackReason(); noFile {
			return nil
		}
		standard[side] = textOfRules(rules)
	}
	for _, d := range CurrentDialects()[1:] {
		texts := [2]string{textOfRules(before.Rules(d)), textOfRules(after.Rules(d))}
		if texts[0] != texts[1] && (texts != standard || strings.Contains(texts[0]+texts[1], "%")) {
			star := InDialect(d, AnyCrawler, AnyCrawler)
			star.implied = true
			stars = append(stars, star)
		}
	}
	return stars
}

// textOfRules returns the patterns of rules in order of precedence.
func textOfRules(r *robots.Rules) string {
	var b []byte
	for rule := range r.All() {
		b = strconv.AppendInt(b, int64(rule.Weight()), 10)
		b = append(append(append(b, rule.Directive()...), rule.Pattern().String()...), '\n')
	}
	return string(b)
}

// withoutImplied returns the indexes of the crawlers without those that are implied and have only changes of *.
func withoutImplied(who []Crawler, result func(i int) *compare.Result) (indexes []int) {
	star := map[[3]int]bool{}
	for i := range who {
		if who[i].Name == AnyCrawler && !who[i].implied {
			for _, lines := range changedLines(result(i)) {
				star[lines] = true
			}
		}
	}
	for i := range who {
		isNew := func(lines [3]int) bool { return !star[lines] }
		if !who[i].implied || slices.ContainsFunc(changedLines(result(i)), isNew) {
			indexes = append(indexes, i)
		}
	}
	return indexes
}

// changedLines returns the direction and the lines that decide of each change, and those of no line for a direction
// that is undecided.
func changedLines(r *compare.Result) (lines [][3]int) {
	for i, direction := range []compare.Direction{r.NewlyBlocked, r.NewlyAllowed} {
		if !direction.Complete {
			lines = append(lines, [3]int{i, 0, 0})
		}
		for _, c := range direction.Changes {
			lines = append(lines, [3]int{i, 1 + decidingLine(c.Old), 1 + decidingLine(c.New)})
		}
	}
	return lines
}

// decidingLine returns the line of the rule that decides, 0 for none and for an empty Disallow, which allows in
// yandex what no rule allows elsewhere (D-41).
func decidingLine(v robots.Verdict) int {
	if v.Rule.Path() == "" {
		return 0
	}
	return v.Rule.Line()
}

// isImportant reports whether newly blocked URLs are errors for a crawler: for *, and the
// crawlers of search engines.
func isImportant(name string) bool {
	c, ok := crawlers.Find(name)
	return name == AnyCrawler || ok && c.Purpose == crawlers.Search
}
