package bulk

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var day = time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)

// record returns a WARC 1.1 record. More are additional fields.
func record(kind, uri string, at time.Time, block string, more ...string) string {
	head := fmt.Sprintf("WARC/1.1\r\nWARC-Type: %s\r\nWARC-Target-URI: %s\r\nWARC-Date: %s\r\nContent-Length: %d\r\n",
		kind, uri, at.Format("2006-01-02T15:04:05.000Z"), len(block))
	for _, m := range more {
		head += m + "\r\n"
	}
	return head + "\r\n" + block + "\r\n\r\n"
}

func response(uri string, at time.Time, status int, header, body string, more ...string) string {
	return record("response", uri, at, fmt.Sprintf("HTTP/1.1 %d X\r\n%s\r\n%s", status, header, body), more...)
}

func redirect(uri string, at time.Time, to string) string {
	return response(uri, at, 301, "Location: "+to+"\r\n", "moved")
}

func zipped(s string) string {
	var b bytes.Buffer
	w := zippers.Get().(*gzip.Writer)
	defer zippers.Put(w)
	w.Reset(&b)
	io.WriteString(w, s)
	w.Close()
	return b.String()
}

// zippers are writers, each of which needs 1 MiB.
var zippers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// write writes files below a folder and returns their names.
func write(t testing.TB, dir string, files map[string]string) (names []string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, day, day); err != nil {
			t.Fatal(err)
		}
		names = append(names, path)
	}
	slices.Sort(names)
	return names
}

// packed is the content of a snapshot.
type packed struct {
	dir      string
	captures []Capture
	bodies   map[string]string
	damaged  map[string]int64
	sum      string // of all files and their names
}

// A packing is a call of Pack.
type packing struct {
	PackOptions
	dir    string
	inputs []Input
}

func newPacking(t testing.TB, o PackOptions, names ...string) *packing {
	t.Helper()
	inputs, err := o.ListInputs(names)
	if err != nil {
		t.Fatal(err)
	}
	return &packing{o, filepath.Join(t.TempDir(), "snap"), inputs}
}

func (p *packing) run(t testing.TB, o RunOptions) error {
	return because(p.dir, Pack(t.Context(), p.dir, Parquet, p.PackOptions, p.inputs, o))
}

func (p *packing) read(t testing.TB, i, n int) error {
	return PackRead(t.Context(), p.dir, p.PackOptions, p.inputs, n, RunOptions{Share: Share{i, n}})
}

func (p *packing) resolve(t testing.TB, i, n int) error {
	o := p.PackOptions
	o.Parts = n
	return PackResolve(t.Context(), p.dir, Parquet, o, RunOptions{Share: Share{i, n}})
}

func pack(t *testing.T, o PackOptions, run RunOptions, names ...string) *packed {
	t.Helper()
	p := newPacking(t, o, names...)
	if err := p.run(t, run); err != nil {
		t.Fatal(err)
	}
	return snapshot(t, p.dir)
}

func snapshot(t *testing.T, dir string) *packed {
	t.Helper()
	task, err := readManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	p := &packed{dir: task.Dir, bodies: map[string]string{}, damaged: map[string]int64{}}
	before := ""
	for _, s := range task.Shards {
		held := map[string]bool{}
		for b, err := range readTable[Body](task.partPath(tableBodies, task.PartName(s))) {
			if err != nil {
				t.Fatal(err)
			}
			if sum := sha256.Sum256(b.Body); fmt.Sprintf("%x", sum) != b.SHA256 && len(b.Body) < maxBodyBytes || held[b.SHA256] {
				t.Errorf("body %s is another, or there twice", b.SHA256)
			}
			held[b.SHA256] = true
			p.bodies[b.SHA256] = string(b.Body)
		}
		for c, err := range readTable[Capture](task.partPath(tableCaptures, task.PartName(s))) {
			if err != nil {
				t.Fatal(err)
			}
			if c.SHA256 != "" && !held[c.SHA256] {
				t.Errorf("%s: its body is not in its shard", c.URL)
			}
			key := fmt.Sprintf("%s\x00%s\x00%020d", c.SURT, c.Origin, c.Fetched.UnixMilli())
			if key < before {
				t.Errorf("%s is out of order", c.URL)
			}
			before = key
			c.Fetched = c.Fetched.UTC()
			p.captures = append(p.captures, c)
		}
		if f, err := os.Open(task.partPath(errorsDir, task.PartName(s))); err == nil {
			readLineRows(f, func(d Damage) bool { p.damaged[d.Kind] += d.Count; return true })
			f.Close()
		}
	}
	p.sum = sumOf(t, task.Dir)
	return p
}

