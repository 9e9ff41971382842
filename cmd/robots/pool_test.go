package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A pool works like an executable pool of ClickHouse: processes that stay open, each of which
// gets a chunk of rows and has to answer all of it before it gets another. They run the commands
// of docs/bulk.md.
type pool struct {
	t      *testing.T
	idle   chan *pooled
	header bool
}

type pooled struct {
	in    io.WriteCloser
	out   *bufio.Reader
	ended func() error
}

func newPool(t *testing.T, processes int, header bool) *pool {
	p := &pool{t, make(chan *pooled, processes), header}
	page, err := os.ReadFile("../../docs/bulk.md")
	if err != nil {
		t.Fatal(err)
	}
	command := `\.pipe\("robots (.*?)"\)` // of Spark
	if header {
		command = `<command>robots (.*?)</command>`
	}
	found := regexp.MustCompile(command).FindSubmatch(page)
	if found == nil {
		t.Fatalf("docs/bulk.md has no command %s", command)
	}
	for range processes {
		cmd, in, out := start(t, os.Stderr, strings.Fields(string(found[1]))...)
		p.idle <- &pooled{in, bufio.NewReader(out), cmd.Wait}
	}
	return p
}

// ask sends a chunk to an idle process and returns its answers.
func (p *pool) ask(rows []string) (answers []string, err error) {
	c := <-p.idle
	defer func() { p.idle <- c }()
	var chunk strings.Builder
	if p.header {
		fmt.Fprintln(&chunk, len(rows))
	}
	for _, row := range rows {
		chunk.WriteString(row + "\n")
	}
	wrote := make(chan error, 1)
	go func() {
		_, err := io.WriteString(c.in, chunk.String())
		wrote <- err
	}()
	if p.header {
		line, err := c.out.ReadString('\n')
		if err != nil || line != fmt.Sprintln(len(rows)) {
			return nil, fmt.Errorf("before %d rows: %q, %w", len(rows), line, err)
		}
	}
	for range rows {
		line, err := c.out.ReadString('\n')
		if err != nil {
			return nil, err
		}
		answers = append(answers, strings.TrimSuffix(line, "\n"))
	}
	return answers, <-wrote
}

// end closes the pipes: every process ends with status 0 and no further output.
func (p *pool) end() {
	for range cap(p.idle) {
		c := <-p.idle
		c.in.Close()
		rest, err := io.ReadAll(c.out)
		if ended := c.ended(); err != nil || ended != nil || len(rest) > 0 {
			p.t.Errorf("behind the last chunk: %q, %v, %v", rest, err, ended)
		}
	}
}

func rowOf(body []byte, agent, dialect, url string) string {
	return strings.Join([]string{base64.StdEncoding.EncodeToString(body), agent, dialect, url}, "\t")
}

// TestPool: several processes, chunks of any length, one output row per input row, in order, and
// nothing is kept back at the end of a chunk.
func TestPool(t *testing.T) {
	for _, header := range []bool{false, true} {
		p := newPool(t, 3, header)
		var all sync.WaitGroup
		for worker := range 6 { // more than processes, which they take in turns
			all.Go(func() {
				r := rand.New(rand.NewPCG(uint64(worker), 9))
				for chunk := range 8 {
					var rows, want []string
					for i := range []int{0, 1, 2, 1000, 3}[r.IntN(5)] {
						switch line := r.IntN(20) + 1; {
						case i%17 == 16:
							rows, want = append(rows, "no row"), append(want, `\N	\N	\N	expected 4 columns (robots_b64, agent, dialect, url), got 1`)
						case i%5 == 4:
							rows, want = append(rows, `\N	\N	\N	/`), append(want, `allow	empty-file	\N	\N`)
						default:
							body := "User-agent: *\n" + strings.Repeat("#\n", line-1) + "Disallow: /x\n"
							url := fmt.Sprintf("/x/%d/%d/%d", worker, chunk, i)
							rows, want = append(rows, rowOf([]byte(body), "A", "google", url)), append(want, fmt.Sprintf(`disallow	rule	%d	\N`, line+1))
						}
					}
					got, err := p.ask(rows)
					if err != nil || !slices.Equal(got, want) {
						t.Errorf("worker %d, chunk %d: %v, got %.300q, want %.300q", worker, chunk, err, got, want)
						return
					}
				}
			})
		}
		all.Wait()
		p.end()
	}
}

// TestRowsEnd: an invalid chunk ends the program, after the rows before it.
func TestRowsEnd(t *testing.T) {
	const row, answer = "\t\t\t/\n", "allow\tempty-file\t\\N\t\\N\n"
	for _, c := range []struct {
		args     []string
		in, out  string
		complain string
	}{
		{[]string{"--format", "tsv"}, row + strings.TrimSuffix(row, "\n"), answer + answer, ""},
		{[]string{"--format", "tsv"}, "", "", ""},
		{[]string{"--format", "tsv", "--chunk-header"}, "1\n" + row + "0\n2\r\n" + row + row, "1\n" + answer + "0\n2\n" + answer + answer, ""},
		{[]string{"--format", "tsv", "--chunk-header"}, "1\n" + row + row, "1\n" + answer, "not the number of rows"},
		{[]string{"--format", "tsv", "--chunk-header"}, "-1\n" + row, "", "not the number of rows"},
		{[]string{"--format", "tsv", "--chunk-header"}, "3\n" + row, "3\n" + answer, "ended 2 rows before the end of its chunk"},
		{[]string{"--chunk-header"}, "{}\n", "", "--chunk-header requires --batch --format tsv"},
	} {
		var out, said bytes.Buffer
		status := run(context.Background(), append([]string{"check", "--batch"}, c.args...), strings.NewReader(c.in), &out, &said)
		if want := exitBad * min(len(c.complain), 1); status != want || out.String() != c.out || !strings.Contains(said.String(), c.complain) || c.complain == "" && said.Len() > 0 {
			t.Errorf("%q %q: status %d, %q, %q", c.args, c.in, status, &out, &said)
		}
	}
	var said bytes.Buffer
	if run(context.Background(), []string{"check", "--format", "tsv", "-f", os.DevNull, "/"}, strings.NewReader(""), io.Discard, &said); !strings.Contains(said.String(), "require --batch") {
		t.Errorf("without --batch: %q", &said)
	}
}
