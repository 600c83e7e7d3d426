package mergedb

// #include "shim.h"
// #include <stdlib.h>
import "C"

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// Kind is a kind of transaction. All kinds are serializable (include/mergedb/transaction.h).
type Kind int32

const (
	// Optimistic: any number at a time, without waiting. Commit returns ErrConflict if another write has changed what
	// the transaction read.
	Optimistic Kind = C.MERGEDB_OPTIMISTIC
	// ReadOnlyKind: reads one state; never waits and never conflicts.
	ReadOnlyKind Kind = C.MERGEDB_READ_ONLY_TRANSACTION
)

// TxOptions of a transaction. nil: all defaults.
type TxOptions struct {
	Kind       Kind // of Begin; the default is Optimistic
	Durability Durability
	BytesMax   uint64    // memory for its writes and its read set; 0: 256 MiB
	Snapshot   *Snapshot // ReadOnlyKind: the state to read
	Name       string    // for property "mergedb.transactions"
}

// Tx is a transaction: it reads the database as of one moment, together with its own writes, and commits all of them
// atomically, or none. Its methods use the default keyspace; In chooses another one.
//
// It is for one goroutine at a time, together with its cursors: a second one gets ErrBusy.
type Tx struct {
	TxKeyspace
	handle  C.mergedb_transaction
	db      C.mergedb_db
	cleanup runtime.Cleanup
	inside  sync.Mutex // held during each call of the transaction and of its cursors
	lost    *lostCursors
}

// lostCursors are the open cursors of a transaction that the garbage collector found. The close of a cursor is a call of
// the transaction, in which a call of the program would be ErrBusy. So the transaction closes them in its next call.
type lostCursors struct {
	some    atomic.Bool
	mutex   sync.Mutex
	handles []C.mergedb_cursor
	ended   bool // the transaction is closed
}

func (l *lostCursors) add(handle C.mergedb_cursor) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.ended {
		C.mergedb_cursor_close(handle, nil)
		return
	}
	l.handles = append(l.handles, handle)
	l.some.Store(true)
}

