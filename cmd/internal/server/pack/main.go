// Pack builds the engine for browsers: the WebAssembly program of cmd/internal/server/wasm and
// the script that starts it, each compressed with gzip and with brotli, and the documents as HTML (make build). With -site
// it writes the whole page for a static host (make site). Without a folder it only prints the
// sizes (make wasm).
//
// Brotli output is a quarter smaller, but takes too long for a server to make for each visitor,
// so it is made here and the service has no compressor.
package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/robotskit/robots/cmd/internal/server/documents"
	"github.com/robotskit/robots/docs"
)

// most is the maximum size of the engine after gzip, in bytes. The tests of web build it.
const most = 5 << 19 // 2.5 MiB

// brotliLevel is below the best: 11 would save 3 % and take five times as long.
const brotliLevel = 10

func main() {
	output := flag.String("o", "", "write the compressed files to this `folder`; without it, print their sizes")
	quick := flag.Bool("gzip", false, "compress with gzip only, which takes a tenth of the time")
	static := flag.String("site", "", "write the page as static files to this `folder`")
	flag.Parse()
	var err error
	if *static != "" {
		err = site(*static)
	} else {
		err = pack(*output, *quick)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

// engineFiles returns the engine and the script that starts it.
func engineFiles() (engine, start []byte, err error) {
	if engine, err = build(); err != nil {
		return nil, nil, err
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	start, err = os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"))
	return engine, start, err
}

func pack(output string, quick bool) error {
	engine, start, err := engineFiles()
	if err != nil {
		return err
	}
	if output != "" {
		err = write(output, "wasm_exec.js", start, quick)
		err = errors.Join(err, write(output, "robots.wasm", engine, quick))
		return errors.Join(err, writeDocuments(filepath.Join(output, "docs")))
	}
	g, err := zipped(engine)
	if err == nil {
		fmt.Printf("wasm: %d bytes, %d gzipped, at most %d, %d by brotli\n", len(engine), len(g), most, len(broad(engine)))
	}
	return err
}

// build compiles the engine. Inlining makes it a tenth larger and twice as fast. The flags of the compiler are those of the Makefile, so
// that make and go run build the same engine.
func build() ([]byte, error) {
	temp, err := os.MkdirTemp("", "robots-wasm-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	name := filepath.Join(temp, "robots.wasm")
	const engine = "github.com/robotskit/robots/cmd/internal/server/wasm"
	cmd := exec.Command("go", "build", "-trimpath", "-gcflags=all=-dwarf=false", "-ldflags=-s -w", "-o", name, engine)
	cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go build of the engine: %w", err)
	}
	return os.ReadFile(name)
}

// write writes a file compressed in both ways, unless the folder has it: brotli takes seconds.
func write(folder, name string, content []byte, quick bool) error {
	path := filepath.Join(folder, name)
	if _, err := os.Stat(path + ".br"); err == nil && same(path+".gz", content) {
		return nil
	}
	g, err := zipped(content)
	if err == nil && !quick {
		err = os.WriteFile(path+".br", broad(content), 0o644)
	}
	if err != nil {
		return err
	}
	// Last, since same looks at this one.
	return os.WriteFile(path+".gz", g, 0o644)
}

// writeDocuments writes the documents and their images into a folder of their own, compressed with gzip. They are made here, as the
// initialization of the Markdown reader takes a fifth of the time that the program needs to start.
func writeDocuments(folder string) error {
	pages, err := documents.Pages(docs.Pages)
	if err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o755)); err != nil {
		return err
	}
	for name, content := range pages {
		if err := write(folder, name, content, true); err != nil {
			return err
		}
	}
	return nil
}

// same reports whether a gzip file has this content.
func same(path string, content []byte) bool {
	packed, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return false
	}
	old, err := io.ReadAll(r)
	return err == nil && bytes.Equal(old, content)
}

// zipped compresses a file. One that is larger than most is an error.
func zipped(content []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	compress(w, content)
	if b.Len() > most {
		return nil, fmt.Errorf("the engine has %d bytes, too many for a browser: check its imports", b.Len())
	}
	return b.Bytes(), nil
}

func broad(content []byte) []byte {
	var b bytes.Buffer
	compress(brotli.NewWriterLevel(&b, brotliLevel), content)
	return b.Bytes()
}

// compress writes to a compressor of a bytes.Buffer, which does not fail.
func compress(w io.WriteCloser, content []byte) {
	_, _ = w.Write(content)
	_ = w.Close()
}
