package bulk

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
)

// writePart makes the captures and bodies of a range of sites; the first shard also writes the
// damage of all inputs.
func (s *runSet) writePart(ctx context.Context, format string, shard Shard, p *PartWriter) (counts ShardCounts, err error) {
	if shard.Number == 0 {
		if err := s.writeDamage(p); err != nil {
			return counts, err
		}
	}
	captures, err := createTablePart[Capture](p, tableCaptures, format, "surt", "origin", "fetched")
	if err != nil {
		return counts, err
	}
	bodies := newSorter(&p.tempFiles)
	for response, err := range s.responses(ctx, shard.From, shard.To) {
		if err != nil {
			return counts, err
		}
		if !response.isRobotsTxt() {
			continue
		}
		capture, last, err := s.resolve(response)
		if err != nil {
			return counts, err
		}
		counts.Captures++
		if last != nil && last.SHA256 != "" {
			if err := addBodyLocation(bodies, last); err != nil {
				return counts, err
			}
		}
		if err := captures.Write(capture); err != nil {
			return counts, err
		}
	}
	if err := captures.Close(); err != nil {
		return counts, err
	}
	return counts, s.writeBodies(ctx, p, format, bodies)
}

// addBodyLocation adds where the body of a response is: its hash, the number of its run, and its
// offset there.
func addBodyLocation(bodies *sorter, response *archivedResponse) error {
	hash, err := hex.DecodeString(response.SHA256)
	if err != nil {
		return err
	}
	location := binary.BigEndian.AppendUint32(nil, uint32(response.run.number))
	location = binary.BigEndian.AppendUint64(location, uint64(response.BodyOffset))
	return bodies.add(hash, location)
}

// writeBodies writes bodies, each once, from their locations.
func (s *runSet) writeBodies(ctx context.Context, p *PartWriter, format string, locations *sorter) error {
	bodies, err := createTablePart[Body](p, tableBodies, format, "sha256")
	if err != nil {
		return err
	}
	lastHash := ""
	for location, err := range locations.sortedPairs {
		err = cmp.Or(err, ctx.Err())
		if err != nil {
			return err
		}
		hash := hex.EncodeToString(location.key)
		if hash == lastHash {
			continue
		}
		lastHash = hash
		run := s.runs[binary.BigEndian.Uint32(location.value)]
		body, err := run.body(int64(binary.BigEndian.Uint64(location.value[4:])))
		if err != nil {
			return err
		}
		if err := bodies.Write(&Body{SHA256: hash, Body: body}); err != nil {
			return err
		}
	}
	return bodies.Close()
}

// writeDamage writes the damage of the inputs of all runs, if there is any.
func (s *runSet) writeDamage(p *PartWriter) error {
	var rows []Damage
	for _, run := range s.runs {
		rows = append(rows, run.Damage...)
	}
	if len(rows) == 0 {
		return nil
	}
	damage, err := createTablePart[Damage](p, errorsDir, JSONL)
	if err != nil {
		return err
	}
	for i := range rows {
		if err := damage.Write(&rows[i]); err != nil {
			return err
		}
	}
	return damage.Close()
}
