package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// TestGotest: .ci/gotest prints a line for a passing run, with the output in a file, from which
// .ci/skipped prints what was skipped and why. Of a failing run it prints the failures.
func TestGotest(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip(".ci/gotest is a script of bash")
	}
	scripts, err := filepath.Abs("../../../.ci")
	if err != nil {
		t.Fatal(err)
	}
	// go is a program that prints a file and exits with its last line, the second time with 0.
	dir := t.TempDir()
	program := "#!/bin/sh\nsed '$d' output\nstatus=$(tail -n 1 output)\necho 0 > output\nexit $status\n"
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	const skips = `=== RUN   TestA
    a_test.go:5: a line before
    a_test.go:6: without x
--- SKIP: TestA (0.00s)
=== RUN   TestB
=== RUN   TestB/1
    b_test.go:7: without x
    --- SKIP: TestB/1 (0.00s)
=== RUN   TestB/2
    b_test.go:7: without x
    --- SKIP: TestB/2 (0.00s)
--- PASS: TestB (0.00s)
=== RUN   TestC
    b_test.go:8: without y: and z
--- SKIP: TestC (0.00s)
`
	for _, tt := range []struct {
		name, output, want, skipped, status string
	}{
		{"passed", skips + "ok  \ta\t0.1s\n0\n", "unit: 1 tests of 1 packages passed, 2 were skipped; output in bin/test/unit.log\n",
			"skipped: without x: TestA, TestB\nskipped: without y: and z: TestC\n", ""},
		{"all", "=== RUN   TestA\n    a_test.go:5: a line\n--- PASS: TestA (0.00s)\nok  \ta\t0.1s\n0\n",
			"unit: 1 tests of 1 packages passed, 0 were skipped; output in bin/test/unit.log\n", "skipped: nothing\n", ""},
		{"unstable", "=== RUN   TestA\n    a_test.go:5: got 1\n--- FAIL: TestA (0.00s)\nFAIL\nFAIL\ta\t0.1s\n1\n",
			"--- FAIL: TestA (0.00s)\n    a_test.go:5: got 1\nFAIL\nFAIL\ta\t0.1s\n--- FAIL: TestA (0.00s)\nFAIL\nFAIL\ta\t0.1s\nonce more, alone: a TestA\n" +
				"unstable: TestA of a failed once and passed alone\n", "skipped: nothing\n", ""},
		{"panic", "=== RUN   TestA\npanic: test timed out after 6h\nFAIL\ta\t0.1s\n1\n",
			"panic: test timed out after 6h\nFAIL\ta\t0.1s\nFAIL\ta\t0.1s\n", "skipped: nothing\n", "exit status 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			work := t.TempDir()
			if err := os.WriteFile(filepath.Join(work, "output"), []byte(tt.output), 0o666); err != nil {
				t.Fatal(err)
			}
			run := exec.Command(filepath.Join(scripts, "gotest"), "unit", "-p", "8", "./...")
			run.Dir = work
			out, err := run.Output()
			if status := statusOf(err); string(out) != tt.want || status != tt.status {
				t.Errorf("%q\ngot  %q\nwant %q", status, out, tt.want)
			}
			skipped, err := exec.Command(filepath.Join(scripts, "skipped"), filepath.Join(work, "bin/test/unit.log")).Output()
			if err != nil || string(skipped) != tt.skipped {
				t.Errorf("%v\ngot  %q\nwant %q", err, skipped, tt.skipped)
			}
		})
	}
}

func statusOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
