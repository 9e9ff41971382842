package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/crawlers"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// verifyOptions are one run of robots verify.
type verifyOptions struct {
	std        *screen.Streams
	args       []string
	flags      *pflag.FlagSet
	output     outputFlags
	site       siteFlags
	as         string
	fileName   string
	logs       []string
	lists      []string
	fetchLists bool
	dns        bool
	offline    bool
	resolver   string

	claimed  crawlers.Crawler // of --as, without a name if none
	verifier crawlers.Verifier
	sources  source.AddressLists
}

func newVerifyCommand(std *screen.Streams) *cobra.Command {
	o := &verifyOptions{std: std}
	cmd := &cobra.Command{Use: "verify", RunE: runE(std, &o.args, o.run)}
	o.flags = cmd.Flags()
	f := cmd.Flags()
	f.StringVar(&o.as, "as", "", "`NAME` known crawler to verify the addresses for")
	f.StringArrayVar(&o.logs, "log", nil, "`FILE` access log, - for standard input (repeat for more)")
	f.StringVarP(&o.fileName, "file", "f", "", "`FILE` robots.txt to check --log against: a file, - for standard input, or the URL of a site")
	f.BoolVar(&o.dns, "dns", false, "query DNS for the addresses of --log")
	f.StringVar(&o.resolver, "resolver", "", "`ADDRESS` name server, such as 9.9.9.9 or 127.0.0.1:5353")
	f.StringArrayVar(&o.lists, "list", nil, "`NAME[,NAME]=FILE` file or URL of address lists: JSON, or an address or prefix per line")
	f.BoolVar(&o.fetchLists, "fetch-lists", false, "fetch the published lists of the crawlers in question")
	f.BoolVar(&o.offline, "offline", false, "use no network, only files given with --list")
	f.DurationVar(&o.site.timeout, "timeout", 0, "`DURATION` timeout per address (default 10s) and per list (default 30s)")
	o.site.registerWay(cmd)
	o.output.registerFormat(cmd, formatCSV)
	o.output.registerColor(cmd)
	return cmd
}

// run verifies addresses or logs.
func (o *verifyOptions) run(ctx context.Context) (int, error) {
	given, err := o.validate()
	if err != nil {
		return exitBad, err
	}
	o.sources.Reader = o.output.reader(o.std)
	if o.fetches() {
		if o.sources.Live, err = o.site.open(o.std, nil, 0); err != nil {
			return exitBad, err
		}
		defer o.sources.Live.Close()
	}
	ctx, stop := screen.Interruptible(ctx)
	defer stop()
	o.verifier = crawlers.Verifier{Timeout: o.site.timeout, Lists: map[string]*crawlers.Addresses{}}
	for _, list := range given {
		if err := o.addList(ctx, list.crawler, list.from); err != nil {
			return exitBad, err
		}
	}
	if !o.offline && (len(o.logs) == 0 || o.dns || o.resolver != "") {
		resolver, err := source.NewResolver(o.resolver)
		if err != nil {
			return exitBad, err
		}
		o.verifier.Resolver = resolver
	}
	if len(o.logs) > 0 {
		return o.verifyLogs(ctx)
	}
	return o.verifyAddresses(ctx)
}

// fetches reports whether lists or a robots.txt are fetched.
func (o *verifyOptions) fetches() bool {
	return o.fetchLists || ask.NamesSite(o.fileName) || slices.ContainsFunc(o.lists, ask.NamesSite)
}

// A givenList is a file or URL with addresses of a crawler.
type givenList struct{ crawler, from string }

// validate checks the flags and arguments before anything is opened, and returns the lists of --list.
func (o *verifyOptions) validate() (given []givenList, err error) {
	if o.flags.Changed("as") {
		if o.claimed, err = knownCrawler(o.as); err != nil {
			return nil, fmt.Errorf("--as: %w", err)
		}
	}
	inputs := append(slices.Concat(o.args, o.logs), o.fileName)
	if given, err = parseLists(o.lists); err != nil {
		return nil, err
	}
	for _, text := range o.lists {
		_, from, _ := strings.Cut(text, "=")
		inputs = append(inputs, from)
	}
	if err := source.StdinOnce(inputs...); err != nil {
		return nil, err
	}
	if err := o.checkTogether(); err != nil {
		return nil, err
	}
	for _, arg := range o.args {
		if _, err := ask.Address(arg); err != nil && arg != "-" {
			return nil, err
		}
	}
	if o.fetches() {
		return given, nil
	}
	return given, o.site.unused("without --fetch-lists or a URL of a list or site")
}

