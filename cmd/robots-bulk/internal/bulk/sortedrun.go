package bulk

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/klauspost/compress/s2"
)

// A sorted run is the file that one shard of pack read writes: all responses in its inputs,
// sorted, so that pack resolve can merge runs by site and find a response in any of them.
// It has three sections:
//
//	bodies     compressed by s2, each after its length
//	responses  pairs of a key and a response as JSON, then of a record ID and the key of a response
//	index      runIndex as JSON, and its length in 8 bytes

// A runIndex is the last section of a sorted run.
type runIndex struct {
	BodiesEnd    int64       `json:"Bodies"` // where the responses begin
	ResponsesEnd int64       `json:"End"`
	Responses    int64       // that are not dropped
	Blocks       []pairBlock // of the responses
	Damage       []Damage    `json:"Damaged"` // of all inputs
	Inputs       []Input     // as they were when they were read
}

var errMalformedRun = errors.New("the run is malformed")

// A sortedRun is a run that is read. It is safe for concurrent use.
type sortedRun struct {
	*os.File
	*pairFile // of answers
	runIndex
	number int // among the runs of the archive
}

func openSortedRun(name string) (*sortedRun, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	r := &sortedRun{File: f}
	if err := r.readIndex(); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r.pairFile = &pairFile{f, r.Blocks, r.ResponsesEnd}
	return r, nil
}

func (r *sortedRun) readIndex() error {
	info, err := r.Stat()
	if err != nil {
		return err
	}
	var tail [8]byte
	if _, err := r.ReadAt(tail[:], info.Size()-8); err != nil {
		return err
	}
	size := int64(binary.BigEndian.Uint64(tail[:]))
	if size < 0 || size > info.Size()-8 {
		return errMalformedRun
	}
	index := make([]byte, size)
	if _, err := r.ReadAt(index, info.Size()-8-size); err != nil {
		return err
	}
	return json.Unmarshal(index, &r.runIndex)
}

// body reads the body at a place.
func (r *sortedRun) body(offset int64) ([]byte, error) {
	in := bufio.NewReaderSize(io.NewSectionReader(r, offset, r.BodiesEnd-offset), 4<<10)
	n, err := binary.ReadUvarint(in)
	if err != nil {
		return nil, err
	}
	if n > uint64(r.BodiesEnd-offset) {
		return nil, errMalformedRun
	}
	compressed := make([]byte, n)
	if _, err := io.ReadFull(in, compressed); err != nil {
		return nil, err
	}
	return s2.Decode(nil, compressed)
}

// divideSites returns the SURT keys of parts-1 sites, in order, that divide the responses of runs
// into parts of about one size.
func divideSites(runs []*sortedRun, parts int) []string {
	var blocks []siteBlock
	for _, run := range runs {
		blocks = append(blocks, run.siteBlocks()...)
	}
	slices.SortFunc(blocks, func(a, b siteBlock) int { return cmp.Compare(a.surt, b.surt) })
	total := int64(0)
	for _, block := range blocks {
		total += block.size
	}
	sites := make([]string, 0, parts)
	size := int64(0) // of the blocks before the next one
	next := 0
	for n := 1; n < parts; n++ {
		for next < len(blocks) && size < total*int64(n)/int64(parts) {
			size += blocks[next].size
			next++
		}
		site := "~" // after all sites
		if next < len(blocks) {
			site = blocks[next].surt
		}
		sites = append(sites, site)
	}
	return sites
}

// A siteBlock is a block of responses, whose first one is of a site.
type siteBlock struct {
	surt string
	size int64 // bytes
}

// siteBlocks returns the blocks of responses, without those of record IDs.
func (r *sortedRun) siteBlocks() []siteBlock {
	var blocks []siteBlock
	for i, block := range r.Blocks {
		end := r.ResponsesEnd
		if i+1 < len(r.Blocks) {
			end = r.Blocks[i+1].Offset
		}
		if surt := keySURT(block.Key); surt < afterAllSites {
			blocks = append(blocks, siteBlock{surt: surt, size: end - block.Offset})
		}
	}
	return blocks
}
