package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/screen"
)

// A URLReader reads the URLs of a run: its arguments, of which "-" is a list on standard
// input, then the list of --urls.
type URLReader struct {
	Std  *screen.Streams
	Args []string
	URLs string
	Item string   // what each line of a list is, "" for a list of URLs in any form
	Live *Live    // downloads a list at a URL
	list *URLList // the current one
	Err  error    // why it ended early
	ctx  context.Context
}

// StdinOnce returns an error if several names are that of standard input.
func StdinOnce(names ...string) error {
	if i := slices.Index(names, "-"); i >= 0 && slices.Contains(names[i+1:], "-") {
		return errors.New("standard input can be read only once")
	}
	return nil
}

// IsList reports whether URLs come from a list.
func (u *URLReader) IsList() bool { return u.URLs != "" || slices.Contains(u.Args, "-") }

// All yields the URLs, and an error for each line without one.
func (u *URLReader) All() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, arg := range u.Args {
			if arg == "-" && !u.listed(arg, yield) || arg != "-" && !yield(arg, nil) {
				return
			}
		}
		if u.URLs != "" {
			u.listed(u.URLs, yield)
		}
	}
}

// listed yields the URLs of a list, and reports whether more are wanted.
func (u *URLReader) listed(name string, yield func(string, error) bool) bool {
	u.list, u.Err = OpenURLs(cmp.Or(u.ctx, context.Background()), u.Std, u.Live, name)
	if u.Err != nil {
		return false
	}
	defer u.list.Close()
	u.list.plain = u.Item != ""
	found := false
	for url, err := range u.list.All() {
		found = true
		if !yield(url, err) {
			return false
		}
	}
	u.Err = u.list.Err
	if u.Err == nil && !found {
		u.Err = fmt.Errorf("%s has no %s", u.list.Title, cmp.Or(u.Item, "URL"))
	}
	u.list = nil
	return u.Err == nil
}

// Ready reports whether the next URL is there without waiting for input.
func (u *URLReader) Ready() bool { return u.list == nil || u.list.Ready() }

// AsURL returns the last URL, the target of a request in a log with a host.
func (u *URLReader) AsURL(text string) string { return u.list.AsURL(text) }

// Parsed parses the URLs of a reader, to read them ahead. An entry is valid until the next one.
func Parsed[T any](u *URLReader, parse func(text string, line *T) (robots.Origin, error)) iter.Seq2[*Entry[T], error] {
	return func(yield func(*Entry[T], error) bool) {
		var e Entry[T]
		for text, err := range u.All() {
			e = Entry[T]{Err: err, Bytes: len(text)}
			if err == nil {
				if e.Origin, err = parse(text, &e.Line); err != nil {
					e.Err = u.list.at(err)
				}
			}
			if !yield(&e, nil) {
				return
			}
		}
		yield(nil, cmp.Or(u.Err, io.EOF))
	}
}
