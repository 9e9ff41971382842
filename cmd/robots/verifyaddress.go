package main

import (
	"context"
	"net/netip"
	"slices"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/cmd/internal/ask"
	"github.com/robotskit/robots/cmd/internal/render"
	"github.com/robotskit/robots/cmd/internal/screen"
	"github.com/robotskit/robots/cmd/internal/source"
	"github.com/robotskit/robots/crawlers"
	"golang.org/x/sync/errgroup"
)

// verifyAddresses verifies the addresses of the command line, and those on standard input as they
// arrive.
func (o *verifyOptions) verifyAddresses(ctx context.Context) (int, error) {
	claimed := answer.Traffic{As: o.claimed.Name}
	o.fetchListsOf(ctx, claimed.Counts)
	if o.output.format == formatCSV {
		o.std.WriteCSV(render.AddressColumns)
	}
	u := &source.URLReader{Std: o.std, Args: o.args, Item: "address"}
	parse := func(text string, a *netip.Addr) (none robots.Origin, err error) {
		*a, err = ask.Address(text)
		return none, err
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

// addList adds the list in a file or at a URL for a crawler.
func (o *verifyOptions) addList(ctx context.Context, crawler, from string) error {
	list, err := o.sources.Get(ctx, from)
	if list != nil {
		o.verifier.Lists[crawler] = list
	}
	return err
}

// fetchListsOf fetches the published lists of some crawlers for --fetch-lists.
func (o *verifyOptions) fetchListsOf(ctx context.Context, wanted func(crawlers.Crawler) bool) {
	for _, e := range crawlers.All() {
		if o.fetchLists && e.Addresses != crawlers.Unknown && o.verifier.Lists[e.Name] == nil && wanted(e) {
			_ = o.addList(ctx, e.Name, e.Addresses) // an unavailable URL is no error
		}
	}
}

// identify verifies an address that names no crawler.
func (o *verifyOptions) identify(ctx context.Context, address netip.Addr) crawlers.Identity {
	if o.claimed.Name != "" {
		return o.verifier.Verify(ctx, address, o.claimed)[0]
	}
	return o.verifier.Identify(ctx, address)
}

// maxLookups limits concurrent DNS lookups.
const maxLookups = 32

// concurrently calls fn for 0 to n-1.
func concurrently(n int, fn func(i int)) {
	var all errgroup.Group
	all.SetLimit(maxLookups)
	for i := range n {
		all.Go(func() error {
			fn(i)
			return nil
		})
	}
	_ = all.Wait() // there are no errors
}

// advice names the flag that would help, "" if none would.
func (o *verifyOptions) advice(id crawlers.Identity) string {
	if id.Result != crawlers.Unknown || id.Failed {
		return ""
	}
	names := true
	listed := true
	if len(id.Crawlers) > 0 {
		names = id.Crawlers[0].ReverseDNS != crawlers.Unknown
		listed = id.Crawlers[0].Addresses != crawlers.Unknown
	}
	switch {
	case names && o.verifier.Resolver == nil && o.offline:
		return "remove --offline"
	case names && o.verifier.Resolver == nil:
		return "use --dns"
	case listed && !o.fetchLists && !o.offline:
		return "use --fetch-lists"
	}
	return ""
}
