package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/server"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// serveFlags are the settings of serve.
type serveFlags struct {
	config server.Config
	set    *pflag.FlagSet
	file   string
	print  bool
}

// register declares a flag for each setting.
func (s *serveFlags) register(cmd *cobra.Command) {
	s.set = s.config.Flags()
	s.set.Lookup("store").DefValue = "robots/serve.cache in your cache folder"
	s.set.Lookup("user-agent").DefValue = defaultUserAgent()
	cmd.Flags().AddFlagSet(s.set)
	cmd.Flags().StringVar(&s.file, "config", "", "`FILE` settings in YAML, named as the flags (env ROBOTS_CONFIG)")
	cmd.Flags().BoolVar(&s.print, "print-config", false, "print the settings with their origins as such a file, and exit")
	complete(cmd, "dialect", ask.DialectNames())
}

// reload reads the configuration again, with the flags of the command line. It returns it with the names
// of the settings that have changed since the last call.
func (s *serveFlags) reload() (*server.Config, []string, error) {
	next := new(serveFlags)
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
		_, err = next.config.Load(next.set, os.LookupEnv, cmp.Or(s.file, os.Getenv("ROBOTS_CONFIG")))
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
func (s *serveFlags) write(std *screen.Streams, origins map[string]string) {
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
func withoutPassword(place string) string {
	scheme, rest, isURL := strings.Cut(place, "://")
	at := strings.LastIndexByte(rest, '@')
	if !isURL || at < 0 {
		return place
	}
	user, _, has := strings.Cut(rest[:at], ":")
	if has {
		user += ":(hidden)"
	}
	return scheme + "://" + user + rest[at:]
}
