//! Goal: a call that gets a handle of another database returns an error and changes neither database. Method: random
//! calls on two databases that have keyspaces of the same numbers, with the handles of both mixed; a model says what each
//! keyspace holds. MERGEDB_SEED repeats a run.

use mergedb::*;
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

type Content = BTreeMap<Vec<u8>, Vec<u8>>;

/// A database, its keyspaces with the default one first, what they hold, and a snapshot with what they held then.
struct One<'db> {
    db: &'db Db,
    keyspaces: Vec<Keyspace<'db>>,
    contents: Vec<Content>,
    snapshot: Snapshot<'db>,
    at_the_time: Vec<Content>,
}

impl<'db> One<'db> {
    fn new(db: &'db Db) -> One<'db> {
        let mut keyspaces = vec![db.default_keyspace()];
        keyspaces.extend(["a", "b", "c"].map(|name| db.create_keyspace(name).unwrap()));
        let contents = vec![Content::new(); 4];
        One { db, keyspaces, at_the_time: contents.clone(), contents, snapshot: db.snapshot().unwrap() }
    }

    fn take(&mut self) {
        (self.snapshot, self.at_the_time) = (self.db.snapshot().unwrap(), self.contents.clone());
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

fn entries(mut iter: Iter<'_>) -> Content {
    iter.forward().map(|entry| entry.unwrap()).collect()
}

/// Checks the outcome of a call, and returns its result unless it was refused.
#[track_caller]
fn accepted<T>(is_foreign: bool, result: Result<T>) -> Option<T> {
    match result {
        Ok(_) if is_foreign => panic!("a handle of another database is accepted"),
        Ok(value) => Some(value),
        Err(Error::InvalidArgument(details)) if is_foreign => {
            assert!(details.message.contains("of another database"), "{}", details.message);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn handles_of_another_database_are_refused() {
    let seed = std::env::var("MERGEDB_SEED").map_or_else(
        |_| SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64,
        |text| text.parse().unwrap(),
    );
    println!("MERGEDB_SEED={seed}");
    let mut random = Random(seed);
    let directory = std::env::temp_dir().join(format!("mergedb-rust-foreign-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir(&directory).unwrap();
    let dbs = ["x", "y"].map(|name| Db::open(directory.join(name)).unwrap());
    let mut both = [One::new(&dbs[0]), One::new(&dbs[1])];
    for step in 0..1500 {
        let (on, of, n) = (random.below(2), random.below(2), random.below(4));
        let is_foreign = on != of;
        let db = both[on].db;
        let keyspace = both[of].keyspaces[n];
        let key = format!("k{}", random.below(20)).into_bytes();
        let value = step.to_string().into_bytes();
        match random.below(7) {
            0 | 1 => {
                let mut batch = WriteBatch::new().unwrap();
                batch.put(&key, &value).unwrap();
                batch.keyspace(keyspace).put(&key, &value).unwrap();
                batch.keyspace(keyspace).delete("k0").unwrap();
                let other = random.below(4);
                let result = batch.keyspace(both[1 - of].keyspaces[other]).put(&key, &value);
                accepted(true, result);
                if accepted(is_foreign, db.write(&batch, Durability::ProcessCrash)).is_some() {
                    both[on].contents[0].insert(key.clone(), value.clone());
                    both[on].contents[n].insert(key, value);
                    both[on].contents[n].remove(&b"k0"[..]);
                }
                batch.clear().unwrap();
                batch.keyspace(both[1 - of].keyspaces[other]).delete("none").unwrap();
                // the database is forgotten
            }
            2 => {
                let transaction = db.begin(&TransactionOptions::optimistic()).unwrap();
                transaction.put(&key, &value).unwrap();
                let inside = transaction.keyspace(keyspace);
                accepted(is_foreign, inside.put(&key, &value));
                accepted(is_foreign, inside.get(&key));
                accepted(is_foreign, inside.delete("k0"));
                accepted(is_foreign, inside.delete_range("k1", "k1"));
                accepted(is_foreign, inside.merge("k0", &merge::append("x", "", 0)));
                if let Some(mut cursor) = accepted(is_foreign, inside.cursor()) {
                    assert!(cursor.go(To::First).unwrap());
                }
                transaction.commit().unwrap();
                both[on].contents[0].insert(key.clone(), value.clone());
                if !is_foreign {
                    both[on].contents[n].insert(key, value);
                    both[on].contents[n].insert(b"k0".to_vec(), b"x".to_vec());
                }
            }
            3 if n > 0 => {
                if accepted(is_foreign, db.drop_keyspace(keyspace)).is_some() {
                    both[on].keyspaces[n] = db.create_keyspace(["a", "b", "c"][n - 1]).unwrap();
                    both[on].contents[n].clear();
                    both[on].take();
                }
            }
            4 => {
                let view = both[on].keyspaces[n].at(&both[of].snapshot);
                let then = &both[on].at_the_time[n];
                if let Some(got) = accepted(is_foreign, view.get(&key)) {
                    assert_eq!(got.as_deref(), then.get(&key).map(|value| &value[..]));
                }
                accepted(is_foreign, view.multi_get(&[&key]));
                if let Some(iter) = accepted(is_foreign, view.iter(&IterOptions::default())) {
                    assert_eq!(&entries(iter), then);
                }
                accepted(is_foreign, db.at(&both[of].snapshot).get(&key));
            }
            5 => both[on].take(),
            _ => {
                keyspace.put(&key, &value).unwrap(); // of its own database, whichever that is
                both[of].contents[n].insert(key, value);
            }
        }
        for one in &both {
            let n = random.below(4);
            let got = entries(one.keyspaces[n].iter(&IterOptions::default()).unwrap());
            assert_eq!(got, one.contents[n], "step {step}, keyspace {n}");
        }
    }
    drop(both);
    drop(dbs);
    std::fs::remove_dir_all(&directory).unwrap();
}