// lines returns a line for each capture, in order.
func (p *packed) lines() (list []string) {
	for _, c := range p.captures {
		s := fmt.Sprintf("%s %s %s %s", c.Origin, c.Fetched.Format("15:04:05"), c.Outcome, c.Cause)
		if c.Status != 0 {
			s += fmt.Sprintf(" %d", c.Status)
		}
		if c.Location != "" {
			s += fmt.Sprintf(" -> %s (%d hops, %s)", c.Location, c.Hops, c.ResolvedFrom)
		}
		if c.SHA256 != "" {
			s += fmt.Sprintf(" %s %q", c.ContentKind, p.bodies[c.SHA256])
		}
		if c.Truncated {
			s += " truncated"
		}
		list = append(list, s)
	}
	slices.Sort(list)
	return list
}

func check(t *testing.T, p *packed, want []string, damaged map[string]int64) {
	t.Helper()
	got := p.lines()
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if fmt.Sprint(p.damaged) != fmt.Sprint(damaged) {
		t.Errorf("damaged: %v, want %v", p.damaged, damaged)
	}
}

// TestInputs packs the same files in every form.
func TestInputs(t *testing.T) {
	t.Parallel() // it waits for disks and timers
	const allow, none = "Allow: /\n", "Disallow: /\n"
	want := func(status string) []string {
		return []string{
			"https://a.test 10:00:00 success ok" + status + ` text "Allow: /\n"`,
			"http://b.test:8080 10:00:00 success ok" + status + ` text "Disallow: /\n"`,
			"https://c.test 10:00:00 success empty" + status + ` empty ""`,
			"https://d.zip 10:00:00 success ok" + status + ` html "<!DOCTYPE html><p>"`,
		}
	}
	files := map[string]string{
		"a.test": allow, "http/b.test:8080/robots.txt": none, "https%3A%2F%2Fc.test.txt": "", "d.zip": "<!DOCTYPE html><p>",
		".hidden": "x", "no site?": "x",
	}
	archive := response("https://a.test/robots.txt", day, 200, "", allow) +
		record("request", "https://a.test/robots.txt", day, "GET / HTTP/1.1\r\n\r\n") +
		record("response", "dns:a.test", day, "x") +
		response("http://B.test:8080/robots.txt", day, 200, "", none) +
		response("https://c.test:443/robots.txt", day, 200, "", "") +
		response("https://d.zip/robots.txt", day, 200, "", files["d.zip"]) +
		response("https://d.zip/robots.txt?x", day, 200, "", allow) +
		response("https://d.zip/other", day, 200, "", allow)
	var tarred, zips bytes.Buffer
	tw, zw := tar.NewWriter(&tarred), zip.NewWriter(&zips)
	lines := ""
	for _, name := range []string{"a.test", "http/b.test:8080/robots.txt", "https%3A%2F%2Fc.test.txt", "d.zip", ".hidden", "no site?"} {
		tw.WriteHeader(&tar.Header{Name: "./" + name, Size: int64(len(files[name])), ModTime: day, Mode: 0o666, Format: tar.FormatUSTAR})
		io.WriteString(tw, files[name])
		w, err := zw.CreateHeader(&zip.FileHeader{Name: name, Modified: day, Method: zip.Deflate})
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, files[name])
	}
	wacz, err := zw.CreateHeader(&zip.FileHeader{Name: "archive/e.warc.gz", Modified: day})
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(wacz, zipped(response("https://e.test/robots.txt", day, 404, "", "")))
	tw.Close()
	zw.Close()
	lines = `{"url":"https://a.test/x","robots":"Allow: /\n","id":7}` + "\n" +
		`{"url":"http://b.test:8080/","robots_b64":"RGlzYWxsb3c6IC8K","at":"2026-05-01T12:00:00+02:00"}` + "\r\n" +
		`{"url":"https://c.test","robots":""}` + "\n" + `{"url":"https://a.test/"}` + "\nnonsense\n" +
		`{"url":"https://d.zip","robots":"<!DOCTYPE html><p>"}`

	for _, test := range []struct {
		name    string
		files   map[string]string
		arg     string
		more    []string
		status  string
		damaged map[string]int64
	}{
		{"files in a folder", files, "", nil, "", map[string]int64{"name": 1}},
		{"files in a tar", map[string]string{"x.tar": tarred.String()}, "x.tar", nil, "", map[string]int64{"name": 1}},
		{"files in a tar.gz", map[string]string{"x": zipped(tarred.String())}, "x", nil, "", map[string]int64{"name": 1}},
		{"files in a zip", map[string]string{"x.zip": zips.String()}, "x.zip", []string{"https://e.test 10:00:00 unavailable client-error 404"}, "", map[string]int64{"name": 1}},
		{"lines", map[string]string{"x.jsonl": lines}, "x.jsonl", nil, "", map[string]int64{"line": 2}},
		{"lines.gz in a folder", map[string]string{"x.jsonl.gz": zipped(lines)}, "", nil, "", map[string]int64{"line": 2}},
		{"warc", map[string]string{"x": archive}, "x", nil, " 200", map[string]int64{}},
		{"warc.gz in a folder", map[string]string{"sub/x.warc.gz": zipped(archive) + zipped("x")}, "", nil, " 200", map[string]int64{"garbage": 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, test.files)
			p := pack(t, PackOptions{LooseFiles: strings.HasPrefix(test.name, "files")}, RunOptions{}, filepath.Join(dir, test.arg))
			check(t, p, append(want(test.status), test.more...), test.damaged)
		})
	}
}

