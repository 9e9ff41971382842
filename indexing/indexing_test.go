package indexing

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/robotskit/robots"
)

// show formats directives as in the tables below: location, text, problem.
func show(list []Directive) string {
	var said []string
	for _, d := range list {
		where := fmt.Sprintf("h%d", d.Place.Header)
		if d.Place.Header == 0 {
			where = fmt.Sprintf("l%d", d.Place.Line)
		}
		s := where + " " + d.String()
		switch {
		case d.Problem != NoProblem:
			s += " !" + d.Problem.String()
		case d.Rule == UnavailableAfter:
			s += " =" + d.Time.Format(time.RFC3339)
		case d.Rule == MaxSnippet, d.Rule == MaxImagePreview, d.Rule == MaxVideoPreview:
			s += fmt.Sprintf(" =%d", d.Number)
		}
		said = append(said, s)
	}
	return strings.Join(said, " | ")
}

func TestHeaders(t *testing.T) {
	for _, q := range []struct {
		name, lines, want string // lines with "\n" between two
	}{
		{"none", "", ""},
		{"blank", " \t", ""},
		{"one", "noindex", "h1 noindex"},
		{"letter case and blanks", " NoIndex ,\tNOFOLLOW ", "h1 noindex | h1 nofollow"},
		{"all rules without a value", "all, none, noarchive, nosnippet, notranslate, noimageindex, indexifembedded",
			"h1 all | h1 none | h1 noarchive | h1 nosnippet | h1 notranslate | h1 noimageindex | h1 indexifembedded"},
		{"empty elements", ",, noindex,,", "h1 noindex"},
		{"two lines", "noindex\nnofollow", "h1 noindex | h2 nofollow"},
		{"agent", "googlebot: nofollow, noindex\nnosnippet", "h1 googlebot: nofollow | h1 googlebot: noindex | h2 nosnippet"},
		{"agent in any case, with blanks", "GoogleBot : NoFollow", "h1 googlebot: nofollow"},
		{"several agents, each with a line", "googlebot: nofollow\notherbot: noindex, nofollow",
			"h1 googlebot: nofollow | h2 otherbot: noindex | h2 otherbot: nofollow"},
		{"lines that a proxy has joined", "googlebot: nofollow, otherbot: noindex, nofollow",
			"h1 googlebot: nofollow | h1 otherbot: noindex | h1 otherbot: nofollow"},
		{"agent with a date", "googlebot: unavailable_after: 25 Jun 2010 15:00:00 PST, noindex",
			"h1 googlebot: unavailable_after: 25 Jun 2010 15:00:00 PST =2010-06-25T23:00:00Z | h1 googlebot: noindex"},
		{"agent with a value", "bingbot: max-snippet:20", "h1 bingbot: max-snippet:20 =20"},
		{"agent without a rule", "googlebot:", ""},
		{"a rule is no agent", "noindex: googlebot", "h1 noindex:googlebot !needless-value"},
		{"a rule of tomorrow is no agent", "max-audio-preview:3, noindex", "h1 max-audio-preview:3 !unknown-rule | h1 noindex"},
		{"an unknown name with a value is no agent behind a comma", "nofollow, tdm:1, noindex", "h1 nofollow | h1 tdm:1 !unknown-rule | h1 noindex"},
		{"two agents before one colon", "googlebot, bingbot: noindex", "h1 googlebot !unknown-rule | h1 bingbot: noindex"},
		{"no name of an agent", "google bot: noindex", "h1 google bot:noindex !unknown-rule"},
		{"unknown", "noai, noimageai", "h1 noai !unknown-rule | h1 noimageai !unknown-rule"},
		{"once known", "noodp, noydir", "h1 noodp | h1 noydir"},
		{"blanks for commas", "noindex nofollow", "h1 noindex nofollow !missing-comma"},
		{"colon alone", ": x, :", "h1 : x !unknown-rule"},
		{"numbers", "max-snippet:-1, max-snippet: 0, max-snippet:50, max-video-preview:7",
			"h1 max-snippet:-1 =-1 | h1 max-snippet:0 =0 | h1 max-snippet:50 =50 | h1 max-video-preview:7 =7"},
		{"a large number", "max-snippet:99999999999999999999", "h1 max-snippet:99999999999999999999 =2147483647"},
		{"no numbers", "max-snippet, max-snippet:, max-snippet:-2, max-snippet:+1, max-snippet:1.5, max-snippet:x",
			"h1 max-snippet !bad-value | h1 max-snippet !bad-value | h1 max-snippet:-2 !bad-value | h1 max-snippet:+1 !bad-value | h1 max-snippet:1.5 !bad-value | h1 max-snippet:x !bad-value"},
		{"sizes", "max-image-preview:none, max-image-preview:Standard, max-image-preview: large, max-image-preview:huge",
			"h1 max-image-preview:none =0 | h1 max-image-preview:Standard =1 | h1 max-image-preview:large =2 | h1 max-image-preview:huge !bad-value"},
		{"a date ends the line", "noindex, unavailable_after: Sunday, 06-Nov-94 08:49:37 GMT",
			"h1 noindex | h1 unavailable_after: Sunday, 06-Nov-94 08:49:37 GMT =1994-11-06T08:49:37Z"},
		{"a rule behind a date", "unavailable_after: Sun, 06 Nov 1994 08:49:37 GMT, noindex",
			"h1 unavailable_after: Sun, 06 Nov 1994 08:49:37 GMT =1994-11-06T08:49:37Z | h1 noindex"},
		{"a rule behind a short date", "unavailable_after:2030-01-02,noindex", "h1 unavailable_after: 2030-01-02 =2030-01-02T00:00:00Z | h1 noindex"},
		{"no date", "unavailable_after, unavailable_after:, unavailable_after: soon, noindex",
			"h1 unavailable_after:  !bad-value | h1 unavailable_after:  !bad-value | h1 unavailable_after: soon !bad-value | h1 noindex"},
		{"no date behind a weekday", "unavailable_after: Sunday, 99-Nov-94, noindex", "h1 unavailable_after: Sunday, 99-Nov-94 !bad-value | h1 noindex"},
		{"weekday alone", "unavailable_after: Sunday", "h1 unavailable_after: Sunday !bad-value"},
		{"bytes", "no\x00index, \xff, é", "h1 no\x00index !unknown-rule | h1 \xff !unknown-rule | h1 é !unknown-rule"},
	} {
		h := http.Header{}
		if q.lines != "" {
			h["X-Robots-Tag"] = strings.Split(q.lines, "\n")
		}
		if got := show(Parse(h, nil).Directives); got != q.want {
			t.Errorf("%s: %q\ngot  %s\nwant %s", q.name, q.lines, got, q.want)
		}
	}
}

