// Package script is the common part of cache/redis and pace/redis: running Lua scripts, the
// meaning of error replies, and the prefix of keys.
package script

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redis/rueidis"
)

// A Script is a Lua script. A server that has run it knows it by the SHA-1 of its text.
//
// rueidis.Lua is similar, but always sends the text after NOSCRIPT. It also reuses the memory of
// a command that is sent again while the broken connection might still read it, so commands are
// pinned here.
type Script struct {
	Text  func() string // called when the script is first sent: most programs that could send scripts send none
	Retry bool          // it is sent again if the connection breaks: to run it twice must be the same as to run it once

	once       sync.Once
	text, sha1 string
}

// Run runs a script by its name, or by its text if the server does not know it.
func (s *Script) Run(ctx context.Context, client rueidis.Client, keys, args []string) rueidis.RedisResult {
	return s.RunAll(ctx, client, []Call{{keys, args}})[0]
}

// A Call is the keys and the arguments of one run of a script.
type Call struct{ Keys, Args []string }

// RunAll runs a script several times, in one pipeline for each server.
func (s *Script) RunAll(ctx context.Context, client rueidis.Client, calls []Call) []rueidis.RedisResult {
	s.once.Do(func() {
		s.text = s.Text()
		sum := sha1.Sum([]byte(s.text))
		s.sha1 = hex.EncodeToString(sum[:])
	})
	replies := client.DoMulti(ctx, s.commands(calls, func(c Call) rueidis.Completed {
		return client.B().Evalsha().Sha1(s.sha1).Numkeys(int64(len(c.Keys))).Key(c.Keys...).Arg(c.Args...).Build()
	})...)
	var unknown []int
	var again []Call
	for i, c := range calls {
		if Says(replies[i].Error(), "NOSCRIPT") {
			unknown = append(unknown, i)
			again = append(again, c)
		}
	}
	if len(unknown) > 0 {
		for k, reply := range client.DoMulti(ctx, s.commands(again, func(c Call) rueidis.Completed {
			return client.B().Eval().Script(s.text).Numkeys(int64(len(c.Keys))).Key(c.Keys...).Arg(c.Args...).Build()
		})...) {
			replies[unknown[k]] = reply
		}
	}
	return replies
}

func (s *Script) commands(calls []Call, command func(Call) rueidis.Completed) []rueidis.Completed {
	cmds := make([]rueidis.Completed, len(calls))
	for i, c := range calls {
		cmds[i] = command(c)
		if s.Retry {
			cmds[i] = cmds[i].Pin().ToRetryable()
		}
	}
	return cmds
}

var writable = &Script{Text: func() string { return "#!lua\nreturn 1" }} // a server decides by the missing flags

// RefusedWrite returns the error with which a server refuses scripts that write at present, with its
// cause; nil if it accepts them or does not answer. It writes nothing. The server is that of the keys,
// if there are any.
func RefusedWrite(ctx context.Context, client rueidis.Client, keys ...string) *WriteError {
	err := writable.Run(ctx, client, keys, nil).Error()
	if err == nil || KindOf(err) != Full && KindOf(err) != ReadOnly {
		return nil
	}
	return &WriteError{Word: replyWord(err), err: err}
}

// A WriteError is the error with which a server refuses writes.
type WriteError struct {
	Word string // the first of the reply, such as OOM
	err  error
}

func (e *WriteError) Error() string {
	why := "it is a replica"
	switch e.Word {
	case "OOM":
		why = "its memory is full (maxmemory)"
	case "NOREPLICAS":
		why = "it has fewer good replicas than min-replicas-to-write"
	case "MISCONF":
		why = "its last write to the disk failed"
	}
	return why + ": " + strings.TrimSuffix(e.err.Error(), ".")
}

func (e *WriteError) Unwrap() error { return e.err }

// ErrReply is the error for a reply that no script sends.
var ErrReply = errors.New("the server's reply to a script cannot be read: use Redis 7.0 or later, or Valkey")

// A Kind is the meaning of an error for the next calls.
type Kind uint8

const (
	Other    Kind = iota // an answer to this call alone
	Lost                 // no reply has come: the call may have been carried out
	Down                 // the server answers nothing at present, or refuses the user a right
	ReadOnly             // the server refuses writes at present, but not reads
	Full                 // the server has no free memory for the call
	Refused              // the server cannot do it: waiting does not help
)

// KindOf returns the kind of an error, which must not be nil.
func KindOf(err error) Kind {
	if Denied(err) {
		return Down
	}
	switch replyWord(err) {
	case "":
		return Lost
	case "LOADING", "CLUSTERDOWN", "MASTERDOWN", "NOAUTH", "WRONGPASS":
		return Down
	case "READONLY", "NOREPLICAS", "MISCONF":
		return ReadOnly
	case "OOM":
		return Full
	case "WRONGTYPE", "ERR":
		return Refused
	}
	return Other
}

// Denied reports whether an error is the reply to a user who lacks a right. An operator might
// grant it at any time.
func Denied(err error) bool {
	e, ok := rueidis.IsRedisErr(err)
	// The other texts are for commands in scripts, of Redis 7.0 and of later versions and Valkey.
	return ok &&
		(Says(err, "NOPERM") ||
			strings.HasPrefix(e.Error(), "The user executing the script ") || strings.HasPrefix(e.Error(), "ACL failure in script"))
}

// Says reports whether an error is a reply of the server that begins with one of these
// words.
func Says(err error, words ...string) bool {
	w := replyWord(err)
	return w != "" && slices.Contains(words, w)
}

// replyWord returns the first word of an error reply, "" if the error is not a reply. rueidis removes
// the word ERR, so a reply that begins with a lower-case letter had it.
func replyWord(err error) string {
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

// DefaultPrefix is the default prefix of keys.
const DefaultPrefix = "robots"

const maxPrefix = 64 // bytes; every key has it

// Prefix returns a valid prefix of keys, DefaultPrefix for the empty one.
func Prefix(prefix string) (string, error) {
	switch {
	case prefix == "":
		return DefaultPrefix, nil
	case len(prefix) > maxPrefix:
		return "", fmt.Errorf("the prefix %.80q has more than %d bytes", prefix, maxPrefix)
	case strings.ContainsFunc(prefix, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '{' || r == '}' }):
		return "", fmt.Errorf("the prefix %q has a brace, a space or a control character", prefix)
	}
	return prefix, nil
}
