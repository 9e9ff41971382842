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

// readFile reads the robots.txt that -f names.
func readFile(std *streams, name string, file optional) (*robots.File, error) {
	from := std.in
	title := "standard input"
	if file.text != "-" {
		title = file.text
		if title == "" {
			return nil, errors.New("the name after -f is empty")
		}
		f, err := os.Open(file.text)
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
	return robots.Parse(body), nil
}

// readURLs returns the URLs of the command line, with those of standard input,
// one a line, in place of the argument "-". Blank lines are passed over. They
// are all read before the first is answered, because a call with a bad URL
// among them answers nothing.
func readURLs(std *streams, o *options) ([]string, error) {
	var urls []string
	read := false
	for _, arg := range o.urls {
		if arg != "-" {
			urls = append(urls, arg)
			continue
		}
		if read || o.file.text == "-" {
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
		before := len(urls)
		for line := range bytes.Lines(list) {
			if url := strings.TrimRight(string(line), "\r\n"); url != "" {
				urls = append(urls, url)
			}
		}
		if len(urls) == before {
			return nil, errors.New("standard input holds no URL")
		}
	}
	if len(urls) == 0 {
		return nil, errors.New("no URL given: name at least one, or - to read them from standard input")
	}
	return urls, nil
}