func TestDates(t *testing.T) {
	for _, q := range []struct{ text, want string }{ // "" for none
		{"25 Jun 2010 15:00:00 PST", "2010-06-25T23:00:00Z"}, // RFC 822 with the years of RFC 1123
		{"Fri, 25 Jun 10 15:00 EDT", "2010-06-25T19:00:00Z"},
		{"Fri, 25 Jun 2010 15:00:00 +0200", "2010-06-25T13:00:00Z"},
		{"Fri, 25 Jun 2010 15:00:00 -0130", "2010-06-25T16:30:00Z"},
		{"Friday, 25-Jun-10 15:00:00 UTC", "2010-06-25T15:00:00Z"}, // RFC 850
		{"25-Jun-2010 15:00:00 GMT", "2010-06-25T15:00:00Z"},
		{"friday, 25-jun-10 15:00:00 gmt", "2010-06-25T15:00:00Z"},
		{"Fri Jun 25 15:00:00 2010", "2010-06-25T15:00:00Z"}, // asctime
		{"2010-06-25", "2010-06-25T00:00:00Z"},               // ISO 8601
		{"2010-06-25T15:00:00+02:00", "2010-06-25T13:00:00Z"},
		{"2010-06-25T15:00:00-0700", "2010-06-25T22:00:00Z"},
		{"2010-06-25T15:00:00.5Z", "2010-06-25T15:00:00Z"},
		{"2010-06-25t15:00z", "2010-06-25T15:00:00Z"},
		{"2010-06-25 15:00:00 GMT", "2010-06-25T15:00:00Z"},
		{"2010-06-25 15:00", "2010-06-25T15:00:00Z"},
		{"20100625T150000Z", "2010-06-25T15:00:00Z"},
		{"", ""},
		{"Friday", ""},
		{"soon", ""},
		{"31 Jun 2010 15:00:00 GMT", ""},
		{"25 Jun 2010 15:00:00 CET", ""}, // no zone of RFC 822: who knows which is meant
		{"25 Jun 2010 15:00:00 +9999", ""},
		{"25 Jun 2010 15:00:00 +0", ""},
		{"25 Jun 2010 15:00:00 +0060", ""},
		{"25-Jun-10 EST", "2010-06-25T05:00:00Z"}, // midnight
		{"2010-13-01", ""},
		{strings.Repeat("2", 1000), ""},
	} {
		got := ""
		if at, ok := parseDate(q.text); ok {
			got = at.Truncate(time.Second).Format(time.RFC3339)
		}
		if got != q.want {
			t.Errorf("%q: got %q, want %q", q.text, got, q.want)
		}
	}
}

