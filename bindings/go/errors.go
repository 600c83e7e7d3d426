package mergedb

// #include "shim.h"
import "C"

import "sync"

// Code says why a call failed. A Code is an error, so that errors.Is(err, mergedb.ErrNotFound) works.
type Code int32

const (
	// ErrNotFound: the key, the file, the keyspace or the database does not exist.
	ErrNotFound Code = C.MERGEDB_NOT_FOUND
	// ErrCorruption: the stored bytes are not the bytes that were written.
	ErrCorruption Code = C.MERGEDB_CORRUPTION
	// ErrInvalidArgument: the caller asked for something that can never work.
	ErrInvalidArgument Code = C.MERGEDB_INVALID_ARGUMENT
	// ErrNotSupported: valid, but not supported by this build, file or compaction style.
	ErrNotSupported Code = C.MERGEDB_NOT_SUPPORTED
	// ErrIO: the operating system returned an error.
	ErrIO Code = C.MERGEDB_IO_ERROR
	// ErrNoSpace: the disk or the quota is full, or a transaction exceeds its memory.
	ErrNoSpace Code = C.MERGEDB_NO_SPACE
	// ErrBusy: in use by another process, goroutine or transaction. Try again.
	ErrBusy Code = C.MERGEDB_BUSY
	// ErrConflict: another write conflicts with the transaction, which wrote nothing. Begin it again.
	ErrConflict Code = C.MERGEDB_CONFLICT
	// ErrAborted: the caller ended the operation, or the transaction has ended.
	ErrAborted Code = C.MERGEDB_ABORTED
	// ErrShuttingDown: the database of this object is closed.
	ErrShuttingDown Code = C.MERGEDB_SHUTTING_DOWN
	// ErrMergeFailed: the operands of this key cannot be applied. Other keys work; a put or delete repairs the key.
	ErrMergeFailed Code = C.MERGEDB_MERGE_FAILED
	// ErrClosed: the object is closed, or belongs to the parent of a fork.
	ErrClosed Code = C.MERGEDB_BAD_HANDLE
	// ErrOutOfMemory: an allocation failed. If the call was a write, its outcome is unknown.
	ErrOutOfMemory Code = C.MERGEDB_OUT_OF_MEMORY
)

// Error is the name of the code.
func (c Code) Error() string { return "mergedb: " + C.GoString(C.mergedb_code_name(C.int32_t(c))) }

// Error is the error of a call. errors.Is(err, ErrBusy) compares its code.
type Error struct {
	Code    Code
	Message string
	// OutcomeUnknown: the failed write may be present after the next open, completely or not at all.
	OutcomeUnknown bool
}

func (e *Error) Error() string {
	if e.Message == "" {
		return e.Code.Error()
	}
	return e.Code.Error() + ": " + e.Message
}

// Is is true for the Code of the error.
func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && code == e.Code
}

// The 512 bytes of an error are reused, so that a call allocates nothing if it succeeds.
var errorPool = sync.Pool{New: func() any { return new(C.mergedb_error) }}

// call runs a function of the C interface and returns its error.
func call(f func(e *C.mergedb_error) C.mergedb_code) error {
	e := errorPool.Get().(*C.mergedb_error)
	defer errorPool.Put(e)
	if code := f(e); code != C.MERGEDB_OK {
		return &Error{Code: Code(code), Message: C.GoString(&e.message[0]), OutcomeUnknown: e.outcome_unknown != 0}
	}
	return nil
}
