package pace

import (
	"context"
	"time"
)

// A Chooser is a Limiter that a frontier, which knows thousands of sites with pages to
// fetch, asks about many of them at once. Local and the limiters of pace/redis are ones.
type Chooser interface {
	Limiter

	// Next gives back what has ended, and then grants starts that may be at once: to the
	// first k of the asked sites, in their order, that are ready, or to as many as there
	// are. The answers have the order of the questions. One that is not OK says when to
	// ask for its site again, and why, as NotBefore does; if that time has come, the site
	// was ready and not among the first k.
	//
	// Each question is a step of its own, as Reserve is; other callers may come between
	// them. A site may be asked for more than once. Where callers of Wait queue at a site
	// it is theirs. With k of 0 or below nothing is granted.
	//
	// A question that cannot be answered at present, as the server of a shared limiter
	// does not answer, is refused like a site that is not ready, with CauseDegraded as its
	// first reason, and holds up no other. An error says that the context ended, or that the limiter
	// is closed; there is no grant then, but what has ended is given back all the same.
	Next(ctx context.Context, asked []Question, k int) ([]Grant, error)
}

// A Question is what a frontier asks about one site.
type Question struct {
	Key      Key
	Schedule *Schedule // nil for that of a site that declares nothing
	// Ended is a grant of this site that is given back before the question, as by Done
	// with Result. If it is not OK there is none.
	Ended  Grant
	Result Result
}

var _ Chooser = (*Local)(nil)

// Next grants starts to the first k of the asked sites that are ready.
func (l *Local) Next(ctx context.Context, asked []Question, k int) ([]Grant, error) {
	for i := range asked {
		_ = l.Done(ctx, asked[i].Ended, asked[i].Result) // which never fails
	}
	answers, began := make([]Grant, len(asked)), l.options.Asked()
	if len(asked) == 0 {
		return answers, nil
	}
	if err := ended(ctx, asked[0].Key); err != nil {
		return nil, err
	}
	// Each question locks on its own, so that nobody waits for all of them.
	within := time.Duration(0)
	for i, q := range asked {
		if k <= 0 {
			within = -1
		}
		if answers[i], _ = l.take(q.Key, q.Schedule, within, l.options.GrantTimeout, 0); answers[i].OK() { // it holds all sites
			k--
			l.options.TellDecided(q.Key.Origin, began, answers[i], nil)
		}
	}
	return answers, nil
}
