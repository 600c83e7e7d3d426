package mergedb

// #include "shim.h"
import "C"

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Batch is a list of changes that DB.Write applies atomically. Its methods change the default keyspace. It is for one
// goroutine at a time. A change that meets another goroutine in the batch fails with ErrBusy: Err and DB.Write return it.
type Batch struct {
	BatchKeyspace
	handle  C.mergedb_batch
	cleanup runtime.Cleanup
	inside  sync.Mutex         // held during each call; guards what follows
	current C.mergedb_keyspace // of the next change
	db      C.mergedb_db       // of the keyspaces that In named; 0: none
	err     error              // of the first change that failed
	misused atomic.Bool        // a change met another goroutine, and is lost
}

// BatchKeyspace adds changes of one keyspace to a batch.
type BatchKeyspace struct {
	batch *Batch
	named bool // by In; else the default keyspace of whatever database the batch is written to
	in    Keyspace
}

// NewBatch makes an empty batch. It belongs to no database until In names a keyspace of one.
func NewBatch() *Batch {
	b := &Batch{}
	b.BatchKeyspace = BatchKeyspace{batch: b}
	b.err = call(func(e *C.mergedb_error) C.mergedb_code { return C.mergedb_batch_create(&b.handle, e) })
	b.cleanup = runtime.AddCleanup(b, func(h C.mergedb_batch) { C.mergedb_batch_close(h, nil) }, b.handle)
	return b
}

// In is the batch for a keyspace. All keyspaces of a batch must be of one database: a change of another one fails with
// ErrInvalidArgument, as does DB.Write of another database.
func (b *Batch) In(k Keyspace) BatchKeyspace { return BatchKeyspace{b, true, k} }

// add runs a call unless an earlier change failed.
func (k BatchKeyspace) add(f func() error) {
	b := k.batch
	defer runtime.KeepAlive(b)
	if !b.inside.TryLock() {
		b.misused.Store(true)
		return
	}
	defer b.inside.Unlock()
	if b.err == nil && k.named {
		if k.in.db == 0 || b.db != 0 && b.db != k.in.db {
			b.err = errForeignKeyspace
			return
		}
		b.db = k.in.db
	}
	if id := k.in.id; b.err == nil && b.current != id {
		b.current = id
		b.err = call(func(e *C.mergedb_error) C.mergedb_code { return C.mergedb_batch_set_keyspace(b.handle, id, e) })
	}
	if b.err == nil {
		b.err = f()
	}
}

func (k BatchKeyspace) change(f func(e *C.mergedb_error) C.mergedb_code) {
	k.add(func() error { return call(f) })
}

// Put sets the value of key.
func (k BatchKeyspace) Put(key, value []byte) {
	k.change(func(e *C.mergedb_error) C.mergedb_code {
		return C.shim_batch_put(k.batch.handle, pointer(key), size(key), pointer(value), size(value), e)
	})
}

// Delete deletes key. The key may be absent.
func (k BatchKeyspace) Delete(key []byte) {
	k.change(func(e *C.mergedb_error) C.mergedb_code {
		return C.shim_batch_delete(k.batch.handle, pointer(key), size(key), e)
	})
}

// DeleteRange deletes every key from begin (inclusive) to end (exclusive), also those that earlier changes put.
func (k BatchKeyspace) DeleteRange(begin, end []byte) {
	k.change(func(e *C.mergedb_error) C.mergedb_code {
		return C.shim_batch_delete_range(k.batch.handle, pointer(begin), size(begin), pointer(end), size(end), e)
	})
}

// Merge applies an operand to the value of key.
func (k BatchKeyspace) Merge(key []byte, operand Operand) {
	k.add(func() error { return operand.merge(0, k.batch.handle, 0, 0, 0, key) })
}

// Clear removes all changes, and the error of an earlier change.
func (b *Batch) Clear() {
	defer runtime.KeepAlive(b)
	if !b.inside.TryLock() {
		b.misused.Store(true)
		return
	}
	defer b.inside.Unlock()
	b.err = call(func(e *C.mergedb_error) C.mergedb_code { return C.mergedb_batch_clear(b.handle, e) })
	b.current, b.db = 0, 0
	b.misused.Store(false)
}

// Len is the number of changes; 0 while another goroutine is in the batch.
func (b *Batch) Len() int {
	defer runtime.KeepAlive(b)
	var count C.uint64_t
	C.mergedb_batch_size(b.handle, &count, nil, nil)
	return int(count)
}

// Err is the error of the first change that failed. DB.Write returns it, too.
func (b *Batch) Err() error {
	if !b.inside.TryLock() {
		return errInUse
	}
	defer b.inside.Unlock()
	return b.firstError()
}

// firstError needs the goroutine inside.
func (b *Batch) firstError() error {
	if b.misused.Load() {
		return errInUse
	}
	return b.err
}

// Close releases the memory of the batch. ErrBusy: another goroutine is in a call of it.
func (b *Batch) Close() error {
	return closeAlone(&b.inside, b.cleanup, func(e *C.mergedb_error) C.mergedb_code { return C.mergedb_batch_close(b.handle, e) })
}

func (b *Batch) write(db C.mergedb_db, durability []Durability) error {
	defer runtime.KeepAlive(b)
	if !b.inside.TryLock() {
		return errInUse
	}
	defer b.inside.Unlock()
	if err := b.firstError(); err != nil {
		return err
	}
	if b.db != 0 && b.db != db {
		return errForeignKeyspace
	}
	return call(func(e *C.mergedb_error) C.mergedb_code {
		return C.shim_write(db, durabilityOf(durability), b.handle, e)
	})
}
