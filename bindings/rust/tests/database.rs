//! Goal: each call of the crate does what the C interface does, and errors are values. Method: small databases in
//! temporary directories; threads.

use mergedb::*;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A directory that the drop removes.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Directory {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("mergedb-rust-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Directory(path)
    }

    fn db(&self) -> Db {
        Db::open(self.0.join("db")).unwrap()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn keys(mut iter: Iter<'_>) -> String {
    iter.forward().map(|entry| String::from_utf8(entry.unwrap().0).unwrap()).collect::<Vec<_>>().join(" ")
}

fn all(db: &Db) -> String {
    keys(db.iter(&IterOptions::default()).unwrap())
}

fn fill(db: &Db, count: usize) {
    let mut batch = WriteBatch::new().unwrap();
    for i in 0..count {
        batch.put(format!("key{i:06}"), format!("value{i}")).unwrap();
    }
    db.write(&batch, Durability::ProcessCrash).unwrap();
}

#[test]
fn puts_gets_and_deletes() {
    let directory = Directory::new();
    let db = directory.db();
    db.put("a", "1").unwrap();
    db.with_durability(Durability::Synced).put("empty", "").unwrap();
    assert_eq!(db.get("a").unwrap().unwrap(), "1");
    assert_eq!(db.get("empty").unwrap().unwrap().len(), 0);
    db.delete("a").unwrap();
    assert!(db.get("a").unwrap().is_none());
    let values = db.multi_get(&["a", "empty"]).unwrap();
    assert!(values[0].is_none() && values[1].as_ref().is_some_and(|value| value.is_empty()));
    assert!(db.multi_get::<&str>(&[]).unwrap().is_empty());
    let large = vec![7_u8; 300_000];
    db.put([0, 255], &large).unwrap();
    let value = db.get([0, 255]).unwrap().unwrap();
    assert_eq!(std::thread::spawn(move || Vec::from(value)).join().unwrap(), large);
    db.close().unwrap();
}

#[test]
fn deletes_ranges_and_prefixes() {
    let directory = Directory::new();
    let db = directory.db();
    for key in ["a1", "a2", "b1", "b2", "c1"] {
        db.put(key, key).unwrap();
    }
    db.delete_range("a2", "b2").unwrap();
    assert_eq!(all(&db), "a1 b2 c1");
    db.delete_prefix("b").unwrap();
    assert_eq!(all(&db), "a1 c1");
    assert!(matches!(db.delete_range("z", "a"), Err(Error::InvalidArgument(_))));
}

#[test]
fn open_takes_options_and_returns_errors() {
    let directory = Directory::new();
    let path = directory.0.join("db");
    let must_exist = Options { mode: Mode::MustExist, ..Options::default() };
    assert!(matches!(Db::open_with(&path, &must_exist), Err(Error::NotFound(_))));
    let options = Options {
        memory_bytes: 8 << 20,
        style: Some(Style::Cascade),
        bottom_compression: Some(Compression::Zstd),
        bloom_bits_per_key: Some(0),
        blob_value_bytes_min: Some(0),
        wal_sync_interval: Some(Duration::ZERO),
        write_delay_max: Duration::from_millis(1),
        mapped_read_bytes_max: Some(1 << 20),
        ..Options::default()
    };
    let db = Db::open_with(&path, &options).unwrap();
    let error = Db::open(&path).unwrap_err();
    assert!(matches!(error, Error::Busy(_)), "{error}");
    assert!(error.to_string().starts_with("busy: ") && !error.details().outcome_unknown);
    db.put("a", "1").unwrap();
    db.close().unwrap();
    let reader = Db::open_with(&path, &Options { mode: Mode::ReadOnly, ..Options::default() }).unwrap();
    assert_eq!(reader.get("a").unwrap().unwrap(), "1");
    assert!(matches!(reader.put("b", ""), Err(Error::NotSupported(_))));
    drop(reader);
    let must_not = Options { mode: Mode::MustNotExist, ..Options::default() };
    assert!(matches!(Db::open_with(&path, &must_not), Err(Error::InvalidArgument(_))));
    assert!(matches!(Db::open("a\0b"), Err(Error::InvalidArgument(_))));
    assert!(matches!(
        Db::open_with(&path, &Options { block_bytes: 1, ..Options::default() }),
        Err(Error::InvalidArgument(_))
    ));
    Db::destroy(&path).unwrap();
    assert!(matches!(Db::destroy(&path), Err(Error::NotFound(_))));
    assert!(!version().is_empty());
}

#[test]
fn open_refuses_options_at_their_edges() {
    let directory = Directory::new();
    let options = Options::default;
    let (ms, us, ns) = (Duration::from_millis(1), Duration::from_micros(1), Duration::from_nanos(1));
    let hour = Duration::from_secs(3600);
    let interval = |value| Options { wal_sync_interval: Some(value), ..options() };
    let delay = |value| Options { write_delay_max: value, ..options() };
    let slow = |value| Options { slow_call: value, ..options() };
    let good = [
        interval(Duration::ZERO),
        interval(ms),
        interval(ms + ns),
        interval(hour),
        delay(us),
        delay(hour),
        slow(us),
        slow(hour),
        Options { log_bytes_max: 16 << 10, ..options() },
        Options { log_bytes_max: 1 << 30, ..options() },
        Options { bloom_bits_per_key: Some(0), ..options() },
        Options { bloom_bits_per_key: Some(64), ..options() },
        Options { open_tables_max: 16, ..options() },
        Options { open_tables_max: u32::MAX, ..options() },
        Options { blob_value_bytes_min: Some(0), ..options() },
        Options { blob_value_bytes_min: Some(u64::MAX), ..options() },
        Options { block_bytes: 256, ..options() },
        Options { mapped_read_bytes_max: Some(u64::MAX), ..options() },
    ];
    for (i, options) in good.iter().enumerate() {
        Db::open_with(directory.0.join(format!("good{i}")), options)
            .unwrap_or_else(|error| panic!("{options:?}: {error}"))
            .close()
            .unwrap();
    }
    let bad = [
        ("wal_sync_interval", interval(ns)),
        ("wal_sync_interval", interval(ms - ns)),
        ("wal_sync_interval", interval(hour + ms)),
        ("wal_sync_interval", interval(Duration::MAX)),
        ("write_delay", delay(ns)),
        ("write_delay", delay(us - ns)),
        ("write_delay", delay(hour + us)),
        ("write_delay", delay(Duration::MAX)),
        ("slow_call", slow(ns)),
        ("slow_call_us", slow(hour + us)),
        ("log_bytes_max", Options { log_bytes_max: (16 << 10) - 1, ..options() }),
        ("log_bytes_max", Options { log_bytes_max: (1 << 30) + 1, ..options() }),
        ("bloom_bits_per_key", Options { bloom_bits_per_key: Some(65), ..options() }),
        ("open_tables_max", Options { open_tables_max: 15, ..options() }),
        ("block_bytes", Options { block_bytes: 255, ..options() }),
        ("block_bytes", Options { block_bytes: u64::MAX, ..options() }),
        ("memory_bytes", Options { memory_bytes: u64::MAX, ..options() }),
        ("write_buffer_bytes", Options { write_buffer_bytes: u64::MAX, ..options() }),
    ];
    for (name, options) in bad {
        match Db::open_with(directory.0.join("bad"), &options) {
            Err(Error::InvalidArgument(details)) => assert!(details.message.contains(name), "{}", details.message),
            other => panic!("{options:?}: {other:?}"),
        }
    }
}

#[test]
fn iterators_move_both_ways() {
    let directory = Directory::new();
    let db = directory.db();
    fill(&db, 10_000);
    let mut iter = db.iter(&IterOptions::default()).unwrap();
    let mut count = 0;
    for entry in iter.forward() {
        let (key, value) = entry.unwrap();
        assert_eq!(key, format!("key{count:06}").as_bytes());
        assert_eq!(value, format!("value{count}").as_bytes());
        count += 1;
    }
    for entry in iter.backward() {
        count -= 1;
        assert_eq!(entry.unwrap().0, format!("key{count:06}").as_bytes());
    }
    assert_eq!(count, 0);
    assert_eq!(iter.forward_from("key009998x").count(), 1);
    assert!(iter.seek("key000500").unwrap() && iter.retreat().unwrap());
    assert_eq!(iter.entry().unwrap(), (b"key000499".as_slice(), b"value499".as_slice()));
    assert!(iter.seek_for_prev("zzz").unwrap() && !iter.advance().unwrap() && iter.entry().is_none());
    assert!(iter.seek_to_last().unwrap() && iter.seek_to_first().unwrap() && !iter.retreat().unwrap());
    let range = IterOptions { keys_only: true, skip_cache: true, ..IterOptions::range("key000010", "key000012") };
    assert_eq!(keys(db.iter(&range).unwrap()), "key000010 key000011");
    let prefix = IterOptions { lower: Some(b"key009998".to_vec()), ..IterOptions::prefix("key00999") };
    assert_eq!(keys(db.iter(&prefix).unwrap()), "key009998 key009999");
}

#[test]
fn loops_read_entries_that_are_larger_than_a_chunk() {
    let directory = Directory::new();
    let db = directory.db();
    let large = vec![1_u8; 200_000];
    db.put("a", "1").unwrap();
    db.put("b", &large).unwrap();
    db.put("c", "").unwrap();
    let mut iter = db.iter(&IterOptions::default()).unwrap();
    let entries: Vec<_> = iter.forward().map(Result::unwrap).collect();
    assert_eq!(entries, [(b"a".to_vec(), b"1".to_vec()), (b"b".to_vec(), large), (b"c".to_vec(), vec![])]);
}

#[test]
fn a_failed_key_ends_a_loop_and_advance_continues() {
    let directory = Directory::new();
    let db = directory.db();
    db.put("a", "1").unwrap();
    db.put("b", "no counter").unwrap();
    db.merge("b", &merge::add_u64(1)).unwrap();
    db.put("c", "3").unwrap();
    assert!(matches!(db.get("b"), Err(Error::MergeFailed(_))));
    let mut iter = db.iter(&IterOptions::default()).unwrap();
    let results: Vec<_> = iter.forward().collect();
    assert!(results.len() == 2 && results[0].is_ok() && matches!(results[1], Err(Error::MergeFailed(_))));
    assert_eq!(iter.failed_key().unwrap(), b"b");
    assert!(iter.advance().unwrap());
    assert_eq!(iter.entry().unwrap().0, b"c");
    assert!(iter.failed_key().is_none());
}

#[test]
fn snapshots_and_iterators_stay_as_they_are() {
    let directory = Directory::new();
    let db = directory.db();
    let users = db.create_keyspace("users").unwrap();
    db.put("a", "1").unwrap();
    users.put("u", "1").unwrap();
    let snapshot = db.snapshot().unwrap();
    let mut iter = db.iter(&IterOptions::default()).unwrap();
    db.put("a", "2").unwrap();
    users.delete("u").unwrap();
    assert_eq!(snapshot.get("a").unwrap().unwrap(), "1");
    assert_eq!(keys(users.at(&snapshot).iter(&IterOptions::default()).unwrap()), "u");
    assert_eq!(users.at(&snapshot).multi_get(&["u"]).unwrap()[0].as_deref().unwrap(), b"1");
    assert_eq!(iter.forward().next().unwrap().unwrap().1, b"1");
    assert!(snapshot.sequence().unwrap() > 0);
    assert!(db.property("mergedb.snapshots").unwrap().unwrap().contains("snapshot"));
    drop((snapshot, iter));
    assert_eq!(db.property("mergedb.snapshots").unwrap().unwrap(), "");
}

#[test]
fn a_batch_spans_keyspaces() {
    let directory = Directory::new();
    let db = directory.db();
    let users = db.keyspace("users").unwrap();
    let mut batch = WriteBatch::new().unwrap();
    assert!(batch.is_empty());
    batch.put("a", "1").unwrap();
    batch.keyspace(users).put("u", "2").unwrap();
    batch.put("b", "3").unwrap();
    batch.delete_range("b", "c").unwrap();
    batch.keyspace(users).merge("visits", &merge::add_u64(2)).unwrap();
    batch.delete("none").unwrap();
    assert_eq!(batch.len(), 6);
    db.write(&batch, Durability::Synced).unwrap();
    assert_eq!(all(&db), "a");
    assert_eq!(keys(users.iter(&IterOptions::default()).unwrap()), "u visits");
    batch.clear().unwrap();
    assert!(batch.put(vec![0; 9 << 20], "").and_then(|()| db.write(&batch, Durability::ProcessCrash)).is_err());
    batch.clear().unwrap();
    batch.put("after clear", "").unwrap();
    db.write(&batch, Durability::NoWal).unwrap();
    assert_eq!(all(&db), "a after clear");
}

#[test]
fn keyspaces_are_made_found_cleared_and_dropped() {
    let directory = Directory::new();
    let db = directory.db();
    let users = db.create_keyspace("users").unwrap();
    assert!(matches!(db.create_keyspace("users"), Err(Error::InvalidArgument(_))));
    users.put("alice", "1").unwrap();
    assert!(db.get("alice").unwrap().is_none());
    assert_eq!(db.find_keyspace("users").unwrap().unwrap().get("alice").unwrap().unwrap(), "1");
    let list = db.keyspaces().unwrap();
    assert!(list.len() == 1 && list[0].0 == b"users" && list[0].1.id() == users.id() && users.id() != 0);
    users.compact_range(Some(b"a"), None).unwrap();
    users.clear().unwrap();
    assert_eq!(keys(users.iter(&IterOptions::default()).unwrap()), "");
    db.drop_keyspace(users).unwrap();
    assert!(db.find_keyspace("users").unwrap().is_none());
    assert!(matches!(users.put("a", ""), Err(Error::InvalidArgument(_))));
    assert_eq!(db.default_keyspace().id(), 0);
}

#[test]
fn merge_operands_change_values() {
    let directory = Directory::new();
    let db = directory.db();
    let merged = |key: &str, operands: &[merge::Operand]| {
        operands.iter().for_each(|operand| db.merge(key, operand).unwrap());
        db.get(key).unwrap().unwrap()
    };
    use merge::*;
    assert_eq!(to_u64(merged("u", &[add_u64(2), max_u64(40), min_u64(30), add_u64(3)])), Some(33));
    assert_eq!(to_i64(merged("i", &[add_i64(-5), max_i64(-7), min_i64(-6)])), Some(-6));
    assert_eq!(to_f64(merged("f", &[add_f64(1.5), max_f64(2.5), min_f64(2.0)])), Some(2.0));
    assert_eq!(merged("append", &[append("a", ",", 3), append("b", ",", 3), append("c", ",", 3)]), "b,c");
    assert_eq!(merged("max", &[max_bytes("b"), max_bytes("a")]), "b");
    assert_eq!(merged("min", &[min_bytes("b"), min_bytes("a")]), "a");
    assert_eq!(merged("bits", &[or([3]), and([6]), xor([1])]), [3]);
    assert_eq!(merged("first", &[first(5, "new"), first(3, "old")]), "old");
    assert_eq!(merged("last", &[last(5, "new"), last(3, "old")]), "new");
    assert_eq!(merged("json", &[json_patch(r#"{"a":1,"b":2}"#), json_patch(r#"{"b":null}"#)]), r#"{"a":1}"#);
    assert_eq!(merged("named", &[named("stringappend", "x"), named("stringappend", "y")]), "x,y");
    assert!(matches!(db.merge("a", &named("a\0b", "")), Err(Error::InvalidArgument(_))));
    db.put("over", i64::MAX.to_le_bytes()).unwrap();
    db.merge("over", &add_i64_failing(1)).unwrap();
    assert!(matches!(db.get("over"), Err(Error::MergeFailed(_))));
    assert_eq!(to_u64("short"), None);
}

#[test]
fn transactions_commit_or_roll_back() {
    let directory = Directory::new();
    let db = directory.db();
    let users = db.keyspace("users").unwrap();
    let transaction = db.begin(&TransactionOptions { name: "one".into(), ..TransactionOptions::default() }).unwrap();
    transaction.put("a", "1").unwrap();
    transaction.keyspace(users).put("u", "2").unwrap();
    transaction.merge("n", &merge::add_u64(7)).unwrap();
    assert_eq!(merge::to_u64(transaction.get("n").unwrap().unwrap()), Some(7));
    assert!(db.property("mergedb.transactions").unwrap().unwrap().contains("one"));
    assert!(matches!(db.put("outside", ""), Err(Error::Busy(_)))); // it would wait forever
    let short = TransactionOptions { wait_max: Some(Duration::from_millis(1)), ..TransactionOptions::default() };
    std::thread::scope(|scope| {
        scope.spawn(|| assert!(matches!(db.begin(&short), Err(Error::Busy(_)))));
    });
    transaction.commit().unwrap();
    let discarded = db.begin(&TransactionOptions::default()).unwrap();
    discarded.delete_range("a", "z").unwrap();
    discarded.rollback();
    let dropped = db.begin(&TransactionOptions::default()).unwrap();
    dropped.delete("a").unwrap();
    drop(dropped);
    assert_eq!(all(&db), "a n");
    assert_eq!(users.get("u").unwrap().unwrap(), "2");
    let reader = db.begin(&TransactionOptions::read_only()).unwrap();
    assert!(matches!(reader.put("x", ""), Err(Error::NotSupported(_))));
    reader.commit().unwrap();
}

#[test]
fn a_conflict_names_its_key_and_retry_runs_again() {
    let directory = Directory::new();
    let db = directory.db();
    db.put("k", 0_u64.to_le_bytes()).unwrap();
    let transaction = db.begin(&TransactionOptions::optimistic()).unwrap();
    transaction.get("k").unwrap();
    transaction.put("other", "").unwrap();
    db.put("k", 0_u64.to_le_bytes()).unwrap();
    let error = transaction.commit().unwrap_err();
    assert!(matches!(&error, Error::Conflict(details) if details.key.as_deref() == Some(b"k")), "{error:?}");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    db.retry(|t| {
                        let count = t.get("k")?.and_then(merge::to_u64).unwrap_or(0);
                        t.put("k", (count + 1).to_le_bytes())
                    })
                    .unwrap();
                }
            });
        }
    });
    assert_eq!(db.get("k").unwrap().and_then(merge::to_u64), Some(200));
    assert!(matches!(db.retry(|t| t.rollback_to_savepoint()), Err(Error::InvalidArgument(_))));
}

