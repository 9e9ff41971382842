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
	"sync"
	"sync/atomic"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/crawlers"
	"github.com/robotskit/robots/fetch"
	"github.com/spf13/cobra"
)

// A verifyCall is one run of verify.
type verifyCall struct {
	*call
	logs       []string
	lists      []string // of --list
	fetchLists bool
	dns        bool
	offline    bool
	resolver   string

	claimed  *crawlers.Crawler // of --as, nil without
	verifier crawlers.Verifier
	fetched  map[string]*crawlers.Addresses // by URL, nil if it cannot be had
	client   *http.Client                   // nil until a list is fetched
	failed   bool                           // a name server or a list could not be had
}

func verifyCommand(std *streams, status *int) *cobra.Command {
	c := &verifyCall{call: newCall(std), fetched: map[string]*crawlers.Addresses{}}
	c.formats = []string{formatCSV, formatMarkdown}
	cmd := &cobra.Command{
		Use:   "verify {ADDRESS... | --log FILE [-f FILE]}",
		Short: "Say whether a visitor is the crawler that it says it is",
		Long: `Verify says whether an address is that of a crawler, in the ways in which its
operator lets others find out (robots crawlers NAME shows them). Its name must be
in the operator's domain and lead back to it (reverse and forward DNS), or a list
of addresses must hold it. With --as it is asked about one crawler, without about
all. The argument - reads addresses from standard input, one a line.

Of an access log (--log) it says how many requests of each crawler are its own.
The log is in common or combined format, as text or gzip. A crawler is known by
its User-Agent; lines without one count if lists or the DNS say whose address it
is. With -f it says too which requests the robots.txt forbids, by line, as each
crawler reads the file. Nothing of a log is kept, and of it nothing leaves this
machine but the addresses that a name server is asked about.

The DNS is asked about an address that is named, and about those of a log with
--dns or --resolver. Nothing is fetched but the lists that --list or --fetch-lists
names. --offline uses no network at all. What is in a list or leads back is
verified, what every way that was asked denies is faked, and all else is unknown:
no way is known, or none was asked, or there was no answer.

A line of --format json has the members schema, address, as, result, by, name,
crawlers and why; of a log schema, name, operator, purpose, requests, verified,
faked, unknown, addresses, why (the first reason of unknown), fakes (the addresses
with most requests) and forbidden (null without -f), each with a line of the file.
In csv a row with a line counts what that line forbids of the row before it.

Exit status: 0 all verified, of a log nothing faked and nothing forbidden, 1 some
faked or forbidden, 2 bad use, unreadable input, a line of - that is no address,
or interrupted, 3 undecided: of an address it is not known, of a log a name server
or a list could not be reached. 1 counts before 3.`,
		Example: `  robots verify 66.249.66.1 --as Googlebot
  robots verify --list GPTBot=gptbot.json --offline - < addresses.txt
  robots verify --log access.log.gz --dns --fetch-lists
  robots verify --log access.log -f robots.txt --resolver 127.0.0.1`,
		DisableFlagsInUseLine: true,
		RunE:                  c.run(status, c.answer),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&c.as, "as", "", "ask about the crawler of the directory with this `NAME` alone")
	f.StringArrayVar(&c.logs, "log", nil, "read this access log, a `FILE` or - for standard input; repeat it for\nmore")
	f.StringVarP(&c.fileName, "file", "f", "", "with --log say what this `FILE`, a robots.txt, forbids of it")
	f.BoolVar(&c.dns, "dns", false, "with --log ask the DNS about the addresses of crawlers")
	f.StringVar(&c.resolver, "resolver", "", "ask the name server at this `ADDRESS`, as in 9.9.9.9 or 127.0.0.1:5353")
	f.StringArrayVar(&c.lists, "list", nil, "take the addresses of a crawler from here, `NAME=FILE` or NAME=URL,\nof several that share a list NAME,NAME=FILE; JSON as of Google and\nOpenAI, or text with an address or prefix a line; repeat it for more")
	f.BoolVar(&c.fetchLists, "fetch-lists", false, "fetch the lists of the directory for the crawlers that are asked about")
	f.BoolVar(&c.offline, "offline", false, "use no network: go by the files of --list alone")
	c.site.timeoutFlag(f, "most `TIME` for the questions about one address (default 10s), and\nfor one list (default 30s)")
	c.site.registerWay(cmd)
	registerFormat(cmd, &c.format, c.formats...)
	c.colourFlag(cmd)
	return cmd
}

