// Dist makes what a release offers for download: the program for every system with
// its manual pages and completions, Debian packages, a bill of materials for each
// program, and the sums of all (make dist).
//
// It builds the commit that is checked out, in a clone of its own, so that neither
// changed files nor the name of a folder get into a program: the same commit, tags
// and version of Go give the same bytes on every machine. Archives and packages are
// written here and not by tar, zip or dpkg-deb, whose bytes depend on their
// versions, and which not every system has. The bill of materials holds what Go
// recorded in the program; a tool for that would ask the network and add a time and
// a number of its own.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	module   = "github.com/robotskit/robots"
	homepage = "https://" + module
)

// names are the programs, each with an archive, a package and a bill of its own. The image
// holds both.
var names = []string{"robots", "robots-bulk"}

// A target is a system that the programs are built for.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "/" + t.arch }

func targets() []target {
	return []target{
		{"darwin", "amd64"}, {"darwin", "arm64"}, {"linux", "amd64"}, {"linux", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	output := flag.String("o", "dist", "the `folder` to write, which must not hold anything")
	only := flag.String("only", "", "build for these systems only, as in linux/amd64,darwin/arm64")
	flag.Parse()
	if err := dist(ctx, os.Stdout, *output, *only); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// dist writes into the folder output what is built for all systems, or only for
// some, and says what that is.
func dist(ctx context.Context, said io.Writer, output, only string) error {
	var wanted []target
	for _, t := range targets() {
		if only == "" || slices.Contains(strings.Split(only, ","), t.String()) {
			wanted = append(wanted, t)
		}
	}
	if only != "" && len(wanted) != strings.Count(only, ",")+1 {
		return fmt.Errorf("-only %s: there are %v", only, targets())
	}
	if entries, err := os.ReadDir(output); err == nil && len(entries) > 0 {
		return fmt.Errorf("there is something in %s already: remove it first", output)
	}
	temp, err := os.MkdirTemp("", "robots-dist-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	b, err := clone(ctx, temp)
	if err != nil {
		return err
	}
	if _, err := command(ctx, b.folder, environment, "go", "run", "./cmd/internal/server/pack", "-o", page); err != nil {
		return err
	}
	unit, err := os.ReadFile(filepath.Join(b.folder, "docs", "operating", "robots.service"))
	if err != nil {
		return err
	}
	programs := map[string]map[target]*program{} // by name
	manuals := map[string]map[string][]byte{}
	version := ""
	for _, name := range names {
		programs[name] = map[target]*program{}
		for _, t := range wanted {
			if programs[name][t], err = b.program(ctx, name, t); err != nil {
				return err
			}
		}
		version = programs[name][wanted[0]].info.Main.Version
		if manuals[name], err = b.manual(ctx, name, version); err != nil {
			return err
		}
	}
	licenses, err := b.licenses(ctx, programs)
	if err != nil {
		return err
	}
	made := map[string][]byte{}
	number := strings.TrimPrefix(version, "v")
	for _, program := range names {
		for _, t := range wanted {
			p, name := programs[program][t], fmt.Sprintf("%s_%s_%s_%s", program, number, t.os, t.arch)
			files, err := b.archived(p, name, manuals[program], licenses)
			if err != nil {
				return err
			}
			if t.os == "windows" {
				made[name+".zip"], err = zipped(files, b.time)
			} else {
				made[name+".tar.gz"], err = tarred(files, b.time)
			}
			if err != nil {
				return err
			}
			if made[name+".cdx.json"], err = bill(p, version, b.time); err != nil {
				return err
			}
			if t.os == "linux" {
				pack, err := debianPackage(p, number, manuals[program], licenses, unit, b.time)
				if err != nil {
					return err
				}
				made[program+"_"+debianVersion(number)+"_"+t.arch+".deb"] = pack
			}
		}
	}
	if image, err := image(programs, licenses, version, b.time); err != nil {
		return err
	} else if image != nil {
		made["robots_"+number+"_oci.tar"] = image
	}
	if err := os.MkdirAll(output, 0o755); err != nil {
		return err
	}
	var sums bytes.Buffer
	for _, name := range sortedNames(made) {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(made[name]), name)
	}
	made["SHA256SUMS"] = sums.Bytes()
	for _, name := range sortedNames(made) {
		if err := os.WriteFile(filepath.Join(output, name), made[name], 0o644); err != nil {
			return err
		}
		fmt.Fprintf(said, "%9d %s\n", len(made[name]), filepath.Join(output, name))
	}
	return nil
}

func sortedNames(made map[string][]byte) []string { return slices.Sorted(maps.Keys(made)) }

// A build is a clone of the commit.
type build struct {
	folder string
	temp   string
	time   time.Time // of the commit
}

// A program is a built one and what Go recorded in it.
type program struct {
	name string
	target
	data []byte
	info *debug.BuildInfo
}

// clone makes a build of the commit in the working folder.
func clone(ctx context.Context, temp string) (*build, error) {
	out, err := command(ctx, ".", nil, "git", "rev-parse", "--show-toplevel", "HEAD")
	if err != nil {
		return nil, fmt.Errorf("this needs a clone with git: %w", err)
	}
	root, commit, _ := strings.Cut(out, "\n")
	b := &build{folder: filepath.Join(temp, "clone"), temp: temp}
	if _, err := command(ctx, temp, nil, "git", "clone", "-q", "--no-checkout", root, b.folder); err != nil {
		return nil, err
	}
	if _, err := command(ctx, b.folder, nil, "git", "checkout", "-q", "--detach", commit); err != nil {
		return nil, err
	}
	seconds, err := command(ctx, b.folder, nil, "git", "log", "-1", "--format=%ct")
	if err != nil {
		return nil, err
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, err
	}
	b.time = time.Unix(unix, 0).UTC()
	return b, nil
}

// page is the folder of what the programs embed of the page: the engine for browsers,
// which is not committed, is to be there before they are built.
const page = "cmd/internal/server/web/assets"

// environment is what every command of Go runs in, whatever the user's is.
var environment = []string{"GOWORK=", "GOFLAGS=-trimpath", "GOEXPERIMENT="}

// program builds for one system, without C, so that it needs no library there.
func (b *build) program(ctx context.Context, name string, t target) (*program, error) {
	file := filepath.Join(b.temp, name+"-"+t.os+"-"+t.arch)
	env := append(slices.Clone(environment), "GOOS="+t.os, "GOARCH="+t.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFIPS140=off", "CGO_ENABLED=0")
	if _, err := command(ctx, b.folder, env, "go", "build", "-buildvcs=true", "-ldflags=-s -w", "-o", file, "./cmd/"+name); err != nil {
		return nil, fmt.Errorf("%s for %s: %w", name, t, err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	info, err := buildinfo.Read(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(info.Main.Version, "v") {
		return nil, fmt.Errorf("%s: Go recorded no version but %q", t, info.Main.Version)
	}
	return &program{name, t, data, info}, nil
}

// manual returns the manual pages and completions of a program, by name.
func (b *build) manual(ctx context.Context, name, version string) (map[string][]byte, error) {
	folder := filepath.Join(b.temp, "manual-"+name)
	if err := os.Mkdir(folder, 0o755); err != nil {
		return nil, err
	}
	if _, err := command(ctx, b.folder, environment, "go", "test", "-count=1", "-vet=off", "-run", "^TestManual$", "./cmd/"+name, "-args",
		"-manual", folder, "-manual-version", version, "-manual-time", strconv.FormatInt(b.time.Unix(), 10)); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if files[e.Name()], err = os.ReadFile(filepath.Join(folder, e.Name())); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// licenses returns the license and those of all that the programs contain, which
// ask to go with every copy.
func (b *build) licenses(ctx context.Context, programs map[string]map[target]*program) ([]byte, error) {
	dependencies := map[string]string{} // versions by path
	for _, systems := range programs {
		for _, p := range systems {
			for _, d := range p.info.Deps {
				if d.Path != module {
					dependencies[d.Path] = d.Version
				}
			}
		}
	}
	own, err := os.ReadFile(filepath.Join(b.folder, "LICENSE"))
	if err != nil {
		return nil, err
	}
	goRoot, err := command(ctx, b.folder, environment, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	text := bytes.NewBuffer(slices.Clone(own))
	add := func(name, folder string) error {
		found := false
		for _, pattern := range []string{"LICEN[CS]E*", "COPYING*", "NOTICE*"} {
			files, err := filepath.Glob(filepath.Join(folder, pattern))
			if err != nil {
				return err
			}
			for _, f := range files {
				license, err := os.ReadFile(f)
				if err != nil {
					return err
				}
				found = true
				fmt.Fprintf(text, "\n%s\n%s, %s:\n\n%s", strings.Repeat("-", 80), name, filepath.Base(f), license)
			}
		}
		if !found {
			return fmt.Errorf("there is no license of %s in %s", name, folder)
		}
		return nil
	}
	if err := add("The Go programming language", goRoot); err != nil {
		return nil, err
	}
	for _, path := range slices.Sorted(maps.Keys(dependencies)) {
		folder, err := command(ctx, filepath.Join(b.folder, "cmd"), environment, "go", "list", "-m", "-f", "{{.Dir}}", path)
		if err != nil {
			return nil, err
		}
		if err := add(path+" "+dependencies[path], folder); err != nil {
			return nil, err
		}
	}
	scripts, err := os.ReadFile(filepath.Join(b.folder, page, "licenses.txt"))
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(text, "\n%s\nThe scripts of the page: %s", strings.Repeat("-", 80), scripts)
	return text.Bytes(), nil
}

// archived returns the files of an archive, all in one folder.
func (b *build) archived(p *program, folder string, manual map[string][]byte, licenses []byte) ([]file, error) {
	readme, err := os.ReadFile(filepath.Join(b.folder, "README.md"))
	if err != nil {
		return nil, err
	}
	name := p.name
	if p.os == "windows" {
		name += ".exe"
	}
	files := []file{
		{folder + "/" + name, 0o755, p.data},
		{folder + "/LICENSE", 0o644, licenses},
		{folder + "/README.md", 0o644, readme},
	}
	for _, name := range sortedNames(manual) {
		sub := "completions"
		if isManualPage(name) {
			sub = "man"
		}
		files = append(files, file{folder + "/" + sub + "/" + name, 0o644, manual[name]})
	}
	return files, nil
}

func isManualPage(name string) bool { return strings.HasSuffix(name, ".1") }

// command runs a program and returns what it printed.
func command(ctx context.Context, folder string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), env...)
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w\n%s%s", exit, &complaints, &out)
		}
		return "", fmt.Errorf("%s %s: %w", name, args[0], err)
	}
	return strings.TrimSpace(out.String()), nil
}
