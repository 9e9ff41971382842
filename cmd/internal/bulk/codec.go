package bulk

import (
	"encoding/binary"
	"errors"
	"time"
)

// This file has rows as bytes, for files that only this program reads and for what is
// sorted. JSON takes five times as long.

// An encoder appends values to bytes.
type rowEncoder struct{ b []byte }

func (e *rowEncoder) text(s string)  { e.b = append(binary.AppendUvarint(e.b, uint64(len(s))), s...) }
func (e *rowEncoder) number(n int64) { e.b = binary.AppendVarint(e.b, n) }
func (e *rowEncoder) flag(f bool)    { e.b = append(e.b, byte(btoi(f))) }

// A rowDecoder reads them in the same order. Its texts are parts of one copy.
type rowDecoder struct {
	rest string
	bad  bool
}

var errRow = errors.New("a row of a hidden file is broken")

func (d *rowDecoder) number() int64 {
	n, shift := uint64(0), 0
	for i := range len(d.rest) {
		c := d.rest[i]
		n |= uint64(c&0x7F) << shift
		if shift += 7; c < 0x80 {
			d.rest = d.rest[i+1:]
			return int64(n>>1) ^ -int64(n&1)
		} else if shift > 63 {
			break
		}
	}
	d.bad, d.rest = true, ""
	return 0
}

func (d *rowDecoder) text() string {
	n, shift := uint64(0), 0
	for i := range len(d.rest) {
		c := d.rest[i]
		n |= uint64(c&0x7F) << shift
		if shift += 7; c >= 0x80 {
			continue
		}
		if rest := d.rest[i+1:]; n <= uint64(len(rest)) && shift <= 35 {
			d.rest = rest[n:]
			return rest[:n]
		}
		break
	}
	d.bad, d.rest = true, ""
	return ""
}

func (d *rowDecoder) flag() bool {
	if d.rest == "" {
		d.bad = true
		return false
	}
	f := d.rest[0] != 0
	d.rest = d.rest[1:]
	return f
}

func (d *rowDecoder) end() error {
	if d.bad || d.rest != "" {
		return errRow
	}
	return nil
}

// encode appends a capture.
func (c *Capture) encode(b []byte) []byte {
	e := rowEncoder{b}
	for _, s := range []*string{&c.SURT, &c.Origin, &c.URL, &c.Outcome, &c.Cause, &c.Location, &c.ResolvedFrom, &c.SHA256, &c.Kind, &c.Input} {
		e.text(*s)
	}
	for _, n := range []int64{c.Fetched.UnixMilli(), int64(c.Status), int64(c.Hops), c.Bytes, c.Offset} {
		e.number(n)
	}
	e.flag(c.Truncated)
	return e.b
}

// decode undoes encode.
func (c *Capture) decode(b []byte) error {
	d := rowDecoder{rest: string(b)}
	for _, s := range []*string{&c.SURT, &c.Origin, &c.URL, &c.Outcome, &c.Cause, &c.Location, &c.ResolvedFrom, &c.SHA256, &c.Kind, &c.Input} {
		*s = d.text()
	}
	c.Fetched = time.UnixMilli(d.number()).UTC()
	c.Status, c.Hops, c.Bytes, c.Offset = int32(d.number()), int32(d.number()), d.number(), d.number()
	c.Truncated = d.flag()
	return d.end()
}

// encode appends an answer.
func (a *answer) encode(b []byte) []byte {
	e := rowEncoder{b}
	for _, s := range []*string{&a.URL, &a.Outcome, &a.Cause, &a.Next, &a.SHA256, &a.Kind, &a.Input, &a.ID} {
		e.text(*s)
	}
	for _, n := range []int64{a.At, int64(a.Status), a.Body, a.Bytes, a.Offset} {
		e.number(n)
	}
	e.flag(a.Truncated)
	e.flag(a.Revisit != nil)
	if r := a.Revisit; r != nil {
		e.text(r.URL)
		e.text(r.ID)
		e.number(r.At)
	}
	return e.b
}

// decode undoes encode.
func (a *answer) decode(b []byte) error {
	d := rowDecoder{rest: string(b)}
	for _, s := range []*string{&a.URL, &a.Outcome, &a.Cause, &a.Next, &a.SHA256, &a.Kind, &a.Input, &a.ID} {
		*s = d.text()
	}
	a.At, a.Status, a.Body, a.Bytes, a.Offset = d.number(), int32(d.number()), d.number(), d.number(), d.number()
	a.Truncated = d.flag()
	if d.flag() {
		a.Revisit = &revisit{URL: d.text(), ID: d.text(), At: d.number()}
	}
	return d.end()
}