#[test]
fn savepoints_and_cursors() {
    let directory = Directory::new();
    let db = directory.db();
    db.put("b", "1").unwrap();
    let transaction = db.begin(&TransactionOptions::default()).unwrap();
    transaction.put("a", "0").unwrap();
    transaction.set_savepoint().unwrap();
    transaction.delete_range("a", "z").unwrap();
    transaction.rollback_to_savepoint().unwrap();
    transaction.set_savepoint().unwrap();
    transaction.release_savepoint().unwrap();
    let mut cursor = transaction.cursor().unwrap();
    let mut seen = Vec::new();
    while cursor.go(To::Next).unwrap() {
        let (key, value) = cursor.entry().unwrap();
        cursor.put("9").unwrap();
        if key == b"a" {
            cursor.delete().unwrap();
        }
        seen.push((key, value));
    }
    assert_eq!(seen, [(b"a".to_vec(), b"0".to_vec()), (b"b".to_vec(), b"1".to_vec())]);
    assert!(!cursor.go(To::Key(b"aa")).unwrap() && cursor.go(To::Current).unwrap());
    assert!(cursor.go(To::First).unwrap() && cursor.go(To::Last).unwrap() && !cursor.go(To::Prev).unwrap());
    assert!(cursor.go(To::KeyOrNext(b"a")).unwrap() && !cursor.go(To::KeyOrPrev(b"a")).unwrap());
    transaction.put("c", "2").unwrap(); // under the cursor
    assert!(cursor.go(To::Last).unwrap());
    assert_eq!(cursor.entry().unwrap(), (b"c".to_vec(), b"2".to_vec()));
    drop(cursor);
    transaction.commit().unwrap();
    assert_eq!(all(&db), "b c");
}

