package bulk

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"io"
	"math/bits"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// This file writes Parquet. The schema, the footer and the encodings of numbers are
// parquet-go's; pages are made here, because rows of these tables say much the same as the
// row before: a row whose text is that of its neighbour costs a comparison a column, a
// sixth of what a writer of any rows takes, and a join writes one for every URL.

// What a writer of Parquet holds: rows, and bytes of their long fields. A group of rows has
// one page a column.
var (
	rowsPerGroup  = 64 << 10
	bytesPerGroup = 4 << 20
)

// longText is from how many bytes on a text is a long field. A shorter one is bounded by the
// number of rows.
const longText = 1 << 10

// longestBound is how long a least or greatest value may be that the footer has.
const longestBound = 1 << 10

// A parquetTable writes rows that are structs with parquet tags to out.
type parquetTable struct {
	out     io.Writer
	footer  format.FileMetaData
	sorted  []format.SortingColumn
	columns []parquetColumn
	rows    int   // of the group at hand
	bytes   int   // of its long fields
	at      int64 // in out
	page    []byte
	packed  []byte
	rooms   *sync.Pool
}

// A parquetColumn collects the values of a field in a group of rows.
type parquetColumn struct {
	name     string
	field    uintptr // where it is in a row
	kind     columnKind
	optional bool
	pointer  bool
	size     int  // of a number that repeats: 4 or 8 bytes
	rows     int  // that it has; those behind have the value of the last
	none     bool // the last has none

	// Values that repeat: rows of one number that follow one another, and each value once.
	runs  []sameRows
	known map[string]int32
	texts []string // of a number its bytes in memory
	last  string
	now   int32 // the number of last

	// Values that do not. Of a text the bytes that it shares with the one before, and the others.
	defined         []byte // 1 of each row that has a value, if the column is optional
	shared, lengths []int32
	before          []byte
	ints            []int64
	bools           []bool

	values []byte
}

// sameRows are rows that have the value with a number, or none, which is -1.
type sameRows struct{ number, n int32 }

type columnKind uint8

const (
	kindDict   columnKind = iota // text that repeats
	kindNumber                   // int32 or float64, which repeat
	kindText
	kindBytes
	kindInt64
	kindTime // milliseconds
	kindBool
)

// repeats reports whether a page has numbers of values, each of which is written once.
func (c *parquetColumn) repeats() bool { return c.kind <= kindNumber }

// A template is what tables of one type of row have in common: the footer of an empty one,
// which has the schema, and columns of tables that are closed. Parts are many, and it costs as
// much to make room for a small one as to write it.
type template struct {
	footer format.FileMetaData
	rooms  sync.Pool
}

var templates sync.Map // by type of row

func templateOf[T any]() (*template, error) {
	row := reflect.TypeFor[T]()
	if t, ok := templates.Load(row); ok {
		return t.(*template), nil
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b, parquet.CreatedBy("robots", "1", "bulk"))
	if err := w.Close(); err != nil {
		return nil, err
	}
	f, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		return nil, err
	}
	t, _ := templates.LoadOrStore(row, &template{footer: *f.Metadata()})
	return t.(*template), nil
}

const parquetMagic = "PAR1"

func newParquetTable[T any](out io.Writer, sorted []string) (*parquetTable, error) {
	t, err := templateOf[T]()
	if err != nil {
		return nil, err
	}
	p := &parquetTable{out: out, footer: t.footer, rooms: &t.rooms}
	if columns, ok := p.rooms.Get().(*[]parquetColumn); ok {
		p.columns = *columns
	}
	row := reflect.TypeFor[T]()
	for i := range row.NumField() {
		field := row.Field(i)
		name, tags, _ := strings.Cut(field.Tag.Get("parquet"), ",")
		c := parquetColumn{name: name, field: field.Offset, optional: strings.Contains(tags, "optional")}
		is := field.Type
		if is.Kind() == reflect.Pointer {
			is, c.optional, c.pointer = is.Elem(), true, true
		}
		switch is.Kind() {
		case reflect.String:
			if c.kind = kindText; strings.Contains(tags, "dict") {
				c.kind = kindDict
			}
		case reflect.Slice:
			c.kind = kindBytes
		case reflect.Int64:
			c.kind = kindInt64
		case reflect.Int32, reflect.Float64:
			c.kind, c.size = kindNumber, int(is.Size())
		case reflect.Bool:
			c.kind = kindBool
		default:
			if is != timeType {
				panic("a column of type " + is.String())
			}
			c.kind = kindTime
		}
		if c.repeats() {
			c.known = map[string]int32{}
		}
		if len(p.columns) <= i {
			p.columns = append(p.columns, c)
		}
		if slices.Contains(sorted, name) {
			p.sorted = append(p.sorted, format.SortingColumn{ColumnIdx: int32(i)})
		}
	}
	return p, p.write([]byte(parquetMagic))
}

