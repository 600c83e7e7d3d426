package mergedb

// #include "shim.h"
// #include <stdlib.h>
import "C"

import (
	"log"
	"runtime/cgo"
	"sync/atomic"
	"time"
	"unsafe"
)

// Event is what a database did: docs/EVENTS.md lists the events and their fields.
type Event struct {
	Name   string // "flush_begin", ...
	Time   time.Time
	Fields map[string]any // each a uint64 or a string
	JSON   string         // the event as a line of JSON, as the file LOG has it
}

// listening is a Listener that the engine calls.
type listening struct {
	handle cgo.Handle // 0: there is no Listener
	call   func(Event)
	db     atomic.Uint64 // 0 until the open is over
	ended  atomic.Bool
}

func newListening(call func(Event)) *listening {
	l := &listening{call: call}
	if call != nil {
		l.handle = cgo.NewHandle(l)
	}
	return l
}

// end is called by the engine after the last event, and after an open that failed, whether the engine took it or not.
func (l *listening) end() {
	if l.handle != 0 && l.ended.CompareAndSwap(false, true) {
		l.handle.Delete()
	}
}

//export goListenerEnds
func goListenerEnds(handle C.uintptr_t) { cgo.Handle(handle).Value().(*listening).end() }

//export goEvent
func goEvent(handle C.uintptr_t, event *C.mergedb_event) {
	l := cgo.Handle(handle).Value().(*listening)
	shown := Event{
		Name:   C.GoString(event.name),
		Time:   time.UnixMicro(int64(event.time_us)),
		Fields: map[string]any{},
		JSON:   C.GoString(event.json),
	}
	for _, field := range unsafe.Slice(event.fields, int(event.field_count)) {
		if field.text == nil {
			shown.Fields[C.GoString(field.name)] = uint64(field.number)
		} else {
			shown.Fields[C.GoString(field.name)] = C.GoStringN(field.text, C.int(field.text_size))
		}
	}
	_, how := runApart(func() bool {
		return inOwnThread(&l.db, func() bool {
			l.call(shown)
			return true
		})
	})
	if how.panicked != nil {
		log.Printf("mergedb: the Listener panicked at %s: %v", shown.Name, how.panicked)
	}
}

// TraceOptions of StartTrace. A field that is zero has its default.
type TraceOptions struct {
	Sampling     uint32 // one of so many keys and iterators is recorded; default: all
	RecordValues bool   // the bytes of values of up to 1 MiB, instead of their sizes
	BytesMax     uint64 // the trace ends when its file would exceed this size; default 1 GiB
}

// TraceReport says what a trace has.
type TraceReport struct {
	Operations uint64 // a batch counts as one
	Lost       uint64 // left out, because the file could not be written as fast, or a batch was too large
	Bytes      uint64 // of the file
	IsFull     bool   // the trace ended at BytesMax
}

// StartTrace begins to record the calls on this database to the new file path: docs/TRACE.md. EndTrace or Close ends it.
// nil options: all defaults. ErrBusy: a trace was started and not ended.
func (db *DB) StartTrace(path string, options *TraceOptions) error {
	if options == nil {
		options = &TraceOptions{}
	}
	name, err := cString(path)
	if err != nil {
		return err
	}
	defer C.free(unsafe.Pointer(name))
	c := C.mergedb_trace_options{
		struct_size:   C.sizeof_mergedb_trace_options,
		sampling:      C.uint32_t(options.Sampling),
		record_values: chosen(options.RecordValues, C.MERGEDB_YES),
		bytes_max:     C.uint64_t(options.BytesMax),
	}
	return call(func(e *C.mergedb_error) C.mergedb_code { return C.mergedb_start_trace(db.db, name, &c, e) })
}

// EndTrace ends the trace. The report is also filled if the file could not be written. ErrInvalidArgument: no trace was
// started.
func (db *DB) EndTrace() (TraceReport, error) {
	report := C.mergedb_trace_report{struct_size: C.sizeof_mergedb_trace_report}
	err := call(func(e *C.mergedb_error) C.mergedb_code { return C.mergedb_end_trace(db.db, &report, e) })
	return TraceReport{uint64(report.operations), uint64(report.lost), uint64(report.bytes), report.is_full != 0}, err
}
