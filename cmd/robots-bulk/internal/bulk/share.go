package bulk

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A Share selects one of Of parts of about equal size of the shards, which follow one another, as
// neighbors read the same files. The zero value selects all.
type Share struct{ Index, Of int } // Index from 0

// includes reports whether the share has shard number n of a task with so many shards.
func (s Share) includes(n, shards int) bool {
	return s.Of <= 1 || s.Index*shards/s.Of <= n && n < (s.Index+1)*shards/s.Of
}

// arraySchedulers are the environment variables of schedulers with the index of an array job.
var arraySchedulers = []struct{ scheduler, index, least, step, count string }{
	{"Slurm", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP", "SLURM_ARRAY_TASK_COUNT"},
	{"Kubernetes", "JOB_COMPLETION_INDEX", "", "", ""},
	{"AWS Batch", "AWS_BATCH_JOB_ARRAY_INDEX", "", "", ""},
}

// ArrayJobVariable returns the variable with the index of this array job, "" if there is none.
func ArrayJobVariable(getenv func(string) string) string {
	for _, a := range arraySchedulers {
		if getenv(a.index) != "" {
			return a.index
		}
	}
	return ""
}

// ParseShare parses "2/8", the second of eight shares; "auto/8", with the index from the
// scheduler of an array job; and "auto", with both from Slurm.
func ParseShare(s string, getenv func(string) string) (Share, error) {
	bad := func(why string) (Share, error) {
		return Share{}, fmt.Errorf("%q is not a share such as 1/8 or auto/8: %s", s, why)
	}
	which, of, slash := strings.Cut(s, "/")
	count := 0
	if slash {
		n, err := strconv.Atoi(of)
		if err != nil || n < 1 {
			return bad("the number after the slash must be at least 1")
		}
		count = n
	}
	if which != "auto" {
		n, err := strconv.Atoi(which)
		if err != nil || n < 1 || n > count {
			return bad("I must be from 1 to N")
		}
		return Share{n - 1, count}, nil
	}
	for _, a := range arraySchedulers {
		if getenv(a.index) == "" {
			continue
		}
		index, err := arrayIndex(getenv, a.index, a.least, a.step)
		if err != nil {
			return Share{}, err
		}
		if a.count != "" {
			n, err := strconv.Atoi(getenv(a.count))
			switch {
			case err == nil && slash && n != count:
				return Share{}, fmt.Errorf("%s is %d but the share is of %d", a.count, n, count)
			case err == nil:
				count = n
			}
		}
		if count == 0 {
			return bad(a.scheduler + " does not set the number of jobs: use auto/N")
		}
		if index < 0 || index >= count {
			return Share{}, fmt.Errorf("%s is %s, beyond %d jobs (number %d): number the jobs without gaps",
				a.index, getenv(a.index), count, index+1)
		}
		return Share{index, count}, nil
	}
	return bad("no variable of Slurm, Kubernetes or AWS Batch is set")
}

// arrayIndex returns the index of an array job, from 0.
func arrayIndex(getenv func(string) string, index, least, step string) (int, error) {
	n, err := strconv.Atoi(getenv(index))
	if err != nil {
		return 0, fmt.Errorf("%s is %q, which is not a number", index, getenv(index))
	}
	if least == "" || getenv(least) == "" {
		return n, nil
	}
	from, err := strconv.Atoi(getenv(least))
	by := 1
	if s := getenv(step); s != "" && err == nil {
		by, err = strconv.Atoi(s)
	}
	if err != nil || by < 1 {
		return 0, errors.New(least + " and " + step + " are not numbers")
	}
	if (n-from)%by != 0 {
		return 0, fmt.Errorf("%s is %d, not a multiple of step %d from %d", index, n, by, from)
	}
	return (n - from) / by, nil
}
