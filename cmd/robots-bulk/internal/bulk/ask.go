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
	parts, err := openSnapshot(snapshot)
	if err != nil {
		return nil, err
	}
	t := newTask(verbAsk, dir, format, tableVerdicts)
	t.Options = options
	t.addParts(parts)
	for i, p := range parts {
		t.Shards = append(t.Shards, Shard{Number: i, Inputs: inputIndexes(parts[i : i+1]), From: p.from, To: p.to})
	}
	t.DoShard = func(ctx context.Context, s Shard, p *PartWriter) (ShardCounts, error) {
		e, err := newEvaluator(o)
		if err != nil {
			return ShardCounts{}, err
		}
		return e.evaluatePart(ctx, parts[s.Number:s.Number+1], t.Format, p)
	}
	return t, nil
}

// evaluatePart makes the rows of a part of a snapshot.
func (e *evaluator) evaluatePart(ctx context.Context, parts []snapshotPart, format string, p *PartWriter) (counts ShardCounts, err error) {
	verdicts, err := createTablePart[Verdict](p, tableVerdicts, format, "surt", "origin", "fetched")
	if err != nil {
		return counts, err
	}
	for capture, err := range readCaptures(ctx, &p.tempFiles, parts, "", "") {
		if err != nil {
			return counts, err
		}
		rules, err := e.cachedRules(&capture)
		if err != nil {
			return counts, fmt.Errorf("%s row %d: %w", parts[0].captures.Name, counts.Captures, err)
		}
		counts.Captures++
		if err := e.writeVerdicts(verdicts, &capture.Capture, e.evaluatePaths(rules)); err != nil {
			return counts, err
		}
	}
	return counts, verdicts.Close()
}

// writeVerdicts writes the rows of a capture.
func (e *evaluator) writeVerdicts(verdicts *tableWriter[Verdict], capture *Capture, rules *ruleSet) error {
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
			if err := verdicts.Write(row); err != nil {
				return err
			}
		}
	}
	return nil
}
