// Goal: a second goroutine in an iterator, a cursor, a transaction or a batch gets ErrBusy and never freed memory, and a
// callback that panics or exits leaves no call of C behind. Method: goroutines on one object, with values of equal bytes
// that show a mixture; `./dev test go` sets MALLOC_PERTURB_, so freed memory has other bytes. Then each call while another
// goroutine is known to be inside.
package mergedb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// uniform is true if the value is one that the tests below wrote: many equal bytes.
func uniform(value []byte) bool {
	return len(value) == 0 || bytes.Count(value, value[:1]) == len(value)
}

// together runs both functions in goroutines until one returns false, at most `steps` times each.
func together(steps int, a, b func(step int) bool) {
	var group sync.WaitGroup
	for _, f := range []func(int) bool{a, b} {
		group.Add(1)
		go func() {
			defer group.Done()
			for step := 0; step < steps && f(step); step++ {
			}
		}()
	}
	group.Wait()
}

func rounds() int {
	if os.Getenv("MERGEDB_FULL") != "" {
		return 5000
	}
	return 250
}

func TestTwoGoroutinesInOneIteratorReadWholeValuesOrNothing(t *testing.T) {
	db := open(t)
	const values, valueBytes = 64, 200_000
	for i := range values {
		must(t, db.Put(fmt.Appendf(nil, "key%02d", i), bytes.Repeat([]byte{byte(1 + i)}, valueBytes)))
	}
	must(t, db.Flush(context.Background()))
	for range rounds() {
		it := db.Iterate(nil)
		if !it.First() {
			t.Fatal(it.Err())
		}
		together(200, func(int) bool {
			value := it.Value()
			if value != nil && (len(value) != valueBytes || !uniform(value)) {
				t.Errorf("a value of %d bytes, the first of which is %d", len(value), value[0])
			}
			return value != nil
		}, func(int) bool {
			return it.Next()
		})
		if err := it.Err(); err != nil && !errors.Is(err, ErrBusy) {
			t.Fatal(err)
		}
		must(t, it.Close())
		if t.Failed() {
			return
		}
	}
}

func TestCloseInAnotherGoroutineLeavesTheValueWhole(t *testing.T) {
	db := open(t)
	const valueBytes = 4_000_000
	must(t, db.Put([]byte("a"), bytes.Repeat([]byte{1}, valueBytes)))
	must(t, db.Flush(context.Background()))
	for range rounds() / 5 {
		it := db.Iterate(nil)
		if !it.First() {
			t.Fatal(it.Err())
		}
		together(50, func(step int) bool {
			value := it.Value()
			if value != nil && (len(value) != valueBytes || !uniform(value)) {
				t.Errorf("a value of %d bytes", len(value))
			}
			return value != nil && step < 3
		}, func(step int) bool {
			err := it.Close()
			if err != nil && !errors.Is(err, ErrBusy) {
				t.Error(err)
			}
			return err != nil
		})
		must(t, it.Close())
	}
}

func TestCursorBesideWritesOfAnotherGoroutineReadsWholeEntriesOrNothing(t *testing.T) {
	db := open(t)
	for range rounds() / 5 {
		tx, err := db.Begin(nil)
		must(t, err)
		must(t, tx.Put([]byte("k"), bytes.Repeat([]byte{1}, 20_000)))
		cursor := tx.Cursor()
		if !cursor.First() {
			t.Fatal(cursor.Err())
		}
		together(100, func(int) bool {
			key, value := cursor.Entry()
			if key != nil && (string(key) != "k" || !uniform(value)) {
				t.Errorf("key %q, value of %d bytes", key, len(value))
			}
			return cursor.Current()
		}, func(step int) bool {
			err := tx.Put([]byte("k"), bytes.Repeat([]byte{byte(2 + step%100)}, 20_000+step))
			if err != nil && !errors.Is(err, ErrBusy) {
				t.Error(err)
			}
			return true
		})
		if err := cursor.Err(); err != nil && !errors.Is(err, ErrBusy) {
			t.Fatal(err)
		}
		must(t, cursor.Close())
		must(t, tx.Close())
		if t.Failed() {
			return
		}
	}
}

