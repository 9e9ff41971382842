package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/internal/script"
)

// The kinds of pace that the workers of a fleet may keep. The server refuses the heartbeats
// of a worker of another kind than the others have: the two know nothing of each other's
// requests.
const (
	kindShared = "shared" // New
	kindLeased = "leased" // NewLeased
)

// ErrMixed is in the error of a limiter whose kind, that of New or NewLeased, is not that of
// the other workers of the fleet: it grants nothing. New and NewLeased return it. A limiter
// that could not ask the server when it began takes no more grants once it can.
var ErrMixed = errors.New("the workers of the fleet keep another pace")

var errRecordsOnly = errors.New("this worker takes no grants: it was opened for records only")

// mixedError is ErrMixed in one sentence, with what the server says.
func (l *Limiter) mixedError(reply error) error {
	theirs, mine := "share the pace of each site", "has each site for itself (Leased)"
	if strings.HasSuffix(reply.Error(), kindLeased) {
		theirs, mine = "have each site for themselves (Leased)", "shares the pace of each site"
	}
	return fmt.Errorf("%w: they %s, and this one %s; set Leased on all of them or on none, which can be changed %v after the last of them has ended",
		ErrMixed, theirs, mine, knownFor(l.options))
}

// kindKeys are the keys of the kind of pace of a fleet, and of the worker of another kind
// that was turned away last.
func kindKeys(prefix string) (kind, mixed string) {
	head := "{" + prefix + "}:" + version
	return head + "kind", head + "mixed"
}

// Mixed returns the name of the worker that was turned away last, as it keeps another kind of
// pace than the others (ErrMixed), and whether that is the kind of NewLeased; "" if there is
// none. It is known for as long as a worker that is gone.
func (o *Operator) Mixed(ctx context.Context) (name string, leased bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	_, key := kindKeys(o.options.Prefix)
	text, err := o.client.Do(ctx, o.client.B().Get().Key(key).Build()).ToString()
	if rueidis.IsRedisNil(err) || script.Says(err, "WRONGTYPE") {
		return "", false, nil
	}
	kind, about, _ := strings.Cut(text, " ")
	var w Worker
	w.about(about)
	return robots.Printable(w.Name), kind == kindLeased, err
}
