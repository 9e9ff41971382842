package warc

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/robotskit/robots/internal/campaign"
)

// TestInflate: members of all kinds of blocks are read as compress/gzip reads them, however
// their bytes come, and no byte behind them is taken.
func TestInflate(t *testing.T) {
	campaign.OneGoroutine(t)
	random := rand.New(rand.NewPCG(3, 4))
	noise := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		return string(b)
	}
	words := func(n int) string {
		var b strings.Builder
		for b.Len() < n {
			fmt.Fprintf(&b, "%s%d ", []string{"Disallow: /", "Allow: /*", "\n", "User-agent: "}[random.IntN(4)], random.IntN(1<<random.IntN(20)))
		}
		return b.String()[:n]
	}
	var skewed strings.Builder // codes of all lengths
	for i := range 40 {
		skewed.WriteString(strings.Repeat(string(rune('A'+i)), 1<<min(i/2, 15)))
	}
	texts := []string{
		"", "x", "hello, hello, hello", strings.Repeat("a", 300_000), noise(100), noise(200_000), words(50), words(5_000), words(500_000),
		skewed.String(), noise(32<<10) + strings.Repeat("ab", 50) + words(70_000), strings.Repeat(noise(32<<10), 4),
	}
	for range 50 {
		texts = append(texts, words(random.IntN(3000)))
	}
	for i, text := range texts {
		for _, level := range []int{flate.NoCompression, flate.HuffmanOnly, flate.BestSpeed, flate.DefaultCompression, flate.BestCompression} {
			var b bytes.Buffer
			z, _ := gzip.NewWriterLevel(&b, level)
			if z.Name = "name"; i%2 == 0 {
				z.Name, z.Comment, z.Extra = "", "comment", []byte("extra")
			}
			for part := range strings.SplitSeq(text, "x") { // in several blocks
				io.WriteString(z, part)
				if i%3 == 0 {
					z.Flush()
				}
			}
			z.Close()
			text := strings.ReplaceAll(text, "x", "")
			file := b.String()
			for way, in := range map[string]io.Reader{"whole": strings.NewReader(file + "behind"), "by the byte": iotest.OneByteReader(strings.NewReader(file + "behind"))} {
				if len(text) > 10_000 && way != "whole" {
					continue
				}
				raw := &source{in: in, mark: -1}
				var d inflater
				if err := d.reset(raw); err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(&d)
				if err != nil || string(got) != text {
					t.Fatalf("text %d, level %d, %s: %d of %d bytes, %v", i, level, way, len(got), len(text), err)
				}
				if rest, _ := io.ReadAll(raw); string(rest) != "behind" {
					t.Fatalf("text %d, level %d, %s: %d bytes are left behind", i, level, way, len(rest))
				}
			}
		}
	}
}

// TestInflateDamaged: what is not a member is not one for compress/gzip either, and the bytes
// before the damage are the same.
func TestInflateDamaged(t *testing.T) {
	for _, text := range []string{hello, strings.Repeat(hello, 50), strings.Repeat("a", 1000)} {
		file := zip(text)
		for i := range file {
			checkInflate(t, []byte(file[:i]))
			for _, bit := range []byte{1, 8, 128} {
				checkInflate(t, []byte(file[:i]+string(file[i]^bit)+file[i+1:]))
			}
		}
	}
}

func checkInflate(t *testing.T, file []byte) {
	t.Helper()
	var d inflater
	raw := &source{in: bytes.NewReader(file), mark: -1}
	var got []byte
	err := d.reset(raw)
	if err == nil {
		got, err = io.ReadAll(io.LimitReader(&d, 1<<20))
	}
	z, wantErr := gzip.NewReader(bytes.NewReader(file))
	var want []byte
	if wantErr == nil {
		z.Multistream(false)
		want, wantErr = io.ReadAll(io.LimitReader(z, 1<<20))
	} else if err != nil || len(file) < 18 {
		return
	}
	if (err == nil) != (wantErr == nil) && !(wantErr == gzip.ErrHeader) || wantErr != gzip.ErrHeader && !bytes.Equal(got, want) {
		t.Fatalf("%x: got %.100q, %v, want %.100q, %v", file, got, err, want, wantErr)
	}
}

func FuzzInflate(f *testing.F) {
	f.Add([]byte(zip(hello)))
	f.Add([]byte(zip(strings.Repeat(hello, 20))))
	f.Add([]byte(zip("")))
	f.Add(append([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x00"), "\x01\x01\x00\xfe\xffx"...))
	f.Fuzz(checkInflate)
}
