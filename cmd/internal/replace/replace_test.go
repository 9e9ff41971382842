package replace

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestFile: a file is replaced through a link with its mode, and no temporary file is left, also
// where writing fails. Scripts of the programs test the umask.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	link := filepath.Join(dir, "link")
	if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", link); err != nil {
		t.Fatal(err)
	}
	if err := File(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(name)
	if text, failed := os.ReadFile(link); err != nil || failed != nil || string(text) != "new" || info.Mode() != 0o600 {
		t.Errorf("%q, mode %v, %v, %v", text, info.Mode(), err, failed)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
	if err := File(filepath.Join(dir, "missing", "file"), nil); err == nil {
		t.Error("no error without a folder")
	}
	if err := File(dir, nil); err == nil {
		t.Error("a folder was replaced")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
}
