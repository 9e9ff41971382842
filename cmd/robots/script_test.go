package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/robotskit/robots/cmd/internal/session"
	"github.com/robotskit/robots/internal/dnstest"
	"github.com/robotskit/robots/internal/redistest"
	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata/script")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"robots-session": func() { session.Serve(run) }, "robots": func() {
		for _, at := range strings.Fields(os.Getenv(ownSitesEnv)) {
			ownSites = append(ownSites, netip.MustParseAddrPort(at))
		}
		main()
	}})
}

// ownSitesEnv names the addresses of test sites that robots serve may request.
const ownSitesEnv = "ROBOTS_TEST_SITES"

// TestScript runs the program as a user does. Besides the commands of testscript
// there are
//
//	status N robots ARG... [<FILE], status N exec PROGRAM ARG...
//	                         runs the program, and compares its exit status
//	                         (package session); N can be 0|1
//	members stdout NAME...   every line of stdout is a JSON object of exactly
//	                         these members in this order
//	line FILE N              writes a file of one line of N bytes
//	site NAME KIND [ARG]...  a web site on this machine with its URL in $NAME, or
//	                         changes its response: file FILE, gzip FILE, status N
//	                         (each with HEADER=VALUE...), any FILE (at every path),
//	                         missing N (status N for all but the home page),
//	                         redirect URL, slow, login USER:PASSWORD FILE (401 without them),
//	                         public FILE (400 with a user)
//	login TO NAME USER:PASSWORD
//	                         the URL of a site with a user and a password in $TO
//	page NAME PATH STATUS FILE|- [HEADER=VALUE]...
//	                         a page of a site; without one it answers 404
//	requests NAME N [AGENT]  the site has received N requests, the last with this User-Agent
//	plain FILE TO            copies without ports, times and durations
//	kept CACHE URL AGE FILE [failing AGE]
//	                         a cache file with a file of that age, and an outage
//	redis start [CONFIG]...  a Redis server of the script, with its URL in $REDIS
//	                         and the password "geheim"
//	redis kill|replace       ends it, or starts an empty one at its address
//	dns start ZONE           a name server with its address in $DNS (dnstest)
//	dns queries N [WHAT]     it has received N queries, for WHAT as in "PTR 192.0.2.1"
//	envsubst FILE TO         copies with the values of variables
//	workflow FILE [X=V]...   the steps of a workflow of GitHub as step-NAME.sh
//	hooks FILE               the hooks of pre-commit as hook-ID.sh
//	at NAME DURATION         a time relative to now in $NAME
func TestScript(t *testing.T) {
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	folder, files := "testdata/script", []string(nil)
	if testing.Short() { // a race detector takes a third of a second to start, and finds nothing in one goroutine
		for _, pattern := range []string{"batch*", "live*", "redis*"} {
			found, err := filepath.Glob(filepath.Join(folder, pattern+".txtar"))
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, found...)
		}
		folder = ""
		t.Logf("short: only the %d scripts in which much happens at a time", len(files))
	}
	testscript.Run(t, testscript.Params{
		Dir:                folder,
		Files:              files,
		UpdateScripts:      *update,
		RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("EXAMPLES", examples)
			env.Setenv("ROOT", filepath.Dir(examples))
			env.Setenv("NO_COLOR", "")
			env.Setenv("FORCE_COLOR", "")
			session.Setup(env)
			sites := &webSites{sites: map[string]*webSite{}}
			env.Values[webSitesKey{}] = sites
			env.Values[redisKey{}] = new(*redistest.Server)
			env.Values[dnsKey{}] = new(*dnstest.Server)
			env.Defer(sites.close)
			return nil
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "root": // who may read everything
				return os.Getuid() == 0, nil
			case "redis":
				_, err := exec.LookPath("redis-server")
				return err == nil, nil
			}
			return false, errors.New("unknown condition")
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":  session.Status,
			"members": members,
			"line":    longLine,
			"site":    webSiteCommand,
			"page":    webPageCommand,
			"login": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Setenv(args[0], strings.Replace(ts.Getenv(args[1]), "//", "//"+args[2]+"@", 1))
			},
			"requests": requests,
			"plain":    plain,
			"kept":     kept,
			"at":       at,
			"hooks":    func(ts *testscript.TestScript, neg bool, args []string) { hooks(t, ts, neg, args) },
			"workflow": workflow,
			"gitlab":   gitlab,
			"redis":    func(ts *testscript.TestScript, neg bool, args []string) { redis(t, ts, neg, args) },
			"dns":      func(ts *testscript.TestScript, neg bool, args []string) { nameServer(t, ts, neg, args) },
			"envsubst": func(ts *testscript.TestScript, _ bool, args []string) {
				text := os.Expand(ts.ReadFile(args[0]), ts.Getenv)
				ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o666))
			},
		},
	})
}

type redisKey struct{}

// redis runs a server that ends with t, the test of all scripts.
func redis(t *testing.T, ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: redis start [CONFIG]...|kill|replace")
	}
	server, _ := ts.Value(redisKey{}).(**redistest.Server)
	switch args[0] {
	case "start":
		*server = redistest.Start(t, redistest.Options{Config: append(args[1:], "requirepass geheim")})
		ts.Setenv("REDIS", (*server).URL())
	case "kill":
		(*server).Kill()
	case "replace":
		(*server).Replace()
	default:
		ts.Fatalf("unknown: redis %s", args[0])
	}
}

type dnsKey struct{}

// nameServer runs a name server that ends with t, the test of all scripts.
func nameServer(t *testing.T, ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: dns start ZONE|queries N [WHAT]")
	}
	server, _ := ts.Value(dnsKey{}).(**dnstest.Server)
	if args[0] == "start" {
		*server = dnstest.Start(t, ts.ReadFile(args[1]))
		ts.Setenv("DNS", (*server).Addr())
		return
	}
	if got := (*server).Queries(strings.Join(args[2:], " ")); strconv.Itoa(got) != args[1] {
		ts.Fatalf("the name server received %d queries, want %s", got, args[1])
	}
}

func members(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: members FILE NAME...")
	}
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		got, err := memberNames([]byte(line))
		if err != nil {
			ts.Fatalf("%v in %s", err, line)
		}
		if want := args[1:]; strings.Join(got, " ") != strings.Join(want, " ") {
			ts.Fatalf("%s\ngot  %v\nwant %v", line, got, want)
		}
	}
}

// memberNames returns the names of the members of a JSON object in order.
func memberNames(object []byte) ([]string, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("no object")
	}
	var names []string
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		names = append(names, name.(string))
	}
	if !json.Valid(object) {
		return nil, errors.New("something after the object")
	}
	return names, nil
}

func longLine(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: line FILE N")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), append(bytes.Repeat([]byte("x"), n-1), '\n'), 0o600))
}
