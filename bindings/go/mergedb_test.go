// Goal: each call of the package does what the C interface does, errors are values, and no misuse crashes. Method:
// small databases in temporary directories; goroutines under the race detector.
package mergedb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

func open(t *testing.T) *DB {
	t.Helper()
	db, err := Open(filepath.Join(t.TempDir(), "db"), nil)
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	return db
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wants(t *testing.T, err error, code Code) {
	t.Helper()
	if !errors.Is(err, code) {
		t.Fatalf("error %v, expected %v", err, code)
	}
}

func value(t *testing.T, got []byte, err error) string {
	t.Helper()
	must(t, err)
	return string(got)
}

func keysOf(t *testing.T, it *Iterator) string {
	t.Helper()
	var keys []string
	for key := range it.All() {
		keys = append(keys, string(key))
	}
	must(t, it.Err())
	must(t, it.Close())
	return strings.Join(keys, " ")
}

func fill(t *testing.T, db *DB, count int) {
	t.Helper()
	batch := NewBatch()
	defer batch.Close()
	for i := range count {
		batch.Put(fmt.Appendf(nil, "key%06d", i), fmt.Appendf(nil, "value%d", i))
	}
	must(t, db.Write(batch))
}

func TestPutGetDelete(t *testing.T) {
	db := open(t)
	must(t, db.Put([]byte("a"), []byte("1")))
	must(t, db.Put([]byte("b"), nil, Synced))
	got, err := db.Get([]byte("a"))
	if value(t, got, err) != "1" {
		t.Fatal(got)
	}
	got, err = db.Get([]byte("b"))
	must(t, err)
	if got == nil || len(got) != 0 {
		t.Fatalf("an empty value is %v", got)
	}
	must(t, db.Delete([]byte("a")))
	_, err = db.Get([]byte("a"))
	wants(t, err, ErrNotFound)
	large := bytes.Repeat([]byte("x"), 100_000) // more than the pooled buffer
	must(t, db.Put([]byte("large"), large))
	got, err = db.Get([]byte("large"))
	must(t, err)
	if !bytes.Equal(got, large) {
		t.Fatal("another large value")
	}
}

func TestBytesBesideAPointerMayBeAKey(t *testing.T) {
	db := open(t)
	record := &struct {
		id   [8]byte
		next *int
	}{next: new(int)}
	must(t, db.Put(record.id[:], record.id[2:4]))
	_, err := db.Get(record.id[:])
	must(t, err)
}

func TestRangesAndPrefixes(t *testing.T) {
	db := open(t)
	for _, key := range []string{"a1", "a2", "b1", "b2", "c1"} {
		must(t, db.Put([]byte(key), []byte(key)))
	}
	must(t, db.DeleteRange([]byte("a2"), []byte("b2")))
	if got := keysOf(t, db.Iterate(nil)); got != "a1 b2 c1" {
		t.Fatal(got)
	}
	must(t, db.DeletePrefix([]byte("b")))
	if got := keysOf(t, db.Iterate(nil)); got != "a1 c1" {
		t.Fatal(got)
	}
	wants(t, db.DeleteRange([]byte("z"), []byte("a")), ErrInvalidArgument)
}

func TestMultiGetTellsAbsentFromEmpty(t *testing.T) {
	db := open(t)
	must(t, db.Put([]byte("a"), []byte("1")))
	must(t, db.Put([]byte("empty"), nil))
	values, err := db.MultiGet([][]byte{[]byte("a"), []byte("none"), []byte("empty")})
	must(t, err)
	if string(values[0]) != "1" || values[1] != nil || values[2] == nil {
		t.Fatalf("%q", values)
	}
}

func TestOpenModesAndErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	_, err := Open(path, &Options{Mode: MustExist})
	wants(t, err, ErrNotFound)
	db, err := Open(path, &Options{MemoryBytes: 8 << 20, BottomCompression: Zstd, BloomBitsPerKey: -1, WALSyncInterval: -1,
		MappedReadBytesMax: 1 << 20})
	must(t, err)
	must(t, db.Put([]byte("a"), []byte("1")))
	_, err = Open(path, nil)
	wants(t, err, ErrBusy)
	var details *Error
	if !errors.As(err, &details) || details.Message == "" || details.OutcomeUnknown {
		t.Fatalf("%#v", err)
	}
	must(t, db.Close())
	reader, err := Open(path, &Options{Mode: ReadOnly})
	must(t, err)
	wants(t, reader.Put([]byte("b"), nil), ErrNotSupported)
	must(t, reader.Close())
	_, err = Open("a\x00b", nil)
	wants(t, err, ErrInvalidArgument)
	must(t, Destroy(path))
	wants(t, Destroy(path), ErrNotFound)
	if Version() == "" {
		t.Fatal("no version")
	}
}

