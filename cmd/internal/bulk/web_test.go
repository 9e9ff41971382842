package bulk

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
	"github.com/robotskit/robots/internal/campaign"
)

// A page is what a site answers to a path.
type page struct {
	status       int
	header, body string // header is lines
}

// webOf returns sites that redirect to one another: by host, then by path.
func webOf(n int) map[string]map[string]page {
	random := rand.New(rand.NewPCG(7, uint64(n)))
	hosts := make([]string, n)
	for i := range hosts {
		hosts[i] = fmt.Sprintf("127.%d.%d.%d", 1+i/200, 1+i%200, 1+i%7)
	}
	web := map[string]map[string]page{}
	anyHost := func() string { return hosts[random.IntN(n)] }
	for i, host := range hosts {
		file := fmt.Sprintf("User-agent: *\nDisallow: /%d\n", i)
		var p page
		switch random.IntN(16) {
		case 0:
			p = page{404, "", "<html>"}
		case 1:
			p = page{503, "", ""}
		case 2:
			p = page{200, "Content-Encoding: gzip\r\n", zipped(file)}
		case 3:
			p = page{204, "", ""}
		case 4:
			p = page{301, "", ""} // to nowhere
		case 5:
			p = page{302, "Location: ftp://example.com/\r\n", ""}
		case 6:
			p = page{200, "Content-Encoding: gzip\r\n", "no gzip"} // an archive may have decoded it, so it is read
			p.header = ""
		case 7, 8, 9, 10, 11:
			p = page{[]int{301, 302, 303, 307, 308}[random.IntN(5)], "Location: http://" + anyHost() + ":PORT/robots.txt\r\n", "moved"}
		case 12:
			p = page{301, "Location: sub/../page.html?q=" + strings.Repeat("x", random.IntN(3)) + "\r\n", ""}
		case 13:
			p = page{301, "Location: //" + anyHost() + ":PORT/page.html?q=\r\n", ""}
		default:
			p = page{200, "", file}
		}
		web[host] = map[string]page{"/robots.txt": p}
		for j := range 3 {
			q := page{200, "Content-Type: text/html\r\n", "<html>" + host}
			if random.IntN(2) == 0 {
				q = page{302, "Location: http://" + anyHost() + ":PORT/robots.txt\r\n", ""}
			}
			web[host]["/page.html?q="+strings.Repeat("x", j)] = q
			web[host]["/sub/../page.html?q="+strings.Repeat("x", j)] = q
		}
	}
	return web
}

// TestWeb holds what comes of an archive of sites to what a fetch says of the same
// sites.
func TestWeb(t *testing.T) {
	const files = 20
	web := webOf(campaign.Size(20, 40, 200))
	port := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.Host)
		p, ok := web[host][r.RequestURI]
		if !ok {
			p = page{status: 404}
		}
		for line := range strings.Lines(strings.ReplaceAll(p.header, "PORT", port)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(p.status)
		io.WriteString(w, p.body)
	}))
	defer server.Close()
	address := server.Listener.Addr().String()
	_, port, _ = net.SplitHostPort(address)

	// The archive has what comes over the wire.
	var records []string
	for host, pages := range web {
		for path := range pages {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s:%s\r\nConnection: close\r\n\r\n", path, host, port)
			answer, err := io.ReadAll(conn)
			conn.Close()
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, record("response", "http://"+host+":"+port+path, day, string(answer)))
		}
	}
	slices.Sort(records)
	random := rand.New(rand.NewPCG(3, 4))
	random.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	archives := map[string]string{}
	for i, r := range records {
		archives[fmt.Sprintf("%02d.warc.gz", i%files)] += zipped(r)
	}
	names := write(t, t.TempDir(), archives)
	p := pack(t, PackOptions{}, RunOptions{Workers: 2}, names...)

	client, err := fetch.New(fetch.Options{
		Guard: fetch.Guard{AllowLoopback: true},
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, address)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.captures) != len(web) {
		t.Errorf("%d captures of %d sites", len(p.captures), len(web))
	}
	hops := 0
	for _, c := range p.captures {
		origin, _, err := robots.ParseURL(c.Origin)
		if err != nil {
			t.Fatal(err)
		}
		r, err := client.Fetch(t.Context(), origin)
		if err != nil {
			t.Fatal(err)
		}
		live := fmt.Sprintf("%v %v %d, %d hops to %s, %q, %v", r.Outcome, r.Cause, r.Status, r.Redirects(), r.URL, r.Body, r.Truncated)
		last := c.ResolvedFrom
		if last == "" {
			last = c.URL
		}
		got := fmt.Sprintf("%s %s %d, %d hops to %s, %q, %v", c.Outcome, c.Cause, c.Status, c.Hops, last, p.bodies[c.SHA256], c.Truncated)
		if got != live {
			t.Errorf("%s: got  %s\nfetch says %s", c.Origin, got, live)
		}
		hops += int(c.Hops)
	}
	if hops < len(web)/4 {
		t.Errorf("%d hops of %d sites are few", hops, len(web))
	}
}

