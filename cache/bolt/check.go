package bolt

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"go.etcd.io/bbolt"
)

// A checker checks the structure of a bbolt file before bbolt relies on it: bbolt reads without
// end if a branch page leads back to itself, and allocates as many free pages as the file lists.
// Numbers in the file have the byte order of the machine.
//
// It reads the beginning of each page once at most, without keys and records in further pages, and
// the pages of a level of the trees in the order of the file: a file of 500,000 sites has 200,000
// pages.
type checker struct {
	file     io.ReaderAt
	pageSize uint64
	isUsed   []bool   // by page number, up to the first page that was never used
	data     []byte   // of the current page
	below    []uint64 // the pages of the next level
}

// A page is a page of the file with its overflow pages.
type page struct {
	number   uint64
	begin    uint64 // in the file
	size     uint64
	kind     uint16
	count    uint64
	isInline bool   // inside the value of a small bucket
	bytes    []byte // its beginning, as far as it was read
}

const (
	branchPage   = 1
	leafPage     = 2
	freelistPage = 16

	pageHeader    = 16 // number (8), kind (2), count (2), number of overflow pages (4)
	elementSize   = 16
	bucketElement = 1  // kind of a leaf element
	bucketHeader  = 16 // root page (8), sequence (8)
)

// check checks the pages that a transaction can reach, and the free pages.
func check(file io.ReaderAt, tx *bbolt.Tx, pageSize int) error {
	c := &checker{file: file, pageSize: uint64(pageSize), isUsed: make([]bool, tx.Size()/int64(pageSize)), data: make([]byte, pageSize)}
	for n := range uint64(2) { // sizes, root page (16), free pages (32), transaction (48)
		meta, err := c.read(n*c.pageSize+pageHeader, 64)
		if err != nil {
			return err
		}
		if uint64At(meta, 48) == uint64(tx.ID()) {
			if err := c.trees(uint64At(meta, 16)); err != nil {
				return err
			}
			return c.free(uint64At(meta, 32))
		}
	}
	return damaged("no page describes the transaction")
}

func damaged(format string, values ...any) error {
	return fmt.Errorf("%w: %s", errDamaged, fmt.Sprintf(format, values...))
}

func uint16At(data []byte, at uint64) uint16 { return binary.NativeEndian.Uint16(data[at:]) }
func uint32At(data []byte, at uint64) uint64 { return uint64(binary.NativeEndian.Uint32(data[at:])) }
func uint64At(data []byte, at uint64) uint64 { return binary.NativeEndian.Uint64(data[at:]) }

func (c *checker) read(begin, size uint64) ([]byte, error) {
	data := make([]byte, size)
	if _, err := c.file.ReadAt(data, int64(begin)); err != nil {
		return nil, damaged("%d bytes at %d: %v", size, begin, err)
	}
	return data, nil
}

// use marks a page, which must not be marked.
func (c *checker) use(n uint64) error {
	switch {
	case n < 2 || n >= uint64(len(c.isUsed)):
		return damaged("there is no page %d", n)
	case c.isUsed[n]:
		return damaged("page %d is used twice", n)
	}
	c.isUsed[n] = true
	return nil
}

// page returns a page and marks it. Its data are valid until the next page.
func (c *checker) page(n uint64) (*page, error) {
	if err := c.use(n); err != nil {
		return nil, err
	}
	begin := n * c.pageSize
	if _, err := c.file.ReadAt(c.data, int64(begin)); err != nil {
		return nil, damaged("page %d: %v", n, err)
	}
	if id := uint64At(c.data, 0); id != n {
		return nil, damaged("page %d has the number %d", n, id)
	}
	overflow := uint32At(c.data, 12)
	for next := n + 1; next <= n+overflow; next++ {
		if err := c.use(next); err != nil {
			return nil, err
		}
	}
	return &page{
		number: n, begin: begin, size: (1 + overflow) * c.pageSize,
		kind: uint16At(c.data, 8), count: uint64(uint16At(c.data, 10)), bytes: c.data,
	}, nil
}

// part returns bytes of a page, which it must have.
func (c *checker) part(p *page, at, size uint64) ([]byte, error) {
	if at+size <= uint64(len(p.bytes)) {
		return p.bytes[at : at+size], nil
	}
	return c.read(p.begin+at, size)
}

