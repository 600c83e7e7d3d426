// Package mergedb is an embedded, ordered key-value store in a directory.
//
//	db, err := mergedb.Open("/srv/data", nil)
//	if err != nil {
//		return err
//	}
//	defer db.Close()
//	err = db.Put([]byte("fruit:apple"), []byte("green"))
//	value, err := db.Get([]byte("fruit:apple"))
//	if errors.Is(err, mergedb.ErrNotFound) { ... }
//
// Any number of goroutines may use a DB, a Keyspace and a Snapshot at the same time. An Iterator, a Batch or a
// transaction is for one goroutine at a time: a second one gets ErrBusy. A call on a closed object returns ErrClosed.
// Objects may be closed more than once and in any order. The garbage collector closes forgotten snapshots, iterators
// and batches, but not a DB.
//
// A call copies the bytes that it gets, and the caller owns the bytes that it returns. docs/api/go.md is a tour.
package mergedb

// #include "shim.h"
// #include <stdlib.h>
import "C"

import (
	"context"
	"fmt"
	"runtime"
	"runtime/cgo"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// Durability says when a write is durable.
type Durability int32

const (
	// ProcessCrash: survives kill -9 once the call returns; a power loss may lose the newest writes. The default.
	ProcessCrash Durability = C.MERGEDB_PROCESS_CRASH
	// Synced: also survives a power loss once the call returns, as does every logged write before it.
	Synced Durability = C.MERGEDB_SYNCED
	// NoWAL: durable after the next Flush or Close.
	NoWAL Durability = C.MERGEDB_NO_WAL
)

// Mode says what Open does if there is a database, or none.
type Mode int32

const (
	CreateIfMissing Mode = C.MERGEDB_CREATE_IF_MISSING
	MustExist       Mode = C.MERGEDB_MUST_EXIST
	MustNotExist    Mode = C.MERGEDB_MUST_NOT_EXIST
	ReadOnly        Mode = C.MERGEDB_READ_ONLY // takes no lock and changes no byte
)

// Style is a compaction style.
type Style int32

const (
	Lazy    Style = C.MERGEDB_STYLE_LAZY
	Cascade Style = C.MERGEDB_STYLE_CASCADE
)

// Compression is a codec of tables.
type Compression int32

const (
	NoCompression Compression = C.MERGEDB_COMPRESSION_NONE
	Snappy        Compression = C.MERGEDB_COMPRESSION_SNAPPY
	Zstd          Compression = C.MERGEDB_COMPRESSION_ZSTD
	LZ4           Compression = C.MERGEDB_COMPRESSION_LZ4
)

// Options of Open. A field that is zero has its default; include/mergedb/options.h describes each of them and its limits.
// Open refuses a value beyond them with ErrInvalidArgument.
type Options struct {
	// options: begin members (scripts/options.toml)
	// What an open does if there is a database, or none. Default: CREATE_IF_MISSING.
	Mode Mode

	// The memory for write buffers and the block cache together. Default: 256 MiB.
	MemoryBytes uint64

	// Unflushed writes may take twice this many bytes of memory_bytes, standby memtable included. Default: an eighth of
	// memory_bytes.
	WriteBufferBytes uint64

	// How background compactions arrange the data. Default: LAZY.
	Style Style

	// The codec of new upper tables, which are rewritten soon. Default: LZ4.
	UpperCompression Compression

	// The codec of new bottommost tables, which stay. Default: LZ4.
	BottomCompression Compression

	// Bits per key of the tables' bloom filters. -1: no filters. Default: 10.
	BloomBitsPerKey int

	// The target size of a table's blocks before compression. Default: 4,096.
	BlockBytes uint64

	// Values of at least this many bytes are written once, to a blob file, and tables refer to them. -1: all values are
	// stored in tables. Default: 768.
	BlobValueBytesMin int64

	// The maximum of open tables; half as many blob files may be open, too. Default: 1,000.
	OpenTablesMax int

	// Tables and blob files up to this many bytes together are mapped into memory and read in place. -1: no file is
	// mapped. Default: half of the machine's memory.
	MappedReadBytesMax int64

	// The maximum delay of a put while the disk keeps up with the writes. At least a microsecond, of which it is cut to a
	// multiple. Default: 10,000 microseconds.
	WriteDelayMax time.Duration

	// Close waits for running compactions.
	FinishCompactionsOnClose bool

	// The space that a busy database reuses stays allocated when it is at rest, for benchmarks of the steady state.
	KeepSpaceAtRest bool

	// One write for each commit group, instead of a WAL buffer in a mapped file.
	NoMappedWALBuffer bool

	// An unsynced write is durable (it survives a power loss) at most this long after the call. At least a millisecond, of
	// which it is cut to a multiple. -1: no limit in time. Default: 5,000 milliseconds.
	WALSyncInterval time.Duration

	// The files LOG and LOG.old of the directory hold the newest events as lines of JSON, at most this many bytes
	// together. Default: no LOG is written.
	LogBytesMax uint64

	// A call that takes at least this long becomes an event with its breakdown. At least a microsecond, of which it is cut
	// to a multiple. Default: calls are not measured.
	SlowCall time.Duration

	// options: end

	// Listener gets the events of the database, one at a time, in order; docs/EVENTS.md. It may block and may call the
	// database; DB.Close is ErrBusy there. A panic ends at the call and is logged.
	Listener func(Event)
}

// check refuses what the types of C would cut, or would take for 0, which is the default.
func (o *Options) check() error {
	refuse := func(name string, value any, expected string) error {
		return &Error{Code: ErrInvalidArgument, Message: fmt.Sprintf("Options.%s is %v, expected %s", name, value, expected)}
	}
	switch {
	// options: begin check (scripts/options.toml)
	case o.BloomBitsPerKey != int(int32(o.BloomBitsPerKey)):
		return refuse("BloomBitsPerKey", o.BloomBitsPerKey, "-1 (no filters) to 64")
	case o.OpenTablesMax != int(int32(o.OpenTablesMax)):
		return refuse("OpenTablesMax", o.OpenTablesMax, "a number of tables below 2^31")
	case o.WriteDelayMax < 0 || o.WriteDelayMax > 0 && o.WriteDelayMax < time.Microsecond:
		return refuse("WriteDelayMax", o.WriteDelayMax, "0 (the default) or at least 1µs")
	case o.WALSyncInterval < -1 || o.WALSyncInterval > 0 && o.WALSyncInterval < time.Millisecond:
		return refuse("WALSyncInterval", o.WALSyncInterval, "-1 (no limit in time), 0 (the default) or at least 1ms")
	case o.SlowCall < 0 || o.SlowCall > 0 && o.SlowCall < time.Microsecond:
		return refuse("SlowCall", o.SlowCall, "0 (calls are not measured) or at least 1µs")
		// options: end
	}
	return nil
}

// DB is an open database. The methods of Keyspace are those of its default keyspace.
type DB struct {
	Keyspace
}

// Open opens the database in the directory path, or creates it. nil options: all defaults.
func Open(path string, options *Options) (*DB, error) {
	o := options
	if o == nil {
		o = &Options{}
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	c := C.mergedb_options{struct_size: C.sizeof_mergedb_options}
	// options: begin fields (scripts/options.toml)
	c.mode = C.int32_t(o.Mode)
	c.memory_bytes = C.uint64_t(o.MemoryBytes)
	c.write_buffer_bytes = C.uint64_t(o.WriteBufferBytes)
	c.style = C.int32_t(o.Style)
	c.compression_upper = C.int32_t(o.UpperCompression)
	c.compression_bottom = C.int32_t(o.BottomCompression)
	c.bloom_bits_per_key = C.int32_t(o.BloomBitsPerKey)
	c.block_bytes = C.uint64_t(o.BlockBytes)
	c.blob_value_bytes_min = C.int64_t(o.BlobValueBytesMin)
	c.open_tables_max = C.int32_t(o.OpenTablesMax)
	c.mapped_read_bytes_max = C.int64_t(o.MappedReadBytesMax)
	c.write_delay_us_max = C.uint64_t(units(o.WriteDelayMax, time.Microsecond))
	c.finish_compactions_on_close = chosen(o.FinishCompactionsOnClose, C.MERGEDB_YES)
	c.keep_space_at_rest = chosen(o.KeepSpaceAtRest, C.MERGEDB_YES)
	c.use_mapped_wal_buffer = chosen(o.NoMappedWALBuffer, C.MERGEDB_NO)
	c.wal_sync_interval_ms = C.int64_t(units(o.WALSyncInterval, time.Millisecond))
	c.log_bytes_max = C.uint64_t(o.LogBytesMax)
	c.slow_call_us = C.uint64_t(units(o.SlowCall, time.Microsecond))
	// options: end
	name, err := cString(path)
	if err != nil {
		return nil, err
	}
	defer C.free(unsafe.Pointer(name))
	db := &DB{}
	listening := newListening(o.Listener)
	err = call(func(e *C.mergedb_error) C.mergedb_code {
		return C.shim_open(name, &c, C.uintptr_t(listening.handle), &db.db, e)
	})
	if err != nil {
		listening.end()
		return nil, err
	}
	listening.db.Store(uint64(db.db))
	return db, nil
}

// units is a duration in units of C. A negative one is -1, which says none.
func units(d, unit time.Duration) int64 {
	if d < 0 {
		return -1
	}
	return int64(d / unit)
}

// chosen is the value if the flag is set, else 0, the default.
func chosen(flag bool, value C.int32_t) C.int32_t {
	if flag {
		return value
	}
	return 0
}

// Destroy removes the files of a database that no process has open.
func Destroy(path string) error {
	name, err := cString(path)
	if err != nil {
		return err
	}
	defer C.free(unsafe.Pointer(name))
	return call(func(e *C.mergedb_error) C.mergedb_code { return C.mergedb_destroy(name, e) })
}

// Version is the version of the library.
func Version() string { return C.GoString(C.mergedb_version()) }

// Close makes the WAL durable, stops background work and releases the directory. It waits for calls that are in
// progress. End all transactions before. A second call does nothing. ErrBusy: it is called by Progress of a checkpoint of
// this database, or by its Listener, for which it would wait forever; the database stays open.
func (db *DB) Close() error {
	if of, found := callbackThreads.Load(C.shim_thread()); found && of.(*atomic.Uint64).Load() == uint64(db.db) {
		return &Error{Code: ErrBusy, Message: "Progress and Listener cannot close their database; close it after that call"}
	}
	return closeOnce(db.closeHandle())
}

func (db *DB) closeHandle() error {
	return call(func(e *C.mergedb_error) C.mergedb_code { return C.mergedb_close(db.db, e) })
}

// Write applies a batch atomically. The batch stays unchanged.
func (db *DB) Write(batch *Batch, durability ...Durability) error {
	return batch.write(db.db, durability)
}

// Flush: everything that was written before is in tables and durable.
func (db *DB) Flush(ctx context.Context) error {
	return background(ctx, func(e *C.mergedb_error) C.mergedb_code { return C.mergedb_flush(db.db, e) })
}

// SyncWAL: every write that returned before survives a power loss.
func (db *DB) SyncWAL() error {
	return call(func(e *C.mergedb_error) C.mergedb_code { return C.mergedb_sync_wal(db.db, e) })
}

// WaitForCompactions waits until no background work is pending.
func (db *DB) WaitForCompactions(ctx context.Context) error {
	return background(ctx, func(e *C.mergedb_error) C.mergedb_code { return C.mergedb_wait(db.db, e) })
}

// CheckIntegrity reads and checks every byte of every live table and blob file. ErrCorruption: the first damage.
func (db *DB) CheckIntegrity(ctx context.Context) error {
	return background(ctx, func(e *C.mergedb_error) C.mergedb_code { return C.mergedb_check(db.db, e) })
}

// Property returns a property as text: "mergedb.stats", "mergedb.prometheus", ... (docs/api/cpp.md has the list).
func (db *DB) Property(name string) (string, error) {
	c, err := cString(name)
	if err != nil {
		return "", err
	}
	defer C.free(unsafe.Pointer(c))
	var text *C.char
	err = call(func(e *C.mergedb_error) C.mergedb_code { return C.mergedb_get_property(db.db, c, &text, e) })
	if err != nil {
		return "", err
	}
	defer C.mergedb_free(unsafe.Pointer(text))
	return C.GoString(text), nil
}

// Metric is a counter or a gauge. docs/METRICS.md lists all of them.
type Metric struct {
	Name, Unit, Help string
	IsGauge          bool
	Value            uint64
}

// Metrics returns the present values of all counters and gauges.
func (db *DB) Metrics() ([]Metric, error) {
	list := make([]C.mergedb_metric, 512)
	for {
		var count C.size_t
		err := call(func(e *C.mergedb_error) C.mergedb_code {
			return C.shim_metrics(db.db, &list[0], C.size_t(len(list)), &count, e)
		})
		if err != nil {
			return nil, err
		}
		if int(count) <= len(list) {
			list = list[:count]
			break
		}
		list = make([]C.mergedb_metric, count)
	}
	metrics := make([]Metric, len(list))
	for i, m := range list {
		metrics[i] = Metric{C.GoString(m.name), C.GoString(m.unit), C.GoString(m.help), m._type == C.MERGEDB_GAUGE, uint64(m.value)}
	}
	return metrics, nil
}

// CheckpointOptions of Checkpoint. nil: hard links where possible, and the copy is verified.
type CheckpointOptions struct {
	Copy       bool // copy every byte, so that damage to one file does not affect the other database
	SkipVerify bool // do not read the copy back
	// Progress is called from time to time, in a goroutine for which Checkpoint waits. It must not call into the database;
	// DB.Close is ErrBusy there. If it panics, or ends its goroutine, the copy stops and Checkpoint does the same.
	Progress func(bytesDone, bytesAll uint64)
}

// CheckpointReport says what a checkpoint did.
type CheckpointReport struct {
	Files, Linked, Copied, Kept, Bytes, Sequence uint64
}

type checkpointProgress struct {
	db    atomic.Uint64
	ctx   context.Context
	show  func(bytesDone, bytesAll uint64)
	ended ending
}

// ending says how a function of the program ended.
type ending struct {
	panicked any  // the value of its panic
	exited   bool // without a return or a panic: runtime.Goexit, which t.FailNow calls
}

// again ends the calling goroutine in the same way.
func (e ending) again() {
	if e.panicked != nil {
		panic(e.panicked)
	}
	if e.exited {
		runtime.Goexit()
	}
}

// callbackThreads has the threads that run a Progress or a Listener, and their databases, *atomic.Uint64. Each goroutine is
// locked to its thread, so that no other one runs there.
var callbackThreads sync.Map

// inOwnThread runs f with the database registered for its thread.
func inOwnThread(db *atomic.Uint64, f func() bool) bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread := C.shim_thread()
	callbackThreads.Store(thread, db)
	defer callbackThreads.Delete(thread)
	return f()
}

// runApart runs f in a goroutine and waits for it. A panic or a runtime.Goexit must not leave C in the middle of a call:
// its locks and pins would be held forever. A Goexit cannot be recovered, so f has a goroutine of its own.
func runApart(f func() bool) (result bool, how ending) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		how.exited = true
		defer func() {
			if value := recover(); value != nil {
				result, how = false, ending{panicked: value}
			}
		}()
		result = f()
		how.exited = false
	}()
	<-done
	return result, how
}