func (p *parquetTable) write(b []byte) error {
	n, err := p.out.Write(b)
	p.at += int64(n)
	return err
}

// A columnSet is some columns of a table.
type columnSet uint64

const allColumns = ^columnSet(0)

// add takes a row, of which it keeps no text. Columns that are not among the changed have
// the value of the row before.
func (p *parquetTable) add(row unsafe.Pointer, changed columnSet) error {
	if p.rows == 0 {
		changed = allColumns
	}
	for left := uint64(changed) & (1<<len(p.columns) - 1); left != 0; left &= left - 1 {
		c := &p.columns[bits.TrailingZeros64(left)]
		at := unsafe.Add(row, c.field)
		if c.pointer {
			at = *(*unsafe.Pointer)(at)
		}
		if c.repeats() {
			s := ""
			if c.kind == kindDict {
				s = *(*string)(at)
			} else if at != nil {
				if s = unsafe.String((*byte)(at), c.size); c.optional && !c.pointer && s == zeros[:c.size] {
					s = ""
				}
			}
			if s != c.last || len(c.runs) == 0 {
				p.bytes += c.turn(p.rows, s)
			}
			continue
		}
		if c.fill(p.rows); c.rows < p.rows+1 {
			p.bytes += c.put(at)
		}
	}
	if p.rows++; p.rows >= rowsPerGroup || p.bytes >= bytesPerGroup {
		return p.flush()
	}
	if p.rows >= 1<<10 && p.rows&(p.rows-1) == 0 {
		for i := range p.columns {
			p.columns[i].double()
		}
	}
	return nil
}

// double makes room for as many rows as there are. append alone gives a large slice a quarter
// more, and by that takes five times the memory until a group is full.
func (c *parquetColumn) double() {
	c.defined, c.values = slices.Grow(c.defined, len(c.defined)), slices.Grow(c.values, len(c.values))
	c.shared, c.lengths = slices.Grow(c.shared, len(c.shared)), slices.Grow(c.lengths, len(c.lengths))
	c.ints = slices.Grow(c.ints, len(c.ints))
}

// put takes the value of the next row, nil for none, and returns how many bytes of a long
// field it keeps.
func (c *parquetColumn) put(at unsafe.Pointer) (long int) {
	c.rows++
	c.none = at == nil || c.optional && c.kind == kindText && *(*string)(at) == ""
	if c.optional {
		c.defined = append(c.defined, byte(1-btoi(c.none)))
	}
	if c.none {
		return 0
	}
	switch c.kind {
	case kindText:
		s := *(*string)(at)
		n := common(c.before, s)
		c.shared, c.lengths = append(c.shared, int32(n)), append(c.lengths, int32(len(s)-n))
		c.values = append(c.values, s[n:]...)
		c.before = append(c.before[:n], s[n:]...)
		if len(s)-n >= longText {
			return len(s) - n
		}
	case kindBytes:
		b := *(*[]byte)(at)
		c.values = append(binary.LittleEndian.AppendUint32(c.values, uint32(len(b))), b...)
		return len(b)
	case kindInt64:
		c.ints = append(c.ints, *(*int64)(at))
	case kindTime:
		c.ints = append(c.ints, (*time.Time)(at).UnixMilli())
	case kindBool:
		c.bools = append(c.bools, *(*bool)(at))
	}
	return 0
}

