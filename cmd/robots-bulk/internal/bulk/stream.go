package bulk

import (
	"context"
	"io"
	"time"
)

// Stream reads JSON Lines of docs/batch.md with a url and a file, and writes the verdicts
// of each line in order. A line without a time has that of 1970. It calls damaged for each
// line that it cannot read.
func (o EvaluationOptions) Stream(ctx context.Context, in io.Reader, out io.Writer, format string, damaged func(Damage)) error {
	if len(o.Paths) == 0 {
		o.Paths = []string{"/"}
	}
	if _, err := o.normalize(); err != nil {
		return err
	}
	a, err := newEvaluator(o)
	if err != nil {
		return err
	}
	w, err := newTableWriter[Verdict](out, format)
	if err != nil {
		return err
	}
	r := &inputReader{addDamage: damaged}
	r.addResponse = func(row *archivedResponse, body []byte) error {
		c, err := newCapture(row)
		if err != nil {
			return err
		}
		c.setOutcome(row)
		return a.writeVerdicts(w, c, a.evaluatePaths(a.newRuleSet(a.rulesOfBody(body, c.Truncated))))
	}
	if err := r.readJSONLines(ctx, "-", in, time.Unix(0, 0)); err != nil {
		return err
	}
	return w.Close()
}
