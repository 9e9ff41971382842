package pace_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/robotskit/robots"
	"github.com/robotskit/robots/pace"
)

// table reads a table of robotstest/testdata/spec: its rows by column name.
func table(t *testing.T, name string) []map[string]string {
	t.Helper()
	data, err := os.ReadFile("../robotstest/testdata/spec/" + name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	head := strings.Split(lines[0], "\t")
	var rows []map[string]string
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, cell := range strings.Split(line, "\t") {
			row[head[i]] = cell
		}
		rows = append(rows, row)
	}
	return rows
}

// schedule is NewSchedule of a body for SeznamBot.
func schedule(t testing.TB, body string, d robots.Dialect, p pace.Policy) *pace.Schedule {
	t.Helper()
	s, err := pace.NewSchedule(robots.Parse([]byte(body)).Rules(d, "SeznamBot"), p)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRequestRateTable: every row of request_rate.tsv as a schedule, inside its
// window and outside.
func TestRequestRateTable(t *testing.T) {
	checked := 0
	for _, row := range table(t, "request_rate.tsv") {
		d := robots.RFC9309
		if row["source"] == "seznam" {
			d = robots.Seznam
		}
		number := func(name string) time.Duration {
			n, err := strconv.Atoi(row[name])
			if err != nil {
				t.Fatalf("%s: %v", row["value"], err)
			}
			return time.Duration(n)
		}
		s := schedule(t, "User-agent: *\nRequest-rate: "+row["value"]+"\n", d, pace.Policy{})
		want, fate := 4*time.Second, pace.UseUnusable
		if row["documents"] == "" && row["status"] == "window-invalid" { // both rows are 1/30s
			row["documents"], row["seconds"], row["effective_documents"], row["effective_seconds"] = "1", "30", "1", "30"
		}
		if row["status"] != "invalid" {
			want = number("effective_seconds") * time.Second / number("effective_documents")
			if fate = pace.UseHonored; number("seconds")*number("effective_documents") != number("effective_seconds")*number("documents") {
				fate = pace.UseAdjusted
			}
		}
		e := s.Entries()
		if len(e) != 1 || e[0].Use != fate || (fate != pace.UseHonored || row["status"] == "window-invalid") && e[0].Why == "" {
			t.Errorf("%s\ngot:  %+v\nwant: one entry, %s", row["value"], e, fate)
		}
		checked++
		for minute := range 24 * 60 {
			at := time.Date(2026, 3, 1, minute/60, minute%60, 30, 0, time.UTC)
			want := want
			if from := row["from_hhmm"]; from != "" {
				// HH59 applies until half a minute after hhmm (D-30).
				hhmm, to := at.Format("1504"), row["to_hhmm"]
				before := hhmm < to || hhmm == to && strings.HasSuffix(to, "59")
				if inside := from <= hhmm && before || from > to && (from <= hhmm || before); !inside {
					want = 4 * time.Second // RATE-06
				}
			}
			if got, open := s.At(at); got != want || !open {
				t.Errorf("%s at %s\ngot:  %s, open %t\nwant: %s", row["value"], at.Format("15:04"), got, open, want)
			}
			checked++
		}
	}
	t.Logf("%d rows, %d checks", len(table(t, "request_rate.tsv")), checked)
}

// TestRateWindowTable: every row of rate_window.tsv.
func TestRateWindowTable(t *testing.T) {
	rows := table(t, "rate_window.tsv")
	for _, row := range rows {
		at, err := time.Parse(time.DateTime, "2026-03-01 "+row["time"])
		if err != nil {
			t.Fatal(err)
		}
		want := row["inside"] != "out"
		s := schedule(t, "User-agent: *\nRequest-rate: 1/30s "+row["window"]+"\n", robots.Seznam, pace.Policy{})
		if got, _ := s.At(at); (got == 30*time.Second) != want {
			t.Errorf("rate %s at %s\ngot:  %s\nwant: inside %t", row["window"], row["time"], got, want)
		}
		s = schedule(t, "User-agent: *\nVisit-time: "+row["window"]+"\n", robots.RFC9309, pace.Policy{})
		if _, open := s.At(at); open != want {
			t.Errorf("visit %s at %s\ngot:  open %t\nwant: %t", row["window"], row["time"], open, want)
		}
		if next := s.Next(at, pace.State{}); next.Equal(at) != want || next.Sub(at) > 24*time.Hour {
			t.Errorf("visit %s at %s\ngot:  %s\nwant: at once %t", row["window"], row["time"], next, want)
		}
	}
	t.Logf("%d rows, each as Request-rate and as Visit-time", len(rows))
}
