//! mergedb, an embedded, ordered key-value store in a directory.
//!
//! ```
//! # fn main() -> mergedb::Result<()> {
//! # let directory = mergedb_test_directory("lib");
//! use mergedb::{Db, Durability, IterOptions, WriteBatch};
//!
//! let db = Db::open(&directory)?;
//! let mut batch = WriteBatch::new()?; // atomic, also after a crash
//! batch.put("fruit:apple", "green")?;
//! batch.put("fruit:cherry", "red")?;
//! db.write(&batch, Durability::Synced)?;
//!
//! assert_eq!(db.get("fruit:apple")?.unwrap(), "green");
//! for entry in db.iter(&IterOptions::prefix("fruit:"))?.forward() {
//!     let (key, value) = entry?;
//!     println!("{key:?} is {value:?}");
//! }
//! db.close()
//! # }
//! # fn mergedb_test_directory(name: &str) -> std::path::PathBuf {
//! #     let path = std::env::temp_dir().join(format!("mergedb-rust-{name}-{}", std::process::id()));
//! #     let _ = mergedb::Db::destroy(&path);
//! #     path
//! # }
//! ```
//!
//! A [`Db`], a [`Keyspace`] and a [`Snapshot`] are `Sync`. Iterators and snapshots borrow their database, so they cannot
//! outlive it:
//!
//! ```compile_fail
//! let db = mergedb::Db::open("/tmp/never").unwrap();
//! let snapshot = db.snapshot().unwrap();
//! db.close().unwrap();
//! snapshot.get("a").unwrap();
//! ```
//!
//! docs/api/rust.md is a tour.

mod batch;
mod db;
mod error;
mod event;
mod ffi;
mod iter;
pub mod merge;
mod options;
mod transaction;
mod value;

pub use batch::{BatchKeyspace, WriteBatch};
pub use db::{
    version, CheckpointOptions, CheckpointReport, Db, Keyspace, Metric, Snapshot, TraceOptions, TraceReport, View,
};
pub use error::{Details, Error, Result};
pub use event::{Event, EventValue, Listener};
pub use iter::{Entries, Iter};
pub use options::{Compression, Durability, IterOptions, Mode, Options, Style, TransactionKind, TransactionOptions};
pub use transaction::{Cursor, To, Transaction, TransactionKeyspace};
pub use value::Value;