// answer checks the call, and answers for addresses or for logs.
func (c *verifyCall) answer(ctx context.Context) (int, error) {
	if err := c.check(); err != nil {
		return exitBad, err
	}
	var addresses []netip.Addr
	for _, arg := range c.args {
		a, err := parseAddress(arg)
		if err != nil && arg != "-" {
			return exitBad, err
		}
		addresses = append(addresses, a)
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
		return c.answerLogs(ctx)
	}
	return c.answerAddresses(ctx, addresses)
}

// check finds out what is wrong with a call before anything is opened.
func (c *verifyCall) check() error {
	if c.given("as") {
		e, ok := crawlers.Find(c.as)
		if !ok {
			return fmt.Errorf("--as %s is no crawler of the directory%s", strconv.Quote(clip(c.as)), cmp.Or(meant(c.as), ": robots crawlers lists them"))
		}
		c.claimed = &e
	}
	stdin := 0
	for _, name := range slices.Concat(c.args, c.logs, []string{c.fileName}) {
		if name == "-" {
			stdin++
		}
	}
	remote := c.fetchLists
	for _, l := range c.lists {
		_, from, _ := strings.Cut(l, "=")
		if from == "-" {
			stdin++
		}
		remote = remote || isURL(from)
	}
	switch {
	case len(c.args) == 0 && len(c.logs) == 0:
		return errors.New("nothing to verify: name an address, - to read addresses from standard input, or a log with --log FILE")
	case len(c.args) > 0 && len(c.logs) > 0:
		return fmt.Errorf("unexpected argument %q: the addresses of a log are read from it", clip(c.args[0]))
	case stdin > 1:
		return errors.New("standard input can be read only once")
	case len(c.logs) == 0 && c.given("file"):
		return errors.New("-f has no use without --log: what was fetched stands in a log")
	case len(c.logs) == 0 && c.dns:
		return errors.New("--dns has no use without --log: the DNS is asked about an address that is named")
	case c.offline && (c.dns || c.resolver != "" || remote):
		return errors.New("--offline permits no --dns, no --resolver, no --fetch-lists and no list by URL")
	case c.given("resolver") && c.resolver == "":
		return errors.New("the address after --resolver is empty")
	case !remote:
		return c.site.unused("without --fetch-lists or a list by URL")
	}
	return nil
}

// parseAddress reads an address of IPv4 or IPv6.
func parseAddress(text string) (netip.Addr, error) {
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" {
		return netip.Addr{}, fmt.Errorf("%q is no address such as 66.249.66.1 or 2001:4860:4801::1", clip(text))
	}
	return a.Unmap(), nil
}

// newResolver returns Go's own resolver, which can be interrupted, asking the machine's
// name servers or the one at an address.
func newResolver(server string) (*net.Resolver, error) {
	if server != "" {
		at, err := netip.ParseAddrPort(server)
		if err != nil {
			a, failed := netip.ParseAddr(strings.Trim(server, "[]"))
			if failed != nil {
				return nil, fmt.Errorf("--resolver %q is no address of a name server, such as 9.9.9.9 or 127.0.0.1:5353", clip(server))
			}
			at = netip.AddrPortFrom(a, 53)
		}
		server = at.String()
	}
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, cmp.Or(server, address))
		if err == nil {
			context.AfterFunc(ctx, func() { conn.Close() }) // else a lookup that is given up goes on reading
		}
		return conn, err
	}}, nil
}

// maxList is the largest list that is fetched, in bytes.
const maxList = 16 << 20

