package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// This file has the program refuse what the library of flags lets pass, and say in
// one sentence what may be meant.

// once is the value of a flag that may be given once. The library takes the last
// of several, and a call in which one of two files or dialects is not read would
// be answered as if nothing were wrong with it.
type once struct {
	pflag.Value
	name  string
	bare  bool // the flag is given without a value
	given bool
	text  string // the value given
}

// kinds says of a bad value what it is not, by the type of its flag. Flags with a
// function of their own say it themselves.
var kinds = map[string]string{
	"int": "is not a whole number", "duration": "is not a time such as 2s or 1m30s", "bool": "is neither true nor false",
}

func (o *once) Set(s string) error {
	switch {
	case o.given && o.bare:
		return errors.New("--" + o.name + " is given twice")
	case o.given:
		return fmt.Errorf("--%s is given twice, as %s and %s: it takes one value", o.name, strconv.Quote(clip(o.text)), strconv.Quote(clip(s)))
	}
	o.given, o.text = true, s
	err := o.Value.Set(s)
	if kind, ok := kinds[o.Type()]; ok && err != nil {
		return fmt.Errorf("--%s %s %s", o.name, strconv.Quote(clip(s)), kind)
	}
	return err
}

// strict has a command and those below it refuse what the library lets pass: a
// second value of a flag that is no list. What it says of a bad flag becomes one
// plain sentence.
func strict(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if _, list := f.Value.(pflag.SliceValue); list {
			return
		}
		f.Value = &once{Value: f.Value, name: f.Name, bare: f.NoOptDefVal != ""}
		if f.DefValue == "0s" {
			f.DefValue = "" // the help would now name it
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
		if near := nearest(unknown.GetSpecifiedName(), names); near != "" {
			return fmt.Errorf("%w, did you mean --%s?", err, near)
		}
		return fmt.Errorf("%w; %s --help lists them", err, cmd.CommandPath())
	}
	return err
}

// dashed writes the name of a flag as it is given.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// oneDash returns an error, and the command it is about, if a flag has a dash too
// few: -agent=Googlebot is -a with the value gent=Googlebot to the library, whose
// verdict would be about another crawler.
func oneDash(root *cobra.Command, args []string) (*cobra.Command, error) {
	cmd, args, err := root.Find(args)
	if err != nil {
		return root, nil // the command is what is wrong
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

// suggest adds to the error of an unknown verb the verb that may be meant.
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
			return errors.New("no command before " + clip(args[0]) + thereAre(root))
		case strings.Contains(arg, "://"):
			return fmt.Errorf("unknown command %q: to ask about a URL write robots check %s", clip(arg), clip(arg))
		}
		return unknownCommand(root, arg)
	}
	return err
}

// verbs are the names of the commands below one, but for hidden ones.
func verbs(cmd *cobra.Command) (names []string) {
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return names
}

func thereAre(cmd *cobra.Command) string { return ": there are " + strings.Join(verbs(cmd), ", ") }

// unknownCommand says that a command has no such verb, and what it has.
func unknownCommand(cmd *cobra.Command, name string) error {
	hint := thereAre(cmd)
	if near := nearest(name, verbs(cmd)); near != "" {
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
