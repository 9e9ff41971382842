package warc

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/bits"
)

// This file reads members of gzip (RFC 1952, RFC 1951) from a source. An archive has three
// small ones for each capture, and half of the time that it takes to read one by a reader
// of any stream goes into the tables of codes and into bytes that are read one by one. This
// one takes its input where it lies, eight bytes at a time, and ends right behind the member.

var (
	errDeflate = errors.New("gzip: the data is corrupt")
	errGzip    = errors.New("gzip: the header is malformed")
	errSum     = errors.New("gzip: invalid checksum")
)

const (
	window   = 32 << 10
	ahead    = 64 << 10 // bytes that are inflated at a time
	longest  = 258      // bytes that one code stands for
	slack    = 8        // that a copy may write behind its end
	litBits  = 10       // of the table of literals and lengths that is looked up first
	distBits = 8
)

// An inflater reads one member after another.
type inflater struct {
	raw    *source
	bits   uint64 // read ahead, the next in the lowest place
	have   int    // so many
	out    []byte // what copies refer to, then what is not yet handed out
	from   int    // in out, of what is not handed out
	to     int    // its end
	sum    uint32
	size   uint32
	block  uint8 // what is read next
	last   bool  // no block follows
	stored int   // bytes of a stored block that are left
	err    error

	lit, dist       *[tableSize]uint32 // of the block
	ownLit, ownDist [tableSize]uint32
	lengths         [288 + 32]uint8
}

const (
	blockHeader uint8 = iota
	blockStored
	blockCoded
)

// A table says of the next bits what they mean. An entry has from the lowest bit on: the
// length of the code; what it is; how many bits follow that belong to it; and its value, that
// of a literal, the least of a length or distance, or where the table of longer codes begins.
const (
	tableSize = 2048

	entryLen     = 0x1F
	entryLiteral = 1 << 5
	entryEnd     = 1 << 6
	entryMore    = 1 << 7 // the table goes on elsewhere, for so many bits
	entryBad     = 1 << 12
	extraShift   = 8
	extraMask    = 0xF
	valueShift   = 16
)

// reset begins with the member of which the header comes next.
func (d *inflater) reset(raw *source) error {
	if d.out == nil {
		d.out = make([]byte, window+ahead+longest+slack)
	}
	d.raw, d.bits, d.have = raw, 0, 0
	d.from, d.to = 0, 0
	d.sum, d.size, d.block, d.last, d.err = 0, 0, blockHeader, false, nil
	head := raw.peek(10)
	if len(head) < 10 {
		return io.ErrUnexpectedEOF
	}
	flags := head[3]
	if head[0] != gzipMagic[0] || head[1] != gzipMagic[1] || head[2] != gzipMagic[2] {
		return errGzip
	}
	raw.skip(10)
	if flags&4 != 0 { // an extra field
		n := raw.peek(2)
		if len(n) < 2 {
			return io.ErrUnexpectedEOF
		}
		size := 2 + int(binary.LittleEndian.Uint16(n))
		if len(raw.peek(size)) < size {
			return io.ErrUnexpectedEOF
		}
		raw.skip(size)
	}
	for _, text := range []byte{8, 16} { // a name, a comment
		for flags&text != 0 {
			c, err := raw.ReadByte()
			if err != nil {
				return io.ErrUnexpectedEOF
			}
			if c == 0 {
				break
			}
		}
	}
	if flags&2 != 0 { // a checksum of the header
		if len(raw.peek(2)) < 2 {
			return io.ErrUnexpectedEOF
		}
		raw.skip(2)
	}
	return nil
}

// Read reads the content of the member. It ends in io.EOF if the checksum is right. An error
// comes with the last bytes before it, so that what they belong to is known to be torn.
func (d *inflater) Read(p []byte) (int, error) {
	for d.from == d.to {
		if d.err != nil {
			return 0, d.err
		}
		if d.to >= window+ahead {
			copy(d.out, d.out[d.to-window:d.to])
			d.from, d.to = window, window
		}
		if d.err = d.more(); d.err != nil {
			d.raw.next -= d.have / 8 // whole bytes that were read ahead
			d.bits, d.have = 0, 0
		}
		done := d.out[d.from:d.to]
		d.sum = crc32.Update(d.sum, crc32.IEEETable, done)
		d.size += uint32(len(done))
		if d.err == io.EOF { //nolint:errorlint // the end itself
			d.err = d.trailer()
		}
	}
	n := copy(p, d.out[d.from:d.to])
	if d.from += n; d.from < d.to {
		return n, nil
	}
	return n, d.err
}