//export goCheckpointProgress
func goCheckpointProgress(handle C.uintptr_t, bytesDone, bytesAll C.uint64_t) C.int32_t {
	progress := cgo.Handle(handle).Value().(*checkpointProgress)
	goesOn, how := runApart(func() bool {
		return inOwnThread(&progress.db, func() bool {
			if progress.ctx.Err() != nil {
				return false
			}
			if progress.show != nil {
				progress.show(uint64(bytesDone), uint64(bytesAll))
			}
			return true
		})
	})
	progress.ended = how
	return C.int32_t(toC(goesOn))
}

// Checkpoint copies the database into the absent or empty directory target, while it is read and written. If ctx ends,
// Checkpoint stops and returns its error; the next call with this target continues.
func (db *DB) Checkpoint(ctx context.Context, target string, options *CheckpointOptions) (CheckpointReport, error) {
	if options == nil {
		options = &CheckpointOptions{}
	}
	if err := ctx.Err(); err != nil {
		return CheckpointReport{}, err
	}
	name, err := cString(target)
	if err != nil {
		return CheckpointReport{}, err
	}
	defer C.free(unsafe.Pointer(name))
	progress := &checkpointProgress{ctx: ctx, show: options.Progress}
	progress.db.Store(uint64(db.db))
	handle := cgo.NewHandle(progress)
	defer handle.Delete()
	var report C.mergedb_checkpoint_report
	err = call(func(e *C.mergedb_error) C.mergedb_code {
		return C.shim_checkpoint(db.db, name, toC(!options.Copy), toC(!options.SkipVerify), C.uintptr_t(handle), &report, e)
	})
	progress.ended.again()
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return CheckpointReport{uint64(report.files), uint64(report.linked), uint64(report.copied), uint64(report.kept),
		uint64(report.bytes), uint64(report.sequence)}, err
}