func TestOpenRefusesOptionsAtTheirEdges(t *testing.T) {
	const wide = 1 << 32 // cut to 32 bits it is 0, the default
	for _, c := range []struct {
		name string
		o    Options
		good bool
	}{
		{"BloomBitsPerKey", Options{BloomBitsPerKey: -1}, true},
		{"BloomBitsPerKey", Options{BloomBitsPerKey: 64}, true},
		{"bloom_bits_per_key", Options{BloomBitsPerKey: -2}, false},
		{"bloom_bits_per_key", Options{BloomBitsPerKey: 65}, false},
		{"BloomBitsPerKey", Options{BloomBitsPerKey: wide}, false},
		{"BloomBitsPerKey", Options{BloomBitsPerKey: wide + 10}, false},
		{"BloomBitsPerKey", Options{BloomBitsPerKey: math.MinInt}, false},
		{"OpenTablesMax", Options{OpenTablesMax: 16}, true},
		{"OpenTablesMax", Options{OpenTablesMax: math.MaxInt32}, true},
		{"open_tables_max", Options{OpenTablesMax: 15}, false},
		{"open_tables_max", Options{OpenTablesMax: -1}, false},
		{"OpenTablesMax", Options{OpenTablesMax: wide}, false},
		{"OpenTablesMax", Options{OpenTablesMax: wide + 100}, false},
		{"OpenTablesMax", Options{OpenTablesMax: math.MaxInt}, false},
		{"WALSyncInterval", Options{WALSyncInterval: time.Millisecond}, true},
		{"WALSyncInterval", Options{WALSyncInterval: time.Hour}, true},
		{"WALSyncInterval", Options{WALSyncInterval: -1}, true},
		{"WALSyncInterval", Options{WALSyncInterval: time.Millisecond - 1}, false},
		{"WALSyncInterval", Options{WALSyncInterval: 1}, false},
		{"WALSyncInterval", Options{WALSyncInterval: -2}, false},
		{"WALSyncInterval", Options{WALSyncInterval: -time.Second}, false},
		{"wal_sync_interval_ms", Options{WALSyncInterval: time.Hour + time.Millisecond}, false},
		{"wal_sync_interval_ms", Options{WALSyncInterval: math.MaxInt64}, false},
		{"WriteDelayMax", Options{WriteDelayMax: time.Microsecond}, true},
		{"WriteDelayMax", Options{WriteDelayMax: time.Hour}, true},
		{"WriteDelayMax", Options{WriteDelayMax: time.Microsecond - 1}, false},
		{"WriteDelayMax", Options{WriteDelayMax: -1}, false},
		{"write_delay_us_max", Options{WriteDelayMax: time.Hour + time.Microsecond}, false},
		{"SlowCall", Options{SlowCall: time.Microsecond}, true},
		{"SlowCall", Options{SlowCall: time.Hour}, true},
		{"SlowCall", Options{SlowCall: time.Microsecond - 1}, false},
		{"SlowCall", Options{SlowCall: -1}, false},
		{"slow_call_us", Options{SlowCall: time.Hour + time.Microsecond}, false},
		{"LogBytesMax", Options{LogBytesMax: 16 << 10}, true},
		{"log_bytes_max", Options{LogBytesMax: 16<<10 - 1}, false},
		{"log_bytes_max", Options{LogBytesMax: 1<<30 + 1}, false},
		{"BlobValueBytesMin", Options{BlobValueBytesMin: -1}, true},
		{"BlobValueBytesMin", Options{BlobValueBytesMin: math.MaxInt64}, true},
		{"blob_value_bytes_min", Options{BlobValueBytesMin: -2}, false},
		{"BlockBytes", Options{BlockBytes: 256}, true},
		{"block_bytes", Options{BlockBytes: 255}, false},
		{"block_bytes", Options{BlockBytes: math.MaxUint64}, false},
		{"MemoryBytes", Options{MemoryBytes: 8 << 20, WriteBufferBytes: 1 << 20}, true},
		{"memory_bytes", Options{MemoryBytes: math.MaxUint64}, false},
		{"write_buffer_bytes", Options{WriteBufferBytes: math.MaxUint64}, false},
		{"MappedReadBytesMax", Options{MappedReadBytesMax: math.MaxInt64}, true},
		{"MappedReadBytesMax", Options{MappedReadBytesMax: -1}, true},
		{"mapped_read_bytes_max", Options{MappedReadBytesMax: -2}, false},
		{"mode", Options{Mode: 4}, false},
		{"style", Options{Style: -1}, false},
		{"compression_upper", Options{UpperCompression: 5}, false},
		{"compression_bottom", Options{BottomCompression: -1}, false},
	} {
		db, err := Open(filepath.Join(t.TempDir(), "db"), &c.o)
		if c.good {
			if err != nil {
				t.Errorf("%s: %+v: %v", c.name, c.o, err)
				continue
			}
			must(t, db.Close())
		} else if !errors.Is(err, ErrInvalidArgument) || !strings.Contains(err.Error(), c.name) {
			t.Errorf("%s: %+v: %v", c.name, c.o, err)
		}
	}
}

