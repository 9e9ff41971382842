package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
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
			WorkingDir string
			Labels     map[string]string
		}
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
)

// layout reads an OCI layout by file name, and compares the blobs with their names.
func layout(t *testing.T, image string) map[string][]byte {
	t.Helper()
	f, err := os.Open(image)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	files := map[string][]byte{}
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		if sum, is := strings.CutPrefix(h.Name, "blobs/sha256/"); is && sum != "" && sum != fmt.Sprintf("%x", sha256.Sum256(files[h.Name])) {
			t.Errorf("%s has another sum", h.Name)
		}
	}
}

// blob reads the blob of a descriptor.
func blob(t *testing.T, files map[string][]byte, d descriptor, to any) []byte {
	t.Helper()
	data, ok := files["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")]
	if !ok || len(data) != d.Size {
		t.Fatalf("%s has %d bytes, there are %d", d.Digest, d.Size, len(data))
	}
	if to != nil {
		if err := json.Unmarshal(data, to); err != nil {
			t.Fatal(err)
		}
	}
	return data
}

// checkImage reads an image like a container engine, unpacks it, and runs it in that folder as
// its root, as the user in the image.
func checkImage(t *testing.T, name string) {
	files := layout(t, name)
	if string(files["oci-layout"]) != `{"imageLayoutVersion":"1.0.0"}` {
		t.Errorf("oci-layout is %s", files["oci-layout"])
	}
	var top, index imageIndex
	if err := json.Unmarshal(files["index.json"], &top); err != nil || len(top.Manifests) != 1 {
		t.Fatalf("index.json: %v: %s", err, files["index.json"])
	}
	blob(t, files, top.Manifests[0], &index)
	for _, d := range index.Manifests {
		if d.Platform.OS != "linux" {
			t.Errorf("%+v is for no Linux", d)
			continue
		}
		var m imageManifest
		var c imageConfig
		blob(t, files, d, &m)
		blob(t, files, m.Config, &c)
		r, err := gzip.NewReader(bytes.NewReader(blob(t, files, m.Layers[0], nil)))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if sum := fmt.Sprintf("sha256:%x", sha256.Sum256(plain)); len(m.Layers) != 1 || c.RootFS.DiffIDs[0] != sum {
			t.Errorf("the layer is %s, the image says %v", sum, c.RootFS.DiffIDs)
		}
		if c.Architecture != d.Platform.Architecture || c.Config.User != "65532:65532" || c.Config.Labels["org.opencontainers.image.version"] != version {
			t.Errorf("%+v", c)
		}
		if d.Platform.Architecture != runtime.GOARCH || runtime.GOOS != "linux" {
			continue
		}
		if os.Getuid() != 0 {
			t.Log("not run: a root folder is changed by root alone")
			continue
		}
		runImage(t, plain, &c)
	}
}

func runImage(t *testing.T, layer []byte, c *imageConfig) {
	root := t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(bytes.NewReader(layer)); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(root, h.Name)
		if h.Typeflag == tar.TypeDir {
			err = os.Mkdir(to, 0o755)
		} else {
			var data []byte
			if data, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(to, data, 0o644)
			}
		}
		if err == nil {
			err = os.Chmod(to, h.FileInfo().Mode())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	start := func(env ...string) (*exec.Cmd, *bytes.Buffer, io.Reader) {
		cmd := exec.Command(c.Config.Entrypoint[0], c.Config.Cmd...)
		cmd.Dir = c.Config.WorkingDir
		cmd.Env = append(c.Config.Env, env...)
		cmd.SysProcAttr = inside(root)
		said := new(bytes.Buffer)
		out, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := proctest.Start(cmd); err != nil {
			t.Skip("no folder can be made the root here: ", err)
		}
		return cmd, said, io.TeeReader(out, said)
	}
	// The service has no tokens.
	cmd, said, out := start()
	_, _ = io.Copy(io.Discard, out)
	if err := cmd.Wait(); err == nil || !strings.Contains(said.String(), "add --anonymous to answer any client") {
		t.Errorf("without tokens: %v, %s", err, said)
	}
	cmd, said, out = start("ROBOTS_ANONYMOUS=true", "ROBOTS_LISTEN=127.0.0.1:0", "ROBOTS_ADMIN=none")
	var at string
	for b := make([]byte, 4096); at == ""; {
		if _, err := out.Read(b); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		if m := regexp.MustCompile(`"open":"([^"]*)"`).FindStringSubmatch(said.String()); m != nil {
			at = m[1]
		}
	}
	resp, err := http.Get(at + "v1/check?url=" + "http://127.0.0.1/")
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