// TestNotArchives: files that are not archives are counted and never become sites; in a WACZ
// only its archives are read.
func TestNotArchives(t *testing.T) {
	var wacz bytes.Buffer
	z := zip.NewWriter(&wacz)
	for name, text := range map[string]string{
		"archive/data.warc.gz": zipped(response("https://a.test/robots.txt", day, 200, "", "Disallow: /")),
		"pages/pages.jsonl":    `{"url":"https://b.test/","robots":""}` + "\n",
		"indexes/index.cdx":    "test,a)/robots.txt 2026",
		"c.test":               "Allow: /",
		"datapackage.json":     "{}",
	} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, text)
	}
	z.Close()
	files := map[string]string{
		"x.wacz":      wacz.String(),
		"a.cdx":       "test,a)/robots.txt 2026",
		"robots.test": "User-agent: *",
		"error.xml":   "<Error>no such key</Error>",
		"twice.gz":    zipped(zipped("WARC/1.0")),
		"x.arc":       "filedesc://x.arc 0.0.0.0 20260501000000 text/plain 1\n",
		"empty.warc":  "",
		"x.tar":       strings.Repeat("\x00", 257) + "ustar" + strings.Repeat("\x00", 762),
		"x.wet":       record("conversion", "https://a.test/robots.txt", day, "text"),
	}
	dir := t.TempDir()
	write(t, dir, files)
	want := []string{`https://a.test 10:00:00 success ok 200 text "Disallow: /"`}
	check(t, pack(t, PackOptions{}, RunOptions{}, dir), want, map[string]int64{damageNotArchive: 7, "no-capture": 1})
	check(t, pack(t, PackOptions{LooseFiles: true}, RunOptions{}, filepath.Join(dir, "x.wacz")), want, map[string]int64{})
}

// TestTruncated: a truncated file keeps its true size and digest, and is undecided where a
// dialect reads further. So is every path of an unreachable site.
func TestTruncated(t *testing.T) {
	long := "User-agent: *\nDisallow: /a\n" + strings.Repeat("# filler\n", 600_000/9) + "Disallow: /\n"
	other := long + "Allow: /b\n"
	snapshot := func(body string) (string, []Capture) {
		names := write(t, t.TempDir(), map[string]string{"x": response("https://a.test/robots.txt", day, 200, "", body) +
			response("https://b.test/robots.txt", day, 503, "", "")})
		p := pack(t, PackOptions{}, RunOptions{}, names...)
		return p.dir, p.captures
	}
	before, captures := snapshot(long)
	if c, sum := captures[0], sha256.Sum256([]byte(long)); !c.Truncated || c.Bytes != int64(len(long)) || c.SHA256 != fmt.Sprintf("%x", sum) {
		t.Errorf("%+v, want %d bytes with digest %x", c, len(long), sum)
	}
	o := EvaluationOptions{Dialects: []string{"rfc9309", "google-cpp"}, Paths: []string{"/a", "/robots.txt"}}
	task, err := o.AskTask(filepath.Join(t.TempDir(), "out"), Parquet, before)
	var got []string
	for _, r := range rowsOf[Verdict](t, task, err) {
		got = append(got, strings.TrimSpace(fmt.Sprint(r.SURT, " ", r.Dialect, " ", r.Path, " ", r.Access, " ", r.Verdict)))
	}
	if want := []string{
		"test,a rfc9309 /a part disallow", "test,a rfc9309 /robots.txt part allow", "test,a google-cpp /a undecided", "test,a google-cpp /robots.txt undecided",
		"test,b rfc9309 /a unknown", "test,b rfc9309 /robots.txt unknown", "test,b google-cpp /a unknown", "test,b google-cpp /robots.txt unknown",
	}; !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	after, _ := snapshot(other)
	task, err = EvaluationOptions{Dialects: []string{"rfc9309", "google-cpp"}}.DiffTask(filepath.Join(t.TempDir(), "diff"), Parquet, before, after)
	changes := rowsOf[AccessChange](t, task, err)
	if len(changes) != 4 || changes[0].Change != ChangeSame || changes[1].Change != ChangeUndecided {
		t.Errorf("%+v", changes)
	}
}

// blockDigest returns the WARC-Block-Digest of a block.
func blockDigest(block string) string {
	return fmt.Sprintf("WARC-Block-Digest: sha256:%x", sha256.Sum256([]byte(block)))
}