// fill gives rows before one the value of the last that it has.
func (c *parquetColumn) fill(row int) {
	for ; c.rows < row; c.rows++ {
		if c.optional {
			c.defined = append(c.defined, byte(1-btoi(c.none)))
		}
		if c.none {
			continue
		}
		switch c.kind {
		case kindText:
			c.shared, c.lengths = append(c.shared, int32(len(c.before))), append(c.lengths, 0)
		case kindInt64, kindTime:
			c.ints = append(c.ints, c.ints[len(c.ints)-1])
		default:
			panic("a row without " + c.name)
		}
	}
}

// run begins a run of rows of a value.
func (c *parquetColumn) run(row int, number int32) {
	if n := len(c.runs); n > 0 {
		c.runs[n-1].n += int32(row - c.rows)
	}
	c.rows = row
	c.runs = append(c.runs, sameRows{number: number})
}

// turn takes a value that is not that of the row before, and returns how many bytes of a
// long field it keeps.
func (c *parquetColumn) turn(row int, s string) (long int) {
	if c.optional && s == "" {
		c.last = ""
		c.run(row, -1)
		return 0
	}
	number, ok := int32(0), false
	for _, guess := range [2]int32{c.now + 1, 0} { // values that take turns
		if int(guess) < len(c.texts) && c.texts[guess] == s {
			number, ok = guess, true
			break
		}
	}
	if !ok {
		number, ok = c.known[s]
	}
	if !ok {
		s = strings.Clone(s)
		number = int32(len(c.texts))
		c.known[s] = number
		c.texts = append(c.texts, s)
		c.values = c.append(c.values, s)
		if len(s) >= longText {
			long = len(s)
		}
	}
	c.last, c.now = c.texts[number], number
	c.run(row, number)
	return long
}

// append appends a value that repeats as pages have it.
func (c *parquetColumn) append(b []byte, s string) []byte {
	switch c.size {
	case 4:
		return binary.LittleEndian.AppendUint32(b, binary.NativeEndian.Uint32([]byte(s)))
	case 8:
		return binary.LittleEndian.AppendUint64(b, binary.NativeEndian.Uint64([]byte(s)))
	}
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...)
}

const zeros = "\x00\x00\x00\x00\x00\x00\x00\x00"

// common returns how many bytes two texts share at their beginning.
func common(a []byte, s string) int {
	b := unsafe.Slice(unsafe.StringData(s), len(s))
	n := 0
	for ; n <= len(a)-8 && n <= len(b)-8; n += 8 {
		if x := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); x != 0 {
			return n + bits.TrailingZeros64(x)/8
		}
	}
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// flush writes a group of rows.
func (p *parquetTable) flush() error {
	if p.rows == 0 {
		return nil
	}
	group := format.RowGroup{NumRows: int64(p.rows), SortingColumns: p.sorted, FileOffset: p.at, Ordinal: int16(len(p.footer.RowGroups))}
	for i := range p.columns {
		chunk, err := p.chunk(&p.columns[i], &p.footer.Schema[i+1])
		if err != nil {
			return err
		}
		group.TotalByteSize += chunk.MetaData.TotalUncompressedSize
		group.TotalCompressedSize += chunk.MetaData.TotalCompressedSize
		group.Columns = append(group.Columns, chunk)
		p.columns[i].reset()
	}
	p.footer.RowGroups = append(slices.Clip(p.footer.RowGroups), group)
	p.footer.NumRows += int64(p.rows)
	p.rows, p.bytes = 0, 0
	return nil
}

func (c *parquetColumn) reset() {
	clear(c.known)
	clear(c.texts)
	*c = parquetColumn{
		name: c.name, field: c.field, kind: c.kind, optional: c.optional, pointer: c.pointer, size: c.size,
		runs: c.runs[:0], known: c.known, texts: c.texts[:0], defined: c.defined[:0],
		shared: c.shared[:0], lengths: c.lengths[:0], before: c.before[:0], ints: c.ints[:0], bools: c.bools[:0], values: c.values[:0],
	}
}

var (
	packedInts delta.BinaryPackedEncoding
	levels     = rle.Encoding{BitWidth: 1}
)