// elements returns the elements of a branch or leaf page, without their keys and values.
func (c *checker) elements(p *page) ([]byte, error) {
	if pageHeader+p.count*elementSize > p.size {
		return nil, damaged("%d elements exceed page %d", p.count, p.number)
	}
	return c.part(p, pageHeader, p.count*elementSize)
}

// trees checks a page and those below it. As no page is used twice, this ends.
func (c *checker) trees(root uint64) error {
	for level := []uint64{root}; len(level) > 0; level = c.below {
		slices.Sort(level)
		c.below = nil
		for _, n := range level {
			if err := c.tree(n); err != nil {
				return err
			}
		}
	}
	return nil
}

// tree checks a page, and adds those below it to the next level.
func (c *checker) tree(n uint64) error {
	p, err := c.page(n)
	switch {
	case err != nil:
		return err
	case p.kind == leafPage:
		return c.leaf(p)
	case p.kind != branchPage:
		return damaged("page %d has the kind %d", n, p.kind)
	case p.count == 0:
		return damaged("branch page %d is empty", n)
	}
	elements, err := c.elements(p)
	if err != nil {
		return err
	}
	end := pageHeader + p.count*elementSize
	for i := range p.count { // position of the key (4), its size (4), page (8)
		at := i * elementSize
		if end, err = p.data(pageHeader+at+uint32At(elements, at), uint32At(elements, at+4), end); err != nil {
			return err
		}
		c.below = append(c.below, uint64At(elements, at+8))
	}
	return nil
}

// data returns the end of the data of an element, which begin after those of the element before
// and end in the page.
func (p *page) data(begin, size, before uint64) (end uint64, err error) {
	end = begin + size
	if begin < before || end > p.size {
		return 0, damaged("page %d has an element at %d to %d", p.number, begin, end)
	}
	return end, nil
}

// leaf checks the elements of a leaf page and the buckets among them.
func (c *checker) leaf(p *page) error {
	elements, err := c.elements(p)
	if err != nil {
		return err
	}
	end := pageHeader + p.count*elementSize
	for i := range p.count { // kind (4), position of key and value (4), their sizes (8)
		at := i * elementSize
		size := uint32At(elements, at+12)
		if end, err = p.data(pageHeader+at+uint32At(elements, at+4), uint32At(elements, at+8)+size, end); err != nil {
			return err
		}
		if uint32At(elements, at)&bucketElement == 0 {
			continue
		}
		if err := c.bucket(p, end-size, size); err != nil {
			return err
		}
	}
	return nil
}

// bucket checks the bucket in a value of a page: it has a root page, or contains a leaf page, in
// which there are no buckets.
func (c *checker) bucket(p *page, value, size uint64) error {
	if size < bucketHeader || p.isInline {
		return damaged("page %d has a malformed bucket", p.number)
	}
	header, err := c.part(p, value, min(size, bucketHeader+pageHeader))
	if err != nil {
		return err
	}
	if root := uint64At(header, 0); root != 0 {
		c.below = append(c.below, root)
		return nil
	}
	if len(header) < bucketHeader+pageHeader || uint16At(header, bucketHeader+8) != leafPage {
		return damaged("page %d has a malformed bucket", p.number)
	}
	inline := &page{
		number: p.number, begin: p.begin + value + bucketHeader, size: size - bucketHeader,
		kind: leafPage, count: uint64(uint16At(header, bucketHeader+10)), isInline: true,
	}
	if end := value + size; end <= uint64(len(p.bytes)) {
		inline.bytes = p.bytes[value+bucketHeader : end]
	}
	return c.leaf(inline)
}

// free checks the list of free pages.
func (c *checker) free(n uint64) error {
	p, err := c.page(n)
	if err != nil {
		return err
	}
	if p.kind != freelistPage {
		return damaged("page %d has the kind %d", n, p.kind)
	}
	begin := uint64(pageHeader)
	count := p.count
	if count == 1<<16-1 { // the first number is the count
		first, err := c.part(p, begin, 8)
		if err != nil {
			return err
		}
		begin = begin + 8
		count = uint64At(first, 0)
	}
	if count > (p.size-begin)/8 {
		return damaged("%d free pages exceed page %d", count, n)
	}
	list, err := c.part(p, begin, count*8)
	if err != nil {
		return err
	}
	for i := range count {
		if err := c.use(uint64At(list, 8*i)); err != nil {
			return err
		}
	}
	return nil
}