// TestDamagedBeginning: an archive whose first member cannot be decompressed has the records after it.
func TestDamagedBeginning(t *testing.T) {
	first := []byte(zipped(response("https://a.test/robots.txt", day, 404, "", "x")))
	clear(first[10:]) // after the header of gzip
	rest := zipped(response("https://b.test/robots.txt", day, 404, "", "x"))
	for _, loose := range []bool{false, true} {
		p := pack(t, PackOptions{LooseFiles: loose}, RunOptions{}, write(t, t.TempDir(), map[string]string{"a.warc.gz": string(first) + rest})...)
		check(t, p, []string{"https://b.test 10:00:00 unavailable client-error 404"}, map[string]int64{"gzip": 1})
	}
}

// TestDamage: a damaged record is no answer, whatever its status, and is counted.
func TestDamage(t *testing.T) {
	const url = "https://a.test/robots.txt"
	const file = "Allow: /\n"
	other := blockDigest("other bytes")
	bad := func(s string) string { // with another checksum
		b := []byte(zipped(s))
		b[len(b)-6] ^= 0xFF
		return string(b)
	}
	target := response("https://b.test/robots.txt", day, 200, "", file)
	good := `https://b.test 10:00:00 success ok 200 text "Allow: /\n"`
	badResponses := map[string]string{
		"200": response(url, day, 200, "", file, other),
		"404": response(url, day, 404, "", "gone", other),
		"410": response(url, day, 410, "", "", other),
		"503": response(url, day, 503, "", "", other),
		"301": response(url, day, 301, "Location: https://b.test/robots.txt\r\n", "", other),
		"304 revisit": record("revisit", url, day, "HTTP/1.1 304 X\r\n\r\n", other, "WARC-Refers-To-Target-URI: https://b.test/robots.txt",
			"WARC-Refers-To-Date: "+day.Format(time.RFC3339)),
		"revisit without HTTP": record("revisit", url, day, "x", other, "WARC-Refers-To-Target-URI: https://b.test/robots.txt",
			"WARC-Refers-To-Date: "+day.Format(time.RFC3339)),
		"404 revisit": record("revisit", url, day, "HTTP/1.1 404 X\r\n\r\n", other),
		"resource":    record("resource", url, day, file, other),
		"no HTTP":     record("response", url, day, "x", other),
		"no URI":      record("response", "", day, "x", other),
		"truncated":   response(url, day, 404, "", "gone", other, "WARC-Truncated: length"),
		"long":        response(url, day, 404, "", strings.Repeat("x", 600_000), other),
		"chunked":     response(url, day, 404, "Transfer-Encoding: chunked\r\n", "0\r\n\r\nmore", other),
	}
	for name, text := range badResponses {
		for _, form := range []func(string) string{func(s string) string { return s }, zipped} {
			p := pack(t, PackOptions{}, RunOptions{}, write(t, t.TempDir(), map[string]string{"x": form(target) + form(text)})...)
			if got := fmt.Sprint(p.lines(), p.damaged); got != fmt.Sprint([]string{good}, map[string]int64{"digest": 1}) {
				t.Errorf("%s: %s", name, got)
			}
		}
		text = strings.Replace(text, other, "X: y", 1)
		p := pack(t, PackOptions{}, RunOptions{}, write(t, t.TempDir(), map[string]string{"x": zipped(target) + bad(text)})...)
		if got := fmt.Sprint(p.lines(), p.damaged); got != fmt.Sprint([]string{good}, map[string]int64{"gzip": 1}) {
			t.Errorf("%s with another checksum: %s", name, got)
		}
	}

	// A body in chunks that is cut at any byte, or malformed.
	const chunks = "5;name=value; and more than is seen at a glance\r\nAllow\r\n4\r\n: /\n\r\n0\r\nX-Trailer: x\r\n\r\n"
	chunked := func(site, text string, fields ...string) string {
		return response("https://"+site+".test/robots.txt", day, 200, "Transfer-Encoding: chunked\r\n", text, fields...)
	}
	badChunks := []string{
		strings.Replace(chunks, "X-Trailer: x", "no field", 1), strings.Replace(chunks, "X-Trailer: x", " folded", 1),
		strings.Replace(chunks, "X-Trailer: x", "X Trailer: x", 1), strings.Replace(chunks, "X-Trailer: x", "X: \x00", 1),
		strings.Replace(chunks, "4\r\n", "3\r\n", 1), strings.Replace(chunks, "4\r\n", "z\r\n", 1), strings.Replace(chunks, "4\r\n", "\r\n", 1),
		strings.Replace(chunks, "X-Trailer: x", strings.Repeat("X-Trailer: x\r\n", 10_000), 1),
	}
	for i := range len(chunks) - 1 {
		badChunks = append(badChunks, chunks[:i+1])
	}
	records := chunked("b", chunks) + chunked("c", chunks[:strings.Index(chunks, "0\r\nX")], "WARC-Truncated: length")
	for i, text := range badChunks {
		records += chunked(fmt.Sprint("bad", i), text)
	}
	allChunks := pack(t, PackOptions{}, RunOptions{}, write(t, t.TempDir(), map[string]string{"x": records})...)
	wantChunks := []string{good, `https://c.test 10:00:00 success ok 200 text "Allow: /\n" truncated`}
	if got := fmt.Sprint(allChunks.lines(), allChunks.damaged); got != fmt.Sprint(wantChunks, map[string]int64{"http": int64(len(badChunks))}) {
		t.Errorf("chunks: %s\nwant %q and %d damaged", got, wantChunks, len(badChunks))
	}

	two := response(url, day, 404, "", "", "WARC-Record-ID: <urn:uuid:1>") + redirect("https://c.test/robots.txt", day, url)
	three := two + record("metadata", url, day, "x")
	revisit := record("revisit", "https://d.test/robots.txt", day, "", "WARC-Refers-To: <urn:uuid:1>")
	unresolved := "https://d.test 10:00:00 revisit-unresolved revisit-unresolved"
	lines := `{"url":"https://a.test","robots":""}` + "\n"
	var tarred, stored bytes.Buffer
	tw := tar.NewWriter(&tarred)
	for name, text := range map[string]string{"e.test": file, "f.test": strings.Repeat("# filler\n", 1000), "x.warc.gz": zipped(two)} {
		tw.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), ModTime: day, Mode: 0o666})
		io.WriteString(tw, text)
	}
	tw.Close()
	zw := zip.NewWriter(&stored)
	for name, text := range map[string]string{"e.test": "Allow: /e", "f.test": strings.Repeat("# filler\n", 1000), "x.warc": response(url, day, 404, "", "MARK") + two} {
		w, err := zw.CreateHeader(&zip.FileHeader{Name: name, Modified: day})
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, text)
	}
	zw.Close()
	flipped := stored.String()
	for _, mark := range []string{"Allow: /e", "# filler", "MARK"} {
		flipped = strings.Replace(flipped, mark, strings.ToLower(strings.Replace(mark, "#", "/", 1)), 1)
	}
	for _, test := range []struct {
		name, text string
		want       []string
		damaged    map[string]int64
	}{
		{"a member of many records", zipped(target) + bad(three) + zipped(revisit), []string{good, unresolved}, map[string]int64{"gzip": 1}},
		{"a member with data after the records", zipped(target) + bad(two+"\r\n\r\n\r\n"), []string{good}, map[string]int64{"gzip": 1}},
		{"a file of one member", bad(target + three), nil, map[string]int64{"gzip": 1}},
		{"a member without its end", zipped(target + three)[:len(zipped(target+three))-9], []string{good, "https://a.test 10:00:00 unavailable client-error 404",
			"https://c.test 10:00:00 unavailable client-error 404 -> https://a.test/robots.txt (1 hops, https://a.test/robots.txt)"}, map[string]int64{"gzip": 1}},
		{"lines", bad(lines + lines), nil, map[string]int64{"line": 1}},
		{"a tar", bad(tarred.String()), nil, map[string]int64{"tar": 1}},
		{"a zip", flipped, nil, map[string]int64{"zip": 3}},
		{"unusable URIs", record("response", "", day, "x") + record("response", "/robots.txt", day, "x") + record("response", "a.test/robots.txt", day, "x") +
			record("response", "<>", day, "x") + record("resource", "a.test:80/robots.txt", day, "x") + record("revisit", "http://", day, "x") +
			strings.Replace(record("response", "", day, "x"), "WARC-Target-URI: \r\n", "", 1) +
			record("response", "https://[a/robots.txt", day, "x") + record("response", "://a.test/robots.txt", day, "x") + target, []string{good}, map[string]int64{"uri": 9}},
		{"URIs of other schemes", record("response", "dns:192.0.2.1", day, "x") + record("resource", "urn:view:https://a.test/", day, "x") +
			record("response", "whois:192.0.2.1", day, "x") + record("resource", "metadata://x", day, "x") + target, []string{good}, map[string]int64{}},
		{"types", record("reponse", url, day, "x") + record("WARCinfo", "", day, "x") + record("request", "", day, "x") + record("metadata", "", day, "x") +
			record("conversion", url, day, "x") + record("continuation", url, day, "x") + record("Response", url, day, "HTTP/1.1 404 X\r\n\r\n"),
			[]string{"https://a.test 10:00:00 unavailable client-error 404"}, map[string]int64{"type": 1}},
		{"a header that ends early", record("response", url, day, "HTTP/1.1 404 X\r\nContent-Type: te") + record("response", url, day, "HTTP/1.1 301 X\r\nLocation: https://b.test/robots.txt\r\n") +
			target, []string{good}, map[string]int64{"http": 2}},
	} {
		p := pack(t, PackOptions{LooseFiles: true}, RunOptions{}, write(t, t.TempDir(), map[string]string{"x": test.text})...)
		got := p.lines()
		slices.Sort(test.want)
		if !slices.Equal(got, test.want) || fmt.Sprint(p.damaged) != fmt.Sprint(test.damaged) {
			t.Errorf("%s: %q, damaged %v", test.name, got, p.damaged)
		}
	}
}

