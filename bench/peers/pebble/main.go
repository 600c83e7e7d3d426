// Pebble behind the C interface of bench/engines/peer_library.h, which documents the functions.
//
// A handle is a cgo.Handle. A failure becomes a C string in *failure, which the caller frees.
package main

/*
#include <stdint.h>
#include <stdlib.h>

typedef struct {
  char* key;
  size_t key_bytes;
  char* value;
  size_t value_bytes;
} PeerEntry;
*/
import "C"

import (
	"context"
	"errors"
	"log"
	"os"
	"runtime"
	"runtime/cgo"
	"runtime/debug"
	"strings"
	"unsafe"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
)

const pebblePath = "github.com/cockroachdb/pebble/v2"

// quiet drops Pebble's messages, except for fatal errors.
type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(format string, args ...any) {
	log.New(os.Stderr, "pebble: ", 0).Fatalf(format, args...)
}

func bytesOf(data *C.char, count C.size_t) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(data)), int(count))
}

func tell(err error, failure **C.char) {
	if err != nil {
		*failure = C.CString(err.Error())
	}
}

func dbOf(handle C.uintptr_t) *pebble.DB { return cgo.Handle(handle).Value().(*pebble.DB) }

func writeOptions(sync C.int32_t) *pebble.WriteOptions {
	if sync != 0 {
		return pebble.Sync
	}
	return pebble.NoSync
}

var version = func() *C.char {
	text := "Pebble"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == pebblePath {
				text += " " + strings.TrimPrefix(module.Version, "v")
			}
		}
	}
	return C.CString(text)
}()

//export peer_version
func peer_version() *C.char { return version }

//export peer_free
func peer_free(text *C.char) { C.free(unsafe.Pointer(text)) }

func compressionOf(number C.int32_t) (*sstable.CompressionProfile, error) {
	switch number {
	case 0:
		return sstable.NoCompression, nil
	case 1:
		return sstable.SnappyCompression, nil
	case 2:
		return sstable.ZstdCompression, nil
	}
	return nil, errors.New("Pebble has no lz4: --compression=0, 1 or 2")
}

//export peer_open
func peer_open(path *C.char, writeBufferBytes, cacheBytes, blockBytes C.uint64_t, bloomBits, compression, openFiles C.int32_t,
	failure **C.char) C.uintptr_t {
	profile, err := compressionOf(compression)
	if err != nil {
		tell(err, failure)
		return 0
	}
	const memtables = 2 // the active and the immutable one, Pebble's default
	options := &pebble.Options{
		// Pebble takes the bytes of its memtables from the cache.
		CacheSize:                   int64(cacheBytes) + memtables*int64(writeBufferBytes),
		CompactionConcurrencyRange:  func() (int, int) { return 1, runtime.NumCPU() },
		FormatMajorVersion:          pebble.FormatNewest,
		LBaseMaxBytes:               max(64<<20, 4*int64(writeBufferBytes)),
		Logger:                      quiet{},
		MaxOpenFiles:                int(openFiles),
		MemTableSize:                uint64(writeBufferBytes),
		MemTableStopWritesThreshold: memtables,
	}
	options.Levels[0].BlockSize = int(blockBytes)
	options.Levels[0].Compression = func() *sstable.CompressionProfile { return profile }
	if bloomBits > 0 {
		options.Levels[0].FilterPolicy = bloom.FilterPolicy(bloomBits)
	}
	db, err := pebble.Open(C.GoString(path), options)
	if err != nil {
		tell(err, failure)
		return 0
	}
	return C.uintptr_t(cgo.NewHandle(db))
}

//export peer_close
func peer_close(db C.uintptr_t, failure **C.char) {
	tell(dbOf(db).Close(), failure)
	cgo.Handle(db).Delete()
}

//export peer_put
func peer_put(db C.uintptr_t, key *C.char, keyBytes C.size_t, value *C.char, valueBytes C.size_t, sync C.int32_t, failure **C.char) {
	tell(dbOf(db).Set(bytesOf(key, keyBytes), bytesOf(value, valueBytes), writeOptions(sync)), failure)
}

//export peer_delete
func peer_delete(db C.uintptr_t, key *C.char, keyBytes C.size_t, sync C.int32_t, failure **C.char) {
	tell(dbOf(db).Delete(bytesOf(key, keyBytes), writeOptions(sync)), failure)
}

func batchOf(handle C.uintptr_t) *pebble.Batch { return cgo.Handle(handle).Value().(*pebble.Batch) }

//export peer_batch_create
func peer_batch_create(db C.uintptr_t) C.uintptr_t {
	return C.uintptr_t(cgo.NewHandle(dbOf(db).NewBatch()))
}

//export peer_batch_destroy
func peer_batch_destroy(batch C.uintptr_t) {
	_ = batchOf(batch).Close()
	cgo.Handle(batch).Delete()
}

