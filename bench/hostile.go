package main

import (
	"fmt"
	"strings"
)

// fill makes a file of one group with the rules of rule(0), rule(1), ... up to
// the file limit.
func fill(rule func(i int) string) []byte {
	b := []byte("User-agent: *\n")
	for i := 0; ; i++ {
		r := rule(i)
		if r == "" || len(b)+len("Disallow: \n")+len(r) > fileLimit {
			return b
		}
		b = append(append(append(b, "Disallow: "...), r...), '\n')
	}
}

// pieces names i by n pieces out of eight, joined by stars.
func pieces(i, n int, of [8]string) string {
	s := make([]string, n)
	for k := range s {
		s[k] = of[i&7]
		i >>= 3
	}
	return strings.Join(s, "*")
}

// hostile returns the files meant to make one match slow: 500 KiB of rules of
// which none matches a path of 2 KiB. p1 to p8 are those of other comparisons;
// the rest aims at what an index does: required pieces that are all present,
// searches that nearly succeed, chains, duplicates.
func hostile() []problem {
	a := func(n int) string { return strings.Repeat("a", n) }
	times := strings.Repeat
	var all []problem
	add := func(about, url string, body []byte) {
		all = append(all, problem{
			name:    fmt.Sprintf("hostile/p%d", len(all)+1),
			about:   about,
			body:    body,
			queries: []query{newQuery(url)},
		})
	}
	once := func(rule string) []byte {
		return fill(func(i int) string {
			if i > 0 {
				return ""
			}
			return rule
		})
	}
	as := "/" + a(2047)

	add("one rule, 10 stars", as, once("/"+times("*a", 10)+"*b"))
	add("short rules, 9 stars", as, fill(func(i int) string { return fmt.Sprint("/", times("*a", 9), "*b", i) }))
	add("rules with 1,000 stars", as, fill(func(i int) string { return fmt.Sprint("/", times("*a", 1000), "b", i) }))
	add("p2 with $", as, fill(func(i int) string { return fmt.Sprint("/", times("*a", 9), "*b", i, "$") }))
	add("literals, 400 shared bytes", as, fill(func(i int) string { return fmt.Sprint("/", a(400), i) }))
	add("rules /*a…ab", as, fill(func(i int) string { return fmt.Sprint("/*", a(40), "b", i) }))
	add("right pieces, wrong order", "/bbbb"+a(2040), fill(func(i int) string {
		s := "/*"
		for _, digit := range fmt.Sprintf("%05o", i%0o100000) {
			s += a(4+int(digit-'0')) + "*"
		}
		return s + "bbbb"
	}))
	add("near-miss infix", "/"+a(1000)+"b"+a(1000), fill(func(i int) string {
		return "/*" + a(40) + "b" + a(4+i%60) + "b" + a(4+i/60%60)
	}))

	// Eight pieces of the text (aab)^n, so that i can be told by pieces which
	// the path has in any number and order.
	aab := [8]string{"a", "b", "aa", "ab", "ba", "aab", "aba", "baa"}
	add("last piece only at the front, text of period 3", "/aaab"+times("aab", 680), fill(func(i int) string {
		return "/*baab*" + pieces(i, 5, aab) + "*aaab"
	}))
	add("the same, last piece of 80 bytes", "/"+times("aab", 25)+"aaab"+times("aab", 650), fill(func(i int) string {
		return "/*baab*" + pieces(i, 5, aab) + "*" + times("aab", 25) + "aaab"
	}))
	add("bbbb in (bbba)^n", "/bbbb"+times("abbb", 510), fill(func(i int) string {
		return "/*bbba*" + pieces(i, 5, [8]string{"a", "b", "ab", "ba", "bb", "abb", "bab", "bba"}) + "*bbbb"
	}))
	add("near miss of 60 bytes in (bbba)^n", "/"+times("bbba", 511), fill(func(i int) string {
		return "/*" + pieces(i, 5, [8]string{"a", "b", "ab", "ba", "bb", "abb", "bab", "bba"}) + "*" + times("bbba", 14) + "bbbb"
	}))
	add("near miss of 100 bytes in (bbba)^n", "/"+times("bbba", 511), fill(func(i int) string {
		return "/*" + pieces(i, 5, [8]string{"a", "b", "ab", "ba", "bb", "abb", "bab", "bba"}) + "*" + times("bbba", 24) + "bbbb"
	}))

	// A text without order over two letters: every short piece is in it, and
	// the searches see a candidate every few bytes.
	rng := newRand(1, 3)
	coin := make([]byte, 2047)
	for i := range coin {
		coin[i] = "ab"[rng.IntN(2)]
	}
	cut := func(n, from, to int) string { k := from + rng.IntN(to-from-n); return string(coin[k : k+n]) }
	add("pieces of 30, wrong order, random text of two letters", "/"+string(coin), fill(func(int) string {
		return "/*" + cut(30, 1024, 2047) + "*" + cut(30, 0, 1000)
	}))
	add("ten pieces of 12, then one that comes earlier", "/"+string(coin), fill(func(int) string {
		s := "/*"
		for k := range 10 {
			s += cut(12, 120*k, 120*k+120) + "*"
		}
		return s + cut(30, 0, 1000)
	}))
	add("runs of 11 then a piece that is not there", "/"+string(coin), fill(func(i int) string {
		return fmt.Sprintf("/*%s*%s", pieces(i, 6, aab), strings.ReplaceAll(cut(40, 0, 2000), "ab", "ba"))
	}))

	// One letter a piece: no piece is long enough for an index of substrings.
	letters := "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	down := []byte("/")
	for i := len(letters) - 1; i >= 0; i-- {
		down = append(down, times(letters[i:i+1], 33)...)
	}
	add("single letters, wrong order", string(down), fill(func(i int) string {
		n := len(letters)
		return fmt.Sprintf("/*%c*%c*%c*%c*%c", letters[i%n], letters[i/n%n], letters[i/n/n%n], letters[n-1], letters[0])
	}))
	add("single letters, 290 steps back", "/"+times("abcdefgh", 255), fill(func(i int) string {
		return "/*" + pieces(i, 5, [8]string{"a", "b", "c", "d", "e", "f", "g", "h"}) + times("*h*g*f*e*d*c*b*a", 37)
	}))
	add("two letters a piece, text (ab)^n", "/bb"+times("ab", 1022), fill(func(i int) string {
		return "/*ab*" + pieces(i, 5, [8]string{"a", "b", "ab", "ba", "aba", "bab", "abab", "baba"}) + "*bb"
	}))
	add("one rule of 250,000 stars", as, once("/"+times("*a", 250_000)+"b"))
	add("one rule of 500,000 stars in a row", as, once("/"+times("*", 500_000)+"b"))
	add("rules /a…ab, each one longer", as, fill(func(i int) string { return "/" + a(i) + "b" }))
	add("rules /a…a, 2,047 nested, duplicates", "/"+a(2046)+"b", fill(func(i int) string {
		return "/" + a(2+i*7%2047) + "c"
	}))
	add("one rule 15,000 times", "/aaab"+times("aab", 680), fill(func(i int) string { return "/*baab*aab*aba*aab*baa*aaab" }))
	add("suffix right, pieces in wrong order", "/bbbb"+a(2030)+"end", fill(func(i int) string {
		return "/*" + a(8) + "*" + pieces(i, 5, [8]string{"a", "aa", "aaa", a(4), a(5), a(6), a(7), a(8)}) + "*bbbb*end$"
	}))
	add("suffix of (aab)^n with $", "/aaab"+times("aab", 680), fill(func(i int) string {
		return "/*baab*" + pieces(i, 5, aab) + "*aaab*aab$"
	}))
	add("escapes in rules and path", "/%c3%a9"+times("%c3%a4%61", 226), fill(func(i int) string {
		return "/*%C3%A4a*" + pieces(i, 4, [8]string{"a", "%C3", "%A4", "%a4a", "%c3%a4", "ä", "äa", "a%c3"}) + "*%C3%A9"
	}))
	add("literal head of 1,000 bytes before the star", as, fill(func(i int) string {
		return "/" + a(1000) + "*" + pieces(i, 4, [8]string{"a", "aa", "aaa", a(4), a(5), a(6), a(7), a(8)}) + "*b"
	}))
	add("last piece aaaaaaaaaaaab only at the front", "/"+a(12)+"ba"+a(2032), fill(func(i int) string {
		return "/*ba*" + pieces(i, 5, [8]string{"a", "aa", "aaa", a(4), a(5), a(6), a(7), a(8)}) + "*" + a(12) + "b"
	}))

	// Rules of one random piece that the path does not hold, though it holds
	// every short window of it. The path has 2 KiB; where its bytes must be
	// escaped, its normal form has 6 KiB of period 3.
	random := func(alphabet string, n int) (url string, body []byte) {
		draw := func(n int) string {
			b := make([]byte, n)
			for i := range b {
				b[i] = alphabet[rng.IntN(len(alphabet))]
			}
			return string(b)
		}
		path := draw(2047)
		return "/" + path, fill(func(int) string {
			for {
				if s := draw(n); !strings.Contains(path, s) {
					return "/*" + s
				}
			}
		})
	}
	url, body := random("ab", 16)
	add("random pieces of 16 over two letters", url, body)
	url, body = random("ab", 70)
	add("random pieces of 70 over two letters", url, body)
	url, body = random("\xFE\xFF", 22)
	add("random pieces of 22 over two bytes to be escaped", url, body)
	url, body = random("\xFE\xFF", 12)
	add("random pieces of 12 over two bytes to be escaped", url, body)
	return all
}

// hostileBodies returns files meant to make reading slow.
func hostileBodies() []problem {
	var all []problem
	add := func(name, about string, unit string) {
		all = append(all, problem{
			name:    "hostile/read-" + name,
			about:   about,
			body:    []byte(strings.Repeat(unit, fileLimit/len(unit))),
			queries: []query{newQuery("/" + strings.Repeat("a", 40))},
		})
	}
	add("lf", "line feeds", "\n")
	add("cr", "carriage returns", "\r")
	add("colon", "empty fields", ":\n")
	add("hash", "empty comments", "#\n")
	add("u", "lines that begin like a user-agent line", "u\n")
	add("one-line", "one line", "a")
	add("agents", "a user-agent line each", "User-agent:a\n")
	add("groups", "the caller's group again and again", "User-agent:ExampleBot\nDisallow:/b\n")
	add("marks", "CR, '#' and NUL in turn", "a\r#\r\x00\r#\n")
	add("escapes", "rules of escapes", "User-agent:*\nDisallow:/%61%62%63*%2a%2A$%24\n")
	return all
}
