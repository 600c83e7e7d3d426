// Goal: paths of calls on handles have the outcomes that the model of the C interface says. Method: the file
// tests/paths/handle_paths.txt; tests/paths/handle_calls.h describes its calls. A call that this package cannot express
// is left out. If it would have changed something, the rest of the path is left out, too. MERGEDB_HANDLE_PATHS names
// another file; paths_handles_test writes one.
package mergedb

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

var errInexpressible = errors.New("the package has no such call")

// madeIn is a value and the database that it was made in.
type madeIn[T any] struct {
	object T
	db     *DB
}

// pathVariables are the objects of one path.
type pathVariables struct {
	directory string
	databases *[2]*DB
	named     [2]*Keyspace // the keyspace `x` of each database
	made      [2][]Keyspace
	snapshots map[string]madeIn[*Snapshot]
	iterators map[string]madeIn[*Iterator]
	batches   map[string]madeIn[*Batch] // the database of its named keyspaces
	txs       map[string]madeIn[*Tx]
	cursors   map[string]madeIn[*Cursor]
}

func newPathVariables(directory string, databases *[2]*DB) *pathVariables {
	return &pathVariables{directory: directory, databases: databases, snapshots: map[string]madeIn[*Snapshot]{},
		iterators: map[string]madeIn[*Iterator]{}, batches: map[string]madeIn[*Batch]{}, txs: map[string]madeIn[*Tx]{},
		cursors: map[string]madeIn[*Cursor]{}}
}

func (v *pathVariables) open(number int) error {
	options := &Options{MemoryBytes: 1 << 20, WriteBufferBytes: 64 << 10}
	db, err := Open(filepath.Join(v.directory, fmt.Sprint(number)), options)
	if err != nil {
		return err
	}
	v.databases[number] = db
	if had := v.named[number]; had != nil {
		v.named[number] = &Keyspace{db: db.db, id: had.id}
	}
	return nil
}

// keyspace is a keyspace of the present database with this number.
func (v *pathVariables) keyspace(number int, space []string) (Keyspace, error) {
	db := v.databases[number]
	switch {
	case len(space) == 0:
		return db.Keyspace, nil
	case space[0] == "y":
		return Keyspace{db: db.db, id: 0x7ffffff0}, nil
	case v.named[number] == nil:
		return Keyspace{}, errInexpressible
	}
	return *v.named[number], nil
}

// txKeyspace is a keyspace in a transaction.
func (v *pathVariables) txKeyspace(name string, space []string) (TxKeyspace, error) {
	tx := v.txs[name]
	if len(space) == 0 {
		return tx.object.TxKeyspace, nil
	}
	for number, db := range v.databases {
		if db == tx.db {
			k, err := v.keyspace(number, space)
			return tx.object.In(k), err
		}
	}
	return TxKeyspace{}, errInexpressible // its database was opened again
}

// An answer of a call: "OK" with a value, or the error.
func valued(value string, err error) (string, error) { return strings.TrimRight("OK "+value, " "), err }
func plain(err error) (string, error)                { return "OK", err }
func moved(reached bool, err error) (string, error) {
	if err == nil && !reached {
		err = ErrNotFound
	}
	return "OK", err
}
func entered(key, value []byte) (string, error) {
	if key == nil {
		return "", ErrNotFound
	}
	return "OK " + string(key) + "=" + string(value), nil
}

func numberOf(name string) int { return int(name[1] - '0') }

func (v *pathVariables) do(call string) (string, error) {
	words := strings.Fields(call)
	name, arguments := words[0], words[1:]
	switch arguments[0][0] {
	case 'd':
		return v.doDatabase(name, numberOf(arguments[0]), arguments[1:])
	case 's':
		return v.doSnapshot(name, arguments[0], arguments[1:])
	case 'i':
		return v.doIterator(name, arguments[0], arguments[1:])
	case 'b':
		return v.doBatch(name, arguments[0], arguments[1:])
	case 't':
		return v.doTx(name, arguments[0], arguments[1:])
	}
	return v.doCursor(name, arguments[0], arguments[1:])
}

