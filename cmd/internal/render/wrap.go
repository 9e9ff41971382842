package render

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Width is the number of columns of text, where words permit it.
const Width = 100

// Wrap writes text after lead and breaks it between words; what follows is indented to the
// width of lead. If that leaves no room, text begins below lead.
func Wrap(w io.Writer, lead, text string) {
	indent := Columns(lead)
	if indent > Width-24 {
		fmt.Fprintln(w, strings.TrimRight(lead, " "))
		indent = 12
		lead = strings.Repeat(" ", indent)
	}
	line := lead
	column := indent
	words := strings.Split(text, " ")
	for i, word := range words {
		if i > 0 && startsLine(words[i-1]) {
			continue // written with the word before
		}
		if startsLine(word) && i+1 < len(words) {
			word += " " + words[i+1]
		}
		n := Columns(word)
		switch {
		case i == 0:
		case column+1+n > Width:
			fmt.Fprintln(w, line)
			line = strings.Repeat(" ", indent)
			column = indent
		default:
			line += " "
			column++
		}
		line += word
		column += n
	}
	fmt.Fprintln(w, line)
}

// startsLine reports whether a word begins a line of robots.txt, which is not broken behind it.
func startsLine(word string) bool {
	return word == "Disallow:" || word == "Allow:" || word == "User-agent:"
}

// Columns returns how many characters of s a terminal shows: not those of escape sequences.
func Columns(s string) int {
	n := 0
	for {
		seen, rest, ok := strings.Cut(s, "\x1b")
		n += utf8.RuneCountInString(seen)
		if !ok {
			return n
		}
		end := "m"
		if strings.HasPrefix(rest, "]") {
			end = "\x1b\\"
		}
		_, s, _ = strings.Cut(rest, end)
	}
}
