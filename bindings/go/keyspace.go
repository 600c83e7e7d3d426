package mergedb

// #include "shim.h"
import "C"

import (
	"context"
	"runtime"
	"sync"
	"unsafe"
)

// Keyspace is an ordered map of a database (RocksDB: column family). It is a small value that needs no close. It knows its
// open database: where a call of a transaction, a batch or another DB takes a Keyspace, one of another database returns
// ErrInvalidArgument, and so does one of an earlier Open. Two of them are equal (==) if they are the same keyspace of the
// same open database. The zero Keyspace belongs to no database: its calls return ErrClosed.
type Keyspace struct {
	db C.mergedb_db // its handle, a number that the process never uses for another database
	id C.mergedb_keyspace
}

var errForeignKeyspace = &Error{Code: ErrInvalidArgument, Message: "the keyspace is of another database"}

// orNone is k, or the zero Keyspace after an error.
func (k Keyspace) orNone(err error) (Keyspace, error) {
	if err != nil {
		return Keyspace{}, err
	}
	return k, nil
}

// CreateKeyspace creates a keyspace, or returns the existing one if mayExist is true.
func (db *DB) CreateKeyspace(name string, mayExist bool) (Keyspace, error) {
	k := Keyspace{db: db.db}
	flag := C.int32_t(C.MERGEDB_DEFAULT)
	if mayExist {
		flag = C.MERGEDB_YES
	}
	bytes := []byte(name)
	err := call(func(e *C.mergedb_error) C.mergedb_code {
		return C.mergedb_keyspace_create(db.db, unsafe.Pointer(unsafe.SliceData(bytes)), size(bytes), flag, &k.id, e)
	})
	return k.orNone(err)
}

// OpenKeyspace returns ErrNotFound if no keyspace has this name.
func (db *DB) OpenKeyspace(name string) (Keyspace, error) {
	k := Keyspace{db: db.db}
	bytes := []byte(name)
	err := call(func(e *C.mergedb_error) C.mergedb_code {
		return C.mergedb_keyspace_open(db.db, nil, unsafe.Pointer(unsafe.SliceData(bytes)), size(bytes), &k.id, e)
	})
	return k.orNone(err)
}

// Keyspaces returns the named keyspaces.
func (db *DB) Keyspaces() (map[string]Keyspace, error) {
	var entries *C.mergedb_keyspace_entry
	var count C.size_t
	err := call(func(e *C.mergedb_error) C.mergedb_code {
		return C.mergedb_keyspace_list(db.db, nil, &entries, &count, e)
	})
	if err != nil {
		return nil, err
	}
	defer C.mergedb_free(unsafe.Pointer(entries))
	keyspaces := make(map[string]Keyspace, count)
	for _, entry := range unsafe.Slice(entries, count) {
		keyspaces[C.GoStringN((*C.char)(entry.name.data), C.int(entry.name.size))] = Keyspace{db.db, entry.keyspace}
	}
	return keyspaces, nil
}

// DropKeyspace removes a keyspace with all of its keys, by one write.
func (db *DB) DropKeyspace(k Keyspace, durability ...Durability) error {
	if k.db != db.db {
		return errForeignKeyspace
	}
	return call(func(e *C.mergedb_error) C.mergedb_code {
		return C.shim_keyspace_change(db.db, 1, durabilityOf(durability), k.id, e)
	})
}

// Clear deletes all keys of a named keyspace, by one write.
func (k Keyspace) Clear(durability ...Durability) error {
	return call(func(e *C.mergedb_error) C.mergedb_code {
		return C.shim_keyspace_change(k.db, 0, durabilityOf(durability), k.id, e)
	})
}

// Put sets the value of key. Durability is ProcessCrash unless one is given.
func (k Keyspace) Put(key, value []byte, durability ...Durability) error {
	return call(func(e *C.mergedb_error) C.mergedb_code {
		return C.shim_put(k.db, durabilityOf(durability), k.id, pointer(key), size(key), pointer(value), size(value), e)
	})
}

// Delete deletes key. The key may be absent.
func (k Keyspace) Delete(key []byte, durability ...Durability) error {
	return call(func(e *C.mergedb_error) C.mergedb_code {
		return C.shim_delete(k.db, durabilityOf(durability), k.id, pointer(key), size(key), e)
	})
}

// DeleteRange deletes every key from begin (inclusive) to end (exclusive), at the cost of one write.
func (k Keyspace) DeleteRange(begin, end []byte, durability ...Durability) error {
	return call(func(e *C.mergedb_error) C.mergedb_code {
		return C.shim_delete_range(k.db, durabilityOf(durability), k.id, pointer(begin), size(begin), pointer(end), size(end), e)
	})
}

// DeletePrefix deletes every key that begins with prefix, at the cost of one write.
func (k Keyspace) DeletePrefix(prefix []byte, durability ...Durability) error {
	return call(func(e *C.mergedb_error) C.mergedb_code {
		return C.shim_delete_prefix(k.db, durabilityOf(durability), k.id, pointer(prefix), size(prefix), e)
	})
}

// Merge applies an operand to the value of key without reading the value, which may be absent.
func (k Keyspace) Merge(key []byte, operand Operand, durability ...Durability) error {
	return operand.merge(k.db, 0, 0, durabilityOf(durability), k.id, key)
}

// Get returns ErrNotFound if key is absent.
func (k Keyspace) Get(key []byte) ([]byte, error) { return View{k, nil}.Get(key) }

// MultiGet reads many keys as of one moment. The value of an absent key is nil; that of a present key never is.
func (k Keyspace) MultiGet(keys [][]byte) ([][]byte, error) { return View{k, nil}.MultiGet(keys) }

