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
	"github.com/robotskit/robots/cmd/internal/lines"
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

	claimed  *crawlers.Crawler // of --as, nil without
	verifier crawlers.Verifier
	fetched  map[string]*crawlers.Addresses // by URL, nil if unavailable
	client   *http.Client                   // nil until a list is fetched
	failed   bool                           // a name server or list was unavailable
	status   int
}

func verifyCommand(std *streams) *cobra.Command {
	c := &verifyCall{command: newCommand(std), fetched: map[string]*crawlers.Addresses{}}
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
	c.site.timeoutFlag(f, "`DURATION` timeout per address (default 10s) and per list (default 30s)")
	c.site.registerWay(cmd)
	c.formatFlag(cmd, formatCSV)
	c.colorFlag(cmd)
	return cmd
}

// answer verifies addresses or logs.
func (c *verifyCall) answer(ctx context.Context) (int, error) {
	if err := c.check(); err != nil {
		return exitBad, err
	}
	for _, arg := range c.args {
		if _, err := parseAddress(arg); err != nil && arg != "-" {
			return exitBad, err
		}
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	c.verifier.Timeout = c.site.timeout
	c.verifier.Lists = map[string]*crawlers.Addresses{}
	if err := c.openLists(ctx); err != nil {
		return exitBad, err
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
func (c *verifyCall) check() error {
	if c.given("as") {
		e, err := knownCrawler(c.as)
		if err != nil {
			return fmt.Errorf("--as: %w", err)
		}
		c.claimed = &e
	}
	names, remote := append(slices.Concat(c.args, c.logs), c.fileName), c.fetchLists || isURL(c.fileName)
	for _, l := range c.lists {
		_, from, _ := strings.Cut(l, "=")
		names, remote = append(names, from), remote || isURL(from)
	}
	if err := stdinOnce(names...); err != nil {
		return err
	}
	switch {
	case len(c.args) == 0 && len(c.logs) == 0:
		return errors.New("no addresses; name one, - to read them from standard input, or a log with --log FILE")
	case len(c.args) > 0 && len(c.logs) > 0:
		return fmt.Errorf("unexpected argument %q: --log reads addresses from the log", clip(c.args[0]))
	case len(c.logs) == 0 && c.given("file"):
		return errors.New("-f needs --log")
	case len(c.logs) == 0 && c.dns:
		return errors.New("--dns needs --log; DNS is queried for addresses given as arguments anyway")
	case c.offline && (c.dns || c.resolver != "" || remote):
		return errors.New("--offline excludes --dns, --resolver, --fetch-lists, and lists and a robots.txt by URL")
	case c.given("resolver") && c.resolver == "":
		return errors.New("--resolver: empty address")
	case !remote:
		return c.site.unused("without --fetch-lists or a URL of a list or site")
	}
	return nil
}

// knownCrawler returns a crawler of the directory.
func knownCrawler(name string) (crawlers.Crawler, error) {
	e, ok := crawlers.Find(name)
	if !ok {
		return e, fmt.Errorf("unknown crawler %q%s", clip(name), cmp.Or(suggestion(name, crawlers.Names()), "; robots crawlers lists them"))
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

// openLists reads the lists of --list. A file that is not a list is an error, an
// unavailable URL a warning.
func (c *verifyCall) openLists(ctx context.Context) error {
	for _, text := range c.lists {
		names, from, ok := strings.Cut(text, "=")
		if !ok || names == "" || from == "" {
			return fmt.Errorf("invalid --list %q; write NAME=FILE, such as GPTBot=gptbot.json", clip(text))
		}
		var of []string
		for name := range strings.SplitSeq(names, ",") {
			e, err := knownCrawler(name)
			if err != nil {
				return fmt.Errorf("--list: %w", err)
			}
			of = append(of, e.Name)
		}
		var list *crawlers.Addresses
		if isURL(from) {
			list = c.fetchList(ctx, from)
		} else {
			body, title, err := c.readNamed(from)
			if err == nil {
				if list, err = crawlers.ReadAddresses(body); err != nil {
					err = fmt.Errorf("%s: not a list of addresses: %w", title, err)
				}
			}
			if err != nil {
				return err
			}
			c.warnList(title, list)
		}
		for _, name := range of {
			if list != nil {
				c.verifier.Lists[name] = list
			}
		}
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
		c.warn("%s: %s more ignored", title, count(list.Bad-most, "malformed line"))
	}
}

// isCandidate reports whether an address that names no crawler can be that of e.
func (c *verifyCall) isCandidate(e crawlers.Crawler) bool {
	if c.claimed != nil {
		return e.Name == c.claimed.Name
	}
	return e.Status == crawlers.Used
}

// identify verifies an address that names no crawler.
func (c *verifyCall) identify(ctx context.Context, address netip.Addr) crawlers.Identity {
	if c.claimed != nil {
		return c.verifier.Verify(ctx, address, *c.claimed)[0]
	}
	return c.verifier.Identify(ctx, address)
}

// wantLists fetches the lists of wanted crawlers for --fetch-lists.
func (c *verifyCall) wantLists(ctx context.Context, wanted func(crawlers.Crawler) bool) {
	for _, e := range crawlers.All() {
		if !c.fetchLists || e.Addresses == crawlers.Unknown || c.verifier.Lists[e.Name] != nil || !wanted(e) {
			continue
		}
		if addresses := c.fetchList(ctx, e.Addresses); addresses != nil {
			c.verifier.Lists[e.Name] = addresses
		}
	}
}

// fetchList fetches a list once. If it is unavailable, it warns and returns nil.
func (c *verifyCall) fetchList(ctx context.Context, url string) *crawlers.Addresses {
	list, known := c.fetched[url]
	if known {
		return list
	}
	body, err := c.get(ctx, url)
	if err == nil {
		list, err = crawlers.ReadAddresses(body)
	}
	c.fetched[url] = list
	if err == nil {
		c.warnList(url, list)
		return list
	}
	c.failed = true
	hint := ""
	if refused, ok := errors.AsType[*fetch.RefusedError](err); ok && !c.site.allowPrivate && (fetch.Guard{AllowPrivate: true}).Check(refused.Address) == nil {
		hint = "; --allow-private permits private and loopback addresses"
	}
	if op, ok := errors.AsType[*net.OpError](err); ok { // its text repeats the address
		err = op.Err
	}
	c.warn("cannot fetch the list %s: %w%s", url, err, hint)
	return nil
}

// get fetches a URL through the address guard.
func (c *verifyCall) get(ctx context.Context, url string) ([]byte, error) {
	if c.client == nil {
		l, err := newLive(c.command, &c.site, nil, noLimit)
		if err != nil {
			return nil, err
		}
		c.client = &http.Client{Transport: l.client.Transport(), Timeout: l.options.Limits.Total, CheckRedirect: func(r *http.Request, via []*http.Request) error {
			switch {
			case len(via) > 5:
				return errors.New("more than 5 redirects")
			case via[0].URL.Scheme == "https" && r.URL.Scheme != "https":
				return errors.New("insecure redirect from https to " + r.URL.Scheme)
			}
			return nil
		}}
	}
	req, err := http.NewRequestWithContext(fetch.WithDials(ctx, 16, nil), http.MethodGet, url, nil)
	if err != nil {
		return nil, errors.New("invalid URL")
	}
	req.Header.Set("User-Agent", cmp.Or(c.site.userAgent, defaultUserAgent()))
	resp, err := c.client.Do(req)
	if err != nil {
		return nil, cause(err)
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
		c.std.writeCSV([]string{"address", "as", "result", "by", "name", "crawlers", "why"})
	}
	var addresses []netip.Addr
	for _, arg := range c.args {
		a, err := parseAddress(arg)
		if err == nil {
			addresses = append(addresses, a)
			continue
		}
		if err := c.listed(ctx, addresses); err != nil { // it is -
			return exitBad, err
		}
		addresses = nil
	}
	if err := c.some(ctx, addresses); err != nil {
		return exitBad, err
	}
	return c.status, nil
}

// worse returns the status that takes precedence: 2 before 1 before 3.
func worse(a, b int) int {
	order := []int{exitAllowed, exitUndecided, exitDisallowed, exitBad}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}

// listed verifies some addresses and those on standard input.
func (c *verifyCall) listed(ctx context.Context, addresses []netip.Addr) error {
	list, err := openURLs(c.std, "-")
	if err != nil {
		return err
	}
	for first := true; ; first = false {
		text, err := list.text()
		switch {
		case errors.Is(err, io.EOF) && first:
			return errors.New("standard input: no addresses")
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, lines.ErrLong):
			return fmt.Errorf("cannot read standard input: %w", cause(err))
		}
		if a, err := parseAddress(strings.TrimSpace(text)); err != nil {
			c.std.complain(list.at(err))
			c.status = worse(c.status, exitBad)
		} else {
			addresses = append(addresses, a)
		}
		if list.Ready() && len(addresses) < chunkLines {
			continue
		}
		if err := c.some(ctx, addresses); err != nil {
			return err
		}
		addresses = nil
		if c.std.out.Flush() != nil {
			return nil // the last flush reports the error
		}
	}
}

// some verifies addresses, and prints the results in order.
func (c *verifyCall) some(ctx context.Context, addresses []netip.Addr) error {
	found := make([]crawlers.Identity, len(addresses))
	each(len(found), func(i int) { found[i] = c.identify(ctx, addresses[i]) })
	if ctx.Err() != nil {
		return errInterrupted
	}
	for i, id := range found {
		switch id.Result {
		case crawlers.Faked:
			c.status = worse(c.status, exitDisallowed)
		case crawlers.Unknown:
			c.status = worse(c.status, exitUndecided)
		}
		c.print(addresses[i], id)
	}
	return nil
}

func (c *verifyCall) print(a netip.Addr, id crawlers.Identity) {
	as := ""
	if c.claimed != nil {
		as = c.claimed.Name
	}
	names := []string{}
	for _, e := range id.Crawlers {
		names = append(names, e.Name)
	}
	switch c.format {
	case formatJSON:
		c.std.encode(jsonObject{
			{"schema", 1}, {"address", a.String()}, {"as", notEmpty(as)}, {"result", id.Result},
			{"by", notEmpty(id.By)}, {"name", notEmpty(id.Name)}, {"crawlers", names}, {"why", id.Why},
		})
		return
	case formatCSV:
		// Names are chosen by the owners of addresses.
		c.std.writeCSV([]string{a.String(), as, string(id.Result), id.By, robots.Printable(id.Name), strings.Join(names, " "), robots.Printable(id.Why)})
		return
	}
	who := ""
	if len(names) > 0 {
		who = someOf(names) + ": "
	}
	fmt.Fprintf(c.std.out, "%s  %s  %s\n", fill(a.String(), len("255.255.255.255")), c.resultWord(id.Result), robots.Printable(who+id.Why+c.advice(id)))
}

func (c *verifyCall) resultWord(r crawlers.Result) string {
	style := map[crawlers.Result]string{crawlers.Verified: green, crawlers.Faked: red}
	return c.palette.paint(cmp.Or(style[r], yellow), fmt.Sprintf("%-8s", string(r)))
}

// advice names the flag that would help, "" if none would.
func (c *verifyCall) advice(id crawlers.Identity) string {
	if id.Result != crawlers.Unknown || id.Failed {
		return ""
	}
	names, listed := c.claimed == nil, c.claimed == nil
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