func TestTwoGoroutinesInOneBatchPutNothingInTheWrongKeyspace(t *testing.T) {
	db := open(t)
	users, err := db.CreateKeyspace("users", false)
	must(t, err)
	for range rounds() {
		batch := NewBatch()
		together(20, func(int) bool {
			batch.In(users).Put([]byte("user"), nil)
			return true
		}, func(int) bool {
			batch.Put([]byte("other"), nil)
			return true
		})
		if err := db.Write(batch); err != nil && !errors.Is(err, ErrBusy) {
			t.Fatal(err)
		}
		must(t, batch.Close())
	}
	if got := keysOf(t, users.Iterate(nil)); got != "user" && got != "" {
		t.Fatal(got)
	}
	if got := keysOf(t, db.Iterate(nil)); got != "other" && got != "" {
		t.Fatal(got)
	}
}

func TestEachCallBesideAnotherGoroutineIsBusy(t *testing.T) {
	db := open(t)
	must(t, db.Put([]byte("a"), []byte("1")))
	it := db.Iterate(nil)
	if !it.First() {
		t.Fatal(it.Err())
	}
	tx, err := db.Begin(nil)
	must(t, err)
	cursor, batch := tx.Cursor(), NewBatch()
	if !cursor.First() {
		t.Fatal(cursor.Err())
	}
	// Another goroutine is inside of each of them.
	it.inside().Lock()
	tx.inside.Lock()
	batch.inside.Lock()
	for name, f := range map[string]func() error{
		"commit": tx.Commit, "rollback": tx.Rollback, "set": tx.SetSavepoint, "undo": tx.RollbackToSavepoint,
		"release": tx.ReleaseSavepoint, "close": tx.Close, "cursor": tx.Cursor().Err, "write": func() error { return db.Write(batch) },
		"get":      func() error { _, err := tx.Get([]byte("a")); return err },
		"put":      func() error { return tx.Put([]byte("a"), nil) },
		"delete":   func() error { return tx.Delete([]byte("a")) },
		"range":    func() error { return tx.DeleteRange([]byte("a"), []byte("b")) },
		"merge":    func() error { return tx.Merge([]byte("a"), AddUint64(1)) },
		"setvalue": func() error { return cursor.Put(nil) }, "remove": cursor.Delete, "cursor's close": cursor.Close,
		"iterator's close": it.Close, "batch's error": batch.Err, "batch's close": batch.Close,
	} {
		if err := f(); !errors.Is(err, ErrBusy) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, f := range map[string]func() bool{
		"first": it.First, "last": it.Last, "next": it.Next, "prev": it.Prev, "seek": func() bool { return it.Seek(nil) },
		"for prev": func() bool { return it.SeekForPrev(nil) }, "cursor's first": cursor.First, "cursor's next": cursor.Next,
		"key":    func() bool { return it.Key() != nil },
		"value":  func() bool { return it.Value() != nil },
		"failed": func() bool { return it.FailedKey() != nil },
		"entry":  func() bool { key, _ := cursor.Entry(); return key != nil },
		"all": func() bool {
			for range cursor.All() {
				return true
			}
			return false
		},
		"conflict": func() bool { _, _, found := tx.Conflict(); return found },
	} {
		if f() {
			t.Errorf("%s: a result, while another goroutine is inside", name)
		}
	}
	batch.Put([]byte("lost"), nil)
	it.inside().Unlock()
	tx.inside.Unlock()
	batch.inside.Unlock()

	// A loop that ended for this reason must not look complete, so iterator, cursor and batch keep the error.
	for range 2 {
		if it.First() || cursor.First() || it.Key() != nil {
			t.Error("a move after a misuse")
		}
		wants(t, it.Err(), ErrBusy)
		wants(t, cursor.Err(), ErrBusy)
		wants(t, batch.Err(), ErrBusy)
		wants(t, db.Write(batch), ErrBusy)
	}
	batch.Clear()
	must(t, batch.Err())
	must(t, tx.Put([]byte("b"), nil))
	for _, close := range []func() error{it.Close, cursor.Close, tx.Close, batch.Close} {
		must(t, close())
	}
}

func TestUpdateEndsAfterTheCallOfAGoroutineThatItsFunctionLeftBehind(t *testing.T) {
	db := open(t)
	var left *Tx
	err := db.Update(context.Background(), func(tx *Tx) error {
		left = tx
		tx.inside.Lock() // as in a call
		go func() { runtime.Gosched(); tx.inside.Unlock() }()
		return errors.New("no")
	})
	if err == nil || err.Error() != "no" {
		t.Fatal(err)
	}
	wants(t, left.Put([]byte("a"), nil), ErrClosed)
	must(t, db.Put([]byte("a"), nil)) // no single writer is left that it would wait for
}

func TestForgottenCursorsNeverMakeTheTransactionBusy(t *testing.T) {
	db := open(t)
	must(t, db.Put([]byte("a"), []byte("1")))
	tx, err := db.Begin(nil)
	must(t, err)
	defer tx.Close()
	for i := range 300 {
		tx.Cursor().First()
		if i%10 == 0 {
			runtime.GC()
		}
		must(t, tx.Put([]byte("b"), nil))
	}
	tx.lost.add(tx.Cursor().handle) // as the garbage collector does
	if !tx.lost.some.Load() {
		t.Fatal("the close of a forgotten cursor does not wait for the next call")
	}
	must(t, tx.Put([]byte("b"), nil))
	if tx.lost.some.Load() {
		t.Fatal("the next call closes no forgotten cursor")
	}
}

// checkpointing calls Checkpoint with a callback that ends in a way of its own, and then closes the database, which waits
// for each call in progress.
func checkpointing(t *testing.T, ctx context.Context, progress func(done, all uint64)) (report CheckpointReport, err error) {
	t.Helper()
	db, err := Open(filepath.Join(t.TempDir(), "db"), nil)
	must(t, err)
	fill(t, db, 100)
	defer func() {
		must(t, db.Put([]byte("after"), nil))
		must(t, db.Close())
	}()
	return db.Checkpoint(ctx, filepath.Join(t.TempDir(), "copy"), &CheckpointOptions{Copy: true, Progress: progress})
}

func TestAPanicInProgressEndsTheCallAndGoesOnInTheCaller(t *testing.T) {
	calls := 0
	recovered := func() (value any) {
		defer func() { value = recover() }()
		checkpointing(t, context.Background(), func(_, _ uint64) { calls++; panic("no") })
		return "no panic"
	}()
	if recovered != "no" || calls != 1 {
		t.Fatal(recovered, calls)
	}
}

func TestAGoexitInProgressEndsTheCallAndTheCaller(t *testing.T) {
	done, returned := make(chan struct{}), false
	go func() {
		defer close(done)
		checkpointing(t, context.Background(), func(_, _ uint64) { runtime.Goexit() })
		returned = true
	}()
	<-done
	if returned {
		t.Fatal("the goroutine goes on after its exit")
	}
}

func TestProgressCannotCloseItsDatabase(t *testing.T) {
	db, other := open(t), open(t)
	fill(t, db, 100)
	calls := 0
	_, err := db.Checkpoint(context.Background(), filepath.Join(t.TempDir(), "copy"), &CheckpointOptions{Copy: true, Progress: func(_, _ uint64) {
		calls++
		wants(t, db.Close(), ErrBusy)
		must(t, other.Close())
	}})
	must(t, err)
	if calls == 0 {
		t.Fatal("no call")
	}
	must(t, db.Put([]byte("a"), nil)) // it is open
	must(t, db.Close())
}

// A context of the program, which fails when Progress asks it.
type panickingContext struct {
	context.Context
	asked *int
}

func (c panickingContext) Err() error {
	if *c.asked++; *c.asked > 1 {
		panic("context")
	}
	return nil
}

func TestAPanicOfAContextEndsTheCheckpoint(t *testing.T) {
	defer func() {
		if value := recover(); value != "context" {
			t.Fatal(value)
		}
	}()
	checkpointing(t, panickingContext{context.Background(), new(int)}, nil)
	t.Fatal("no panic")
}
