package main

import (
	"encoding/json"
	"fmt"
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

// write prints the settings as a YAML file, with the origin of each in a comment. Tokens are not printed, nor passwords in URLs.
func (s *serveFlags) write(std *streams, origins map[string]string) {
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
		fmt.Fprintf(std.out, "%s: %s  # %s\n", f.Name, text, origins[f.Name])
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
