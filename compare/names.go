package compare

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/crawlers"
)

// Names returns the product tokens for which the files of some rules can have different rules,
// sorted after "*", which stands for all that no line names. Each file is read in the dialect of
// its rules, whose crawler has no effect. A user-agent line names a token in every form that the
// dialect compares: in rfc9309 "AI2Bot" also names "ai" (D-02). Of tokens that the same lines
// name, which have the same rules, only the first is returned.
func Names(of ...*robots.Rules) []string {
	return names(of, func(string) bool { return true })
}

// Crawlers returns the crawlers for which files can have different rules if each crawler reads
// them in its own dialect: "*" and the names that the directory does not know in rfc9309, each
// other name in the dialect that the directory has for it. It returns Names for each dialect,
// sorted together.
func Crawlers(files ...*robots.File) []crawlers.Crawler {
	dialectOf := func(name string) string {
		if d, ok := crawlers.DialectOf(name); ok {
			return d.Name
		}
		return robots.RFC9309.Name
	}
	var list []crawlers.Crawler
	for _, d := range robots.Dialects() {
		var of []*robots.Rules
		for _, f := range files {
			of = append(of, f.Rules(d))
		}
		for _, name := range names(of, func(name string) bool { return dialectOf(name) == d.Name }) {
			if name != "*" {
				list = append(list, crawlers.Crawler{Name: name, Tokens: []string{name}, Dialect: d.Name})
			}
		}
	}
	slices.SortFunc(list, func(a, b crawlers.Crawler) int { return strings.Compare(a.Name, b.Name) })
	return append([]crawlers.Crawler{{Name: "*", Tokens: []string{"*"}, Dialect: robots.RFC9309.Name}}, list...)
}

// names returns "*" and the names that count.
func names(of []*robots.Rules, counts func(name string) bool) []string {
	var all []string
	lines := map[string][]byte{} // numbers of the lines that name each
	number := uint32(0)          // of a line of all files
	for _, r := range of {
		d := r.Dialect()
		for l := range r.File().Lines(d) {
			number++
			if l.Field != robots.FieldUserAgent {
				continue
			}
			forms := l.Names
			if len(forms) == 0 && d.RawTokens {
				forms = []string{""} // D-47
			}
			for _, name := range forms {
				if lines[name] == nil && name != "*" && counts(name) {
					all = append(all, name)
				}
				lines[name] = binary.LittleEndian.AppendUint32(lines[name], number)
			}
		}
	}
	known := map[string]bool{}
	all = slices.DeleteFunc(all, func(name string) bool {
		key := string(lines[name])
		before := known[key]
		known[key] = true
		return before
	})
	slices.Sort(all)
	return append([]string{"*"}, all...)
}
