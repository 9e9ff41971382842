package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/robotskit/robots/internal/campaign"
	"github.com/rogpeppe/go-internal/testscript"
	"go.yaml.in/yaml/v3"
)

// A ciStep is the part of a workflow step that can be tested without GitHub.
type ciStep struct {
	Name string
	Uses string
	Env  map[string]string
	Run  string
	// Shell is required in an action.
	Shell string
}

// A ciFile is a workflow or a composite action.
type ciFile struct {
	On struct {
		PullRequest struct{ Paths []string } `yaml:"pull_request"`
	}
	Permissions map[string]string
	Env         map[string]string
	Jobs        map[string]struct {
		Permissions map[string]string
		Steps       []ciStep
	}
	Runs struct {
		Using string
		Steps []ciStep
	}
}

// workflow writes the scripts of the steps of a workflow or a composite action into files
// step-NAME.sh, and sets their variables: workflow FILE [EXPRESSION=VALUE]...
func workflow(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: workflow FILE [EXPRESSION=VALUE]...")
	}
	var file ciFile
	ts.Check(yaml.Unmarshal([]byte(ts.ReadFile(args[0])), &file))
	values := map[string]string{}
	for _, a := range args[1:] {
		name, value, _ := strings.Cut(a, "=")
		values[name] = value
	}
	expression := regexp.MustCompile(`\$\{\{ (.+?) \}\}`)
	set := func(env map[string]string) {
		for name, value := range env {
			ts.Setenv(name, expression.ReplaceAllStringFunc(value, func(s string) string {
				known, ok := values[expression.FindStringSubmatch(s)[1]]
				if !ok {
					ts.Fatalf("%s of %s is not known", s, name)
				}
				return known
			}))
		}
	}
	set(file.Env)
	steps := file.Runs.Steps
	for _, job := range file.Jobs {
		steps = append(steps, job.Steps...)
	}
	for _, s := range steps {
		if s.Run == "" {
			continue
		}
		if file.Runs.Using == "composite" && s.Shell != "bash" {
			ts.Fatalf("the step %s has no shell", s.Name)
		}
		if expression.MatchString(s.Run) {
			ts.Fatalf("the step %s takes an expression into its script, where it may be code", s.Name)
		}
		set(s.Env)
		ts.Check(os.WriteFile(ts.MkAbs("step-"+strings.ReplaceAll(s.Name, " ", "-")+".sh"), []byte(s.Run), 0o666))
	}
}

// TestAction: the action builds the program of its own checkout, from any other folder.
func TestAction(t *testing.T) {
	campaign.Only(t) // it builds the program
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("without bash")
	}
	text, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file ciFile
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	t.Setenv("GITHUB_ACTION_PATH", root)
	t.Setenv("GITHUB_PATH", filepath.Join(temp, "path"))
	t.Setenv("RUNNER_TEMP", temp)
	build := exec.Command(bash, "-e", "-o", "pipefail", "-c", file.Runs.Steps[0].Run)
	build.Dir = temp
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	folder, err := os.ReadFile(filepath.Join(temp, "path"))
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(strings.TrimSpace(string(folder)), "robots")
	if out, err := exec.Command(program, "lint", "--format", "github", filepath.Join(root, "examples", "shop.txt")).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestWorkflows: a workflow gives a token to nothing by default. A job whose token can write runs
// neither code of the checkout nor programs that the workflow installs.
func TestWorkflows(t *testing.T) {
	files, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatal("no workflows", err)
	}
	for _, path := range append(files, "../../docs/ci/robots.yml") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var file ciFile
		if err := yaml.Unmarshal(text, &file); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if file.Permissions == nil || len(file.Permissions) != 0 {
			t.Errorf("%s: permissions are %v, want {} and those of each job", path, file.Permissions)
		}
		for name, job := range file.Jobs {
			canWrite := false
			for _, access := range job.Permissions {
				canWrite = canWrite || access != "read"
			}
			for _, step := range job.Steps {
				if canWrite && (strings.HasPrefix(step.Uses, "actions/checkout@") || regexp.MustCompile(`(?m)^\s*(make|go|robots|npm|\.)`).MatchString(step.Run)) {
					t.Errorf("%s: the job %s can write, and runs %s%s", path, name, step.Uses, step.Run)
				}
			}
		}
	}
}

