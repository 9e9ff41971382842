package crawlers

import (
	"bytes"
	"cmp"
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

// TestDirectory checks that the directory is as the package comment and the types document it,
// so that reviews concern only facts.
func TestDirectory(t *testing.T) {
	d := json.NewDecoder(strings.NewReader(directory))
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
		closed(c, "crawl_delay", c.CrawlDelay, Honored, Ignored)
		closed(c, "request_rate", c.RequestRate, Honored, Ignored)
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
			t.Errorf("%s: addresses %q: not a valid URL", c.Name, c.Addresses)
		}
		// Google's page on verification states this.
		if c.ReverseDNS == "googlebot.com" && c.Status == Used && c.Addresses != commonCrawlers {
			t.Errorf("%s: addresses %q, want %s", c.Name, c.Addresses, commonCrawlers)
		}
		for _, token := range c.Tokens {
			if other, ok := Find(token); !ok || other.Operator == c.Operator && other.Dialect != c.Dialect {
				t.Errorf("%s reads as %s, its token %s as %s", c.Name, c.Dialect, token, cmp.Or(other.Dialect, "no crawler"))
			}
		}
		documented := map[string]bool{}
		for _, s := range c.Sources {
			documented[s.Document] = documented[s.Document] || slices.Contains(s.Says, "tokens")
		}
		var further []string
		for _, f := range c.FurtherTokens {
			further = append(further, f.Token)
			if f.Source != Reported && !documented[f.Source] {
				t.Errorf("%s: no source states the token %s: %s", c.Name, f.Token, f.Source)
			}
			other, _ := Find(f.Token)
			ownName := other.Name == c.Name || slices.ContainsFunc(other.Tokens, func(token string) bool { return token == c.Name })
			switch f.Kind {
			case Alias, Renamed:
				if other.Operator != c.Operator {
					t.Errorf("%s: %s of another operator is no %s", c.Name, f.Token, f.Kind)
				}
			case Fallback:
				if ownName {
					t.Errorf("%s: %s is a fallback, but another name of it", c.Name, f.Token)
				}
			default:
				t.Errorf("%s: token %s has the kind %q", c.Name, f.Token, f.Kind)
			}
		}
		if !slices.Equal(further, c.Tokens[1:]) {
			t.Errorf("%s: kinds of %q, want of %q", c.Name, further, c.Tokens[1:])
		}
		rival := ""
		for _, token := range c.Tokens[1:] {
			if other, ok := Find(token); ok && other.Operator != c.Operator {
				rival = token
			}
		}
		if rival != c.Rival {
			t.Errorf("%s %v falls back to the rival %q, the entry says %q", c.Name, c.Tokens, rival, c.Rival)
		}
		d, ok := robots.DialectByName(c.Dialect)
		if !ok && c.Dialect != Unknown {
			t.Errorf("%s: unknown dialect %q", c.Name, c.Dialect)
		}
		words := map[robots.Honor]string{robots.HonorReported: "reported", robots.HonorIgnored: Ignored, robots.HonorObeyed: Honored, robots.HonorInherited: Honored}
		does := [2]string{words[d.CrawlDelay], words[d.RequestRate]}
		if said := [2]string{c.CrawlDelay, c.RequestRate}; ok && d.Name != robots.RFC9309.Name && said != does {
			t.Errorf("%s: Crawl-delay and Request-rate are %v, in dialect %s %v", c.Name, said, d.Name, does)
		}
	}
	for name := range strings.FieldsSeq(robots.Google.IgnoreStar) {
		if c, _ := Find(name); c.Obeys != ObeysNamed {
			t.Errorf("%s obeys no group of * (D-53), the directory says %s", name, c.Obeys)
		}
	}
	if !reflect.DeepEqual(all, All()) {
		t.Error("the entries that the index finds differ from the file: a token or spelling needs an escape")
	}
	for i, c := range slices.SortedFunc(slices.Values(all), func(a, b Crawler) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) }) {
		if names := slices.Collect(Names()); names[i] != c.Name {
			t.Fatalf("name %d is %s, want %s", i, names[i], c.Name)
		}
	}
}

const commonCrawlers = "https://developers.google.com/static/crawling/ipranges/common-crawlers.json"

var update = flag.Bool("update", false, "lay directory.json out")

