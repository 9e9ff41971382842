package main

import (
	"archive/zip"
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/robotskit/robots/internal/campaign"
)

const (
	module  = "github.com/robotskit/robots"
	version = "v1.2.3-rc.1"
)

// TestRelease makes a release of this tree with .ci/release, in a temporary repository. go install
// must find in a module proxy all that it compiles. The program is installed in every documented way: by
// go install, by make build, from an archive, a Debian package and an image. Each must print the version.
func TestRelease(t *testing.T) {
	campaign.Only(t)
	if runtime.GOOS == "windows" {
		t.Skip(".ci/release is a script of bash")
	}
	tree := t.TempDir()
	if !copyTree(t, tree) {
		t.Skip("this is no clone, and a version is a tag of one")
	}
	// Without the user's settings; the flags of .ci/dist let the next run reuse Go's build cache.
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	for _, name := range []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GOWORK"} {
		t.Setenv(name, "") // so that it is put back
		os.Unsetenv(name)
	}
	t.Setenv("GOFLAGS", "-trimpath -gcflags=all=-dwarf=false -modcacherw")
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
	if changed := must(t, tree, "git", "diff", "--name-only", "HEAD~1"); changed != "bench/go.mod\nbench/go.sum\ncmd/go.mod\ncmd/go.sum\nexamples/go.mod\nexamples/go.sum\ngo.work" {
		t.Errorf("the release changed %q", changed)
	}

	for wrong, why := range map[string]string{version: "exists", "1.2.4": "usage", "v2.0.0": "usage"} {
		if _, err := command(t, tree, filepath.Join(tree, ".ci", "release"), wrong); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf(".ci/release %s after %s: %v", wrong, version, err)
		}
	}

	t.Run("Install", func(t *testing.T) {
		proxy := serve(t, tree)
		bin := t.TempDir()
		t.Setenv("GOBIN", bin)
		t.Chdir(bin)
		must(t, bin, "go", "install", module+"/cmd/robots@"+version)
		checkVersion(t, filepath.Join(bin, "robots"))
		checkModule(t, filepath.Join(bin, "robots"))
		// A clone without go.work has all the checksums that it needs, which are those of the
		// proxy.
		t.Setenv("GOWORK", "off")
		for _, dir := range []string{".", "cmd", "bench", "examples"} {
			must(t, filepath.Join(tree, dir), "go", "list", "-deps", "-test", "./...")
		}
		t.Logf("go install and three modules without go.work, from %s", proxy)
	})

	t.Run("Build", func(t *testing.T) {
		must(t, tree, "make", "build")
		checkVersion(t, filepath.Join(tree, "bin", "robots"))
	})

	if runtime.GOOS != "linux" {
		return // .ci/dist takes GNU tar and dpkg-deb
	}
	output := filepath.Join(t.TempDir(), "dist")
	systems := []string{"linux/" + runtime.GOARCH, "windows/amd64"}
	must(t, tree, ".ci/dist", append([]string{output}, systems...)...)

	t.Run("Archive", func(t *testing.T) {
		for _, program := range []string{"robots", "robots-bulk"} {
			for _, system := range systems {
				name := program + "_" + strings.TrimPrefix(version, "v") + "_" + strings.ReplaceAll(system, "/", "_")
				dir, binary := t.TempDir(), program
				if strings.HasPrefix(system, "windows/") {
					binary += ".exe"
					z, err := zip.OpenReader(filepath.Join(output, name+".zip"))
					if err == nil {
						err = errors.Join(os.CopyFS(dir, z), z.Close())
					}
					if err != nil {
						t.Fatal(err)
					}
				} else {
					must(t, dir, "tar", "-xzf", filepath.Join(output, name+".tar.gz"))
				}
				dir = filepath.Join(dir, name)
				exist(t, dir, "README.md", "man/"+program+".1", "completions/"+program+".bash", "completions/_"+program, "completions/"+program+".fish", "completions/"+program+".ps1")
				licenses, err := os.ReadFile(filepath.Join(dir, "LICENSE"))
				for _, holder := range []string{"The Go programming language", "golang.org/x/net v", "github.com/spf13/cobra v"} {
					if !bytes.Contains(licenses, []byte("\n"+holder)) {
						t.Errorf("LICENSE of %s lacks the one of %s: %v", name, holder, err)
					}
				}
				checkBill(t, filepath.Join(output, name+".cdx.json"), filepath.Join(dir, binary))
				if system == systems[0] {
					checkVersion(t, filepath.Join(dir, binary))
				}
			}
		}
	})

	t.Run("Image", func(t *testing.T) {
		checkImage(t, filepath.Join(output, "robots_"+strings.TrimPrefix(version, "v")+"_oci.tar"))
	})

	t.Run("Sums", func(t *testing.T) {
		must(t, output, "sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS")
		sums, err := os.ReadFile(filepath.Join(output, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		if files, _ := filepath.Glob(filepath.Join(output, "*")); bytes.Count(sums, []byte("\n")) != len(files)-1 {
			t.Errorf("SHA256SUMS does not list %d files:\n%s", len(files)-1, sums)
		}
		// Another folder with another name, a changed file, another time zone.
		again := filepath.Join(t.TempDir(), "another", "clone")
		must(t, ".", "git", "clone", "-q", tree, again)
		if err := os.WriteFile(filepath.Join(again, "doc.go"), []byte("package other\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Setenv("TZ", "Pacific/Apia")
		second := filepath.Join(t.TempDir(), "dist")
		must(t, again, ".ci/dist", append([]string{second}, systems...)...)
		if got, err := os.ReadFile(filepath.Join(second, "SHA256SUMS")); err != nil || !bytes.Equal(got, sums) {
			t.Errorf("the same commit gave other bytes, %v:\n%s\nand\n%s", err, sums, got)
		}
		if _, err := command(t, again, filepath.Join(again, ".ci", "dist"), second); err == nil || !strings.Contains(err.Error(), "remove it first") {
			t.Errorf(".ci/dist wrote into a folder that is not empty: %v", err)
		}
	})

	t.Run("Debian", func(t *testing.T) {
		if os.Getuid() != 0 {
			t.Skip("dpkg gives files to root, as which this does not run")
		}
		root := t.TempDir()
		must(t, root, "mkdir", "-p", "var/lib/dpkg/updates", "var/lib/dpkg/info", "var/lib/dpkg/triggers")
		must(t, root, "touch", "var/lib/dpkg/status")
		dpkg := func(args ...string) string {
			return must(t, root, "dpkg", append([]string{"--root=" + root, "--log=" + os.DevNull, "--force-bad-path", "--force-architecture"}, args...)...)
		}
		for _, program := range []string{"robots", "robots-bulk"} {
			dpkg("--install", filepath.Join(output, program+"_1.2.3~rc.1_"+runtime.GOARCH+".deb"))
			if status := dpkg("--status", program); !strings.Contains(status, "Status: install ok installed\n") || !strings.Contains(status, "\nVersion: 1.2.3~rc.1\n") {
				t.Errorf("dpkg says of the package:\n%s", status)
			}
			if wrong := dpkg("--verify", program); wrong != "" {
				t.Errorf("files differ from their sums:\n%s", wrong)
			}
			checkVersion(t, filepath.Join(root, "usr", "bin", program))
			exist(t, filepath.Join(root, "usr", "share"), "man/man1/"+program+".1.gz", "doc/"+program+"/copyright", "bash-completion/completions/"+program)
		}
		must(t, root, "dpkg", "--compare-versions", "1.2.3~rc.1", "lt", "1.2.3")
		dpkg("--purge", "robots", "robots-bulk")
		if left := must(t, root, "find", ".", "-mindepth", "1", "-path", "./var", "-prune", "-o", "-print"); left != "" { // var is dpkg's own
			t.Errorf("left when the package is removed:\n%s", left)
		}
	})
}

// exist checks that files exist and are not empty.
func exist(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s in %s: %v", name, dir, err)
		}
	}
}

// copyTree copies the files of this repository that git would include, changed or not, and
// reports whether it is a repository. It adds them to an index and objects of its own.
func copyTree(t *testing.T, to string) bool {
	t.Helper()
	out, err := exec.Command("git", "rev-parse", "--path-format=absolute", "--show-toplevel", "--git-path", "objects").Output()
	if err != nil {
		return false
	}
	top, objects, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	own := t.TempDir()
	for name, value := range map[string]string{"GIT_INDEX_FILE": own + "/index", "GIT_OBJECT_DIRECTORY": own, "GIT_ALTERNATE_OBJECT_DIRECTORIES": objects} {
		t.Setenv(name, value)
		defer os.Unsetenv(name)
	}
	must(t, top, "git", "add", "--all")
	must(t, top, "git", "checkout-index", "--all", "--prefix", to+"/")
	return true
}

// serve makes a module proxy from the tags in a repository, as Go itself writes it when it reads
// a repository directly. The rest of the test takes modules from there, then from the module
// cache, and missing ones from the user's proxy. They are stored in a module cache of the test.
func serve(t *testing.T, tree string) string {
	t.Helper()
	folder := t.TempDir()
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "url.file://"+tree+".insteadOf")
	t.Setenv("GIT_CONFIG_VALUE_0", "https://"+module)
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

// must runs a program and returns its trimmed standard output.
func must(t *testing.T, folder, name string, args ...string) string {
	t.Helper()
	if strings.Contains(name, "/") {
		name = filepath.Join(folder, name)
	}
	out, err := command(t, folder, name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// command runs a program and returns its output.
func command(t *testing.T, folder, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = folder
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", cmd, err, &complaints, &out)
	}
	return strings.TrimSpace(out.String()), nil
}

// checkVersion checks that the program prints the version.
func checkVersion(t *testing.T, binary string) {
	t.Helper()
	out, err := exec.Command(binary, "--version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), filepath.Base(binary)+" "+version) {
		t.Errorf("%s --version: %v, %s", binary, err, out)
	}
}

// checkModule checks that the program contains the root module of the version, as the proxy has it.
func checkModule(t *testing.T, binary string) {
	t.Helper()
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range info.Deps {
		if d.Path == module && (d.Version != version || d.Sum == "" || d.Replace != nil) {
			t.Errorf("the program contains %+v", d)
		}
	}
}

// checkBill checks that the bill of materials names the program and every module in it.
func checkBill(t *testing.T, file, binary string) {
	t.Helper()
	type component struct{ Name, Version string }
	var b struct {
		Metadata   struct{ Component component }
		Components []component
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	if err != nil {
		t.Fatal(err)
	}
	if b.Metadata.Component != (component{module + "/cmd", version}) {
		t.Errorf("%s is the bill of %+v", file, b.Metadata.Component)
	}
	listed := map[component]bool{}
	for _, c := range b.Components {
		listed[c] = true
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range info.Deps {
		if c := (component{d.Path, d.Version}); !listed[c] {
			t.Errorf("%s lacks %+v", file, c)
		}
	}
	if c := (component{"std", info.GoVersion}); !listed[c] {
		t.Errorf("%s lacks %+v", file, c)
	}
}

// TestUnknownSystem checks that .ci/dist rejects a system that it does not build for.
func TestUnknownSystem(t *testing.T) {
	_, err := command(t, "../../..", ".ci/dist", t.TempDir(), "linux/amd64", "plan9/amd64")
	if err == nil || !strings.Contains(err.Error(), `unknown system "plan9/amd64" (known: darwin/amd64`) {
		t.Error(err)
	}
}