#[test]
fn checkpoints_stop_and_continue() {
    let directory = Directory::new();
    let db = directory.db();
    fill(&db, 1000);
    db.flush().unwrap();
    let target = directory.0.join("copy");
    let copy = CheckpointOptions { copy: true, ..CheckpointOptions::default() };
    assert!(matches!(db.checkpoint_with(&target, &copy, |_, _| false), Err(Error::Aborted(_))));
    assert!(!target.exists());
    let panics = std::panic::AssertUnwindSafe(|| db.checkpoint_with(&target, &copy, |_, _| panic!("a test's panic")));
    assert!(std::panic::catch_unwind(panics).is_err());
    let mut calls = 0;
    let report = db
        .checkpoint_with(&target, &copy, |done, all| {
            calls += 1;
            done <= all
        })
        .unwrap();
    assert!(calls > 0 && report.files > 0 && report.linked == 0 && report.sequence > 0, "{report:?}");
    assert_eq!(Db::open(&target).unwrap().get("key000999").unwrap().unwrap(), "value999");
    assert!(matches!(db.checkpoint(&target), Err(Error::InvalidArgument(_))));
}

#[test]
fn maintenance_metrics_and_properties() {
    let directory = Directory::new();
    let db = directory.db();
    fill(&db, 1000);
    db.sync_wal().unwrap();
    db.flush().unwrap();
    db.compact_range(None, Some(b"z")).unwrap();
    db.wait_for_compactions().unwrap();
    db.check_integrity().unwrap();
    assert!(db.approximate_size("k", "l").unwrap() > 0);
    let metrics = db.metrics().unwrap();
    let flushes = metrics.iter().find(|metric| metric.name == "flushes").unwrap();
    assert!(flushes.value > 0 && !flushes.is_gauge && !flushes.unit.is_empty() && !flushes.help.is_empty());
    assert!(metrics.iter().any(|metric| metric.is_gauge));
    assert!(!db.property("mergedb.stats").unwrap().unwrap().is_empty());
    assert!(db.property("mergedb.unknown").unwrap().is_none());
    assert!(matches!(db.property("a\0b"), Err(Error::InvalidArgument(_))));
}

