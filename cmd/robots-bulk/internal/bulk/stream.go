package bulk

import (
	"context"
	"io"
	"time"
)

// Stream reads JSON Lines of docs/batch.md with a url and a file, and writes the verdicts
// of each line in order. A line without a time has that of 1970. It calls damaged for each
// line that it cannot read.
func (o EvaluationOptions) Stream(ctx context.Context, in io.Reader, out io.Writer, format string, addDamage func(Damage)) error {
	if len(o.Paths) == 0 {
		o.Paths = []string{"/"}
	}
	if _, err := o.normalize(); err != nil {
		return err
	}
	evaluator, err := newEvaluator(o)
	if err != nil {
		return err
	}
	verdicts, err := newTableWriter[Verdict](out, format, nil)
	if err != nil {
		return err
	}
	reader := &inputReader{addDamage: addDamage}
	reader.addResponse = func(response *archivedResponse, body []byte) error {
		capture, err := newCapture(response)
		if err != nil {
			return err
		}
		capture.setOutcome(response)
		return evaluator.writeVerdicts(
			verdicts, capture, evaluator.evaluatePaths(evaluator.newRuleSet(evaluator.rulesOfBody(body, capture.Truncated))),
		)
	}
	if err := reader.readJSONLines(ctx, "-", in, time.Unix(0, 0)); err != nil {
		return err
	}
	return verdicts.Close()
}
