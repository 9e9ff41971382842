package ask

import (
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/fetch"
)

// NoLimit is the number of bytes that leaves the dialect's own limit.
const NoLimit = -1

// A Source is where rules come from: a file, or what came of asking a site.
type Source struct {
	File   *robots.File
	Record *fetch.Record
}

// Obey says what a crawler obeys by a source, at the time at, with maxBytes in place of
// the dialect's size limit. In a Dialect 0 means no limit, so of nothing at all an empty
// file is made.
func (s Source) Obey(d robots.Dialect, maxBytes int, at time.Time, tokens []string) *robots.Rules {
	if maxBytes > 0 {
		d.MaxFileBytes = maxBytes
	}
	switch {
	case s.Record != nil && maxBytes == 0:
		empty := *s.Record
		empty.Body, empty.Truncated = nil, false
		if empty.LastGood != nil {
			good := *empty.LastGood
			good.Body, good.Truncated = nil, false
			empty.LastGood = &good
		}
		return empty.Rules(d, at, tokens...)
	case s.Record != nil:
		return s.Record.Rules(d, at, tokens...)
	case maxBytes == 0:
		return robots.Parse(nil).Rules(d, tokens...)
	}
	return s.File.Rules(d, tokens...)
}

// A RuleSet is the rules that many URLs in succession are asked, with what of their answers
// is the same for all of them.
type RuleSet struct {
	*robots.Rules
	common []byte // of an answer in JSON, behind what the path decides; kept from the second on
	once   bool   // there was a first answer in JSON
}

// AppendVerdict appends the members of the answer with a verdict of these rules, as
// robots.Rules.AppendJSON does.
func (r *RuleSet) AppendVerdict(dst []byte, v robots.Verdict) []byte {
	dst = append(v.AppendDecisionJSON(dst), ',')
	if !r.once {
		r.once = true // in a batch often the last too
		return r.AppendCommonJSON(dst)
	}
	if r.common == nil {
		r.common = r.AppendCommonJSON(nil)
	}
	return append(dst, r.common...)
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
