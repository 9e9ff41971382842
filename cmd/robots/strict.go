package main

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// This file rejects command lines that cobra and pflag accept by mistake, and suggests
// the likely spelling.

// strict returns an error, and its command, for flags that pflag would misread: of several
// values it uses the last, 010 is 8, and -agent=Googlebot is -a with the value "gent=Googlebot",
// another crawler.
func strict(root *cobra.Command, args []string) (*cobra.Command, error) {
	cmd, args, _ := root.Find(args) // no error, as root reports unknown commands
	first := map[*pflag.Flag]string{}
	values := map[string]bool{}
	var wrong error
	// Its own errors return when cobra parses the flags.
	_ = cmd.Flags().ParseAll(args, func(f *pflag.Flag, value string) error {
		before, given := first[f]
		first[f] = value
		values[value] = true
		n, _ := strconv.Atoi(value)
		_, list := f.Value.(pflag.SliceValue)
		switch {
		case wrong != nil:
		case given && !list && f.NoOptDefVal != "":
			wrong = errors.New("--" + f.Name + " is given twice")
		case given && !list:
			wrong = fmt.Errorf("--%s is given twice, as %q and %q: it takes one value", f.Name, clip(before), clip(value))
		case f.Value.Type() == "int" && strconv.Itoa(n) != value:
			wrong = invalidValue(f, value)
		}
		return nil
	})
	for _, arg := range args {
		if arg == "--" {
			break
		}
		name, oneDash := strings.CutPrefix(arg, "-")
		name, _, _ = strings.Cut(name, "=")
		if oneDash && !values[arg] && cmd.Flags().Lookup(name) != nil {
			return cmd, fmt.Errorf("-%s has one dash: write --%s", name, name)
		}
	}
	return cmd, wrong
}

// invalidValue describes an invalid value by the type of its flag, nil for other types.
func invalidValue(f *pflag.Flag, value string) error {
	if kind, ok := ask.Kinds[f.Value.Type()]; ok {
		return fmt.Errorf("--%s %q is not %s", f.Name, clip(value), kind)
	}
	return nil
}

// flagError adds to an error of pflag what to do.
func flagError(cmd *cobra.Command, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return cmp.Or(invalidValue(invalid.GetFlag(), invalid.GetValue()), invalid.Unwrap())
	}
	dashed := func(name string) string { return "--"[:min(2, len(name))] + name }
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return errors.New(dashed(missing.GetSpecifiedName()) + " requires a value")
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if ok {
		err = errors.New("unknown flag: " + dashed(clip(unknown.GetSpecifiedName())))
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	switch before := cmd.Flags().Args(); {
	case !ok:
		return err
	case !cmd.HasParent() && len(before) > 0:
		return unknownCommand(cmd, before[0])
	case !cmd.HasParent():
		return fmt.Errorf("%w; no command given%s", err, ask.Hint("", verbs(cmd)))
	}
	if near := ask.Nearest(unknown.GetSpecifiedName(), names); near != "" {
		return fmt.Errorf("%w (did you mean --%s?)", err, near)
	}
	return fmt.Errorf("%w; %s --help lists them", err, cmd.CommandPath())
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

// unknownCommand returns the error for an unknown subcommand.
func unknownCommand(cmd *cobra.Command, name string) error {
	if ask.NamesSite(name) {
		return fmt.Errorf("unknown command %q; to check a URL, run robots check %s", clip(answer.HideUser(name)), clip(answer.HideUser(name)))
	}
	return fmt.Errorf("unknown command %q%s", clip(name), ask.Hint(name, verbs(cmd)))
}

func noArguments(args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q", clip(args[0]))
	}
	return nil
}