func (v *pathVariables) doDatabase(name string, number int, arguments []string) (string, error) {
	db := v.databases[number]
	switch name {
	case "open":
		return plain(v.open(number))
	case "close":
		return plain(db.Close())
	case "write":
		batch := v.batches[arguments[0]]
		if batch.db != nil && batch.db != v.databases[0] {
			return "", errInexpressible
		}
		return plain(db.Write(batch.object))
	case "create":
		k, err := db.CreateKeyspace("x", false)
		if err == nil {
			v.named[number] = &k
			v.made[number] = append(v.made[number], k)
		}
		return valued(fmt.Sprint(len(v.made[number])), err)
	case "find":
		if arguments[0] != "-" {
			return "", errInexpressible
		}
		found, err := db.OpenKeyspace("x")
		for i, each := range v.made[number] {
			if each.id == found.id {
				return valued(fmt.Sprint(i+1), err)
			}
		}
		return valued("0", err)
	case "list":
		list, err := db.Keyspaces()
		return valued(fmt.Sprint(len(list)), err)
	}
	space := arguments
	if name == "get" {
		space = arguments[1:]
	}
	k, err := v.keyspace(number, space)
	if err != nil {
		return "", err
	}
	switch name {
	case "put":
		return plain(k.Put([]byte("b"), []byte("p")))
	case "get":
		if arguments[0] == "-" {
			value, err := k.Get([]byte("b"))
			return valued(string(value), err)
		}
		value, err := k.At(v.snapshots[arguments[0]].object).Get([]byte("b"))
		return valued(string(value), err)
	case "drop":
		return plain(db.DropKeyspace(k))
	}
	return plain(k.Clear())
}

func (v *pathVariables) doSnapshot(name, s string, arguments []string) (string, error) {
	switch name {
	case "snapshot":
		db := v.databases[numberOf(arguments[0])]
		made, err := db.Snapshot()
		if err == nil {
			v.snapshots[s] = madeIn[*Snapshot]{made, db}
		}
		return plain(err)
	case "sequence":
		_, err := v.snapshots[s].object.Sequence()
		return plain(err)
	}
	return plain(v.snapshots[s].object.Close())
}

func (v *pathVariables) doIterator(name, i string, arguments []string) (string, error) {
	it := v.iterators[i].object
	switch name {
	case "iterator":
		number := numberOf(arguments[0])
		k, err := v.keyspace(number, arguments[2:])
		if err != nil {
			return "", err
		}
		view := View{k, nil}
		if arguments[1] != "-" {
			view = k.At(v.snapshots[arguments[1]].object)
		}
		made := view.Iterate(nil)
		if made.Err() == nil {
			v.iterators[i] = madeIn[*Iterator]{made, v.databases[number]}
		}
		return plain(made.Err())
	case "first":
		return moved(it.First(), it.Err())
	case "last":
		return moved(it.Last(), it.Err())
	case "next":
		return moved(it.Next(), it.Err())
	case "prev":
		return moved(it.Prev(), it.Err())
	case "entry":
		return entered(it.Key(), it.Value())
	case "read":
		text, err := entered(it.Key(), it.Value())
		for err == nil && it.Next() {
			text += " " + string(it.Key()) + "=" + string(it.Value())
		}
		return text, err
	case "failed_key":
		return entered(it.FailedKey(), nil)
	}
	return plain(it.Close())
}