// TestDownload reads archives from a server that breaks, changes, and knows no ranges.
func TestDownload(t *testing.T) {
	archive := ""
	for i := range 40 {
		archive += zipped(response(fmt.Sprintf("https://s%d.test/robots.txt", i), day, 200, "", fmt.Sprintf("# %d", i)))
	}
	type server struct {
		tag            string
		cut            int  // bytes of each answer, then it breaks
		noRange, fails bool // of the first request
		changes        bool // after the first answer
	}
	var now server
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.Header.Get("Range")+" "+r.Header.Get("If-Range"))
		tag := now.tag
		if now.changes && r.Header.Get("Range") != "" {
			tag = `"other"`
		}
		if now.fails && len(asked) == 2 {
			w.WriteHeader(503)
			return
		}
		if tag != "" {
			w.Header().Set("ETag", tag)
		}
		if now.noRange {
			r.Header.Del("Range")
		}
		if now.cut > 0 && r.Method == http.MethodGet {
			w = &cutting{w, now.cut}
		}
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(archive))
	}))
	defer s.Close()
	for _, test := range []struct {
		name string
		server
		ok       bool
		requests int // at least
	}{
		{"whole", server{tag: `"a"`}, true, 2},
		{"broken often", server{tag: `"a"`, cut: len(archive)/3 + 1}, true, 4},
		{"broken, no version", server{cut: len(archive)/2 + 1}, true, 3},
		{"broken, no ranges", server{tag: `"a"`, noRange: true, cut: len(archive) - 1}, false, 3},
		{"fails at first", server{tag: `"a"`, fails: true}, true, 3},
		{"changed", server{tag: `"a"`, changes: true, cut: len(archive) / 2}, false, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			now, asked = test.server, nil
			var o PackOptions
			o.AllowPrivate = true
			d, err := o.client()
			if err != nil {
				t.Fatal(err)
			}
			d.wait = time.Millisecond
			in, err := d.head(t.Context(), s.URL+"/a.warc.gz")
			if err != nil || in.Size != int64(len(archive)) || in.Hash != now.tag {
				t.Fatalf("%+v, %v", in, err)
			}
			n := 0
			r := &inputReader{client: d, damaged: func(d Damaged) { t.Error(d) }, answer: func(*answer, []byte) error { n++; return nil }}
			err = r.read(t.Context(), in)
			if (err == nil) != test.ok || test.ok && n != 40 || len(asked) < test.requests {
				t.Errorf("%d answers, %v; asked %q", n, err, asked)
			}
			if test.ok && test.cut > 0 && test.tag != "" && !strings.HasSuffix(asked[2], ` "a"`) {
				t.Errorf("resumed without If-Range: %q", asked)
			}
		})
	}
	now = server{tag: `"a"`}
	o := PackOptions{}
	if _, err := o.Inputs(t.Context(), []string{s.URL + "/a"}, nil); err == nil || !strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("a loopback address: %v", err)
	}
	known := []Input{{s.URL + "/a", int64(len(archive)), `"a"`}}
	if got, err := o.Inputs(t.Context(), []string{s.URL + "/a"}, known); err != nil || got[0] != known[0] {
		t.Errorf("known: %v, %v", got, err)
	}
	p := pack(t, PackOptions{AllowPrivate: true}, RunOptions{}, s.URL+"/a")
	if len(p.captures) != 40 || p.captures[0].Input != s.URL+"/a" {
		t.Errorf("%d captures", len(p.captures))
	}
	list, err := Paths(strings.NewReader(zipped("a/1.gz\n\n/b\n")), "https://x.test/")
	if err != nil || !slices.Equal(list, []string{"https://x.test/a/1.gz", "https://x.test/b"}) {
		t.Errorf("%q, %v", list, err)
	}
}

