package clients

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// TestMetrics: the parser and the linter of Prometheus accept the metrics of robots serve, and each has
// a text and a value.
func TestMetrics(t *testing.T) {
	text := scrape(t)
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	own := 0
	for name, family := range families {
		if !strings.HasPrefix(name, "robots_") {
			continue
		}
		own++
		if family.GetHelp() == "" || len(family.GetMetric()) == 0 {
			t.Errorf("%s: no text or no value: %v", name, family)
		}
	}
	for _, name := range []string{"go_goroutines", "process_resident_memory_bytes", "process_cpu_seconds_total", "process_open_fds"} {
		if families[name] == nil {
			t.Errorf("there is no %s", name)
		}
	}
	if own < 20 {
		t.Errorf("%d metrics of robots serve:\n%s", own, text)
	}
	problems, err := promlint.New(bytes.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "robots_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

// scrape starts robots serve and returns its metrics.
func scrape(t *testing.T) []byte {
	program := filepath.Join(t.TempDir(), "robots")
	if out, err := exec.Command("go", "build", "-o", program, "github.com/robotskit/robots/cmd/robots").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	server := exec.Command(program, "serve", "--store", "memory", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0")
	log, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	}()
	for lines := bufio.NewScanner(log); lines.Scan(); {
		admin := regexp.MustCompile(`"?admin"?[:=]"?(http://[^"/ ]+)`).FindSubmatch(lines.Bytes())
		if admin == nil {
			continue
		}
		resp, err := http.Get(string(admin[1]) + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("status %d, %v", resp.StatusCode, err)
		}
		return text
	}
	t.Fatal("the program ended")
	return nil
}