// A write into a batch in memory fails only if the batch exceeds 4 GB; its commit fails then, too.
//
//export peer_batch_put
func peer_batch_put(batch C.uintptr_t, key *C.char, keyBytes C.size_t, value *C.char, valueBytes C.size_t) {
	_ = batchOf(batch).Set(bytesOf(key, keyBytes), bytesOf(value, valueBytes), nil)
}

//export peer_batch_delete
func peer_batch_delete(batch C.uintptr_t, key *C.char, keyBytes C.size_t) {
	_ = batchOf(batch).Delete(bytesOf(key, keyBytes), nil)
}

//export peer_batch_commit
func peer_batch_commit(batch C.uintptr_t, sync C.int32_t, failure **C.char) {
	full := batchOf(batch)
	tell(full.Commit(writeOptions(sync)), failure)
	full.Reset()
}

//export peer_get
func peer_get(db C.uintptr_t, key *C.char, keyBytes C.size_t, buffer *C.char, capacity C.size_t, failure **C.char) C.int64_t {
	value, closer, err := dbOf(db).Get(bytesOf(key, keyBytes))
	if err == pebble.ErrNotFound {
		return -1
	}
	if err != nil {
		tell(err, failure)
		return -1
	}
	count := len(value)
	if count <= int(capacity) {
		copy(bytesOf(buffer, capacity), value)
	}
	tell(closer.Close(), failure)
	return C.int64_t(count)
}

// cursor keeps a copy of the current entry in C memory, because C code may not keep a Go pointer.
type cursor struct {
	iterator *pebble.Iterator
	copied   unsafe.Pointer
	capacity int
}

func (c *cursor) copyEntry(entry *C.PeerEntry) error {
	key := c.iterator.Key()
	value, err := c.iterator.ValueAndErr()
	if err != nil {
		return err
	}
	if need := len(key) + len(value); need > c.capacity {
		c.capacity = 2 * need
		c.copied = C.realloc(c.copied, C.size_t(c.capacity))
	}
	target := unsafe.Slice((*byte)(c.copied), c.capacity)
	copy(target, key)
	copy(target[len(key):], value)
	entry.key = (*C.char)(c.copied)
	entry.key_bytes = C.size_t(len(key))
	entry.value = (*C.char)(unsafe.Add(c.copied, len(key)))
	entry.value_bytes = C.size_t(len(value))
	return nil
}

//export peer_iter_create
func peer_iter_create(db C.uintptr_t, failure **C.char) C.uintptr_t {
	iterator, err := dbOf(db).NewIter(nil)
	if err != nil {
		tell(err, failure)
		return 0
	}
	return C.uintptr_t(cgo.NewHandle(&cursor{iterator: iterator}))
}

//export peer_iter_destroy
func peer_iter_destroy(handle C.uintptr_t, failure **C.char) {
	c := cgo.Handle(handle).Value().(*cursor)
	tell(c.iterator.Close(), failure)
	C.free(c.copied)
	cgo.Handle(handle).Delete()
}

//export peer_iter_move
func peer_iter_move(handle C.uintptr_t, movement C.int32_t, target *C.char, targetBytes C.size_t, entry *C.PeerEntry, failure **C.char) C.int32_t {
	c := cgo.Handle(handle).Value().(*cursor)
	var isValid bool
	switch movement {
	case 0:
		isValid = c.iterator.First()
	case 1:
		isValid = c.iterator.Last()
	case 2:
		isValid = c.iterator.SeekGE(bytesOf(target, targetBytes))
	case 3:
		isValid = c.iterator.Next()
	default:
		isValid = c.iterator.Prev()
	}
	if !isValid {
		tell(c.iterator.Error(), failure)
		return 0
	}
	tell(c.copyEntry(entry), failure)
	return 1
}

//export peer_is_busy
func peer_is_busy(db C.uintptr_t) C.int32_t {
	metrics := dbOf(db).Metrics()
	if metrics.Flush.NumInProgress > 0 || metrics.Compact.NumInProgress > 0 || metrics.MemTable.Count > 1 || metrics.Table.ObsoleteCount > 0 {
		return 1
	}
	return 0
}

//export peer_compact
func peer_compact(db C.uintptr_t, failure **C.char) {
	tell(dbOf(db).Compact(context.Background(), []byte{}, []byte{0xff, 0xff}, true), failure)
}

//export peer_run_count
func peer_run_count(db C.uintptr_t) C.int64_t {
	var runs int64
	for _, level := range dbOf(db).Metrics().Levels {
		runs += int64(level.Sublevels)
	}
	return C.int64_t(runs)
}

//export peer_write_memory_bytes
func peer_write_memory_bytes(db C.uintptr_t) C.int64_t {
	return C.int64_t(dbOf(db).Metrics().MemTable.Size)
}

//export peer_stats
func peer_stats(db C.uintptr_t) *C.char { return C.CString(dbOf(db).Metrics().String()) }

func main() {}
