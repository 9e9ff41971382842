package redis

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/redis/rueidis"

	"github.com/robotskit/robots/internal/script"
)

var (
	//go:embed common.lua
	commonLua string
	//go:embed put.lua
	putLua string
	//go:embed delete.lua
	deleteLua string
	//go:embed lease.lua
	leaseLua string
	//go:embed left.lua
	leftLua string
	//go:embed release.lua
	releaseLua string
)

// The flags in the first lines let a server without free memory run what needs none. A
// put and a delete are not sent again, as another process may have written in between.
var (
	putScript     = &script.Script{Text: func() string { return "#!lua\n" + commonLua + putLua }}
	deleteScript  = &script.Script{Text: func() string { return "#!lua flags=allow-oom\n" + commonLua + deleteLua }}
	leaseScript   = &script.Script{Text: func() string { return "#!lua\n" + commonLua + leaseLua }, Retry: true}
	leftScript    = &script.Script{Text: func() string { return "#!lua flags=no-writes\n" + commonLua + leftLua }, Retry: true}
	releaseScript = &script.Script{Text: func() string { return "#!lua flags=allow-oom\n" + commonLua + releaseLua }, Retry: true}
)

// Codes in the answers of scripts, as in common.lua.
const (
	done = iota
	refused
	later
	exhausted
)

var (
	errLater     = fmt.Errorf("a later release has written it, this one reads versions up to %d", version)
	errExhausted = errors.New("the highest possible token has been used: begin again with another prefix")
)

// run runs a script on the key of an origin and returns the code and the rest of its reply.
func (s *Store) run(ctx context.Context, sc *script.Script, key string, args ...string) (code int64, rest []rueidis.RedisMessage, err error) {
	reply, err := sc.Run(ctx, s.client, []string{key}, args).ToArray()
	if err != nil {
		return 0, nil, err
	}
	if len(reply) == 0 {
		return 0, nil, script.ErrReply
	}
	if code, err = reply[0].AsInt64(); err != nil {
		return 0, nil, script.ErrReply
	}
	switch code {
	case later:
		return 0, nil, errLater
	case exhausted:
		return 0, nil, errExhausted
	}
	return code, reply[1:], nil
}
