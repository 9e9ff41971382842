package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/robotskit/robots"
)

// maxFile is how much of a file or of standard input is read, and how long a
// line of a batch may be.
const maxFile = 64 << 20

// readFile reads the robots.txt that -f names, and says what is strange about it
// as a dialect reads it.
func readFile(std *streams, name string, file optional, d robots.Dialect, maxBytes int) (*robots.File, error) {
	from := std.in
	title := "standard input"
	if file.text != "-" {
		title = file.text
		if title == "" {
			return nil, errors.New("the name after -f is empty")
		}
		f, err := os.Open(file.text)
		if err != nil && strings.Contains(title, "://") {
			return nil, fmt.Errorf("cannot read %s: -f takes a file; leave it out, and the site of the URL is asked", title)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", title, cause(err))
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return nil, fmt.Errorf("cannot read %s: it is a folder, -f needs a file", title)
		}
		from = f
	}
	body, err := io.ReadAll(io.LimitReader(from, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", title, cause(err))
	}
	if len(body) > maxFile {
		body = body[:maxFile]
		warn(std, name, "%s is larger than 64 MiB; what is beyond is not read", title)
	}
	f := robots.Parse(body)
	warnFile(std, name, title, f, d, maxBytes)
	switch {
	case len(body) == 0 && file.text == "-":
		warn(std, name, "%s is empty, so it forbids nothing", title)
	case foreign(f):
		warn(std, name, "%s holds no line that a robots.txt is made of, so it forbids nothing: is it the right file?", title)
	}
	return f, nil
}

// warnFile says what is strange about a file as a whole, if anything is. What
// --max-bytes cuts off is no surprise.
func warnFile(std *streams, name, title string, f *robots.File, d robots.Dialect, maxBytes int) {
	if maxBytes != noLimit {
		d.MaxFileBytes = 0
	}
	for _, n := range f.Notes(d) {
		fmt.Fprintf(std.err, "%s: warning: %s (%s)\n", name, robots.Printable(title+": "+n.Text), std.errColours.link(n.Clause, 0))
	}
}

// foreign reports whether a file has text and none of it is a line with a name
// that robots.txt knows, as in a page or a program.
func foreign(f *robots.File) bool {
	text := false
	for line := range f.Lines() {
		if line.Field > robots.FieldUnknown {
			return false
		}
		text = text || line.Field == robots.FieldUnknown ||
			strings.TrimSpace(strings.TrimSuffix(f.Text(line.Span), f.Text(line.Comment))) != ""
	}
	return text
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// A target is a URL as it is given, with the number of its line if it comes from
// standard input.
type target struct {
	url  string
	line int
}

// wrong says what is wrong with a target, with where it stands in a list.
func (t target) wrong(err error) error {
	if t.line == 0 {
		return err
	}
	return fmt.Errorf("line %d of standard input: %w", t.line, err)
}

// readURLs returns the URLs of the command line, with those of standard input,
// one per line, in place of the argument "-". Blank lines are passed over. They
// are all read before the first is answered, because a call with a bad URL
// among its arguments answers nothing.
func readURLs(std *streams, args []string, file string) ([]target, error) {
	var urls []target
	read := false
	for _, arg := range args {
		if arg != "-" {
			urls = append(urls, target{url: arg})
			continue
		}
		if read || file == "-" {
			return nil, errors.New("standard input can be read only once")
		}
		read = true
		list, err := io.ReadAll(io.LimitReader(std.in, maxFile+1))
		if err != nil {
			return nil, fmt.Errorf("cannot read standard input: %w", cause(err))
		}
		if len(list) > maxFile {
			return nil, errors.New("standard input holds more than 64 MiB of URLs: use robots check --batch for so many")
		}
		before, number := len(urls), 0
		for line := range bytes.Lines(bytes.TrimPrefix(list, []byte("\uFEFF"))) {
			number++
			if len(bytes.TrimSpace(line)) > 0 {
				urls = append(urls, target{strings.TrimRight(string(line), "\r\n"), number})
			}
		}
		if len(urls) == before {
			return nil, errors.New("standard input holds no URL")
		}
	}
	return urls, nil
}

// oneURL returns the URL of a verb that takes one site: the argument, or the one
// that standard input holds.
func oneURL(std *streams, args []string) (string, error) {
	urls, err := readURLs(std, args, "")
	switch {
	case err != nil:
		return "", err
	case len(urls) == 0:
		return "", errors.New("no URL given: name any URL of the site")
	case len(args) > 1:
		return "", fmt.Errorf("unexpected argument %q: one site at a time", clip(args[1]))
	case len(urls) > 1:
		return "", fmt.Errorf("standard input holds %d URLs: one site at a time", len(urls))
	}
	return urls[0].url, nil
}