#[test]
fn a_listener_gets_events_and_the_log_has_them() {
    let directory = Directory::new();
    let path = directory.0.join("db");
    let events = Arc::new(Mutex::new(Vec::new()));
    let seen = events.clone();
    let listener = Listener::new(move |event| {
        seen.lock().unwrap().push(event.clone());
        if event.name == "flush_begin" {
            panic!("a panic of a listener ends at the call");
        }
    });
    let options = Options {
        listener: Some(listener),
        log_bytes_max: 64 << 10,
        slow_call: Duration::from_micros(1),
        keep_space_at_rest: true,
        ..Options::default()
    };
    let db = Db::open_with(&path, &options).unwrap();
    fill(&db, 1000);
    db.flush().unwrap();
    db.close().unwrap();
    drop(options);
    let events = Arc::into_inner(events).expect("the engine has dropped the listener").into_inner().unwrap();
    let find = |name| events.iter().find(|event| event.name == name).unwrap_or_else(|| panic!("{name} in {events:?}"));
    assert!(find("flush_end").number("bytes").unwrap() > 0);
    assert_eq!(find("flush_end").text("status"), Some("OK"));
    assert_eq!(find("flush_end").number("status"), None);
    assert!(find("slow_call").json.contains("\"event\":\"slow_call\""));
    assert!(find("open").time.elapsed().unwrap() < Duration::from_secs(3600));
    assert!(std::fs::read_to_string(path.join("LOG")).unwrap().contains("flush_end"));
}

