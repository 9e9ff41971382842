package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/crawlers"
	"github.com/robotskit/robots/fetch"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

// A verifyCall is one run of robots verify.
type verifyCall struct {
	*command
	site       siteFlags
	as         string
	fileName   string
	logs       []string
	lists      []string // of --list
	fetchLists bool
	dns        bool
	offline    bool
	resolver   string

	claimed  crawlers.Crawler // of --as, without a name if none
	sources  []listSource     // of --list
	verifier crawlers.Verifier
	read     map[string]*crawlers.Addresses // by file or URL, nil if unavailable
	live     *source.Live                   // nil if nothing is fetched
	failed   bool                           // a name server or list was unavailable
	status   int
}

// A listSource is a file or URL with addresses of a crawler.
type listSource struct{ crawler, from string }

func verifyCommand(std *screen.Streams) *cobra.Command {
	c := &verifyCall{command: newCommand(std), read: map[string]*crawlers.Addresses{}}
	cmd := &cobra.Command{Use: "verify", RunE: c.run(c.answer)}
	f := cmd.Flags()
	f.StringVar(&c.as, "as", "", "`NAME` known crawler to verify the addresses for")
	f.StringArrayVar(&c.logs, "log", nil, "`FILE` access log, - for standard input (repeat for more)")
	f.StringVarP(&c.fileName, "file", "f", "", "`FILE` robots.txt to check --log against: a file, - for standard input, or the URL of a site")
	f.BoolVar(&c.dns, "dns", false, "query DNS for the addresses of --log")
	f.StringVar(&c.resolver, "resolver", "", "`ADDRESS` name server, such as 9.9.9.9 or 127.0.0.1:5353")
	f.StringArrayVar(&c.lists, "list", nil, "`NAME[,NAME]=FILE` file or URL of address lists: JSON, or an address or prefix per line")
	f.BoolVar(&c.fetchLists, "fetch-lists", false, "fetch the published lists of the crawlers in question")
	f.BoolVar(&c.offline, "offline", false, "use no network, only files given with --list")
	f.DurationVar(&c.site.timeout, "timeout", 0, "`DURATION` timeout per address (default 10s) and per list (default 30s)")
	c.site.registerWay(cmd)
	c.formatFlag(cmd, formatCSV)
	c.colorFlag(cmd)
	return cmd
}

// answer verifies addresses or logs.
func (c *verifyCall) answer(ctx context.Context) (int, error) {
	fetches := c.fetchLists || ask.NamesSite(c.fileName) || slices.ContainsFunc(c.lists, ask.NamesSite)
	err := c.check(fetches)
	if err != nil {
		return exitBad, err
	}
	if fetches {
		if c.live, err = c.openLive(&c.site, nil, 0); err != nil {
			return exitBad, err
		}
		defer c.live.Close()
	}
	ctx, stop := screen.Interruptible(ctx)
	defer stop()
	c.verifier = crawlers.Verifier{Timeout: c.site.timeout, Lists: map[string]*crawlers.Addresses{}}
	for _, of := range c.sources {
		if err := c.addList(ctx, of); err != nil {
			return exitBad, err
		}
	}
	if !c.offline && (len(c.logs) == 0 || c.dns || c.resolver != "") {
		r, err := newResolver(c.resolver)
		if err != nil {
			return exitBad, err
		}
		c.verifier.Resolver = r
	}
	if len(c.logs) > 0 {
		return c.verifyLogs(ctx)
	}
	return c.answerAddresses(ctx)
}

// check checks the flags and arguments before anything is opened.
func (c *verifyCall) check(fetches bool) error {
	if c.given("as") {
		var err error
		if c.claimed, err = knownCrawler(c.as); err != nil {
			return fmt.Errorf("--as: %w", err)
		}
	}
	inputs := append(slices.Concat(c.args, c.logs), c.fileName)
	for _, text := range c.lists {
		names, from, ok := strings.Cut(text, "=")
		if !ok || names == "" || from == "" {
			return fmt.Errorf("invalid --list %q; write NAME=FILE, such as GPTBot=gptbot.json", clip(text))
		}
		for name := range strings.SplitSeq(names, ",") {
			e, err := knownCrawler(name)
			if err != nil {
				return fmt.Errorf("--list: %w", err)
			}
			c.sources = append(c.sources, listSource{e.Name, from})
		}
		inputs = append(inputs, from)
	}
	if err := source.StdinOnce(inputs...); err != nil {
		return err
	}
	switch {
	case c.given("timeout") && c.site.timeout <= 0:
		return errTimeout
	case len(c.args) == 0 && len(c.logs) == 0:
		return errors.New("no addresses; name one, - to read them from standard input, or a log with --log FILE")
	case len(c.args) > 0 && len(c.logs) > 0:
		return fmt.Errorf("unexpected argument %q: --log reads addresses from the log", clip(c.args[0]))
	case len(c.logs) == 0 && c.given("file"):
		return errors.New("-f needs --log")
	case len(c.logs) == 0 && c.dns:
		return errors.New("--dns needs --log; DNS is queried for addresses given as arguments anyway")
	case c.offline && (c.dns || c.resolver != "" || fetches):
		return errors.New("--offline excludes --dns, --resolver, --fetch-lists, and lists and a robots.txt by URL")
	case c.given("resolver") && c.resolver == "":
		return errors.New("--resolver: empty address")
	}
	for _, arg := range c.args {
		if _, err := parseAddress(arg); err != nil && arg != "-" {
			return err
		}
	}
	if fetches {
		return nil
	}
	return c.site.unused("without --fetch-lists or a URL of a list or site")
}

