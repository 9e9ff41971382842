package robots

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/robotskit/robots/internal/campaign"
)

// TestPlainHost compares the fast forms of host normalization with the general one, for hosts
// that are made of the deciding characters.
func TestPlainHost(t *testing.T) {
	rng := rand.New(rand.NewPCG(3986, 46))
	parts := strings.Fields("a b c example com www xn-- xn--bcher-kva bücher - -- _ . .. 0 1 7 127 0x 0x7f 09 %61 %2e A EXAMPLE : [ ] [::1] \\ ~ é \u00ad \x00 \x7f ! * ß \u3002 \u200d aa--bb a-b ab-")
	plain := strings.Fields("a b-c example com www x1 9z a_b 127 0 255 256 01 . . . .")
	for range campaign.Size(20_000, 100_000, 10_000_000) {
		host := ""
		odd := rng.IntN(10) // of ten parts
		for range rng.IntN(9) {
			part := plain[rng.IntN(len(plain))]
			if rng.IntN(10) < odd {
				part = parts[rng.IntN(len(parts))]
			}
			host += part
		}
		if rng.IntN(50) == 0 {
			host += strings.Repeat("a.", rng.IntN(200)) + "b"
		}
		if host == "" || host[0] == '[' {
			continue // parseAuthority takes the brackets in pairs
		}
		got, why := canonicalHost(host)
		if want, reason := normalizeHost(host); got != want || why != reason {
			t.Fatalf("%q: the short way gives %q %q, the long one %q %q", host, got, why, want, reason)
		}
	}
	for _, url := range []string{"https://www.example.com/a/b?c=d#e", "http://example.com", "https://a-b.example/", "http://localhost:8080/x", "http://127.0.0.1/x", "https://example.com:443/", "https://u:p@example.com/", "https://xn--bcher-kva.example/"} {
		if n := testing.AllocsPerRun(20, func() { ParseURL(url) }); n != 0 {
			t.Errorf("ParseURL(%q) allocates %v times", url, n)
		}
	}
}

// TestASCIIHost: a host in ASCII is equal to its IDNA form, so that no conversion is needed, or
// has none.
func TestASCIIHost(t *testing.T) {
	rng := rand.New(rand.NewPCG(3492, 46))
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFG0123456789-_.~!$&'()*+,;="
	mapped := 0
	for range campaign.Size(20_000, 200_000, 20_000_000) {
		var b strings.Builder
		for k := range 1 + rng.IntN(3) {
			b.WriteString([]string{"", "."}[min(k, 1)])
			if rng.IntN(2) == 0 {
				b.WriteString("xn--")
			}
			for range rng.IntN(9) {
				b.WriteByte(letters[rng.IntN(len(letters)-rng.IntN(20))])
			}
		}
		host := b.String()
		want, err := lookup().ToASCII(host)
		if err != nil {
			want = strings.ToLower(host)
		} else {
			mapped++
		}
		if got, ok := asciiHost(host); !ok || got != want {
			t.Fatalf("%q: got %q, %v, want %q", host, got, ok, want)
		}
	}
	if mapped == 0 {
		t.Error("no host is a name: the test proves nothing")
	}
}

// TestParseErrorHidesUser: errors are logged.
func TestParseErrorHidesUser(t *testing.T) {
	for url, quoted := range map[string]string{
		"http://user:a:b@c@d.123/x@y": `"http://***@d.123/x@y"`, "http://user@d.123": `"http://***@d.123"`, "//:p@d.123?q": `"//***@d.123?q"`, "x:y@z": `"x:y@z"`,
		"http://d.123?x:y@z": `"http://d.123?x:y@z"`, "http://d.123#x:y@z": `"http://d.123#x:y@z"`, // not in the authority
	} {
		if _, _, err := ParseURL(url); err == nil || !strings.Contains(err.Error(), quoted) {
			t.Errorf("ParseURL(%q): %v, want an error that quotes %s", url, err, quoted)
		}
	}
}

// TestParseHosts: browsers end the host at a backslash, so nothing after it may be read as the host;
// bytes that are not UTF-8 are not a host, and neither is U+FFFD, or all of them would be one
// origin (D-36).
func TestParseHosts(t *testing.T) {
	for url, want := range map[string]string{ // "" for an error
		`http://good.example\@evil.example/`: "", `https://good.example\a@evil.example`: "", `https://good.example\a/`: "", `https://good.example\`: "",
		`https://good.example/\@a`: `https://good.example /\@a`,
		"https://%c3%a4.example/":  "https://xn--4ca.example /",
		"http://1.2.3.255/":        "http://1.2.3.255 /", "http://1.2.3.256/": "", "http://1.2.65535/": "http://1.2.255.255 /", "http://1.2.65536/": "",
		"http://1.16777215/": "http://1.255.255.255 /", "http://1.16777216/": "", "http://4294967295/": "http://255.255.255.255 /", "http://4294967296/": "",
		"http://a.example:08080/": "http://a.example:8080 /", "http://a.example:080/": "http://a.example /", "http://a.example:8080/": "http://a.example:8080 /",
		"https://%e4.example/": "", "https://%FF.example/": "", "https://a\xe4b.example/": "", "https://\xc3.example/": "", "https://\ufffd.example/": "",
	} {
		o, p, err := ParseURL(url)
		if got := strings.TrimSpace(o.String() + " " + p.String()); got != want || (err != nil) != (want == "") {
			t.Errorf("ParseURL(%q) = %s (%v), want %q", url, got, err, want)
		}
	}
}

// TestScheme: a scheme begins with a letter (RFC 3986 section 3.1).
func TestScheme(t *testing.T) {
	for url, valid := range map[string]bool{"s3://a/": true, "a+b.c-d://a/": true, "3s://a/": false, "+s://a/": false, "://a/": false, "a_b://a/": false} {
		if _, _, err := ParseURL(url); (err == nil) != valid {
			t.Errorf("%q: %v", url, err)
		}
	}
}