func utf16Of(text string, order binary.AppendByteOrder) string {
	b := order.AppendUint16(nil, 0xFEFF)
	for _, u := range utf16.Encode([]rune(text)) {
		b = order.AppendUint16(b, u)
	}
	return string(b)
}

func TestMeta(t *testing.T) {
	const tag = `<meta name="robots" content="noindex">`
	for _, q := range []struct{ name, html, want string }{
		{"empty", "", ""},
		{"head", "<!DOCTYPE html>\n<html><head>\n" + tag + "</head>", "l3 noindex"},
		{"XHTML", `<meta name="robots" content="noindex, nofollow"/>`, "l1 noindex | l1 nofollow"},
		{"letter case", `<META NAME=Robots CONTENT=NOINDEX>`, "l1 noindex"},
		{"quotes, entities, other attributes", "<meta\ncontent='noindex&#44;nofollow' lang=cs name=' robots '>", "l1 noindex | l1 nofollow"},
		{"of one crawler", `<meta name="Googlebot" content="noindex">`, "l1 googlebot: noindex"},
		{"several", tag + "\r\n<meta name=googlebot content=nosnippet>\r<meta name=robots content='max-snippet:5'>",
			"l1 noindex | l2 googlebot: nosnippet | l3 max-snippet:5 =5"},
		{"no agent in the content", `<meta name=robots content="googlebot: noindex">`, "l1 googlebot:noindex !unknown-rule"},
		{"date", `<meta name=robots content="unavailable_after: Sunday, 06-Nov-94 08:49:37 GMT">`,
			"l1 unavailable_after: Sunday, 06-Nov-94 08:49:37 GMT =1994-11-06T08:49:37Z"},
		{"unknown", `<meta name=robots content="noai, noimageai">`, "l1 noai !unknown-rule | l1 noimageai !unknown-rule"},
		{"body", "<head></head><body><p>" + tag + "</p>", "l1 noindex"},
		{"other tags of meta", `<meta charset=utf-8><meta name=viewport content="width=device-width"><meta name=description content="all, index"><meta content=noindex><meta name=robots><meta>`, ""},
		{"property", `<meta property="robots" content="noindex">`, ""},
		{"http-equiv", `<meta http-equiv="X-Robots-Tag" content="noindex">`, ""},
		{"of an attribute that is given twice the first", `<meta name=robots name=x content=noindex content=all>`, "l1 noindex"},
		{"comment", "<!-- " + tag + " -->", ""},
		{"comment without an end", "<!-- " + tag, ""},
		{"conditional comment", "<!--[if IE]>" + tag + "<![endif]-->", ""},
		{"script", `<script>var x = '` + tag + `'</script>`, ""},
		{"script with a comment", "<script><!-- <script>" + tag + "</script> " + tag + " --></script>" + tag, "l1 noindex"},
		{"style", "<style>" + tag + "</style>", ""},
		{"title", "<title>" + tag + "</title>", ""},
		{"textarea", "<textarea>" + tag + "</textarea>", ""},
		{"noscript", "<noscript>" + tag + "</noscript>", ""},
		{"template", "<template><template></template>" + tag + "</template>", ""},
		{"behind a template", "<template></template></template>" + tag, "l1 noindex"},
		{"iframe", "<iframe>" + tag + "</iframe>", ""},
		{"plaintext", "<plaintext>" + tag, ""},
		{"attribute", `<p title='` + tag + `'>`, ""},
		{"tag without an end", `<meta name="robots" content="noindex"`, ""},
		{"value without an end", `<meta name="robots" content="noindex>`, ""},
		{"end tag", `</meta name="robots" content="noindex">`, ""},
		{"byte order mark", "\xEF\xBB\xBF" + tag, "l1 noindex"},
		{"latin 2 or anything else", "<title>\xe9\xff</title>" + tag, "l1 noindex"},
		{"UTF-16LE", utf16Of("<title>é𝄞</title>\n"+tag, binary.LittleEndian), "l2 noindex"},
		{"UTF-16BE", utf16Of("\n\n"+tag, binary.BigEndian), "l3 noindex"},
		{"UTF-16 cut in a letter", utf16Of(tag, binary.LittleEndian) + "\x00", "l1 noindex"},
		{"UTF-16 without a mark", utf16Of(tag, binary.LittleEndian)[2:], ""},
		{"bytes", "\x00<\x00meta name=robots content=\x00noindex>", ""},
	} {
		p := Parse(nil, []byte(q.html))
		if got := show(p.Directives); got != q.want || p.Cut {
			t.Errorf("%s: %q\ngot  %s\nwant %s", q.name, q.html, got, q.want)
		}
	}
}

