package fetch

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"strings"
	"sync"
)

func squeezed(s string, w func(io.Writer) io.WriteCloser) string {
	var b bytes.Buffer
	c := w(&b)
	io.WriteString(c, s)
	c.Close()
	return b.String()
}

func gzipped(s string) string {
	return squeezed(s, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
}

func zlibbed(s string) string {
	return squeezed(s, func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) })
}

func deflated(s string) string {
	return squeezed(s, func(w io.Writer) io.WriteCloser { f, _ := flate.NewWriter(w, 9); return f })
}

// bomb is 64 MiB of zeros.
var bomb = sync.OnceValue(func() string { return gzipped(strings.Repeat("\x00", 64<<20)) })

// rulesOf returns a file of n bytes that ends within a line.
func rulesOf(n int) string {
	s := "User-agent: *\n" + strings.Repeat("Disallow: /"+strings.Repeat("y", 88)+"\n", n/100+1)
	return s[:n]
}