// openLists reads the lists that --list names. A file that is no list is bad use; what
// a site does not give can be asked for later.
func (c *verifyCall) openLists(ctx context.Context) error {
	for _, text := range c.lists {
		names, from, ok := strings.Cut(text, "=")
		if !ok || names == "" || from == "" {
			return fmt.Errorf("--list %q is not as in GPTBot=gptbot.json", clip(text))
		}
		var of []string
		for name := range strings.SplitSeq(names, ",") {
			e, ok := crawlers.Find(name)
			if !ok {
				return fmt.Errorf("--list %s: %s is no crawler of the directory%s", strconv.Quote(clip(text)), strconv.Quote(clip(name)), cmp.Or(meant(name), ": robots crawlers lists them"))
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
					err = fmt.Errorf("cannot read %s as a list of addresses: %w", title, err)
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

// warnList says which lines of a list cannot be read.
func (c *verifyCall) warnList(title string, list *crawlers.Addresses) {
	const most = 3
	for _, p := range list.Problems[:min(most, len(list.Problems))] {
		c.warn("%s: %s", title, p)
	}
	if list.Bad > most {
		c.warn("%s: %s more cannot be read", title, count(list.Bad-most, "line"))
	}
}

// wantLists fetches what --fetch-lists wants for some crawlers.
func (c *verifyCall) wantLists(ctx context.Context, list []crawlers.Crawler) {
	if !c.fetchLists {
		return
	}
	for _, e := range list {
		if e.Addresses == crawlers.Unknown || c.verifier.Lists[e.Name] != nil {
			continue
		}
		if addresses := c.fetchList(ctx, e.Addresses); addresses != nil {
			c.verifier.Lists[e.Name] = addresses
		}
	}
}

// fetchList gets a list from its URL, once. If it cannot be had it says so, and returns
// nil.
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
	if op, ok := errors.AsType[*net.OpError](err); ok { // whose text has the address
		err = op.Err
	}
	c.warn("cannot get the list %s: %w%s", url, err, hint)
	return nil
}

// get fetches what a URL names, past the guard of addresses.
func (c *verifyCall) get(ctx context.Context, url string) ([]byte, error) {
	if c.client == nil {
		options, _, err := c.site.options(c.dialects, c.maxBytes)
		if err != nil {
			return nil, err
		}
		way, err := fetch.New(options)
		if err != nil {
			return nil, err
		}
		c.client = &http.Client{Transport: way.Transport(), Timeout: options.Limits.Total, CheckRedirect: func(r *http.Request, via []*http.Request) error {
			switch {
			case len(via) > 5:
				return errors.New("more than 5 redirects")
			case via[0].URL.Scheme == "https" && r.URL.Scheme != "https":
				return errors.New("it redirects from https to " + r.URL.Scheme + ", where anybody on the way can change it")
			}
			return nil
		}}
	}
	req, err := http.NewRequestWithContext(fetch.WithDials(ctx, 16), http.MethodGet, url, nil)
	if err != nil {
		return nil, errors.New("it is no URL")
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
		err = errors.New("it is larger than 16 MiB")
	}
	return body, err
}

// abreast is how many addresses the DNS is asked about at a time.
const abreast = 32

// each calls fn for 0 to n-1, some at a time.
func each(ctx context.Context, n int, fn func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(abreast, n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				fn(i)
			}
		})
	}
	wg.Wait()
}

// answerAddresses answers for the addresses of the command line, where one that is
// invalid stands for standard input.
func (c *verifyCall) answerAddresses(ctx context.Context, addresses []netip.Addr) (int, error) {
	asked := crawlers.All()
	if c.claimed != nil {
		asked = []crawlers.Crawler{*c.claimed}
	} else {
		asked = slices.DeleteFunc(asked, func(e crawlers.Crawler) bool { return e.Status != crawlers.Used })
	}
	c.wantLists(ctx, asked)
	c.tableHead([]string{"address", "as", "result", "by", "name", "crawlers", "why"})
	status, bad := exitAllowed, false
	for len(addresses) > 0 {
		n := 0
		for n < len(addresses) && addresses[n].IsValid() {
			n++
		}
		s, err := c.some(ctx, addresses[:n])
		status = worse(status, s)
		addresses = addresses[n:]
		if err == nil && len(addresses) > 0 {
			addresses = addresses[1:]
			s, bad, err = c.listed(ctx)
			status = worse(status, s)
		}
		if err != nil {
			return exitBad, err
		}
	}
	if bad {
		return exitBad, nil
	}
	return status, nil
}

// worse returns the status that counts of two: what is known to be wrong before what is
// not known.
func worse(a, b int) int {
	if a == exitDisallowed || b == exitDisallowed {
		return exitDisallowed
	}
	return max(a, b)
}

