package bulk

import (
	"reflect"
	"unsafe"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/compress/lz4"
	"github.com/parquet-go/parquet-go/format"
	pierrec "github.com/pierrec/lz4/v4"
)

// An lz4Codec reads LZ4_RAW pages into the memory that the reader provides. That of parquet-go v0.32.0
// allocates three times the compressed size if it provides less, and the reader then ignores the
// decoded page, so that pages which compress badly are zeros (TestLZ4Pages).
type lz4Codec struct{ lz4.Codec }

func (c *lz4Codec) Decode(page, compressed []byte) ([]byte, error) {
	n, err := pierrec.UncompressBlock(compressed, page)
	return page[:n], err
}

// replaceLZ4 gives the columns of a file that use LZ4_RAW a codec that works. The library has no other
// way to do so.
func replaceLZ4(c *parquet.Column) {
	for _, child := range c.Columns() {
		replaceLZ4(child)
	}
	if codec := c.Compression(); codec == nil || codec.CompressionCodec() != format.Lz4Raw {
		return
	}
	field := reflect.ValueOf(c).Elem().FieldByName("compression")
	*(*compress.Codec)(unsafe.Pointer(field.UnsafeAddr())) = &lz4Codec{}
}
