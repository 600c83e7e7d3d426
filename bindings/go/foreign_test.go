// Goal: a call that gets a handle of another database returns ErrInvalidArgument and changes neither database. Method:
// random calls on two databases that have keyspaces of the same numbers, with the handles of both mixed; a model says what
// each keyspace holds. MERGEDB_SEED repeats a run.
package mergedb

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const foreign = "of another database"

// oneDatabase is a database with its model, and the handles that a program may mix up.
type oneDatabase struct {
	db        *DB
	keyspaces []Keyspace // the default one first
	contents  []map[string]string
	snapshot  *Snapshot
	atTheTime []map[string]string // of the snapshot
}

func (o *oneDatabase) take(t *testing.T) {
	t.Helper()
	if o.snapshot != nil {
		must(t, o.snapshot.Close())
	}
	var err error
	o.snapshot, err = o.db.Snapshot()
	must(t, err)
	o.atTheTime = nil
	for _, content := range o.contents {
		o.atTheTime = append(o.atTheTime, maps.Clone(content))
	}
}

func text(content map[string]string) string {
	var entries []string
	for _, key := range slices.Sorted(maps.Keys(content)) {
		entries = append(entries, key+"="+content[key])
	}
	return strings.Join(entries, " ")
}

func entries(t *testing.T, it *Iterator) string {
	t.Helper()
	content := map[string]string{}
	for key, value := range it.All() {
		content[string(key)] = string(value)
	}
	must(t, it.Err())
	must(t, it.Close())
	return text(content)
}

func seedOf(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if given := os.Getenv("MERGEDB_SEED"); given != "" {
		var err error
		seed, err = strconv.ParseUint(given, 0, 64)
		must(t, err)
	}
	t.Logf("MERGEDB_SEED=%d", seed)
	return seed
}

