package bulk

import (
	"slices"
	"strings"

	"github.com/robotskit/robots"
)

// maxGroupTokens limits the tokens of a group that each of its lines repeats.
const maxGroupTokens = 1000

// groupTokens are the product tokens of the current group of a file. Add each line in order.
type groupTokens struct {
	number int      // of the group, from 1
	names  []string // of its User-agent lines
	block  int      // index in names of the last block of User-agent lines (D-08)
	record bool     // a record, such as Crawl-delay, has come after that block
	ruled  bool     // a rule has ended the User-agent lines

	joined string // of all names, once a rule has come
}

// add adds a line.
func (g *groupTokens) add(line robots.Line) {
	switch line.Field {
	case robots.FieldNone, robots.FieldUnknown, robots.FieldSitemap, robots.FieldHost, robots.FieldCleanParam:
	case robots.FieldUserAgent:
		g.addAgent(line)
	case robots.FieldAllow, robots.FieldDisallow:
		if !g.ruled {
			g.ruled = true
			g.joined = joinTokens(g.names)
		}
	default:
		g.record = true
	}
}

// addAgent adds a User-agent line.
func (g *groupTokens) addAgent(line robots.Line) {
	if line.Group+1 != g.number {
		*g = groupTokens{number: line.Group + 1, names: g.names[:0]}
	}
	if g.record {
		g.record = false
		g.block = len(g.names)
	}
	if len(line.Names) > 0 && len(g.names) <= maxGroupTokens && !slices.Contains(g.names[g.block:], line.Names[0]) {
		g.names = append(g.names, line.Names[0])
	}
}

// tokens returns the tokens to which the last added line applies, separated by spaces; "" for none.
func (g *groupTokens) tokens(line robots.Line) string {
	switch {
	case line.Group < 0:
		return ""
	case line.Field == robots.FieldUserAgent && len(line.Names) > 0:
		return line.Names[0]
	case line.Field == robots.FieldUserAgent:
		return ""
	case g.ruled:
		return g.joined
	}
	return joinTokens(g.names[g.block:])
}

// joinTokens joins distinct tokens. Of too many ones it returns "".
func joinTokens(names []string) string {
	if len(names) > maxGroupTokens {
		return ""
	}
	seen := make(map[string]bool, len(names))
	var distinct []string
	for _, name := range names {
		if !seen[name] {
			seen[name] = true
			distinct = append(distinct, name)
		}
	}
	return strings.Join(distinct, " ")
}
