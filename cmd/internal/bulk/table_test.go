package bulk

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTable(t *testing.T) {
	at := time.Date(2026, 5, 1, 10, 0, 0, 123e6, time.UTC)
	defer func(n int) { rowsPerGroup = n }(rowsPerGroup)
	rowsPerGroup = 1000
	var rows []Capture
	for i := range 2500 { // more than a group
		rows = append(rows, Capture{
			SURT: "com,example", Origin: "https://example.com", URL: fmt.Sprintf("https://example.com/robots.txt?%d,\"x\"\n", i),
			Fetched: at.Add(time.Duration(i) * time.Second), Outcome: "success", Cause: "ok", Bytes: int64(i), Input: "a.warc.gz", Offset: int64(i) << 20,
		})
		if i%3 == 0 {
			rows[i].Status, rows[i].Location, rows[i].SHA256, rows[i].Truncated = 301, "https://example.org/", "00ff", true
		}
	}
	for _, format := range Formats {
		t.Run(format, func(t *testing.T) {
			var files [2]bytes.Buffer
			for i := range files {
				w, err := writeTable[Capture](&files[i], format, "surt", "origin", "fetched")
				if err != nil {
					t.Fatal(err)
				}
				for k := range rows {
					if err := w.Write(&rows[k]); err != nil {
						t.Fatal(err)
					}
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(files[0].Bytes(), files[1].Bytes()) {
				t.Error("the same rows give other bytes")
			}
			if format == CSV {
				const head = "surt,origin,url,fetched,outcome,cause,status,location,hops,resolved_from,sha256,bytes,truncated,kind,input,warc_offset\n"
				if got := files[0].String(); !strings.HasPrefix(got, head+
					"\"com,example\",https://example.com,\"https://example.com/robots.txt?0,\"\"x\"\"\n\",2026-05-01T10:00:00.123Z,success,ok,301,https://example.org/,0,,00ff,0,true,,a.warc.gz,0\n") {
					t.Errorf("%.300s", got)
				}
				return
			}
			path := filepath.Join(t.TempDir(), "00000-x."+format)
			if err := os.WriteFile(path, files[0].Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
			n := 0
			for row, err := range readTable[Capture](path) {
				if err != nil {
					t.Fatal(err)
				}
				row.Fetched = row.Fetched.UTC()
				if row != rows[n] {
					t.Fatalf("row %d: %+v\nwant %+v", n, row, rows[n])
				}
				n++
			}
			if n != len(rows) {
				t.Errorf("%d rows", n)
			}
			if err := os.WriteFile(path, files[0].Bytes()[:files[0].Len()/2], 0o666); err != nil {
				t.Fatal(err)
			}
			var failed error
			for _, err := range readTable[Capture](path) {
				failed = err
			}
			if failed == nil || !strings.Contains(failed.Error(), path) {
				t.Errorf("half a file: %v", failed)
			}
		})
	}
	if _, err := writeTable[Capture](nil, "xml"); err == nil {
		t.Error("xml: no error")
	}
}