func TestHandlesOfAnotherDatabaseAreRefused(t *testing.T) {
	random := rand.New(rand.NewPCG(seedOf(t), 1))
	var both [2]*oneDatabase
	for i := range both {
		o := &oneDatabase{db: open(t)}
		o.keyspaces = []Keyspace{o.db.Keyspace}
		for _, name := range []string{"a", "b", "c"} {
			k, err := o.db.CreateKeyspace(name, false)
			must(t, err)
			o.keyspaces = append(o.keyspaces, k)
		}
		for range o.keyspaces {
			o.contents = append(o.contents, map[string]string{})
		}
		o.take(t)
		both[i] = o
	}
	defer func() { // before the databases
		for _, o := range both {
			must(t, o.snapshot.Close())
		}
	}()
	if both[0].keyspaces[1] == both[1].keyspaces[1] || both[0].keyspaces[0] == both[1].keyspaces[0] {
		t.Fatal("keyspaces of two databases are equal")
	}
	// refused checks the outcome of a call, and returns whether it was refused.
	refused := func(what string, isForeign bool, err error) bool {
		t.Helper()
		if !isForeign {
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			return false
		}
		if !errors.Is(err, ErrInvalidArgument) || !strings.Contains(err.Error(), foreign) {
			t.Fatalf("%s with a handle of another database: %v", what, err)
		}
		return true
	}
	for step := range 3000 {
		here := random.IntN(2)
		there := random.IntN(2)
		on, of, isForeign := both[here], both[there], here != there
		n := random.IntN(len(of.keyspaces))
		k, key, value := of.keyspaces[n], fmt.Appendf(nil, "k%d", random.IntN(20)), fmt.Appendf(nil, "%d", step)
		switch random.IntN(8) {
		case 0, 1:
			batch := NewBatch()
			batch.Put(key, value)
			batch.In(k).Put(key, value)
			batch.In(k).Delete([]byte("k0"))
			if random.IntN(3) == 0 { // both databases in one batch, whichever it is written to
				batch.In(both[1-there].keyspaces[random.IntN(4)]).Put(key, value)
				isForeign = true
			}
			if !refused("write", isForeign, on.db.Write(batch)) {
				on.contents[0][string(key)] = string(value)
				on.contents[n][string(key)] = string(value)
				delete(on.contents[n], "k0")
			}
			must(t, batch.Close())
		case 2:
			kind := Optimistic
			tx, err := on.db.Begin(&TxOptions{Kind: kind})
			must(t, err)
			must(t, tx.Put(key, value))
			in := tx.In(k)
			if !refused("transaction", isForeign, in.Put(key, value)) {
				on.contents[n][string(key)] = string(value)
			}
			_, err = in.Get(key)
			refused("get", isForeign, err)
			refused("delete", isForeign, in.Delete([]byte("k0")))
			refused("range", isForeign, in.DeleteRange([]byte("k1"), []byte("k1")))
			refused("merge", isForeign, in.Merge([]byte("k0"), Append([]byte("x"), nil, 0)))
			cursor := in.Cursor()
			if cursor.First() == isForeign {
				t.Fatal("a cursor over a keyspace of another database moves, or one of this database does not")
			}
			refused("cursor", isForeign, cursor.Err())
			must(t, cursor.Close())
			must(t, tx.Commit())
			must(t, tx.Close())
			on.contents[0][string(key)] = string(value)
			if !isForeign {
				on.contents[n][string(key)] = string(value)
				on.contents[n]["k0"] = "x"
			}
		case 3:
			if n == 0 {
				continue
			}
			if !refused("drop", isForeign, on.db.DropKeyspace(k)) {
				made, err := on.db.CreateKeyspace(string(rune('a'+n-1)), false)
				must(t, err)
				on.keyspaces[n], on.contents[n] = made, map[string]string{}
				on.take(t)
			}
		case 4:
			view := on.keyspaces[n].At(of.snapshot)
			_, err := view.MultiGet([][]byte{key})
			refused("multi get", isForeign, err)
			it := view.Iterate(nil)
			if !refused("iterate", isForeign, it.Err()) {
				if got := entries(t, it); got != text(on.atTheTime[n]) {
					t.Fatalf("%s, expected %s", got, text(on.atTheTime[n]))
				}
			}
			must(t, it.Close())
			if got, err := view.Get(key); !errors.Is(err, ErrNotFound) && !refused("get", isForeign, err) &&
				string(got) != on.atTheTime[n][string(key)] {
				t.Fatalf("%s is %s", key, got)
			}
		case 5:
			tx, err := on.db.Begin(&TxOptions{Kind: ReadOnlyKind, Snapshot: of.snapshot})
			if !refused("begin", isForeign, err) {
				must(t, tx.Close())
			}
		case 6:
			on.take(t)
		case 7:
			must(t, k.Put(key, value)) // of its own database, whichever that is
			of.contents[n][string(key)] = string(value)
		}
		for i, o := range both {
			n := random.IntN(len(o.keyspaces))
			if got := entries(t, o.keyspaces[n].Iterate(nil)); got != text(o.contents[n]) {
				t.Fatalf("step %d: keyspace %d of database %d has %s, expected %s", step, n, i, got, text(o.contents[n]))
			}
		}
	}
}

func TestAKeyspaceIsOfOneOpen(t *testing.T) {
	path := t.TempDir()
	db, err := Open(path, nil)
	must(t, err)
	old, err := db.CreateKeyspace("users", false)
	must(t, err)
	failed, err := db.CreateKeyspace("users", false)
	wants(t, err, ErrInvalidArgument)
	wants(t, failed.Put([]byte("a"), nil), ErrClosed) // it is not the default keyspace
	must(t, db.Close())
	db, err = Open(path, nil)
	must(t, err)
	defer db.Close()
	again, err := db.OpenKeyspace("users")
	must(t, err)
	if again == old {
		t.Fatal("keyspaces of two opens are equal")
	}
	wants(t, old.Put([]byte("a"), nil), ErrClosed)
	for _, k := range []Keyspace{old, failed} {
		wants(t, db.DropKeyspace(k), ErrInvalidArgument)
		batch := NewBatch()
		batch.In(k).Put([]byte("a"), nil)
		wants(t, db.Write(batch), ErrInvalidArgument)
		batch.Clear()
		batch.In(again).Put([]byte("b"), nil)
		must(t, db.Write(batch)) // Clear forgets the database, too
		must(t, batch.Close())
	}
	if got := keysOf(t, db.Iterate(nil)) + "|" + keysOf(t, again.Iterate(nil)); got != "|b" {
		t.Fatal(got)
	}
}