// TestType: meta tags are those of HTML.
func TestType(t *testing.T) {
	for _, q := range []struct {
		kind string
		want bool
	}{
		{"", true}, {"text/html", true}, {"Text/HTML; charset=utf-8", true}, {"application/xhtml+xml", true}, {"text/html; charset", true},
		{"text/html;;", true}, {" text/html ;x=\"", true},
		{"application/pdf", false}, {"text/plain", false}, {"image/png", false}, {"text/htmlx", false}, {"nonsense", false},
	} {
		h := http.Header{"X-Robots-Tag": {"nofollow"}}
		if q.kind != "" {
			h.Set("Content-Type", q.kind)
		}
		p := Parse(h, []byte("<meta name=robots content=noindex>"))
		want := "h1 nofollow"
		if q.want {
			want += " | l1 noindex"
		}
		if got := show(p.Directives); got != want || p.HTML != q.want || IsHTML(h) != q.want {
			t.Errorf("%q: got %s, want %s", q.kind, got, want)
		}
	}
}

// TestLimits: a page is read up to limits of bytes and directives, and reports that.
func TestLimits(t *testing.T) {
	const tag = `<meta name=robots content=noindex>`
	blanks := strings.Repeat(" ", MaxBytes-len(tag))
	for _, q := range []struct {
		name, html string
		n          int
		cut        bool
	}{
		{"to the last byte", blanks + tag, 1, false},
		{"one byte more", blanks + " " + tag, 0, true},
		{"and behind the limit", blanks + tag + "x", 1, true},
		{"many rules", `<meta name=robots content="` + strings.Repeat("a,", MaxDirectives) + `">`, MaxDirectives, false},
		{"one more", `<meta name=robots content="` + strings.Repeat("a,", MaxDirectives) + `noindex">`, MaxDirectives, true},
	} {
		if p := Parse(nil, []byte(q.html)); len(p.Directives) != q.n || p.Cut != q.cut {
			t.Errorf("%s: %d directives, cut %v, want %d, %v", q.name, len(p.Directives), p.Cut, q.n, q.cut)
		}
	}
	long := strings.Repeat("é", MaxText)
	d := Parse(http.Header{"X-Robots-Tag": {"noindex," + long + ":" + long}}, nil).Directives[1]
	if len(d.Name) != MaxText || len(d.Value) != MaxText || !utf8.ValidString(d.Name+d.Value) {
		t.Errorf("a name of %d and a value of %d bytes", len(d.Name), len(d.Value))
	}
}