// cutting breaks the connection after so many bytes.
type cutting struct {
	http.ResponseWriter
	left int
}

func (c *cutting) Write(p []byte) (int, error) {
	if len(p) >= c.left {
		c.ResponseWriter.Write(p[:c.left])
		c.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	c.left -= len(p)
	return c.ResponseWriter.Write(p)
}

// TestHostile packs what nobody should archive.
func TestHostile(t *testing.T) {
	const url = "https://a.test/robots.txt"
	good := response("https://z.test/robots.txt", day, 200, "", "ok")
	same := ""
	for range 300 { // which refer to one another
		same += record("revisit", url, day, "", "WARC-Record-ID: <x>", "WARC-Refers-To: <x>", "WARC-Refers-To-Date: "+day.Format(time.RFC3339))
	}
	dir := t.TempDir()
	names := write(t, dir, map[string]string{
		"0": zipped(same) + zipped(good),
		"1": zipped(response(url, day.AddDate(-500, 0, 0), 200, "", strings.Repeat("\x00", 1<<20))) + zipped(good)[:40],
		"2": zipped(redirect(url, day, "https://"+strings.Repeat("a.", 120)+"test/"+strings.Repeat("%", 30_000))) + zipped(good),
		"3": zipped(response("https://[::1]:99999/robots.txt", day, 200, "", "x") + response("https://b.test\x00/robots.txt", day, 200, "", "x") + good),
		"4": zipped(response(url+"\x80\"\n", day, 200, "", "x") + good),
		"5": "PK\x03\x04 no zip", "6": strings.Repeat("\x00", 257) + "ustar" + strings.Repeat("\xff", 700),
		"7.jsonl": "{" + strings.Repeat(" ", maxLine) + "\n" + `{"url":"https://y.test/","robots":""}`, "eight": "",
		"9": zipped("{\"url\":\"https://x.test\",\"robots\":\"\"}\n{\"url")[:60],
	})
	p := pack(t, PackOptions{}, RunOptions{Workers: 2}, names...)
	count := map[string]int{}
	for _, c := range p.captures {
		count[c.SURT+" "+c.Outcome]++
	}
	want := map[string]int{
		"test,a " + RevisitUnresolved: 300, "test,a success": 1, "test,a " + Unresolved: 1,
		"test,z success": 4, "test,y success": 1, "test,x success": 1, "eight success": 1,
	}
	if fmt.Sprint(count) != fmt.Sprint(want) {
		t.Errorf("captures\n%v, want\n%v", count, want)
	}
	if fmt.Sprint(p.damaged) != "map[gzip:1 header:1 line:2 no-capture:2 tar:1 uri:2 zip:1]" {
		t.Errorf("damaged: %v", p.damaged)
	}
}

// A breaking is a body whose connection breaks in the moment in which its server has been
// quiet for too long.
type breaking struct{ quiet time.Duration }

func (b breaking) Read([]byte) (int, error) {
	time.Sleep(b.quiet)
	return 0, io.ErrUnexpectedEOF
}

func (breaking) Close() error { return nil }

// TestSilence: what gives a silent server up does so to the body that was read, which is gone
// from the download by then. Under the race detector one round shows it.
func TestSilence(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			d := &downloader{quiet: time.Minute}
			f := &download{d: d, ctx: t.Context(), body: breaking{d.quiet}, size: -1, failed: downloadTries - 1}
			if _, err := f.Read(make([]byte, 1)); err == nil || f.body != nil {
				t.Errorf("the error is %v, the body %v", err, f.body)
			}
		})
	}
}