func TestOriginOf(t *testing.T) {
	for name, want := range map[string]string{
		"example.com":                           "https://example.com",
		"example.com.txt":                       "https://example.com",
		"a/b/example.com.txt":                   "https://example.com",
		"example.com/robots.txt":                "https://example.com",
		"http/example.com/robots.txt":           "http://example.com",
		"http/example.com+8080":                 "http://example.com:8080",
		"example.com_robots.txt":                "https://example.com",
		"example.com.robots.txt":                "https://example.com",
		"http%3A%2F%2Fexample.com%3A81.txt":     "http://example.com:81",
		"http%3a%2f%2fexample.com%2frobots.txt": "http://example.com",
		"robots.txt":                            "https://robots",
		"example.zip":                           "https://example.zip", // a top-level domain
		"CC-MAIN-1.warc.gz":                     "",                    // an archive that did not arrive is no site without rules
		"x.warc":                                "",
		"x.tar.zst":                             "",
		"a.cdx":                                 "",
		"x.wet":                                 "",
		"error.xml":                             "",
		"sub/x.JSONL":                           "",
		"":                                      "",
		"a b":                                   "",
	} {
		got, err := originOf(name)
		if got.String() != want && err == nil || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", name, got, err, want)
		}
	}
}

// TestRedirects follows redirects across files.
func TestRedirects(t *testing.T) {
	const file = "Allow: /\n"
	url := func(host string) string { return "https://" + host + ".test/robots.txt" }
	second := func(n int) time.Time { return day.Add(time.Duration(n) * time.Second) }
	chain := ""
	for i := range 7 {
		chain += redirect(url(fmt.Sprint("r", i)), day, url(fmt.Sprint("r", i+1)))
	}
	dir := t.TempDir()
	names := write(t, dir, map[string]string{
		"0": redirect(url("a"), day, url("b")) +
			redirect(url("far"), day, url("b-far")) +
			redirect(url("gone"), day, url("nobody")) +
			redirect(url("loop"), day, url("loop")) +
			redirect(url("page"), day, "https://page.test/sub/../page?x") +
			redirect(url("near"), second(50), url("many")) +
			redirect(url("tie"), second(20), "//many.test/robots.txt") +
			redirect(url("moment"), day, url("same")) +
			redirect(url("ftp"), day, "ftp://a.test/") +
			redirect(url("dead"), day, url("down")),
		"1": response(url("b"), second(3600), 200, "", file) +
			response(url("b-far"), second(86401), 200, "", file) +
			response("https://page.test/sub/../page?x", day, 200, "", "<html>") +
			response(url("down"), day, 503, "", "") + chain,
		"2": response(url("many"), second(10), 404, "", "") + response(url("many"), second(30), 200, "", "#30") + response(url("many"), second(60), 200, "", "#60") +
			response(url("same"), day, 200, "", "#first") + response(url("same"), day, 200, "", "#second") +
			response(url("r7"), day, 200, "", file),
	})
	want := []string{
		"https://a.test 10:00:00 success ok 200 -> https://b.test/robots.txt (1 hops, https://b.test/robots.txt) text \"Allow: /\\n\"",
		"https://b.test 11:00:00 success ok 200 text \"Allow: /\\n\"",
		"https://far.test 10:00:00 redirect-unresolved not-archived 301 -> https://b-far.test/robots.txt (0 hops, )",
		"https://b-far.test 10:00:01 success ok 200 text \"Allow: /\\n\"",
		"https://gone.test 10:00:00 redirect-unresolved not-archived 301 -> https://nobody.test/robots.txt (0 hops, )",
		"https://loop.test 10:00:00 unavailable redirect-loop 301 -> https://loop.test/robots.txt (0 hops, )",
		"https://page.test 10:00:00 success ok 200 -> https://page.test/sub/../page?x (1 hops, https://page.test/sub/../page?x) html \"<html>\"",
		"https://near.test 10:00:50 success ok 200 -> https://many.test/robots.txt (1 hops, https://many.test/robots.txt) text \"#60\"",
		"https://tie.test 10:00:20 unavailable client-error 404 -> https://many.test/robots.txt (1 hops, https://many.test/robots.txt)",
		"https://moment.test 10:00:00 success ok 200 -> https://same.test/robots.txt (1 hops, https://same.test/robots.txt) text \"#first\"",
		"https://ftp.test 10:00:00 unreachable foreign-scheme 301",
		"https://dead.test 10:00:00 unreachable server-error 503 -> https://down.test/robots.txt (1 hops, https://down.test/robots.txt)",
		"https://down.test 10:00:00 unreachable server-error 503",
		"https://many.test 10:00:10 unavailable client-error 404", "https://many.test 10:00:30 success ok 200 text \"#30\"", "https://many.test 10:01:00 success ok 200 text \"#60\"",
		"https://same.test 10:00:00 success ok 200 text \"#first\"", "https://same.test 10:00:00 success ok 200 text \"#second\"",
		"https://r7.test 10:00:00 success ok 200 text \"Allow: /\\n\"",
		"https://r0.test 10:00:00 unavailable redirect-limit 301 -> https://r1.test/robots.txt (5 hops, https://r5.test/robots.txt)",
		"https://r1.test 10:00:00 unavailable redirect-limit 301 -> https://r2.test/robots.txt (5 hops, https://r6.test/robots.txt)",
	}
	for i := 2; i < 7; i++ {
		want = append(want, fmt.Sprintf("https://r%d.test 10:00:00 success ok 200 -> https://r%d.test/robots.txt (%d hops, https://r7.test/robots.txt) text \"Allow: /\\n\"", i, i+1, 7-i))
	}
	p := pack(t, PackOptions{}, RunOptions{}, names...)
	check(t, p, want, map[string]int64{})

	// The order of names, the number of workers and of calls do not change the bytes.
	slices.Reverse(names)
	other := pack(t, PackOptions{}, RunOptions{Workers: 3}, append(names, dir)...)
	if other.sum != p.sum {
		t.Error("other bytes with three workers and another order of names")
	}
	for parts := range 3 {
		divided := pack(t, PackOptions{Parts: 3 + 20*parts}, RunOptions{Workers: 2}, names...)
		check(t, divided, want, map[string]int64{})
		if !slices.Equal(divided.captures, p.captures) {
			t.Errorf("%d parts have other captures", 3+20*parts)
		}
	}
}

