package crawlers

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/robotskit/robots"
)

// TestDirectory holds the file to what package comment and types promise, so that a
// review has only the facts to look at.
func TestDirectory(t *testing.T) {
	d := json.NewDecoder(bytes.NewReader(directory))
	d.DisallowUnknownFields()
	var all []Crawler
	if err := d.Decode(&all); err != nil {
		t.Fatal(err)
	}
	if len(all) < 250 {
		t.Errorf("%d entries", len(all))
	}
	closed := func(c Crawler, field, value string, allowed ...string) {
		if !slices.Contains(append(allowed, Unknown), value) {
			t.Errorf("%s: %s %q is none of %v", c.Name, field, value, allowed)
		}
	}
	var names []string
	for _, dialect := range robots.Dialects() {
		names = append(names, dialect.Name)
	}
	known := map[string]string{} // names in lower case
	last := 0
	for _, c := range all {
		purpose := slices.Index(Purposes(), c.Purpose)
		if purpose < last {
			t.Errorf("%s: purpose %q is unknown or out of order", c.Name, c.Purpose)
		}
		last = purpose
		closed(c, "status", string(c.Status), string(Used), string(OptOut), string(Token), string(Former), string(Mistake))
		closed(c, "obeys", string(c.Obeys), string(ObeysYes), string(ObeysNamed), string(UserInitiated), string(ObeysNo))
		closed(c, "crawl_delay", c.CrawlDelay, "honoured", "ignored")
		closed(c, "request_rate", c.RequestRate, "honoured", "ignored")
		closed(c, "dialect", c.Dialect, names...)
		if len(c.Tokens) == 0 || c.Name != c.Tokens[0] || c.Operator == "" || c.ReverseDNS == "" {
			t.Errorf("%q: an empty field, or a name that is not the first token", c.Name)
		}
		for _, name := range append([]string{c.Name}, c.Spellings...) {
			if other, ok := known[strings.ToLower(name)]; ok {
				t.Errorf("%s stands in two entries, %s and %s", name, other, c.Name)
			}
			known[strings.ToLower(name)] = c.Name
		}
		for i, token := range c.Tokens {
			if slices.Contains(c.Tokens[:i], token) || strings.TrimSpace(token) != token || token == "" {
				t.Errorf("%s: token %q is given twice, or has blanks around it", c.Name, token)
			}
		}
		if c.Addresses != Unknown && !isURL(c.Addresses) {
			t.Errorf("%s: addresses %q is no URL", c.Name, c.Addresses)
		}
	}
}

var update = flag.Bool("update", false, "lay directory.json out")

