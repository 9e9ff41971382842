package answer

import (
	"fmt"
	"testing"
)

// TestFakes: of the addresses that pose as a crawler, those with most requests are listed.
func TestFakes(t *testing.T) {
	var v visitor
	for i := range 3 * maxFakes {
		v.addFake(FakeAddress{Address: fmt.Sprintf("192.0.2.%d", i), Requests: 1 + i%maxFakes})
		v.addFake(FakeAddress{Address: fmt.Sprintf("192.0.2.%d", i), Requests: 1})
	}
	if len(v.fakes) != maxFakes || v.fakes[0].Requests != maxFakes+1 {
		t.Errorf("%d addresses, the first %+v", len(v.fakes), v.fakes[0])
	}
	for i := range v.fakes[1:] {
		if v.fakes[i].Requests < v.fakes[i+1].Requests {
			t.Errorf("%+v comes before %+v", v.fakes[i], v.fakes[i+1])
		}
	}
}
