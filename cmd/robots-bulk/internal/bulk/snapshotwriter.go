package bulk

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
)

// writePart makes the captures of a range of sites, the bodies, and the tables about them; the first shard also writes the
// damage of all inputs.
func (s *runSet) writePart(ctx context.Context, o PackOptions, shard Shard, p *PartWriter) error {
	if shard.Number == 0 {
		if err := s.writeDamage(p); err != nil {
			return err
		}
	}
	captures, err := createTablePart[Capture](p, tableCaptures, p.task.Format, "surt", "origin", "fetched")
	if err != nil {
		return err
	}
	bodies := newSorter(&p.tempFiles)
	work := s.bytesPerResponse() / 2 // the bodies are the other half
	locations := int64(0)
	for response, err := range s.responses(ctx, shard.From, shard.To) {
		if err != nil {
			return err
		}
		if !response.isRobotsTxt() {
			continue
		}
		capture, last, err := s.resolve(response)
		if err != nil {
			return err
		}
		p.addCapture(capture.SURT)
		p.advance(1, work)
		if last != nil && last.SHA256 != "" {
			locations++
			if err := addBodyLocation(bodies, last); err != nil {
				return err
			}
		}
		if err := captures.Write(capture); err != nil {
			return err
		}
	}
	if err := captures.Close(); err != nil {
		return err
	}
	return s.writeBodies(ctx, p, o, bodies, (shard.work-p.work)/max(locations, 1))
}

// addBodyLocation adds where the body of a response is: its hash, whether it is truncated, the number of
// its run, its offset there, and its size. Of the locations of a body, complete ones come first.
func addBodyLocation(bodies *sorter, response *archivedResponse) error {
	key, err := hex.DecodeString(response.SHA256)
	if err != nil {
		return err
	}
	if response.Truncated {
		key = append(key, 1)
	} else {
		key = append(key, 0)
	}
	location := binary.BigEndian.AppendUint32(nil, uint32(response.run.number))
	location = binary.BigEndian.AppendUint64(location, uint64(response.BodyOffset))
	location = binary.BigEndian.AppendUint64(location, uint64(response.Bytes))
	return bodies.add(key, location)
}

// readBody reads the body at a location.
func (s *runSet) readBody(location pair) (*storedBody, error) {
	run := s.runs[binary.BigEndian.Uint32(location.value)]
	text, err := run.body(int64(binary.BigEndian.Uint64(location.value[4:])))
	if err != nil {
		return nil, err
	}
	return &storedBody{
		Body:  Body{SHA256: hex.EncodeToString(location.key[:sha256.Size]), Body: text},
		bytes: int64(binary.BigEndian.Uint64(location.value[12:])), truncated: location.key[sha256.Size] == 1,
	}, nil
}

// writeBodies writes bodies and the rows about them, each once, from their locations; each of those is
// so much work.
func (s *runSet) writeBodies(ctx context.Context, p *PartWriter, o PackOptions, locations *sorter, work int64) error {
	bodies, err := createTablePart[Body](p, tableBodies, p.task.Format, "sha256")
	if err != nil {
		return err
	}
	files, err := newFileTables(p, p.task.Format, o)
	if err != nil {
		return err
	}
	var lastHash []byte
	for location, err := range locations.sortedPairs {
		err = cmp.Or(err, ctx.Err())
		if err != nil {
			return err
		}
		p.advance(0, work)
		if lastHash != nil && bytes.HasPrefix(location.key, lastHash) {
			continue
		}
		lastHash = append(lastHash[:0], location.key[:sha256.Size]...)
		body, err := s.readBody(location)
		if err != nil {
			return err
		}
		if err := errors.Join(bodies.Write(&body.Body), files.write(body)); err != nil {
			return err
		}
	}
	return errors.Join(bodies.Close(), files.close())
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