// TestPinned: every action that the project or its documents use is the full SHA of a commit,
// with its version in a comment, and nothing that CI installs has the version latest. The action
// of this project is named by a placeholder, because a file cannot contain the SHA of its commit.
func TestPinned(t *testing.T) {
	tree := os.DirFS("../..")
	uses := regexp.MustCompile(`(?m)^[^\n]*\buses: .*$`)
	pinned := regexp.MustCompile(`\buses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	total := 0
	err := fs.WalkDir(tree, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			if entry.Name() == ".git" || entry.Name() == "node_modules" {
				return fs.SkipDir
			}
			return err
		}
		ofCI := strings.HasPrefix(path, ".ci/") || strings.HasPrefix(path, ".github/") || strings.HasPrefix(path, "docs/ci") ||
			path == "action.yml" || path == "Makefile" || path == ".pre-commit-hooks.yaml"
		if !ofCI && filepath.Ext(path) != ".yml" && filepath.Ext(path) != ".yaml" && filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := fs.ReadFile(tree, path)
		if err != nil {
			return err
		}
		for _, line := range uses.FindAllString(string(text), -1) {
			total++
			if !pinned.MatchString(line) && !strings.Contains(line, " robotskit/robots@COMMIT ") {
				t.Errorf("%s: not pinned: %s", path, line)
			}
		}
		if ofCI && strings.Contains(string(text), "@latest") {
			t.Errorf("%s contains @latest", path)
		}
		return nil
	})
	if err != nil || total == 0 {
		t.Errorf("%d uses, %v", total, err)
	}
}

// gitlab writes the script of the job of a GitLab file into step-gitlab.sh, and sets its
// variables.
func gitlab(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: gitlab FILE")
	}
	var file struct {
		Robots struct {
			Variables map[string]string
			Script    []string
		}
	}
	ts.Check(yaml.Unmarshal([]byte(ts.ReadFile(args[0])), &file))
	for name, value := range file.Robots.Variables {
		ts.Setenv(name, value)
	}
	ts.Check(os.WriteFile(ts.MkAbs("step-gitlab.sh"), []byte(strings.Join(file.Robots.Script, "\n")+"\n"), 0o666))
}

// A ciHook is a hook of .pre-commit-hooks.yaml.
type ciHook struct {
	ID, Entry, Language, Files string
	Args                       []string
	PassFilenames              *bool `yaml:"pass_filenames"`
}

func readHooks(t testing.TB, text []byte) map[string]ciHook {
	t.Helper()
	var list []ciHook
	if err := yaml.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	hooks := map[string]ciHook{}
	for _, h := range list {
		hooks[h.ID] = h
	}
	return hooks
}

// hooks writes the commands of the pre-commit hooks into files hook-ID.sh: the entry, its
// arguments and, unless pass_filenames is false, the files.
func hooks(t *testing.T, ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: hooks FILE")
	}
	for id, h := range readHooks(t, []byte(ts.ReadFile(args[0]))) {
		if h.Language != "system" {
			ts.Fatalf("the hook %s is in %s: this cannot run it", id, h.Language)
		}
		line := h.Entry + " " + strings.Join(h.Args, " ")
		if h.PassFilenames == nil || *h.PassFilenames {
			line += ` "$@"`
		}
		ts.Check(os.WriteFile(ts.MkAbs("hook-"+id+".sh"), []byte(line+"\n"), 0o666))
	}
}

// TestHookFiles: the hooks run for robots.txt files and files of assertions only.
func TestHookFiles(t *testing.T) {
	text, err := os.ReadFile("../../.pre-commit-hooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := readHooks(t, text)
	for _, tt := range []struct {
		id, file string
		want     bool
	}{
		{"robots-diff", "robots.txt", true},
		{"robots-diff", "public/robots.txt", true},
		{"robots-diff", "robots.txt.bak", false},
		{"robots-diff", "myrobots.txt", false},
		{"robots-lint", "public/robots.txt", true},
		{"robots-lint", "robots.test.yaml", false},
		{"robots-fmt", "robots.txt", true},
		{"robots-test", "public/robots.txt", true},
		{"robots-test", "robots.test.yaml", true},
		{"robots-test", "robots.yaml", false},
	} {
		if got := regexp.MustCompile(all[tt.id].Files).MatchString(tt.file); got != tt.want {
			t.Errorf("%s runs for %s: %t, want %t", tt.id, tt.file, got, tt.want)
		}
	}
}

// TestKubernetes: the deployment sets only known variables of robots serve, and probes paths of
// the admin listener.
func TestKubernetes(t *testing.T) {
	text, err := os.ReadFile("../../docs/operating/kubernetes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	type probe struct {
		Get struct{ Path, Port string } `yaml:"httpGet"`
	}
	var file struct {
		Spec struct {
			Template struct {
				Spec struct {
					Containers []struct {
						Env       []struct{ Name, Value string }
						Liveness  probe `yaml:"livenessProbe"`
						Readiness probe `yaml:"readinessProbe"`
					}
				}
			}
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	c := file.Spec.Template.Spec.Containers[0]
	help := program(t, exitAllowed, "serve", "--help-all")
	for _, e := range c.Env {
		flag := "--" + strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(e.Name, "ROBOTS_"), "_", "-")) + " "
		if !strings.Contains(help, flag) {
			t.Errorf("%s: robots serve has no flag %s", e.Name, flag)
		}
	}
	if !slices.ContainsFunc(c.Env, func(e struct{ Name, Value string }) bool { return e.Name == "ROBOTS_HOST" }) || c.Liveness.Get.Path != "/healthz" || c.Readiness.Get.Path != "/readyz" || c.Liveness.Get.Port != "admin" || c.Readiness.Get.Port != "admin" {
		t.Errorf("%+v", c)
	}
}
