package server

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/yamlfile"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// envName returns the environment variable of a flag: ROBOTS_DRAIN_DELAY.
func envName(flag string) string {
	return "ROBOTS_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Load sets the flags that the command line left unset: from environment variables, else from the YAML file, if its name is not
// empty. It checks c and returns the origin of each setting by its name: flag, a variable, FILE:LINE, demo or default. The error
// names the origin.
func (c *Config) Load(f *pflag.FlagSet, env func(string) (string, bool), path string) (map[string]string, error) {
	nodes, err := readFile(path, f)
	if err != nil {
		return nil, err
	}
	origins := map[string]string{}
	c.where = map[string]string{}
	f.VisitAll(func(flag *pflag.Flag) {
		if err != nil {
			return
		}
		text, _ := env(envName(flag.Name))
		var s setting
		s, err = settingOf(flag, text, path, nodes[flag.Name])
		origins[flag.Name] = s.origin
		c.where[flag.Name] = s.title
		if err == nil {
			err = s.set(flag)
		}
	})
	if err != nil {
		return nil, err
	}
	c.Tokens, _ = env("ROBOTS_TOKENS")
	if c.Tokens != "" {
		c.where["tokens"] = "ROBOTS_TOKENS"
	}
	if c.Demo {
		if origins["store"] != "default" {
			return nil, fmt.Errorf("%s cannot be used with --demo, which stores nothing", c.where["store"])
		}
		c.Store = "memory"
		origins["store"] = "demo"
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	return origins, nil
}

// A setting is the source of a flag's value.
type setting struct {
	origin string   // flag, a variable, FILE:LINE or default
	title  string   // in messages
	values []string // to set, none if the flag has its value
}

// set sets the values of a flag.
func (s *setting) set(flag *pflag.Flag) error {
	for _, value := range s.values {
		if err := flag.Value.Set(value); err != nil {
			return fmt.Errorf("%s: invalid value %q; write %s", s.title, ask.Clip(value), ask.Kinds[flag.Value.Type()])
		}
	}
	return nil
}

// settingOf returns the setting of a flag: from the command line, else its environment variable, else its node
// in the file.
func settingOf(flag *pflag.Flag, variable, path string, node *yaml.Node) (setting, error) {
	_, list := flag.Value.(pflag.SliceValue)
	name := envName(flag.Name)
	switch {
	case flag.Changed:
		return setting{origin: "flag", title: "--" + flag.Name}, nil
	case variable != "" && list:
		values := strings.FieldsFunc(variable, func(r rune) bool { return r == ',' || r == ' ' })
		return setting{name, name, values}, nil
	case variable != "":
		return setting{name, name, []string{variable}}, nil
	case node == nil:
		return setting{origin: "default", title: "--" + flag.Name}, nil
	}
	s := setting{origin: fmt.Sprintf("%s:%d", path, node.Line)}
	s.title = s.origin + ": " + flag.Name
	nodes := []*yaml.Node{node}
	if list && node.Kind == yaml.SequenceNode {
		nodes = node.Content
	}
	for _, n := range nodes {
		if n.Kind != yaml.ScalarNode || yamlfile.IsNull(n) {
			return s, fmt.Errorf("%s: %s needs a single value", s.origin, flag.Name)
		}
		s.values = append(s.values, n.Value)
	}
	return s, nil
}

// readFile reads a file of settings: a YAML mapping of flag names to values and lists.
func readFile(path string, f *pflag.FlagSet) (map[string]*yaml.Node, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if at, ok := errors.AsType[*os.PathError](err); ok {
		return nil, fmt.Errorf("cannot read %s: %w", path, at.Err)
	}
	known := []string{"tokens"}
	f.VisitAll(func(flag *pflag.Flag) { known = append(known, flag.Name) })
	file := yamlfile.File{Name: path}
	settings := file.Read(text, known...)
	if n := settings["tokens"]; n != nil {
		file.Wrong(n, "tokens cannot be in this file; set ROBOTS_TOKENS, or name a file with tokens-file")
	}
	return settings, errors.Join(file.Mistakes...)
}
