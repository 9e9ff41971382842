package warc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/bits"
	"strings"
	"sync"
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
	step     = 16       // bytes that are copied at a time, of which some may be behind the end
	litBits  = 10       // of the table of literals and lengths that is looked up first
	distBits = 8
	lenBits  = 7 // of that of lengths of codes, which has no longer ones
)

// An inflater reads one member after another.
type inflater struct {
	raw    *source
	bits   uint64 // read ahead, the next in the lowest place
	have   int    // so many
	out    *room  // what copies refer to, then what is not yet handed out
	from   int    // in out, of what is not handed out
	to     int    // its end
	sum    uint32
	size   uint32
	block  uint8 // what is read next
	last   bool  // no block follows
	stored int   // bytes of a stored block that are left
	err    error

	lit, dist       *table // of the block
	ownLit, ownDist table
	lengths         [288 + 32]uint8
}

type room [window + ahead + longest + 2*step]byte

const (
	blockHeader uint8 = iota
	blockStored
	blockCoded
)

// A table says of the next bits what they mean. An entry has from the lowest bit on: the
// bits of the code and of what belongs to it (6); what it is; the bits of the code alone (5);
// and from bit 16 on its value, to which the bits that belong to it are added. One that goes
// on elsewhere has there how many bits are looked up next, and where their table begins.
type table [2048]uint32

const (
	entryBits    = 0x3F
	entryLiteral = 1 << 6
	entryOther   = 1 << 7 // neither a literal nor a number: it goes on elsewhere, is the end, or means nothing
	entryMore    = 1 << 13
	entryEnd     = 1 << 14          // of a block; the length before in the code of codes
	entryBit     = 1<<codeShift + 1 // a bit of the code
	codeShift    = 8
	codeMask     = 0x1F
	valueShift   = 16
)