// listed answers for the addresses on standard input as they come.
func (c *verifyCall) listed(ctx context.Context) (status int, bad bool, err error) {
	r := newLineReader(c.std.in, maxURL)
	number, found := 0, false
	var read chunk
	for {
		err := r.chunk(&read)
		var addresses []netip.Addr
		for _, line := range read.lines {
			number++
			text := strings.TrimSpace(string(read.text(line)))
			if text == "" && !line.over {
				continue
			}
			found = true
			a, wrong := parseAddress(text)
			if wrong != nil {
				complain(c.std, c.name, fmt.Errorf("line %d of standard input: %w", number, wrong))
				bad = true
				continue
			}
			addresses = append(addresses, a)
		}
		s, failed := c.some(ctx, addresses)
		status = worse(status, s)
		switch {
		case failed != nil:
			return status, bad, failed
		case errors.Is(err, io.EOF) && !found:
			return status, bad, errors.New("standard input holds no address")
		case errors.Is(err, io.EOF):
			return status, bad, nil
		case err != nil:
			return status, bad, fmt.Errorf("cannot read standard input: %w", cause(err))
		}
		if err := c.std.out.Flush(); err != nil {
			return status, bad, nil // the last flush reports it
		}
	}
}

// some answers for some addresses in their order.
func (c *verifyCall) some(ctx context.Context, addresses []netip.Addr) (int, error) {
	found := make([]crawlers.Identity, len(addresses))
	each(ctx, len(addresses), func(i int) {
		if c.claimed != nil {
			found[i] = c.verifier.Verify(ctx, addresses[i], *c.claimed)[0]
		} else {
			found[i] = c.verifier.Identify(ctx, addresses[i])
		}
	})
	if ctx.Err() != nil {
		return exitBad, errInterrupted
	}
	status := exitAllowed
	for i, id := range found {
		switch id.Result {
		case crawlers.Faked:
			status = worse(status, exitDisallowed)
		case crawlers.Unknown:
			status = worse(status, exitUndecided)
		}
		if err := c.print(addresses[i], id); err != nil {
			return exitBad, err
		}
	}
	return status, nil
}

// jsonIdentity is the line of JSON for an address.
type jsonIdentity struct {
	Schema   int             `json:"schema"`
	Address  string          `json:"address"`
	As       *string         `json:"as"`
	Result   crawlers.Result `json:"result"`
	By       *string         `json:"by"`
	Name     *string         `json:"name"`
	Crawlers []string        `json:"crawlers"`
	Why      string          `json:"why"`
}

func (c *verifyCall) print(a netip.Addr, id crawlers.Identity) error {
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
		return encode(c.std.out, jsonIdentity{1, a.String(), notEmpty(as), id.Result, notEmpty(id.By), notEmpty(id.Name), names, id.Why})
	case formatCSV, formatMarkdown:
		return c.tableRow([]string{a.String(), as, string(id.Result), id.By, id.Name, strings.Join(names, " "), id.Why})
	}
	who := ""
	if len(names) > 0 {
		who = someOf(names) + ": "
	}
	fmt.Fprintf(c.std.out, "%s  %s  %s\n", fill(a.String(), len("255.255.255.255")), c.resultWord(id.Result), robots.Printable(who+id.Why+c.advice(id)))
	return nil
}

func (c *verifyCall) resultWord(r crawlers.Result) string {
	style := map[crawlers.Result]string{crawlers.Verified: green, crawlers.Faked: red}
	return c.palette.paint(cmp.Or(style[r], yellow), fmt.Sprintf("%-8s", string(r)))
}

// advice says which flag would tell, "" if none would.
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
		return " (without --offline it is)"
	case names && c.verifier.Resolver == nil:
		return " (--dns asks it)"
	case listed && !c.fetchLists && !c.offline:
		return " (--fetch-lists gets it)"
	}
	return ""
}

// tableHead and tableRow write the formats that have a row for each answer, as they come.
func (c *verifyCall) tableHead(head []string) {
	switch c.format {
	case formatCSV:
		_ = writeCSV(c.std.out, [][]string{head}) // the last flush reports its error
	case formatMarkdown:
		writeMarkdown(c.std.out, [][]string{head})
	}
}

func (c *verifyCall) tableRow(row []string) error {
	if c.format == formatCSV {
		for i := range row {
			row[i] = robots.Printable(row[i]) // names are chosen by the owners of addresses
		}
		return writeCSV(c.std.out, [][]string{row})
	}
	writeMarkdownRow(c.std.out, row)
	return nil
}
