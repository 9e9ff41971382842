package bulk

import (
	"context"
	"io"
	"time"
)

// Stream reads JSON Lines of docs/batch.md with a url and a file, and writes the verdicts
// of each line in order. A line without a time has that of 1970. It calls damaged for each
// line that it cannot read.
func (o AskOptions) Stream(ctx context.Context, in io.Reader, out io.Writer, format string, damaged func(Damaged)) error {
	if len(o.Paths) == 0 {
		o.Paths = []string{"/"}
	}
	if _, err := o.canonical(); err != nil {
		return err
	}
	a, err := newEvaluator(o)
	if err != nil {
		return err
	}
	w, err := writeTable[Verdict](out, format)
	if err != nil {
		return err
	}
	r := &inputReader{damaged: damaged}
	r.answer = func(row *archivedResponse, body []byte) error {
		c, err := captureOf(row)
		if err != nil {
			return err
		}
		c.take(row)
		return a.write(w, c, a.ask(a.ruleSet(a.bodyRules(body, c.Truncated))))
	}
	if err := r.lines(ctx, "-", in, time.Unix(0, 0)); err != nil {
		return err
	}
	return w.Close()
}