// chunk writes a column of a group.
func (p *parquetTable) chunk(c *parquetColumn, schema *format.SchemaElement) (format.ColumnChunk, error) {
	defined, nulls, err := c.levels(p.rows)
	if err != nil {
		return format.ColumnChunk{}, err
	}
	chunk := format.ColumnChunk{MetaData: format.ColumnMetaData{
		Type: schema.Type.V, PathInSchema: []string{c.name}, Codec: format.Zstd, NumValues: int64(p.rows),
		Statistics: format.Statistics{NullCount: int64(nulls)},
	}}
	m := &chunk.MetaData
	m.Statistics.MinValue, m.Statistics.MaxValue = c.bounds()
	start := p.at
	if numbers := len(c.texts); numbers > 0 {
		m.DictionaryPageOffset = p.at
		header := format.PageHeader{Type: format.DictionaryPage}
		header.DictionaryPageHeader = thrift.New(format.DictionaryPageHeader{NumValues: int32(numbers), Encoding: format.Plain})
		p.packed = encoder().EncodeAll(c.values, p.packed[:0])
		if err := p.putPage(m, header, nil, p.packed, len(c.values)); err != nil {
			return chunk, err
		}
		m.Encoding = append(m.Encoding, format.Plain)
	}
	header := format.DataPageHeaderV2{NumValues: int32(p.rows), NumNulls: int32(nulls), NumRows: int32(p.rows)}
	var data []byte
	if data, header.Encoding, err = p.data(c); err != nil {
		return chunk, err
	}
	if c.optional {
		header.DefinitionLevelsByteLength = int32(len(defined))
		m.Encoding = append(m.Encoding, format.RLE)
	}
	p.packed = encoder().EncodeAll(data, p.packed[:0])
	packed := p.packed
	header.IsCompressed = thrift.New(len(packed) < len(data))
	if !header.IsCompressed.V {
		packed = data
	}
	m.Encoding = append(m.Encoding, header.Encoding)
	m.DataPageOffset = p.at
	if err := p.putPage(m, format.PageHeader{Type: format.DataPageV2, DataPageHeaderV2: thrift.New(header)}, defined, packed, len(data)); err != nil {
		return chunk, err
	}
	m.TotalCompressedSize = p.at - start
	return chunk, nil
}

// levels ends a column of so many rows, and returns which of them have a value, as pages say
// it, and how many have none.
func (c *parquetColumn) levels(rows int) (defined []byte, nulls int, err error) {
	if !c.repeats() {
		c.fill(rows)
		if c.optional {
			nulls = bytes.Count(c.defined, []byte{0})
			defined, err = levels.EncodeLevels(nil, c.defined)
		}
		return defined, nulls, err
	}
	c.runs[len(c.runs)-1].n += int32(rows - c.rows)
	for _, r := range c.runs {
		if r.number < 0 {
			nulls += int(r.n)
		}
	}
	if c.optional {
		defined = appendRuns(nil, 1, func(yield func(number, n int32)) {
			for _, r := range c.runs {
				yield(int32(btoi(r.number >= 0)), r.n)
			}
		})
	}
	return defined, nulls, nil
}

// data returns the values of a column as a page has them.
func (p *parquetTable) data(c *parquetColumn) (data []byte, encoding format.Encoding, err error) {
	p.page = p.page[:0]
	switch c.kind {
	case kindDict, kindNumber:
		if len(c.texts) == 0 { // all rows lack it
			break
		}
		width := max(bits.Len(uint(len(c.texts)-1)), 1)
		p.page = appendRuns(append(p.page, byte(width)), width, func(yield func(number, n int32)) {
			for _, r := range c.runs {
				if r.number >= 0 {
					yield(r.number, r.n)
				}
			}
		})
		return p.page, format.RLEDictionary, nil
	case kindText:
		var lengths []byte
		if p.page, err = packedInts.EncodeInt32(p.page, c.shared); err == nil {
			lengths, err = packedInts.EncodeInt32(nil, c.lengths)
		}
		p.page = append(append(p.page, lengths...), c.values...)
		return p.page, format.DeltaByteArray, err
	case kindInt64, kindTime:
		p.page, err = packedInts.EncodeInt64(p.page, c.ints)
		return p.page, format.DeltaBinaryPacked, err
	case kindBool:
		p.page = append(p.page, make([]byte, (len(c.bools)+7)/8)...)
		for i, bit := range c.bools {
			p.page[i/8] |= byte(btoi(bit)) << (i % 8)
		}
		return p.page, format.Plain, nil
	}
	return c.values, format.Plain, nil
}