// readings returns the effect of each directive, and which of two that contradict each other wins.
func readings(d Directives) string {
	var said []string
	for _, r := range d.Readings {
		said = append(said, r.String()+"="+r.Effect.String())
	}
	for _, pair := range d.Opposed {
		said = append(said, pair[0].String()+">"+pair[1].String())
	}
	return strings.Join(said, " ")
}

// TestFor: the directives for a crawler, by engine, and which contradictions are reported. The page is a header; text that begins with
// "<" is HTML.
func TestFor(t *testing.T) {
	for _, q := range []struct {
		name   string
		engine Engine
		tokens string
		page   string // lines
		want   string
	}{
		{"to all", Google, "Googlebot", "noindex", "noindex=counts"},
		{"to all, nobody asks", AnyEngine, "*", "noindex\nx: nofollow", "noindex=counts x: nofollow=other-crawler"},
		{"a star addresses nobody", AnyEngine, "*", "*: noindex", "*: noindex=other-crawler"},
		{"to another", Google, "Googlebot", "bingbot: noindex", "bingbot: noindex=other-crawler"},
		{"summed", Google, "Googlebot", "nofollow\ngooglebot: noindex", "nofollow=counts googlebot: noindex=counts"},
		{"to a fallback too", Google, "Googlebot-News Googlebot", "googlebot: noindex\ngooglebot-news: nofollow", "googlebot: noindex=counts googlebot-news: nofollow=counts"},
		{"msnbot is Bing", Bing, "bingbot", "<meta name=msnbot content=noindex>", "msnbot: noindex=counts"},
		{"yandex is all of them", Yandex, "YandexImages", "<meta name=yandex content=noindex>", "yandex: noindex=counts"},
		{"but nobody is none of them", Yandex, "*", "<meta name=yandex content=noindex>", "yandex: noindex=other-crawler"},
		{"defaults", Google, "Googlebot", "all, index, follow, max-snippet:-1, max-image-preview:large, max-video-preview:-1",
			"all=default index=default follow=default max-snippet:-1=default max-image-preview:large=default max-video-preview:-1=default"},
		{"the restriction wins", Google, "Googlebot", "index, noindex, follow, nofollow, all", "index=overruled noindex=counts follow=overruled nofollow=counts all=overruled noindex>index nofollow>follow"},
		{"against none", Bing, "bingbot", "none, index", "none=counts index=overruled none>index"},
		{"to one against all", Google, "Googlebot", "noindex\ngooglebot: index", "noindex=counts googlebot: index=overruled noindex>googlebot: index"},
		{"the permission wins", Yandex, "YandexBot", "<meta name=robots content='noindex, index, nofollow'>", "noindex=overruled index=counts nofollow=counts index>noindex"},
		{"half of none", Yandex, "YandexBot", "<meta name=robots content='none, index'>", "none=counts index=counts index>none"},
		{"all of none", Yandex, "YandexBot", "<meta name=robots content='none, all'>", "none=overruled all=counts all>none all>none"},
		{"noarchive", Yandex, "YandexBot", "<meta name=robots content='noarchive, archive, noyaca'>", "noarchive=overruled archive=counts noyaca=counts archive>noarchive"},
		{"permissions of a header are not read", Yandex, "YandexBot", "noindex, index, all", "noindex=counts index=not-read all=not-read"},
		{"what others read", Yandex, "YandexBot", "nosnippet, max-snippet:3", "nosnippet=not-read max-snippet:3=not-read"},
		{"what others read", Seznam, "SeznamBot", "noindex, nosnippet", "noindex=counts nosnippet=not-read"},
		{"what others read", Google, "Googlebot", "noarchive, nocache, noodp", "noarchive=not-read nocache=not-read noodp=not-read"},
		{"what others read", Bing, "bingbot", "nocache, unavailable_after:2030-01-01", "nocache=counts unavailable_after: 2030-01-01=not-read"},
		{"who documents nothing reads all", AnyEngine, "x", "nocache, noyaca, nosnippet, noodp", "nocache=counts noyaca=not-read nosnippet=counts noodp=not-read"},
		{"nosnippet and a limit", Google, "Googlebot", "max-snippet:50, nosnippet", "max-snippet:50=overruled nosnippet=counts"},
		{"the least limit", Google, "Googlebot", "max-snippet:50, max-snippet:-1, max-snippet:20, max-snippet:20",
			"max-snippet:50=overruled max-snippet:-1=overruled max-snippet:20=counts max-snippet:20=counts"},
		{"the smallest size", Google, "Googlebot", "max-image-preview:large, max-image-preview:none", "max-image-preview:large=overruled max-image-preview:none=counts"},
		{"the first end", Google, "Googlebot", "unavailable_after:2031-01-01, unavailable_after:2030-01-01", "unavailable_after: 2031-01-01=overruled unavailable_after: 2030-01-01=counts"},
		{"embedded", Google, "Googlebot", "noindex, indexifembedded", "noindex=counts indexifembedded=counts"},
		{"embedded without noindex", Google, "Googlebot", "indexifembedded", "indexifembedded=no-effect"},
		{"embedded with the noindex of another", Google, "Googlebot", "indexifembedded\nx: noindex", "indexifembedded=no-effect x: noindex=other-crawler"},
		{"problems", Google, "Googlebot", "noai, max-snippet:x, noindex nofollow, noindex:1", "noai=meaningless max-snippet:x=meaningless noindex nofollow=meaningless noindex:1=meaningless"},
	} {
		h := http.Header{}
		var html string
		for line := range strings.SplitSeq(q.page, "\n") {
			if strings.HasPrefix(line, "<") {
				html += line
			} else {
				h.Add("X-Robots-Tag", line)
			}
		}
		if got := readings(Parse(h, []byte(html)).For(q.engine, strings.Fields(q.tokens)...)); got != q.want {
			t.Errorf("%s, %s: %q\ngot  %s\nwant %s", q.engine, q.name, q.page, got, q.want)
		}
	}
}

