package mergedb

// #include "shim.h"
import "C"

import (
	"encoding/binary"
	"iter"
	"runtime"
	"unsafe"
)

// IteratorOptions limit an iterator.
type IteratorOptions struct {
	Prefix    []byte // only keys that begin with these bytes
	Lower     []byte // inclusive; nil: no bound
	Upper     []byte // exclusive; nil: no bound
	KeysOnly  bool   // values are empty and are not read
	SkipCache bool   // do not add blocks to the block cache, for large scans
}

// Iterator moves over the keys of one state, in both directions. A new iterator stands at no key.
//
//	it := db.Iterate(&mergedb.IteratorOptions{Prefix: []byte("user:")})
//	defer it.Close()
//	for key, value := range it.All() {
//		...
//	}
//	if err := it.Err(); err != nil { ... }   // the loop ends at an error as it does at the end
//
// It is for one goroutine at a time. If two of them meet in it, all later calls but Close fail, and Err is ErrBusy.
type Iterator struct {
	handle  C.mergedb_iterator
	cleanup runtime.Cleanup
	position
}

const chunkBytes = 64 << 10

// Iterate returns an iterator over the keyspace as of the snapshot. nil options: all keys. If the iterator cannot be
// made, Err has the error.
func (v View) Iterate(options *IteratorOptions) *Iterator {
	defer runtime.KeepAlive(v.snapshot)
	o := options
	if o == nil {
		o = &IteratorOptions{}
	}
	it := &Iterator{}
	it.err = call(func(e *C.mergedb_error) C.mergedb_code {
		return C.shim_iterator(v.keyspace.db, v.keyspace.id, v.snapshotHandle(), pointer(o.Prefix), size(o.Prefix),
			pointer(o.Lower), size(o.Lower), toC(o.Lower != nil), pointer(o.Upper), size(o.Upper), toC(o.Upper != nil),
			toC(o.KeysOnly), toC(!o.SkipCache), &it.handle, e)
	})
	if it.err == nil {
		it.cleanup = runtime.AddCleanup(it, func(h C.mergedb_iterator) { C.mergedb_iterator_close(h, nil) }, it.handle)
	}
	return it
}

// Close releases the iterator and the files that it keeps. ErrBusy: another goroutine is in a call of it.
func (it *Iterator) Close() error {
	return closeAlone(it.inside(), it.cleanup, func(e *C.mergedb_error) C.mergedb_code { return C.mergedb_iterator_close(it.handle, e) })
}

// Err is the error of the last move, or of the creation; nil at an end.
func (it *Iterator) Err() error { return it.lastError() }

func (it *Iterator) move(f func(e *C.mergedb_error) C.mergedb_code) bool {
	defer runtime.KeepAlive(it)
	if it.handle == 0 || !it.enter() {
		return false
	}
	defer it.leave()
	return it.moved(call(f))
}

// read returns a copy of the bytes that f finds, else nil.
func (it *Iterator) read(f func(bytes *C.mergedb_slice) C.mergedb_code) []byte {
	defer runtime.KeepAlive(it)
	if it.handle == 0 || !it.enter() {
		return nil
	}
	defer it.leave()
	var bytes C.mergedb_slice
	if f(&bytes) != C.MERGEDB_OK {
		return nil
	}
	return copyOf(bytes)
}

// First moves to the first key. Like every move, it returns whether the iterator stands at a key.
func (it *Iterator) First() bool {
	return it.move(func(e *C.mergedb_error) C.mergedb_code { return C.mergedb_iterator_seek_to_first(it.handle, e) })
}

// Last moves to the last key.
func (it *Iterator) Last() bool {
	return it.move(func(e *C.mergedb_error) C.mergedb_code { return C.mergedb_iterator_seek_to_last(it.handle, e) })
}

// Seek moves to the first key at or after key.
func (it *Iterator) Seek(key []byte) bool {
	return it.move(func(e *C.mergedb_error) C.mergedb_code {
		return C.shim_iterator_seek(it.handle, 0, pointer(key), size(key), e)
	})
}

// SeekForPrev moves to the last key at or before key.
func (it *Iterator) SeekForPrev(key []byte) bool {
	return it.move(func(e *C.mergedb_error) C.mergedb_code {
		return C.shim_iterator_seek(it.handle, 1, pointer(key), size(key), e)
	})
}

// Next moves to the next key; after an error of one key (FailedKey) to the key after it.
func (it *Iterator) Next() bool {
	return it.move(func(e *C.mergedb_error) C.mergedb_code { return C.mergedb_iterator_next(it.handle, e) })
}

// Prev moves to the previous key; after an error of one key (FailedKey) to the key before it.
func (it *Iterator) Prev() bool {
	return it.move(func(e *C.mergedb_error) C.mergedb_code { return C.mergedb_iterator_prev(it.handle, e) })
}

// Key returns a copy of the key at which the iterator stands, else nil.
func (it *Iterator) Key() []byte {
	return it.read(func(key *C.mergedb_slice) C.mergedb_code { return C.mergedb_iterator_entry(it.handle, key, nil, nil) })
}

// Value returns a copy of the value at which the iterator stands, else nil.
func (it *Iterator) Value() []byte {
	return it.read(func(value *C.mergedb_slice) C.mergedb_code {
		return C.mergedb_iterator_entry(it.handle, nil, value, nil)
	})
}

// FailedKey returns the key whose value cannot be read, if that is the error of the last move; else nil.
func (it *Iterator) FailedKey() []byte {
	return it.read(func(key *C.mergedb_slice) C.mergedb_code { return C.mergedb_iterator_failed_key(it.handle, key, nil) })
}

// copyOf copies memory of C that the next call on its owner frees. So the goroutine is inside of the owner.
func copyOf(s C.mergedb_slice) []byte {
	return append(make([]byte, 0, s.size), unsafe.Slice((*byte)(s.data), s.size)...)
}

// All is all entries, forwards from the first one. The loop may keep the keys and values. Read Err after the loop.
// After a break, the iterator may stand beyond the last entry that the loop saw.
func (it *Iterator) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) { it.loop(false, it.First(), yield) }
}

// From is the entries from the first key at or after key.
func (it *Iterator) From(key []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) { it.loop(false, it.Seek(key), yield) }
}

// Backward is all entries, backwards from the last one.
func (it *Iterator) Backward() iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) { it.loop(true, it.Last(), yield) }
}

// loop reads a chunk of entries by each call into C. Each chunk is new memory, which the caller may keep.
func (it *Iterator) loop(backwards, standsAtKey bool, yield func(key, value []byte) bool) {
	for need := 512; standsAtKey; {
		buffer := make([]byte, need)
		var used, count C.size_t
		standsAtKey = it.move(func(e *C.mergedb_error) C.mergedb_code {
			return C.shim_iterator_read(it.handle, toC(backwards), pointer(buffer), size(buffer), &used, &count, e)
		})
		if !standsAtKey {
			return
		}
		if count == 0 { // the entry does not fit
			need = int(used)
			continue
		}
		for entries := buffer[:used:used]; len(entries) > 0; {
			k := 8 + int(binary.NativeEndian.Uint32(entries))
			v := k + int(binary.NativeEndian.Uint32(entries[4:]))
			if !yield(entries[8:k:k], entries[k:v:v]) {
				return
			}
			entries = entries[v:]
		}
		need = max(chunkBytes, min(need, chunkBytes))
	}
}
