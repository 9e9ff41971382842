package source

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/crawlers"
)

// NewResolver returns Go's own resolver, which can be interrupted. It queries the
// machine's name servers, or the one at an address.
func NewResolver(server string) (*net.Resolver, error) {
	if server != "" {
		at, err := netip.ParseAddrPort(server)
		if err != nil {
			at, err = netip.ParseAddrPort(net.JoinHostPort(strings.Trim(server, "[]"), "53"))
		}
		if err != nil {
			return nil, fmt.Errorf("--resolver %q is not the address of a name server such as 9.9.9.9 or 127.0.0.1:5353", ask.Clip(server))
		}
		server = at.String()
	}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, cmp.Or(server, address))
		if err == nil {
			context.AfterFunc(ctx, func() { conn.Close() }) // otherwise a canceled lookup continues to read
		}
		return conn, err
	}
	return &net.Resolver{PreferGo: true, Dial: dial}, nil
}

// maxList limits a list that is fetched, in bytes.
const maxList = 16 << 20

// AddressLists reads lists of addresses of crawlers, each once.
type AddressLists struct {
	Reader *Reader
	Live   *Live // that fetches, nil if no list is a URL
	Failed bool  // a list was unavailable

	read map[string]*crawlers.Addresses // by file or URL, nil if unavailable
}

// Get returns the list in a file or at a URL. A file that is not a list is an error; for an unavailable
// URL it warns and returns nil.
func (a *AddressLists) Get(ctx context.Context, name string) (*crawlers.Addresses, error) {
	list, read := a.read[name]
	if read {
		return list, nil
	}
	get := a.readFile
	if ask.NamesSite(name) {
		get = a.fetchList
	}
	list, err := get(ctx, name)
	if err != nil {
		return nil, err
	}
	if a.read == nil {
		a.read = map[string]*crawlers.Addresses{}
	}
	a.read[name] = list
	return list, nil
}

// readFile reads a list in a file or on standard input.
func (a *AddressLists) readFile(_ context.Context, name string) (*crawlers.Addresses, error) {
	body, title, err := a.Reader.Text(name)
	if err != nil {
		return nil, err
	}
	list, err := crawlers.ReadAddresses(body)
	if err != nil {
		return nil, fmt.Errorf("%s is not a list of addresses: %w", title, err)
	}
	a.warn(title, list)
	return list, nil
}

// fetchList fetches a list, nil after a warning if that fails.
func (a *AddressLists) fetchList(ctx context.Context, url string) (*crawlers.Addresses, error) {
	body, err := a.Live.Download(ctx, url, maxList)
	if err == nil {
		var list *crawlers.Addresses
		if list, err = crawlers.ReadAddresses(body); err == nil {
			a.warn(url, list)
			return list, nil
		}
	}
	a.Failed = true
	a.Reader.Std.Warn("cannot fetch the list %s: %w", answer.HideUser(url), err)
	return nil, nil
}

// warn warns of malformed lines in a list.
func (a *AddressLists) warn(title string, list *crawlers.Addresses) {
	const most = 3
	for _, p := range list.Problems[:min(most, len(list.Problems))] {
		a.Reader.Std.Warn("%s: %s", title, p)
	}
	if list.Bad > most {
		a.Reader.Std.Warn("%s: %s more ignored", title, render.Count(list.Bad-most, "malformed line"))
	}
}
