// Bench makes a table of benchmarks that compare package robots with other matchers (make bench).
//
//	go test -bench . | go run . results
package main

import (
	"bufio"
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
	if len(os.Args) != 2 {
		fmt.Fprintln(
			os.Stderr,
			"bench: want a folder for bench.txt (what was read), table.md and match.svg; the output of go test -bench is read from standard input",
		)
		os.Exit(2)
	}
	if err := run(io.TeeReader(os.Stdin, os.Stderr), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run reads benchmark output and writes it with its table and its chart into a folder.
func run(in io.Reader, dir string) error {
	var text strings.Builder
	r, err := read(io.TeeReader(in, &text))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for name, content := range map[string]string{"bench.txt": text.String(), "table.md": r.table(), "match.svg": r.chart()} {
		if content == "" { // no chart
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

func (r *results) table() string {
	var b strings.Builder
	b.WriteString("# Benchmark results\n\n")
	for _, c := range r.config {
		b.WriteString("- " + c + "\n")
	}
	b.WriteString("\nTimes are medians per file, path, URL or rule. The comparison is the median of the ratios of each round (lowest and\n" +
		"highest); a limit on time or memory applies to the best round.\n\n" +
		"| row | what is measured | robots | baseline | times as fast, or best | floor | |\n|---|---|--:|--:|--:|--:|---|\n")
	for _, w := range rows() {
		values := r.values[key(w.name, ours, w.goal.unit)]
		mine, best, _ := median(values)
		if mine == 0 {
			continue
		}
		baseline := ""
		text := inUnit(best, w.goal.unit)
		floor := "≤ " + inUnit(w.goal.floor, w.goal.unit)
		below := best > w.goal.floor
		if w.goal.baseline != "" {
			theirs := r.values[key(w.name, w.goal.baseline, w.goal.unit)]
			var ratios []float64
			for i := range min(len(values), len(theirs)) {
				ratios = append(ratios, theirs[i]/values[i])
			}
			time, _, _ := median(theirs)
			mid, low, high := median(ratios)
			baseline = w.goal.baseline + ": " + inUnit(time, w.goal.unit)
			text = fmt.Sprintf("%s (%s–%s)", number(mid), number(low), number(high))
			floor = "≥ " + number(w.goal.floor)
			below = mid < w.goal.floor
		}
		per := ""
		reached := "reached"
		if w.goal.unit == "ns/op" {
			per = "/" + w.per
		}
		if w.goal.floor == 0 {
			floor = ""
			reached = ""
		} else if below {
			reached = "**not reached**"
		}
		fmt.Fprintf(
			&b, "| %s | %s | %s%s | %s | %s | %s | %s |\n", w.name, w.about, inUnit(mine, w.goal.unit), per, baseline, text, floor,
			reached,
		)
	}
	return b.String()
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
