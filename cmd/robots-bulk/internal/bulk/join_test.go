package bulk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/robotskit/robots"
)

// joinSample is a snapshot whose keys have several origins, and sites several captures.
func joinSample(t *testing.T) string {
	t.Helper()
	at := func(hour int) time.Time { return day.Add(time.Duration(hour-10) * time.Hour) }
	return snapshotOf(t,
		response("https://b.example/robots.txt", at(10), 200, "", "User-agent: *\nDisallow: /old\n")+
			response("https://b.example/robots.txt", at(14), 200, "", "User-agent: *\nDisallow: /new\n")+
			response("http://b.example/robots.txt", at(10), 200, "", "User-agent: *\nDisallow: /\n")+
			response("https://gone.example/robots.txt", at(10), 503, "", ""),
		response("https://www.b.example/robots.txt", at(11), 404, "", "")+
			response("https://b.example:8443/robots.txt", at(11), 200, "", "User-agent: *\nDisallow: /port\n")+
			response("https://b.example/robots.txt", at(12), 200, "", "User-agent: *\nDisallow: /mid\n")+
			response("https://sub.b.example/robots.txt", at(10), 200, "", "User-agent: *\nDisallow: /sub\n"))
}

// joinList has URLs by key with the expected results.
var joinList = []struct{ url, at, want string }{
	{"https://a.example/x", "20260501120000", "unknown"}, // no capture
	{"https://b.example/old", "20260501100000", "disallow /old part age 0"},
	{"https://b.example/old", "20260501095959", "unknown"}, // before the first
	{"https://b.example/mid?x=1", "20260501130000", "disallow /mid part age 3600"},
	{"https://b.example/mid", "20260501140000", "allow  part age 0"},
	{"https://www.b.example/old", "20260501130000", "allow  all age 7200"},
	{"http://b.example/old", "20260501130000", "disallow / none age 10800"},
	{"ftp://b.example/old", "20260501130000", "unknown"},
	{"https://sub.b.example/sub/x", "20260501130000", "disallow /sub part age 10800"},
	{"https://b.example:8443/port", "20260501130000", "disallow /port part age 7200"},
	{"https://gone.example/", "20260501130000", "unknown age 10800"},
}

func joinWants() (want []string) {
	for _, l := range joinList {
		want = append(want, l.url+" "+l.want)
	}
	return want
}

func joinedOf(t *testing.T, o JoinOptions, snapshot string, lists ...string) []string {
	t.Helper()
	task, err := o.JoinTask(filepath.Join(t.TempDir(), "out"), Parquet, snapshot, lists)
	var got []string
	for _, r := range rowsOf[JoinedVerdict](t, task, err) {
		line := r.URL + " "
		if r.Verdict == "" {
			line += r.Access
		} else {
			line += r.Verdict + " " + r.Pattern + " " + r.Access
		}
		if r.AgeS != nil {
			line += fmt.Sprintf(" age %d", *r.AgeS)
		}
		got = append(got, line)
	}
	return got
}

// TestJoinForms: in every list format, a URL gets the capture that applied at its time, of
// its own origin.
func TestJoinForms(t *testing.T) {
	snapshot := joinSample(t)
	forms := map[string]func() []byte{
		"list.jsonl": func() (b []byte) {
			for _, l := range joinList {
				b = fmt.Appendf(b, "{\"at\":%q,\"url\":%q,\"x\":[1]}\n", l.at, l.url)
			}
			return b
		},
		"list.csv.gz": func() []byte {
			text := "id,URL,at\r\n"
			for i, l := range joinList {
				text += fmt.Sprintf("%d,\"%s\",%s\r\n", i, l.url, l.at)
			}
			return []byte(zipped(text))
		},
		"list.cdxj": func() (b []byte) {
			b = []byte("!meta {}\n")
			for _, l := range joinList {
				origin, path, _ := robots.ParseURL(l.url)
				b = fmt.Appendf(b, "%s)%s %s {\"url\": %q, \"status\": \"200\"}\n", SURT(origin), strings.ToLower(path.String()), l.at, l.url)
			}
			return b
		},
		"cdx-00000.parquet": func() []byte {
			type row struct {
				Key  string    `parquet:"url_surtkey"`
				URL  string    `parquet:"url"`
				Time time.Time `parquet:"fetch_time,timestamp(microsecond)"`
				More string    `parquet:"fetch_status,optional"`
			}
			var rows []row
			for _, l := range joinList {
				origin, path, _ := robots.ParseURL(l.url)
				at, _ := listTime(l.at)
				rows = append(rows, row{SURT(origin) + ")" + path.String(), l.url, at, ""})
			}
			var b bytes.Buffer
			w := parquet.NewGenericWriter[row](&b, parquet.MaxRowsPerRowGroup(3))
			if _, err := w.Write(rows); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			return b.Bytes()
		},
	}
	for name, form := range forms {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, form(), 0o666); err != nil {
			t.Fatal(err)
		}
		if got := joinedOf(t, JoinOptions{}, snapshot, path); !slices.Equal(got, joinWants()) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(joinWants(), "\n"))
		}
	}
}

