package hostile

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// A Part is a word some times over.
type Part struct {
	Word  string
	Times int
}

// A Family describes one file of rules of a kind and one path.
type Family struct {
	Path     []Part // of the text of the path, behind its slash
	Shuffle  bool   // each time that the whole comes it is one of them, at random
	Coin     int    // letters at random behind that
	Letters  string // of Coin, two if none are named
	Reps     int    // times that the whole comes
	Pieces   int    // of a rule, between stars
	Least    int    // bytes of a piece, cut out of the text
	Most     int
	Forward  bool // pieces come later and later in the text
	Walk     bool // pieces match one after the other till the text holds no next, so that no rule matches early
	Far      int  // bytes, at least, that the next piece of a Walk is away
	Head     int  // bytes of the path before the first star, besides the slash
	Last     string
	LastCut  int  // bytes of a last piece cut near the start of the text
	Miss     bool // a byte of the last piece is changed
	End      bool // with a '$'
	Steps    int  // what Worst found, per 1,000 bytes of file and path
	RuleSeed uint64
}

//go:embed worst.json
var worst []byte

// Worst returns the worst families that a search has found.
func Worst() (all []Family) {
	if err := json.Unmarshal(worst, &all); err != nil {
		panic(err) // the file is part of the program
	}
	return all
}

// Letters are those that stand for themselves in a rule and in a path.
const Letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~!,;:@&=+()'"

// Seeds returns families like those that have been slow for somebody.
func Seeds() []Family {
	as := []Part{{"a", 1000}}
	return []Family{
		{Path: as, Reps: 2, Pieces: 10, Least: 1, Most: 1, Last: "b"},
		{Path: as, Reps: 2, Pieces: 1, Least: 40, Most: 60, Last: "b", Miss: true},
		{Path: []Part{{"bbbb", 1}, {"a", 1000}}, Reps: 1, Pieces: 5, Least: 4, Most: 11, Last: "bbbb"},
		{Path: []Part{{"a", 500}, {"b", 1}, {"a", 500}}, Reps: 1, Pieces: 2, Least: 40, Most: 90, Miss: true},
		{Path: []Part{{"aaab", 1}, {"aab", 700}}, Reps: 1, Pieces: 5, Least: 1, Most: 4, Last: "aaab"},
		{Coin: 2000, Reps: 1, Pieces: 10, Least: 12, Most: 12, Forward: true, LastCut: 30},
		{Coin: 2000, Reps: 1, Pieces: 1, Least: 30, Most: 30, LastCut: 30},
		{Path: []Part{{"abcdefgh", 250}}, Reps: 1, Pieces: 300, Least: 1, Most: 1, Last: "z"},
		{Path: []Part{{"abcdefghg", 1}, {"x", 1500}, {"hgfedcbabcdefgha", 1}}, Reps: 1, Pieces: 7, Least: 2, Most: 2, Last: "xhgx"},
		{Path: []Part{{"a", 40}, {"b", 40}, {"c", 40}, {"d", 40}}, Reps: 50, Pieces: 100, Least: 1, Most: 1},
		// Pieces that are some way apart, in a long path: runs, of letters and of words, in turn
		// and in any order, random texts, and pieces that begin alike.
		{Path: runs(60, "a", "b", "c", "d"), Reps: 1000, Pieces: 2000, Least: 1, Most: 1, Walk: true},
		{Path: runs(60, "a", "b", "c", "d"), Shuffle: true, Reps: 1000, Pieces: 2000, Least: 1, Most: 1, Walk: true, Far: 33},
		{Path: runs(60, "ab", "cd", "ef", "gh"), Shuffle: true, Reps: 1000, Pieces: 2000, Least: 1, Most: 2, Walk: true, Far: 33},
		{Path: runs(60, "abcd", "bdca", "efgh", "aabb"), Shuffle: true, Reps: 1000, Pieces: 2000, Least: 2, Most: 4, Walk: true, Far: 33},
		{Path: runs(60, "%C3%A4", "%C3%A9", "%E2", "a"), Shuffle: true, Reps: 1000, Pieces: 2000, Least: 1, Most: 6, Walk: true, Far: 33},
		{Path: runs(400, "a", "b", "c", "d"), Shuffle: true, Reps: 1000, Pieces: 2000, Least: 1, Most: 30, Walk: true, Far: 300},
		{Path: runs(100, "a", "b"), Shuffle: true, Reps: 1000, Pieces: 2000, Least: 1, Most: 40, Walk: true, Far: 60},
		{Coin: 2000, Reps: 1, Pieces: 2000, Least: 1, Most: 8, Walk: true},
		{Coin: 2000, Reps: 1, Pieces: 2000, Least: 5, Most: 8, Walk: true, Far: 200},
		{Coin: 2000, Letters: "aaab", Reps: 1, Pieces: 2000, Least: 2, Most: 8, Walk: true, Far: 100},
		{Coin: 2000, Letters: Letters, Reps: 1, Pieces: 2000, Least: 1, Most: 2, Walk: true},
		{Coin: 2000, Letters: Letters[:36], Reps: 1, Pieces: 2000, Least: 2, Most: 2, Walk: true, Far: 300},
		{Coin: 2000, Letters: Letters[:8], Reps: 1, Pieces: 2000, Least: 3, Most: 4, Walk: true, Far: 300},
	}
}