// TestLayout: the file has a field per line, in a fixed order, so that a diff shows only
// changes. After a change by hand:
//
//	go test ./crawlers -run TestLayout -update
func TestLayout(t *testing.T) {
	want := layout(t, All())
	if *update {
		if err := os.WriteFile("directory.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
	} else if directory != string(want) {
		t.Error("directory.json is laid out otherwise; run go test ./crawlers -run TestLayout -update")
	}
}

// members are those of an entry, in the order of the file.
var members = []string{
	"name", "tokens", "further_tokens", "spellings", "operator", "purpose", "also", "status", "dialect", "obeys", "crawl_delay", "request_rate",
	"reverse_dns", "addresses", "rival", "google_reads", "note", "sources",
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
		texts := map[string]string{}
		for _, field := range reflect.VisibleFields(reflect.TypeOf(c)) {
			name, option, _ := strings.Cut(field.Tag.Get("json"), ",")
			value := reflect.ValueOf(c).FieldByIndex(field.Index)
			switch {
			case name == "" || option == "omitempty" && value.Len() == 0:
				continue
			case name == "sources" || name == "further_tokens":
				var lines []string
				for k := range value.Len() {
					lines = append(lines, "      "+encode(value.Index(k).Interface()))
				}
				texts[name] = "    \"" + name + "\": [\n" + strings.Join(lines, ",\n") + "\n    ]"
			default:
				texts[name] = "    \"" + name + "\": " + encode(value.Interface())
			}
			if !slices.Contains(members, name) {
				t.Fatalf("the order of %s is not known", name)
			}
		}
		var fields []string
		for _, name := range members {
			if text := texts[name]; text != "" {
				fields = append(fields, text)
			}
		}
		b.WriteString("  {\n" + strings.Join(fields, ",\n") + "\n  }")
		if i < len(all)-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString("]\n")
	return b.Bytes()
}

// encodeProfile returns what decodeProfile reads.
func encodeProfile(p Profile) string {
	columns := []string{p.Name, p.Operator, string(p.Status), p.Dialect, string(p.Obeys), p.CrawlDelay, p.RequestRate, p.Rival}
	for _, f := range p.FurtherTokens {
		columns = append(columns, f.Token, string(f.Kind), f.Source)
	}
	return strings.Join(columns, "\t")
}

// encodeProfiles returns the profiles of entries as lines.
func encodeProfiles(all []Crawler) string {
	var lines []string
	own := map[string]bool{}
	for _, c := range all {
		lines = append(lines, strings.ToLower(c.Name)+"\t"+encodeProfile(c.Profile)+"\n")
		own[strings.ToLower(c.Name)] = true
		for _, s := range c.Spellings {
			lines = append(lines, strings.ToLower(s)+"\t"+spellingMark+strings.ToLower(c.Name)+"\n")
			own[strings.ToLower(s)] = true
		}
	}
	for _, c := range all {
		for _, token := range c.Tokens {
			if key := strings.ToLower(token); !own[key] {
				lines = append(lines, key+"\t"+tokenMark+strings.ToLower(c.Name)+"\n")
			}
		}
	}
	slices.SortFunc(lines, func(a, b string) int {
		first, _, _ := strings.Cut(a, "\t")
		second, _, _ := strings.Cut(b, "\t")
		return strings.Compare(first, second)
	})
	return strings.Join(lines, "")
}

// TestProfiles compares profiles.tsv with the directory:
//
//	go test ./crawlers -run TestProfiles -update
func TestProfiles(t *testing.T) {
	want := encodeProfiles(All())
	if *update {
		if err := os.WriteFile("profiles.tsv", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if profiles != want {
		t.Fatal("profiles.tsv differs from the directory; run go test ./crawlers -run TestProfiles -update")
	}
	for name := range index().byName {
		entry, _ := Find(name)
		if p, _, ok := readProfile(strings.ToUpper(name)); !ok || !reflect.DeepEqual(p, entry.Profile) {
			t.Errorf("%s: profile %+v, want %+v", name, p, entry.Profile)
		}
	}
	for _, name := range []string{"", "*", "a", "zzzz", "\uffff", "googlebo", "googlebotx"} {
		if p, _, ok := readProfile(name); ok {
			t.Errorf("%q is %s", name, p.Name)
		}
	}
}

var date = regexp.MustCompile(`^(unknown|[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?)$`)

func isURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

// TestSources: each fact that is not unknown has a document.
func TestSources(t *testing.T) {
	facts := []string{"name", "tokens", "operator", "purpose", "also", "dialect", "obeys", "crawl_delay", "request_rate", "verify"}
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
			"also":    len(c.Also) > 0,
			"dialect": c.Dialect != Unknown, "obeys": c.Obeys != Unknown, "crawl_delay": c.CrawlDelay != Unknown,
			"request_rate": c.RequestRate != Unknown, "verify": c.ReverseDNS != Unknown || c.Addresses != Unknown,
		}
		for fact, need := range needs {
			if need != said[fact] {
				t.Errorf("%s: %s is known: %v; a source says it: %v", c.Name, fact, need, said[fact])
			}
		}
	}
}

// TestTokens: in every dialect, a user-agent line with a token names its crawler. Google's
// dialects cut names, which the entry states.
func TestTokens(t *testing.T) {
	for _, c := range All() {
		for i, token := range c.Tokens {
			f := robots.Parse([]byte("User-agent: " + token + "\nDisallow: /"))
			for _, d := range robots.Dialects() {
				reads := "" // instead of the token
				if names := f.Crawlers(d); d.AgentMatch == robots.AgentTokenCut && len(names) == 0 {
					reads = "nobody"
				} else if d.AgentMatch == robots.AgentTokenCut && !strings.EqualFold(names[0], token) {
					reads = token[:len(names[0])]
				}
				if i == 0 && d.AgentMatch == robots.AgentTokenCut && reads != c.GoogleReads {
					t.Errorf("%s: %s reads %q, the entry says %q", c.Name, d.Name, reads, c.GoogleReads)
				}
				if reads == "" && f.Rules(d, token).Allowed(robots.RawPath("/page")) {
					t.Errorf("%s does not read the group of %q for it", d.Name, token)
				}
			}
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
		{"google-gemininotebook", "Google-NotebookLM"},
		{"YandexAdditionalBot", "YandexAdditional"},
		{"Sogou-Test-Spider/4.0", ""},
		{"*", ""}, {"", ""}, {"GTPBot", ""},
	} {
		if got, ok := Find(c.value); got.Name != c.want || ok != (c.want != "") {
			t.Errorf("%q: got %q, want %q", c.value, got.Name, c.want)
		}
	}
}

func ExampleCallers() {
	file := robots.Parse([]byte("User-agent: GPTBot\nUser-agent: CCBot\nDisallow: /\n"))
	gpt, _ := Find("GPTBot")
	spider, _ := Find("Bytespider")
	list := []Crawler{gpt, spider}
	path := robots.RawPath("/page")
	for i, rules := range Callers(list).Rules(file) {
		fmt.Println(list[i].Name, rules.Match(path))
	}
	// Output:
	// GPTBot disallowed by line 3: Disallow: /
	// Bytespider allowed: the file has rules, but none for this crawler
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
		"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; GPTBot/1.2; +https://openai.com/gptbot":                                                              "GPTBot",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36":                                                     "",
		"Mozilla/5.0 (X11; Linux x86_64; rv:125.0) Gecko/20100101 Firefox/125.0":                                                                                              "",
		"Mozilla/5.0 (Linux; Android 5.0; SM-G900P Build/LRX21T) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/58.0.7990.1979 Mobile Safari/537.36; Bytespider":               "Bytespider",
		"Mozilla/5.0 (compatible; MSIE 9.0; Windows NT 6.1; Trident/5.0); 360Spider(compatible; HaosouSpider; http://www.haosou.com/help/help_3_2.html)":                      "HaosouSpider",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Code/1.115.0 Chrome/142.0.7444.265 Electron/39.8.5 Safari/537.36":                   "",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Cursor/0.42 Chrome/120.0 Electron/28.0 Safari/537.36":                         "",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) Version/9.0.1 Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0": "",
		"facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)":                                                                                           "facebookexternalhit",
		"IAS Crawler/1.0": "", "notGooglebot/1.0": "", "-": "", "": "",
	} {
		if c, ok := Sender(header); ok != (want != "") || ok && c.Name != want {
			t.Errorf("%q is %q, want %q", header, c.Name, want)
		}
	}
}

//go:embed testdata/user-agents.tsv
var userAgents string

// TestUserAgents: the product tokens in the header of a crawler include one of its tokens, the
// first except for longer names that contain it (D-03), and never begin with a browser. Each
// line of the file is a name in the directory and a published header.
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
		// A longer name of adjacent words can come before its words, and the words before the
		// value itself.
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
