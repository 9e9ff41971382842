package bulk

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// sampleTables are the tables of the examples in docs/bulk.md.
type sampleTables struct {
	captures []Capture
	files    map[string]FileSummary // by hash
	rules    map[string][]FieldLine
	agents   map[string][]NamedAgent
	signals  map[string][]SignalValue
	sitemaps map[string][]SitemapLine
	verdicts []Verdict
	joined   []JoinedVerdict
	changes  []AccessChange
}

// readSample reads the tables of the snapshot and of the other tasks.
func readSample(t *testing.T, snapshot, ask, join, diff *Task) *sampleTables {
	t.Helper()
	s := &sampleTables{files: map[string]FileSummary{}}
	s.captures = tableRows[Capture](t, snapshot, tableCaptures)
	for _, file := range tableRows[FileSummary](t, snapshot, tableFiles) {
		s.files[file.SHA256] = file
	}
	s.rules = byHash(tableRows[FieldLine](t, snapshot, tableRules), func(row FieldLine) string { return row.SHA256 })
	s.agents = byHash(tableRows[NamedAgent](t, snapshot, tableAgents), func(row NamedAgent) string { return row.SHA256 })
	s.signals = byHash(tableRows[SignalValue](t, snapshot, tableSignals), func(row SignalValue) string { return row.SHA256 })
	s.sitemaps = byHash(tableRows[SitemapLine](t, snapshot, tableSitemaps), func(row SitemapLine) string { return row.SHA256 })
	s.verdicts = tableRows[Verdict](t, ask, tableVerdicts)
	s.joined = tableRows[JoinedVerdict](t, join, tableJoined)
	s.changes = tableRows[AccessChange](t, diff, tableChanges)
	return s
}

