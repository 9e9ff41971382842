package server

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// load reads a configuration of flags and variables, each NAME=VALUE, and the text of a file.
func load(t testing.TB, flags, env []string, file string) (*Config, map[string]string, *pflag.FlagSet, error) {
	t.Helper()
	c := new(Config)
	set := c.Flags()
	for _, f := range flags {
		name, value, _ := strings.Cut(f, "=")
		if err := set.Set(name, value); err != nil {
			return nil, nil, nil, err
		}
	}
	lookup := func(name string) (string, bool) {
		for _, e := range env {
			if n, value, _ := strings.Cut(e, "="); n == name {
				return value, true
			}
		}
		return "", false
	}
	name := ""
	if file != "" {
		t.Chdir(t.TempDir())
		name = "serve.yaml"
		if err := os.WriteFile(name, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	origins, err := c.Load(set, lookup, name)
	return c, origins, set, err
}

// TestConfigOrder: the flag wins over the variable, the variable over the file, and the file over the default.
func TestConfigOrder(t *testing.T) {
	const file = "# settings\nqueue: 1\nhost: [a.example, b.example]\ngrace: 1m\nmemory: 96MiB\nlog-urls: true\nfetches: 9\nstore: redis://h\n"
	c, origins, set, err := load(t, []string{"queue=3", "host=c.example", "host=d.example"}, []string{"ROBOTS_QUEUE=2", "ROBOTS_GRACE=2m", "ROBOTS_KEEP_ONCE=36h", "ROBOTS_CORS=https://a.example, https://b.example", "ROBOTS_TOKENS=my secret"}, file)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"queue":     "3 flag",
		"host":      "[c.example,d.example] flag",
		"grace":     "2m0s ROBOTS_GRACE",
		"cors":      "[https://a.example,https://b.example] ROBOTS_CORS",
		"memory":    "96MiB serve.yaml:5",
		"log-urls":  "true serve.yaml:6",
		"fetches":   "9 serve.yaml:7",
		"body-size": "1MiB default",
		"keep":      "2160h0m0s default",
		"keep-once": "36h0m0s ROBOTS_KEEP_ONCE",
	} {
		if got := set.Lookup(name).Value.String() + " " + origins[name]; got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	if c.Queue != 3 || c.Memory != 96<<20 || !c.LogURLs || c.Grace.Minutes() != 2 || len(c.Hosts) != 2 || c.Tokens != "my secret" {
		t.Errorf("the configuration is %+v", c)
	}
}

// TestConfigErrors: an invalid setting is an error that names its origin and what to write.
func TestConfigErrors(t *testing.T) {
	for _, c := range []struct {
		flags, env, file, want string
	}{
		{"", "", "queue: 1\nqueu: 2\n", `serve.yaml:2: unknown key "queu" (did you mean queue?)`},
		{"", "", "xyz: 2\n", `serve.yaml:1: unknown key "xyz"`},
		{"", "", "queue: 1\n\nqueue: 2\n", `serve.yaml:3: key "queue" is repeated`},
		{"", "", "queue: many\n", `serve.yaml:1: queue: invalid value "many"; write a whole number`},
		{"", "", "queue: [1, 2]\n", "serve.yaml:1: queue needs a single value"},
		{"", "", "queue:\n", "serve.yaml:1: queue needs a single value"},
		{"", "", "host: {a: b}\n", "serve.yaml:1: host needs a single value"},
		{"", "", "a: &x 1\nqueue: *x\n", `serve.yaml:`},
		{"", "", "memory: 12 MB\n", `serve.yaml:1: memory: invalid value "12 MB"; write a size such as 64MiB or 16384`},
		{"", "", "grace: 5\n", `serve.yaml:1: grace: invalid value "5"; write a time such as 10s or 1m30s`},
		{"", "", "tokens: x\n", "serve.yaml:1: tokens cannot be in this file; set ROBOTS_TOKENS, or name a file with tokens-file"},
		{"", "", "- queue\n", "serve.yaml:1: not a mapping"},
		{"", "", "queue: 1\n---\nqueue: 2\n", "serve.yaml:2: unexpected second document"},
		{"", "", "queue: [1\n", "serve.yaml:1: invalid YAML: "},
		{"", "ROBOTS_GRACE=soon", "", `ROBOTS_GRACE: invalid value "soon"; write a time such as 10s or 1m30s`},
		{"", "ROBOTS_PUBLIC=maybe", "", `ROBOTS_PUBLIC: invalid value "maybe"; write true or false`},
		{"listen=localhost:80", "", "", `--listen "localhost:80" is not an IP address and a port such as 127.0.0.1:8780`},
		{"listen=0.0.0.0:80", "", "", "--listen 0.0.0.0:80 can be reached by other machines; add --public to allow it"},
		{"listen=192.0.2.1:80 public=true", "", "", "--listen 192.0.2.1:80 can be reached by other machines; name a file of tokens with --tokens-file, or add --anonymous to answer any client"},
		{"", "ROBOTS_LISTEN=[::]:80", "", "ROBOTS_LISTEN [::]:80 can be reached by other machines"},
		{"", "", "admin: 0.0.0.0:1\n", "serve.yaml:1: admin 0.0.0.0:1 can be reached by other machines, and shows profiles of the process; use a loopback address, or add --public"},
		{"admin=127.0.0.1:8780", "", "", "--admin is the address of --listen; use another one"},
		{"host=a.example:80", "", "", `--host "a.example:80" is not a name as in Host, without a port, such as robots.example`},
		{"cors=https://a.example/x", "", "", `--cors "https://a.example/x" is not an origin such as https://tools.example`},
		{"trusted-proxy=proxy", "", "", `--trusted-proxy "proxy" is not an address or a prefix such as 10.0.0.0/8`},
		{"tokens-file=f", "ROBOTS_TOKENS=x", "", "ROBOTS_TOKENS and tokens-file are both given; use one of them"},
		{"store=http://host/", "", "", "--store has an unknown scheme (known: redis, rediss, valkey, valkeys, unix)"},
		{"redis-optional=true", "", "", "--redis-optional requires a Redis as --store"},
		{"dialect=ask", "", "", `--dialect "ask" is unknown (known: auto, rfc9309`},
		{"address-pace=1", "", "", `--address-pace "1": `},
		{"queue=-1", "", "", "--queue -1 is out of range, 0 to 1048576"},
		{"body-size=1", "", "", "--body-size 1 is out of range, 1KiB to 1GiB"},
		{"url-size=32KiB", "", "", "--url-size 32KiB is more than header-size, 16KiB, which includes the URL"},
		{"grace=-1s", "", "", "--grace -1s is out of range, 0s to 1h"},
		{"store=redis://h memory=63MiB", "", "", "--memory 63MiB is too small; with Redis the minimum is 64MiB"},
		{"keep=24h", "", "", "--keep-once 336h is more than keep, 24h"},
		{"", "", "keep: 10m\nkeep-once: 5m\n", "serve.yaml:1: keep 10m is out of range, 1h to 87600h"},
	} {
		_, _, _, err := load(t, strings.Fields(c.flags), strings.Fields(c.env), c.file)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s %s %q: got %v, want %s", c.flags, c.env, c.file, err, c.want)
		}
	}
	for _, ok := range []string{"listen=[::1]:1", "listen=0.0.0.0:80 public=true anonymous=true", "listen=0.0.0.0:80 public=true tokens-file=x", "store=valkeys://h redis-optional=true memory=64MiB", "admin=none", "host=ROBOTS.example"} {
		if _, _, _, err := load(t, strings.Fields(ok), nil, "# nothing\n"); err != nil {
			t.Errorf("%s: %v", ok, err)
		}
	}
}

// TestTokens: each line is a token; errors name the line and never contain the token.
func TestTokens(t *testing.T) {
	long := strings.Repeat("s3cret-", 6)
	tokens, err := parseTokens("f", []byte("# ours\n\na check,fetch "+long+"\nb permit "+long+"2\n"))
	if err != nil || len(tokens) != 2 || tokens[0].scopes != ScopeCheck|ScopeFetch || tokens[1].scopes != ScopePermit {
		t.Errorf("got %v, %v", tokens, err)
	}
	for text, want := range map[string]string{
		"a check":                       "f:1: a line is NAME SCOPES TOKEN",
		"\na check s3cret":              "f:2: the token has 6 bytes, at least 32 are needed",
		"a check,all " + long:           `f:1: unknown scope (known: check, fetch, permit)`,
		"a/b check " + long:             "f:1: the name has letters",
		"a  check,fetch " + long + " x": "f:1: a line is NAME",
	} {
		if _, err := parseTokens("f", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	empty := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(empty, []byte("# none\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readTokens(&Config{TokensFile: empty}); err == nil {
		t.Error("a file without tokens opens the service")
	}
	if _, err := readTokens(&Config{TokensFile: empty + "x"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is missing: %v", err)
	}
}