// putPage writes a page: its header, levels, and data that have so many bytes unpacked.
func (p *parquetTable) putPage(m *format.ColumnMetaData, header format.PageHeader, levels, packed []byte, size int) error {
	header.UncompressedPageSize = int32(len(levels) + size)
	header.CompressedPageSize = int32(len(levels) + len(packed))
	head, err := thrift.Marshal(new(thrift.CompactProtocol), &header)
	if err != nil {
		return err
	}
	m.TotalUncompressedSize += int64(len(head) + len(levels) + size)
	for _, b := range [][]byte{head, levels, packed} {
		if err := p.write(b); err != nil {
			return err
		}
	}
	return nil
}

// appendRuns appends numbers of so many bits as the hybrid of runs and packed bits that
// Parquet has for them.
func appendRuns(b []byte, width int, each func(yield func(number, n int32))) []byte {
	var group [8]int32 // that is to be packed
	in, begin := 0, -1 // so many are in it; where the header of packed groups is
	groups := 0
	pack := func() {
		if begin < 0 {
			begin, groups = len(b), 0
			b = append(b, 0)
		}
		var bits uint64
		have := 0
		for _, v := range group {
			bits |= uint64(v) << have
			for have += width; have >= 8; have -= 8 {
				b = append(b, byte(bits))
				bits >>= 8
			}
		}
		in, group = 0, [8]int32{}
		if groups++; groups == 63 { // the most of a header of one byte
			b[begin] = byte(groups<<1 | 1)
			begin = -1
		}
	}
	end := func() {
		if begin >= 0 {
			b[begin] = byte(groups<<1 | 1)
			begin = -1
		}
	}
	each(func(number, n int32) {
		for ; n > 0 && (in > 0 || n < 8); n-- {
			group[in] = number
			if in++; in == len(group) {
				pack()
			}
		}
		if n > 0 {
			end()
			b = binary.AppendUvarint(b, uint64(n)<<1)
			for v, k := uint32(number), 0; k < width; k += 8 {
				b = append(b, byte(v))
				v >>= 8
			}
		}
	})
	if in > 0 {
		pack()
	}
	end()
	return b
}

// bounds returns the least value and the greatest, nil where readers have no use for them.
func (c *parquetColumn) bounds() (least, most []byte) {
	switch {
	case c.kind == kindDict && len(c.texts) > 0:
		from, to := slices.Min(c.texts), slices.Max(c.texts)
		if max(len(from), len(to)) <= longestBound {
			return []byte(from), []byte(to)
		}
	case c.kind == kindNumber && c.size == 4 && len(c.texts) > 0:
		order := func(a, b string) int { return cmp.Compare(int32Of(a), int32Of(b)) }
		return c.append(nil, slices.MinFunc(c.texts, order)), c.append(nil, slices.MaxFunc(c.texts, order))
	case len(c.ints) > 0:
		from, to := c.ints[0], c.ints[0]
		for _, n := range c.ints {
			from, to = min(from, n), max(to, n)
		}
		return binary.LittleEndian.AppendUint64(nil, uint64(from)), binary.LittleEndian.AppendUint64(nil, uint64(to))
	}
	return nil, nil
}

func int32Of(s string) int32 { return int32(binary.NativeEndian.Uint32([]byte(s))) }

// close writes the last group and the footer.
func (p *parquetTable) close() error {
	if err := p.flush(); err != nil {
		return err
	}
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), &p.footer)
	if err != nil {
		return err
	}
	columns := p.columns
	p.rooms.Put(&columns)
	p.columns = nil
	footer = binary.LittleEndian.AppendUint32(footer, uint32(len(footer)))
	return p.write(append(footer, parquetMagic...))
}

// encoder packs pages, at half the cost of the usual level, by a tenth less.
var encoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false))
	if err != nil {
		panic(err) // the options are right
	}
	return e
})