// TestRevisits: revisit records get the content of the record that they refer to.
func TestRevisits(t *testing.T) {
	const url, file = "https://a.test/robots.txt", "Allow: /\n"
	second := func(n int) time.Time { return day.Add(time.Duration(n) * time.Second) }
	at := func(n int) string { return "WARC-Refers-To-Date: " + second(n).Format(time.RFC3339) }
	names := write(t, t.TempDir(), map[string]string{
		"0": record("revisit", url, second(10), "", at(0)) +
			record("revisit", url, second(11), "HTTP/1.1 304 Not Modified\r\n\r\n", "WARC-Refers-To: <urn:uuid:1>") +
			record("revisit", url, second(12), "HTTP/1.1 404 Gone\r\n\r\n", at(0)) +
			record("revisit", url, second(13), "HTTP/1.1 301 Moved\r\nLocation: /b\r\n\r\n", at(0)) +
			record("revisit", url, second(14), "HTTP/1.1 200 OK\r\n\r\n", "WARC-Refers-To: <urn:uuid:9>", at(5)) +
			record("revisit", url, second(15), "", at(15)) +
			record("revisit", "https://c.test/robots.txt", second(16), "HTTP/1.1 200 OK\r\n\r\n", "WARC-Refers-To-Target-URI: <https://a.test/robots.txt>", at(0)) +
			record("revisit", "https://d.test/robots.txt", second(17), "", "WARC-Refers-To: <urn:uuid:2>") +
			record("resource", "https://e.test/robots.txt", second(18), file) +
			response("https://f.test/robots.txt", day, 200, "", file+"Disa", "WARC-Truncated: length") +
			response("https://g.test/robots.txt", day, 200, "", file+"Disa", "WARC-Truncated: disconnect") +
			response("https://h.test/robots.txt", day, 404, "", "x", "WARC-Truncated: time") +
			response("https://h2.test/robots.txt", day, 200, "", file, "WARC-Segment-Number: 1") +
			record("continuation", "https://h2.test/robots.txt", day, "Disallow: /\n", "WARC-Segment-Number: 2") +
			redirect("https://i.test/robots.txt", second(10), url),
		"1": response(url, day.Add(500*time.Millisecond), 200, "", file, "WARC-Record-ID: <urn:uuid:1>") +
			redirect("https://d.test/x", day, url) + response("https://a.test/b", day, 200, "", "b") +
			response("https://d.test/robots.txt", day, 307, "Location: https://a.test/b\r\n", "", "WARC-Record-ID: <urn:uuid:2>"),
	})
	const a = ` success ok 200 text "Allow: /\n"`
	const unresolved = " revisit-unresolved revisit-unresolved"
	p := pack(t, PackOptions{}, RunOptions{}, names...)
	check(t, p, []string{
		"https://a.test 10:00:00" + a, "https://a.test 10:00:10" + a, "https://a.test 10:00:11" + a,
		"https://a.test 10:00:12 unavailable client-error 404",
		`https://a.test 10:00:13 success ok 200 -> https://a.test/b (1 hops, https://a.test/b) text "b"`,
		"https://a.test 10:00:14" + unresolved, "https://a.test 10:00:15" + unresolved,
		"https://c.test 10:00:16" + a,
		`https://d.test 10:00:00 success ok 200 -> https://a.test/b (1 hops, https://a.test/b) text "b"`,
		`https://d.test 10:00:17 success ok 200 -> https://a.test/b (1 hops, https://a.test/b) text "b"`,
		`https://e.test 10:00:18 success ok text "Allow: /\n"`,
		`https://f.test 10:00:00 success ok 200 text "Allow: /\n" truncated`,
		"https://g.test 10:00:00 unreachable incomplete 200",
		"https://h.test 10:00:00 unavailable client-error 404",
		"https://h2.test 10:00:00 unreachable incomplete 200",
		`https://i.test 10:00:10 success ok 200 -> https://a.test/robots.txt (1 hops, https://a.test/robots.txt) text "Allow: /\n"`,
	}, map[string]int64{})
	for _, c := range p.captures {
		if c.HasAnswer() == strings.Contains(c.Outcome, "unresolved") {
			t.Errorf("%s: answered: %v", c.Outcome, c.HasAnswer())
		}
	}
}