// trailer compares the checksum and the length.
func (d *inflater) trailer() error {
	tail := d.raw.peek(8)
	if len(tail) < 8 {
		return io.ErrUnexpectedEOF
	}
	if binary.LittleEndian.Uint32(tail) != d.sum || binary.LittleEndian.Uint32(tail[4:]) != d.size {
		return errSum
	}
	d.raw.skip(8)
	return io.EOF
}

// more inflates until the room is full, io.EOF at the end of the last block.
func (d *inflater) more() error {
	for d.to < window+ahead {
		var err error
		switch d.block {
		case blockHeader:
			if d.last {
				return io.EOF
			}
			err = d.header()
		case blockStored:
			err = d.copyStored()
		case blockCoded:
			err = d.decode()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// refill reads ahead as many bits as there is room for, at the end of the input fewer.
func (d *inflater) refill() {
	s := d.raw
	for d.have <= 56 {
		if s.next == len(s.buf) && !s.fill() {
			return
		}
		d.bits |= uint64(s.buf[s.next]) << d.have
		s.next++
		d.have += 8
	}
}

// take returns the next n bits, 16 at most.
func (d *inflater) take(n int) (v int, ok bool) {
	if d.have < n {
		if d.refill(); d.have < n {
			return 0, false
		}
	}
	v = int(d.bits & (1<<n - 1))
	d.bits >>= n
	d.have -= n
	return v, true
}

// header reads that of a block.
func (d *inflater) header() error {
	v, ok := d.take(3)
	if !ok {
		return io.ErrUnexpectedEOF
	}
	d.last = v&1 != 0
	switch v >> 1 {
	case 0:
		d.bits >>= d.have % 8
		d.have -= d.have % 8
		n, _ := d.take(16)
		not, ok := d.take(16)
		if !ok {
			return io.ErrUnexpectedEOF
		}
		if n != not^0xFFFF {
			return errDeflate
		}
		d.stored, d.block = n, blockStored
	case 1:
		d.lit, d.dist, d.block = &fixedLit, &fixedDist, blockCoded
	case 2:
		d.block = blockCoded
		return d.codes()
	default:
		return errDeflate
	}
	return nil
}

// copyStored copies a part of a stored block.
func (d *inflater) copyStored() error {
	for ; d.have > 0 && d.stored > 0 && d.to < window+ahead; d.stored-- {
		v, _ := d.take(8)
		d.out[d.to] = byte(v)
		d.to++
	}
	for d.stored > 0 && d.to < window+ahead {
		n, err := d.raw.Read(d.out[d.to:min(d.to+d.stored, window+ahead)])
		d.to += n
		d.stored -= n
		if err != nil {
			return io.ErrUnexpectedEOF
		}
	}
	if d.stored == 0 {
		d.block = blockHeader
	}
	return nil
}

// codeOrder is that of the lengths of codes for lengths of codes (RFC 1951 section 3.2.7).
var codeOrder = [19]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// codes reads the codes of a block.
func (d *inflater) codes() error {
	v, ok := d.take(14)
	if !ok {
		return io.ErrUnexpectedEOF
	}
	lits, dists, n := v&31+257, v>>5&31+1, v>>10+4
	if lits > 286 || dists > 30 {
		return errDeflate
	}
	var first [19]uint8
	for _, at := range codeOrder[:n] {
		v, ok := d.take(3)
		if !ok {
			return io.ErrUnexpectedEOF
		}
		first[at] = uint8(v)
	}
	const firstBits = 7
	table := &d.ownDist // until it is made
	if !makeTable(table, first[:], firstBits, func(symbol int) uint32 { return uint32(symbol) << valueShift }) {
		return errDeflate
	}
	for i := 0; i < lits+dists; {
		if d.have < 14 {
			d.refill()
		}
		e := table[d.bits&(1<<firstBits-1)]
		size := int(e & entryLen)
		if d.have -= size; d.have < 0 {
			return io.ErrUnexpectedEOF
		}
		if e&entryBad != 0 {
			return errDeflate
		}
		d.bits >>= size
		symbol := int(e >> valueShift)
		if symbol < 16 {
			d.lengths[i] = uint8(symbol)
			i++
			continue
		}
		var length uint8
		var extra, times int
		switch symbol {
		case 16:
			if i == 0 {
				return errDeflate
			}
			length, extra, times = d.lengths[i-1], 2, 3
		case 17:
			extra, times = 3, 3
		default:
			extra, times = 7, 11
		}
		v, ok := d.take(extra)
		if !ok {
			return io.ErrUnexpectedEOF
		}
		if times += v; i+times > lits+dists {
			return errDeflate
		}
		for range times {
			d.lengths[i] = length
			i++
		}
	}
	d.lit, d.dist = &d.ownLit, &d.ownDist
	if !makeTable(d.lit, d.lengths[:lits], litBits, litEntry) || !makeTable(d.dist, d.lengths[lits:lits+dists], distBits, distEntry) {
		return errDeflate
	}
	return nil
}

// What symbols of lengths and distances stand for (RFC 1951 section 3.2.5).
var litEntries, distEntries = func() (lit [288]uint32, dist [32]uint32) {
	for i := range 256 {
		lit[i] = uint32(i)<<valueShift | entryLiteral
	}
	lit[256] = entryEnd
	base := uint32(3)
	for i := range 28 {
		extra := uint32(max(i/4-1, 0))
		lit[257+i] = base<<valueShift | extra<<extraShift
		base += 1 << extra
	}
	lit[285] = longest << valueShift
	lit[286], lit[287] = entryBad, entryBad
	base = 1
	for i := range 30 {
		extra := uint32(max(i/2-1, 0))
		dist[i] = base<<valueShift | extra<<extraShift
		base += 1 << extra
	}
	dist[30], dist[31] = entryBad, entryBad
	return lit, dist
}()

func litEntry(symbol int) uint32  { return litEntries[symbol] }
func distEntry(symbol int) uint32 { return distEntries[symbol] }

var fixedLit, fixedDist = func() (lit, dist [tableSize]uint32) {
	var lengths [288]uint8
	for i := range lengths {
		switch {
		case i < 144 || i >= 280:
			lengths[i] = 8
		case i < 256:
			lengths[i] = 9
		default:
			lengths[i] = 7
		}
	}
	makeTable(&lit, lengths[:], litBits, litEntry)
	for i := range 32 {
		lengths[i] = 5
	}
	makeTable(&dist, lengths[:32], distBits, distEntry)
	return lit, dist
}()

// makeTable makes the table of codes of which symbols have these lengths, looked up by so
// many bits first. It returns false if they are no code. A code of one symbol has one bit, of
// which the other value means nothing; one of none means nothing at all.
func makeTable(table *[tableSize]uint32, lengths []uint8, root int, entry func(symbol int) uint32) bool {
	var count [16]int
	for _, n := range lengths {
		count[n]++
	}
	longest := 15
	for longest > 0 && count[longest] == 0 {
		longest--
	}
	var next [17]int // the first code of each length
	code := 0
	for n := 1; n <= longest; n++ {
		next[n] = code
		code = (code + count[n]) << 1
	}
	if used := code >> 1; longest > 0 && used != 1<<longest {
		if longest != 1 || used != 1 {
			return false
		}
	}
	size := 1 << root
	if longest == 0 || longest == 1 {
		for i := range size {
			table[i] = entryBad | 1
		}
	}
	// Symbols in the order of their codes.
	var sorted [288]uint16
	var at [17]int
	for n := 1; n < 16; n++ {
		at[n+1] = at[n] + count[n]
	}
	for symbol, n := range lengths {
		if n > 0 {
			sorted[at[n]] = uint16(symbol)
			at[n]++
		}
	}
	i, end := 0, size
	for n := 1; n <= min(longest, root); n++ {
		for range count[n] {
			e := entry(int(sorted[i])) | uint32(n)
			i++
			for k := int(bits.Reverse16(uint16(next[n])) >> (16 - n)); k < size; k += 1 << n {
				table[k] = e
			}
			next[n]++
		}
	}
	prefix, below, start := -1, 0, 0
	for n := root + 1; n <= longest; n++ {
		for left := count[n]; left > 0; left-- {
			reversed := int(bits.Reverse16(uint16(next[n])) >> (16 - n))
			if low := reversed & (size - 1); low != prefix {
				// Of as many bits as the codes of the prefix have, which follow one another.
				prefix, below, start = low, n-root, end
				for room := 1<<below - left; room > 0 && root+below < longest; {
					below++
					room = room<<1 - count[root+below]
				}
				if end += 1 << below; end > tableSize {
					return false
				}
				table[low] = uint32(start)<<valueShift | uint32(below)<<extraShift | entryMore | uint32(root)
			}
			e := entry(int(sorted[i])) | uint32(n-root)
			i++
			for k := reversed >> root; k < 1<<below; k += 1 << (n - root) {
				table[start+k] = e
			}
			next[n]++
		}
	}
	return true
}

// decode inflates a coded block until its end or until the room is full.
func (d *inflater) decode() error {
	s := d.raw
	in, pos := s.buf, s.next
	bits, have := d.bits, d.have
	out, to := d.out, d.to
	lit, dist := d.lit, d.dist
	var err error
loop:
	for to < window+ahead {
		if have < 48 { // more than a length and a distance take
			if pos+8 <= len(in) {
				bits |= binary.LittleEndian.Uint64(in[pos:]) << have
				pos += (63 - have) >> 3
				have |= 56
			} else {
				s.next, d.bits, d.have = pos, bits, have
				d.refill()
				in, pos, bits, have = s.buf, s.next, d.bits, d.have
			}
		}
		e := lit[bits&(1<<litBits-1)]
		if e&entryLiteral != 0 { // another may fit into what is read ahead
			bits >>= e & entryLen
			if have -= int(e & entryLen); have < 0 {
				err = io.ErrUnexpectedEOF
				break
			}
			out[to] = byte(e >> valueShift)
			if to++; have < 48 {
				continue
			}
			e = lit[bits&(1<<litBits-1)]
		}
		if e&entryMore != 0 {
			bits >>= litBits
			have -= litBits
			e = lit[(int(e>>valueShift)+int(bits&(1<<(e>>extraShift&extraMask)-1)))&(tableSize-1)]
		}
		bits >>= e & entryLen
		have -= int(e & entryLen)
		switch {
		case have < 0:
			err = io.ErrUnexpectedEOF
			break loop
		case e&entryLiteral != 0:
			out[to] = byte(e >> valueShift)
			to++
			continue
		case e&(entryEnd|entryBad) != 0:
			if e&entryBad != 0 {
				err = errDeflate
			}
			d.block = blockHeader
			break loop
		}
		extra := e >> extraShift & extraMask
		length := int(e>>valueShift) + int(bits&(1<<extra-1))
		bits >>= extra
		have -= int(extra)

		e = dist[bits&(1<<distBits-1)]
		if e&entryMore != 0 {
			bits >>= distBits
			have -= distBits
			e = dist[(int(e>>valueShift)+int(bits&(1<<(e>>extraShift&extraMask)-1)))&(tableSize-1)]
		}
		bits >>= e & entryLen
		extra = e >> extraShift & extraMask
		back := int(e>>valueShift) + int(bits&(1<<extra-1))
		bits >>= extra
		if have -= int(e&entryLen) + int(extra); have < 0 {
			err = io.ErrUnexpectedEOF
			break
		}
		if e&entryBad != 0 || back > to {
			err = errDeflate
			break
		}
		from := to - back
		if back >= 8 {
			for i := 0; i < length; i += 8 {
				binary.LittleEndian.PutUint64(out[to+i:], binary.LittleEndian.Uint64(out[from+i:]))
			}
			to += length
		} else {
			for end := to + length; to < end; {
				to += copy(out[to:end], out[from:to])
			}
		}
	}
	s.next, d.bits, d.have, d.to = pos, bits, max(have, 0), to
	return err
}
