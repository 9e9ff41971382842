package answer

import (
	"slices"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/quote"
)

// Verdicts are the answers on a URL for several crawlers: what a Check has for each, without building it, as lists have a
// million URLs. All slices have an entry for each crawler.
type Verdicts struct {
	URL      string    // as given
	Crawlers []Crawler // that are judged
	Rules    []*RuleSet
	List     []robots.Verdict

	echoes [][]byte // the members agent, fallback and binds of each, kept until the rules change
	echoed *RuleSet // the first of the rules that echoes are for
}

// Judge sets the URL, the rules of each crawler, and their verdicts.
func (v *Verdicts) Judge(url string, t *Target, rules []*RuleSet) {
	v.URL = url
	v.Rules = rules
	v.List = slices.Grow(v.List[:0], len(rules))[:len(rules)]
	for i, r := range rules {
		v.List[i] = r.Match(t.Path(&v.Crawlers[i].Dialect))
	}
}

// AppendJSON appends the object for a crawler: the members of Check.
func (v *Verdicts) AppendJSON(dst []byte, crawler int) []byte {
	if v.echoed != v.Rules[0] {
		v.echo()
	}
	dst = append(dst, `{"schema":1,`...)
	dst = append(v.Rules[crawler].AppendVerdict(dst, v.List[crawler]), `,"url":`...)
	dst = append(quote.Append(dst, v.URL), v.echoes[crawler]...)
	return append(dst, '}')
}

// echo encodes the members that are the same for all URLs of a robots.txt.
func (v *Verdicts) echo() {
	v.echoed = v.Rules[0]
	v.echoes = v.echoes[:0]
	for i := range v.Crawlers {
		c := &v.Crawlers[i]
		agent := AppendStrings([]byte(`,"agent":`), c.Echo())
		v.echoes = append(v.echoes, c.AppendJSON(append(agent, ','), v.Rules[i].Rules))
	}
}

// Fallback explains which group a crawler follows that no group names, "" if one does.
func (v *Verdicts) Fallback(crawler int) string {
	return v.Crawlers[crawler].FallbackSentence(v.Rules[crawler].Rules)
}

// A Target is a URL as dialects read it.
type Target struct {
	Raw    string      // for dialects that read it as it is
	Parsed robots.Path // for all others
}

// Path returns the path of the URL as a dialect reads it.
func (t *Target) Path(d *robots.Dialect) robots.Path {
	if d.Escapes == robots.EscapesRaw {
		return robots.RawPath(t.Raw)
	}
	return t.Parsed
}
