package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// A curve is the time of one engine by the number of rules.
type curve struct {
	engine, kind string
	times        []float64
}

// chart draws the time of a match by the number of rules, both axes logarithmic. It returns nothing if a row is missing.
func (r *results) chart() string {
	const left, right, top, bottom = 92.0, 660.0, 84.0, 470.0
	colors := map[string]string{ours: "#0f62c4", plain: "#64748b", temoto: "#c2410c"}
	var curves []curve
	low := math.Inf(1)
	high := 0.0
	for _, engine := range []string{ours, plain, temoto} {
		for _, kind := range []string{"literal", "mixed"} {
			c := curve{engine: engine, kind: kind}
			for _, n := range ruleCounts {
				t, _, _ := median(r.values[key(matchRow(kind, n), engine, "ns/op")])
				if t == 0 {
					return ""
				}
				c.times = append(c.times, t)
				low = min(low, t)
				high = max(high, t)
			}
			curves = append(curves, c)
		}
	}
	least := math.Floor(math.Log10(low))
	most := math.Ceil(math.Log10(high))
	px := func(n int) float64 { return left + (math.Log10(float64(n))-1)/3*(right-left) }
	py := func(t float64) float64 { return bottom - (math.Log10(t)-least)/(most-least)*(bottom-top) }

	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p(
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 540" width="900" height="540" font-family="Helvetica, Arial, sans-serif" font-size="14" fill="#1e293b">`,
	)
	p(`<title>Time of one match by the number of rules</title>`)
	p(`<rect width="900" height="540" fill="#fdfdfc"/>`)
	p(`<text x="%g" y="36" font-size="20" font-weight="bold">Time of one match by the number of rules</text>`, left)
	p(
		`<text x="%g" y="60" fill="#475569">parsed file, one group, 512 paths, 40 %% of them made from the rules; mixed: literal and wildcard rules</text>`,
		left,
	)
	for d := least; d <= most; d++ {
		t := math.Pow(10, d)
		p(`<line x1="%g" y1="%.1f" x2="%g" y2="%.1f" stroke="#d7dde5"/>`, left, py(t), right, py(t))
		p(`<text x="%g" y="%.1f" text-anchor="end">%s</text>`, left-10, py(t)+5, inUnit(t, "ns/op"))
	}
	for _, n := range ruleCounts {
		p(`<line x1="%.1f" y1="%g" x2="%.1f" y2="%g" stroke="#d7dde5"/>`, px(n), top, px(n), bottom)
		p(`<text x="%.1f" y="%g" text-anchor="middle">%s</text>`, px(n), bottom+22, number(float64(n)))
	}
	p(`<text x="%g" y="%g" text-anchor="middle">number of rules</text>`, (left+right)/2, bottom+50)

	// Labels stand right of the last points, each at least 20 below the one above it.
	last := func(c curve) float64 { return c.times[len(c.times)-1] }
	slices.SortFunc(curves, func(a, b curve) int { return cmp.Compare(last(b), last(a)) })
	above := math.Inf(-1)
	for _, c := range curves {
		labelY := max(py(last(c)), above+20)
		above = labelY
		dash := ""
		points := ""
		if c.kind == "literal" {
			dash = ` stroke-dasharray="7 5"`
		}
		for i, t := range c.times {
			points += fmt.Sprintf("%.1f,%.1f ", px(ruleCounts[i]), py(t))
			p(`<circle cx="%.1f" cy="%.1f" r="4" fill="%s"/>`, px(ruleCounts[i]), py(t), colors[c.engine])
		}
		p(
			`<polyline points="%s" fill="none" stroke="%s" stroke-width="2.5" stroke-linejoin="round"%s/>`, strings.TrimSpace(points),
			colors[c.engine], dash,
		)
		p(
			`<line x1="%g" y1="%.1f" x2="%g" y2="%.1f" stroke="%s" stroke-opacity="0.4"/>`, right+6, py(last(c)), right+18, labelY,
			colors[c.engine],
		)
		p(`<text x="%g" y="%.1f" fill="%s">%s, %s: %s</text>`, right+22, labelY+5, colors[c.engine], c.engine, c.kind, inUnit(last(c), "ns/op"))
	}
	p(`</svg>`)
	return b.String()
}
