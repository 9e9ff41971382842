package fetch

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots"
)

func sampleRecord() *Record {
	r := failing(ServerError, 503, true)
	r.Hops = []Hop{{URL: r.URL, Address: "192.0.2.1:443", Protocol: "HTTP/2.0", Via: "socks5://proxy:1080", Status: 503, Received: 99, DNS: time.Millisecond, Body: 3 * time.Millisecond}}
	r.Header = map[string]string{"Retry-After": "120"}
	r.RetryAfter, r.StatedBy, r.StatedLife, r.Detail = 2*time.Minute, "max-age", -time.Second, "überlastet"
	r.Started, r.MissingIs5xx = began.Add(-time.Second), true
	r.Failures, r.Covered, r.LastFailure = 7, 31*time.Hour, began.Add(-time.Minute)
	return r
}

func TestEncode(t *testing.T) {
	r := sampleRecord()
	data := r.Encode()
	back, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(r, back) {
		t.Errorf("got:  %+v\nwant: %+v", back, r)
	}
	if again := back.Encode(); string(again) != string(data) {
		t.Errorf("a second encoding differs\n%s\n%s", data, again)
	}
	for n := range len(data) {
		if _, err := Decode(data[:n]); err == nil || !strings.HasPrefix(err.Error(), "record is damaged: ") {
			t.Errorf("the first %d of %d bytes: %v", n, len(data), err)
		}
	}
	none := *r
	none.LastGood = &Copy{Outcome: Success, Cause: OK}
	if back, err := Decode(none.Encode()); err != nil || len(back.LastGood.Body) != 0 {
		t.Errorf("a file of no bytes: %+v, %v", back, err)
	}
	// Version 2: every release must read it.
	const first = `{"v":2,"o":"https://example.com","u":"https://example.com/robots.txt","c":"client-error","s":404,"t":"2026-05-01T10:00:00Z","exp":"2026-05-02T10:00:00Z","later":{"x":1}}`
	old, err := Decode([]byte(first))
	if err != nil || old.Outcome != Unavailable || old.Status != 404 || !old.Fetched.Equal(began) || !old.Expires.Equal(began.Add(day)) {
		t.Errorf("%+v, %v", old, err)
	}
	// A record of an outage written before failures were added up counts from zero.
	const before = `{"v":2,"o":"https://example.com","c":"server-error","s":503,"t":"2026-05-01T10:00:00Z","fs":"2026-04-01T10:00:00Z","fn":40,"next":"2026-05-01T11:00:00Z"}`
	if old, err := Decode([]byte(before)); err != nil || old.Failures != 40 || old.Covered != 0 || old.Rules(robots.RFC9309, old.Fetched.Add(day)).Match(public).Allowed {
		t.Errorf("%+v, %v", old, err)
	}
	for _, row := range []struct{ data, want string }{
		{``, "record is damaged: unexpected end of JSON input"},
		{`{"v":1,"o":"https://example.com","c":"ok"}`, "record has version 1, this release reads version 2"},
		{`{"v":2,"o":"example.com","c":"ok"}`, "record is damaged: its origin: "},
		{`{"v":2,"o":"https://example.com","c":""}`, "record is damaged: it has no cause"},
		{`{"v":2,"o":"https://example.com","c":"what"}`, `record is damaged: unknown cause "what"`},
		{`{"v":2,"o":"https://example.com","c":"ok"}`, "record is damaged: its body has no length"},
		{`{"v":2,"o":"https://example.com","c":"timeout","b":0}`, "record is damaged: it has a body though its cause is timeout"},
		{`{"v":2,"o":"https://example.com","c":"ok","b":-1}`, "record is damaged: 0 of -1 bytes of a body"},
		{`{"v":2,"o":"https://example.com","c":"ok","b":3}` + "\n1234", "record is damaged: text follows its bodies"},
		{`{"v":2,"o":"https://example.com","c":"timeout","good":{"c":"timeout"}}`, "record is damaged: its last good response is a failure"},
	} {
		if _, err := Decode([]byte(row.data)); err == nil || !strings.HasPrefix(err.Error(), row.want) {
			t.Errorf("%s\ngot:  %v\nwant: %s", row.data, err, row.want)
		}
	}
	t.Logf("a record of a failure with one hop and a copy: %d bytes", len(data))
}

