package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/robotskit/robots/cmd/internal/help"
	"github.com/robotskit/robots/cmd/internal/server"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

const operating = "../../docs/operating.md"

// TestOperating: docs/operating.md lists all settings, the program accepts its settings file and
// commands, and its paths are those of the admin listener.
//
//	go test ./cmd/robots -run TestOperating -update
func TestOperating(t *testing.T) {
	text, err := os.ReadFile(operating)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "-update -->\n", "<!-- end of settings -->"
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("docs/operating.md has no place for the settings")
	}
	want := before + begin + settingsTable() + end + after
	if *update {
		if err := os.WriteFile(operating, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(text) != want {
		t.Errorf("docs/operating.md has other settings than the program; run go test ./cmd/robots -run TestOperating -update")
	}

	folder := t.TempDir()
	file := filepath.Join(folder, "serve.yaml")
	example := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(text)
	if example == nil {
		t.Fatal("docs/operating.md has no file of settings")
	}
	if err := os.WriteFile(file, example[1], 0o600); err != nil {
		t.Fatal(err)
	}
	calls := [][]string{{"serve", "--config", file}}
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllSubmatch(text, -1) {
		for line := range strings.Lines(string(block[1])) {
			calls = append(calls, strings.Fields(line)[1:])
		}
	}
	for _, call := range calls {
		if call[0] != "serve" {
			t.Fatalf("%v is no call of serve", call)
		}
		var out, said bytes.Buffer
		if status := run(t.Context(), append(call, "--print-config"), strings.NewReader(""), &out, &said); status != exitAllowed {
			t.Errorf("robots %s: %s", strings.Join(call, " "), &said)
		}
	}
	if len(calls) < 5 {
		t.Errorf("%d examples are read", len(calls))
	}
}

// settingsTable returns the table of the settings.
func settingsTable() string {
	var b strings.Builder
	b.WriteString("\n| name | default | |\n| --- | --- | --- |\n")
	new(server.Config).Flags().VisitAll(func(f *pflag.Flag) {
		initial := f.DefValue
		switch {
		case f.Name == "store":
			initial = "robots/serve.cache in your cache folder"
		case f.Name == "user-agent":
			initial = "robotskit, with version and URL"
		case initial == "[]":
			initial = ""
		}
		placeholder, usage := help.FlagText(f)
		if placeholder != "" && f.NoOptDefVal == "" {
			placeholder = " " + placeholder
		}
		b.WriteString("| `" + f.Name + placeholder + "` | " + initial + " | " + usage + " |\n")
	})
	return b.String() + "\n"
}

// TestUnit: systemd accepts the unit without warnings.
func TestUnit(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("skipped: ", err)
	}
	text, err := os.ReadFile("../../docs/operating/robots.service")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte("ExecStart=/usr/bin/robots serve\n")) {
		t.Fatal("the unit does not run /usr/bin/robots serve")
	}
	unit := filepath.Join(t.TempDir(), "robots.service")
	if err := os.WriteFile(unit, bytes.ReplaceAll(text, []byte("/usr/bin/robots"), []byte(program)), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("systemd-analyze", "verify", "--man=no", unit).CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("robots.service")) {
		t.Errorf("%v: %s", err, out)
	}
}

// TestAlerts: the alerts are Prometheus rules about existing metrics.
func TestAlerts(t *testing.T) {
	text, err := os.ReadFile("../../docs/operating/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil {
		t.Fatal(err)
	}
	s := runServer(t, "--store", filepath.Join(t.TempDir(), "store"))
	exposed := get(t, s.admin+"/metrics")
	page := regexp.MustCompile(`robots_[a-z_]+`)
	rules := 0
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			rules++
			if r.Alert == "" || r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["what"] == "" {
				t.Errorf("%+v lacks a part", r)
			}
			for _, name := range page.FindAllString(r.Expr+r.Annotations["what"], -1) {
				if !strings.Contains(exposed, "# TYPE "+strings.TrimSuffix(name, "_bucket")+" ") && name != "robots_limiter_degraded_seconds" { // of a fleet
					t.Errorf("%s asks for %s, which there is not", r.Alert, name)
				}
			}
			for _, selector := range regexp.MustCompile(`(robots_[a-z_]+\{[a-z]+="[^"]*"\})`).FindAllString(r.Expr, -1) {
				if !strings.Contains(exposed, "\n"+selector+" ") {
					t.Errorf("%s asks for %s, which there is not", r.Alert, selector)
				}
			}
			if strings.Count(r.Expr, "(") != strings.Count(r.Expr, ")") || !strings.ContainsAny(r.Expr, "<>=") {
				t.Errorf("%s: %s", r.Alert, r.Expr)
			}
		}
	}
	if rules < 15 || !strings.Contains(exposed, "# TYPE robots_questions_total counter") {
		t.Errorf("%d rules; metrics:\n%s", rules, exposed)
	}
}
