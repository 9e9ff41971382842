package crawlers

import (
	_ "embed"
	"iter"
	"strings"
)

// profiles has a line for each name of the directory, in the order of their bytes in lower case:
// a profile, or the name of the entry of a further token or a spelling. Looking a name up takes
// microseconds, where decoding directory.json would take longer than the rest of a program's start.
//
//go:embed profiles.tsv
var profiles string

// The second column of a line that leads to an entry begins with the mark of its kind.
const (
	tokenMark    = "="
	spellingMark = "~"
)

// profileLine returns the columns after a name, "" for an unknown name.
func profileLine(name string) string {
	name = strings.ToLower(name)
	// The line is in profiles[low:high].
	low := 0
	high := len(profiles)
	for low < high {
		start := low
		// The line after the middle: strings.IndexByte takes a fraction of the time of LastIndexByte.
		if end := strings.IndexByte(profiles[low+(high-low)/2:high-1], '\n'); end >= 0 {
			start = low + (high-low)/2 + end + 1
		}
		line, _, _ := strings.Cut(profiles[start:], "\n")
		key, columns, _ := strings.Cut(line, "\t")
		switch order := strings.Compare(name, key); {
		case order == 0:
			return columns
		case order < 0:
			high = start
		default:
			low = start + len(line) + 1
		}
	}
	return ""
}

// readProfile returns the profile with a name in any case, and whether that is one of its Spellings.
func readProfile(name string) (p Profile, spelling, ok bool) {
	columns := profileLine(name)
	if entry, is := strings.CutPrefix(columns, spellingMark); is {
		spelling = true
		columns = profileLine(entry)
	} else if entry, is := strings.CutPrefix(columns, tokenMark); is {
		columns = profileLine(entry)
	}
	if columns == "" {
		return p, false, false
	}
	return decodeProfile(columns), spelling, true
}

// The columns of a profile before those of its further tokens.
const profileColumns = 8

func decodeProfile(columns string) Profile {
	c := strings.Split(columns, "\t")
	p := Profile{
		Name: c[0], Tokens: []string{c[0]}, Operator: c[1], Status: Status(c[2]), Dialect: c[3],
		Obeys: Obeys(c[4]), CrawlDelay: c[5], RequestRate: c[6], Rival: c[7],
	}
	for c = c[profileColumns:]; len(c) > 0; c = c[3:] {
		p.Tokens = append(p.Tokens, c[0])
		p.FurtherTokens = append(p.FurtherTokens, FurtherToken{Token: c[0], Kind: TokenKind(c[1]), Source: c[2]})
	}
	return p
}

// Profiles yields the profiles of the directory, by name.
func Profiles() iter.Seq[Profile] {
	return func(yield func(Profile) bool) {
		for columns := range profileLines() {
			if !yield(decodeProfile(columns)) {
				return
			}
		}
	}
}

// Names yields the names of all entries, sorted.
func Names() iter.Seq[string] {
	return func(yield func(string) bool) {
		for columns := range profileLines() {
			if name, _, _ := strings.Cut(columns, "\t"); !yield(name) {
				return
			}
		}
	}
}

// profileLines yields the columns of the profiles.
func profileLines() iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(profiles) {
			_, columns, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			if !strings.HasPrefix(columns, tokenMark) && !strings.HasPrefix(columns, spellingMark) && !yield(columns) {
				return
			}
		}
	}
}
