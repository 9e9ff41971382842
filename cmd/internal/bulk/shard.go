package bulk

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A Slice is one of equal shares of the shards: those whose number leaves Index when it is
// divided by Of. The zero value is all of them.
type Slice struct{ Index, Of int } // Index from 0

func (s Slice) has(number int) bool { return s.Of <= 1 || number%s.Of == s.Index }

// arrays are the variables in which a scheduler of array jobs says which of them this is.
var arrays = []struct{ scheduler, index, least, step, count string }{
	{"Slurm", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP", "SLURM_ARRAY_TASK_COUNT"},
	{"Kubernetes", "JOB_COMPLETION_INDEX", "", "", ""},
	{"AWS Batch", "AWS_BATCH_JOB_ARRAY_INDEX", "", "", ""},
}

// ArrayJob returns the variable that says that this process is one of an array of jobs, ""
// if there is none.
func ArrayJob(getenv func(string) string) string {
	for _, a := range arrays {
		if getenv(a.index) != "" {
			return a.index
		}
	}
	return ""
}

// ParseSlice reads "2/8", the second of eight shares; "auto/8", of which the scheduler of
// an array of jobs says which; and "auto" where it says of how many, too.
func ParseSlice(s string, getenv func(string) string) (Slice, error) {
	bad := func(why string) (Slice, error) {
		return Slice{}, fmt.Errorf("%q is not a share such as 1/8 or auto/8: %s", s, why)
	}
	which, of, slash := strings.Cut(s, "/")
	count := 0
	if slash {
		n, err := strconv.Atoi(of)
		if err != nil || n < 1 {
			return bad("after the slash stands how many there are, 1 or more")
		}
		count = n
	}
	if which != "auto" {
		n, err := strconv.Atoi(which)
		if err != nil || n < 1 || n > count {
			return bad("they count from 1, and the last is n/n")
		}
		return Slice{n - 1, count}, nil
	}
	for _, a := range arrays {
		if getenv(a.index) == "" {
			continue
		}
		index, err := arrayIndex(getenv, a.index, a.least, a.step)
		if err != nil {
			return Slice{}, err
		}
		if a.count != "" {
			n, err := strconv.Atoi(getenv(a.count))
			switch {
			case err == nil && slash && n != count:
				return Slice{}, fmt.Errorf("%s is %d and --shard says %d", a.count, n, count)
			case err == nil:
				count = n
			}
		}
		if count == 0 {
			return bad(a.scheduler + " does not say how many jobs there are: write auto/n")
		}
		if index < 0 || index >= count {
			return Slice{}, fmt.Errorf("%s is %s, and of %d jobs it would be number %d: number them without gaps", a.index, getenv(a.index), count, index+1)
		}
		return Slice{index, count}, nil
	}
	return bad("no variable of Kubernetes, AWS Batch or Slurm says which one this is")
}

// arrayIndex returns the index from 0 that an array's variables give.
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
		return 0, fmt.Errorf("%s is %d, which is no step of %d from %d", index, n, by, from)
	}
	return (n - from) / by, nil
}
