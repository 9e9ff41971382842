package main

import (
	"fmt"
	"math"
	"runtime/debug"
	"strings"
)

// temotoVersion is the version of the library in this program.
func temotoVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == "github.com/temoto/robotstxt" {
				return d.Version
			}
		}
	}
	return ""
}

// A curve is the time of one engine over the number of rules.
type curve struct {
	label, color, dash string
	x, y               []float64
	labelY             float64
}

// plot draws the time of a match over the number of rules, both axes
// logarithmic. It returns nil if those rows were not measured.
func (rep *report) plot() []byte {
	by := map[string]*result{}
	for _, r := range rep.results {
		by[r.name] = r
	}
	curves := []*curve{
		{label: "temoto, mixed", color: "#c2410c"},
		{label: "reference, mixed", color: "#64748b"},
		{label: "reference, literal", color: "#64748b", dash: "7 5"},
		{label: "temoto, literal", color: "#c2410c", dash: "7 5"},
		{label: "robots, mixed", color: "#0f62c4"},
		{label: "robots, literal", color: "#0f62c4", dash: "7 5"},
	}
	low, high := math.Inf(1), 0.0
	for _, c := range curves {
		e, kind, _ := strings.Cut(c.label, ", ")
		for _, n := range ruleCounts {
			r := by[fmt.Sprintf("match-%s/%d", kind, n)]
			if r == nil || len(r.ns[e]) == 0 {
				return nil
			}
			y, _, _ := median(r.ns[e])
			c.x, c.y = append(c.x, float64(n)), append(c.y, y)
			low, high = min(low, y), max(high, y)
		}
	}

	const (
		width, height            = 900, 540
		left, right, top, bottom = 92, 660, 84, 470
	)
	decadeLow, decadeHigh := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
	px := func(x float64) float64 { return left + (math.Log10(x)-1)/3*(right-left) }
	py := func(y float64) float64 {
		return bottom - (math.Log10(y)-decadeLow)/(decadeHigh-decadeLow)*(bottom-top)
	}

	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="Helvetica, Arial, sans-serif" font-size="14" fill="#1e293b">`, width, height, width, height)
	p(`<title>Time of one match over the number of rules</title>`)
	p(`<rect width="%d" height="%d" fill="#fdfdfc"/>`, width, height)
	p(`<text x="%d" y="36" font-size="20" font-weight="bold">Time of one match over the number of rules</text>`, left)
	p(`<text x="%d" y="60" fill="#475569">kept file, one group, 512 paths of which 40 %% come from the rules; mixed: literal and wildcard rules</text>`, left)
	for d := decadeLow; d <= decadeHigh; d++ {
		y := py(math.Pow(10, d))
		p(`<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#d7dde5"/>`, left, y, right, y)
		p(`<text x="%d" y="%.1f" text-anchor="end">%s</text>`, left-10, y+5, [...]string{"1 ns", "10 ns", "100 ns", "1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms"}[int(d)])
	}
	for _, n := range ruleCounts {
		x := px(float64(n))
		p(`<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#d7dde5"/>`, x, top, x, bottom)
		p(`<text x="%.1f" y="%d" text-anchor="middle">%s</text>`, x, bottom+22, number(float64(n)))
	}
	p(`<text x="%d" y="%d" text-anchor="middle">number of rules</text>`, (left+right)/2, bottom+50)

	// Labels stand behind the last points, moved apart where they would touch.
	for _, c := range curves {
		c.labelY = py(c.y[len(c.y)-1])
	}
	const gap = 20
	for range 50 {
		for i, c := range curves {
			for _, o := range curves[:i] {
				d := c.labelY - o.labelY
				if math.Abs(d) < gap {
					push := (gap - math.Abs(d)) / 2
					if d < 0 {
						push = -push
					}
					c.labelY += push
					o.labelY -= push
				}
			}
		}
	}
	for _, c := range curves {
		var points []string
		for i := range c.x {
			points = append(points, fmt.Sprintf("%.1f,%.1f", px(c.x[i]), py(c.y[i])))
		}
		dash := ""
		if c.dash != "" {
			dash = fmt.Sprintf(` stroke-dasharray="%s"`, c.dash)
		}
		p(`<polyline points="%s" fill="none" stroke="%s" stroke-width="2.5" stroke-linejoin="round"%s/>`, strings.Join(points, " "), c.color, dash)
		for i := range c.x {
			p(`<circle cx="%.1f" cy="%.1f" r="4" fill="%s"/>`, px(c.x[i]), py(c.y[i]), c.color)
		}
		last := c.y[len(c.y)-1]
		p(`<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="%s" stroke-opacity="0.4"/>`, right+6, py(last), right+18, c.labelY, c.color)
		p(`<text x="%d" y="%.1f" fill="%s">%s: %s</text>`, right+22, c.labelY+5, c.color, c.label, duration(last))
	}
	p(`</svg>`)
	return []byte(b.String())
}