func said(a Answer) string {
	s := a.Is.String() + " " + a.Reason.String()
	if !a.Rule.IsZero() {
		s += " " + a.Rule.String()
	}
	return s
}

// TestOutlook: verdict, status and directives together.
func TestOutlook(t *testing.T) {
	rule := func(body string) *robots.Verdict {
		v := robots.Parse([]byte(body)).Rules(robots.Google, "Googlebot").Match(robots.RawPath("/p"))
		return &v
	}
	allow, shut := rule(""), rule("User-agent: *\nDisallow: /p")
	down := robots.DisallowAll(robots.Google, robots.ReasonUnreachable).Match(robots.RawPath("/p"))
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, q := range []struct {
		name    string
		verdict *robots.Verdict
		status  int // -1: the page is not known
		tag     string
		want    string // crawl; index; follow; snippet; hidden
	}{
		{"nothing", allow, 200, "", "yes allowed; yes nothing-said; yes nothing-said; yes nothing-said"},
		{"status not known", allow, 0, "noindex", "yes allowed; no rule noindex; yes nothing-said; no not-indexed noindex"},
		{"robots.txt not known", nil, 0, "nofollow", "unknown not-asked; yes nothing-said; no rule nofollow; yes nothing-said"},
		{"page not known", allow, -1, "", "yes allowed; unknown unread; unknown unread; unknown unread"},
		{"neither known", nil, -1, "", "unknown not-asked; unknown unread; unknown unread; unknown unread"},
		{"none", allow, 200, "none", "yes allowed; no rule none; no rule none; no not-indexed none"},
		{"nosnippet", allow, 200, "nosnippet", "yes allowed; yes nothing-said; yes nothing-said; no rule nosnippet"},
		{"max-snippet of 0 is nosnippet", allow, 200, "max-snippet:0", "yes allowed; yes nothing-said; yes nothing-said; no rule max-snippet:0"},
		{"nosnippet before max-snippet of 0", allow, 200, "nosnippet, max-snippet:0", "yes allowed; yes nothing-said; yes nothing-said; no rule nosnippet"},
		{"nosnippet after max-snippet of 0", allow, 200, "max-snippet:0, nosnippet", "yes allowed; yes nothing-said; yes nothing-said; no rule nosnippet"},
		{"max-snippet", allow, 200, "max-snippet:9", "yes allowed; yes nothing-said; yes nothing-said; yes limited max-snippet:9"},
		{"no limit", allow, 200, "max-snippet:-1", "yes allowed; yes nothing-said; yes nothing-said; yes nothing-said"},
		{"embedded", allow, 200, "noindex, indexifembedded", "yes allowed; no embedded noindex; yes nothing-said; no not-indexed noindex"},
		{"before the end", allow, 200, "unavailable_after: 2030-01-02", "yes allowed; yes expires unavailable_after: 2030-01-02; yes nothing-said; yes nothing-said"},
		{"at the end", allow, 200, "unavailable_after: 2030-01-01", "yes allowed; no expired unavailable_after: 2030-01-01; yes nothing-said; no not-indexed unavailable_after: 2030-01-01"},
		{"noindex and an end", allow, 200, "noindex, unavailable_after: 2030-01-02", "yes allowed; no rule noindex; yes nothing-said; no not-indexed noindex"},
		{"no page", allow, 404, "", "yes allowed; no missing; no missing; no missing"},
		{"gone", allow, 410, "noindex", "yes allowed; no missing; no missing; no missing"},
		{"not for crawlers", allow, 403, "", "yes allowed; no missing; no missing; no missing"},
		{"too many requests", allow, 429, "noindex", "yes allowed; unknown failing; unknown failing; unknown failing"},
		{"failure", allow, 503, "", "yes allowed; unknown failing; unknown failing; unknown failing"},
		{"redirect", allow, 301, "", "yes allowed; no redirects; no redirects; no redirects"},
		{"not modified", allow, 304, "", "yes allowed; unknown unread; unknown unread; unknown unread"},
		{"no status", allow, 999, "", "yes allowed; unknown failing; unknown failing; unknown failing"},
		{"disallowed", shut, -1, "", "no disallowed; address disallowed; no disallowed; no disallowed"},
		{"disallowed, says nothing", shut, 200, "index", "no disallowed; address disallowed; no disallowed; no disallowed"},
		{"the contradiction", shut, 200, "nofollow, noindex", "no disallowed; address disallowed; no disallowed; no disallowed; noindex"},
		{"another rule that nobody reads", shut, 200, "nosnippet", "no disallowed; address disallowed; no disallowed; no disallowed; nosnippet"},
		{"undecided", &down, 200, "noindex", "unknown undecided; unknown undecided; unknown undecided; unknown undecided"},
	} {
		var p *Page
		if q.status >= 0 {
			p = Parse(http.Header{"X-Robots-Tag": {q.tag}}, nil)
			p.Status = q.status
		}
		o := p.Outlook(q.verdict, now, Google, "Googlebot")
		got := strings.Join([]string{said(o.Crawl), said(o.Index), said(o.Follow), said(o.Snippet)}, "; ")
		if !o.Hidden.IsZero() {
			got += "; " + o.Hidden.String()
		}
		if got != q.want {
			t.Errorf("%s:\ngot  %s\nwant %s", q.name, got, q.want)
		}
	}
}

