package lsp

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/creachadair/jrpc2/channel"
)

// maxMessage limits a message of the client, in bytes.
const maxMessage = 64 << 20

// A conn is the connection to the client, which passes a notification such as exit on when all requests before it are
// answered: jrpc2 handles both at the same time.
type conn struct {
	channel.Channel // which sends
	in              *bufio.Reader

	mu      sync.Mutex
	pending int // requests without an answer
	idle    *sync.Cond
}

func newConn(in io.Reader, out io.WriteCloser) *conn {
	c := &conn{Channel: channel.LSP(nil, out), in: bufio.NewReader(in)}
	c.idle = sync.NewCond(&c.mu)
	return c
}

// An envelope is what requests, notifications and answers have in common.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

func (c *conn) Recv() ([]byte, error) {
	message, err := c.read()
	if err != nil {
		return nil, err
	}
	var e envelope
	_ = json.Unmarshal(message, &e) // jrpc2 answers what is invalid
	c.mu.Lock()
	defer c.mu.Unlock()
	for e.ID == nil && c.pending > 0 {
		c.idle.Wait()
	}
	if e.ID != nil && e.Method != "" {
		c.pending++
	}
	return message, nil
}

var errHeader = errors.New("the client sent a header without a Content-Length of at most 64 MiB")

// read reads a message with its header (base protocol).
func (c *conn) read() ([]byte, error) {
	length := -1
	for name := "-"; strings.TrimSpace(name) != ""; {
		line, err := c.in.ReadSlice('\n') // of 4 KiB at most
		if errors.Is(err, bufio.ErrBufferFull) {
			return nil, errHeader
		} else if err != nil {
			return nil, err
		}
		var value string
		name, value, _ = strings.Cut(string(line), ":")
		if strings.EqualFold(name, "Content-Length") {
			length, _ = strconv.Atoi(strings.TrimSpace(value)) // 0 is no message
		}
	}
	if length <= 0 || length > maxMessage {
		return nil, errHeader
	}
	message := make([]byte, length)
	_, err := io.ReadFull(c.in, message)
	return message, err
}

func (c *conn) Send(message []byte) error {
	err := c.Channel.Send(message)
	var e envelope
	_ = json.Unmarshal(message, &e)
	if e.Method == "" { // an answer
		c.mu.Lock()
		defer c.mu.Unlock()
		c.pending = max(c.pending-1, 0)
		c.idle.Signal()
	}
	return err
}
