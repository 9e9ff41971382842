package redistest

import (
	"io"
	"os"
	"testing"
)

// RunExample calls an example with the URL of a server of its own in REDIS_URL, and fails
// if it prints anything else than want. With a comment "Output:" go test would run the
// example too, but also where there is no server.
func RunExample(t *testing.T, example func(), want string) {
	t.Helper()
	t.Setenv("REDIS_URL", Start(t, Options{}).URL())
	stdout := os.Stdout
	defer func() { os.Stdout = stdout }()
	r, w, err := os.Pipe() // whose buffer has room for an example
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout = w
	example()
	w.Close()
	got, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("the example prints\n%s\nwant\n%s", got, want)
	}
}
