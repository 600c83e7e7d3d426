package mergedb

import (
	"sync"
	"sync/atomic"
)

var errInUse = &Error{Code: ErrBusy, Message: "the object is in use by another goroutine"}

// position is what iterators and cursors have in common: the calls are for one goroutine at a time, and a call may read
// memory of C that the next call frees.
type position struct {
	own     sync.Mutex
	shared  *sync.Mutex // of a cursor: that of its transaction, in place of `own`
	misused atomic.Bool // a call met another goroutine inside
	err     error       // of the last move, or of the creation; guarded by inside()
}

// inside is held during each call.
func (p *position) inside() *sync.Mutex {
	if p.shared != nil {
		return p.shared
	}
	return &p.own
}

// enter is false if another goroutine is inside, or was: both would take the end of their loops for the end of the keys.
// So from then on each call fails, and Err tells why. After true, leave follows.
func (p *position) enter() bool {
	if !p.inside().TryLock() {
		p.misused.Store(true)
		return false
	}
	if p.misused.Load() {
		p.inside().Unlock()
		return false
	}
	return true
}

func (p *position) leave() { p.inside().Unlock() }

// moved keeps the error of a move and returns whether it reached a key. The goroutine is inside.
func (p *position) moved(err error) bool {
	if isNotFound(err) {
		p.err = nil
		return false
	}
	p.err = err
	return err == nil
}

// lastError is the error of the last move, or of the creation; nil at an end.
func (p *position) lastError() error {
	if p.misused.Load() || !p.inside().TryLock() {
		return errInUse
	}
	defer p.inside().Unlock()
	return p.err
}

func isNotFound(err error) bool {
	e, ok := err.(*Error)
	return ok && e.Code == ErrNotFound
}