// Iterate returns an iterator over the present state. nil options: all keys.
func (k Keyspace) Iterate(options *IteratorOptions) *Iterator { return View{k, nil}.Iterate(options) }

// CompactRange compacts the keys of [lower, upper) into the bottommost run. nil: no bound. If ctx ends, the call
// returns its error, and the compaction goes on.
func (k Keyspace) CompactRange(ctx context.Context, lower, upper []byte) error {
	lower, upper = clone(lower), clone(upper)
	return background(ctx, func(e *C.mergedb_error) C.mergedb_code {
		return C.shim_compact(k.db, k.id, pointer(lower), size(lower), toC(lower != nil), pointer(upper), size(upper), toC(upper != nil), e)
	})
}

func clone(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append([]byte{}, b...)
}

// ApproximateSize estimates the bytes on disk of the range [lower, upper) of the default keyspace. Unflushed writes do
// not count.
func (db *DB) ApproximateSize(lower, upper []byte) (uint64, error) {
	var bytes C.uint64_t
	err := call(func(e *C.mergedb_error) C.mergedb_code {
		return C.shim_approximate_size(db.db, pointer(lower), size(lower), pointer(upper), size(upper), &bytes, e)
	})
	return uint64(bytes), err
}

// Snapshot is a state of the database that stays readable until the snapshot is closed. It keeps old versions on disk.
type Snapshot struct {
	handle  C.mergedb_snapshot
	db      C.mergedb_db
	cleanup runtime.Cleanup
}

// Snapshot makes a snapshot of the present state.
func (db *DB) Snapshot() (*Snapshot, error) {
	s := &Snapshot{db: db.db}
	err := call(func(e *C.mergedb_error) C.mergedb_code { return C.mergedb_snapshot_create(db.db, &s.handle, e) })
	if err != nil {
		return nil, err
	}
	s.cleanup = runtime.AddCleanup(s, func(h C.mergedb_snapshot) { C.mergedb_snapshot_close(h, nil) }, s.handle)
	return s, nil
}

// Sequence: the snapshot sees all writes with a sequence number up to this one.
func (s *Snapshot) Sequence() (uint64, error) {
	defer runtime.KeepAlive(s)
	var sequence C.uint64_t
	err := call(func(e *C.mergedb_error) C.mergedb_code { return C.mergedb_snapshot_sequence(s.handle, &sequence, e) })
	return uint64(sequence), err
}

// Close releases the snapshot.
func (s *Snapshot) Close() error {
	s.cleanup.Stop()
	return closeOnce(call(func(e *C.mergedb_error) C.mergedb_code { return C.mergedb_snapshot_close(s.handle, e) }))
}

// Get reads a key of the default keyspace as of the snapshot.
func (s *Snapshot) Get(key []byte) ([]byte, error) { return Keyspace{db: s.db}.At(s).Get(key) }

// View is a keyspace as of a snapshot.
type View struct {
	keyspace Keyspace
	snapshot *Snapshot
}

// At returns the keyspace as of a snapshot of its database.
func (k Keyspace) At(s *Snapshot) View { return View{k, s} }

func (v View) snapshotHandle() C.mergedb_snapshot {
	if v.snapshot == nil {
		return 0
	}
	return v.snapshot.handle
}

// Most values fit into one of these buffers. So a get is one call, and allocates only its result.
var bufferPool = sync.Pool{New: func() any { b := make([]byte, 4096); return &b }}

// Get returns ErrNotFound if key is absent.
func (v View) Get(key []byte) ([]byte, error) {
	defer runtime.KeepAlive(v.snapshot)
	pooled := bufferPool.Get().(*[]byte)
	defer bufferPool.Put(pooled)
	for buffer := *pooled; ; {
		var length C.size_t
		err := call(func(e *C.mergedb_error) C.mergedb_code {
			return C.shim_get_into(v.keyspace.db, v.keyspace.id, v.snapshotHandle(), pointer(key), size(key), pointer(buffer), size(buffer), &length, e)
		})
		if err != nil {
			return nil, err
		}
		if int(length) <= len(buffer) {
			return append(make([]byte, 0, length), buffer[:length]...), nil
		}
		buffer = make([]byte, length) // another write may make the value longer meanwhile
	}
}

// MultiGet reads many keys as of one moment. The value of an absent key is nil; that of a present key never is.
func (v View) MultiGet(keys [][]byte) ([][]byte, error) {
	defer runtime.KeepAlive(v.snapshot)
	if len(keys) == 0 {
		return nil, nil
	}
	var joined []byte
	sizes := make([]C.size_t, len(keys))
	for i, key := range keys {
		joined = append(joined, key...)
		sizes[i] = size(key)
	}
	values := make([]unsafe.Pointer, len(keys))
	valueSizes := make([]C.size_t, len(keys))
	codes := make([]C.int32_t, len(keys))
	err := call(func(e *C.mergedb_error) C.mergedb_code {
		return C.shim_multi_get(v.keyspace.db, v.keyspace.id, v.snapshotHandle(), pointer(joined), &sizes[0], C.size_t(len(keys)),
			&values[0], &valueSizes[0], &codes[0], e)
	})
	results := make([][]byte, len(keys))
	for i, value := range values {
		if value != nil {
			results[i] = append(make([]byte, 0, valueSizes[i]), unsafe.Slice((*byte)(value), valueSizes[i])...)
			C.mergedb_free(value)
		}
	}
	if err != nil {
		return nil, err
	}
	return results, nil
}
