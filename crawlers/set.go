package crawlers

import (
	"bytes"
	"strings"

	"github.com/robotskit/robots"
)

// A Set is crawlers that are asked about one file together. A file is read once for
// each of their dialects, and once for each crawler that it may name: all others
// share one answer. A file that names all of them costs as much as if each were asked
// alone. A Set is immutable and safe for concurrent use.
type Set struct {
	members  []member
	dialects []robots.Dialect
	byWord   map[string][]int // members by the first words of their tokens, in lower case
	always   []int            // members whom the words of a file do not give away
}

// A member is a crawler of a set.
type member struct {
	tokens  []string
	dialect int // in Set.dialects
}

// NewSet returns the set of some crawlers.
func NewSet(list []Crawler) *Set {
	s := &Set{byWord: map[string][]int{}}
	byName := map[string]int{}
	for at, c := range list {
		d := c.ReadAs()
		i, ok := byName[d.Name]
		if !ok {
			i = len(s.dialects)
			byName[d.Name] = i
			s.dialects = append(s.dialects, d)
		}
		s.members = append(s.members, member{c.Tokens, i})
		always := d.IgnoreStar != "" && c.Obeys == ObeysNamed // the group of '*' may not be its own (D-53)
		for _, value := range c.Tokens {
			for _, token := range robots.ProductTokens(value) {
				n, _ := wordLen(token)
				word := strings.ToLower(token[:n])
				s.byWord[word] = append(s.byWord[word], at)
				always = always || n == 0 || n > longestWord
			}
		}
		if always {
			s.always = append(s.always, at)
		}
	}
	return s
}

// Rules returns what each crawler obeys, in the order of the list. Crawlers whom
// the file does not name share one value. For a file pass file.Rules; what came of
// a fetch is asked by a function that calls the Rules of its record, and is called
// once for each dialect.
func (s *Set) Rules(of func(d robots.Dialect, tokens ...string) *robots.Rules) []*robots.Rules {
	var few [8]*robots.Rules
	others := few[:0]
	for _, d := range s.dialects {
		others = append(others, of(d))
	}
	all := make([]*robots.Rules, len(s.members))
	for at := range s.members {
		all[at] = others[s.members[at].dialect]
	}
	ask := func(at int, f *robots.File) {
		m := &s.members[at]
		r := others[m.dialect]
		if _, noFile := r.FallbackReason(); noFile || r.File() != f || all[at] != r {
			return
		}
		all[at] = f.Rules(r.Dialect(), m.tokens...)
		if state := r.State(); state != nil {
			all[at] = all[at].WithState(*state)
		}
	}
	for i, r := range others {
		f := r.File()
		for k := range i {
			if others[k].File() == f {
				f = nil // whose words have been looked at
				break
			}
		}
		if f == nil {
			continue
		}
		s.candidates(f.Bytes(), func(at int) { ask(at, f) })
		for _, at := range s.always {
			ask(at, f)
		}
	}
	return all
}

// candidates calls fn for every crawler that a file may name in some dialect, and for
// some that it does not name: the engine is asked for them. It saves the engine the
// others. A user-agent line begins with a u, whatever else is before it; and a value
// that names a token has the first word of the token as a word, or, as some dialects
// cut names before a digit, as the letters before a digit of a word (D-02).
func (s *Set) candidates(body []byte, fn func(at int)) {
	for len(body) > 0 {
		end := bytes.IndexByte(body, '\n')
		if end < 0 {
			end = len(body)
		}
		line := body[:end]
		body = body[min(end+1, len(body)):]
		for len(line) > 0 {
			part := line
			if cr := bytes.IndexByte(line, '\r'); cr >= 0 {
				part = line[:cr]
			}
			line = line[min(len(part)+1, len(line)):]
			for len(part) > 0 && !isLetter(part[0]) {
				part = part[1:]
			}
			if len(part) > 0 && part[0]|0x20 == 'u' {
				s.words(part, fn)
			}
		}
	}
}

// words calls fn for the crawlers that the words of a line may name.
func (s *Set) words(line []byte, fn func(at int)) {
	for len(line) > 0 {
		if !isWordByte(line[0]) {
			line = line[1:]
			continue
		}
		n, letters := wordLen(line)
		s.word(line[:n], fn)
		if 0 < letters && letters < n {
			s.word(line[:letters], fn)
		}
		line = line[n:]
	}
}

// longestWord is more than the bytes of any first word of a token.
const longestWord = 64

func (s *Set) word(word []byte, fn func(at int)) {
	if len(word) > longestWord {
		return
	}
	var buf [longestWord]byte
	for i, c := range word {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		buf[i] = c
	}
	for _, at := range s.byWord[string(buf[:len(word)])] {
		fn(at)
	}
}

// wordLen returns how many letters, digits, '_' and '-' are at the beginning of a
// text, and how many of them stand before the first digit.
func wordLen[T string | []byte](text T) (n, letters int) {
	letters = -1
	for n < len(text) && isWordByte(text[n]) {
		if '0' <= text[n] && text[n] <= '9' && letters < 0 {
			letters = n
		}
		n++
	}
	if letters < 0 {
		letters = n
	}
	return n, letters
}

func isWordByte(c byte) bool { return isLetter(c) || '0' <= c && c <= '9' || c == '-' || c == '_' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
