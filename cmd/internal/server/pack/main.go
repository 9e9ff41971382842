// Pack makes what a browser gets of the engine: the WebAssembly of
// cmd/internal/server/wasm and the script that starts it, each packed by gzip and
// by brotli (make build). With -site it writes the whole page for a static host
// (make site). Without a folder it only prints the sizes (make wasm).
//
// Brotli packs smaller by a quarter than gzip, and slower than a server could
// do for a visitor: so it is done here, once, and the program holds no packer.
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
)

// most is what the engine may weigh, packed by gzip, in bytes.
const most = 5 << 19 // 2.5 MiB

// brotliLevel is the best but one: 11 would save 3 %, and take five times as long.
const brotliLevel = 10

func main() {
	output := flag.String("o", "", "the `folder` to write; without it, only sizes are printed")
	quick := flag.Bool("gzip", false, "pack by gzip alone, which takes a tenth of the time")
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
		return errors.Join(err, write(output, "robots.wasm", engine, quick))
	}
	g, err := zipped(engine)
	if err != nil {
		return err
	}
	b, err := broad(engine)
	if err != nil {
		return err
	}
	fmt.Printf("wasm: %d bytes, %d gzipped, at most %d, %d by brotli\n", len(engine), len(g), most, len(b))
	if len(g) > most {
		return errors.New("the engine is too large for a browser: see what it imports")
	}
	return nil
}

// build compiles the engine. Inlining would cost 4 % of its size.
func build() ([]byte, error) {
	temp, err := os.MkdirTemp("", "robots-wasm-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	name := filepath.Join(temp, "robots.wasm")
	cmd := exec.Command("go", "build", "-trimpath", "-gcflags=all=-l", "-ldflags=-s -w", "-o", name, "github.com/robotskit/robots/cmd/internal/server/wasm")
	cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go build of the engine: %w", err)
	}
	wasm, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return join(wasm)
}

// write writes a file packed in both ways, unless that is what is there already:
// brotli takes seconds.
func write(folder, name string, content []byte, quick bool) error {
	path := filepath.Join(folder, name)
	if _, err := os.Stat(path + ".br"); err == nil && same(path+".gz", content) {
		return nil
	}
	g, err := zipped(content)
	if err == nil && !quick {
		var b []byte
		if b, err = broad(content); err == nil {
			err = os.WriteFile(path+".br", b, 0o644)
		}
	}
	if err != nil {
		return err
	}
	// The one that is looked at comes last, so that it never stands for a half.
	return os.WriteFile(path+".gz", g, 0o644)
}

// same reports whether a gzip file holds content.
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

func zipped(content []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(content)
	err = errors.Join(err, w.Close())
	return b.Bytes(), err
}

func broad(content []byte) ([]byte, error) {
	var b bytes.Buffer
	w := brotli.NewWriterLevel(&b, brotliLevel)
	_, err := w.Write(content)
	err = errors.Join(err, w.Close())
	return b.Bytes(), err
}
