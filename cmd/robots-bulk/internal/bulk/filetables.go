package bulk

import "errors"

// The tables about files.
const (
	tableFiles    = "files"
	tableRules    = "rules"
	tableAgents   = "agents"
	tableSignals  = "signals"
	tableSitemaps = "sitemaps"
	tableFindings = "findings"
)

// fileTables are the tables about files, of a shard.
type fileTables struct {
	reader   fileReader
	files    *tableWriter[FileSummary]
	rules    *tableWriter[FieldLine]
	agents   *tableWriter[NamedAgent]
	signals  *tableWriter[SignalValue]
	sitemaps *tableWriter[SitemapLine]
	findings *tableWriter[FindingCount] // nil without --lint
}

// fileTableNames returns the tables about files of a snapshot, in the order in which they are made.
func (o *PackOptions) fileTableNames() []string {
	names := []string{tableFiles, tableRules, tableAgents, tableSignals, tableSitemaps}
	if o.Lint {
		names = append(names, tableFindings)
	}
	return names
}

// newFileTables creates the parts of the tables about files.
func newFileTables(p *PartWriter, format string, o PackOptions) (t *fileTables, err error) {
	t = &fileTables{reader: newFileReader(o)}
	if t.files, err = createTablePart[FileSummary](p, tableFiles, format, "sha256"); err != nil {
		return nil, err
	}
	if t.rules, err = createTablePart[FieldLine](p, tableRules, format, "sha256", "line"); err != nil {
		return nil, err
	}
	if t.agents, err = createTablePart[NamedAgent](p, tableAgents, format, "sha256", "line"); err != nil {
		return nil, err
	}
	if t.signals, err = createTablePart[SignalValue](p, tableSignals, format, "sha256", "line"); err != nil {
		return nil, err
	}
	if t.sitemaps, err = createTablePart[SitemapLine](p, tableSitemaps, format, "sha256", "line"); err != nil {
		return nil, err
	}
	if o.Lint {
		t.findings, err = createTablePart[FindingCount](p, tableFindings, format, "sha256", "id")
	}
	return t, err
}

// write writes the rows of a body.
func (t *fileTables) write(body *storedBody) error {
	r := &t.reader
	if err := r.read(body); err != nil {
		return err
	}
	return errors.Join(
		t.files.Write(&r.summary), t.rules.writeAll(r.lines), t.agents.writeAll(r.agents), t.signals.writeAll(r.signals),
		t.sitemaps.writeAll(r.sitemaps), t.findings.writeAll(r.findings),
	)
}

// close ends the tables.
func (t *fileTables) close() error {
	closers := []interface{ Close() error }{t.files, t.rules, t.agents, t.signals, t.sitemaps}
	if t.findings != nil {
		closers = append(closers, t.findings)
	}
	for _, table := range closers {
		if err := table.Close(); err != nil {
			return err
		}
	}
	return nil
}