func TestIteratorMovesBothWays(t *testing.T) {
	db := open(t)
	fill(t, db, 10_000)
	it := db.Iterate(nil)
	defer it.Close()
	count := 0
	for key, value := range it.All() {
		if want := fmt.Sprintf("key%06d", count); string(key) != want || string(value) != fmt.Sprintf("value%d", count) {
			t.Fatalf("%s is %s, expected %s", key, value, want)
		}
		count++
	}
	for key := range it.Backward() {
		count--
		if want := fmt.Sprintf("key%06d", count); string(key) != want {
			t.Fatalf("%s, expected %s", key, want)
		}
	}
	must(t, it.Err())
	if count != 0 {
		t.Fatal(count)
	}
	for key := range it.From([]byte("key009998x")) {
		if string(key) != "key009999" {
			t.Fatal(string(key))
		}
	}
	if !it.Seek([]byte("key000500")) || !it.Prev() || string(it.Key()) != "key000499" || string(it.Value()) != "value499" {
		t.Fatalf("%s", it.Key())
	}
	if !it.SeekForPrev([]byte("zzz")) || string(it.Key()) != "key009999" || it.Next() || it.Key() != nil || it.Err() != nil {
		t.Fatal("the end")
	}
	for range it.All() {
		break
	}
	bounded := db.Iterate(&IteratorOptions{Lower: []byte("key000010"), Upper: []byte("key000012"), KeysOnly: true, SkipCache: true})
	if got := keysOf(t, bounded); got != "key000010 key000011" {
		t.Fatal(got)
	}
	if got := keysOf(t, db.Iterate(&IteratorOptions{Prefix: []byte("key00999"), Lower: []byte("key009998")})); got != "key009998 key009999" {
		t.Fatal(got)
	}
}

