package web

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/robotskit/robots/internal/campaign"
)

// TestLatency logs how long the table takes to show the verdicts after a keystroke, in a small file and in one of 500,000 bytes. Each
// keystroke is answered.
func TestLatency(t *testing.T) {
	campaign.Only(t)
	small := "User-agent: *\nDisallow: /a\n"
	var large strings.Builder
	large.WriteString(small)
	for i := 0; large.Len() < 500_000-40; i++ {
		fmt.Fprintf(&large, "Disallow: /folder/%06d/*\n", i)
	}
	for _, text := range []string{small, large.String()} {
		b := usual(t)
		b.own()
		b.paste(text)
		b.settled()
		b.do(`globalThis.latencies = []; const grid = document.querySelector('#grid'); let began = 0;
			document.querySelector('.cm-content').addEventListener('keydown', () => { began = performance.now() }, true);
			new MutationObserver(() => {
				if (began && grid.getAttribute('aria-busy') === 'false') { latencies.push(performance.now() - began); began = 0 }
			}).observe(grid, { attributes: true });
			document.querySelector('.cm-content').focus()`)
		const keystrokes = 11
		for i := range keystrokes {
			b.keys("#")
			b.wait(fmt.Sprintf(`latencies.length > %d`, i))
		}
		latencies := eval[[]float64](b, `latencies`)
		slices.Sort(latencies)
		t.Logf("file of %d bytes: verdicts after %.0f ms, the median of %d keystrokes", len(text), latencies[keystrokes/2], keystrokes)
	}
}
