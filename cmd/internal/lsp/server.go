// Package lsp is a language server for robots.txt: the findings of lint with their fixes, the layout of
// robots fmt, and what a line means, in every editor that speaks the Language Server Protocol.
package lsp

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"
	"github.com/creachadair/jrpc2/handler"
)

// Serve answers a client until it sends exit or disconnects. version is that of the program. An error means that the
// connection broke, or that the client sent exit without shutdown.
func Serve(in io.Reader, out io.WriteCloser, version string) error {
	s := &server{version: version, documents: map[string]*document{}, exited: make(chan error, 2)}
	rpc := jrpc2.NewServer(assigner{s, handler.Map{
		"initialize":                       handler.New(s.initialize),
		"initialized":                      handler.New(ignore),
		"shutdown":                         handler.New(s.shutdown),
		"exit":                             handler.New(s.exit),
		"$/cancelRequest":                  handler.New(ignore), // requests take milliseconds
		"$/setTrace":                       handler.New(ignore),
		"workspace/didChangeConfiguration": handler.New(ignore),
		"textDocument/didOpen":             handler.New(s.didOpen),
		"textDocument/didChange":           handler.New(s.didChange),
		"textDocument/didSave":             handler.New(ignore),
		"textDocument/didClose":            handler.New(s.didClose),
		"textDocument/codeAction":          handler.New(s.codeAction),
		"textDocument/formatting":          handler.New(s.formatting),
		"textDocument/hover":               handler.New(s.hover),
		"textDocument/completion":          handler.New(s.completion),
		"textDocument/definition":          handler.New(s.definition),
	}}, &jrpc2.ServerOptions{AllowPush: true})
	s.mu.Lock()
	s.rpc = rpc
	s.mu.Unlock()
	rpc.Start(channel.LSP(in, out))
	go func() { s.exited <- rpc.Wait() }()
	err := <-s.exited
	s.pending.Wait()
	return err
}

type server struct {
	version string
	exited  chan error     // results of exit, and of the connection
	down    atomic.Bool    // the client has sent shutdown
	pending sync.WaitGroup // goroutines that lint
	linting sync.Mutex     // one at a time

	mu        sync.Mutex
	rpc       *jrpc2.Server
	utf8      bool
	documents map[string]*document // by URI
}

func ignore(context.Context, *jrpc2.Request) error { return nil }

// assigner refuses requests after shutdown.
type assigner struct {
	*server
	methods handler.Map
}

func (a assigner) Assign(ctx context.Context, method string) jrpc2.Handler {
	if a.down.Load() && method != "exit" {
		return func(context.Context, *jrpc2.Request) (any, error) {
			return nil, jrpc2.Errorf(jrpc2.InvalidRequest, "the server has shut down")
		}
	}
	return a.methods.Assign(ctx, method)
}

func (s *server) shutdown(context.Context) (any, error) {
	s.down.Store(true)
	return nil, nil
}

// exit ends Serve. It does not wait for rpc to stop, since a read of standard input can last.
func (s *server) exit(context.Context) error {
	if s.down.Load() {
		s.exited <- nil
	} else {
		s.exited <- errors.New("the client sent exit without shutdown")
	}
	return nil
}

func (s *server) initialize(_ context.Context, p initializeParams) (any, error) {
	encoding := "utf-16" // what every client knows
	for _, e := range p.Capabilities.General.PositionEncodings {
		if e == "utf-8" {
			encoding = e
		}
	}
	s.mu.Lock()
	s.utf8 = encoding == "utf-8"
	s.mu.Unlock()
	return map[string]any{
		"serverInfo": map[string]string{"name": "robots", "version": s.version},
		"capabilities": map[string]any{
			"positionEncoding":           encoding,
			"textDocumentSync":           map[string]any{"openClose": true, "change": 1}, // whole texts: they are small
			"codeActionProvider":         map[string]any{"codeActionKinds": []string{kindQuickFix, kindFixAll}},
			"documentFormattingProvider": true,
			"hoverProvider":              true,
			"completionProvider":         map[string]any{"triggerCharacters": []string{":", " "}},
			"definitionProvider":         true,
		},
	}, nil
}

func (s *server) didOpen(_ context.Context, p documentParams) error {
	if p.TextDocument.concerns() {
		s.set(p.TextDocument)
	}
	return nil
}

func (s *server) didChange(_ context.Context, p changeParams) error {
	if n := len(p.ContentChanges); n > 0 && s.document(p.TextDocument.URI) != nil {
		p.TextDocument.Text = p.ContentChanges[n-1].Text
		s.set(p.TextDocument)
	}
	return nil
}

func (s *server) didClose(ctx context.Context, p documentParams) error {
	s.mu.Lock()
	delete(s.documents, p.TextDocument.URI)
	s.mu.Unlock()
	return s.rpc.Notify(ctx, "textDocument/publishDiagnostics", map[string]any{"uri": p.TextDocument.URI, "diagnostics": []diagnostic{}})
}

// set stores a document and publishes its findings, unless a newer text arrives first.
func (s *server) set(t textDocument) {
	s.mu.Lock()
	d := newDocument(t, s.utf8)
	s.documents[d.uri] = d
	s.mu.Unlock()
	if d.holdsTests() {
		return
	}
	s.pending.Go(func() {
		s.linting.Lock()
		defer s.linting.Unlock()
		if s.document(d.uri) != d {
			return
		}
		if list := findings(d); s.document(d.uri) == d {
			// An error means that the client has disconnected.
			_ = s.rpc.Notify(context.Background(), "textDocument/publishDiagnostics", map[string]any{"uri": d.uri, "version": d.version, "diagnostics": list})
		}
	})
}

// document returns an open document, nil for other files.
func (s *server) document(uri string) *document {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.documents[uri]
}

// robots returns an open robots.txt, nil for other files.
func (s *server) robots(uri string) *document {
	if d := s.document(uri); d != nil && !d.holdsTests() {
		return d
	}
	return nil
}

// tests returns the open files of assertions.
func (s *server) tests() (list []*document) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.documents {
		if d.holdsTests() {
			list = append(list, d)
		}
	}
	return list
}