// TestJoinLists: several lists are joined in order, and the error for an unsorted list names a
// command that sorts it.
func TestJoinLists(t *testing.T) {
	snapshot := joinSample(t)
	dir := t.TempDir()
	var names []string
	var backwards string
	for i, l := range joinList {
		line := fmt.Sprintf("{\"url\":%q,\"at\":%q}\n", l.url, l.at)
		names = append(names, filepath.Join(dir, fmt.Sprintf("%02d.jsonl", i)))
		backwards = line + backwards
		if err := os.WriteFile(names[i], []byte(line), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	slices.Reverse(names)
	if got := joinedOf(t, JoinOptions{}, snapshot, names...); !slices.Equal(got, joinWants()) {
		t.Errorf("many lists: got\n%s", strings.Join(got, "\n"))
	}
	path := filepath.Join(dir, "backwards.jsonl")
	if err := os.WriteFile(path, []byte(backwards), 0o666); err != nil {
		t.Fatal(err)
	}
	task, err := JoinOptions{}.JoinTask(filepath.Join(dir, "out"), CSV, snapshot, []string{path})
	if err == nil {
		err = because(task.Dir, Run(t.Context(), task, RunOptions{}))
	}
	if err == nil || !strings.Contains(err.Error(), "line 2: example,b:8443 comes after example,gone") || !strings.Contains(err.Error(), "--sort") {
		t.Errorf("backwards: %v", err)
	}
	last := write(t, dir, map[string]string{"x.jsonl": "{\"url\":\"https://a.example/\",\"at\":\"20260501130000\"}\n"})
	task, err = JoinOptions{}.JoinTask(filepath.Join(dir, "overlap"), CSV, snapshot, append(last, names...))
	if err == nil {
		err = because(task.Dir, Run(t.Context(), task, RunOptions{}))
	}
	if err == nil || !strings.Contains(err.Error(), "comes before example,a of the next list") {
		t.Errorf("lists that overlap: %v", err)
	}
	got := joinedOf(t, JoinOptions{Sort: true}, snapshot, path)
	slices.Sort(got)
	if want := slices.Sorted(slices.Values(joinWants())); !slices.Equal(got, want) {
		t.Errorf("sorted: got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for text, want := range map[string]string{
		"{\"url\":\"https://b.example/\"}\n":              "--at",
		"https://b.example/\n":                            "not a list of URLs",
		"{\"at\":\"20260501130000\"}\n":                   "has no url",
		"{\"url\":\"https://b.example/\",\"at\":\"x\"}":   "is not a time",
		"{\"url\":\"" + strings.Repeat("x", maxLineBytes): "line 1: longer than 16777216 bytes",
	} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		task, err := JoinOptions{}.JoinTask(filepath.Join(t.TempDir(), "out"), CSV, snapshot, []string{path})
		if err == nil {
			err = because(task.Dir, Run(t.Context(), task, RunOptions{}))
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.100q: %v", text, err)
		}
	}
	if got := joinedOf(t, JoinOptions{At: time.Date(2026, 5, 1, 13, 0, 0, 0, time.UTC)}, snapshot, writeList(t, "{\"url\":\"https://b.example/mid\"}\n{\"url\":\"mailto:x\"}\n")); !slices.Equal(got, []string{"https://b.example/mid disallow /mid part age 3600", "mailto:x unknown"}) {
		t.Errorf("--at: %q", got)
	}
}

// TestListQuote: an unclosed quote in a CSV is an error before the rest of the list is read.
func TestListQuote(t *testing.T) {
	line := "https://a.example/,x\n"
	rest := strings.Repeat(line, 4<<20/len(line))
	for text, want := range map[string]string{
		"url,x\n" + line + "\n" + `"https://b.example/` + ",x\n": "line 4: longer than 16777216 bytes: check for an unclosed quote",
		"url,x\n" + line + `https://b.example/,"x` + "\n":        "line 3: longer than 16777216 bytes: check for an unclosed quote",
		`url,"x` + "\n": "line 1: longer than 16777216 bytes: check for an unclosed quote",
		"url,x\nhttps://b.example/" + strings.Repeat("x", maxLineBytes+64<<10): "line 2: longer than 16777216 bytes",
		"url,x\n" + line + `https://b"` + "\n":                                 `line 3, column 10: bare "`,
	} {
		more := []io.Reader{strings.NewReader(text)}
		for range 8 {
			more = append(more, strings.NewReader(rest))
		}
		unread := strings.NewReader(rest)
		err := readTextList(io.MultiReader(append(more, unread)...), "list.csv", func(rowPosition, listedURL) (bool, error) { return true, nil })
		if err == nil || !strings.HasPrefix(err.Error(), "list.csv: ") || !strings.Contains(err.Error(), want) || unread.Len() < len(rest) {
			t.Errorf("%.40q: %v, and %d of %d bytes are unread", text, err, unread.Len(), len(rest))
		}
	}
}

func writeList(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "list.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestDiff: verdicts are compared, not text, and each change has a witness.
func TestDiff(t *testing.T) {
	url := func(name string) string { return "https://" + name + ".example/robots.txt" }
	site := func(name, body string) string { return response(url(name), day, 200, "", body) }
	status := func(name string, status int) string { return response(url(name), day, status, "", "") }
	later := day.Add(time.Hour)
	before := snapshotOf(t,
		site("text", "User-agent: *\nDisallow: /a\n")+site("blocked", "")+site("opened", "User-agent: *\nDisallow: /private/\n"),
		status("none", 404)+site("gone", "")+status("down", 503)+site("twice", "User-agent: *\nDisallow: /b\n"))
	after := snapshotOf(t, site("text", "# new\nuser-agent: *\ndisallow: /a*\n")+site("blocked", "")+
		response(url("blocked"), later, 200, "", "User-agent: *\nAllow: /\n\nUser-agent: GPTBot\nDisallow: /\n")+status("opened", 404)+
		site("none", "User-agent: *\nDisallow:\n")+site("new", "")+site("down", "")+
		site("twice", "User-agent: *\nDisallow: /b\n")+response(url("twice"), later, 503, "", ""))
	o := EvaluationOptions{Agents: [][]string{{"GPTBot"}, {"x"}}}
	task, err := o.DiffTask(filepath.Join(t.TempDir(), "out"), JSONLZstd, before, after)
	got := ""
	for _, r := range rowsOf[AccessChange](t, task, err) {
		got += strings.TrimRight(fmt.Sprintln(r.Origin, r.Agent, r.Dialect, r.Change, r.Witness, r.LineBefore, r.LineAfter), " ")
	}
	want := `https://blocked.example GPTBot rfc9309 changed / 0 5
https://blocked.example x rfc9309 same  0 0
https://down.example GPTBot rfc9309 undecided  0 0
https://down.example x rfc9309 undecided  0 0
https://gone.example GPTBot rfc9309 gone  0 0
https://gone.example x rfc9309 gone  0 0
https://new.example GPTBot rfc9309 appeared  0 0
https://new.example x rfc9309 appeared  0 0
https://none.example GPTBot rfc9309 same  0 0
https://none.example x rfc9309 same  0 0
https://opened.example GPTBot rfc9309 changed /private/ 2 0
https://opened.example x rfc9309 changed /private/ 2 0
https://text.example GPTBot rfc9309 same  0 0
https://text.example x rfc9309 same  0 0
https://twice.example GPTBot rfc9309 same  0 0
https://twice.example x rfc9309 same  0 0
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestRanges: the result does not depend on how sites are divided into parts and row groups.
func TestRanges(t *testing.T) {
	defer func(rows, interval, work int) { rowsPerGroup, captureInterval, shardWork = rows, interval, work }(rowsPerGroup, captureInterval, shardWork)
	archives := [2][]string{make([]string, 3), make([]string, 1)}
	var list []byte
	for i := range 900 {
		for side, all := range archives {
			all[i%len(all)] += response(fmt.Sprintf("https://s%03d.example/robots.txt", i), day, 200, "", fmt.Sprintf("User-agent: *\nDisallow: /%d\n", i*side%5))
		}
		list = fmt.Appendf(list, "{\"url\":\"https://s%03d.example/%d\",\"at\":\"20260502000000\"}\n", i, i%5)
	}
	var verdicts [2][]Verdict
	var changes [2][]AccessChange
	var joined [2][]string
	lines := bytes.SplitAfter(list, []byte("\n"))
	for run := range 2 {
		var lists []string
		if run == 0 {
			lists = []string{writeList(t, string(list))}
		} else {
			rowsPerGroup = 50
			captureInterval = 7
			shardWork = 30 * (parsedCapture + 2)
			dir := t.TempDir()
			for i := range 9 {
				lists = append(lists, filepath.Join(dir, fmt.Sprint(i)))
				if err := os.WriteFile(lists[i], bytes.Join(lines[100*i:100*i+100], nil), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		}
		var snapshots [2]string
		for i, all := range archives {
			files := map[string]string{}
			for k, archive := range all {
				files[fmt.Sprint(k)] = archive
			}
			p := newPacking(t, PackOptions{Parts: 1 + run*(10-3*i)}, write(t, t.TempDir(), files)...)
			if err := p.run(t, RunOptions{}); err != nil {
				t.Fatal(err)
			}
			snapshots[i] = p.dir
		}
		before, after := snapshots[0], snapshots[1]
		task, err := EvaluationOptions{}.DiffTask(filepath.Join(t.TempDir(), "out"), Parquet, before, after)
		changes[run] = rowsOf[AccessChange](t, task, err)
		if run == 1 && len(task.Shards) < 8 {
			t.Errorf("%d ranges of sites", len(task.Shards))
		}
		joined[run] = joinedOf(t, JoinOptions{}, after, lists...)
		task, err = EvaluationOptions{Agents: [][]string{{"a"}, {"b"}}}.AskTask(filepath.Join(t.TempDir(), "out"), Parquet, after)
		verdicts[run] = rowsOf[Verdict](t, task, err)
		if run == 1 && len(task.Shards) < 28 {
			t.Errorf("%d shards of about 30 captures", len(task.Shards))
		}
		for i := range verdicts[run] {
			verdicts[run][i].Input = ""
		}
	}
	if !slices.Equal(verdicts[0], verdicts[1]) || len(verdicts[0]) != 1800 {
		t.Errorf("%d and %d verdicts, which differ", len(verdicts[0]), len(verdicts[1]))
	}
	if !slices.Equal(changes[0], changes[1]) || len(changes[0]) != 900 {
		t.Errorf("%d and %d rows of changes, which differ", len(changes[0]), len(changes[1]))
	}
	if !slices.Equal(joined[0], joined[1]) || len(joined[0]) != 900 {
		t.Errorf("%d and %d URLs, which differ", len(joined[0]), len(joined[1]))
	}
	for _, line := range joined[0] {
		if !strings.Contains(line, "disallow") {
			t.Fatalf("%s: each URL is disallowed", line)
		}
	}
}

// TestJoinNeighbors: the URL before never changes a row, whatever key, origin, capture or rule
// they share.
func TestJoinNeighbors(t *testing.T) {
	file := func(origin, rule string, at time.Time) string {
		return response(origin+"/robots.txt", at, 200, "", "User-agent: *\nDisallow: /"+rule+"\nDisallow: /all\n")
	}
	snapshot := snapshotOf(t, file("https://s.example", "a", day)+file("https://s.example", "b", day.Add(time.Hour))+file("https://www.s.example", "c", day)+
		response("http://s.example/robots.txt", day, 404, "", "")+file("https://s.example:8443", "d", day))
	var lines []string
	for _, url := range []string{
		"https://s.example/a", "https://s.example/all", "https://s.example?all", "https://S.example/all", "https://www.s.example/c",
		"http://s.example/a", "https://user@s.example/a", "https://s.example#/", "https://s.example/é\xff", "ftp://s.example/", `https://s.example\\/a`,
	} {
		for _, when := range []string{"20260501103000", "20260501120000"} {
			lines = append(lines, fmt.Sprintf("example,s)/ %s {\"url\": \"%s\"}\n", when, url))
		}
	}
	o := JoinOptions{EvaluationOptions: EvaluationOptions{Agents: [][]string{{"x"}, {"y"}}, Dialects: []string{"rfc9309", "google-cpp"}}}
	rows := func(lines ...string) (got []string) {
		task, err := o.JoinTask(filepath.Join(t.TempDir(), "out"), Parquet, snapshot, []string{writeList(t, strings.Join(lines, ""))})
		for _, row := range rowsOf[JoinedVerdict](t, task, err) {
			text, _ := json.Marshal(row)
			got = append(got, string(text))
		}
		return got
	}
	var pairs, want []string
	alone := map[string][]string{}
	for _, a := range lines {
		alone[a] = rows(a)
	}
	for _, a := range lines {
		for _, b := range lines {
			pairs, want = append(pairs, a, b), slices.Concat(want, alone[a], alone[b])
		}
	}
	for i, got := range rows(pairs...) {
		if got != want[i] {
			t.Fatalf("row %d: %s\nwant %s", i, got, want[i])
		}
	}
}
