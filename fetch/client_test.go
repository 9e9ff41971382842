package fetch

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"net/textproto"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots"
)

// TestRequest: the request, byte by byte.
func TestRequest(t *testing.T) {
	s := newStage(t)
	heads := make(chan string, 9)
	at := s.listen(t, "127.0.0.1:0", speak(func(p *peer) {
		heads <- p.head
		once("302 Found", "http://user:secret@bücher.test:PORT/d%20é x?q=1#top")(p)
	}))
	o := s.options()
	o.UserAgent = "ExampleBot/1.0 (+https://example.com/bot)"
	r, err := s.client(t, o).Fetch(context.Background(), mustOrigin(t, "http://who:what@SITE.test.:"+at.port()+"/any?thing#here"))
	if err != nil || r.Outcome != Success {
		t.Fatal(r, err)
	}
	const rest = "\r\nUser-Agent: ExampleBot/1.0 (+https://example.com/bot)\r\nAccept: text/plain, */*;q=0.8\r\nAccept-Encoding: gzip, deflate\r\nConnection: close\r\n\r\n"
	for _, want := range []string{
		"GET /robots.txt HTTP/1.1\r\nHost: site.test:" + at.port() + rest,
		"GET /d%20%C3%A9%20x?q=1 HTTP/1.1\r\nHost: xn--bcher-kva.test:" + at.port() + rest,
	} {
		if got := <-heads; got != want {
			t.Errorf("got:  %q\nwant: %q", got, want)
		}
	}
	if r.Origin.String() != "http://site.test:"+at.port() || len(r.Hops) != 2 || r.Hops[0].Status != 302 {
		t.Errorf("record %+v", r)
	}
}

// TestHosts: names in the machine's hosts file resolve without a name server.
func TestHosts(t *testing.T) {
	s := newStage(t)
	at := s.listen(t, "127.0.0.1:0", speak(answer(whole("200 OK", someRules))))
	if text, err := os.ReadFile("/etc/hosts"); err != nil || !regexp.MustCompile(`(?m)^127\.0\.0\.1\s.*\blocalhost\b`).Match(text) {
		t.Skip("/etc/hosts of this machine does not say where localhost is")
	}
	o := s.options()
	o.Resolver = nil
	r, err := s.client(t, o).Fetch(t.Context(), mustOrigin(t, "http://localhost:"+at.port()))
	if err != nil || r.Cause != OK {
		t.Errorf("%v, %v", r, err)
	}
	o.Guard = Guard{}
	if r, err = s.client(t, o).Fetch(t.Context(), mustOrigin(t, "http://localhost:"+at.port())); err != nil || r.Cause != AddressRefused {
		t.Errorf("guarded: %v, %v", r, err)
	}
}

// TestMistakes: invalid arguments and options, with their messages.
func TestMistakes(t *testing.T) {
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	for _, row := range []struct {
		ctx    context.Context
		origin robots.Origin
		want   string
	}{
		{context.Background(), robots.Origin{}, "fetch of an empty origin: get one from ParseURL and a URL such as https://example.com/"},
		{context.Background(), mustOrigin(t, "gopher://example.com/"), `fetch gopher://example.com/robots.txt: unknown scheme "gopher" (known: http, https, ftp)`},
		{gone, mustOrigin(t, "http://example.com/"), "fetch http://example.com/robots.txt: context canceled"},
	} {
		r, err := Fetch(row.ctx, row.origin)
		if r != nil || err == nil || err.Error() != row.want {
			t.Errorf("got:  %v, %v\nwant: %s", r, err, row.want)
		}
	}
	for _, row := range []struct {
		o    Options
		want string
	}{
		{Options{UserAgent: "a\r\nb"}, `user agent "a\r\nb": only printable ASCII can be sent`},
		{Options{UserAgent: strings.Repeat("a", 600)}, "user agent of 600 bytes: at most 512 are sent"},
		{Options{Limits: Limits{Header: -1}}, "limit of header time is negative: -1"},
		{Options{Connections: -1}, "number of connections is negative: -1"},
		{Options{PerAddress: -1}, "number of connections to an address is negative: -1"},
	} {
		if _, err := New(row.o); err == nil || err.Error() != row.want {
			t.Errorf("got:  %v\nwant: %s", err, row.want)
		}
	}
}

