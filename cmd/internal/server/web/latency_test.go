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

// TestLintLatency logs how long the page takes to show findings after a keystroke in a file of 10,000 bytes.
func TestLintLatency(t *testing.T) {
	campaign.Only(t)
	var text strings.Builder
	for i := 0; text.Len() < 10_000-80; i++ {
		if i%10 == 0 {
			fmt.Fprintf(&text, "User-agent: crawler-%d\n", i/10)
		}
		fmt.Fprintf(&text, "Disallow: /folder-%d/*/list\nAllow: /folder-%d/shoes\n", i, i)
	}
	b := usual(t)
	b.own()
	b.paste(text.String())
	b.settled()
	b.do(`globalThis.began = 0;
		document.querySelector('.cm-content').addEventListener('keydown', () => { began = performance.now() }, true);
		document.querySelector('.cm-content').focus()`)
	const keystrokes = 11
	var latencies []float64
	for range keystrokes {
		b.keys("#")
		latencies = append(latencies, eval[float64](b, `(async () => {
			while (page.state.findings.file !== page.state.file) await new Promise((again) => setTimeout(again));
			return performance.now() - began;
		})()`))
		b.settled()
	}
	slices.Sort(latencies)
	t.Logf("file of %d bytes: findings after %.0f ms, the pause of 300 ms before included, the median of %d keystrokes",
		text.Len(), latencies[keystrokes/2], keystrokes)
}
