package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/robotskit/robots/cmd/internal/ask"
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

// load reads the settings, and returns the origin of each by its name.
func (s *serveFlags) load() (map[string]string, error) {
	return s.config.Load(s.set, os.LookupEnv, cmp.Or(s.file, os.Getenv("ROBOTS_CONFIG")))
}

// write prints the settings as a YAML file, with their origins in comments. Tokens are not printed, nor passwords in URLs.
func (s *serveFlags) write(std *streams, origins map[string]string) (err error) {
	s.set.VisitAll(func(f *pflag.Flag) {
		var value any = f.Value.String()
		if list, ok := f.Value.(pflag.SliceValue); ok {
			value = append([]string{}, list.GetSlice()...)
		}
		switch {
		case f.Name == "store":
			value = withoutPassword(s.config.Store)
		case f.Value.Type() == "duration":
			d, _ := time.ParseDuration(f.Value.String())
			value = server.TimeText(d)
		case f.Value.Type() == "bool":
			value = f.Value.String() == "true"
		case f.Value.Type() == "int":
			value, _ = strconv.Atoi(f.Value.String())
		}
		text, failed := json.Marshal(value) // which is YAML too
		if _, failed2 := fmt.Fprintf(std.out, "%s: %s  # %s\n", f.Name, text, origins[f.Name]); err == nil {
			err = cmp.Or(failed, failed2)
		}
	})
	return err
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