func TestLoopKeepsEntriesLargerThanAChunk(t *testing.T) {
	db := open(t)
	large := bytes.Repeat([]byte("y"), 3*chunkBytes)
	must(t, db.Put([]byte("a"), []byte("1")))
	must(t, db.Put([]byte("b"), large))
	must(t, db.Put([]byte("c"), []byte("3")))
	it := db.Iterate(nil)
	defer it.Close()
	kept := map[string][]byte{}
	for key, value := range it.All() {
		kept[string(key)] = value
	}
	must(t, it.Err())
	if string(kept["a"]) != "1" || !bytes.Equal(kept["b"], large) || string(kept["c"]) != "3" {
		t.Fatal(len(kept))
	}
}

func TestSnapshotStaysAsItIs(t *testing.T) {
	db := open(t)
	users, err := db.CreateKeyspace("users", false)
	must(t, err)
	must(t, db.Put([]byte("a"), []byte("1")))
	must(t, users.Put([]byte("u"), []byte("1")))
	snapshot, err := db.Snapshot()
	must(t, err)
	defer snapshot.Close()
	must(t, db.Put([]byte("a"), []byte("2")))
	must(t, users.Delete([]byte("u")))
	got, err := snapshot.Get([]byte("a"))
	if value(t, got, err) != "1" {
		t.Fatalf("%s", got)
	}
	if got := keysOf(t, users.At(snapshot).Iterate(nil)); got != "u" {
		t.Fatal(got)
	}
	values, err := users.At(snapshot).MultiGet([][]byte{[]byte("u")})
	must(t, err)
	if string(values[0]) != "1" {
		t.Fatalf("%q", values)
	}
	if sequence, err := snapshot.Sequence(); err != nil || sequence == 0 {
		t.Fatal(sequence, err)
	}
}

func TestBatchSpansKeyspacesAndReportsItsFirstError(t *testing.T) {
	db := open(t)
	users, err := db.CreateKeyspace("users", false)
	must(t, err)
	batch := NewBatch()
	batch.Put([]byte("a"), []byte("1"))
	batch.In(users).Put([]byte("u"), []byte("2"))
	batch.Put([]byte("b"), []byte("3"))
	batch.DeleteRange([]byte("b"), []byte("c"))
	batch.In(users).Merge([]byte("visits"), AddUint64(2))
	if batch.Len() != 5 {
		t.Fatal(batch.Len())
	}
	must(t, db.Write(batch, Synced))
	must(t, db.Write(batch)) // a batch may be written again
	if got := keysOf(t, db.Iterate(nil)) + "|" + keysOf(t, users.Iterate(nil)); got != "a|u visits" {
		t.Fatal(got)
	}
	batch.Clear()
	batch.Put(make([]byte, 9<<20), nil) // a key of more than 8 MiB
	batch.Put([]byte("z"), nil)
	wants(t, db.Write(batch), ErrInvalidArgument)
	must(t, batch.Close())
	must(t, batch.Close())
	batch.Put([]byte("z"), nil)
	wants(t, batch.Err(), ErrClosed)
	wants(t, db.Write(batch), ErrClosed)
	_, err = db.Get([]byte("z"))
	wants(t, err, ErrNotFound)
}

func TestKeyspaces(t *testing.T) {
	db := open(t)
	users, err := db.CreateKeyspace("users", false)
	must(t, err)
	_, err = db.CreateKeyspace("users", false)
	wants(t, err, ErrInvalidArgument)
	again, err := db.CreateKeyspace("users", true)
	must(t, err)
	must(t, users.Put([]byte("alice"), []byte("1")))
	got, err := again.Get([]byte("alice"))
	if value(t, got, err) != "1" {
		t.Fatalf("%s", got)
	}
	_, err = db.Get([]byte("alice"))
	wants(t, err, ErrNotFound)
	list, err := db.Keyspaces()
	must(t, err)
	if len(list) != 1 || list["users"] != users {
		t.Fatal(list)
	}
	must(t, users.CompactRange(context.Background(), nil, []byte("z")))
	must(t, users.Clear())
	if got := keysOf(t, users.Iterate(nil)); got != "" {
		t.Fatal(got)
	}
	must(t, db.DropKeyspace(users))
	_, err = db.OpenKeyspace("users")
	wants(t, err, ErrNotFound)
	wants(t, users.Put([]byte("a"), nil), ErrInvalidArgument)
}

