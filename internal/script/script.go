// Package script holds what cache/redis and pace/redis share: Lua scripts and how
// they are sent, the words of a server's error replies, and the prefix of keys.
package script

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/rueidis"
)

// Script is a text and the name by which a server that has run it knows it.
//
// rueidis.Lua does the same. But it decides by itself what an unknown name means, and
// it reuses the memory of a command that was sent again while the broken connection
// may still be reading it; so those commands are pinned here.
type Script struct {
	Text, SHA1 string
	// Retry says that running it twice does what running it once does: it is sent
	// again if a connection breaks over it.
	Retry bool
}

// New returns a script that is not sent again.
func New(text string) Script {
	sum := sha1.Sum([]byte(text)) // the name that Redis gives it
	return Script{Text: text, SHA1: hex.EncodeToString(sum[:])}
}

// Retried returns a script that is sent again.
func Retried(text string) Script {
	s := New(text)
	s.Retry = true
	return s
}

// Run runs it by its name, and by its text on a server that does not know it.
func (s Script) Run(ctx context.Context, client rueidis.Client, keys, args []string) rueidis.RedisResult {
	reply := s.ByName(ctx, client, keys, args)
	if Says(reply.Error(), "NOSCRIPT") {
		reply = s.ByText(ctx, client, keys, args)
	}
	return reply
}

// ByName runs a script that the server should know. It says NOSCRIPT if it does not.
func (s Script) ByName(ctx context.Context, client rueidis.Client, keys, args []string) rueidis.RedisResult {
	return s.send(ctx, client, client.B().Evalsha().Sha1(s.SHA1).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build())
}

// ByText runs a script, which the server knows from then on.
func (s Script) ByText(ctx context.Context, client rueidis.Client, keys, args []string) rueidis.RedisResult {
	return s.send(ctx, client, client.B().Eval().Script(s.Text).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build())
}

func (s Script) send(ctx context.Context, client rueidis.Client, cmd rueidis.Completed) rueidis.RedisResult {
	if s.Retry {
		cmd = cmd.Pin().ToRetryable()
	}
	return client.Do(ctx, cmd)
}

// ErrReply is the error of a reply that no script gives: the server is none of those
// supported.
var ErrReply = errors.New("the server has answered a script with something else")

// Kind says what an error means for those who ask next.
type Kind uint8

const (
	Other    Kind = iota // an answer to this call alone
	Lost                 // no reply has come: the call may have been carried out
	Down                 // the server answers nothing at present
	ReadOnly             // the server takes no writes at present, and goes on to be read
	Full                 // the server has no memory for what takes some
	Refused              // the user's rights, or a server that cannot do it: waiting does not help
)

// KindOf sorts an error of a call. It must not be nil.
func KindOf(err error) Kind {
	switch word(err) {
	case "":
		return Lost
	case "LOADING", "CLUSTERDOWN", "MASTERDOWN", "NOAUTH", "WRONGPASS":
		return Down
	case "READONLY", "NOREPLICAS", "MISCONF":
		return ReadOnly
	case "OOM":
		return Full
	case "NOPERM", "WRONGTYPE", "ERR":
		return Refused
	}
	return Other
}

// Says reports whether an error is a reply of the server that begins with one of
// these words.
func Says(err error, words ...string) bool {
	w := word(err)
	return w != "" && slices.Contains(words, w)
}

// word returns the first word of an error reply, "" of an error that is none. The
// general one, ERR, is that of replies that begin in small letters: rueidis cuts it
// off.
func word(err error) string {
	e, ok := rueidis.IsRedisErr(err)
	if !ok {
		return ""
	}
	first, _, _ := strings.Cut(e.Error(), " ")
	if first != strings.ToUpper(first) {
		return "ERR"
	}
	return first
}

// DefaultPrefix is the prefix of who names none.
const DefaultPrefix = "robots"

// maxPrefix bounds a prefix, which every key carries.
const maxPrefix = 64

// Head returns the beginning of all keys with a prefix: the prefix in braces, so that
// the keys lie on one shard of a cluster, and a colon.
func Head(prefix string) (string, error) {
	switch {
	case prefix == "":
		prefix = DefaultPrefix
	case len(prefix) > maxPrefix:
		return "", fmt.Errorf("the prefix %.80q is longer than %d bytes", prefix, maxPrefix)
	case strings.ContainsFunc(prefix, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '{' || r == '}' }):
		return "", fmt.Errorf("the prefix %q holds a brace, a space or a control character", prefix)
	}
	return "{" + prefix + "}:", nil
}