// TestCauses: every cause has a name of its own, a sentence and a class.
func TestCauses(t *testing.T) {
	names := map[string]bool{}
	for _, c := range Causes() {
		var back Cause
		if err := back.UnmarshalText([]byte(c.String())); err != nil || back != c {
			t.Errorf("%v: %v, %v", c, back, err)
		}
		if names[c.String()] || c.String() == "" || c.Sentence() == "" || c.Outcome() == OutcomeNone {
			t.Errorf("cause %d: %q %q %v", c, c, c.Sentence(), c.Outcome())
		}
		names[c.String()] = true
	}
	var own []string
	for _, c := range Causes() {
		if c.OwnSide() {
			own = append(own, c.String())
		}
		if c.OwnSide() && c.Outcome() != Unreachable && c.Outcome() != Refused {
			t.Errorf("%v is of our own side though its outcome is %v", c, c.Outcome())
		}
	}
	const wantOwn = "bad-encoding header-limit raw-limit dns-failure no-network proxy-failed tls-roots tls-version tls-protocol address-refused port-refused"
	if got := strings.Join(own, " "); got != wantOwn {
		t.Errorf("causes of our own side\ngot:  %s\nwant: %s", got, wantOwn)
	}
	seen := map[Cause]bool{}
	for _, f := range catalogue() {
		seen[f.cause] = true
		seen[f.or] = true
	}
	for _, c := range Causes() {
		if !seen[c] {
			t.Errorf("no behaviour of the catalogue ends in %v", c)
		}
	}
	for o := OutcomeNone; o <= Refused; o++ {
		var back Outcome
		if err := back.UnmarshalText([]byte(o.String())); err != nil || back != o {
			t.Errorf("%v: %v, %v", o, back, err)
		}
	}
	t.Logf("%d causes", len(names))
}

// FuzzDecode: damaged data never decode to a record that allows.
func FuzzDecode(f *testing.F) {
	f.Add(string(sampleRecord().Encode()))
	f.Add(string((&Record{Origin: sampleRecord().Origin, Outcome: Refused, Cause: AddressRefused}).Encode()))
	f.Fuzz(func(t *testing.T, data string) {
		r, err := Decode([]byte(data))
		if err != nil {
			return
		}
		good := r.Outcome.Good() || r.LastGood != nil
		for _, d := range robots.Dialects() {
			v := r.Rules(d, r.Fetched, "x").Match(private)
			if v.Allowed && !good && r.Cause != TooManyRequests && !r.MissingIs5xx && (r.Covered < 12*time.Hour || r.Failures < outageFailures) {
				t.Errorf("%s: %v\n%s", d.Name, v, data)
			}
		}
		if again, err := Decode(r.Encode()); err != nil || again.Cause != r.Cause {
			t.Errorf("%s: %v, %v", data, again, err)
		}
	})
}

// FuzzLocate: whatever the Location, the next request is one line of visible ASCII to an origin
// of http or https.
func FuzzLocate(f *testing.F) {
	for _, s := range []string{"/a", "../b?c#d", "//h/x", "http://h:1/é", "x\r\ny", "?", "ftp://h/"} {
		f.Add(s)
	}
	at, _, _ := robots.ParseURL("https://example.com/")
	f.Fuzz(func(t *testing.T, s string) {
		next, target, fail := locate(at, "/dir/robots.txt?q", &reply{Response: &http.Response{StatusCode: 302, Header: http.Header{"Location": {s}}}})
		if fail != nil {
			return
		}
		if next.Scheme() != "http" && next.Scheme() != "https" || !strings.HasPrefix(target, "/") {
			t.Errorf("%q leads to %v %q", s, next, target)
		}
		for i := range len(target) {
			if c := target[i]; c <= ' ' || c >= 0x7F {
				t.Errorf("%q leads to %q", s, target)
			}
		}
	})
}

// FuzzHeaders: no header causes a lifetime or a wait out of bounds.
func FuzzHeaders(f *testing.F) {
	f.Add("max-age=60", "Fri, 01 May 2026 12:00:00 GMT", "60", "120")
	f.Fuzz(func(t *testing.T, control, expires, age, retry string) {
		h := http.Header{"Cache-Control": {control}, "Expires": {expires}, "Age": {age}, "Retry-After": {retry}}
		r := Record{Cause: ServerError, Outcome: Unreachable, Failures: 1}
		r.StatedBy, r.StatedLife = statedLife(h, began)
		r.RetryAfter = RetryAfter(h, began)
		if l := r.Lifetime(); l < LifeFloor || l > LifeCeiling {
			t.Errorf("life %v", l)
		}
		if d, _, _ := r.RetryDelay(); d < time.Minute || d > day {
			t.Errorf("wait %v", d)
		}
	})
}
