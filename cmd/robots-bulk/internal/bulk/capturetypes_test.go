package bulk

import "testing"

func TestRegisteredDomain(t *testing.T) {
	for host, want := range map[string]string{
		"example.com": "example.com", "www.a.example.co.uk": "example.co.uk", "a.b.github.io": "b.github.io", "xn--bcher-kva.example": "xn--bcher-kva.example",
		"co.uk": "", "github.io": "", "localhost": "", "192.0.2.1": "", "2001:db8::1": "",
	} {
		if got := registeredDomain(host); got != want {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
}

// TestMediaTypes: a capture has the media types of the last response of its chain.
func TestMediaTypes(t *testing.T) {
	const identified = "WARC-Identified-Payload-Type: text/html"
	file := write(t, t.TempDir(), map[string]string{"a.warc": response("https://a.test/robots.txt", day, 200, "Content-Type: text/plain; charset=utf-8\r\n", "x", identified) +
		redirect("https://b.test/robots.txt", day, "https://a.test/robots.txt") +
		record("revisit", "https://c.test/robots.txt", day, "", "WARC-Refers-To-Target-URI: https://a.test/robots.txt", "WARC-Refers-To-Date: 2026-05-01T10:00:00Z") +
		response("https://d.test/robots.txt", day, 404, "content-type: text/\xff\r\n", "gone") +
		redirect("https://e.test/robots.txt", day, "https://nowhere.test/robots.txt") +
		record("resource", "https://f.test/robots.txt", day, "x", "Content-Type: text/css")})
	want := map[string][2]string{
		"https://a.test": {"text/plain; charset=utf-8", "text/html"}, "https://b.test": {"text/plain; charset=utf-8", "text/html"},
		"https://c.test": {"text/plain; charset=utf-8", "text/html"}, "https://d.test": {"text/\uFFFD", ""}, "https://e.test": {}, "https://f.test": {"text/css", ""},
	}
	captures := pack(t, PackOptions{}, RunOptions{}, file...).captures
	for _, capture := range captures {
		if got := [2]string{capture.ContentType, capture.IdentifiedType}; got != want[capture.Origin] {
			t.Errorf("%s: %q, want %q", capture.Origin, got, want[capture.Origin])
		}
	}
	if len(captures) != len(want) {
		t.Errorf("%d captures", len(captures))
	}
}
