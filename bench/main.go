// Bench makes a table of benchmarks that compare package robots with other matchers (make bench).
//
//	go test -bench . | go run . -o results
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

func main() {
	dir := flag.String("o", "", "`folder` for bench.txt (what was read), table.md and match.svg")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "bench: unexpected argument; the output of go test -bench is read from standard input")
		os.Exit(2)
	}
	if err := run(os.Stdin, os.Stderr, os.Stdout, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run copies benchmark output to progress and writes the table of it.
func run(in io.Reader, progress, out io.Writer, dir string) error {
	var text strings.Builder
	r, err := read(io.TeeReader(in, io.MultiWriter(progress, &text)))
	if err != nil {
		return err
	}
	table := r.table()
	if _, err := io.WriteString(out, table); err != nil || dir == "" {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for name, content := range map[string]string{"bench.txt": text.String(), "table.md": table, "match.svg": r.chart()} {
		if content == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// results are benchmark results: the lines "key: value", and of each row, engine and unit the values in the order of the
// rounds.
type results struct {
	config []string
	values map[string][]float64
}

func key(row, engine, unit string) string { return row + " " + engine + " " + unit }

// read reads the output of go test -bench, of any number of runs after each other.
func read(in io.Reader) (*results, error) {
	r := &results{values: map[string][]float64{}}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "FAIL") || strings.HasPrefix(line, "--- FAIL") || strings.HasPrefix(line, "panic:") {
			return nil, fmt.Errorf("a benchmark failed: %s", line)
		}
		name, ok := strings.CutPrefix(line, "BenchmarkRow/")
		if !ok {
			if k, _, ok := strings.Cut(line, ": "); ok && !strings.Contains(k, " ") && !slices.Contains(r.config, line) {
				r.config = append(r.config, line)
			}
			continue
		}
		fields := strings.Fields(name)
		row, engine, ok := strings.Cut(fields[0], "/engine=")
		if !ok || len(fields)%2 != 0 {
			return nil, fmt.Errorf("unexpected line %q", line)
		}
		if i := strings.LastIndexByte(engine, '-'); i >= 0 && strings.Trim(engine[i+1:], "0123456789") == "" {
			engine = engine[:i] // the number of cores
		}
		for i := 2; i+1 < len(fields); i += 2 {
			v, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", line, err)
			}
			k := key(row, engine, fields[i+1])
			r.values[k] = append(r.values[k], v)
		}
	}
	if len(r.values) == 0 && lines.Err() == nil {
		return nil, fmt.Errorf("no benchmark results on standard input")
	}
	return r, lines.Err()
}

// median returns the middle of some values, and the least and the largest; zeros if there are none.
func median(values []float64) (mid, low, high float64) {
	if len(values) == 0 {
		return 0, 0, 0
	}
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2, v[0], v[n-1]
}

// figures returns the value that the goal of a row limits, and its text: the speed of robots as a multiple of the
// baseline's, the median over the rounds, or the lowest value, because other load on the machine only adds to it.
func (r *results) figures(w row) (value float64, text string) {
	if w.goal.baseline == "" {
		_, low, _ := median(r.values[key(w.name, ours, w.goal.unit)])
		return low, inUnit(low, w.goal.unit)
	}
	mine, theirs := r.values[key(w.name, ours, "ns/op")], r.values[key(w.name, w.goal.baseline, "ns/op")]
	var ratios []float64
	for i := range min(len(mine), len(theirs)) {
		ratios = append(ratios, theirs[i]/mine[i])
	}
	mid, low, high := median(ratios)
	return mid, fmt.Sprintf("%s (%s–%s)", number(mid), number(low), number(high))
}

func (r *results) table() string {
	var b strings.Builder
	b.WriteString("# Benchmark results\n\n")
	for _, c := range r.config {
		b.WriteString("- " + c + "\n")
	}
	b.WriteString("\nTimes are medians per file, path, URL or rule. The comparison is the median of the ratios of each round (lowest and\n" +
		"highest); a limit on time or memory applies to the best round.\n\n" +
		"| row | what is measured | robots | baseline | times as fast, or best | floor | aim | |\n|---|---|--:|--:|--:|--:|--:|---|\n")
	for _, w := range rows() {
		unit := w.goal.unit
		if w.goal.baseline != "" {
			unit = "ns/op"
		}
		mine, _, _ := median(r.values[key(w.name, ours, unit)])
		if mine == 0 {
			continue
		}
		baseline := ""
		if w.goal.baseline != "" {
			theirs, _, _ := median(r.values[key(w.name, w.goal.baseline, "ns/op")])
			baseline = w.goal.baseline + ": " + inUnit(theirs, "ns/op")
		}
		per := ""
		if unit == "ns/op" {
			per = "/" + w.per
		}
		value, text := r.figures(w)
		floor, aim, reached := w.goal.words(value)
		fmt.Fprintf(&b, "| %s | %s | %s%s | %s | %s | %s | %s | %s |\n", w.name, w.about, inUnit(mine, unit), per, baseline, text, floor, aim, reached)
	}
	return b.String()
}

// words returns the goal in words, and whether a value reaches it.
func (g goal) words(v float64) (floor, aim, reached string) {
	if g.floor == 0 {
		return "", "", ""
	}
	if g.baseline == "" {
		floor, aim = "≤ "+inUnit(g.floor, g.unit), "≤ "+inUnit(g.aim, g.unit)
		v, g.floor, g.aim = -v, -g.floor, -g.aim
	} else {
		floor, aim = "≥ "+number(g.floor), "≥ "+number(g.aim)
	}
	switch {
	case v >= g.aim:
		return floor, aim, "aim reached"
	case v >= g.floor:
		return floor, aim, "floor reached"
	}
	return floor, aim, "**below the floor**"
}

func inUnit(v float64, unit string) string {
	if unit != "ns/op" {
		return number(v) + " " + unit
	}
	for _, u := range []string{"ns", "µs", "ms"} {
		if v < 1000 {
			return number(v) + " " + u
		}
		v /= 1000
	}
	return number(v) + " s"
}

// number writes three digits, and a comma between thousands.
func number(v float64) string {
	if v >= 1000 {
		return number(math.Floor(v/1000)) + fmt.Sprintf(",%03d", int(v)%1000)
	}
	return strconv.FormatFloat(v, 'g', max(3, len(strconv.Itoa(int(v)))), 64)
}
