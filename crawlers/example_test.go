package crawlers_test

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/robotskit/robots/crawlers"
)

func ExampleVerifier() {
	list, err := crawlers.ReadAddresses([]byte(`{"prefixes": [{"ipv4Prefix": "192.0.2.0/24"}]}`))
	if err != nil {
		panic(err)
	}
	// With a Resolver, such as &net.Resolver{}, DNS is queried too.
	v := crawlers.Verifier{Lists: map[string]*crawlers.Addresses{"GPTBot": list}}
	visitor, _ := crawlers.Sender("Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)")
	for _, address := range []string{"192.0.2.7", "198.51.100.7"} {
		id := v.Verify(context.Background(), netip.MustParseAddr(address), visitor)[0]
		fmt.Println(address, id.Result+":", id.Why)
	}
	// Output:
	// 192.0.2.7 verified: it is in the list of GPTBot
	// 198.51.100.7 faked: it is not in the list of GPTBot
}