// reset begins with the member of which the header comes next.
func (d *inflater) reset(raw *source) error {
	if d.out == nil {
		d.out = new(room)
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
			copy(d.out[:], d.out[d.to-window:d.to])
			d.from, d.to = window, window
		}
		if d.err = d.more(); d.err != nil {
			d.giveBack()
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
	if s.next+8 <= len(s.buf) {
		d.bits |= binary.LittleEndian.Uint64(s.buf[s.next:]) << (d.have & 63)
		s.next += (63 - d.have) >> 3
		d.have |= 56
		return
	}
	for d.have <= 56 {
		if s.next == len(s.buf) && !s.fill() {
			return
		}
		d.bits |= uint64(s.buf[s.next]) << d.have
		s.next++
		d.have += 8
	}
}

// giveBack gives whole bytes back that were read ahead.
func (d *inflater) giveBack() {
	d.raw.next -= max(d.have, 0) / 8
	d.bits, d.have = 0, 0
}

// take returns the next n bits, 16 at most. Where there are fewer, have is less than 0 from
// then on.
func (d *inflater) take(n int) int {
	if d.have < n {
		d.refill()
	}
	v := int(d.bits & (1<<n - 1))
	d.bits >>= n
	d.have -= n
	return v
}

// header reads that of a block.
func (d *inflater) header() error {
	v := d.take(3)
	d.last = v&1 != 0
	switch kind := v >> 1; {
	case d.have < 0:
		return io.ErrUnexpectedEOF
	case kind == 0:
		d.bits >>= d.have % 8
		d.have -= d.have % 8
		n, not := d.take(16), d.take(16)
		if d.have < 0 {
			return io.ErrUnexpectedEOF
		}
		if n != not^0xFFFF {
			return errDeflate
		}
		d.giveBack()
		d.stored, d.block = n, blockStored
	case kind == 1:
		d.lit, d.dist = fixed()
		d.block = blockCoded
	case kind == 2:
		d.block = blockCoded
		return d.codes()
	default:
		return errDeflate
	}
	return nil
}

// copyStored copies a part of a stored block.
func (d *inflater) copyStored() error {
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
	v := d.take(14)
	lits, dists, n := v&31+257, v>>5&31+1, v>>10+4
	if d.have >= 0 && (lits > 286 || dists > 30) {
		return errDeflate
	}
	var first [24]uint8
	for _, at := range codeOrder[:n] {
		first[at] = uint8(d.take(3))
	}
	if d.have < 0 {
		return io.ErrUnexpectedEOF
	}
	d.lit, d.dist = &d.ownLit, &d.ownDist
	if !d.dist.make(first[:], lenBits, lenEntries[:]) {
		return errDeflate
	}
	for i := 0; i < lits+dists; {
		if d.have < 14 {
			d.refill()
		}
		e := d.dist[d.bits&(1<<lenBits-1)]
		v := value(e, d.bits)
		d.bits >>= e & entryBits
		if d.have -= int(e & entryBits); d.have < 0 {
			return io.ErrUnexpectedEOF
		}
		if e&entryLiteral != 0 {
			d.lengths[i] = uint8(v)
			i++
			continue
		}
		if e&entryOther != 0 || i+v > lits+dists || i == 0 && e&entryEnd != 0 {
			return errDeflate
		}
		length := uint8(0)
		if e&entryEnd != 0 {
			length = d.lengths[i-1]
		}
		for end := i + v; i < end; i++ {
			d.lengths[i] = length
		}
	}
	var ofDist [32]uint8
	copy(ofDist[:], d.lengths[lits:lits+dists])
	clear(d.lengths[lits:288])
	if !d.lit.make(d.lengths[:288], litBits, litEntries[:]) || !d.dist.make(ofDist[:], distBits, distEntries[:]) {
		return errDeflate
	}
	return nil
}

// What symbols stand for: lengths of codes (RFC 1951 section 3.2.7), literals, lengths and
// distances (section 3.2.5).
var lenEntries, litEntries, distEntries = func() (length [24]uint32, lit [288]uint32, dist [32]uint32) {
	for i := range 16 {
		length[i] = uint32(i)<<valueShift | entryLiteral
	}
	length[16], length[17], length[18] = 3<<valueShift|entryEnd|2, 3<<valueShift|3, 11<<valueShift|7
	for i := range 256 {
		lit[i] = uint32(i)<<valueShift | entryLiteral
	}
	lit[256] = entryOther | entryEnd
	base := uint32(3)
	for i := range 28 {
		extra := uint32(max(i/4-1, 0))
		lit[257+i] = base<<valueShift | extra
		base += 1 << extra
	}
	lit[285] = longest << valueShift
	lit[286], lit[287] = entryOther, entryOther
	base = 1
	for i := range 30 {
		extra := uint32(max(i/2-1, 0))
		dist[i] = base<<valueShift | extra
		base += 1 << extra
	}
	dist[30], dist[31] = entryOther, entryOther
	return length, lit, dist
}()

var fixed = sync.OnceValues(func() (lit, dist *table) {
	lit, dist = new(table), new(table)
	text := strings.Repeat("\x08", 144) + strings.Repeat("\x09", 112) + strings.Repeat("\x07", 24) + strings.Repeat("\x08", 8)
	lit.make([]byte(text), litBits, litEntries[:])
	dist.make(bytes.Repeat([]byte{5}, 32), distBits, distEntries[:])
	return lit, dist
})

// make makes the table of codes of which symbols have these lengths, a multiple of eight of
// them, looked up by so many bits first. It returns false if they are no code. A code of one
// symbol has one bit, of which the other value means nothing; one of none means nothing at all.
func (t *table) make(lengths []uint8, root int, entries []uint32) bool {
	var count, at [17]int
	var found, sorted [288]uint16
	used := 0
	for i := 0; i < len(lengths); i += 8 {
		if binary.LittleEndian.Uint64(lengths[i:]) == 0 { // most symbols have no code
			continue
		}
		for symbol := i; symbol < i+8; symbol++ {
			if n := lengths[symbol]; n > 0 {
				count[n]++
				found[used] = uint16(symbol)
				used++
			}
		}
	}
	room := 1 << 15
	for n := 1; n < 16; n++ {
		at[n+1] = at[n] + count[n]
		room -= count[n] << (15 - n)
	}
	if room != 0 && used > 0 && (used > 1 || count[1] != 1) {
		return false
	}
	for _, symbol := range found[:used] {
		n := lengths[symbol]
		sorted[at[n]] = symbol
		at[n]++
	}
	// Codes in order, with zeros behind; what has fewer bits than the table comes again and again.
	code, width, i := uint16(0), 1, 0
	t[0], t[1] = entryOther|1, entryOther|1
	for ; i < used; i++ {
		symbol := sorted[i]
		n := int(lengths[symbol])
		if n > root {
			break
		}
		for ; width < n; width++ {
			copy(t[1<<width:], t[:1<<width])
		}
		t[bits.Reverse16(code)] = entries[symbol] + uint32(n)*entryBit
		code += 1 << 15 >> (n - 1)
	}
	for ; width < root; width++ {
		copy(t[1<<width:], t[:1<<width])
	}
	// Longer ones, in tables of as many bits as those of a prefix have, which follow one another.
	prefix, below, start, end := -1, 0, 0, 1<<root
	for ; i < used; i++ {
		symbol := sorted[i]
		n := int(lengths[symbol]) - root
		reversed := int(bits.Reverse16(code))
		if low := reversed & (1<<root - 1); low != prefix {
			prefix, below, start = low, n, end
			for room := 1<<n - count[root+n]; room > 0 && root+below < 15; {
				below++
				room = room<<1 - count[root+below]
			}
			if end += 1 << below; end > len(t) {
				return false
			}
			t[low] = uint32(start)<<valueShift | uint32(below)<<codeShift | entryOther | entryMore | uint32(root)
		}
		for k := start + reversed>>root; k < end; k += 1 << n {
			t[k] = entries[symbol] + uint32(n)*entryBit
		}
		count[root+n]--
		code += 1 << 15 >> (root + n - 1)
	}
	return true
}

// entry returns the entry of the next bits, and how many bits were looked up before it.
func (t *table) entry(bits uint64, root int) (e uint32, before int) {
	if e = t[bits&(1<<root-1)]; e&entryMore == 0 {
		return e, 0
	}
	return t[(e>>valueShift+uint32(bits>>root)&(1<<(e>>codeShift&codeMask)-1))&(uint32(len(t))-1)], root
}

// value returns the value of an entry, of which the bits come next.
func value(e uint32, bits uint64) int {
	return int(e>>valueShift) + int(bits&(1<<(e&entryBits)-1)>>(e>>codeShift&codeMask))
}

// symbol reads one symbol with its value. Where it ends early, have is less than 0.
func (d *inflater) symbol(t *table, root int) (e uint32, v int) {
	if d.have < 28 { // as many as one has
		d.refill()
	}
	e, before := t.entry(d.bits, root)
	d.bits >>= before
	v = value(e, d.bits)
	d.bits >>= e & entryBits
	d.have -= before + int(e&entryBits)
	return e, v
}

// decode inflates a coded block until its end or until the room is full.
func (d *inflater) decode() error {
	in, pos, bits, have := d.raw.buf, d.raw.next, d.bits, uint32(d.have) // its lowest 6 bits
	out, to, lit, dist := d.out, d.to, d.lit, d.dist
	var err error
	for uint(to) < window+ahead && pos >= 0 && pos <= len(in)-2*8 { // as few checks of bounds need
		bits |= binary.LittleEndian.Uint64(in[pos:]) << (have & 63)
		pos += int(63-have&63) >> 3
		have |= 56
		e := lit[bits&(1<<litBits-1)]
		if e&entryLiteral != 0 { // two more fit into what is read ahead
			bits >>= e & entryBits
			have -= e
			out[to] = byte(e >> valueShift)
			to++
			if e = lit[bits&(1<<litBits-1)]; e&entryLiteral != 0 {
				bits >>= e & entryBits
				have -= e
				out[to] = byte(e >> valueShift)
				to++
				if e = lit[bits&(1<<litBits-1)]; e&entryLiteral != 0 {
					bits >>= e & entryBits
					have -= e
					out[to] = byte(e >> valueShift)
					to++
					continue
				}
			}
		}
		if e&entryMore != 0 {
			e, _ = lit.entry(bits, litBits)
			bits >>= litBits
			have -= litBits
		}
		length := value(e, bits)
		bits >>= e & entryBits
		have -= e
		if e&entryLiteral != 0 {
			out[to] = byte(length)
			to++
			continue
		}
		if e&entryOther != 0 {
			if d.block = blockHeader; e&entryEnd == 0 {
				err = errDeflate
			}
			break
		}
		bits |= binary.LittleEndian.Uint64(in[pos:]) << (have & 63)
		pos += int(63-have&63) >> 3
		have |= 56
		if e = dist[bits&(1<<distBits-1)]; e&entryMore != 0 {
			e, _ = dist.entry(bits, distBits)
			bits >>= distBits
			have -= distBits
		}
		back := value(e, bits)
		bits >>= e & entryBits
		have -= e
		if e&entryOther != 0 || back > to {
			err = errDeflate
			break
		}
		from, end := to-back, to+length
		if back >= step {
			for ; to < end; to, from = to+step, from+step {
				*(*[step]byte)(out[to:]) = *(*[step]byte)(out[from:])
			}
			to = end
		} else {
			for to < end {
				to += copy(out[to:end], out[from:to])
			}
		}
	}
	d.raw.next, d.bits, d.have, d.to = pos, bits, int(have&63), to
	if err != nil || d.block != blockCoded || to >= window+ahead {
		return err
	}
	return d.one()
}

// one inflates one symbol of a coded block, of which the end may be near.
func (d *inflater) one() error {
	e, v := d.symbol(d.lit, litBits)
	switch {
	case d.have < 0:
		return io.ErrUnexpectedEOF
	case e&entryLiteral != 0:
		d.out[d.to] = byte(v)
		d.to++
		return nil
	case e&entryEnd != 0:
		d.block = blockHeader
		return nil
	case e&entryOther != 0:
		return errDeflate
	}
	e, back := d.symbol(d.dist, distBits)
	if d.have < 0 {
		return io.ErrUnexpectedEOF
	}
	if e&entryOther != 0 || back > d.to {
		return errDeflate
	}
	for range v {
		d.out[d.to] = d.out[d.to-back]
		d.to++
	}
	return nil
}
