package bulk

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
)

// NamedAgents returns every product token that a file of a snapshot names, as rfc9309 reads it, each as a
// crawler, sorted and without "*".
func NamedAgents(snapshot string) ([][]string, error) {
	t, err := readSnapshotManifest(snapshot)
	if err != nil {
		return nil, err
	}
	tokens := map[string]bool{}
	for _, shard := range t.Shards {
		for row, err := range readTable[NamedAgent](t.partPath(tableAgents, t.PartName(shard))) {
			if errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf(
					"%s lacks a part of its table %s: complete robots-bulk pack first, or pack again if an earlier version made it",
					snapshot, tableAgents,
				)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", filepath.Join(snapshot, tableAgents), err)
			}
			tokens[row.RFC9309] = true
		}
	}
	delete(tokens, "")
	delete(tokens, "*")
	if len(tokens) == 0 {
		return nil, fmt.Errorf("no file in %s names a crawler", snapshot)
	}
	agents := make([][]string, 0, len(tokens))
	for _, token := range slices.Sorted(maps.Keys(tokens)) {
		agents = append(agents, []string{token})
	}
	return agents, nil
}