// runs returns parts of so many bytes each.
func runs(size int, words ...string) (parts []Part) {
	for _, w := range words {
		parts = append(parts, Part{w, size / len(w)})
	}
	return parts
}

// Text returns the path: as many bytes as are asked for.
func (f Family) Text(size int) string {
	rng := rand.New(rand.NewPCG(f.RuleSeed, 1))
	var b strings.Builder
	b.WriteByte('/')
	for b.Len() < size {
		// The parts grow with the path.
		scale := max(1, size/max(1, f.Reps*f.length()))
		parts := f.Path
		if n := len(parts); f.Shuffle && n > 0 {
			k := rng.IntN(n)
			parts = parts[k : k+1]
		}
		for _, p := range parts {
			times := p.Times
			if times > 1 {
				times *= scale
			}
			b.WriteString(strings.Repeat(p.Word, times))
		}
		letters := cmp.Or(f.Letters, "ab")
		for range f.Coin * scale {
			b.WriteByte(letters[rng.IntN(len(letters))])
		}
	}
	return b.String()[:size]
}

func (f Family) length() int {
	n := 1 + f.Coin
	for _, p := range f.Path {
		n += len(p.Word) * p.Times
	}
	return n
}

// File returns a file of one group for all, as many bytes as are asked for.
func (f Family) File(size int, text string) []byte {
	rng := rand.New(rand.NewPCG(f.RuleSeed, 2))
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for i := 0; ; i++ {
		rule := f.rule(rng, text)
		if b.Len()+len(rule) > size {
			return []byte(b.String())
		}
		b.WriteString(rule)
	}
}

func (f Family) rule(rng *rand.Rand, text string) string {
	cut := func(n, from, to int) string {
		n = min(n, len(text)-1)
		from = max(1, min(from, len(text)-n))
		to = max(from+1, min(to, len(text)-n+1))
		at := from + rng.IntN(to-from)
		return text[at : at+n]
	}
	var b strings.Builder
	b.WriteString("allow:" + text[:1+min(f.Head, len(text)-1)])
	if f.Walk {
		f.walk(rng, text, &b)
	}
	for k := range f.Pieces {
		if f.Walk {
			break
		}
		from, to := 1, len(text)
		if f.Forward {
			from, to = k*len(text)/f.Pieces, (k+1)*len(text)/f.Pieces
		}
		b.WriteString("*" + cut(f.Least+rng.IntN(f.Most-f.Least+1), from, to))
	}
	last := f.Last
	if f.LastCut > 0 {
		last += cut(f.LastCut, 1, len(text)/10)
	}
	if f.Miss {
		piece := []byte(cut(f.Most, 1, len(text)))
		piece[rng.IntN(len(piece))] ^= 3
		last += string(piece)
	}
	b.WriteString("*" + last)
	if rng.IntN(2) == 0 {
		fmt.Fprintf(&b, "*%d", rng.IntN(10)) // no path holds a digit
	}
	if f.End {
		b.WriteByte('$')
	}
	b.WriteByte('\n')
	return b.String()
}

