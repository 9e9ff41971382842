package ask

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/crawlers"
)

// TokenReading describes how the dialects read a value, "" if it is a product token or empty. A
// dialect with RawTokens reads the value literally (C-10, C-11).
func TokenReading(value string, ds ...robots.Dialect) string {
	tokens := robots.ProductTokens(value)
	if value == "" || len(tokens) == 1 && tokens[0] == value {
		return ""
	}
	const most = 5 // names that a sentence has
	var texts []string
	if slices.ContainsFunc(ds, func(d robots.Dialect) bool { return !d.RawTokens }) {
		var names []string
		for _, t := range tokens {
			if t != value {
				names = append(names, strconv.Quote(Clip(t)))
			}
		}
		more := len(names) - most
		if more > 0 {
			names = append(names[:most], strconv.Itoa(more)+" more")
		}
		texts = append(texts, "it is read as "+cmp.Or(strings.Join(names, ", then "), "no crawler"))
	}
	for _, d := range ds {
		if d.RawTokens {
			texts = append(texts, d.Name+" reads it literally, and no group can name it")
		}
	}
	return strconv.Quote(Clip(value)) + " is not a product token: " + strings.Join(texts, "; ")
}

// SimilarCrawler suggests the crawler in use among some names that has one other letter. It returns
// "" if there is none or the name is known.
func SimilarCrawler(name string, names iter.Seq[string]) string {
	const least = 5 // letters: shorter names have too many neighbors
	if len(name) < least {
		return ""
	}
	near := ""
	for other := range names {
		if strings.EqualFold(other, name) {
			return ""
		}
		longer := len(other) - len(name)
		if near == "" && -1 <= longer && longer <= 1 && Edits(strings.ToLower(name), strings.ToLower(other)) == 1 {
			if e, known := crawlers.Find(other); known && !idle(e) {
				near = e.Name
			}
		}
	}
	if near != "" {
		if _, known := crawlers.Find(name); !known { // by a spelling
			return " (did you mean " + near + "?)"
		}
	}
	return ""
}

// idle reports whether an entry is included only with --all.
func idle(e crawlers.Crawler) bool {
	return e.Status == crawlers.Former || e.Status == crawlers.Mistake || e.Status == crawlers.Unknown
}

// anyAI stands for the three purposes of AI crawlers.
const anyAI = "ai"

// PurposeWords are the names of all purposes, after anyAI.
func PurposeWords() []string {
	names := []string{anyAI}
	for _, p := range crawlers.Purposes() {
		names = append(names, string(p))
	}
	return names
}

// ChooseCrawlers returns the crawlers of some purposes and an operator, only those in use unless all,
// and how many it omits.
func ChooseCrawlers(purposes []string, operator string, all bool) (list []crawlers.Crawler, omitted int, err error) {
	wanted := map[string]bool{}
	known := PurposeWords()
	for _, name := range purposes {
		purpose := strings.ToLower(strings.TrimSpace(name))
		if !slices.Contains(known, purpose) {
			names := strings.Join(known[1:], ", ")
			return nil, 0, fmt.Errorf("unknown purpose %q (known: %s, and %s for all of ai-*)", Clip(name), names, anyAI)
		}
		wanted[purpose] = true
	}
	matches := func(p crawlers.Purpose) bool { return wanted[string(p)] || wanted[anyAI] && p.IsAI() }
	var operators []string
	for _, e := range crawlers.All() {
		operators = append(operators, append(strings.Fields(words(e.Operator)), strings.ToLower(e.Operator))...)
		switch {
		case len(wanted) > 0 && !slices.ContainsFunc(append([]crawlers.Purpose{e.Purpose}, e.Also...), matches):
		case !strings.Contains(words(e.Operator), words(operator)):
		case all || !idle(e):
			list = append(list, e)
		default:
			omitted++
		}
	}
	if len(list) > 0 {
		return list, omitted, nil
	}
	hint := ""
	if near := Nearest(operator, operators); near != "" && near != strings.ToLower(operator) {
		hint = " (did you mean " + near + "?)"
	}
	return nil, 0, fmt.Errorf("no crawler in use matches operator %q and these purposes%s", Clip(operator), hint)
}

// words returns the words of a name in lower case, each between spaces, to search for some
// of them.
func words(name string) string {
	text := ""
	separates := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	for _, word := range strings.FieldsFunc(strings.ToLower(name), separates) {
		text += " " + word + " "
	}
	return text
}