// close needs the goroutine inside of the transaction.
func (l *lostCursors) close(ended bool) {
	if !ended && !l.some.Load() {
		return
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, handle := range l.handles {
		C.mergedb_cursor_close(handle, nil)
	}
	l.handles = nil
	l.some.Store(false)
	l.ended = l.ended || ended
}

func (l *lostCursors) closeWith(transaction C.mergedb_transaction, e *C.mergedb_error) C.mergedb_code {
	code := C.mergedb_transaction_close(transaction, e)
	l.close(true)
	return code
}

// TxKeyspace is a keyspace within a transaction.
type TxKeyspace struct {
	tx      *Tx
	id      C.mergedb_keyspace
	foreign bool // it is of another database: each call is an error
}

// Begin begins an optimistic or a read-only transaction. Close it, best by defer. Update begins a single writer.
func (db *DB) Begin(options *TxOptions) (*Tx, error) {
	kind := Optimistic
	if options != nil && options.Kind != 0 {
		kind = options.Kind
	}
	return db.begin(C.int32_t(kind), options, 0)
}

func (db *DB) begin(kind C.int32_t, options *TxOptions, waitMax time.Duration) (*Tx, error) {
	o := options
	if o == nil {
		o = &TxOptions{}
	}
	name, err := cString(o.Name)
	if err != nil {
		return nil, err
	}
	defer C.free(unsafe.Pointer(name))
	defer runtime.KeepAlive(o.Snapshot)
	var snapshot C.mergedb_snapshot
	if o.Snapshot != nil {
		snapshot = o.Snapshot.handle
	}
	tx := &Tx{db: db.db, lost: &lostCursors{}}
	tx.TxKeyspace = TxKeyspace{tx: tx}
	err = call(func(e *C.mergedb_error) C.mergedb_code {
		return C.shim_transaction_begin(db.db, kind, C.int32_t(o.Durability), C.uint64_t(o.BytesMax),
			C.uint64_t(waitMax.Microseconds()), snapshot, name, &tx.handle, e)
	})
	if err != nil {
		return nil, err
	}
	lost, handle := tx.lost, tx.handle
	tx.cleanup = runtime.AddCleanup(tx, func(h C.mergedb_transaction) { lost.closeWith(h, nil) }, handle)
	return tx, nil
}

// How long one attempt of Update waits for the previous single writer before it looks at its context.
const attempt = 20 * time.Millisecond

// Update runs f in a transaction of kind single writer: one at a time, all other writes wait until it ends, and its
// commit never conflicts. It commits if f returns nil, else it rolls back and returns the error of f. If ctx ends while
// Update waits for the previous writer, it returns the error of ctx.
//
// f must write through its transaction only: a write of the database in f returns ErrBusy, and waits forever in another
// goroutine for which f waits.
func (db *DB) Update(ctx context.Context, f func(tx *Tx) error, options ...TxOptions) error {
	// The engine knows the thread that began a single writer. So the goroutine keeps its thread until the end.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var o TxOptions
	if len(options) > 0 {
		o = options[0]
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		wait := attempt
		if ctx.Done() == nil {
			wait = 0 // no limit
		}
		started := time.Now()
		tx, err := db.begin(C.MERGEDB_SINGLE_WRITER, &o, wait)
		if errors.Is(err, ErrBusy) && wait > 0 && time.Since(started) >= wait/2 {
			continue // a Busy without a wait is the error of an Update within an Update
		}
		if err != nil {
			return err
		}
		return tx.run(f)
	}
}

// Retry runs f in an optimistic transaction and commits it. After a conflict it runs f again, until ctx ends.
func (db *DB) Retry(ctx context.Context, f func(tx *Tx) error, options ...TxOptions) error {
	var o TxOptions
	if len(options) > 0 {
		o = options[0]
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		tx, err := db.begin(C.MERGEDB_OPTIMISTIC, &o, 0)
		if err != nil {
			return err
		}
		if err := tx.run(f); !errors.Is(err, ErrConflict) {
			return err
		}
	}
}

// View runs f in a read-only transaction.
func (db *DB) View(f func(tx *Tx) error) error {
	tx, err := db.Begin(&TxOptions{Kind: ReadOnlyKind})
	if err != nil {
		return err
	}
	return tx.run(f)
}

func (tx *Tx) run(f func(tx *Tx) error) error {
	defer tx.end() // rolls back if f fails or panics
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// end closes the transaction after the call of another goroutine, if f left one behind.
func (tx *Tx) end() {
	tx.inside.Lock()
	defer tx.inside.Unlock()
	if call(tx.closeHandle) == nil {
		tx.cleanup.Stop()
	}
}

func (tx *Tx) closeHandle(e *C.mergedb_error) C.mergedb_code { return tx.lost.closeWith(tx.handle, e) }

// alone runs f if no other goroutine is inside.
func (tx *Tx) alone(f func() error) error {
	defer runtime.KeepAlive(tx)
	if !tx.inside.TryLock() {
		return errInUse
	}
	defer tx.inside.Unlock()
	tx.lost.close(false)
	return f()
}

func (tx *Tx) do(f func(e *C.mergedb_error) C.mergedb_code) error {
	return tx.alone(func() error { return call(f) })
}

// Commit commits and ends the transaction, also if it fails. ErrConflict: nothing was written.
func (tx *Tx) Commit() error {
	return tx.do(func(e *C.mergedb_error) C.mergedb_code { return C.mergedb_transaction_commit(tx.handle, e) })
}

// Rollback ends the transaction without its writes.
func (tx *Tx) Rollback() error {
	return tx.do(func(e *C.mergedb_error) C.mergedb_code { return C.mergedb_transaction_rollback(tx.handle, e) })
}

// Close releases the transaction, and rolls back unless it is committed. ErrBusy: another goroutine is in a call of it.
func (tx *Tx) Close() error { return closeAlone(&tx.inside, tx.cleanup, tx.closeHandle) }

// Conflict returns the key and the keyspace that made Commit return ErrConflict; false if they are unknown.
func (tx *Tx) Conflict() (key []byte, keyspace uint32, found bool) {
	var bytes unsafe.Pointer
	var length C.size_t
	var id C.mergedb_keyspace
	if tx.do(func(e *C.mergedb_error) C.mergedb_code {
		return C.mergedb_transaction_conflict(tx.handle, &id, &bytes, &length, e)
	}) != nil {
		return nil, 0, false
	}
	defer C.mergedb_free(bytes)
	return C.GoBytes(bytes, C.int(length)), uint32(id), true
}

// SetSavepoint adds a savepoint on top of the stack.
func (tx *Tx) SetSavepoint() error {
	return tx.do(func(e *C.mergedb_error) C.mergedb_code { return C.mergedb_transaction_set_savepoint(tx.handle, e) })
}

// RollbackToSavepoint undoes every write since the newest savepoint, and removes that savepoint.
func (tx *Tx) RollbackToSavepoint() error {
	return tx.do(func(e *C.mergedb_error) C.mergedb_code {
		return C.mergedb_transaction_rollback_to_savepoint(tx.handle, e)
	})
}

// ReleaseSavepoint removes the newest savepoint and keeps the writes.
func (tx *Tx) ReleaseSavepoint() error {
	return tx.do(func(e *C.mergedb_error) C.mergedb_code { return C.mergedb_transaction_release_savepoint(tx.handle, e) })
}

// In is the transaction for another keyspace. If k is of another database, each call returns ErrInvalidArgument.
func (tx *Tx) In(k Keyspace) TxKeyspace { return TxKeyspace{tx, k.id, k.db != tx.db} }

func (k TxKeyspace) alone(f func() error) error {
	if k.foreign {
		return errForeignKeyspace
	}
	return k.tx.alone(f)
}

func (k TxKeyspace) do(f func(e *C.mergedb_error) C.mergedb_code) error {
	return k.alone(func() error { return call(f) })
}

// Get returns ErrNotFound if key is absent.
func (k TxKeyspace) Get(key []byte) ([]byte, error) {
	var value unsafe.Pointer
	var length C.size_t
	err := k.do(func(e *C.mergedb_error) C.mergedb_code {
		return C.shim_transaction_get(k.tx.handle, k.id, pointer(key), size(key), &value, &length, e)
	})
	if err != nil {
		return nil, err
	}
	defer C.mergedb_free(value)
	return append(make([]byte, 0, length), unsafe.Slice((*byte)(value), length)...), nil
}

// Put sets the value of key.
func (k TxKeyspace) Put(key, value []byte) error {
	return k.do(func(e *C.mergedb_error) C.mergedb_code {
		return C.shim_transaction_put(k.tx.handle, k.id, pointer(key), size(key), pointer(value), size(value), e)
	})
}

// Delete deletes key. The key may be absent.
func (k TxKeyspace) Delete(key []byte) error {
	return k.do(func(e *C.mergedb_error) C.mergedb_code {
		return C.shim_transaction_delete(k.tx.handle, k.id, pointer(key), size(key), e)
	})
}

// DeleteRange deletes every key from begin (inclusive) to end (exclusive).
func (k TxKeyspace) DeleteRange(begin, end []byte) error {
	return k.do(func(e *C.mergedb_error) C.mergedb_code {
		return C.shim_transaction_delete_range(k.tx.handle, k.id, pointer(begin), size(begin), pointer(end), size(end), e)
	})
}

// Merge applies an operand to the value of key.
func (k TxKeyspace) Merge(key []byte, operand Operand) error {
	return k.alone(func() error { return operand.merge(0, 0, k.tx.handle, 0, k.id, key) })
}

// Cursor moves over the keys that a transaction sees, also over its own writes. The transaction may write under it.
//
// It is for one goroutine at a time, together with its transaction. If two of them meet in it, all later calls of the
// cursor but Close fail, and Err is ErrBusy.
type Cursor struct {
	tx      *Tx
	handle  C.mergedb_cursor
	cleanup runtime.Cleanup
	position
}

// Cursor opens a cursor, which stands at no key. If it cannot be opened, Err has the error.
func (k TxKeyspace) Cursor() *Cursor {
	c := &Cursor{tx: k.tx}
	c.shared = &k.tx.inside
	c.err = k.do(func(e *C.mergedb_error) C.mergedb_code { return C.mergedb_cursor_open(k.tx.handle, k.id, &c.handle, e) })
	if c.err == nil {
		c.cleanup = runtime.AddCleanup(c, k.tx.lost.add, c.handle)
	}
	return c
}

func (c *Cursor) move(to C.int32_t, key []byte) bool {
	defer runtime.KeepAlive(c)
	if c.handle == 0 || !c.enter() {
		return false
	}
	defer c.leave()
	return c.advance(to, key)
}

// advance needs the goroutine inside.
func (c *Cursor) advance(to C.int32_t, key []byte) bool {
	return c.moved(call(func(e *C.mergedb_error) C.mergedb_code {
		return C.shim_cursor_move(c.handle, to, pointer(key), size(key), e)
	}))
}

// entry needs the goroutine inside.
func (c *Cursor) entry() (key, value []byte, found bool) {
	var k, v C.mergedb_slice
	if C.mergedb_cursor_entry(c.handle, &k, &v, nil) != C.MERGEDB_OK {
		return nil, nil, false
	}
	return copyOf(k), copyOf(v), true
}

// step moves and returns copies of the entry that it reached.
func (c *Cursor) step(to C.int32_t) (key, value []byte, found bool) {
	defer runtime.KeepAlive(c)
	if c.handle == 0 || !c.enter() {
		return nil, nil, false
	}
	defer c.leave()
	if !c.advance(to, nil) {
		return nil, nil, false
	}
	return c.entry()
}

// First moves to the first key. Like every move, it returns whether the cursor reached a key.
func (c *Cursor) First() bool { return c.move(C.MERGEDB_TO_FIRST, nil) }

// Last moves to the last key.
func (c *Cursor) Last() bool { return c.move(C.MERGEDB_TO_LAST, nil) }

// Next moves to the next key.
func (c *Cursor) Next() bool { return c.move(C.MERGEDB_TO_NEXT, nil) }

// Prev moves to the previous key.
func (c *Cursor) Prev() bool { return c.move(C.MERGEDB_TO_PREV, nil) }

// SeekExact moves to key; if it is absent, the cursor stands before the first key after it.
func (c *Cursor) SeekExact(key []byte) bool { return c.move(C.MERGEDB_TO_KEY, key) }

// Seek moves to the first key at or after key.
func (c *Cursor) Seek(key []byte) bool { return c.move(C.MERGEDB_TO_KEY_OR_NEXT, key) }

// SeekForPrev moves to the last key at or before key.
func (c *Cursor) SeekForPrev(key []byte) bool { return c.move(C.MERGEDB_TO_KEY_OR_PREV, key) }

// Current stays at its key; after a delete it moves to the next one. Call it after a write, before Key and Value.
func (c *Cursor) Current() bool { return c.move(C.MERGEDB_TO_CURRENT, nil) }

// Entry returns copies of the key and the value at which the cursor stands, else nil.
func (c *Cursor) Entry() (key, value []byte) {
	defer runtime.KeepAlive(c)
	if c.handle == 0 || !c.enter() {
		return nil, nil
	}
	defer c.leave()
	key, value, _ = c.entry()
	return key, value
}

// Put sets the value of the key at which the cursor stands.
func (c *Cursor) Put(value []byte) error {
	defer runtime.KeepAlive(c)
	return c.tx.do(func(e *C.mergedb_error) C.mergedb_code {
		return C.shim_cursor_put(c.handle, pointer(value), size(value), e)
	})
}

// Delete deletes the key at which the cursor stands. Next then goes to the key after it.
func (c *Cursor) Delete() error {
	defer runtime.KeepAlive(c)
	return c.tx.do(func(e *C.mergedb_error) C.mergedb_code { return C.mergedb_cursor_delete(c.handle, e) })
}

// All is all entries, forwards. The loop may write to the transaction. Read Err after the loop.
func (c *Cursor) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		to := C.int32_t(C.MERGEDB_TO_FIRST)
		for key, value, found := c.step(to); found && yield(key, value); key, value, found = c.step(to) {
			to = C.MERGEDB_TO_NEXT
		}
	}
}

// Err is the error of the last move, or of the creation; nil at an end.
func (c *Cursor) Err() error { return c.lastError() }

// Close releases the cursor. A cursor may be closed after its transaction. ErrBusy: another goroutine is in a call of it.
func (c *Cursor) Close() error {
	return closeAlone(c.inside(), c.cleanup, func(e *C.mergedb_error) C.mergedb_code { return C.mergedb_cursor_close(c.handle, e) })
}
