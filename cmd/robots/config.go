package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/robotskit/robots/cmd/internal/server"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// formatYAML is a file of settings.
const formatYAML = "yaml"

// serveFlags are the settings of serve on a command line.
type serveFlags struct {
	set  *pflag.FlagSet
	file string
}

// register declares a flag for every setting.
func (s *serveFlags) register(cmd *cobra.Command) {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.SortFlags = false
	s.set = f
	for _, setting := range server.Settings() {
		usage := strings.ReplaceAll(setting.Usage, "\n", " ")
		if d := setting.Default(); d != "" && d != "false" && setting.Name != "store" {
			usage += " (default " + d + ")"
		}
		switch {
		case setting.Secret: // everybody on the machine sees a command line
		case setting.Switch():
			f.Bool(setting.Name, false, usage)
		case setting.List():
			f.StringArray(setting.Name, nil, usage+"; repeat it for more")
		default:
			f.String(setting.Name, "", usage)
		}
	}
	f.Lookup("store").Usage += " (default robots/serve.cache in your folder for caches)"
	f.VisitAll(func(flag *pflag.Flag) { flag.Usage = wrapUsage(flag.Usage) })
	f.Lookup("user-agent").Usage = "the User-Agent `STRING` of requests for robots.txt (default\n" + strconv.Quote(defaultUserAgent()) + ")"
	f.StringVar(&s.file, "config", "", "read settings from this YAML `FILE` (env ROBOTS_CONFIG): their names are\nthose of the flags")
	cmd.Flags().AddFlagSet(f)
	complete(cmd, "dialect", dialectNames())
}

// wrapUsage breaks the text of a flag into lines of the help.
func wrapUsage(text string) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case column+len(word) > 70:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}

// load reads the settings: flags, environment, file.
func (s *serveFlags) load() (*server.Config, []server.Value, error) {
	given := map[string][]string{}
	for _, setting := range server.Settings() {
		f := s.set.Lookup(setting.Name)
		if f == nil || !f.Changed {
			continue
		}
		given[setting.Name] = []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			given[setting.Name] = list.GetSlice()
		}
	}
	if s.set.Changed("config") && s.file == "" {
		return nil, nil, errors.New("the name after --config is empty")
	}
	return server.Load(server.Sources{Flags: given, Env: os.LookupEnv, File: s.file})
}

func configCommand(std *streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show the settings of robots serve",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown command %q: there is robots config print", clip(args[0]))
			}
			return errors.New("no command given: there is robots config print")
		},
	}
	cmd.AddCommand(configPrintCommand(std))
	return cmd
}

func configPrintCommand(std *streams) *cobra.Command {
	var flags serveFlags
	var format string
	var origin bool
	cmd := &cobra.Command{
		Use:   "print [flags of serve]",
		Short: "Print what robots serve would be told",
		Long: `Print shows each setting of robots serve with its value. A flag counts before the
variable of the environment, ROBOTS_ and the name in capitals (ROBOTS_DRAIN_DELAY),
that before the file of --config, and that before the default. Secrets are not
shown. What --format yaml prints is such a file.

Exit status: 0, or 2 for a setting that cannot be used.`,
		Example: `  robots config print --origin
  robots config print --config robots.yaml --origin --format json
  robots config print --listen 127.0.0.1:9000 --format yaml > robots.yaml`,
		DisableFlagsInUseLine: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := noArguments(args); err != nil {
				return err
			}
			if err := checkFormat(format, formatYAML); err != nil {
				return err
			}
			_, values, err := flags.load()
			if err != nil {
				return err
			}
			return printConfig(std, values, format, origin)
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVar(&origin, "origin", false, "say where each value comes from: flag, a variable, a line of the file,\nor default")
	registerFormat(cmd, &format, formatYAML)
	flags.register(cmd)
	return cmd
}

func printConfig(std *streams, values []server.Value, format string, origin bool) error {
	switch format {
	case formatJSON:
		for i := range values {
			v := &values[i]
			line := struct {
				Schema int     `json:"schema"`
				Name   string  `json:"name"`
				Value  any     `json:"value"`
				Origin *string `json:"origin,omitempty"`
			}{Schema: 1, Name: v.Name, Value: strings.Join(v.Texts, ",")}
			if v.List() {
				line.Value = append([]string{}, v.Texts...)
			}
			if origin {
				line.Origin = &v.Origin
			}
			if err := encode(std.out, line); err != nil {
				return err
			}
		}
		return nil
	case formatYAML:
		for i := range values {
			v := &values[i]
			if v.Secret {
				continue // it does not belong into a file of settings
			}
			text, err := yamlValue(v)
			if err != nil {
				return err
			}
			if origin {
				text += "  # " + v.Origin
			}
			fmt.Fprintf(std.out, "%s: %s\n", v.Name, text)
		}
		return nil
	}
	w := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	for i := range values {
		v := &values[i]
		fmt.Fprintf(w, "%s\t%s", v.Name, strings.Join(v.Texts, ","))
		if origin {
			fmt.Fprintf(w, "\t%s", v.Origin)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// yamlValue writes a value as YAML reads it: a number or a word as it is, all else
// in quotes, which are those of JSON.
func yamlValue(v *server.Value) (string, error) {
	if v.List() {
		text, err := json.Marshal(append([]string{}, v.Texts...))
		return string(text), err
	}
	text := v.Texts[0]
	if _, err := strconv.Atoi(text); err == nil || text == "true" || text == "false" {
		return text, nil
	}
	quoted, err := json.Marshal(text)
	return string(quoted), err
}