// knownCrawler returns a crawler of the directory.
func knownCrawler(name string) (crawlers.Crawler, error) {
	e, ok := crawlers.Find(name)
	if !ok {
		return e, fmt.Errorf("unknown crawler %q%s", clip(name), didYouMean(name))
	}
	return e, nil
}

// parseAddress parses an IPv4 or IPv6 address.
func parseAddress(text string) (netip.Addr, error) {
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" {
		return netip.Addr{}, fmt.Errorf("%q: not an IP address such as 66.249.66.1 or 2001:4860:4801::1", clip(text))
	}
	return a.Unmap(), nil
}

// newResolver returns Go's own resolver, which can be interrupted. It queries the
// machine's name servers, or the one at an address.
func newResolver(server string) (*net.Resolver, error) {
	if server != "" {
		at, err := netip.ParseAddrPort(server)
		if err != nil {
			at, err = netip.ParseAddrPort(net.JoinHostPort(strings.Trim(server, "[]"), "53"))
		}
		if err != nil {
			return nil, fmt.Errorf("--resolver %q: not an address of a name server such as 9.9.9.9 or 127.0.0.1:5353", clip(server))
		}
		server = at.String()
	}
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, cmp.Or(server, address))
		if err == nil {
			context.AfterFunc(ctx, func() { conn.Close() }) // otherwise a canceled lookup continues to read
		}
		return conn, err
	}}, nil
}

// maxList limits a list that is fetched, in bytes.
const maxList = 16 << 20

// addList reads a list once, and adds it for a crawler. A file that is not a list is an error, an
// unavailable URL a warning.
func (c *verifyCall) addList(ctx context.Context, of listSource) (err error) {
	list, read := c.read[of.from]
	if !read {
		var body []byte
		title, remote := of.from, ask.NamesSite(of.from)
		if remote {
			body, err = getList(ctx, c.live, of.from)
		} else if body, title, err = c.reader().Text(of.from); err != nil {
			return err
		}
		if err == nil {
			list, err = crawlers.ReadAddresses(body)
		}
		switch {
		case err == nil:
			c.warnList(title, list)
		case remote:
			c.failed = true
			hint := ""
			if refused, ok := errors.AsType[*fetch.RefusedError](err); ok && !c.site.allowPrivate && (fetch.Guard{AllowPrivate: true}).Check(refused.Address) == nil {
				hint = "; --allow-private permits private and loopback addresses"
			}
			if op, ok := errors.AsType[*net.OpError](err); ok { // its text repeats the address
				err = op.Err
			}
			c.warn("cannot fetch the list %s: %w%s", title, err, hint)
		default:
			return fmt.Errorf("%s: not a list of addresses: %w", title, err)
		}
		c.read[of.from] = list
	}
	if list != nil {
		c.verifier.Lists[of.crawler] = list
	}
	return nil
}

// warnList warns of malformed lines in a list.
func (c *verifyCall) warnList(title string, list *crawlers.Addresses) {
	const most = 3
	for _, p := range list.Problems[:min(most, len(list.Problems))] {
		c.warn("%s: %s", title, p)
	}
	if list.Bad > most {
		c.warn("%s: %s more ignored", title, render.Count(list.Bad-most, "malformed line"))
	}
}

// isCandidate reports whether an address that names no crawler can be that of e.
func (c *verifyCall) isCandidate(e crawlers.Crawler) bool {
	if c.claimed.Name != "" {
		return e.Name == c.claimed.Name
	}
	return e.Status == crawlers.Used
}

// identify verifies an address that names no crawler.
func (c *verifyCall) identify(ctx context.Context, address netip.Addr) crawlers.Identity {
	if c.claimed.Name != "" {
		return c.verifier.Verify(ctx, address, c.claimed)[0]
	}
	return c.verifier.Identify(ctx, address)
}