// TestShares: shards of pack read and parts of pack resolve write the bytes of one run, also
// when jobs are repeated, interrupted, or fail at first.
func TestShares(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{}
	for i := range 6 {
		files[fmt.Sprint(i, ".warc")] = redirect(fmt.Sprintf("https://s%d.test/robots.txt", i), day, fmt.Sprintf("https://s%d.test/robots.txt", i+1)) +
			response(fmt.Sprintf("https://s%d.test/x", i), day, 200, "", "")
	}
	files["6.warc"] = response("https://s6.test/robots.txt", day, 200, "", "# s6")
	names := write(t, dir, files)
	whole := pack(t, PackOptions{Parts: 3}, RunOptions{Workers: 2}, names...)

	p := newPacking(t, PackOptions{}, names...)
	for i := range names {
		if i == 6 {
			if early, ok := errors.AsType[*PhaseError](p.resolve(t, 0, 3)); !ok || early.Missing != 1 {
				t.Errorf("pack resolve before the last share: %v", early)
			}
		}
		for range 2 {
			if err := p.read(t, i, len(names)); err != nil {
				t.Fatal(err)
			}
		}
	}
	runs, _ := filepath.Glob(filepath.Join(p.dir, runsDir, tableRuns, "*"))
	for _, i := range []int{2, 0, 0, 1} {
		if err := p.resolve(t, i, 3); err != nil {
			t.Fatal(err)
		}
	}
	parts, _ := filepath.Glob(filepath.Join(p.dir, tableCaptures, "*"))
	if len(runs) != len(names) || len(parts) != 3 {
		t.Errorf("%d runs and %d parts", len(runs), len(parts))
	}
	if got := snapshot(t, p.dir); got.sum != whole.sum {
		t.Error("shares made other bytes")
	}
	if err := errors.Join(p.read(t, 0, len(names)), p.resolve(t, 0, 3)); err != nil {
		t.Errorf("repeated when all is done: %v", err)
	}
	snapshot(t, p.dir) // which fails if runs are left

	p = newPacking(t, PackOptions{Parts: 3}, names...)
	if err := os.Remove(names[2]); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		failed, ok := errors.AsType[*FailedError](p.run(t, RunOptions{}))
		if !ok || len(failed.Failed) != 1 || !strings.Contains(failed.Failed[0].Error, "2.warc") {
			t.Errorf("an input is missing: %+v", failed)
		}
	}
	write(t, dir, files)
	if err := p.run(t, RunOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := snapshot(t, p.dir); got.sum != whole.sum {
		t.Error("a run that continued with an input that was missing at first made other bytes")
	}
}

// TestPartsOfSnapshot has parts that a kill can cost: lint takes milliseconds a file.
func TestPartsOfSnapshot(t *testing.T) {
	for _, test := range []struct {
		options  PackOptions
		runBytes int64
		want     int
	}{
		{PackOptions{}, 100 << 20, 1},
		{PackOptions{}, 1 << 30, 3},
		{PackOptions{Lint: true}, 7 << 20, 1},
		{PackOptions{Lint: true}, 1 << 30, 129},
		{PackOptions{Lint: true, Parts: 5}, 1 << 30, 5},
	} {
		if got := test.options.parts(test.runBytes); got != test.want {
			t.Errorf("%+v, runs of %d bytes: %d parts, want %d", test.options, test.runBytes, got, test.want)
		}
	}
}
