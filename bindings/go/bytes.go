package mergedb

// #include "shim.h"
// #include <stdlib.h>
import "C"

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"unsafe"
)

func pointer(b []byte) *C.char { return (*C.char)(unsafe.Pointer(unsafe.SliceData(b))) }

func size(b []byte) C.size_t { return C.size_t(len(b)) }

func toC(b bool) C.int {
	if b {
		return 1
	}
	return 0
}

// cString returns a copy for C.free.
func cString(text string) (*C.char, error) {
	if strings.IndexByte(text, 0) >= 0 {
		return nil, &Error{Code: ErrInvalidArgument, Message: "the text has a NUL byte"}
	}
	return C.CString(text), nil
}

// closeOnce turns the error of a second close into nil.
func closeOnce(err error) error {
	if errors.Is(err, ErrClosed) {
		return nil
	}
	return err
}

// closeAlone closes an object that is for one goroutine at a time. If another one is inside, the object stays open.
func closeAlone(inside *sync.Mutex, cleanup runtime.Cleanup, f func(e *C.mergedb_error) C.mergedb_code) error {
	if !inside.TryLock() {
		return errInUse
	}
	defer inside.Unlock()
	err := closeOnce(call(f))
	if err == nil {
		cleanup.Stop()
	}
	return err
}

func durabilityOf(chosen []Durability) C.int32_t {
	if len(chosen) == 0 {
		return C.int32_t(ProcessCrash)
	}
	return C.int32_t(chosen[len(chosen)-1])
}

// background runs a call that cannot be stopped. If ctx ends before it, background returns the error of ctx, and the
// call goes on.
func background(ctx context.Context, f func(e *C.mergedb_error) C.mergedb_code) error {
	var err error
	if ended := waitInBackground(ctx, func() { err = call(f) }); ended != nil {
		return ended
	}
	return err
}

func waitInBackground(ctx context.Context, f func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if ctx.Done() == nil {
		f()
		return nil
	}
	done := make(chan struct{})
	go func() { f(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
