package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/server"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// serveSettings are the settings of robots serve.
type serveSettings struct {
	config server.Config
	set    *pflag.FlagSet // flags of the configuration
	file   string         // of --config
}

// register declares a flag for each setting.
func (s *serveSettings) register(cmd *cobra.Command) {
	s.set = s.config.Flags()
	s.set.Lookup("store").DefValue = "robots/serve.cache in your cache folder"
	s.set.Lookup("user-agent").DefValue = defaultUserAgent()
	cmd.Flags().AddFlagSet(s.set)
	cmd.Flags().StringVar(&s.file, "config", "", "`FILE` settings in YAML, named as the flags (env ROBOTS_CONFIG)")
}

// load reads the configuration from flags, environment and file, and returns the origins of the settings.
func (s *serveSettings) load() (origins map[string]string, err error) {
	return s.config.Load(s.set, os.LookupEnv, cmp.Or(s.file, os.Getenv("ROBOTS_CONFIG")))
}

// reload reads the configuration again, with the flags of the command line. It returns it with the names
// of the settings that have changed since the last call.
func (s *serveSettings) reload() (*server.Config, []string, error) {
	next := &serveSettings{file: s.file}
	next.set = next.config.Flags()
	var err error
	s.set.VisitAll(func(old *pflag.Flag) {
		flag := next.set.Lookup(old.Name)
		if !old.Changed {
			return
		}
		flag.Changed = true
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			err = errors.Join(err, list.Replace(old.Value.(pflag.SliceValue).GetSlice()))
		} else {
			err = errors.Join(err, flag.Value.Set(old.Value.String()))
		}
	})
	if err == nil {
		_, err = next.load()
	}
	if err != nil {
		return nil, nil, err
	}
	changed := []string{}
	s.set.VisitAll(func(old *pflag.Flag) {
		if next.set.Lookup(old.Name).Value.String() != old.Value.String() && old.Name != "store" {
			changed = append(changed, old.Name)
		}
	})
	s.set = next.set
	return &next.config, changed, nil
}

// write prints the settings as a YAML file, with the origin of each in a comment. Tokens are not printed, nor passwords in URLs.
func (s *serveSettings) write(std *screen.Streams, origins map[string]string) {
	s.set.VisitAll(func(f *pflag.Flag) {
		var value any = f.Value.String()
		switch f.Value.Type() {
		case "stringArray":
			value = append([]string{}, f.Value.(pflag.SliceValue).GetSlice()...)
		case "duration":
			d, _ := time.ParseDuration(f.Value.String())
			value = server.TimeText(d)
		case "bool", "int":
			value = json.RawMessage(f.Value.String())
		}
		if f.Name == "store" {
			value = withoutPassword(s.config.Store)
		}
		text, _ := json.Marshal(value) // which is YAML too
		fmt.Fprintf(std.Out, "%s: %s  # %s\n", f.Name, text, origins[f.Name])
	})
}

// withoutPassword hides the password of a URL.
func withoutPassword(store string) string {
	scheme, rest, isURL := strings.Cut(store, "://")
	at := strings.LastIndexByte(rest, '@')
	if !isURL || at < 0 {
		return store
	}
	user, _, has := strings.Cut(rest[:at], ":")
	if has {
		user += ":(hidden)"
	}
	return scheme + "://" + user + rest[at:]
}
