package source

import (
	"cmp"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
)

// RuleOptions change what crawlers obey. The zero value changes nothing.
type RuleOptions struct {
	MaxBytes      int       // size limit of the file; 0: that of the dialect
	At            time.Time // when to judge; zero: now
	UserInitiated bool      // a user started the fetches
}

// Rules returns what a crawler obeys by a robots.txt.
func (o *RuleOptions) Rules(t RobotsTXT, d robots.Dialect, now time.Time, tokens ...string) *robots.Rules {
	rules := t.Obey(d, o.MaxBytes, cmp.Or(o.At, now), tokens)
	if o.UserInitiated {
		return rules.UserInitiated()
	}
	return rules
}

// Source returns a robots.txt as crawlers obey it at a time with the options.
func (o *RuleOptions) Source(t RobotsTXT, now time.Time) answer.Source {
	return sourceWithOptions{o, t, now}
}

type sourceWithOptions struct {
	options *RuleOptions
	robots  RobotsTXT
	now     time.Time
}

func (s sourceWithOptions) Rules(d robots.Dialect, tokens ...string) *robots.Rules {
	return s.options.Rules(s.robots, d, s.now, tokens...)
}
