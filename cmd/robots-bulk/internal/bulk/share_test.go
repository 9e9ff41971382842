package bulk

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestParseSlice(t *testing.T) {
	slurm := func(id, least, step, count string) map[string]string {
		return map[string]string{
			"SLURM_ARRAY_TASK_ID": id, "SLURM_ARRAY_TASK_MIN": least,
			"SLURM_ARRAY_TASK_STEP": step, "SLURM_ARRAY_TASK_COUNT": count,
		}
	}
	for _, c := range []struct {
		in   string
		env  map[string]string
		want Share
		err  string // a part of the message
	}{
		{in: "1/1", want: Share{0, 1}},
		{in: "1/8", want: Share{0, 8}},
		{in: "8/8", want: Share{7, 8}},
		{in: "0/8", err: "from 1 to N"},
		{in: "9/8", err: "from 1 to N"},
		{in: "-1/8", err: "from 1 to N"},
		{in: "1", err: "from 1 to N"},
		{in: "1/0", err: "at least 1"},
		{in: "1/x", err: "at least 1"},
		{in: "", err: "from 1 to N"},
		{in: "auto", err: "no variable"},
		{in: "auto/8", err: "no variable"},
		{in: "2/8", env: map[string]string{"JOB_COMPLETION_INDEX": "7"}, want: Share{1, 8}},
		{in: "auto/8", env: map[string]string{"JOB_COMPLETION_INDEX": "0"}, want: Share{0, 8}},
		{in: "auto/8", env: map[string]string{"JOB_COMPLETION_INDEX": "7"}, want: Share{7, 8}},
		{in: "auto/8", env: map[string]string{"JOB_COMPLETION_INDEX": "8"}, err: "number 9"},
		{in: "auto/8", env: map[string]string{"JOB_COMPLETION_INDEX": "x"}, err: "not a number"},
		{in: "auto", env: map[string]string{"JOB_COMPLETION_INDEX": "0"}, err: "auto/N"},
		{in: "auto/4", env: map[string]string{"AWS_BATCH_JOB_ARRAY_INDEX": "3"}, want: Share{3, 4}},
		{in: "auto", env: map[string]string{"AWS_BATCH_JOB_ARRAY_INDEX": "3"}, err: "auto/N"},
		{in: "auto", env: slurm("1", "1", "1", "8"), want: Share{0, 8}},
		{in: "auto", env: slurm("8", "1", "1", "8"), want: Share{7, 8}},
		{in: "auto", env: slurm("0", "0", "1", "8"), want: Share{0, 8}},
		{in: "auto", env: slurm("14", "10", "2", "4"), want: Share{2, 4}},
		{in: "auto", env: slurm("12", "1", "1", "5"), err: "without gaps"},
		{in: "auto", env: slurm("13", "10", "2", "4"), err: "not a multiple"},
		{in: "auto", env: slurm("13", "10", "0", "4"), err: "not numbers"},
		{in: "auto/8", env: slurm("1", "1", "1", "8"), want: Share{0, 8}},
		{in: "auto/9", env: slurm("1", "1", "1", "8"), err: "share is of 9"},
	} {
		getenv := func(name string) string { return c.env[name] }
		got, err := ParseShare(c.in, getenv)
		if c.err == "" && (err != nil || got != c.want) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%q, %v: %+v, %v, want %+v, %q", c.in, c.env, got, err, c.want, c.err)
		}
		if name := ArrayJobVariable(getenv); (name != "") != (len(c.env) > 0) || name != "" && !slices.Contains(slices.Collect(maps.Keys(c.env)), name) {
			t.Errorf("%v: array job %q", c.env, name)
		}
	}
	for shards := range 50 { // each shard is in one slice
		for n := range shards {
			in := 0
			for i := range 7 {
				if (Share{i, 7}).includes(n, shards) {
					in++
				}
			}
			if in != 1 || !(Share{}).includes(n, shards) {
				t.Errorf("shard %d of %d is in %d slices", n, shards, in)
			}
		}
	}
}