// TestLayout: the file has a field a line, in one order, so that a diff shows what
// has changed and nothing else. After a change by hand:
//
//	go test ./crawlers -run TestLayout -update
func TestLayout(t *testing.T) {
	want := layout(t, All())
	if *update {
		if err := os.WriteFile("directory.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
	} else if !bytes.Equal(directory, want) {
		t.Error("directory.json is laid out otherwise; run go test ./crawlers -run TestLayout -update")
	}
}

func layout(t *testing.T, all []Crawler) []byte {
	var b bytes.Buffer
	encode := func(v any) string {
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(strings.TrimSpace(text.String()), `","`, `", "`)
	}
	b.WriteString("[\n")
	for i, c := range all {
		var fields []string
		for v := reflect.ValueOf(c); len(fields) < v.NumField(); {
			name, option, _ := strings.Cut(v.Type().Field(len(fields)).Tag.Get("json"), ",")
			value := v.Field(len(fields))
			text := `    "` + name + `": ` + encode(value.Interface())
			switch {
			case option == "omitempty" && value.Len() == 0:
				text = ""
			case name == "sources":
				var sources []string
				for _, s := range c.Sources {
					sources = append(sources, "      "+encode(s))
				}
				text = "    \"sources\": [\n" + strings.Join(sources, ",\n") + "\n    ]"
			}
			fields = append(fields, text)
		}
		fields = slices.DeleteFunc(fields, func(text string) bool { return text == "" })
		b.WriteString("  {\n" + strings.Join(fields, ",\n") + "\n  }")
		if i < len(all)-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString("]\n")
	return b.Bytes()
}

var date = regexp.MustCompile(`^(unknown|[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?)$`)

func isURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

// TestSources: each fact that is not unknown has a document.
func TestSources(t *testing.T) {
	facts := []string{"name", "tokens", "operator", "purpose", "dialect", "obeys", "crawl_delay", "request_rate", "verify"}
	counted := 0
	for _, c := range All() {
		said := map[string]bool{}
		for _, s := range c.Sources {
			if !date.MatchString(s.Seen) {
				t.Errorf("%s: seen %q is no date", c.Name, s.Seen)
			}
			if !isURL(s.Document) && !slices.Contains([]string{"docs/dialects.md", "the name itself", "real robots.txt files"}, s.Document) {
				t.Errorf("%s: document %q", c.Name, s.Document)
			}
			for _, fact := range s.Says {
				if !slices.Contains(facts, fact) {
					t.Errorf("%s: a source of %q", c.Name, fact)
				}
				said[fact] = true
			}
		}
		needs := map[string]bool{
			"name": true, "tokens": len(c.Tokens) > 1, "operator": c.Operator != Unknown, "purpose": c.Purpose != Unknown,
			"dialect": c.Dialect != Unknown, "obeys": c.Obeys != Unknown, "crawl_delay": c.CrawlDelay != Unknown,
			"request_rate": c.RequestRate != Unknown, "verify": c.ReverseDNS != Unknown || c.Addresses != Unknown,
		}
		for fact, need := range needs {
			if need != said[fact] {
				t.Errorf("%s: %s is known: %v; a source says it: %v", c.Name, fact, need, said[fact])
			}
			if need {
				counted++
			}
		}
	}
	t.Logf("%d facts on %d crawlers have a source", counted, len(All()))
}

// TestLists: Google's crawlers whose addresses have names in googlebot.com come from the
// list of its common crawlers, as its page on verification says.
func TestLists(t *testing.T) {
	const list = "https://developers.google.com/static/crawling/ipranges/common-crawlers.json"
	found := 0
	for _, c := range All() {
		if c.ReverseDNS == "googlebot.com" && c.Status == Used {
			found++
			if c.Addresses != list {
				t.Errorf("%s: addresses %q, want %s", c.Name, c.Addresses, list)
			}
		}
	}
	if c, _ := Find("Googlebot"); found == 0 || c.Addresses != list {
		t.Errorf("%d crawlers, Googlebot: %q", found, c.Addresses)
	}
}

// TestTokens asks every dialect whether a user-agent line with a token names its
// crawler. Those of Google cut names, which the entry says.
func TestTokens(t *testing.T) {
	cuts := 0
	for _, c := range All() {
		if c.GoogleReads != "" {
			cuts++
		}
		for i, token := range c.Tokens {
			f := robots.Parse([]byte("User-agent: " + token + "\nDisallow: /"))
			for _, d := range robots.Dialects() {
				path := robots.RawPath("/page")
				if d.AgentMatch != robots.AgentTokenCut {
					if f.Rules(d, token).Allowed(path) {
						t.Errorf("%s does not read the group of %q for it", d.Name, token)
					}
					continue
				}
				var reads string
				switch names := f.Crawlers(d); {
				case len(names) == 0:
					reads = "nobody"
				case !strings.EqualFold(names[0], token):
					reads = token[:len(names[0])]
				default:
					reads = ""
				}
				if i == 0 && reads != c.GoogleReads {
					t.Errorf("%s: %s reads %q, the entry says %q", c.Name, d.Name, reads, c.GoogleReads)
				}
				if reads == "" && f.Rules(d, token).Allowed(path) {
					t.Errorf("%s does not read the group of %q for it", d.Name, token)
				}
			}
		}
	}
	t.Logf("Google cuts %d of %d names", cuts, len(All()))
}

// TestRivals: a fallback to the group of another operator is marked, and nothing
// else is.
func TestRivals(t *testing.T) {
	for _, c := range All() {
		rival := ""
		for _, token := range c.Tokens[1:] {
			if other, ok := Find(token); ok && other.Operator != c.Operator {
				rival = token
			}
		}
		if rival != c.Rival {
			t.Errorf("%s %v falls back to the rival %q, the entry says %q", c.Name, c.Tokens, rival, c.Rival)
		}
	}
}

// TestDialects: what the directory says of a crawler with a dialect is what the
// dialect does.
func TestDialects(t *testing.T) {
	for _, c := range All() {
		d, ok := robots.DialectByName(c.Dialect)
		if !ok || d.Name == robots.RFC9309.Name {
			continue
		}
		words := map[robots.Honor]string{robots.HonorReported: "reported", robots.HonorIgnored: "ignored", robots.HonorObeyed: "honoured", robots.HonorInherited: "honoured"}
		if said, does := c.CrawlDelay, words[d.CrawlDelay]; said != "" && said != does {
			t.Errorf("%s: crawl-delay is %s, dialect %s: %s", c.Name, said, d.Name, does)
		}
		if said, does := c.RequestRate, words[d.RequestRate]; said != "" && said != does {
			t.Errorf("%s: request-rate is %s, dialect %s: %s", c.Name, said, d.Name, does)
		}
	}
	for name := range strings.FieldsSeq(robots.Google.IgnoreStar) {
		if c, _ := Find(name); c.Obeys != ObeysNamed {
			t.Errorf("%s obeys no group of * (D-53), the directory says %s", name, c.Obeys)
		}
	}
}

func TestFind(t *testing.T) {
	for _, c := range []struct{ value, want string }{
		{"googlebot-image", "Googlebot-Image"},
		{"Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)", "bingbot"},
		{"Mediapartners-Google*", "Mediapartners-Google"},
		{"Wget/1.5.3", "wget"},
		{"Sogou web spider", "Sogou web spider"},
		{"Sogou web spider/4.0", "Sogou web spider"}, // not Spider, which is its last word
		{"Mozilla/5.0 (compatible; Yahoo! Slurp/3.0; http://help.yahoo.com/)", "Yahoo! Slurp"},
		{"Spider/1.0", "Spider"},
		{"Sogou-Test-Spider/4.0", ""},
		{"*", ""}, {"", ""}, {"GTPBot", ""},
	} {
		if got, ok := Find(c.value); got.Name != c.want || ok != (c.want != "") {
			t.Errorf("%q: got %q, want %q", c.value, got.Name, c.want)
		}
	}
}

func ExampleSet() {
	file := robots.Parse([]byte("User-agent: GPTBot\nUser-agent: CCBot\nDisallow: /\n"))
	var list []Crawler
	for _, c := range All() {
		if c.Purpose == AITraining && c.Operator == "OpenAI" || c.Name == "Bytespider" {
			list = append(list, c)
		}
	}
	path := robots.RawPath("/page")
	for i, rules := range Callers(list).Rules(file) {
		fmt.Println(list[i].Name, rules.Match(path))
	}
	// Output:
	// GPTBot disallowed by line 3: Disallow: /
	// Bytespider allowed: the file has rules, but none for this crawler
}

// TestNames: the short way to the names finds those of the directory.
func TestNames(t *testing.T) {
	var want []string
	for _, c := range All() {
		want = append(want, c.Name)
	}
	if got := slices.Collect(Names()); !slices.Equal(got, want) {
		t.Errorf("%d names, want %d: %q", len(got), len(want), got)
	}
}

func TestSender(t *testing.T) {
	for header, want := range map[string]string{
		"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Googlebot/2.1; +http://www.google.com/bot.html) Chrome/120.0.0.0 Safari/537.36": "Googlebot",
		"Googlebot-Image/1.0":                   "Googlebot-Image",
		"MOZILLA/5.0 (COMPATIBLE; BINGBOT/2.0)": "bingbot",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 14_7_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/14.1.2 Mobile/15E148 Safari/604.1 (compatible; AdsBot-Google-Mobile; +http://www.google.com/mobile/adsbot.html)": "AdsBot-Google-Mobile",
		"Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/help/us/ysearch/slurp)": "Yahoo! Slurp",
		"Sogou web spider/4.0(+http://www.sogou.com/docs/help/webmasters.htm#07)":             "Sogou web spider",
		"Yahoo! Slurpy Googlebot/2.1": "Googlebot",
		"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; GPTBot/1.2; +https://openai.com/gptbot":          "GPTBot",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36": "",
		"Mozilla/5.0 (X11; Linux x86_64; rv:125.0) Gecko/20100101 Firefox/125.0":                                          "",
		"IAS Crawler/1.0": "", "notGooglebot/1.0": "", "-": "", "": "",
	} {
		if c, ok := Sender(header); ok != (want != "") || ok && c.Name != want {
			t.Errorf("%q is %q, want %q", header, c.Name, want)
		}
	}
}

//go:embed testdata/user-agents.tsv
var userAgents string

// TestUserAgents: from the header that a crawler sends, one of its tokens is read, the
// first but for names that hold its token (D-03), and no list begins with a browser.
// Each line of the file is a name of the directory and a header as it is published.
func TestUserAgents(t *testing.T) {
	notNamed := map[string]string{ // and why
		"archive.org_bot": "in a URL alone", "gochitchat.ai": "in a URL alone", "Infegy": "in an address alone",
		"Awario": "sends AwarioSmartBot", "NotebookLM": "sends Google-NotebookLM", "Pingdom": "sends PingdomPageSpeed",
		"Siteimprove": "sends Siteimprove.com", "SearchAtlas": "sends SearchAtlas.com", "Panscient": "sends panscient.com",
		"semantic-visions": "sends semantic-visions.com", "larbin": "sends larbin_2.6.2",
		"Nutch": "a bare word of a comment", "ias_crawler": "a bare word of a comment", "IndeedBot": "a bare word of a comment",
	}
	notFirst := map[string]string{ // what is
		"Mail.RU_Bot": "Linux x86_64", "NewsNow": "MSIE", "Offline Explorer": "MSIE", "Diffbot": "Firefox",
		"yacybot": "GMT", "Netvibes": "crawler",
	}
	has := func(c Crawler, token string) bool {
		return slices.ContainsFunc(c.Tokens, func(own string) bool { return strings.EqualFold(own, token) })
	}
	tried := 0
	for line := range strings.Lines(userAgents) {
		name, header, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		c, ok := Find(name)
		if !ok || c.Name != name || header == "" {
			t.Fatalf("%q: no crawler of the directory, or no header", line)
		}
		tried++
		tokens := robots.ProductTokens(header)
		if tokens[len(tokens)-1] != header {
			t.Errorf("%s: the header is not the last of %q", name, tokens)
		}
		if first := strings.ToLower(tokens[0]); len(tokens) > 1 && slices.Contains([]string{"mozilla", "applewebkit", "gecko", "chrome", "safari", "version", "mobile"}, first) && name != "Infegy" {
			t.Errorf("%s: a browser leads %q", name, tokens)
		}
		at := slices.IndexFunc(tokens, func(token string) bool { return has(c, token) })
		if named := at >= 0; named == (notNamed[name] != "") {
			t.Errorf("%s is named: %v, by %q", name, named, tokens)
		}
		if at < 0 {
			continue
		}
		if f := robots.Parse([]byte("User-agent: " + tokens[at] + "\nDisallow: /")); f.Rules(robots.RFC9309, header).Allowed(robots.RawPath("/")) {
			t.Errorf("%s: its header is allowed where %s is not", name, tokens[at])
		}
		// A longer name, its words next to each other, may come before its word, and
		// before the value itself its words.
		first := tokens[0]
		if words := strings.FieldsFunc(strings.ToLower(first), func(c rune) bool { return c == ' ' || c == '/' }); at > 0 && slices.Contains(words, strings.ToLower(tokens[at])) || at == len(tokens)-1 && has(c, header) {
			first = tokens[at]
		}
		if want := notFirst[name]; want == "" && !has(c, first) || want != "" && first != want {
			t.Errorf("%s: %q is first of %q", name, first, tokens)
		}
		if sender, ok := Find(header); !ok {
			t.Errorf("%s: its header is nobody's", name)
		} else if sender.Name != name && !slices.Contains([]string{"Yahoo! Slurp", "TurnitinBot", "GrapeshotCrawler"}, sender.Name) {
			t.Errorf("%s: its header is that of %s", name, sender.Name)
		}
	}
	if tried < 290 {
		t.Errorf("%d headers", tried)
	}
}
