// Package lsp is a language server for robots.txt: the findings of lint with their fixes, the layout of
// robots fmt, and what a line means, in every editor that speaks the Language Server Protocol.
package lsp

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync/atomic"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/handler"
	"github.com/robotskit/robots"
)

// Serve answers a client until it sends exit or disconnects. version is that of the program. An error means that the
// connection broke, or that the client sent exit without shutdown.
func Serve(in io.Reader, out io.WriteCloser, version string) error {
	s := &server{
		version: version, documents: map[string]*document{}, exited: make(chan error, 2),
		analyst: analyst{waiting: map[string]analysis{}, latest: map[string]*document{}},
	}
	rpc := jrpc2.NewServer(assigner{s, handler.Map{
		"initialize":                       handler.New(s.initialize),
		"initialized":                      handler.New(ignore),
		"shutdown":                         handler.New(s.shutdown),
		"exit":                             handler.New(s.exit),
		"$/cancelRequest":                  handler.New(ignore),
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
	}}, &jrpc2.ServerOptions{AllowPush: true, Concurrency: 1}) // requests take milliseconds
	s.analyst.rpc = rpc
	rpc.Start(newConn(in, out))
	go func() { s.exited <- rpc.Wait() }()
	return <-s.exited
}

type server struct {
	version   string
	exited    chan error           // results of exit, and of the connection
	down      atomic.Bool          // the client has sent shutdown
	documents map[string]*document // open files by URI
	analyst   analyst
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

func (s *server) initialize(context.Context, *jrpc2.Request) (any, error) {
	return map[string]any{
		"serverInfo": map[string]string{"name": "robots", "version": s.version},
		"capabilities": map[string]any{
			"positionEncoding":           "utf-16",
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
	n := len(p.ContentChanges)
	if n == 0 || s.documents[p.TextDocument.URI] == nil {
		return nil
	}
	p.TextDocument.Text = p.ContentChanges[n-1].Text
	s.set(p.TextDocument)
	return nil
}

func (s *server) didClose(_ context.Context, p documentParams) error {
	delete(s.documents, p.TextDocument.URI)
	s.analyst.drop(p.TextDocument.URI)
	return nil
}

// set stores a document. Its findings, and those of the assertions about it, are published later.
func (s *server) set(t textDocument) {
	d := newDocument(t)
	s.documents[d.uri] = d
	if d.holdsTests() {
		s.analyst.add(s.analysisOf(d))
		return
	}
	s.analyst.add(analysis{document: d})
	for _, t := range s.documents {
		if t.holdsTests() && slices.Contains(s.tested(t), d) {
			s.analyst.add(s.analysisOf(t))
		}
	}
}

// analysisOf returns the analysis of a file of assertions.
func (s *server) analysisOf(t *document) analysis {
	job := analysis{document: t, tested: s.tested(t)}
	if len(job.tested) == 0 {
		job.missing = t.missing
	}
	return job
}

// robots returns an open robots.txt, nil for other files.
func (s *server) robots(uri string) *document {
	if d := s.documents[uri]; d != nil && !d.holdsTests() {
		return d
	}
	return nil
}

// at returns the open robots.txt of a position, nil for other files, and the line there, the
// zero value after the last.
func (s *server) at(p positionParams) (*document, robots.Line) {
	d := s.robots(p.TextDocument.URI)
	if d == nil {
		return nil, robots.Line{}
	}
	return d, d.line(p.Position.Line + 1)
}