// wantLists fetches the lists of wanted crawlers for --fetch-lists.
func (c *verifyCall) wantLists(ctx context.Context, wanted func(crawlers.Crawler) bool) {
	for _, e := range crawlers.All() {
		if c.fetchLists && e.Addresses != crawlers.Unknown && c.verifier.Lists[e.Name] == nil && wanted(e) {
			_ = c.addList(ctx, listSource{e.Name, e.Addresses}) // an unavailable URL is no error
		}
	}
}

// getList gets a list through the address guard.
func getList(ctx context.Context, l *source.Live, url string) ([]byte, error) {
	transport := l.Client.Transport()
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport, Timeout: l.Options.Limits.Total, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		switch {
		case len(via) > 5:
			return errors.New("more than 5 redirects")
		case via[0].URL.Scheme == "https" && r.URL.Scheme != "https":
			return errors.New("insecure redirect from https to " + r.URL.Scheme)
		}
		return nil
	}}
	req, err := http.NewRequestWithContext(fetch.WithDials(ctx, 16, nil), http.MethodGet, url, nil)
	if err != nil {
		return nil, errors.New("invalid URL")
	}
	req.Header.Set("User-Agent", l.Options.UserAgent)
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, errors.New("status " + strconv.Itoa(resp.StatusCode))
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxList+1))
	if err == nil && len(body) > maxList {
		err = errors.New("larger than 16 MiB")
	}
	return body, err
}

// maxLookups limits concurrent DNS lookups.
const maxLookups = 32

// each calls fn concurrently for 0 to n-1.
func each(n int, fn func(i int)) {
	var all errgroup.Group
	all.SetLimit(maxLookups)
	for i := range n {
		all.Go(func() error { fn(i); return nil })
	}
	_ = all.Wait() // there are no errors
}

// answerAddresses verifies the addresses of the command line, and those on standard input as they
// arrive.
func (c *verifyCall) answerAddresses(ctx context.Context) (int, error) {
	c.wantLists(ctx, c.isCandidate)
	if c.format == formatCSV {
		c.std.WriteCSV(addressColumns)
	}
	u := &source.URLReader{Std: c.std, Args: c.args, Item: "address"}
	parse := func(text string) (a netip.Addr, none robots.Origin, err error) {
		a, err = parseAddress(text)
		return a, none, err
	}
	for entries, err := range source.ReadAhead(ctx, source.Parsed(u, parse), u.Ready, true, nil, c.std) {
		found := make([]crawlers.Identity, len(entries))
		each(len(found), func(i int) { found[i] = c.identify(ctx, entries[i].Line) })
		if ctx.Err() != nil {
			return exitBad, screen.ErrInterrupted
		}
		for i, id := range found {
			if e := entries[i]; e.Err != nil {
				c.std.Complain(e.Err)
				c.status = worse(c.status, exitBad)
			} else {
				c.print(e.Line, id)
			}
		}
		if err != nil {
			return exitBad, err
		}
	}
	return c.status, nil // the last flush reports why the output failed
}

// worse returns the status that takes precedence: 2 before 1 before 3.
func worse(a, b int) int {
	order := []int{exitAllowed, exitUndecided, exitDisallowed, exitBad}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}

// print writes the result for an address, which can change the exit status.
func (c *verifyCall) print(a netip.Addr, id crawlers.Identity) {
	switch id.Result {
	case crawlers.Faked:
		c.status = worse(c.status, exitDisallowed)
	case crawlers.Unknown:
		c.status = worse(c.status, exitUndecided)
	}
	verified := c.newVerifiedAddress(a, id)
	switch c.format {
	case formatJSON:
		c.std.EncodeAnswer(verified)
	case formatCSV:
		c.std.WriteCSV(verified.row())
	default:
		fmt.Fprint(c.std.Out, verified.text(c.palette))
	}
}

// advice names the flag that would help, "" if none would.
func (c *verifyCall) advice(id crawlers.Identity) string {
	if id.Result != crawlers.Unknown || id.Failed {
		return ""
	}
	names, listed := true, true
	if len(id.Crawlers) > 0 {
		names, listed = id.Crawlers[0].ReverseDNS != crawlers.Unknown, id.Crawlers[0].Addresses != crawlers.Unknown
	}
	switch {
	case names && c.verifier.Resolver == nil && c.offline:
		return " (remove --offline)"
	case names && c.verifier.Resolver == nil:
		return " (use --dns)"
	case listed && !c.fetchLists && !c.offline:
		return " (use --fetch-lists)"
	}
	return ""
}
