package render

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/cmd/internal/answer"
	"github.com/robotskit/robots/crawlers"
)

// AddressColumns are the columns of an address in CSV.
var AddressColumns = []string{"address", "as", "result", "by", "name", "crawlers", "why"}

// AddressCells returns the cells in CSV. Names are chosen by the owners of addresses.
func AddressCells(a *answer.VerifiedAddress) []string {
	return []string{
		a.Address, answer.Text(a.As), string(a.Result), answer.Text(a.By), robots.Printable(answer.Text(a.Name)),
		strings.Join(a.Crawlers, " "), robots.Printable(a.Why),
	}
}

// Address writes an address as text.
func Address(w io.Writer, colors Palette, a *answer.VerifiedAddress) {
	style := map[crawlers.Result]string{crawlers.Verified: Green, crawlers.Faked: Red}[a.Result]
	result := colors.Paint(cmp.Or(style, Yellow), Fill(string(a.Result), len(crawlers.Verified)))
	who := ""
	if len(a.Crawlers) > 0 {
		who = Listed(a.Crawlers, 3) + ": "
	}
	advice := ""
	if a.Advice != "" {
		advice = " (" + a.Advice + ")"
	}
	fmt.Fprintf(w, "%s  %s  %s\n", Fill(a.Address, len("255.255.255.255")), result, robots.Printable(who+a.Why+advice))
}