func (v *pathVariables) doBatch(name, b string, arguments []string) (string, error) {
	batch := v.batches[b]
	switch name {
	case "batch":
		batch = madeIn[*Batch]{NewBatch(), nil}
	case "put":
		if len(arguments) == 0 {
			batch.object.Put([]byte("b"), []byte("q"))
			break
		}
		k, err := v.keyspace(0, arguments)
		if err != nil || batch.db != nil && batch.db != v.databases[0] {
			return "", errInexpressible
		}
		batch.object.In(k).Put([]byte("b"), []byte("q"))
		batch.db = v.databases[0]
	case "clear":
		batch.object.Clear()
		batch.db = nil
	case "size":
		return valued(fmt.Sprint(batch.object.Len()), nil)
	case "close":
		return plain(batch.object.Close())
	default:
		return "", errInexpressible
	}
	v.batches[b] = batch
	return plain(batch.object.Err())
}

func (v *pathVariables) doTx(name, t string, arguments []string) (string, error) {
	switch name {
	case "begin", "optimistic", "read_only":
		return plain(v.begin(name, t, arguments))
	case "get", "put":
		k, err := v.txKeyspace(t, arguments)
		if err != nil {
			return "", err
		}
		if name == "put" {
			return plain(k.Put([]byte("b"), []byte("t")))
		}
		value, err := k.Get([]byte("b"))
		return valued(string(value), err)
	}
	tx := v.txs[t].object
	switch name {
	case "commit":
		return plain(tx.Commit())
	case "rollback":
		return plain(tx.Rollback())
	case "savepoint":
		return plain(tx.SetSavepoint())
	case "to_savepoint":
		return plain(tx.RollbackToSavepoint())
	case "release":
		return plain(tx.ReleaseSavepoint())
	case "conflict":
		_, _, found := tx.Conflict()
		return moved(found, nil)
	case "close":
		return plain(tx.Close())
	}
	return "", errInexpressible
}

func (v *pathVariables) begin(name, t string, arguments []string) error {
	options := &TxOptions{}
	if arguments[1] != "-" {
		options.Snapshot = v.snapshots[arguments[1]].object
	}
	db := v.databases[numberOf(arguments[0])]
	var tx *Tx
	var err error
	switch name {
	case "begin":
		tx, err = db.begin(0, options, time.Microsecond)
	case "optimistic":
		tx, err = db.Begin(options)
	default:
		options.Kind = ReadOnlyKind
		tx, err = db.Begin(options)
	}
	if err == nil {
		v.txs[t] = madeIn[*Tx]{tx, db}
	}
	return err
}

func (v *pathVariables) doCursor(name, c string, arguments []string) (string, error) {
	cursor := v.cursors[c].object
	switch name {
	case "cursor":
		k, err := v.txKeyspace(arguments[0], arguments[1:])
		if err != nil {
			return "", err
		}
		made := k.Cursor()
		if made.Err() == nil {
			v.cursors[c] = madeIn[*Cursor]{made, nil}
		}
		return plain(made.Err())
	case "first":
		return moved(cursor.First(), cursor.Err())
	case "next":
		return moved(cursor.Next(), cursor.Err())
	case "prev":
		return moved(cursor.Prev(), cursor.Err())
	case "current":
		return moved(cursor.Current(), cursor.Err())
	case "entry":
		return entered(cursor.Entry())
	case "set":
		return plain(cursor.Put([]byte("c")))
	case "delete":
		return plain(cursor.Delete())
	}
	return plain(cursor.Close())
}

// restore closes what the path left, and gives the databases their first content.
func (v *pathVariables) restore(t *testing.T) {
	t.Helper()
	for _, each := range v.cursors {
		must(t, each.object.Close())
	}
	for _, each := range v.txs {
		must(t, each.object.Close())
	}
	for _, each := range v.batches {
		must(t, each.object.Close())
	}
	for _, each := range v.iterators {
		must(t, each.object.Close())
	}
	for _, each := range v.snapshots {
		must(t, each.object.Close())
	}
	for number := range v.databases {
		a := []byte(fmt.Sprint(number))
		if err := v.databases[number].Put([]byte("a"), a); err != nil {
			must(t, v.open(number))
			must(t, v.databases[number].Put([]byte("a"), a))
		}
		db := v.databases[number]
		must(t, db.Delete([]byte("b")))
		list, err := db.Keyspaces()
		must(t, err)
		for _, k := range list {
			must(t, db.DropKeyspace(k))
		}
	}
}