func TestMergeOperands(t *testing.T) {
	db := open(t)
	merge := func(key string, operands ...Operand) []byte {
		for _, operand := range operands {
			must(t, db.Merge([]byte(key), operand))
		}
		got, err := db.Get([]byte(key))
		must(t, err)
		return got
	}
	if n, ok := Uint64(merge("u64", AddUint64(2), MaxUint64(40), MinUint64(30), AddUint64(3))); !ok || n != 33 {
		t.Fatal(n)
	}
	if n, _ := Int64(merge("i64", AddInt64(-5), MaxInt64(-7), MinInt64(-6))); n != -6 {
		t.Fatal(n)
	}
	if n, _ := Float64(merge("f64", AddFloat64(1.5), MaxFloat64(2.5), MinFloat64(2))); n != 2 {
		t.Fatal(n)
	}
	for _, c := range []struct {
		want     string
		operands []Operand
	}{
		{"b,c", []Operand{Append([]byte("a"), []byte(","), 3), Append([]byte("b"), []byte(","), 3), Append([]byte("c"), []byte(","), 3)}},
		{"b", []Operand{MaxBytes([]byte("b")), MaxBytes([]byte("a"))}},
		{"a", []Operand{MinBytes([]byte("b")), MinBytes([]byte("a"))}},
		{"\x03", []Operand{Or([]byte{1}), Or([]byte{2})}},
		{"\x02", []Operand{Or([]byte{3}), And([]byte{2})}},
		{"\x01", []Operand{Or([]byte{3}), Xor([]byte{2})}},
		{"old", []Operand{FirstBytes(5, []byte("new")), FirstBytes(3, []byte("old"))}},
		{"new", []Operand{LastBytes(5, []byte("new")), LastBytes(3, []byte("old"))}},
		{`{"a":1}`, []Operand{JSONPatch([]byte(`{"a":1,"b":2}`)), JSONPatch([]byte(`{"b":null}`))}},
		{"x,y", []Operand{Named("stringappend", []byte("x")), Named("stringappend", []byte("y"))}},
	} {
		if got := merge("want "+c.want, c.operands...); string(got) != c.want {
			t.Fatalf("%q, expected %q", got, c.want)
		}
	}
	must(t, db.Put([]byte("n"), FromInt64(-1)))
	if n, _ := Int64(merge("n")); n != -1 {
		t.Fatal(n)
	}
	wants(t, db.Merge([]byte("a"), Named("a\x00b", nil)), ErrInvalidArgument)
}

func TestIterationContinuesAfterAFailedKey(t *testing.T) {
	db := open(t)
	must(t, db.Put([]byte("a"), []byte("1")))
	must(t, db.Put([]byte("b"), []byte("three bytes are no counter")))
	must(t, db.Merge([]byte("b"), AddUint64(1)))
	must(t, db.Put([]byte("c"), []byte("3")))
	it := db.Iterate(nil)
	defer it.Close()
	seen := ""
	for key := range it.All() {
		seen += string(key)
	}
	wants(t, it.Err(), ErrMergeFailed)
	if seen != "a" || string(it.FailedKey()) != "b" || !it.Next() || string(it.Key()) != "c" {
		t.Fatal(seen, string(it.FailedKey()))
	}
	if it.Next() || it.Err() != nil || it.FailedKey() != nil {
		t.Fatal(it.Err())
	}
}

