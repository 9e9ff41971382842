package answer

import (
	"strings"
	"testing"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/campaign"
)

// block returns the file that blocks names, and what it does.
func block(body string, names ...string) *Blocking {
	var who []Crawler
	for _, name := range names {
		who = append(who, Auto(name, name))
	}
	file := robots.Parse([]byte(body))
	return Block(file, who, Named(file), AccessSteps)
}

// TestBlock: names are added where they block, and every other byte stays.
func TestBlock(t *testing.T) {
	const own = "# own\nUser-agent: *\nDisallow: /private/\n"
	for name, test := range map[string]struct{ before, after string }{
		"empty":                  {"", "User-agent: GPTBot\nUser-agent: CCBot\nDisallow: /\n"},
		"only a byte order mark": {"\ufeff", "\ufeffUser-agent: GPTBot\nUser-agent: CCBot\nDisallow: /\n"},
		"at the end":             {own, own + "\nUser-agent: GPTBot\nUser-agent: CCBot\nDisallow: /\n"},
		"after a blank line":     {own + "\n", own + "\nUser-agent: GPTBot\nUser-agent: CCBot\nDisallow: /\n"},
		"no last line end":       {"User-agent: *\nDisallow: /p", "User-agent: *\nDisallow: /p\n\nUser-agent: GPTBot\nUser-agent: CCBot\nDisallow: /"},
		"CRLF":                   {"User-agent: *\r\nDisallow: /p\r\n", "User-agent: *\r\nDisallow: /p\r\n\r\nUser-agent: GPTBot\r\nUser-agent: CCBot\r\nDisallow: /\r\n"},
		"CR":                     {"User-agent: *\rDisallow: /p\r", "User-agent: *\rDisallow: /p\r\rUser-agent: GPTBot\rUser-agent: CCBot\rDisallow: /\r"},
		"into a group": {
			"user-agent:  WorseBot # bad\nDisallow: / # all\n\n" + own,
			"user-agent:  WorseBot # bad\nuser-agent:  GPTBot\nuser-agent:  CCBot\nDisallow: / # all\n\n" + own,
		},
		"one name is blocked": {
			own + "\nUser-agent: gptbot\nDisallow: /\n", own + "\nUser-agent: gptbot\nUser-agent: CCBot\nDisallow: /\n",
		},
		"the group of * blocks": {"User-agent: *\nDisallow: /\n", "User-agent: *\nDisallow: /\n"},
		"the last group has no rules": {
			own + "\n# ours\n# too\nUser-agent: Googlebot\n", own + "\nUser-agent: GPTBot\nUser-agent: CCBot\nDisallow: /\n\n# ours\n# too\nUser-agent: Googlebot\n",
		},
		"only a group without rules": {"User-agent: Googlebot", "User-agent: GPTBot\nUser-agent: CCBot\nDisallow: /\n\nUser-agent: Googlebot"},
		"own rules": {
			"User-agent: GPTBot\nDisallow: /private/\n", "User-agent: GPTBot\nDisallow: /private/\n\nUser-agent: GPTBot\nUser-agent: CCBot\nDisallow: /\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := block(test.before, "GPTBot", "CCBot")
			if string(b.Body) != test.after || !b.Possible || !b.Complete || !b.Star || len(b.Effects) > 0 || b.Unchanged != b.Others {
				t.Errorf("%+v\n%q, want\n%q", b, b.Body, test.after)
			}
			again := block(string(b.Body), "GPTBot", "CCBot")
			if again.Changed || string(again.Body) != test.after || again.Count(BlockedAlready) != 2 {
				t.Errorf("again: %+v", again)
			}
		})
	}
}

// TestBlockImpossible: nothing is possible that leaves a chosen crawler a URL, or that changes a search
// crawler that was not chosen.
func TestBlockImpossible(t *testing.T) {
	b := block("User-agent: GPTBot\nAllow: /\n", "GPTBot", "CCBot")
	if open := b.Crawlers[0]; b.Possible || open.Result != BlockedOpen || open.Rule == nil || open.Rule.Line != 2 || open.Path != "/" || b.Crawlers[1].Result != BlockedNewly {
		t.Errorf("%+v", b)
	}
	b = block("", "Googlebot")
	var severe []string
	for _, effect := range b.Effects {
		if effect.Severe {
			severe = append(severe, effect.Name)
		}
	}
	if b.Possible || !strings.Contains(strings.Join(severe, " "), "Googlebot-Image") || b.Crawlers[0].Result != BlockedNewly {
		t.Errorf("%v %+v", severe, b)
	}
	b = block("User-agent: *\nAllow: /a*b*c$\n", "The Knowledge AI")
	if len(b.Effects) == 0 || b.Effects[0].Name != "The Intraformant" || b.Effects[0].Severe || !b.Possible {
		t.Errorf("%+v", b)
	}
	if b := Block(robots.Parse([]byte("User-agent: GPTBot\nAllow: /\n")), []Crawler{Auto("GPTBot", "GPTBot")}, nil, 0); b.Complete {
		t.Errorf("without steps: %+v", b)
	}
}

// FuzzBlock: whatever the file, text is added in one place only, and a second run changes nothing.
func FuzzBlock(f *testing.F) {
	for _, seed := range []string{"", "\ufeffUser-agent: a", "User-agent: GPTBot\nAllow: /\n", "a\rUser-agent:b\r\nDisallow:/\n\nuser-agent:*", "User-agent: The\nDisallow: /\n#"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) { checkBlock(t, body) })
}

// checkBlock checks the laws of Block on a file.
func checkBlock(t *testing.T, body string) *Blocking {
	t.Helper()
	names := []string{"GPTBot", "CCBot", "Google-Extended", "AI2Bot", "The Knowledge AI"}
	b := block(body, names...)
	added := len(b.Body) - len(body)
	common := 0
	for common < len(body) && added >= 0 && b.Body[common] == body[common] {
		common++
	}
	if added < 0 || body[common:] != string(b.Body[common+added:]) || b.Changed != (added > 0) {
		t.Fatalf("text changed elsewhere:\n%q, after\n%q", b.Body, body)
	}
	if !b.Possible || !b.Complete {
		return b
	}
	again := block(string(b.Body), names...)
	if again.Changed || again.Count(BlockedAlready) != len(names) {
		t.Fatalf("again: %+v\n%q", again, again.Body)
	}
	return b
}

// TestBlockFiles checks the laws on real files.
func TestBlockFiles(t *testing.T) {
	counts := map[string]int{}
	campaign.Files(t, campaign.Size(500, 200, 1), func(name string, body []byte) {
		b := checkBlock(t, string(body))
		switch {
		case !b.Complete:
			counts["undecided"]++
			t.Logf("%s: undecided", name)
		case !b.Possible:
			counts["impossible"]++
			t.Logf("%s: %+v %+v", name, b.Crawlers, b.Effects)
		default:
			counts["possible"]++
		}
	})
	t.Log(counts)
}