// tableRows returns the rows of the first part of a table.
func tableRows[T any](t *testing.T, task *Task, table string) (rows []T) {
	t.Helper()
	for row, err := range readTable[T](task.partPath(table, task.PartName(task.Shards[0]))) {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

func byHash[T any](rows []T, hash func(T) string) map[string][]T {
	groups := map[string][]T{}
	for _, row := range rows {
		groups[hash(row)] = append(groups[hash(row)], row)
	}
	return groups
}

// A tally counts rows of an answer by their first columns.
type tally map[string][]int

// add adds n to a column of a row.
func (c tally) add(key string, column, n int) {
	row := c[key]
	for len(row) <= column {
		row = append(row, 0)
	}
	row[column] += n
	c[key] = row
}

// count counts a row in the columns that are true.
func (c tally) count(key string, columns ...bool) {
	for i, counts := range columns {
		n := 0
		if counts {
			n = 1
		}
		c.add(key, i, n)
	}
}

// csv writes the rows by key, with more columns if there are any.
func (c tally) csv(header string, more func(counts []int) string) string {
	var out strings.Builder
	out.WriteString(header + "\n")
	for _, key := range slices.Sorted(maps.Keys(c)) {
		out.WriteString(key)
		for _, n := range c[key] {
			fmt.Fprintf(&out, ",%d", n)
		}
		if more != nil {
			out.WriteString("," + more(c[key]))
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func monthOf(t time.Time) string { return t.UTC().Format("2006-01") }

func answered(access string) bool { return access != "unknown" }

// sampleAnswers compute the answers to the questions in docs/bulk.md.
var sampleAnswers = map[string]func(*sampleTables) string{
	"blocked": func(s *sampleTables) string {
		months := tally{}
		for _, v := range s.verdicts {
			if v.Dialect == "rfc9309" && (v.Agent == "GPTBot" || v.Agent == "CCBot") {
				months.count(monthOf(v.Fetched)+","+v.Agent, true, !answered(v.Access), v.Access == "none", v.Access == "part", v.Access == "all")
			}
		}
		return months.csv("month,agent,captures,without_answer,fully,partly,not_blocked,share", func(n []int) string {
			return fmt.Sprintf("%.4f", float64(n[2])/float64(n[0]-n[1]))
		})
	},
	"named": func(s *sampleTables) string {
		agents := tally{}
		for _, v := range s.verdicts {
			if v.Dialect == "rfc9309" {
				named, star := v.Group != "" && v.Group != "*", v.Group == "*"
				agents.count(v.Agent, true, named, star, named && v.Access == "none", star && v.Access == "none", named && v.Access == "all", !answered(v.Access))
			}
		}
		return agents.csv("agent,captures,named,by_star,blocked_by_name,blocked_by_star,blocks_nothing,without_answer", nil)
	},
	"rules": func(s *sampleTables) string {
		tokens := tally{}
		for _, capture := range s.captures {
			for _, line := range s.rules[capture.SHA256] {
				if line.Field != "user-agent" {
					for token := range strings.FieldsSeq(line.GroupTokens) {
						tokens.count(token, line.Field == "allow", line.Field == "disallow", line.Field == "crawl-delay")
					}
				}
			}
		}
		return tokens.csv("token,allow,disallow,crawl_delay", nil)
	},
	"unknown": func(s *sampleTables) string {
		lines := tally{}
		origins := map[string]map[string]bool{}
		for _, capture := range s.captures {
			for _, line := range s.rules[capture.SHA256] {
				if field := strings.ToLower(line.Field); !line.Known {
					lines.add(field, 0, 1)
					if origins[field] == nil {
						origins[field] = map[string]bool{}
					}
					origins[field][capture.Origin] = true
				}
			}
		}
		fields := slices.SortedFunc(maps.Keys(lines), func(a, b string) int {
			return cmp.Or(cmp.Compare(len(origins[b]), len(origins[a])), cmp.Compare(a, b))
		})
		out := "field,sites,lines\n"
		for _, field := range fields[:min(5, len(fields))] {
			out += fmt.Sprintf("%s,%d,%d\n", field, len(origins[field]), lines[field][0])
		}
		return out
	},
	"large": func(s *sampleTables) string {
		months := tally{}
		largest := map[string]int{}
		for _, capture := range s.captures {
			if file, ok := s.files[capture.SHA256]; ok {
				month := monthOf(capture.Fetched)
				months.count(month, true, file.Bytes > 512_000, file.OtherFormat != "")
				largest[month] = max(largest[month], int(file.Bytes))
			}
		}
		for month, size := range largest {
			months.add(month, 3, size)
		}
		return months.csv("month,files,over_500_kib,other_format,largest", nil)
	},
	"removed": func(s *sampleTables) string {
		months := tally{}
		earlier := map[string]string{} // access by origin
		verdicts := slices.Clone(s.verdicts)
		slices.SortStableFunc(verdicts, func(a, b Verdict) int { return a.Fetched.Compare(b.Fetched) })
		for _, v := range verdicts {
			if v.Agent != "GPTBot" || v.Dialect != "rfc9309" || !answered(v.Access) {
				continue
			}
			if before, ok := earlier[v.Origin]; ok {
				months.count(monthOf(v.Fetched), before == "none" && v.Access != "none", before != "none" && v.Access == "none", true)
			}
			earlier[v.Origin] = v.Access
		}
		return months.csv("month,removed,added,captures", nil)
	},
	"content-signal": func(s *sampleTables) string {
		sites := tally{}
		seen := map[string]bool{}
		for _, capture := range s.captures {
			for _, signal := range s.signals[capture.SHA256] {
				key := monthOf(capture.Fetched) + "," + signal.Name + "," + signal.Value
				if signal.Field == "content-signal" && !seen[key+capture.Origin] {
					seen[key+capture.Origin] = true
					sites.add(key, 0, 1)
				}
			}
		}
		return sites.csv("month,name,value,sites", nil)
	},
	"sitemaps": func(s *sampleTables) string {
		months := tally{}
		for _, capture := range s.captures {
			file, ok := s.files[capture.SHA256]
			if !ok || file.OtherFormat != "" {
				continue
			}
			elsewhere := slices.ContainsFunc(s.sitemaps[capture.SHA256], func(row SitemapLine) bool { return row.Origin != "" && row.Origin != capture.Origin })
			months.count(monthOf(capture.Fetched), true, *file.Sitemaps > 0, elsewhere)
		}
		return months.csv("month,files,with_sitemap,on_another_origin", nil)
	},
	"delay": func(s *sampleTables) string {
		delays := map[string][]float64{}
		origins := map[string]bool{}
		sites := tally{}
		for _, capture := range s.captures {
			for _, line := range s.rules[capture.SHA256] {
				for _, agent := range s.agents[capture.SHA256] {
					if line.Field != "crawl-delay" || !slices.Contains(strings.Fields(line.GroupTokens), agent.RFC9309) {
						continue
					}
					operator := cmp.Or(agent.Operator, "no known crawler")
					seconds, _ := strconv.ParseFloat(line.Value, 64)
					delays[operator] = append(delays[operator], seconds)
					if !origins[operator+capture.Origin] {
						origins[operator+capture.Origin] = true
						sites.add(operator, 0, 1)
					}
				}
			}
		}
		out := "operator,sites,mean,longest\n"
		for _, operator := range slices.Sorted(maps.Keys(sites)) {
			sum := 0.0
			for _, seconds := range delays[operator] {
				sum += seconds
			}
			out += fmt.Sprintf("%s,%d,%.1f,%.1f\n", operator, sites[operator][0], sum/float64(len(delays[operator])), slices.Max(delays[operator]))
		}
		return out
	},
	"disagree": func(s *sampleTables) string {
		captures := tally{}
		rfc9309 := map[string]string{}
		key := func(v Verdict) string { return fmt.Sprint(v.Input, v.Offset, v.Agent) }
		for _, v := range s.verdicts {
			if v.Dialect == "rfc9309" {
				rfc9309[key(v)] = v.Access
			}
		}
		for _, v := range s.verdicts {
			if access := rfc9309[key(v)]; v.Dialect == "google" && (access != v.Access || !answered(access)) {
				captures.add(v.Agent+","+access+","+v.Access, 0, 1)
			}
		}
		return captures.csv("agent,rfc9309,google,captures", nil)
	},
	"pages": func(s *sampleTables) string {
		urls := tally{}
		for _, v := range s.joined {
			if v.Agent == "CCBot" {
				urls.add(cmp.Or(v.Verdict, "no answer"), 0, 1)
			}
		}
		return urls.csv("verdict,urls", nil)
	},
	"changed": func(s *sampleTables) string {
		sites := tally{}
		for _, change := range s.changes {
			if change.Dialect == "rfc9309" && (change.Agent == "GPTBot" || change.Agent == "Googlebot") {
				sites.add(change.Agent+","+change.Change, 0, 1)
			}
		}
		return sites.csv("agent,change,sites", nil)
	},
}
