// Goal: a Listener gets the events, whatever it does; the file LOG has them; a trace has the calls.
package mergedb

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

type recorder struct {
	mutex  sync.Mutex
	events map[string]Event
}

func (r *recorder) take(event Event) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.events == nil {
		r.events = map[string]Event{}
	}
	r.events[event.Name] = event
}

func TestListenerGetsEventsAndTheLogHasThem(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	var seen recorder
	db, err := Open(path, &Options{Listener: seen.take, LogBytesMax: 64 << 10, SlowCall: time.Microsecond, KeepSpaceAtRest: true})
	must(t, err)
	fill(t, db, 1000)
	must(t, db.Flush(context.Background()))
	must(t, db.Close())
	flushed := seen.events["flush_end"]
	if n, _ := flushed.Fields["bytes"].(uint64); n == 0 || flushed.Fields["status"] != "OK" {
		t.Fatalf("%+v", flushed)
	}
	if slow := seen.events["slow_call"]; !strings.Contains(slow.JSON, `"event":"slow_call"`) || time.Since(slow.Time) > time.Hour {
		t.Fatalf("%+v", slow)
	}
	if _, found := seen.events["close"]; !found {
		t.Fatalf("no event of the close in %v", seen.events)
	}
	text, err := os.ReadFile(filepath.Join(path, "LOG"))
	must(t, err)
	if !strings.Contains(string(text), "flush_end") {
		t.Fatalf("%s", text)
	}
}

func TestListenerMayCallItsDatabaseButNotCloseIt(t *testing.T) {
	var db *DB
	opened := make(chan struct{})
	errs := make(chan error, 1)
	db, err := Open(filepath.Join(t.TempDir(), "db"), &Options{Listener: func(event Event) {
		<-opened
		if event.Name == "flush_end" {
			if _, err := db.Get([]byte("key000001")); err != nil {
				errs <- err
				return
			}
			errs <- db.Close()
		}
	}})
	must(t, err)
	close(opened)
	fill(t, db, 100)
	must(t, db.Flush(context.Background()))
	wants(t, <-errs, ErrBusy)
	must(t, db.Close())
}

func TestAPanicOrAGoexitInAListenerEndsAtTheCall(t *testing.T) {
	var seen recorder
	db, err := Open(filepath.Join(t.TempDir(), "db"), &Options{Listener: func(event Event) {
		seen.take(event)
		switch event.Name {
		case "open":
			panic("of a listener")
		case "flush_begin":
			runtime.Goexit()
		}
	}})
	must(t, err)
	fill(t, db, 100)
	must(t, db.Flush(context.Background()))
	must(t, db.Close())
	for _, name := range []string{"open", "flush_begin", "flush_end", "close"} {
		if _, found := seen.events[name]; !found {
			t.Fatalf("no %s in %v", name, seen.events)
		}
	}
}

func TestAFailedOpenEndsTheListener(t *testing.T) {
	for _, bad := range []Options{{BlockBytes: 1}, {Mode: 99}, {Mode: MustExist}} {
		bad.Listener = func(Event) {}
		l := newListening(bad.Listener)
		l.end()
		l.end()
		if _, err := Open(filepath.Join(t.TempDir(), "db"), &bad); err == nil {
			t.Fatalf("%+v", bad)
		}
	}
}

func TestTraceRecordsTheCalls(t *testing.T) {
	db := open(t)
	path := filepath.Join(t.TempDir(), "trace")
	_, err := db.EndTrace()
	wants(t, err, ErrInvalidArgument)
	must(t, db.StartTrace(path, &TraceOptions{RecordValues: true}))
	wants(t, db.StartTrace(path+"2", nil), ErrBusy)
	must(t, db.Put([]byte("a"), []byte("1")))
	_, err = db.Get([]byte("a"))
	must(t, err)
	report, err := db.EndTrace()
	must(t, err)
	if report.Operations != 2 || report.Lost != 0 || report.IsFull {
		t.Fatalf("%+v", report)
	}
	if file, err := os.Stat(path); err != nil || uint64(file.Size()) != report.Bytes {
		t.Fatal(file, err)
	}
	wants(t, db.StartTrace(path, nil), ErrInvalidArgument)
}