// TestEngines: every dialect has an engine, every engine its names, and some engine reads every
// rule that is not retired.
func TestEngines(t *testing.T) {
	for _, d := range robots.Dialects() {
		want, _, _ := strings.Cut(d.Name, "-")
		if d.Name == robots.RFC9309.Name {
			want = "any"
		}
		if got := EngineOf(d).String(); got != want {
			t.Errorf("%s: engine %s, want %s", d.Name, got, want)
		}
	}
	for e := range engineCount {
		if e.String() == "" || e.Title() == "" || (e.Source() == "") != (e == AnyEngine) {
			t.Errorf("engine %d lacks a name or its source", e)
		}
	}
	if got := Engine(99).String(); got != "any" {
		t.Errorf("no engine: %s", got)
	}
	seen := map[Rule]bool{}
	for _, r := range rules {
		d := Directive{Name: r.name, Rule: r.rule, Place: Place{Line: 1}}
		if AnyEngine.reads(&d) != (r.rule != Retired) || r.name != strings.ToLower(r.name) {
			t.Errorf("%s: read %v", r.name, AnyEngine.reads(&d))
		}
		seen[r.rule] = true
	}
	if len(seen) != int(ruleCount)-1 { // without Unknown
		t.Errorf("%d of %d rules have a name", len(seen), ruleCount-1)
	}
	for _, list := range [][]named{words, reasons, effects, problems} {
		names := map[string]bool{}
		for _, n := range list {
			if n.name == "" || names[n.name] {
				t.Errorf("%q is a name twice, or none", n.name)
			}
			names[n.name] = true
		}
		if got := nameAt(list, len(list)).name; got != "invalid" {
			t.Errorf("the value after the last is called %q", got)
		}
	}
}

