package main

import (
	"testing"

	"github.com/robotskit/robots/cmd/internal/session"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"robots-bulk": main, "robots-bulk-session": func() { session.Serve(run) }})
}

// TestScript runs scripts with this command in addition to those of testscript:
//
//	status N robots-bulk ARG... [<FILE], status N exec PROGRAM ARG...
//	                         runs the program, and compares its exit status (package session)
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                "testdata/script",
		RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			session.Setup(env)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": session.Status,
		},
	})
}