// walk writes pieces, at most as many as are asked for, of which each occurs behind the one
// before it, and then such as go on until one does not.
func (f Family) walk(rng *rand.Rand, text string, b *strings.Builder) {
	at := 1
	for k := 0; ; k++ {
		n := min(f.Least+rng.IntN(f.Most-f.Least+1), len(text)-1)
		from := 1 + rng.IntN(len(text)-n)
		if near := at + f.Far + rng.IntN(f.Far+n+1); k < f.Pieces && near+n <= len(text) {
			from = near
		}
		piece := text[from : from+n]
		i := strings.Index(text[at:], piece)
		if i >= 0 && i < f.Far && k < f.Pieces && rng.IntN(100) > 0 {
			continue
		}
		b.WriteString("*" + piece)
		if i < 0 {
			return
		}
		at += i + n
	}
}

// Mutate returns f with one thing changed.
func (f Family) Mutate(rng *rand.Rand) Family {
	word := func() string {
		if rng.IntN(8) == 0 {
			return []string{"%C3%A4", "%C3", "%E2%82%AC", "%25"}[rng.IntN(4)]
		}
		b := make([]byte, 1+rng.IntN(8))
		for i := range b {
			b[i] = "aaabbcdx"[rng.IntN(8)]
		}
		return string(b)
	}
	f.Path = append([]Part(nil), f.Path...)
	f.RuleSeed = rng.Uint64() >> 32
	switch rng.IntN(16) {
	case 0:
		f.Path = append(f.Path, Part{word(), 1 + rng.IntN(1000)})
	case 1:
		f.Path = append([]Part{{word(), 1}}, f.Path...)
	case 2:
		if n := len(f.Path); n > 0 {
			f.Path[rng.IntN(n)].Word = word()
		}
	case 3:
		if n := len(f.Path); n > 0 {
			f.Path[rng.IntN(n)].Times = 1 + rng.IntN(1000)
		}
	case 4:
		f.Coin = []int{0, 500, 2000}[rng.IntN(3)]
	case 5:
		f.Reps = 1 + rng.IntN(20)
	case 6:
		f.Pieces = 1 + rng.IntN(12)
	case 7:
		f.Pieces *= 2
	case 8:
		f.Least = 1 + rng.IntN(20)
		f.Most = f.Least + rng.IntN(30)
	case 9:
		f.Forward, f.End = rng.IntN(2) == 0, rng.IntN(4) == 0
	case 10:
		f.Last, f.LastCut, f.Miss = "", 0, false
		switch rng.IntN(3) {
		case 0:
			f.Last = word()
		case 1:
			f.LastCut = 1 + rng.IntN(40)
		default:
			f.Miss = true
		}
	case 11:
		f.Head = rng.IntN(3) * rng.IntN(30)
	case 12:
		f.Walk, f.Far = rng.IntN(4) > 0, []int{0, 33, 60, 300, 3000}[rng.IntN(5)]
		f.Pieces = 2000
		f.Last, f.LastCut, f.Miss = "", 0, false
	case 13:
		f.Letters = Letters[:2+rng.IntN(len(Letters)-2)]
	case 14:
		// Runs of words.
		f.Path = nil
		run, size := 20+rng.IntN(400), 1+rng.IntN(4)
		for range 2 + rng.IntN(20) {
			w := make([]byte, size)
			for i := range w {
				w[i] = Letters[rng.IntN(len(Letters))]
			}
			f.Path = append(f.Path, Part{string(w), max(1, run/size)})
		}
		f.Shuffle, f.Coin, f.Reps = rng.IntN(2) == 0, 0, 1000
	case 15:
		f.Least = 1 + rng.IntN(4)
		f.Most = f.Least + rng.IntN(3)
	}
	if len(f.Path) == 0 && f.Coin == 0 {
		f.Coin = 500
	}
	f.Pieces = min(f.Pieces, 2000)
	return f
}
