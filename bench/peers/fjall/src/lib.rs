//! fjall behind the C interface of bench/engines/peer_library.h, which documents the functions.
//!
//! A handle is the address of a box. A failure becomes a C string in `*error`, which the caller frees.

use std::ffi::{c_char, CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::slice;

use fjall::config::{
    BlockSizePolicy, BloomConstructionPolicy, CompressionPolicy, FilterPolicy, FilterPolicyEntry,
};
use fjall::{
    AbstractTree, CompressionType, Database, Iter, Keyspace, KeyspaceCreateOptions, KvPair,
    OwnedWriteBatch, PersistMode, Readable, Snapshot,
};

type Error = Box<dyn std::error::Error>;

struct Db {
    keyspace: Keyspace,
    database: Database,
}

struct Batch {
    database: Database,
    keyspace: Keyspace,
    writes: OwnedWriteBatch,
}

#[derive(Clone, Copy, PartialEq)]
enum Direction {
    Forward,
    Backward,
}

struct Cursor {
    keyspace: Keyspace,
    snapshot: Snapshot,
    entries: Option<(Direction, Iter)>,
    entry: Option<KvPair>,
}

#[repr(C)]
pub struct Entry {
    key: *const u8,
    key_bytes: usize,
    value: *const u8,
    value_bytes: usize,
}

unsafe fn bytes<'a>(data: *const u8, count: usize) -> &'a [u8] {
    if count == 0 {
        &[]
    } else {
        slice::from_raw_parts(data, count)
    }
}

/// Returns the value, or the default after storing the failure in `*error`.
unsafe fn told<T: Default>(result: Result<T, Error>, error: *mut *mut c_char) -> T {
    result.unwrap_or_else(|failure| {
        let text = CString::new(failure.to_string()).unwrap_or_default();
        *error = text.into_raw();
        T::default()
    })
}

fn mode(sync: i32) -> PersistMode {
    if sync != 0 {
        PersistMode::SyncData
    } else {
        PersistMode::Buffer // a write(2), which survives a kill of the process
    }
}

fn options_of(
    write_buffer_bytes: u64,
    block_bytes: u64,
    bloom_bits: i32,
    compression: CompressionType,
) -> KeyspaceCreateOptions {
    let filter = if bloom_bits > 0 {
        FilterPolicy::all(FilterPolicyEntry::Bloom(
            BloomConstructionPolicy::BitsPerKey(bloom_bits as f32),
        ))
    } else {
        FilterPolicy::disabled()
    };
    KeyspaceCreateOptions::default()
        .max_memtable_size(write_buffer_bytes)
        .data_block_size_policy(BlockSizePolicy::all(block_bytes as u32))
        .data_block_compression_policy(CompressionPolicy::all(compression))
        .filter_policy(filter)
}

#[no_mangle]
pub extern "C" fn peer_version() -> *const c_char {
    concat!("fjall ", env!("CARGO_PKG_VERSION"), "\0")
        .as_ptr()
        .cast()
}

#[no_mangle]
pub unsafe extern "C" fn peer_free(text: *mut c_char) {
    drop(CString::from_raw(text));
}

#[no_mangle]
pub unsafe extern "C" fn peer_open(
    path: *const c_char,
    write_buffer_bytes: u64,
    cache_bytes: u64,
    block_bytes: u64,
    bloom_bits: i32,
    compression: i32,
    open_files: i32,
    error: *mut *mut c_char,
) -> usize {
    let open = || -> Result<usize, Error> {
        let compression = match compression {
            0 => CompressionType::None,
            3 => CompressionType::Lz4,
            _ => return Err("fjall has only lz4 and no compression: --compression=0 or 3".into()),
        };
        let database = Database::builder(OsStr::from_bytes(CStr::from_ptr(path).to_bytes()))
            .cache_size(cache_bytes)
            .journal_compression(compression)
            .max_cached_files(Some(open_files.max(10) as usize))
            .open()?;
        let keyspace = database.keyspace("bench", || {
            options_of(write_buffer_bytes, block_bytes, bloom_bits, compression)
        })?;
        Ok(Box::into_raw(Box::new(Db { keyspace, database })) as usize)
    };
    told(open(), error)
}

#[no_mangle]
pub unsafe extern "C" fn peer_close(db: usize, _error: *mut *mut c_char) {
    drop(Box::from_raw(db as *mut Db));
}

#[no_mangle]
pub unsafe extern "C" fn peer_put(
    db: usize,
    key: *const u8,
    key_bytes: usize,
    value: *const u8,
    value_bytes: usize,
    sync: i32,
    error: *mut *mut c_char,
) {
    let db = &*(db as *const Db);
    let put = || -> Result<(), Error> {
        db.keyspace
            .insert(bytes(key, key_bytes), bytes(value, value_bytes))?;
        if sync != 0 {
            db.database.persist(mode(sync))?;
        }
        Ok(())
    };
    told(put(), error)
}

#[no_mangle]
pub unsafe extern "C" fn peer_delete(
    db: usize,
    key: *const u8,
    key_bytes: usize,
    sync: i32,
    error: *mut *mut c_char,
) {
    let db = &*(db as *const Db);
    let delete = || -> Result<(), Error> {
        db.keyspace.remove(bytes(key, key_bytes))?;
        if sync != 0 {
            db.database.persist(mode(sync))?;
        }
        Ok(())
    };
    told(delete(), error)
}

#[no_mangle]
pub unsafe extern "C" fn peer_batch_create(db: usize) -> usize {
    let db = &*(db as *const Db);
    let database = db.database.clone();
    let writes = database.batch();
    let keyspace = db.keyspace.clone();
    Box::into_raw(Box::new(Batch {
        database,
        keyspace,
        writes,
    })) as usize
}

#[no_mangle]
pub unsafe extern "C" fn peer_batch_destroy(batch: usize) {
    drop(Box::from_raw(batch as *mut Batch));
}

#[no_mangle]
pub unsafe extern "C" fn peer_batch_put(
    batch: usize,
    key: *const u8,
    key_bytes: usize,
    value: *const u8,
    value_bytes: usize,
) {
    let batch = &mut *(batch as *mut Batch);
    batch.writes.insert(
        &batch.keyspace,
        bytes(key, key_bytes),
        bytes(value, value_bytes),
    );
}

#[no_mangle]
pub unsafe extern "C" fn peer_batch_delete(batch: usize, key: *const u8, key_bytes: usize) {
    let batch = &mut *(batch as *mut Batch);
    batch.writes.remove(&batch.keyspace, bytes(key, key_bytes));
}

#[no_mangle]
pub unsafe extern "C" fn peer_batch_commit(batch: usize, sync: i32, error: *mut *mut c_char) {
    let batch = &mut *(batch as *mut Batch);
    let full = std::mem::replace(&mut batch.writes, batch.database.batch());
    told(
        full.durability(Some(mode(sync)))
            .commit()
            .map_err(Into::into),
        error,
    )
}

#[no_mangle]
pub unsafe extern "C" fn peer_get(
    db: usize,
    key: *const u8,
    key_bytes: usize,
    buffer: *mut u8,
    capacity: usize,
    error: *mut *mut c_char,
) -> i64 {
    let db = &*(db as *const Db);
    let found = told(
        db.keyspace.get(bytes(key, key_bytes)).map_err(Into::into),
        error,
    );
    let Some(value) = found else { return -1 };
    if value.len() <= capacity {
        std::ptr::copy_nonoverlapping(value.as_ptr(), buffer, value.len());
    }
    value.len() as i64
}

impl Cursor {
    fn start(&mut self, direction: Direction, entries: Iter) -> Result<(), Error> {
        self.entries = Some((direction, entries));
        self.step(direction)
    }

    fn step(&mut self, direction: Direction) -> Result<(), Error> {
        let next = match &mut self.entries {
            Some((Direction::Forward, entries)) if direction == Direction::Forward => {
                entries.next()
            }
            Some((Direction::Backward, entries)) if direction == Direction::Backward => {
                entries.next_back()
            }
            _ => return self.turn(direction),
        };
        self.entry = next.map(|guard| guard.into_inner()).transpose()?;
        Ok(())
    }

    // fjall's iterators cannot turn around: this opens another one beside the current key.
    fn turn(&mut self, direction: Direction) -> Result<(), Error> {
        let Some((key, _)) = self.entry.take() else {
            return Ok(());
        };
        let entries = match direction {
            Direction::Forward => {
                let mut after = key.to_vec();
                after.push(0);
                self.snapshot.range(&self.keyspace, after..)
            }
            Direction::Backward => self.snapshot.range(&self.keyspace, ..key),
        };
        self.start(direction, entries)
    }
}

#[no_mangle]
pub unsafe extern "C" fn peer_iter_create(db: usize, _error: *mut *mut c_char) -> usize {
    let db = &*(db as *const Db);
    let cursor = Cursor {
        keyspace: db.keyspace.clone(),
        snapshot: db.database.snapshot(),
        entries: None,
        entry: None,
    };
    Box::into_raw(Box::new(cursor)) as usize
}

#[no_mangle]
pub unsafe extern "C" fn peer_iter_destroy(iterator: usize, _error: *mut *mut c_char) {
    drop(Box::from_raw(iterator as *mut Cursor));
}

#[no_mangle]
pub unsafe extern "C" fn peer_iter_move(
    iterator: usize,
    movement: i32,
    target: *const u8,
    target_bytes: usize,
    entry: *mut Entry,
    error: *mut *mut c_char,
) -> i32 {
    let cursor = &mut *(iterator as *mut Cursor);
    let moved = match movement {
        0 => cursor.start(Direction::Forward, cursor.snapshot.iter(&cursor.keyspace)),
        1 => cursor.start(Direction::Backward, cursor.snapshot.iter(&cursor.keyspace)),
        2 => {
            let entries = cursor
                .snapshot
                .range(&cursor.keyspace, bytes(target, target_bytes).to_vec()..);
            cursor.start(Direction::Forward, entries)
        }
        3 => cursor.step(Direction::Forward),
        _ => cursor.step(Direction::Backward),
    };
    told(moved, error);
    let Some((key, value)) = &cursor.entry else {
        return 0;
    };
    *entry = Entry {
        key: key.as_ptr(),
        key_bytes: key.len(),
        value: value.as_ptr(),
        value_bytes: value.len(),
    };
    1
}

#[no_mangle]
pub unsafe extern "C" fn peer_is_busy(db: usize) -> i32 {
    let db = &*(db as *const Db);
    let is_busy = db.database.outstanding_flushes() > 0
        || db.database.active_compactions() > 0
        || db.keyspace.sealed_memtable_count() > 0;
    i32::from(is_busy)
}

#[no_mangle]
pub unsafe extern "C" fn peer_compact(db: usize, error: *mut *mut c_char) {
    let db = &*(db as *const Db);
    let compact = || -> Result<(), Error> {
        db.keyspace.rotate_memtable_and_wait()?;
        Ok(db.keyspace.major_compact()?)
    };
    told(compact(), error)
}

#[no_mangle]
pub unsafe extern "C" fn peer_run_count(db: usize) -> i64 {
    let db = &*(db as *const Db);
    let tree = &db.keyspace.tree;
    let levels = (1..7).filter(|level| tree.level_table_count(*level).unwrap_or(0) > 0);
    (tree.l0_run_count() + levels.count()) as i64
}

#[no_mangle]
pub unsafe extern "C" fn peer_write_memory_bytes(db: usize) -> i64 {
    let db = &*(db as *const Db);
    db.database.write_buffer_size() as i64
}

/// fjall has no text about its state.
#[no_mangle]
pub extern "C" fn peer_stats(_db: usize) -> *mut c_char {
    std::ptr::null_mut()
}
