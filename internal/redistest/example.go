package redistest

import (
	"os"
	"path/filepath"
	"testing"
)

// RunExample calls an example with the URL of a server of its own in REDIS_URL, and fails
// if it prints anything else than want. With a comment "Output:" go test would run the
// example too, but also where there is no server.
func RunExample(t *testing.T, example func(), want string) {
	t.Helper()
	t.Setenv("REDIS_URL", Start(t, Options{}).URL())
	name := filepath.Join(t.TempDir(), "stdout")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stdout := os.Stdout
	defer func() { os.Stdout = stdout }()
	os.Stdout = f
	example()
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("the example prints\n%s\nwant\n%s", got, want)
	}
}
