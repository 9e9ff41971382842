package ask

import (
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
)

// A Source is where rules come from: a file, or the outcome of a fetch.
type Source struct {
	File   *robots.File
	Record *fetch.Record
}

// SizeLimit returns a size limit of n bytes, as Obey takes it: for 0 bytes it is 1, as no rule is
// that short.
func SizeLimit(n int) int { return max(n, 1) }

// Obey returns the rules of a crawler at a time, with maxBytes instead of the dialect's size
// limit; 0 leaves that.
func (s Source) Obey(d robots.Dialect, maxBytes int, at time.Time, tokens []string) *robots.Rules {
	if maxBytes > 0 {
		d.MaxFileBytes = maxBytes
	}
	if s.Record != nil {
		return s.Record.Rules(d, at, tokens...)
	}
	return s.File.Rules(d, tokens...)
}

// A RuleSet is rules with the part of their JSON answers that is the same for all URLs.
type RuleSet struct {
	*robots.Rules
	common []byte // kept from the first answer on
}

// AppendVerdict appends the members of the answer with a verdict of these rules, as
// robots.Rules.AppendJSON does.
func (r *RuleSet) AppendVerdict(dst []byte, v robots.Verdict) []byte {
	if r.common == nil {
		r.common = r.AppendCommonJSON(nil)
	}
	return append(append(v.AppendDecisionJSON(dst), ','), r.common...)
}

// AppendStrings appends a list of strings in JSON.
func AppendStrings(dst []byte, list []string) []byte {
	dst = append(dst, '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = robots.AppendQuoted(dst, s)
	}
	return append(dst, ']')
}