// isAllowed compares an answer with that of the C interface.
func isAllowed(call, expected, answer string, err error) bool {
	if strings.HasPrefix(call, "close") && expected == "BadHandle" {
		return err == nil // a second close does nothing
	}
	if err == nil {
		return answer == expected
	}
	var failed *Error
	code := ErrNotFound
	if errors.As(err, &failed) {
		code = failed.Code
	}
	name, _, _ := strings.Cut(call, " ")
	if code == ErrNotFound && (name == "entry" || name == "read" || name == "failed_key" || name == "conflict") {
		return !strings.HasPrefix(expected, "OK") // these calls return no error
	}
	return "mergedb: "+expected == code.Error()
}

var looks = map[string]bool{"find": true, "size": true}

// runPath returns the numbers of calls that were compared and that were left out.
func runPath(t *testing.T, v *pathVariables, line string, otherThread chan func()) (compared, leftOut int) {
	t.Helper()
	defer v.restore(t)
	steps := strings.Split(line, "; ")
	for i, step := range steps {
		call, expected, _ := strings.Cut(step, ": ")
		name, _, _ := strings.Cut(call, " ")
		var answer string
		err := errInexpressible
		switch {
		case name == "enter":
			return compared, leftOut + len(steps) - i
		case name == "size" && expected == "BadHandle":
		case strings.HasPrefix(call, ">"):
			call = call[1:]
			done := make(chan bool)
			otherThread <- func() { answer, err = v.do(call); close(done) }
			select {
			case <-done:
			case <-time.After(time.Minute):
				t.Fatalf("%s waits for ever after %s", call, strings.Join(steps[:i], "; "))
			}
		default:
			answer, err = v.do(call)
		}
		if errors.Is(err, errInexpressible) {
			if strings.HasPrefix(expected, "OK") && !looks[name] {
				return compared, leftOut + len(steps) - i
			}
			leftOut++
			continue
		}
		compared++
		if !isAllowed(call, expected, answer, err) {
			t.Fatalf("expected %s, found %q, %v after %s", expected, answer, err, strings.Join(steps[:i+1], "; "))
		}
	}
	return compared, leftOut
}

func TestPathsOfCallsOnHandles(t *testing.T) {
	file := os.Getenv("MERGEDB_HANDLE_PATHS")
	if file == "" {
		file = filepath.Join("..", "..", "tests", "paths", "handle_paths.txt")
	}
	content, err := os.ReadFile(file)
	must(t, err)
	runtime.LockOSThread() // a single writer knows the thread of its last call
	defer runtime.UnlockOSThread()
	otherThread := make(chan func())
	defer close(otherThread)
	go func() {
		runtime.LockOSThread()
		for f := range otherThread {
			f()
		}
	}()
	directory, err := os.MkdirTemp("/dev/shm", "mergedb-go-")
	if err != nil {
		directory = t.TempDir()
	}
	defer os.RemoveAll(directory)
	var databases [2]*DB
	start := newPathVariables(directory, &databases)
	for number := range databases {
		must(t, start.open(number))
		_, err := databases[number].CreateKeyspace("x", true) // each path finds the map of keyspaces
		must(t, err)
	}
	start.restore(t)
	paths, compared, leftOut := 0, 0, 0
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		paths++
		calls, left := runPath(t, newPathVariables(directory, &databases), line, otherThread)
		compared += calls
		leftOut += left
	}
	for _, db := range databases {
		must(t, db.Close())
	}
	t.Logf("%d paths, %d calls, %d left out", paths, compared, leftOut)
	if compared < 3000 {
		t.Fatalf("only %d calls were compared", compared)
	}
}