func TestUpdateCommitsOrRollsBack(t *testing.T) {
	db := open(t)
	users, err := db.CreateKeyspace("users", false)
	must(t, err)
	ctx := context.Background()
	must(t, db.Update(ctx, func(tx *Tx) error {
		must(t, tx.Put([]byte("a"), []byte("1")))
		must(t, tx.In(users).Put([]byte("u"), []byte("2")))
		must(t, tx.Merge([]byte("n"), AddUint64(7)))
		got, err := tx.Get([]byte("n"))
		if n, _ := Uint64([]byte(value(t, got, err))); n != 7 {
			t.Fatal(n)
		}
		wants(t, db.Put([]byte("outside"), nil), ErrBusy) // it would wait forever
		short, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		wants(t, db.Update(short, func(*Tx) error { return nil }), ErrBusy)
		return nil
	}, TxOptions{Durability: Synced, Name: "first"}))
	failure := errors.New("no")
	if err := db.Update(ctx, func(tx *Tx) error { must(t, tx.Delete([]byte("a"))); return failure }); err != failure {
		t.Fatal(err)
	}
	func() {
		defer func() { recover() }()
		db.Update(ctx, func(tx *Tx) error { must(t, tx.Delete([]byte("a"))); panic("no") })
	}()
	if got := keysOf(t, db.Iterate(nil)) + "|" + keysOf(t, users.Iterate(nil)); got != "a n|u" {
		t.Fatal(got)
	}
	must(t, db.View(func(tx *Tx) error {
		wants(t, tx.Put([]byte("x"), nil), ErrNotSupported)
		return nil
	}))
}

