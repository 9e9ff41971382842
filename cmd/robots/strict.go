package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// This file rejects command lines that cobra and pflag accept by mistake, and suggests
// the likely spelling.

// once is the value of a flag that can be given once. pflag silently uses the last of
// several values, so one of two files or dialects would be ignored.
type once struct {
	pflag.Value
	name  string
	bare  bool // the flag is given without a value
	given bool
	text  string // the value given
}

// kinds describe an invalid value by the type of its flag. Other types return their own error.
var kinds = map[string]string{
	"int": "is not a whole number", "duration": "is not a time such as 2s or 1m30s", "bool": "is neither true nor false",
	"size": "is not a size such as 64MiB or 16384",
}

func (o *once) Set(s string) error {
	switch {
	case o.given && o.bare:
		return errors.New("--" + o.name + " is given twice")
	case o.given:
		return fmt.Errorf("--%s is given twice, as %q and %q: it takes one value", o.name, clip(o.text), clip(s))
	}
	o.given, o.text = true, s
	if n, err := strconv.Atoi(s); o.Type() == "int" && err == nil {
		s = strconv.Itoa(n) // pflag reads 010 as 8
	} else if o.Type() == "int" {
		s = "" // and 0x10 as 16
	}
	err := o.Value.Set(s)
	if kind, ok := kinds[o.Type()]; ok && err != nil {
		return fmt.Errorf("--%s %q %s", o.name, clip(o.text), kind)
	}
	return err
}

// strict makes a command and its subcommands reject a second value of a flag that is not
// a list, and reports invalid flags in one sentence.
func strict(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if _, list := f.Value.(pflag.SliceValue); list {
			return
		}
		f.Value = &once{Value: f.Value, name: f.Name, bare: f.NoOptDefVal != ""}
		if f.DefValue == "0s" {
			f.DefValue = "" // pflag omits a zero duration only for its own type
		}
	})
	cmd.SetFlagErrorFunc(flagError)
	for _, c := range cmd.Commands() {
		strict(c)
	}
}

func flagError(cmd *cobra.Command, err error) error {
	if _, invalid := errors.AsType[*pflag.InvalidValueError](err); invalid {
		return errors.Unwrap(err) // of once, which names the flag
	}
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return errors.New(dashed(missing.GetSpecifiedName()) + " needs a value")
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		err = errors.New("unknown flag: " + dashed(clip(unknown.GetSpecifiedName())))
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := ask.Nearest(unknown.GetSpecifiedName(), names); near != "" {
			return fmt.Errorf("%w, did you mean --%s?", err, near)
		}
		return fmt.Errorf("%w; %s --help lists them", err, cmd.CommandPath())
	}
	return err
}

// dashed returns the name of a flag with its dashes.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// oneDash returns an error, and its command, if a long flag has one dash: pflag reads
// -agent=Googlebot as -a with the value "gent=Googlebot", another crawler.
func oneDash(root *cobra.Command, args []string) (*cobra.Command, error) {
	cmd, args, err := root.Find(args)
	if err != nil {
		return root, nil // unknown command: suggest reports it
	}
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		name, isFlag := strings.CutPrefix(args[i], "-")
		if !isFlag || name == "" {
			continue
		}
		name, _, joined := strings.Cut(name, "=")
		long, isLong := strings.CutPrefix(name, "-")
		var f *pflag.Flag
		switch {
		case isLong:
			f = cmd.Flags().Lookup(long)
		case len(name) == 1:
			f = cmd.Flags().ShorthandLookup(name)
		case cmd.Flags().Lookup(name) != nil:
			return cmd, fmt.Errorf("-%s has one dash: write --%s", name, name)
		}
		if f != nil && f.NoOptDefVal == "" && !joined {
			i++ // its value
		}
	}
	return cmd, nil
}

// suggest adds the likely command to the error for an unknown command.
func suggest(root *cobra.Command, args []string, err error) error {
	if _, _, unknown := root.Find(args); unknown == nil {
		return err
	}
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") {
			continue
		}
		switch {
		case strings.HasPrefix(args[0], "-"):
			return fmt.Errorf("no command before %s%s", clip(args[0]), knownVerbs(root))
		case strings.Contains(arg, "://"):
			return fmt.Errorf("unknown command %q; to check a URL, run robots check %s", clip(arg), clip(arg))
		}
		return unknownCommand(root, arg)
	}
	return err
}

// verbs returns the names of the visible subcommands.
func verbs(cmd *cobra.Command) (names []string) {
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return names
}

// knownVerbs lists the subcommands at the end of an error.
func knownVerbs(cmd *cobra.Command) string { return " (known: " + strings.Join(verbs(cmd), ", ") + ")" }

// unknownCommand returns the error for an unknown subcommand.
func unknownCommand(cmd *cobra.Command, name string) error {
	hint := knownVerbs(cmd)
	if near := ask.Nearest(name, verbs(cmd)); near != "" {
		hint = ", did you mean " + near + "?"
	}
	return fmt.Errorf("unknown command %q%s", clip(name), hint)
}

func noArguments(args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q", clip(args[0]))
	}
	return nil
}