// TestEngineRules compares where each engine reads a rule with a list: in meta elements (m), headers (h), both (b) or
// nowhere (-), in the order of the engines.
func TestEngineRules(t *testing.T) {
	const want = "all bbmb index bbmb follow bbmb archive --m- none bbbb noindex bbbb nofollow bbbb noarchive -bb- nocache -b-- " +
		"nosnippet bb-- notranslate b--- noimageindex b--- noyaca --m- indexifembedded b--- max-snippet bb-- max-image-preview bb-- " +
		"max-video-preview bb-- unavailable_after b--- noodp ---- noydir ---- nopreview ---- nositelinkssearchbox ----"
	var got []string
	for _, r := range rules {
		where := ""
		for _, l := range []locations{r.google, r.bing, r.yandex, r.seznam} {
			where += string("-mhb"[l])
		}
		got = append(got, r.name+" "+where)
	}
	if strings.Join(got, " ") != want {
		t.Errorf("%s\nwant\n%s", strings.Join(got, " "), want)
	}
}

// TestLinear: a hostile text takes about as long as eight texts of an eighth of its size; with
// quadratic time it would take eight times as long. On a busy machine one measurement can be
// wrong, so one of many tries is enough.
func TestLinear(t *testing.T) {
	for _, q := range []struct{ name, begin, unit string }{
		{"tags", "", "<"},
		{"open tags", "", "<meta "},
		{"comments", "", "<!--"},
		{"scripts", "<script>", "<!--<script>"},
		{"end tags of a script", "<script>", "</scrip"},
		{"noscript", "<noscript>", "</noscrip<"},
		{"attributes", "<meta ", "name=a "},
		{"entities", "<meta name=robots content='", "&#x2c;"},
		{"rules", "<meta name=robots content='", "a,"},
		{"agents", "<meta name=robots content='", "a:"},
		{"dates", "<meta name=robots content='", "unavailable_after:Sunday,1 Jan"},
		{"colons and commas", "<meta name=a content='", ":,"},
		{"lines", "", "\r\n<meta name=robots content=x>"},
		{"templates", "", "<template>"},
	} {
		took := func(bytes, times int) time.Duration {
			text := []byte(q.begin + strings.Repeat(q.unit, bytes/len(q.unit)))
			list := http.Header{"X-Robots-Tag": {string(text[len(q.begin):])}}
			began := time.Now()
			for range times {
				Parse(list, text)
			}
			return time.Since(began)
		}
		const tries, most = 25, 4
		eight, one := time.Hour, time.Hour
		for i := 0; i == 0 || one > most*eight; i++ {
			if i == tries {
				t.Errorf("%s: eight times %d bytes take %v, %d bytes %v", q.name, MaxBytes/8, eight, MaxBytes, one)
				break
			}
			eight, one = min(eight, took(MaxBytes/8, 8)), min(one, took(MaxBytes, 1))
		}
	}
}
