package answer

import (
	"os"
	"reflect"
	"testing"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/crawlers"
	"github.com/robotskit/robots/internal/campaign"
)

// TestProver: the access is proved in every dialect, and undecided when the steps end.
func TestProver(t *testing.T) {
	for _, c := range []struct {
		rules string
		want  Access
		path  string // of the rule that blocks the shortest URL
		more  int
	}{
		{"", AccessAll, "", 0},
		{"Disallow: /\nAllow: /", AccessAll, "/", 0},
		{"Allow: /a\nAllow: /b", AccessAll, "", 0},
		{"Disallow: /b\nDisallow: /private/", AccessPart, "/b", 1},
		{"Disallow: /\nAllow: /$", AccessPart, "/", 0},
		{"Disallow: /", AccessNone, "/", 0},
		{"Disallow: /*", AccessNone, "/*", 0},
		{"Disallow: /\nAllow: /robots.txt$", AccessNone, "/", 0},
	} {
		for _, d := range robots.Dialects() {
			r := robots.Parse([]byte("User-agent: *\n"+c.rules)).Rules(d, "MyBot")
			s := NewProver(AccessSteps).Evaluate(r)
			if s.Access != c.want || s.Verdict.Rule.Path() != c.path || s.Others != c.more {
				t.Errorf("%s %q: got %s by %q and %d more, want %s by %q and %d more", d.Name, c.rules, s.Access, s.Verdict.Rule.Path(), s.Others, c.want, c.path, c.more)
			}
			if c.want == AccessPart {
				if s := NewProver(1).Evaluate(r); s.Access != AccessUndecided {
					t.Errorf("%s %q: %s after one step", d.Name, c.rules, s.Access)
				}
			}
		}
	}
}

// TestProofsEnd: a hostile file takes no more than the steps of one table, and reports that.
func TestProofsEnd(t *testing.T) {
	p := NewProver(1000)
	undecided := 0
	for range 20 {
		body := "User-agent: *\n"
		for i := range 20 {
			body += "Disallow: /*" + string(rune('a'+i)) + "*b*c*d\nAllow: /*" + string(rune('a'+i)) + "*x*y\n"
		}
		if p.Evaluate(robots.Parse([]byte(body)).Rules(robots.RFC9309, "MyBot")).Access == AccessUndecided {
			undecided++
		}
	}
	if p.steps < -1000 || undecided == 0 {
		t.Errorf("%d steps left, %d undecided", p.steps, undecided)
	}
}

// TestProofOnce: groups with equal rules are proved once, and each result has its own group.
func TestProofOnce(t *testing.T) {
	f := robots.Parse([]byte("User-agent: a\nUser-agent: b\nDisallow: /x\n\nUser-agent: c\nDisallow: /x\n\nUser-agent: d\nUser-agent: e\nDisallow:\n"))
	p := NewProver(AccessSteps)
	for _, c := range []struct {
		token  string
		access Access
		line   int
		proofs int
	}{{"a", AccessPart, 3, 1}, {"b", AccessPart, 3, 1}, {"c", AccessPart, 6, 2}, {"d", AccessAll, 0, 3}, {"e", AccessAll, 0, 3}, {"f", AccessAll, 0, 3}} {
		s := p.Evaluate(f.Rules(robots.RFC9309, c.token))
		if s.Access != c.access || s.Verdict.Rule.Line() != c.line || len(p.known) != c.proofs || s.Named() != (c.token != "f") || s.Named() && s.Verdict.Group.Token() != c.token {
			t.Errorf("%s: %s by line %d of group %q after %d proofs, want %s by line %d after %d", c.token, s.Access, s.Verdict.Rule.Line(), s.Verdict.Group.Token(), len(p.known), c.access, c.line, c.proofs)
		}
	}
}

// TestAccess: the fast result is the proved one.
func TestAccess(t *testing.T) {
	files := []string{
		"Disallow: /\nAllow: /a", "Disallow: /a\nAllow: /a", "Disallow: /robots.txt", "Disallow: /./a", "Disallow: /a..", "Disallow: /.a",
		"Disallow: /a$", "Disallow: /*", "Allow: /a\nDisallow: /*a", "Disallow: //a", "Disallow: /%41", "Disallow: a", "Disallow:", "Disallow: /A b",
		"Disallow: /\nAllow: /x/../robots.txt",
	}
	sooner, asked := 0, 0
	agree := func(f *robots.File) {
		shared := NewProver(len(robots.Dialects()) * 3 * AccessSteps)
		for _, d := range robots.Dialects() {
			for _, agent := range []string{"GPTBot", "Googlebot", "x"} {
				r := f.Rules(d, agent)
				asked++
				if hasPart(r) {
					sooner++
				}
				want := NewProver(AccessSteps).Evaluate(r).Access
				if got := NewProver(AccessSteps).Access(r); got != want && want != AccessUndecided {
					t.Fatalf("%s for %s in\n%s\nfound %s, proved %s", d.Name, agent, f.Bytes(), got, want)
				}
				if got := shared.Evaluate(r).Access; got != want {
					t.Fatalf("%s for %s in\n%s\nproved %s alone, and %s after other dialects", d.Name, agent, f.Bytes(), want, got)
				}
			}
		}
	}
	for _, rules := range files {
		agree(robots.Parse([]byte("User-agent: *\n" + rules)))
	}
	if sooner == 0 || sooner == asked {
		t.Errorf("%d of %d found sooner", sooner, asked)
	}
	if os.Getenv("ROBOTS_CORPUS") == "" {
		return
	}
	sooner, asked = 0, 0
	campaign.Files(t, campaign.Size(1000, 200, 4), func(_ string, body []byte) { agree(robots.Parse(body)) })
	t.Logf("%d of %d found sooner", sooner, asked)
}

// TestAccessCategories: each crawler of a purpose is counted once, with the group that it follows: its own, that of another name,
// or that of *, which does not address those for which a person requests pages.
func TestAccessCategories(t *testing.T) {
	var who []crawlers.Crawler
	for _, name := range []string{"GPTBot", "Applebot-Extended", "Google-GeminiNotebook", "ChatGPT-User", "Claude-User", "Googlebot-Image", "bingbot"} {
		c, known := crawlers.Find(name)
		if !known {
			t.Fatal(name)
		}
		who = append(who, c)
	}
	purposes := []crawlers.Purpose{crawlers.AITraining, crawlers.AIUser, crawlers.Search}
	for file, want := range map[string][]AccessCategory{
		"User-agent: *\nDisallow: /a\n\nUser-agent: GPTBot\nUser-agent: Google-NotebookLM\nUser-agent: Googlebot\nDisallow: /\n": {
			{Named: 1, Star: 1}, {Named: 1, Star: 1, Exempt: 1}, {Fallback: 1, Star: 1},
		},
		"User-agent: GPTBot\nDisallow: /\n": {{Named: 1, None: 1}, {None: 3}, {None: 2}},
	} {
		table, _ := AccessTable(robots.Parse([]byte(file)), who, nil, AccessSteps)
		for i, got := range AccessCategories(table, purposes) {
			total := len(got.Obeying) + len(got.Others)
			counts := AccessCategory{Named: got.Named, Fallback: got.Fallback, Star: got.Star, Exempt: got.Exempt, None: got.None}
			if !reflect.DeepEqual(counts, want[i]) || total != counts.Named+counts.Fallback+counts.Star+counts.Exempt+counts.None {
				t.Errorf("%s of %q: %+v, want %+v", purposes[i], file, got, want[i])
			}
		}
	}
}
