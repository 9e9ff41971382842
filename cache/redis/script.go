package redis

import (
	"context"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/redis/rueidis"
)

var (
	//go:embed common.lua
	commonLua string
	//go:embed put.lua
	putLua string
	//go:embed read.lua
	readLua string
	//go:embed delete.lua
	deleteLua string
	//go:embed lease.lua
	leaseLua string
	//go:embed release.lua
	releaseLua string
)

// A script is one round trip, two if the server does not know it yet. rueidis.Lua
// does the same, but gives the memory of a command that was sent again over a new
// connection to the next command while the old connection may still be reading it;
// here and elsewhere pinned commands keep theirs.
type script struct {
	source, sha1 string
	// again says that it does the same when it runs twice, so that it is sent again
	// if a connection breaks over it. A put is not: another may have come between.
	again bool
}

// The flags in first lines let a server that is out of memory serve what needs none.
var (
	putScript     = newScript("#!lua\n", putLua, false)
	readScript    = newScript("#!lua flags=no-writes\n", readLua, true)
	deleteScript  = newScript("#!lua flags=allow-oom\n", deleteLua, false)
	leaseScript   = newScript("#!lua\n", leaseLua, true)
	releaseScript = newScript("#!lua flags=allow-oom\n", releaseLua, true)
)

func newScript(first, lua string, again bool) *script {
	source := first + commonLua + lua
	sum := sha1.Sum([]byte(source))
	return &script{source, hex.EncodeToString(sum[:]), again}
}

// run sends a script.
func (sc *script) run(ctx context.Context, client rueidis.Client, keys, args []string) rueidis.RedisResult {
	send := func(cmd rueidis.Completed) rueidis.RedisResult {
		if sc.again {
			cmd = cmd.ToRetryable()
		}
		return client.Do(ctx, cmd.Pin())
	}
	n := int64(len(keys))
	reply := send(client.B().Evalsha().Sha1(sc.sha1).Numkeys(n).Key(keys...).Arg(args...).Build())
	if e, ok := rueidis.IsRedisErr(reply.Error()); ok && e.IsNoScript() {
		reply = send(client.B().Eval().Script(sc.source).Numkeys(n).Key(keys...).Arg(args...).Build())
	}
	return reply
}

// Codes that scripts answer with, as in common.lua.
const (
	done = iota
	refused
	missing
	later
	exhausted
)

var (
	errLater     = fmt.Errorf("a later release has written it, this one reads versions up to %d", version)
	errExhausted = errors.New("the highest token there is has been used")
	errReply     = errors.New("the server has answered a script with something else")
)

// call runs a script and takes the code off its reply.
func (s *Store) call(ctx context.Context, sc *script, keys, args []string) (code int64, rest []rueidis.RedisMessage, err error) {
	reply, err := sc.run(ctx, s.client, keys, args).ToArray()
	if err != nil {
		return 0, nil, err
	}
	if len(reply) == 0 {
		return 0, nil, errReply
	}
	if code, err = reply[0].AsInt64(); err != nil {
		return 0, nil, errReply
	}
	switch code {
	case later:
		return 0, nil, errLater
	case exhausted:
		return 0, nil, errExhausted
	}
	return code, reply[1:], nil
}
