package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/robotskit/robots/cmd/internal/ask"
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
	all        bool
	unused     bool
	proxies    []string
	lists      []string
	fetchLists bool
	dns        bool
	offline    bool
	resolver   string

	claimed  crawlers.Crawler // of --as, without a name if none
	verifier crawlers.Verifier
	sources  source.AddressLists
	trusted  []netip.Prefix // of --trusted-proxy
}

func newVerifyCommand(std *screen.Streams) *cobra.Command {
	o := &verifyOptions{std: std}
	cmd := &cobra.Command{Use: "verify", RunE: runE(std, &o.args, o.run)}
	o.flags = cmd.Flags()
	f := cmd.Flags()
	f.StringVar(&o.as, "as", "", "`NAME` known crawler to verify the addresses for")
	f.StringArrayVar(&o.logs, "log", nil, "`FILE` access log, - for standard input (repeat for more)")
	f.StringVarP(&o.fileName, "file", "f", "", "`FILE` robots.txt to check --log against: a file, - for standard input, or the URL of a site")
	f.BoolVar(&o.unused, "unused", false, "count the requests that each rule of -f decides, and list the rules that decide none")
	f.BoolVar(&o.all, "all", false, "print every crawler, fake address and rule of --log")
	f.StringArrayVar(
		&o.proxies, "trusted-proxy", nil,
		"`PREFIX` proxy whose X-Forwarded-For in --log is trusted, besides private addresses (repeat for more)",
	)
	f.BoolVar(&o.dns, "dns", false, "query DNS for the addresses of --log")
	f.StringVar(&o.resolver, "resolver", "", "`ADDRESS` name server, such as 9.9.9.9 or 127.0.0.1:5353")
	f.StringArrayVar(&o.lists, "list", nil, "`NAME[,NAME]=FILE` file or URL of address lists: JSON, or an address or prefix per line")
	f.BoolVar(&o.fetchLists, "fetch-lists", false, "fetch the published lists of the crawlers in question")
	f.BoolVar(&o.offline, "offline", false, "use no network, only files given with --list")
	f.DurationVar(&o.site.timeout, "timeout", 0, "`DURATION` timeout per address (default 10s) and per list (default 30s)")
	o.site.registerWay(cmd)
	o.output.registerFormat(cmd, formatCSV, formatMarkdown)
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
	for _, text := range o.proxies {
		prefix, err := ask.Prefix(text)
		if err != nil {
			return nil, fmt.Errorf("--trusted-proxy %w", err)
		}
		o.trusted = append(o.trusted, prefix)
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
	case len(o.logs) == 0 && (o.unused || o.all || len(o.proxies) > 0 || o.output.format == formatMarkdown):
		return errors.New("--unused, --all, --trusted-proxy and --format markdown require --log")
	case o.unused && !o.flags.Changed("file"):
		return errors.New("--unused requires -f")
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