// parseLists returns the lists of values of --list.
func parseLists(texts []string) (given []givenList, err error) {
	for _, text := range texts {
		names, from, ok := strings.Cut(text, "=")
		if !ok || names == "" || from == "" {
			return nil, fmt.Errorf("--list %q is not NAME=FILE, such as GPTBot=gptbot.json", clip(text))
		}
		for name := range strings.SplitSeq(names, ",") {
			e, err := knownCrawler(name)
			if err != nil {
				return nil, fmt.Errorf("--list: %w", err)
			}
			given = append(given, givenList{e.Name, from})
		}
	}
	return given, nil
}

// checkTogether returns an error for flags and arguments that exclude or need each other.
func (o *verifyOptions) checkTogether() error {
	switch {
	case o.flags.Changed("timeout") && o.site.timeout <= 0:
		return errTimeout
	case len(o.args) == 0 && len(o.logs) == 0:
		return errors.New("no addresses given; name one, - to read them from standard input, or a log with --log FILE")
	case len(o.args) > 0 && len(o.logs) > 0:
		return fmt.Errorf("unexpected argument %q: --log reads addresses from the log", clip(o.args[0]))
	case len(o.logs) == 0 && o.flags.Changed("file"):
		return errors.New("-f requires --log")
	case len(o.logs) == 0 && o.dns:
		return errors.New("--dns requires --log; DNS is queried for addresses given as arguments anyway")
	case o.offline && (o.dns || o.resolver != "" || o.fetches()):
		return errors.New("--offline excludes --dns, --resolver, --fetch-lists, and lists and a robots.txt by URL")
	case o.flags.Changed("resolver") && o.resolver == "":
		return errors.New("--resolver is empty; name a server such as 9.9.9.9")
	}
	return nil
}

// knownCrawler returns a crawler of the directory.
func knownCrawler(name string) (crawlers.Crawler, error) {
	e, ok := crawlers.Find(name)
	if !ok {
		return e, fmt.Errorf("unknown crawler %q%s", clip(name), didYouMean(name))
	}
	return e, nil
}

// addList adds the list in a file or at a URL for a crawler.
func (o *verifyOptions) addList(ctx context.Context, crawler, from string) error {
	list, err := o.sources.Get(ctx, from)
	if list != nil {
		o.verifier.Lists[crawler] = list
	}
	return err
}

// verifyAddresses verifies the addresses of the command line, and those on standard input as they
// arrive.
func (o *verifyOptions) verifyAddresses(ctx context.Context) (int, error) {
	traffic := answer.Traffic{As: o.claimed.Name}
	o.fetchListsOf(ctx, traffic.Counts)
	if o.output.format == formatCSV {
		o.std.WriteCSV(render.AddressColumns)
	}
	u := &source.URLReader{Std: o.std, Args: o.args, Item: "address"}
	parse := func(text string) (a netip.Addr, none robots.Origin, err error) {
		a, err = ask.Address(text)
		return a, none, err
	}
	status := exitAllowed
	for entries, err := range source.ReadAhead(ctx, source.Parsed(u, parse), u.Ready, true, nil, o.std) {
		found := make([]crawlers.Identity, len(entries))
		concurrently(len(found), func(i int) { found[i] = o.identify(ctx, entries[i].Line) })
		if ctx.Err() != nil {
			return exitBad, screen.ErrInterrupted
		}
		for i, id := range found {
			if e := entries[i]; e.Err != nil {
				o.std.Complain(e.Err)
				status = worse(status, exitBad)
			} else {
				o.writeAddress(e.Line, id)
				status = worse(status, statusOfIdentity(id))
			}
		}
		if err != nil {
			return exitBad, err
		}
	}
	return status, nil // the last flush reports why the output failed
}

// statusOfIdentity returns the exit status of an address.
func statusOfIdentity(id crawlers.Identity) int {
	switch id.Result {
	case crawlers.Faked:
		return exitDisallowed
	case crawlers.Unknown:
		return exitUndecided
	}
	return exitAllowed
}

// worse returns the status that takes precedence: 2 before 1 before 3.
func worse(a, b int) int {
	order := []int{exitAllowed, exitUndecided, exitDisallowed, exitBad}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}

// writeAddress writes the result for an address.
func (o *verifyOptions) writeAddress(address netip.Addr, id crawlers.Identity) {
	verified := answer.NewVerifiedAddress(address, o.claimed.Name, id)
	verified.Advice = o.advice(id)
	switch o.output.format {
	case formatJSON:
		o.std.EncodeAnswer(verified)
	case formatCSV:
		o.std.WriteCSV(render.AddressCells(verified))
	default:
		render.Address(o.std.Out, o.output.palette(o.std), verified)
	}
}
