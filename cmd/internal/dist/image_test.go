package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/robotskit/robots/internal/proctest"
)

// A descriptor refers to a blob of an OCI image, and an imageIndex lists the images of several
// systems. Both have only the members that are compared.
type (
	descriptor struct {
		Digest   string
		Size     int
		Platform struct{ OS, Architecture string }
	}
	imageIndex    struct{ Manifests []descriptor }
	imageManifest struct {
		Config descriptor
		Layers []descriptor
	}
	imageConfig struct {
		Architecture string
		Config       struct {
			User       string
			Env        []string
			Entrypoint []string
			Cmd        []string
			Labels     map[string]string
		}
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
)

// A layout is the folder of an OCI layout.
type layout string

// blob returns the file of a descriptor, and reads it into a value unless that is nil.
func (l layout) blob(t *testing.T, d descriptor, to any) string {
	t.Helper()
	file := filepath.Join(string(l), "blobs/sha256", strings.TrimPrefix(d.Digest, "sha256:"))
	data, err := os.ReadFile(file)
	if err == nil && to != nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil || len(data) != d.Size || d.Digest != fmt.Sprintf("sha256:%x", sha256.Sum256(data)) {
		t.Fatalf("%v: %+v has %d bytes", err, d, len(data))
	}
	return file
}

// checkImage reads an image like a container engine, unpacks it, and runs it in that folder as
// its root, as the user in the image.
func checkImage(t *testing.T, name string) {
	l := layout(t.TempDir())
	must(t, string(l), "tar", "-xf", name)
	if version, err := os.ReadFile(filepath.Join(string(l), "oci-layout")); string(version) != `{"imageLayoutVersion":"1.0.0"}` {
		t.Errorf("oci-layout is %s, %v", version, err)
	}
	var top, index imageIndex
	text, err := os.ReadFile(filepath.Join(string(l), "index.json"))
	if err == nil {
		err = json.Unmarshal(text, &top)
	}
	if err != nil || len(top.Manifests) != 1 {
		t.Fatalf("index.json: %v: %s", err, text)
	}
	l.blob(t, top.Manifests[0], &index)
	for _, d := range index.Manifests {
		if d.Platform.OS != "linux" {
			t.Errorf("%+v is for no Linux", d)
			continue
		}
		var m imageManifest
		var c imageConfig
		l.blob(t, d, &m)
		l.blob(t, m.Config, &c)
		layer := l.blob(t, m.Layers[0], nil)
		if sum, _, _ := strings.Cut(must(t, ".", "sh", "-c", "gzip -dc "+layer+" | sha256sum"), " "); len(m.Layers) != 1 || c.RootFS.DiffIDs[0] != "sha256:"+sum {
			t.Errorf("the layer is %s, the image says %v", sum, c.RootFS.DiffIDs)
		}
		if c.Architecture != d.Platform.Architecture || c.Config.User != "65532:65532" || c.Config.Labels["org.opencontainers.image.version"] != version {
			t.Errorf("%+v", c)
		}
		switch {
		case d.Platform.Architecture != runtime.GOARCH:
		case os.Getuid() != 0:
			t.Log("not run: a root folder is changed by root alone")
		default:
			runImage(t, layer, &c)
		}
	}
}

func runImage(t *testing.T, layer string, c *imageConfig) {
	root := t.TempDir()
	must(t, root, "tar", "--preserve-permissions", "-xzf", layer)
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	start := func(env ...string) (*exec.Cmd, *bytes.Buffer, io.Reader) {
		cmd := exec.Command("chroot", slices.Concat([]string{"--userspec=" + c.Config.User, root}, c.Config.Entrypoint, c.Config.Cmd)...)
		cmd.Env = slices.Concat(c.Config.Env, env)
		said := new(bytes.Buffer)
		out, err := cmd.StderrPipe()
		if err == nil {
			err = proctest.Start(cmd)
		}
		if err != nil {
			t.Fatal(err)
		}
		return cmd, said, io.TeeReader(out, said)
	}
	// The service has no tokens.
	cmd, said, out := start()
	_, _ = io.Copy(io.Discard, out)
	if strings.HasPrefix(said.String(), "chroot: ") {
		t.Skip("no folder can be made the root here: ", said)
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(said.String(), "add --anonymous to answer any client") {
		t.Errorf("without tokens: %v, %s", err, said)
	}
	cmd, said, out = start("ROBOTS_ANONYMOUS=true", "ROBOTS_LISTEN=127.0.0.1:0", "ROBOTS_ADMIN=none")
	open := regexp.MustCompile(`"open":"([^"]*)"`)
	lines := bufio.NewScanner(out)
	for lines.Scan() && !open.Match(lines.Bytes()) {
	}
	at := open.FindSubmatch(lines.Bytes())
	if at == nil {
		t.Fatalf("%v: %s", lines.Err(), said)
	}
	resp, err := http.Get(string(at[1]) + "v1/check?url=" + "http://127.0.0.1/")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(`"reason":"refused"`)) {
		t.Errorf("the service in the image says %d %s", resp.StatusCode, body)
	}
	if _, err := os.Stat(filepath.Join(root, "data", "serve.cache")); err != nil {
		t.Error(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, out)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}