#[test]
fn a_listener_may_close_its_database_and_is_dropped_after_a_failed_open() {
    let directory = Directory::new();
    let shared: Arc<Mutex<Option<Db>>> = Arc::default();
    let (cell, closed) = (shared.clone(), Arc::new(AtomicBool::new(false)));
    let flag = closed.clone();
    let listener = Listener::new(move |event| {
        if event.name == "flush_end" {
            drop(cell.lock().unwrap().take());
            flag.store(true, Ordering::SeqCst);
        }
    });
    let options = Options { listener: Some(listener), ..Options::default() };
    let db = Db::open_with(directory.0.join("db"), &options).unwrap();
    db.put("a", "1").unwrap();
    let mut place = shared.lock().unwrap();
    place.insert(db).flush().unwrap();
    drop(place);
    while !closed.load(Ordering::SeqCst) {
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(options);
    for bad in [
        Options { block_bytes: 1, ..Options::default() },
        Options { bloom_bits_per_key: Some(65), ..Options::default() },
    ] {
        let token = Arc::new(());
        let kept = token.clone();
        let options = Options { listener: Some(Listener::new(move |_| drop(kept.clone()))), ..bad };
        assert!(matches!(Db::open_with(directory.0.join("bad"), &options), Err(Error::InvalidArgument(_))));
        drop(options);
        assert_eq!(Arc::strong_count(&token), 1);
    }
}

#[test]
fn a_trace_records_the_calls() {
    let directory = Directory::new();
    let db = directory.db();
    let file = directory.0.join("trace");
    assert!(matches!(db.end_trace(), Err(Error::InvalidArgument(_))));
    db.start_trace(&file, &TraceOptions { record_values: true, ..TraceOptions::default() }).unwrap();
    assert!(matches!(db.start_trace(directory.0.join("other"), &TraceOptions::default()), Err(Error::Busy(_))));
    db.put("a", "1").unwrap();
    db.get("a").unwrap();
    let report = db.end_trace().unwrap();
    assert_eq!((report.operations, report.lost, report.is_full), (2, 0, false));
    assert_eq!(std::fs::metadata(&file).unwrap().len(), report.bytes);
    assert!(matches!(db.start_trace(&file, &TraceOptions::default()), Err(Error::InvalidArgument(_))));
}

#[test]
fn threads_share_a_database() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Db>();
    is_shared::<Keyspace<'static>>();
    is_shared::<Snapshot<'static>>();
    is_shared::<Value>();
    is_shared::<WriteBatch>();
    is_shared::<Error>();
    let directory = Directory::new();
    let db = directory.db();
    fill(&db, 100);
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut rounds = 0;
            while !ends.load(Ordering::Relaxed) || rounds == 0 {
                assert!(db.iter(&IterOptions::default()).unwrap().forward().count() >= 100);
                rounds += 1;
            }
        });
        for thread in 0..3 {
            let db = &db;
            scope.spawn(move || {
                for i in 0..500 {
                    db.put(format!("thread{thread}-{i}"), "x").unwrap();
                    db.merge("count", &merge::add_u64(1)).unwrap();
                }
            });
        }
        ends.store(true, Ordering::Relaxed);
        reader.join().unwrap();
    });
    assert_eq!(db.get("count").unwrap().and_then(merge::to_u64), Some(1500));
}

#[test]
fn the_example_prints_what_it_should() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // Cargo builds the examples beside the tests: target/PROFILE/examples, and this program is in target/PROFILE/deps.
    let program = std::env::current_exe().unwrap().parent().unwrap().join("../examples/word_counter");
    let directory = Directory::new();
    for _ in 0..2 {
        let texts = ["garden.txt", "harbour.txt"].map(|name| root.join("examples/text").join(name));
        let done = Command::new(&program).arg(directory.0.join("db")).args(texts).output().unwrap();
        let expected = std::fs::read_to_string(root.join("examples/expected/word_counter.txt")).unwrap();
        assert_eq!(String::from_utf8(done.stdout).unwrap(), expected);
    }
    std::fs::write(directory.0.join("file"), "no database").unwrap();
    let failed = Command::new(&program).arg(directory.0.join("file/db")).output().unwrap();
    assert!(!failed.status.success() && !failed.stderr.is_empty());
}
