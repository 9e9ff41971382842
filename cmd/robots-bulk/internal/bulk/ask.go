package bulk

import (
	"context"
	"fmt"
)

const (
	verbAsk       = "ask"
	tableVerdicts = "verdicts"
)

// AskTask returns the task that evaluates all captures of a snapshot.
func (o EvaluationOptions) AskTask(dir, format, snapshot string) (*Task, error) {
	if len(o.Paths) == 0 {
		o.Paths = []string{"/"}
	}
	options, err := o.normalize()
	if err != nil {
		return nil, err
	}
	e, err := newEvaluator(o)
	if err != nil {
		return nil, err
	}
	parts, err := openSnapshot(snapshot)
	if err != nil {
		return nil, err
	}
	t := newTask(verbAsk, dir, format, tableVerdicts)
	t.Options = options
	t.addParts(parts)
	t.workIsCount = true
	var partIndexes []int // by shard
	for i := range parts {
		for _, r := range parts[i].ranges(e.capturesPerShard()) {
			t.Shards = append(t.Shards, Shard{
				Number: len(t.Shards), Inputs: inputIndexes(parts[i : i+1]), From: r.from, To: r.to, work: r.captures,
			})
			partIndexes = append(partIndexes, i)
		}
	}
	t.DoShard = func(ctx context.Context, s Shard, p *PartWriter) error {
		e, err := newEvaluator(o)
		if err != nil {
			return err
		}
		part := partIndexes[s.Number]
		return e.evaluateRange(ctx, parts[part:part+1], s, p)
	}
	return t, nil
}

// shardWork is how much work is in a shard of ask, some seconds of a processor, so that little is
// lost if it is killed. A capture is parsedCapture, and 1 more for each evaluation.
var shardWork = 1_500_000

const parsedCapture = 50

// capturesPerShard returns how many captures a shard should have.
func (e *evaluator) capturesPerShard() int64 {
	return int64(shardWork / (parsedCapture + len(e.crawlers)*max(len(e.Paths), 1)))
}

// evaluateRange makes the rows of a range of sites of a part of a snapshot.
func (e *evaluator) evaluateRange(ctx context.Context, parts []snapshotPart, s Shard, p *PartWriter) error {
	verdicts, err := createTablePart[Verdict](p, tableVerdicts, p.task.Format, "surt", "origin", "fetched")
	if err != nil {
		return err
	}
	for capture, err := range p.readCaptures(ctx, parts, s.From, s.To) {
		if err != nil {
			return err
		}
		rules, err := e.cachedRules(&capture)
		if err != nil {
			return fmt.Errorf("%s: capture of %s at byte %d of %s: %w", parts[0].captures.Name, capture.URL, capture.Offset, capture.Input, err)
		}
		if err := e.writeVerdicts(verdicts.Write, &capture.Capture, e.evaluatePaths(rules)); err != nil {
			return err
		}
		p.advance(1, 1)
	}
	return verdicts.Close()
}

// writeVerdicts calls write with the rows of a capture.
func (e *evaluator) writeVerdicts(write func(*Verdict) error, capture *Capture, rules *ruleSet) error {
	row := &e.row
	*row = Verdict{
		SURT: capture.SURT, Origin: capture.Origin, Fetched: capture.Fetched.UTC(), Outcome: capture.Outcome,
		Engine: Engine(), Input: capture.Input, Offset: capture.Offset, Site: capture.Site,
	}
	for k := range e.crawlers {
		row.Agent = e.crawlers[k].name
		row.Dialect = e.crawlers[k].dialect.Name
		first := rules.ruleIndexes[k] * len(e.Paths)
		for i, path := range e.Paths {
			evaluation := &rules.evaluations[first+i]
			row.Path = path
			row.PathVerdict = evaluation.PathVerdict
			row.CrawlDelay = evaluation.CrawlDelay
			if err := write(row); err != nil {
				return err
			}
		}
	}
	return nil
}
