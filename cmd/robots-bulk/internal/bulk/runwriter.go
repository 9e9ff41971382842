package bulk

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"slices"

	"github.com/klauspost/compress/s2"
)

// maxKnownBodies limits the bodies that a shard remembers in order to write each once. A body that
// returns later is written again, until pack resolve.
const maxKnownBodies = 100_000

// A runWriter writes a sorted run.
type runWriter struct {
	part        *PartWriter
	index       runIndex
	out         *bufio.Writer
	bodyOffsets map[string]int64 // of the last bodies by hash
	compressed  []byte           // reused
	sorter      *sorter
	dropped     []memberRange // in order, disjoint
}

// A memberRange is some members in succession.
type memberRange struct{ first, last memberID }

// dropMembers drops the responses of a range that ends with the current member.
func (w *runWriter) dropMembers(members memberRange) {
	for n := len(w.dropped); n > 0 && w.dropped[n-1].first >= members.first; n-- {
		w.dropped = w.dropped[:n-1]
	}
	w.dropped = append(w.dropped, members)
}

// isDropped reports whether the responses of a member are dropped.
func (w *runWriter) isDropped(member memberID) bool {
	_, found := slices.BinarySearchFunc(w.dropped, member, func(members memberRange, member memberID) int {
		switch {
		case members.last < member:
			return -1
		case members.first > member:
			return 1
		}
		return 0
	})
	return found
}

// writeRun reads the inputs of a shard and writes their responses as a sorted run.
func writeRun(ctx context.Context, t *Task, shard Shard, o PackOptions, p *PartWriter) error {
	file, err := p.CreateTable(tableRuns)
	if err != nil {
		return err
	}
	w := &runWriter{
		part: p,
		out:  bufio.NewWriterSize(file, 64<<10), bodyOffsets: map[string]int64{}, sorter: newSorter(&p.tempFiles)}
	for _, number := range shard.Inputs {
		if err := w.addInput(ctx, t.Inputs[number], number, o); err != nil {
			return err
		}
	}
	return w.close(ctx)
}

// addInput adds the responses and the damage of an input.
func (w *runWriter) addInput(ctx context.Context, input Input, number int, o PackOptions) error {
	identified, err := identifyInputs([]Input{input})
	if err != nil {
		return err
	}
	w.index.Inputs = append(w.index.Inputs, identified...)
	log := newDamageLog()
	responses := 0
	reader := &inputReader{looseFiles: o.LooseFiles, addDamage: log.add}
	reader.addBytes = func(n int64) { w.part.advance(0, n) }
	reader.addResponse = func(response *archivedResponse, body []byte) error {
		responses++
		w.part.advance(1, 0)
		return w.add(response, body, newMemberID(number, reader.memberNumber))
	}
	reader.dropMembers = func(from uint32) {
		w.dropMembers(memberRange{first: newMemberID(number, from), last: newMemberID(number, reader.memberNumber)})
	}
	if err := reader.read(ctx, input); err != nil {
		return err
	}
	if responses == 0 && log.byKind[damageNotArchive] == 0 {
		log.add(Damage{Input: input.Name, Kind: "no-capture", Detail: "it has no response of a site"})
	}
	w.index.Damage = append(w.index.Damage, log.rows...)
	return nil
}

// add adds a response and writes its body.
func (w *runWriter) add(response *archivedResponse, body []byte, member memberID) error {
	if response.SHA256 != "" {
		offset, err := w.writeBody(response.SHA256, body)
		if err != nil {
			return err
		}
		response.BodyOffset = offset
	}
	prefix, err := urlKey(response.URL)
	if err != nil {
		return err
	}
	row, err := json.Marshal(response)
	if err != nil {
		return err
	}
	key := response.key(prefix, member)
	if response.RecordID != "" && response.Revisit == nil {
		if err := w.sorter.add(response.key(idKey(response.RecordID), member), key); err != nil {
			return err
		}
	}
	return w.sorter.add(key, row)
}

// writeBody writes a body, unless it was written lately, and returns its offset.
func (w *runWriter) writeBody(hash string, body []byte) (int64, error) {
	if offset, ok := w.bodyOffsets[hash]; ok {
		return offset, nil
	}
	w.compressed = s2.Encode(w.compressed[:cap(w.compressed)], body)
	n, _ := w.out.Write(binary.AppendUvarint(nil, uint64(len(w.compressed)))) // its error is sticky
	if _, err := w.out.Write(w.compressed); err != nil {
		return 0, err
	}
	offset := w.index.BodiesEnd
	w.index.BodiesEnd += int64(n + len(w.compressed))
	if len(w.bodyOffsets) == maxKnownBodies {
		clear(w.bodyOffsets)
	}
	w.bodyOffsets[hash] = offset
	return offset, nil
}

// close writes the responses and the index.
func (w *runWriter) close(ctx context.Context) error {
	pairs := &pairWriter{out: w.out, end: w.index.BodiesEnd}
	for p, err := range w.sorter.sortedPairs {
		err = cmp.Or(err, ctx.Err())
		if err != nil {
			return err
		}
		if w.isDropped(keyMember(p.key)) {
			continue
		}
		if keySURT(p.key) < afterAllSites {
			w.index.Responses++
		}
		if err := pairs.add(p); err != nil {
			return err
		}
	}
	w.index.Blocks = pairs.blocks
	w.index.ResponsesEnd = pairs.end
	index, err := json.Marshal(w.index)
	if err != nil {
		return err
	}
	_, _ = w.out.Write(index) // its error is sticky
	_, _ = w.out.Write(binary.BigEndian.AppendUint64(nil, uint64(len(index))))
	return w.out.Flush()
}