// TestCancel: a canceled caller gets its own error at once, whatever the fetch waits for.
func TestCancel(t *testing.T) {
	for _, f := range catalogue() {
		switch f.id() {
		case "dns/silence", "tcp/silent", "tcp/no-answer", "tls/silent", "size/body-stops", "ftp/silent", "ftp/data-stops":
		default:
			continue
		}
		t.Run(f.id(), func(t *testing.T) {
			t.Parallel()
			s, o, origin := f.start(t)
			c := s.client(t, o)
			if f.connect != nil {
				c.connect = f.connect
			}
			patient(c) // a fetch that does not end with its context hangs
			ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
			defer cancel()
			r, err := c.Fetch(ctx, origin)
			if r != nil || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, %v", r, err)
			}
		})
	}
}

// TestProbe: the evidence for HTTP-07 is requested only with Probe, and counts only in the
// dialects that use it.
func TestProbe(t *testing.T) {
	s := newStage(t)
	for _, row := range []struct {
		name, home, missing string
		probe, want         bool
	}{
		{"a site that answers 5xx for missing pages", "200 OK", "500 Oops", true, true},
		{"not asked for", "200 OK", "500 Oops", false, false},
		{"the whole site fails", "503 Down", "503 Down", true, false},
		{"missing pages are 404", "200 OK", "404 Not Found", true, false},
		{"the home page redirects", "302 Found", "500 Oops", true, false},
		{"another origin fails, to which this one redirects", "200 OK", "500 Oops", true, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			at := s.listen(t, "127.0.0.1:0", speak(func(p *peer) {
				switch p.path {
				case "/":
					p.say(whole(row.home, "hello"))
				case "/robots.txt":
					if strings.HasPrefix(row.name, "another") {
						p.say(whole("302 Found", "", "Location: http://other.test:"+p.site.port()+"/down"))
						return
					}
					p.say(whole("500 Oops", ""))
				case "/down":
					p.say(whole("500 Oops", ""))
				default:
					p.say(whole(row.missing, ""))
				}
			}))
			o := s.options()
			o.Probe, o.PerAddress = row.probe, 1
			r, err := s.client(t, o).Fetch(context.Background(), mustOrigin(t, "http://site.test:"+at.port()))
			if err != nil || r.Cause != ServerError || r.MissingIs5xx != row.want {
				t.Fatalf("%+v, %v", r, err)
			}
			if n := at.accepted.Load(); strings.HasPrefix(row.name, "another") && n != 2 {
				t.Errorf("%d requests, want one to each origin", n)
			}
			for _, d := range robots.Dialects() {
				v := r.Rules(d, r.Fetched, "x").Match(private)
				if want := row.want && d.ServerErrorsMayMiss; v.Allowed != want {
					t.Errorf("%s: %v", d.Name, v)
				} else if want && (v.State.Clause != "HTTP-07" || !strings.Contains(v.String(), "found by a probe")) {
					t.Errorf("%s: %v does not say why", d.Name, v)
				}
			}
		})
	}
}

// TestSaid: the text of a record where the cause alone would mislead.
func TestSaid(t *testing.T) {
	for id, want := range map[string]string{
		"dns/no-network":               "no name server is reachable: dial udp: connect: network is unreachable",
		"dns/no-name-server":           "no name server is reachable: read udp ",
		"encoding/gzip-without-a-word": "the body looks like gzip, but there is no Content-Encoding, so it is read unchanged",
		"ftp/530-to-USER,-closed":      "too many users",
	} {
		for _, f := range catalogue() {
			if f.id() != id {
				continue
			}
			r := f.fetch(t, patient)
			if !strings.HasPrefix(r.Detail, want) {
				t.Errorf("%s\ngot:  %s\nwant: %s", id, r.Detail, want)
			}
			if v := r.Rules(robots.RFC9309, r.Fetched, "x").Match(private); !strings.Contains(v.String(), want) {
				t.Errorf("%s: %v does not say why", id, v)
			}
			want = ""
		}
		if want != "" {
			t.Errorf("no fault is named %s", id)
		}
	}
}

