package mergedb

// #include "shim.h"
// #include <stdlib.h>
import "C"

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// Operand changes a value without reading it. include/mergedb/merge.h describes each of them.
type Operand struct {
	numbers          C.shim_operand
	bytes, delimiter []byte
	name             string
}

func operand(kind C.int32_t, bytes []byte) Operand {
	return Operand{numbers: C.shim_operand{_type: kind}, bytes: bytes}
}

func unsigned(kind C.int32_t, n uint64, bytes []byte) Operand {
	return Operand{numbers: C.shim_operand{_type: kind, u64: C.uint64_t(n)}, bytes: bytes}
}

func signed(kind C.int32_t, n int64) Operand {
	return Operand{numbers: C.shim_operand{_type: kind, i64: C.int64_t(n)}}
}

func float(kind C.int32_t, n float64) Operand {
	return Operand{numbers: C.shim_operand{_type: kind, f64: C.double(n)}}
}

// AddUint64 adds to a counter, modulo 2^64. The value is 8 bytes, little-endian, as of all numbers: Uint64.
func AddUint64(delta uint64) Operand { return unsigned(C.MERGEDB_ADD_U64, delta, nil) }

// AddInt64 adds; a sum out of range reads as the nearest int64.
func AddInt64(delta int64) Operand { return signed(C.MERGEDB_ADD_I64, delta) }

// AddInt64Failing adds; a sum out of range is an error of the key.
func AddInt64Failing(delta int64) Operand { return signed(C.MERGEDB_ADD_I64_FAILING, delta) }

// AddFloat64 adds.
func AddFloat64(delta float64) Operand { return float(C.MERGEDB_ADD_F64, delta) }

// MaxUint64 and the functions below keep the larger or the smaller number or byte string.
func MaxUint64(value uint64) Operand   { return unsigned(C.MERGEDB_MAX_U64, value, nil) }
func MaxInt64(value int64) Operand     { return signed(C.MERGEDB_MAX_I64, value) }
func MaxFloat64(value float64) Operand { return float(C.MERGEDB_MAX_F64, value) }
func MaxBytes(value []byte) Operand    { return operand(C.MERGEDB_MAX_BYTES, value) }
func MinUint64(value uint64) Operand   { return unsigned(C.MERGEDB_MIN_U64, value, nil) }
func MinInt64(value int64) Operand     { return signed(C.MERGEDB_MIN_I64, value) }
func MinFloat64(value float64) Operand { return float(C.MERGEDB_MIN_F64, value) }
func MinBytes(value []byte) Operand    { return operand(C.MERGEDB_MIN_BYTES, value) }

// And, Or and Xor work byte by byte.
func And(mask []byte) Operand { return operand(C.MERGEDB_AND, mask) }
func Or(mask []byte) Operand  { return operand(C.MERGEDB_OR, mask) }
func Xor(mask []byte) Operand { return operand(C.MERGEDB_XOR, mask) }

// Append appends bytes, after a delimiter if there is a value. If capBytes is not 0, the value is cut at its front to
// this many bytes.
func Append(value, delimiter []byte, capBytes uint64) Operand {
	return Operand{numbers: C.shim_operand{_type: C.MERGEDB_APPEND, cap_bytes: C.uint64_t(capBytes)}, bytes: value, delimiter: delimiter}
}

// FirstBytes keeps the bytes with the smallest timestamp.
func FirstBytes(timestamp uint64, value []byte) Operand {
	return unsigned(C.MERGEDB_FIRST, timestamp, value)
}

// LastBytes keeps the bytes with the largest timestamp.
func LastBytes(timestamp uint64, value []byte) Operand {
	return unsigned(C.MERGEDB_LAST, timestamp, value)
}

// JSONPatch applies a JSON merge patch (RFC 7396).
func JSONPatch(patch []byte) Operand { return operand(C.MERGEDB_JSON_PATCH, patch) }

// Named is an operand of RocksDB's operators by their names: uint64add, stringappend, max, put, bytesxor.
func Named(name string, value []byte) Operand {
	o := operand(C.MERGEDB_PROGRAM, value)
	o.name = name
	return o
}

func (o Operand) merge(db C.mergedb_db, batch C.mergedb_batch, tx C.mergedb_transaction, durability C.int32_t, in C.mergedb_keyspace, key []byte) error {
	var name *C.char
	if o.name != "" {
		var err error
		if name, err = cString(o.name); err != nil {
			return err
		}
		defer C.free(unsafe.Pointer(name))
	}
	return call(func(e *C.mergedb_error) C.mergedb_code {
		return C.shim_merge(db, batch, tx, durability, in, pointer(key), size(key), o.numbers, pointer(o.bytes), size(o.bytes),
			pointer(o.delimiter), size(o.delimiter), name, e)
	})
}

// Uint64 is the number in a value; false if the value does not have 8 bytes.
func Uint64(value []byte) (uint64, bool) {
	if len(value) != 8 {
		return 0, false
	}
	return binary.LittleEndian.Uint64(value), true
}

// Int64 is the number in a value; false if the value does not have 8 bytes.
func Int64(value []byte) (int64, bool) {
	n, ok := Uint64(value)
	return int64(n), ok
}

// Float64 is the number in a value; false if the value does not have 8 bytes.
func Float64(value []byte) (float64, bool) {
	n, ok := Uint64(value)
	return math.Float64frombits(n), ok
}

// FromUint64 is the value of a number, for Put.
func FromUint64(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }

// FromInt64 is the value of a number, for Put.
func FromInt64(n int64) []byte { return FromUint64(uint64(n)) }

// FromFloat64 is the value of a number, for Put.
func FromFloat64(n float64) []byte { return FromUint64(math.Float64bits(n)) }