func TestUpdateStopsWaitingWhenItsContextEnds(t *testing.T) {
	db := open(t)
	inside, release := make(chan bool), make(chan bool)
	var group sync.WaitGroup
	group.Add(1)
	go func() {
		defer group.Done()
		if err := db.Update(context.Background(), func(*Tx) error { close(inside); <-release; return nil }); err != nil {
			t.Error(err)
		}
	}()
	<-inside
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(2*attempt, cancel)
	if err := db.Update(ctx, func(*Tx) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	close(release)
	group.Wait()
	must(t, db.Update(context.Background(), func(*Tx) error { return nil }))
	if err := db.Update(ctx, func(*Tx) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func TestRetryRunsAgainAfterAConflict(t *testing.T) {
	db := open(t)
	must(t, db.Put([]byte("n"), FromUint64(0)))
	var group sync.WaitGroup
	for range 4 {
		group.Add(1)
		go func() {
			defer group.Done()
			for range 50 {
				err := db.Retry(context.Background(), func(tx *Tx) error {
					got, err := tx.Get([]byte("n"))
					if err != nil {
						return err
					}
					n, _ := Uint64(got)
					return tx.Put([]byte("n"), FromUint64(n+1))
				})
				if err != nil {
					t.Error(err)
				}
			}
		}()
	}
	group.Wait()
	got, err := db.Get([]byte("n"))
	if n, _ := Uint64([]byte(value(t, got, err))); n != 200 {
		t.Fatal(n)
	}
}

func TestConflictNamesTheKey(t *testing.T) {
	db := open(t)
	must(t, db.Put([]byte("k"), []byte("1")))
	tx, err := db.Begin(nil)
	must(t, err)
	defer tx.Close()
	_, err = tx.Get([]byte("k"))
	must(t, err)
	must(t, tx.Put([]byte("other"), nil))
	must(t, db.Put([]byte("k"), []byte("2")))
	wants(t, tx.Commit(), ErrConflict)
	if key, keyspace, found := tx.Conflict(); !found || string(key) != "k" || keyspace != 0 {
		t.Fatal(key, keyspace, found)
	}
	wants(t, tx.Put([]byte("late"), nil), ErrAborted)
}

func TestSavepointsAndCursors(t *testing.T) {
	db := open(t)
	must(t, db.Put([]byte("b"), []byte("1")))
	must(t, db.Update(context.Background(), func(tx *Tx) error {
		must(t, tx.Put([]byte("a"), []byte("0")))
		must(t, tx.SetSavepoint())
		must(t, tx.DeleteRange([]byte("a"), []byte("z")))
		must(t, tx.RollbackToSavepoint())
		wants(t, tx.ReleaseSavepoint(), ErrInvalidArgument)
		must(t, tx.SetSavepoint())
		must(t, tx.ReleaseSavepoint())
		cursor := tx.Cursor()
		defer cursor.Close()
		seen := ""
		for key, value := range cursor.All() {
			seen += string(key) + string(value)
			must(t, cursor.Put([]byte("9")))
			if string(key) == "a" {
				must(t, cursor.Delete())
			}
		}
		must(t, cursor.Err())
		if seen != "a0b1" {
			t.Fatal(seen)
		}
		if cursor.SeekExact([]byte("aa")) || !cursor.Current() || !cursor.Last() || cursor.Next() || cursor.Prev() || !cursor.Seek([]byte("a")) ||
			cursor.SeekForPrev([]byte("a")) || !cursor.First() {
			t.Fatal("moves")
		}
		if key, value := cursor.Entry(); string(key)+string(value) != "b9" {
			t.Fatalf("%s %s", key, value)
		}
		return nil
	}))
}

func TestCheckpointAndItsCancellation(t *testing.T) {
	db := open(t)
	fill(t, db, 1000)
	must(t, db.Flush(context.Background()))
	target := filepath.Join(t.TempDir(), "copy")
	ctx, cancel := context.WithCancel(context.Background())
	_, err := db.Checkpoint(ctx, target, &CheckpointOptions{Copy: true, Progress: func(_, _ uint64) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := os.Stat(target); err == nil {
		t.Fatal("a cancelled checkpoint has its name")
	}
	calls := 0
	report, err := db.Checkpoint(context.Background(), target, &CheckpointOptions{Progress: func(done, all uint64) {
		calls++
		if done > all {
			t.Errorf("%d of %d", done, all)
		}
	}})
	must(t, err)
	if report.Files == 0 || report.Sequence == 0 || calls == 0 {
		t.Fatal(report, calls)
	}
	second, err := Open(target, &Options{Mode: MustExist})
	must(t, err)
	defer second.Close()
	got, err := second.Get([]byte("key000999"))
	if value(t, got, err) != "value999" {
		t.Fatalf("%s", got)
	}
	_, err = db.Checkpoint(context.Background(), target, nil)
	wants(t, err, ErrInvalidArgument)
}

func TestMaintenanceMetricsAndProperties(t *testing.T) {
	db := open(t)
	fill(t, db, 1000)
	ctx := context.Background()
	must(t, db.SyncWAL())
	must(t, db.Flush(ctx))
	must(t, db.CompactRange(ctx, nil, nil))
	must(t, db.WaitForCompactions(ctx))
	must(t, db.CheckIntegrity(ctx))
	if bytes, err := db.ApproximateSize([]byte("k"), []byte("l")); err != nil || bytes == 0 {
		t.Fatal(bytes, err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := db.CompactRange(cancelled, nil, nil); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	live, stop := context.WithCancel(ctx)
	defer stop()
	must(t, db.Flush(live))
	metrics, err := db.Metrics()
	must(t, err)
	named := map[string]Metric{}
	for _, metric := range metrics {
		named[metric.Name] = metric
	}
	if m := named["flushes"]; m.Value == 0 || m.IsGauge || m.Unit == "" || m.Help == "" {
		t.Fatalf("%+v", m)
	}
	text, err := db.Property("mergedb.stats")
	must(t, err)
	if text == "" {
		t.Fatal("no text")
	}
	_, err = db.Property("mergedb.unknown")
	wants(t, err, ErrNotFound)
}

func TestUseAfterCloseIsAnError(t *testing.T) {
	db, err := Open(filepath.Join(t.TempDir(), "db"), nil)
	must(t, err)
	fill(t, db, 10)
	users, err := db.CreateKeyspace("users", false)
	must(t, err)
	snapshot, err := db.Snapshot()
	must(t, err)
	late, err := db.Snapshot()
	must(t, err)
	it, lateIt := db.Iterate(nil), db.Iterate(nil)
	tx, err := db.Begin(nil)
	must(t, err)
	cursor := tx.Cursor()
	must(t, it.Close())
	must(t, snapshot.Close())
	must(t, cursor.Close())
	must(t, tx.Close())
	for range it.All() {
		t.Fatal("an entry after the close")
	}
	wants(t, it.Err(), ErrClosed)
	_, err = snapshot.Get([]byte("a"))
	wants(t, err, ErrClosed)
	if cursor.First() {
		t.Fatal("a move after the close")
	}
	wants(t, cursor.Err(), ErrClosed)
	wants(t, tx.Put([]byte("a"), nil), ErrClosed)
	must(t, db.Close())
	wants(t, db.Put([]byte("a"), nil), ErrClosed)
	wants(t, users.Put([]byte("a"), nil), ErrClosed)
	_, err = db.Get([]byte("a"))
	wants(t, err, ErrClosed)
	if lateIt.First() {
		t.Fatal("a move after the close of the database")
	}
	wants(t, lateIt.Err(), ErrShuttingDown)
	_, err = late.Get([]byte("a"))
	wants(t, err, ErrClosed)
	for _, close := range []func() error{db.Close, it.Close, snapshot.Close, tx.Close, cursor.Close, lateIt.Close, late.Close} {
		must(t, close())
	}
	failed := db.Iterate(nil)
	if failed.First() || !errors.Is(failed.Err(), ErrClosed) {
		t.Fatal(failed.Err())
	}
	must(t, failed.Close())
}

func TestCloseBesideOtherGoroutines(t *testing.T) {
	for range 20 {
		db, err := Open(filepath.Join(t.TempDir(), "db"), nil)
		must(t, err)
		fill(t, db, 100)
		var group sync.WaitGroup
		for worker := range 4 {
			group.Add(1)
			go func() {
				defer group.Done()
				for i := 0; ; i++ {
					var err error
					switch key := fmt.Appendf(nil, "key%06d", i%100); worker {
					case 0:
						err = db.Put(key, key)
					case 1:
						_, err = db.Get(key)
					case 2:
						it := db.Iterate(nil)
						for range it.All() {
						}
						err = it.Err()
						it.Close()
					case 3:
						err = db.Retry(context.Background(), func(tx *Tx) error { return tx.Put(key, key) })
					}
					if err != nil {
						if !errors.Is(err, ErrClosed) && !errors.Is(err, ErrShuttingDown) && !errors.Is(err, ErrAborted) {
							t.Error(err)
						}
						return
					}
				}
			}()
		}
		runtime.Gosched()
		must(t, db.Close())
		group.Wait()
	}
}

func TestGarbageCollectorClosesForgottenObjects(t *testing.T) {
	db := open(t)
	fill(t, db, 10)
	snapshots := func() string {
		text, err := db.Property("mergedb.snapshots")
		must(t, err)
		return text
	}
	none := snapshots()
	func() {
		for range 50 {
			if _, err := db.Snapshot(); err != nil {
				t.Fatal(err)
			}
			db.Iterate(nil).First()
			NewBatch().Put([]byte("a"), nil)
		}
	}()
	if snapshots() == none {
		t.Fatal("50 snapshots do not show")
	}
	for range 3000 {
		runtime.GC()
		if snapshots() == none {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("still open: " + snapshots())
}

func TestACallThatCannotStopReturnsWhenItsContextEnds(t *testing.T) {
	db := open(t)
	release, ended := make(chan bool), make(chan bool)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(time.Millisecond, cancel)
	err := waitInBackground(ctx, func() { <-release; close(ended) })
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	close(release)
	<-ended // the call went on
	err = waitInBackground(ctx, func() { t.Error("a call begins after the end of its context") })
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	must(t, db.Flush(context.Background()))
}