// TestFewerRedirects: a fetch that follows fewer redirects than the dialects must not open the
// site.
func TestFewerRedirects(t *testing.T) {
	s := newStage(t)
	at := s.listen(t, "127.0.0.1:0", speak(chain(3, func(*peer, int) string { return "/3" })))
	for _, limit := range []int{-1, 1, 2, 4} {
		o := s.options()
		o.Limits.Redirects = limit
		r, err := s.client(t, o).Fetch(context.Background(), mustOrigin(t, "http://site.test:"+at.port()))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range robots.Dialects() {
			if v := r.Rules(d, r.Fetched.Add(99*day), "x").Match(private); v.Allowed {
				t.Errorf("limit %d, %s: %v", limit, d.Name, v)
			}
		}
	}
}

// TestLifetime: the lifetime by the headers of all hops.
func TestLifetime(t *testing.T) {
	s := newStage(t)
	const date = "Date: Fri, 01 May 2026 10:00:00 GMT"
	for _, row := range []struct {
		headers string
		by      string
		stated  time.Duration
		want    time.Duration
	}{
		{"", "", 0, day},
		{"Cache-Control: max-age=600", "max-age", 10 * time.Minute, 10 * time.Minute},
		{"Cache-Control: max-age=600, s-maxage=1200", "s-maxage", 20 * time.Minute, 20 * time.Minute},
		{"Cache-Control: public, Max-Age=\"900\"", "max-age", 15 * time.Minute, 15 * time.Minute},
		{"Cache-Control: max-age=900|Cache-Control: max-age=700", "max-age", 700 * time.Second, 700 * time.Second},
		{"Cache-Control: no-store, max-age=900", "no-store", 0, LifeFloor},
		{"Cache-Control: no-cache", "no-cache", 0, LifeFloor},
		{"Cache-Control: no-cache=\"set-cookie\", max-age=900", "max-age", 15 * time.Minute, 15 * time.Minute},
		{"Cache-Control: max-age=0", "max-age", 0, LifeFloor},
		{"Cache-Control: max-age=soon", "max-age", 0, LifeFloor},
		{"Cache-Control: max-age=99999999999999999999", "max-age", maxSeconds * time.Second, LifeCeiling},
		{"Cache-Control: max-age=3600|Age: 600", "max-age", 50 * time.Minute, 50 * time.Minute},
		{"Cache-Control: max-age=600|Age: 9000", "max-age", -140 * time.Minute, LifeFloor},
		{date + "|Expires: Fri, 01 May 2026 12:00:00 GMT", "expires", 2 * time.Hour, 2 * time.Hour},
		{date + "|Expires: Thu, 01 Jan 1970 00:00:00 GMT", "expires", 0, LifeFloor},
		{"Expires: 0", "expires", 0, LifeFloor},
		{date + "|Expires: Fri, 01 May 2026 12:00:00 GMT|Cache-Control: max-age=600", "max-age", 10 * time.Minute, 10 * time.Minute},
	} {
		h, _ := textproto.NewReader(bufio.NewReader(strings.NewReader(strings.ReplaceAll(row.headers, "|", "\r\n") + "\r\n\r\n"))).ReadMIMEHeader()
		r, _, err := Limits{}.Judge(robots.Origin{}, &Answer{URL: "http://site.test/", At: began, Status: 200, Header: http.Header(h)})
		if err != nil {
			t.Fatal(err)
		}
		if r.StatedBy != row.by || row.stated > 0 && r.StatedLife != row.stated || r.Expires.Sub(r.Fetched) != row.want {
			t.Errorf("%s\ngot:  %s %v, %v\nwant: %s %v, %v", row.headers, r.StatedBy, r.StatedLife, r.Expires.Sub(r.Fetched), row.by, row.stated, row.want)
		}
	}
	// The shortest of all hops.
	at := s.listen(t, "127.0.0.1:0", speak(func(p *peer) {
		if p.path == "/robots.txt" {
			p.say(whole("302 Found", "", "Location: /there", "Cache-Control: max-age=600"))
			return
		}
		p.say(whole("200 OK", someRules, "Cache-Control: max-age=7200"))
	}))
	r, _ := s.client(t, s.options()).Fetch(context.Background(), mustOrigin(t, "http://site.test:"+at.port()))
	if r.StatedLife != 10*time.Minute {
		t.Errorf("over two hops: %v", r.StatedLife)
	}
}
