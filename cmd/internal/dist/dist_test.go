package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots/internal/campaign"
)

// TestRelease releases the files of this tree as v1.2.3 by .ci/release, in a
// repository of its own, and gets the program in every way that a user may: by go
// install from a module proxy, by make build, out of an archive, as a Debian
// package. Each has to name the version.
func TestRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("short: a release builds the program some times")
	}
	if runtime.GOOS == "windows" {
		t.Skip(".ci/release is a script of bash")
	}
	tree := t.TempDir()
	if !copyTree(t, tree) {
		t.Skip("this is no clone, and a version is a tag of one")
	}
	const version = "v1.2.3"
	// Nothing of the user's settings; what is built has no folder in it, so that
	// the next run finds it in Go's cache.
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	for _, name := range []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GOWORK"} {
		t.Setenv(name, "") // so that it is put back
		os.Unsetenv(name)
	}
	t.Setenv("GOFLAGS", "-trimpath -modcacherw")
	t.Setenv("GOSUMDB", "off") // the sums of what is in the module cache were compared when it came
	t.Setenv("GIT_AUTHOR_DATE", "2026-01-02T03:04:05Z")
	t.Setenv("GIT_COMMITTER_DATE", "2026-01-02T03:04:05Z")
	must(t, tree, "git", "init", "-q", "-b", "main")
	must(t, tree, "git", "config", "user.name", "Test")
	must(t, tree, "git", "config", "user.email", "test@localhost")
	must(t, tree, "git", "add", "-A")
	must(t, tree, "git", "commit", "-qm", "all")
	must(t, tree, ".ci/release", version)
	if left := must(t, tree, "git", "status", "--porcelain"); left != "" {
		t.Fatalf("the release left changes:\n%s", left)
	}
	if changed := must(t, tree, "git", "diff", "--name-only", "HEAD~1"); changed != "bench/go.mod\nbench/go.sum\ncmd/go.mod\ncmd/go.sum\ngo.work" {
		t.Errorf("the release changed %q", changed)
	}

	for wrong, why := range map[string]string{version: "already", "1.2.4": "usage", "v2.0.0": "usage"} {
		if _, err := command(t.Context(), tree, nil, filepath.Join(tree, ".ci", "release"), wrong); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf(".ci/release %s after %s: %v", wrong, version, err)
		}
	}

	t.Run("Install", func(t *testing.T) {
		proxy := serve(t, tree, version)
		bin := t.TempDir()
		t.Setenv("GOBIN", bin)
		t.Chdir(bin)
		must(t, bin, "go", "install", module+"/cmd/robots@"+version)
		checkVersion(t, filepath.Join(bin, "robots"), version)
		info, err := buildinfo.ReadFile(filepath.Join(bin, "robots"))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range info.Deps {
			if d.Path == module && (d.Version != version || d.Sum == "" || d.Replace != nil) {
				t.Errorf("the program holds %+v", d)
			}
		}
		// Somebody who clones it and turns go.work off has the sums that he needs,
		// and those of what the proxy serves.
		t.Setenv("GOWORK", "off")
		for _, dir := range []string{".", "cmd", "bench"} {
			must(t, filepath.Join(tree, dir), "go", "mod", "tidy", "-diff")
		}
		t.Logf("go install and three modules without go.work, from %s", proxy)
	})

	if !campaign.On() {
		return // make release-check does the rest, which builds the programs some times more
	}

	t.Run("Build", func(t *testing.T) {
		if _, err := exec.LookPath("make"); err != nil {
			t.Skip(err)
		}
		must(t, tree, "make", "build")
		checkVersion(t, filepath.Join(tree, "bin", "robots"), version)
	})

	output := filepath.Join(t.TempDir(), "dist")
	t.Chdir(tree)
	if err := dist(context.Background(), io.Discard, output, ""); err != nil {
		t.Fatal(err)
	}
	name := "robots_1.2.3_" + runtime.GOOS + "_" + runtime.GOARCH

	t.Run("Archive", func(t *testing.T) {
		files := untar(t, filepath.Join(output, name+".tar.gz"))
		for _, want := range []string{"robots", "LICENSE", "README.md", "man/robots.1", "man/robots-check.1", "completions/robots.bash", "completions/_robots", "completions/robots.fish", "completions/robots.ps1"} {
			if files[name+"/"+want] == nil {
				t.Errorf("the archive has no %s but %v", want, slices.Sorted(maps.Keys(files)))
			}
		}
		for _, holder := range []string{"The Go programming language", "github.com/redis/rueidis v", "go.etcd.io/bbolt v"} {
			if !bytes.Contains(files[name+"/LICENSE"], []byte("\n"+holder)) {
				t.Errorf("LICENSE does not hold that of %s", holder)
			}
		}
		if page := files[name+"/man/robots-check.1"]; !bytes.Contains(page, []byte(`"Jan 2026" "robots v1.2.3"`)) || !bytes.Contains(page, []byte("robotskit/1.2.3 (")) {
			t.Errorf("the manual page has another version, time or User-Agent:\n%s", page)
		}
		binary := filepath.Join(t.TempDir(), "robots")
		if err := os.WriteFile(binary, files[name+"/robots"], 0o755); err != nil {
			t.Fatal(err)
		}
		checkVersion(t, binary, version)
		checkBill(t, filepath.Join(output, name+".cdx.json"), binary, version)
		bulk := "robots-bulk_" + strings.TrimPrefix(name, "robots_")
		others := untar(t, filepath.Join(output, bulk+".tar.gz"))
		for _, want := range []string{"LICENSE", "man/robots-bulk.1", "man/robots-bulk-pack.1", "completions/robots-bulk.bash", "completions/_robots-bulk"} {
			if others[bulk+"/"+want] == nil {
				t.Errorf("the archive of robots-bulk has no %s but %v", want, slices.Sorted(maps.Keys(others)))
			}
		}
		second := filepath.Join(t.TempDir(), "robots-bulk")
		if err := os.WriteFile(second, others[bulk+"/robots-bulk"], 0o755); err != nil {
			t.Fatal(err)
		}
		if says, err := exec.Command(second, "--version").CombinedOutput(); err != nil || !strings.HasPrefix(string(says), "robots-bulk "+version+"\n") {
			t.Errorf("robots-bulk --version: %v, %s", err, says)
		}
		checkBill(t, filepath.Join(output, bulk+".cdx.json"), second, version)
		if _, err := exec.LookPath("bash"); err == nil {
			script := filepath.Join(t.TempDir(), "completion")
			if err := os.WriteFile(script, files[name+"/completions/robots.bash"], 0o644); err != nil {
				t.Fatal(err)
			}
			must(t, ".", "bash", "-n", script)
		}
	})

	t.Run("Image", func(t *testing.T) {
		checkImage(t, filepath.Join(output, "robots_1.2.3_oci.tar"), version)
	})

	t.Run("Sums", func(t *testing.T) {
		sums, err := os.ReadFile(filepath.Join(output, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(output)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			data, err := os.ReadFile(filepath.Join(output, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if line := fmt.Sprintf("%x  %s\n", sha256.Sum256(data), e.Name()); e.Name() != "SHA256SUMS" && !bytes.Contains(sums, []byte(line)) {
				t.Errorf("SHA256SUMS has no line %q", line)
			}
		}
		if n := bytes.Count(sums, []byte("\n")); n != len(entries)-1 {
			t.Errorf("SHA256SUMS has %d lines for %d files", n, len(entries)-1)
		}
		// Another folder with another name, a changed file, another time zone.
		again := filepath.Join(t.TempDir(), "another", "clone")
		must(t, ".", "git", "clone", "-q", tree, again)
		if err := os.WriteFile(filepath.Join(again, "doc.go"), []byte("package other\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Setenv("TZ", "Pacific/Apia")
		t.Chdir(again)
		second := filepath.Join(t.TempDir(), "dist")
		if err := dist(context.Background(), io.Discard, second, ""); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(second, "SHA256SUMS")); err != nil || !bytes.Equal(got, sums) {
			t.Errorf("the same commit gave other bytes, %v:\n%s\nand\n%s", err, sums, got)
		}
		if err := dist(context.Background(), io.Discard, second, ""); err == nil || !strings.Contains(err.Error(), "remove it first") {
			t.Errorf("dist wrote into a folder that held something: %v", err)
		}
	})

	t.Run("Debian", func(t *testing.T) {
		switch _, err := exec.LookPath("dpkg"); {
		case runtime.GOOS != "linux":
			t.Skip("packages are built for Linux")
		case err != nil:
			t.Skip("skipped: ", err)
		case os.Getuid() != 0:
			t.Skip("skipped: dpkg gives files to root, as which this does not run")
		}
		root := t.TempDir()
		admin := filepath.Join(root, "var", "lib", "dpkg")
		for _, dir := range []string{"updates", "info", "triggers"} {
			if err := os.MkdirAll(filepath.Join(admin, dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(admin, "status"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		dpkg := func(args ...string) string {
			return must(t, root, "dpkg", append([]string{"--root=" + root, "--log=" + os.DevNull, "--force-bad-path", "--force-architecture"}, args...)...)
		}
		dpkg("--install", filepath.Join(output, "robots_1.2.3_"+runtime.GOARCH+".deb"))
		if status := dpkg("--status", "robots"); !strings.Contains(status, "Status: install ok installed\n") || !strings.Contains(status, "\nVersion: 1.2.3\n") {
			t.Errorf("dpkg says of the package:\n%s", status)
		}
		if wrong := dpkg("--verify", "robots"); wrong != "" {
			t.Errorf("files differ from their sums:\n%s", wrong)
		}
		checkVersion(t, filepath.Join(root, "usr", "bin", "robots"), version)
		for _, want := range []string{"share/man/man1/robots.1.gz", "share/doc/robots/copyright", "share/bash-completion/completions/robots"} {
			if _, err := os.Stat(filepath.Join(root, "usr", want)); err != nil {
				t.Error(err)
			}
		}
		dpkg("--install", filepath.Join(output, "robots-bulk_1.2.3_"+runtime.GOARCH+".deb")) // beside the other
		if wrong := dpkg("--verify", "robots-bulk"); wrong != "" {
			t.Errorf("files differ from their sums:\n%s", wrong)
		}
		for _, want := range []string{"bin/robots-bulk", "share/man/man1/robots-bulk-ask.1.gz", "share/doc/robots-bulk/copyright", "share/bash-completion/completions/robots-bulk"} {
			if _, err := os.Stat(filepath.Join(root, "usr", want)); err != nil {
				t.Error(err)
			}
		}
		dpkg("--purge", "robots", "robots-bulk")
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if path == filepath.Join(root, "var") {
				return fs.SkipDir // dpkg's own
			}
			if err == nil && path != root {
				t.Errorf("%s is left when the package is removed", path)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// copyTree copies the files of this repository that git would take, changed or
// not, and reports whether it is one.
func copyTree(t *testing.T, to string) bool {
	t.Helper()
	top, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return false
	}
	from := strings.TrimSpace(string(top))
	for name := range strings.SplitSeq(must(t, from, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"), "\x00") {
		info, err := os.Lstat(filepath.Join(from, name))
		if name == "" || os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(to, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, name), data, info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
	return true
}

// serve makes a module proxy of the tags in a repository, a folder as Go itself
// fills it when it reads a repository directly, and has the rest of the test take
// modules from there, then from the module cache, and only what that lacks from
// where the user takes it. They are kept in a module cache of the test.
func serve(t *testing.T, tree, version string) string {
	t.Helper()
	folder := t.TempDir()
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "url.file://"+tree+".insteadOf")
	t.Setenv("GIT_CONFIG_VALUE_0", homepage)
	others := "file://" + must(t, ".", "go", "env", "GOMODCACHE") + "/cache/download," + must(t, ".", "go", "env", "GOPROXY")
	t.Setenv("GOMODCACHE", filepath.Join(folder, "served"))
	t.Setenv("GOPROXY", "direct")
	must(t, folder, "go", "mod", "download", module+"@"+version, module+"/cmd@"+version)
	t.Setenv("GIT_CONFIG_COUNT", "0")
	t.Setenv("GOMODCACHE", filepath.Join(folder, "cache"))
	proxy := "file://" + folder + "/served/cache/download"
	t.Setenv("GOPROXY", proxy+","+others)
	return proxy
}

// must runs a program and returns what it printed on standard output, without the
// blanks around it.
func must(t *testing.T, folder, name string, args ...string) string {
	t.Helper()
	if strings.Contains(name, "/") {
		name = filepath.Join(folder, name)
	}
	out, err := command(t.Context(), folder, nil, name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// checkVersion: the program says in both ways which version it is.
func checkVersion(t *testing.T, binary, version string) {
	t.Helper()
	for _, arg := range []string{"version", "--version"} {
		out, err := exec.Command(binary, arg).CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), "robots "+version+" (commit ") {
			t.Errorf("robots %s: %v, %s", arg, err, out)
		}
	}
	help, err := exec.Command(binary, "fetch", "--help").CombinedOutput()
	if want := "robotskit/" + strings.TrimPrefix(version, "v") + " (+"; err != nil || !strings.Contains(string(help), want) {
		t.Errorf("the default of --user-agent does not begin with %q: %v, %s", want, err, help)
	}
}

// checkBill: the bill of materials names the program and every module in it.
func checkBill(t *testing.T, file, binary, version string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var b billOfMaterials
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	self := b.Metadata.Component
	if self.Version != version || len(self.Hashes) != 1 || self.Hashes[0].Content != fmt.Sprintf("%x", sha256.Sum256(data)) {
		t.Errorf("the bill is of %+v", self)
	}
	info, err := buildinfo.Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go")}
	for _, d := range info.Deps {
		if d.Path == module {
			d.Version = version
		}
		want = append(want, "pkg:golang/"+d.Path+"@"+d.Version)
	}
	var got []string
	for _, c := range b.Components {
		got = append(got, c.URL)
	}
	if len(want) < 5 || !slices.Equal(got, want) || !slices.Equal(b.Depends[0].DependsOn, want) {
		t.Errorf("the bill lists\n%q\nand the program holds\n%q", got, want)
	}
}

func untar(t *testing.T, name string) map[string][]byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	compressed, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	r := tar.NewReader(compressed)
	for {
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
	}
}

// TestZip: the archive for Windows, which other tests build in a campaign only.
func TestZip(t *testing.T) {
	want := []file{{"robots/robots.exe", 0o755, []byte("program")}, {"robots/LICENSE", 0o644, bytes.Repeat([]byte("all "), 1000)}}
	modified := time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)
	data, err := zipped(want, modified)
	if err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range r.File {
		open, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(open)
		if err != nil || f.Name != want[i].name || f.Mode() != want[i].mode || !bytes.Equal(got, want[i].data) || !f.Modified.Equal(modified) {
			t.Errorf("%s: %v, mode %v, time %v, %d bytes", f.Name, err, f.Mode(), f.Modified, len(got))
		}
	}
	if len(r.File) != len(want) || len(data) > 1000 {
		t.Errorf("%d files in %d bytes", len(r.File), len(data))
	}
}

// TestDebianVersion: dpkg puts versions in the order that Go does.
func TestDebianVersion(t *testing.T) {
	rising := []string{"0.0.0-20261122012631-9f6e5add98ab", "0.1.0-rc.1", "0.1.0-rc.2", "0.1.0", "0.1.1-0.20261122012631-9f6e5add98ab", "0.1.1", "1.0.0"}
	want := []string{"0.0.0~20261122012631.9f6e5add98ab", "0.1.0~rc.1", "0.1.0~rc.2", "0.1.0", "0.1.1~0.20261122012631.9f6e5add98ab", "0.1.1", "1.0.0"}
	_, err := exec.LookPath("dpkg")
	if err != nil {
		t.Logf("skipped in part: %v", err)
	}
	for i, number := range rising {
		if got := debianVersion(number); got != want[i] {
			t.Errorf("%s becomes %s, want %s", number, got, want[i])
		}
		if err == nil && i > 0 {
			must(t, ".", "dpkg", "--compare-versions", debianVersion(rising[i-1]), "lt", debianVersion(number))
		}
	}
}

// TestWrongTargets: a target that there is not is not passed over in silence.
func TestWrongTargets(t *testing.T) {
	output := filepath.Join(t.TempDir(), "dist")
	if err := dist(context.Background(), io.Discard, output, "linux/amd64,plan9/amd64"); err == nil || !strings.Contains(err.Error(), "darwin/arm64") {
		t.Errorf("dist built for a system that it does not know: %v", err)
	}
}
