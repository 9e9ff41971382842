package compare

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/crawlers"
)

// Crawlers returns the crawlers for which files can have different rules with the dialect auto
// (D-62), sorted after "*": each name that is read in its own dialect, as crawlers.Resolve returns
// it, and each crawler of the directory that follows the group of another one if none names it. Of
// crawlers in one dialect that the same lines name only the first is returned, as of Names.
func Crawlers(files ...*robots.File) []crawlers.Profile {
	every := []crawlers.Profile{crawlers.Resolve("*")}
	var list, expanding []crawlers.Profile
	used := map[string]bool{every[0].ReadAs().Name: true} // dialects in which some crawler reads
	for c := range crawlers.Profiles() {
		used[c.ReadAs().Name] = true
		if len(c.Tokens) > 1 {
			expanding = append(expanding, c)
		}
	}
	for _, d := range robots.Dialects() {
		if !used[d.Name] {
			continue
		}
		var named namedTokens
		for _, f := range files {
			named.read(f, d)
		}
		known := map[string]bool{}
		add := func(c crawlers.Profile) {
			if c.ReadAs().Name != d.Name {
				return
			}
			if key := named.key(c.Tokens); key != "" && !known[key] {
				known[key] = true
				list = append(list, c)
			}
		}
		for _, name := range named.list {
			c := crawlers.Resolve(name)
			c.Name = name
			add(c)
		}
		for _, c := range expanding {
			add(c)
		}
	}
	slices.SortFunc(list, func(a, b crawlers.Profile) int {
		return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	})
	return append(every, list...)
}

// Names returns the product tokens for which the files of some rules can have different rules,
// sorted after "*", which stands for all that no line names. Each file is read in the dialect of
// its rules, whose crawler has no effect. A user-agent line names a token in every form that the
// dialect compares: in rfc9309 "AI2Bot" also names "ai" (D-02). Of tokens that the same lines
// name, which have the same rules, only the first is returned.
func Names(of ...*robots.Rules) []string {
	var named namedTokens
	for _, r := range of {
		named.read(r.File(), r.Dialect())
	}
	known := map[string]bool{}
	var list []string
	for _, name := range named.list {
		if key := named.key([]string{name}); !known[key] {
			known[key] = true
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return append([]string{"*"}, list...)
}

// namedTokens are the tokens that user-agent lines of files name.
type namedTokens struct {
	list  []string            // in the order of their first lines
	known map[string]bool     // of list
	lines []map[string][]byte // of each file: numbers of the lines that name a token
	exact []bool              // the file's dialect compares tokens case-sensitively
}

// read adds the tokens that a file names in a dialect.
func (n *namedTokens) read(file *robots.File, d robots.Dialect) {
	if n.known == nil {
		n.known = map[string]bool{}
	}
	lines := map[string][]byte{}
	for l := range file.Lines(d) {
		if l.Field != robots.FieldUserAgent {
			continue
		}
		forms := l.Names
		if len(forms) == 0 && d.RawTokens {
			forms = []string{""} // D-47
		}
		for _, name := range forms {
			if !n.known[name] && name != "*" {
				n.known[name] = true
				n.list = append(n.list, name)
			}
			lines[name] = binary.LittleEndian.AppendUint32(lines[name], uint32(l.Number))
		}
	}
	n.lines = append(n.lines, lines)
	n.exact = append(n.exact, d.ExactCase)
}

// key returns the lines that decide for a crawler in each file, "" if no file names it.
func (n *namedTokens) key(tokens []string) string {
	var key []byte
	named := false
	for i, lines := range n.lines {
		for _, token := range tokens {
			if !n.exact[i] {
				token = strings.ToLower(token)
			}
			if deciding := lines[token]; deciding != nil {
				key = append(key, deciding...)
				named = true
				break
			}
		}
		key = append(key, 0, 0, 0, 0) // no line has this number
	}
	if !named {
		return ""
	}
	return string(key)
}
