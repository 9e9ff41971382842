package bulk

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/robotskit/robots"
)

// A tableMetadata is an entry of the key-value metadata of a Parquet file. Keys are a contract.
type tableMetadata struct{ key, value string }

// metadata returns what a part of a table was made by: the command, the version of the program with a
// hash of its dialects, the options as JSON, and the dialects of the rows.
func (t *Task) metadata() []tableMetadata {
	var options bytes.Buffer
	_ = json.Compact(&options, t.Options) // it is JSON, which a manifest indents
	var evaluation EvaluationOptions
	_ = json.Unmarshal(t.Options, &evaluation) // likewise
	dialects := evaluation.Dialects
	if len(dialects) == 0 { // of a snapshot: those of its tables about files
		dialects = []string{robots.RFC9309.Name, robots.Google.Name}
	}
	return []tableMetadata{
		{"robots-bulk.command", t.Verb},
		{"robots-bulk.engine", t.Engine},
		{"robots-bulk.options", options.String()},
		{"robots-bulk.dialects", strings.Join(dialects, ",")},
	}
}
