use crate::batch::WriteBatch;
use crate::error::{call, found, Error, Result};
use crate::event::Given;
use crate::ffi;
use crate::iter::Iter;
use crate::merge::Operand;
use crate::options::{Durability, IterOptions, Options, TransactionOptions};
use crate::transaction::Transaction;
use crate::value::Value;
use std::any::Any;
use std::ffi::{c_char, c_void, CStr, CString};
use std::mem::size_of;
use std::os::unix::ffi::OsStrExt;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::path::Path;
use std::ptr::{null, null_mut};

/// An open database. Any number of threads may share it.
///
/// The methods for keys use the default keyspace; [`Db::keyspace`] returns another one.
#[derive(Debug)]
pub struct Db {
    pub(crate) handle: u64,
}

/// An ordered map of a database (RocksDB: column family), a small value to copy. A call of another database, or of a
/// transaction or batch of one, refuses it with [`Error::InvalidArgument`].
#[derive(Clone, Copy, Debug)]
pub struct Keyspace<'db> {
    pub(crate) db: &'db Db,
    pub(crate) id: u32,
    durability: Durability,
}

/// A keyspace as of a snapshot.
#[derive(Clone, Copy, Debug)]
pub struct View<'s> {
    keyspace: Keyspace<'s>,
    snapshot: u64,
}

/// A state of the database that stays readable. It keeps old versions on disk until it is dropped.
#[derive(Debug)]
pub struct Snapshot<'db> {
    pub(crate) db: &'db Db,
    pub(crate) handle: u64,
}

/// A counter or a gauge. docs/METRICS.md lists all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metric {
    /// Lower-case letters, digits and `_`.
    pub name: String,
    /// Of the value: "count", "bytes", ...
    pub unit: String,
    /// What the value says.
    pub help: String,
    /// A present value, not a count that only grows.
    pub is_gauge: bool,
    /// The value.
    pub value: u64,
}

/// The options of [`Db::checkpoint_with`].
#[derive(Clone, Debug, Default)]
pub struct CheckpointOptions {
    /// Copy every byte, so that damage to one file does not affect the other database.
    pub copy: bool,
    /// Do not read the copy back.
    pub skip_verify: bool,
}

/// What a checkpoint did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckpointReport {
    /// Tables and blob files in the copy.
    pub files: u64,
    /// Of these: hard links.
    pub linked: u64,
    /// Of these: copied, or written from memtables.
    pub copied: u64,
    /// Of these: kept from an earlier, interrupted call.
    pub kept: u64,
    /// Their size.
    pub bytes: u64,
    /// The copy contains all writes up to this sequence number.
    pub sequence: u64,
}

/// The options of [`Db::start_trace`]. 0 is the default.
#[derive(Clone, Copy, Debug, Default)]
pub struct TraceOptions {
    /// One of so many keys and iterators is recorded; 0: all.
    pub sampling: u32,
    /// The bytes of values of up to 1 MiB are recorded, instead of their sizes.
    pub record_values: bool,
    /// The trace ends when its file would exceed this size; 0: 1 GiB.
    pub bytes_max: u64,
}

/// What a trace has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceReport {
    /// Operations in the trace; a batch counts as one.
    pub operations: u64,
    /// Left out, because the file could not be written as fast, or a batch was too large.
    pub lost: u64,
    /// Of the file.
    pub bytes: u64,
    /// The trace ended at `bytes_max`.
    pub is_full: bool,
}

fn c_path(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| Error::invalid("the path has a NUL byte"))
}

fn optional(bytes: &Option<ffi::Slice>) -> *const ffi::Slice {
    bytes.as_ref().map_or(null(), |slice| slice)
}

/// The version of the library.
pub fn version() -> &'static str {
    // SAFETY: the text is static.
    unsafe { CStr::from_ptr(ffi::mergedb_version()) }.to_str().unwrap_or("")
}

impl Db {
    /// Opens the database in the directory, or creates it.
    pub fn open(path: impl AsRef<Path>) -> Result<Db> {
        Db::open_with(path, &Options::default())
    }

    /// Opens the database with options.
    pub fn open_with(path: impl AsRef<Path>, options: &Options) -> Result<Db> {
        let path = c_path(path.as_ref())?;
        let mut c = options.to_c()?;
        let listener = options.listener.as_ref().map(Given::new);
        if let Some((_, listener)) = &listener {
            c.listener = (listener as *const ffi::EventListener).cast();
        }
        let mut handle = 0;
        // SAFETY: the path, the options and the handle live for the call, which copies what it keeps.
        let result = call(|error| unsafe { ffi::mergedb_open(path.as_ptr(), &c, &mut handle, error) });
        if let (Err(_), Some((given, _))) = (&result, listener) {
            given.drop_untaken();
        }
        result.map(|()| Db { handle })
    }

    /// Removes the files of a database that no process has open.
    pub fn destroy(path: impl AsRef<Path>) -> Result<()> {
        let path = c_path(path.as_ref())?;
        // SAFETY: the path lives for the call.
        call(|error| unsafe { ffi::mergedb_destroy(path.as_ptr(), error) })
    }

    /// Makes the WAL durable and releases the directory. A drop does the same, but cannot return the error.
    pub fn close(self) -> Result<()> {
        // SAFETY: the call checks the handle; the drop that follows finds it closed.
        call(|error| unsafe { ffi::mergedb_close(self.handle, error) })
    }

    fn root(&self) -> Keyspace<'_> {
        Keyspace { db: self, id: 0, durability: Durability::default() }
    }

    /// The default keyspace.
    pub fn default_keyspace(&self) -> Keyspace<'_> {
        self.root()
    }

    /// The default keyspace, for writes of this durability.
    pub fn with_durability(&self, durability: Durability) -> Keyspace<'_> {
        self.root().with_durability(durability)
    }

    /// Returns the keyspace, and creates it if it does not exist.
    pub fn keyspace(&self, name: impl AsRef<[u8]>) -> Result<Keyspace<'_>> {
        self.make_keyspace(name.as_ref(), ffi::YES)
    }

    /// Creates a keyspace. `InvalidArgument` if the name exists.
    pub fn create_keyspace(&self, name: impl AsRef<[u8]>) -> Result<Keyspace<'_>> {
        self.make_keyspace(name.as_ref(), 0)
    }

    fn make_keyspace(&self, name: &[u8], may_exist: i32) -> Result<Keyspace<'_>> {
        let mut keyspace = self.root();
        // SAFETY: the name and the id live for the call.
        call(|error| unsafe {
            ffi::mergedb_keyspace_create(
                self.handle,
                name.as_ptr().cast(),
                name.len(),
                may_exist,
                &mut keyspace.id,
                error,
            )
        })?;
        Ok(keyspace)
    }

    /// The keyspace, if it exists.
    pub fn find_keyspace(&self, name: impl AsRef<[u8]>) -> Result<Option<Keyspace<'_>>> {
        let (name, mut keyspace) = (name.as_ref(), self.root());
        // SAFETY: as in make_keyspace().
        let there = found(call(|error| unsafe {
            ffi::mergedb_keyspace_open(self.handle, null(), name.as_ptr().cast(), name.len(), &mut keyspace.id, error)
        }))?;
        Ok(there.then_some(keyspace))
    }

    /// The named keyspaces, sorted by name.
    pub fn keyspaces(&self) -> Result<Vec<(Vec<u8>, Keyspace<'_>)>> {
        let (mut entries, mut count) = (null_mut(), 0);
        // SAFETY: both out-parameters live for the call.
        call(|error| unsafe { ffi::mergedb_keyspace_list(self.handle, null(), &mut entries, &mut count, error) })?;
        let mut list = Vec::with_capacity(count);
        // SAFETY: the call returned `count` entries in one allocation, which is freed once.
        unsafe {
            for i in 0..count {
                let entry = &*entries.add(i);
                let keyspace = Keyspace { id: entry.keyspace, ..self.root() };
                list.push((copy(entry.name), keyspace));
            }
            ffi::mergedb_free(entries.cast());
        }
        Ok(list)
    }

    /// Removes a keyspace with all of its keys, by one write.
    pub fn drop_keyspace(&self, keyspace: Keyspace<'_>) -> Result<()> {
        if keyspace.db.handle != self.handle {
            return Err(Error::foreign_keyspace());
        }
        let options = writing(keyspace.durability, 0);
        // SAFETY: the options live for the call.
        call(|error| unsafe { ffi::mergedb_keyspace_drop(self.handle, &options, keyspace.id, error) })
    }

    /// See [`Keyspace::put`].
    pub fn put(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.root().put(key, value)
    }

    /// See [`Keyspace::delete`].
    pub fn delete(&self, key: impl AsRef<[u8]>) -> Result<()> {
        self.root().delete(key)
    }

    /// See [`Keyspace::delete_range`].
    pub fn delete_range(&self, begin: impl AsRef<[u8]>, end: impl AsRef<[u8]>) -> Result<()> {
        self.root().delete_range(begin, end)
    }

    /// See [`Keyspace::delete_prefix`].
    pub fn delete_prefix(&self, prefix: impl AsRef<[u8]>) -> Result<()> {
        self.root().delete_prefix(prefix)
    }

    /// See [`Keyspace::merge`].
    pub fn merge(&self, key: impl AsRef<[u8]>, operand: &Operand) -> Result<()> {
        self.root().merge(key, operand)
    }

    /// See [`Keyspace::get`].
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>> {
        self.root().get(key)
    }

    /// See [`Keyspace::multi_get`].
    pub fn multi_get<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Value>>> {
        self.root().multi_get(keys)
    }

    /// See [`Keyspace::iter`].
    pub fn iter(&self, options: &IterOptions) -> Result<Iter<'_>> {
        self.root().iter(options)
    }

    /// The default keyspace as of a snapshot.
    pub fn at<'s>(&'s self, snapshot: &'s Snapshot<'_>) -> View<'s> {
        self.root().at(snapshot)
    }

    /// Applies a batch atomically. The batch stays unchanged.
    pub fn write(&self, batch: &WriteBatch, durability: Durability) -> Result<()> {
        if batch.db != 0 && batch.db != self.handle {
            return Err(Error::foreign_keyspace());
        }
        let options = writing(durability, 0);
        // SAFETY: the options live for the call.
        call(|error| unsafe { ffi::mergedb_write(self.handle, &options, batch.handle, error) })
    }

    /// A snapshot of the present state.
    pub fn snapshot(&self) -> Result<Snapshot<'_>> {
        let mut snapshot = Snapshot { db: self, handle: 0 };
        // SAFETY: the handle lives for the call.
        call(|error| unsafe { ffi::mergedb_snapshot_create(self.handle, &mut snapshot.handle, error) })?;
        Ok(snapshot)
    }

    /// Begins a transaction.
    pub fn begin(&self, options: &TransactionOptions) -> Result<Transaction<'_>> {
        Transaction::begin(self, options)
    }

    /// Runs `f` in an optimistic transaction and commits it. After a conflict, `f` runs again.
    pub fn retry<T>(&self, mut f: impl FnMut(&Transaction<'_>) -> Result<T>) -> Result<T> {
        loop {
            let transaction = self.begin(&TransactionOptions::optimistic())?;
            let result = f(&transaction)?;
            match transaction.commit() {
                Err(Error::Conflict(_)) => continue,
                committed => return committed.map(|()| result),
            }
        }
    }

    /// Everything that was written before is in tables and durable.
    pub fn flush(&self) -> Result<()> {
        // SAFETY: the call checks the handle. So in the three calls below.
        call(|error| unsafe { ffi::mergedb_flush(self.handle, error) })
    }

    /// Every write that returned before survives a power loss.
    pub fn sync_wal(&self) -> Result<()> {
        // SAFETY: see flush().
        call(|error| unsafe { ffi::mergedb_sync_wal(self.handle, error) })
    }

    /// Waits until no background work is pending.
    pub fn wait_for_compactions(&self) -> Result<()> {
        // SAFETY: see flush().
        call(|error| unsafe { ffi::mergedb_wait(self.handle, error) })
    }

    /// Reads and checks every byte of every live table and blob file.
    pub fn check_integrity(&self) -> Result<()> {
        // SAFETY: see flush().
        call(|error| unsafe { ffi::mergedb_check(self.handle, error) })
    }

    /// Compacts the keys of [lower, upper) into the bottommost run. `None`: no bound.
    pub fn compact_range(&self, lower: Option<&[u8]>, upper: Option<&[u8]>) -> Result<()> {
        self.root().compact_range(lower, upper)
    }

    /// Estimates the bytes on disk of the range [lower, upper). Unflushed writes do not count.
    pub fn approximate_size(&self, lower: impl AsRef<[u8]>, upper: impl AsRef<[u8]>) -> Result<u64> {
        let (lower, upper) = (ffi::Slice::of(lower.as_ref()), ffi::Slice::of(upper.as_ref()));
        let mut bytes = 0;
        // SAFETY: the slices and the result live for the call.
        call(|error| unsafe { ffi::mergedb_approximate_sizes(self.handle, &lower, &upper, 1, &mut bytes, error) })?;
        Ok(bytes)
    }

    /// A property as text, if the name is known: "mergedb.stats", "mergedb.prometheus", ...
    pub fn property(&self, name: &str) -> Result<Option<String>> {
        let name = CString::new(name).map_err(|_| Error::invalid("the name has a NUL byte"))?;
        let mut text: *mut c_char = null_mut();
        // SAFETY: the name and the result live for the call.
        if !found(call(|error| unsafe { ffi::mergedb_get_property(self.handle, name.as_ptr(), &mut text, error) }))? {
            return Ok(None);
        }
        // SAFETY: the call returned a text with a NUL, which is freed once.
        unsafe {
            let copy = CStr::from_ptr(text).to_string_lossy().into_owned();
            ffi::mergedb_free(text.cast());
            Ok(Some(copy))
        }
    }

    /// The present values of all counters and gauges.
    pub fn metrics(&self) -> Result<Vec<Metric>> {
        unsafe extern "C" fn take(state: *mut c_void, metric: *const ffi::Metric) -> i32 {
            // SAFETY: `state` is the list below; the texts of a metric are static.
            let (list, metric) = unsafe { (&mut *state.cast::<Vec<Metric>>(), &*metric) };
            let text = |text| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
            list.push(Metric {
                name: text(metric.name),
                unit: text(metric.unit),
                help: text(metric.help),
                is_gauge: metric.kind == 2,
                value: metric.value,
            });
            1
        }
        let mut list: Vec<Metric> = Vec::new();
        // SAFETY: the calling thread calls take() during the call only.
        call(|error| unsafe {
            ffi::mergedb_metrics(self.handle, take, (&mut list as *mut Vec<Metric>).cast(), error)
        })?;
        Ok(list)
    }

    /// Begins to record the calls on this database to a new file: docs/TRACE.md. [`Db::end_trace`] or a close ends it.
    pub fn start_trace(&self, path: impl AsRef<Path>, options: &TraceOptions) -> Result<()> {
        let path = c_path(path.as_ref())?;
        let c = ffi::TraceOptions {
            struct_size: size_of::<ffi::TraceOptions>(),
            sampling: options.sampling,
            record_values: i32::from(options.record_values),
            bytes_max: options.bytes_max,
        };
        // SAFETY: the path and the options live for the call.
        call(|error| unsafe { ffi::mergedb_start_trace(self.handle, path.as_ptr(), &c, error) })
    }

    /// Ends the trace. `InvalidArgument`: none was started.
    pub fn end_trace(&self) -> Result<TraceReport> {
        let mut c = ffi::TraceReport {
            struct_size: size_of::<ffi::TraceReport>(),
            operations: 0,
            lost: 0,
            bytes: 0,
            is_full: 0,
        };
        // SAFETY: the report lives for the call.
        call(|error| unsafe { ffi::mergedb_end_trace(self.handle, &mut c, error) })?;
        Ok(TraceReport { operations: c.operations, lost: c.lost, bytes: c.bytes, is_full: c.is_full != 0 })
    }

    /// Copies the database into an absent or empty directory, while it is read and written.
    pub fn checkpoint(&self, target: impl AsRef<Path>) -> Result<CheckpointReport> {
        self.checkpoint_with(target, &CheckpointOptions::default(), |_, _| true)
    }

    /// As [`Db::checkpoint`]. `progress` gets the bytes done and the bytes of all. If it returns false, the call ends
    /// with [`Error::Aborted`], and the next call with this target continues.
    pub fn checkpoint_with(
        &self,
        target: impl AsRef<Path>,
        options: &CheckpointOptions,
        progress: impl FnMut(u64, u64) -> bool,
    ) -> Result<CheckpointReport> {
        struct State<F> {
            progress: F,
            panic: Option<Box<dyn Any + Send>>,
        }
        unsafe extern "C" fn call_back<F: FnMut(u64, u64) -> bool>(state: *mut c_void, done: u64, all: u64) -> i32 {
            // SAFETY: `state` is the State below.
            let state = unsafe { &mut *state.cast::<State<F>>() };
            match catch_unwind(AssertUnwindSafe(|| (state.progress)(done, all))) {
                Ok(goes_on) => i32::from(goes_on),
                Err(panic) => {
                    state.panic = Some(panic);
                    0
                }
            }
        }
        fn trampoline<F: FnMut(u64, u64) -> bool>(_: &State<F>) -> unsafe extern "C" fn(*mut c_void, u64, u64) -> i32 {
            call_back::<F>
        }
        let target = c_path(target.as_ref())?;
        let mut state = State { progress, panic: None };
        let c = ffi::CheckpointOptions {
            struct_size: size_of::<ffi::CheckpointOptions>(),
            may_link: if options.copy { ffi::NO } else { 0 },
            verify: if options.skip_verify { ffi::NO } else { 0 },
            progress: Some(trampoline(&state)),
            state: (&mut state as *mut State<_>).cast(),
        };
        let mut report = ffi::CheckpointReport {
            struct_size: size_of::<ffi::CheckpointReport>(),
            files: 0,
            linked: 0,
            copied: 0,
            kept: 0,
            bytes: 0,
            sequence: 0,
        };
        // SAFETY: the calling thread calls back during the call only; everything lives that long.
        let result =
            call(|error| unsafe { ffi::mergedb_checkpoint(self.handle, target.as_ptr(), &c, &mut report, error) });
        if let Some(panic) = state.panic {
            resume_unwind(panic);
        }
        result.map(|()| CheckpointReport {
            files: report.files,
            linked: report.linked,
            copied: report.copied,
            kept: report.kept,
            bytes: report.bytes,
            sequence: report.sequence,
        })
    }
}

impl Drop for Db {
    fn drop(&mut self) {
        // SAFETY: the call checks the handle.
        unsafe { ffi::mergedb_close(self.handle, null_mut()) };
    }
}

fn writing(durability: Durability, keyspace: u32) -> ffi::WriteOptions {
    ffi::WriteOptions { struct_size: size_of::<ffi::WriteOptions>(), durability: durability as i32, keyspace }
}

fn reading(keyspace: u32, snapshot: u64, fill_cache: i32) -> ffi::ReadOptions {
    ffi::ReadOptions {
        struct_size: size_of::<ffi::ReadOptions>(),
        snapshot,
        verify_checksums: 0,
        fill_cache,
        keyspace,
        reserved: 0,
    }
}

/// Copies bytes of the C interface.
///
/// # Safety
///
/// `slice` is empty, or valid for the call.
pub(crate) unsafe fn copy(slice: ffi::Slice) -> Vec<u8> {
    if slice.size == 0 {
        return Vec::new();
    }
    // SAFETY: the caller promises it.
    unsafe { std::slice::from_raw_parts(slice.data.cast::<u8>(), slice.size) }.to_vec()
}

impl<'db> Keyspace<'db> {
    /// The keyspace, for writes of this durability.
    pub fn with_durability(self, durability: Durability) -> Keyspace<'db> {
        Keyspace { durability, ..self }
    }

    /// A number that the database never reuses; 0 is the default keyspace.
    pub fn id(&self) -> u32 {
        self.id
    }

    fn writing(&self) -> ffi::WriteOptions {
        writing(self.durability, self.id)
    }

    /// Sets the value of `key`.
    pub fn put(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        let (options, key, value) = (self.writing(), key.as_ref(), value.as_ref());
        // SAFETY: the options and the slices live for the call, which copies them. So in all writes below.
        call(|error| unsafe {
            ffi::mergedb_put(
                self.db.handle,
                &options,
                key.as_ptr().cast(),
                key.len(),
                value.as_ptr().cast(),
                value.len(),
                error,
            )
        })
    }

    /// Deletes `key`, which may be absent.
    pub fn delete(&self, key: impl AsRef<[u8]>) -> Result<()> {
        let (options, key) = (self.writing(), key.as_ref());
        // SAFETY: see put().
        call(|error| unsafe { ffi::mergedb_delete(self.db.handle, &options, key.as_ptr().cast(), key.len(), error) })
    }

    /// Deletes every key from `begin` (inclusive) to `end` (exclusive), at the cost of one write.
    pub fn delete_range(&self, begin: impl AsRef<[u8]>, end: impl AsRef<[u8]>) -> Result<()> {
        let (options, begin, end) = (self.writing(), begin.as_ref(), end.as_ref());
        // SAFETY: see put().
        call(|error| unsafe {
            ffi::mergedb_delete_range(
                self.db.handle,
                &options,
                begin.as_ptr().cast(),
                begin.len(),
                end.as_ptr().cast(),
                end.len(),
                error,
            )
        })
    }

    /// Deletes every key that begins with `prefix`, at the cost of one write.
    pub fn delete_prefix(&self, prefix: impl AsRef<[u8]>) -> Result<()> {
        let (options, prefix) = (self.writing(), prefix.as_ref());
        // SAFETY: see put().
        call(|error| unsafe {
            ffi::mergedb_delete_prefix(self.db.handle, &options, prefix.as_ptr().cast(), prefix.len(), error)
        })
    }

    /// Applies an operand to the value of `key` without reading the value, which may be absent.
    pub fn merge(&self, key: impl AsRef<[u8]>, operand: &Operand) -> Result<()> {
        let (options, key) = (self.writing(), key.as_ref());
        operand.with_c(|operand| {
            // SAFETY: see put(); the operand lives for the call.
            call(|error| unsafe {
                ffi::mergedb_merge(self.db.handle, &options, key.as_ptr().cast(), key.len(), operand, error)
            })
        })
    }

    /// Deletes all keys of a named keyspace, by one write.
    pub fn clear(&self) -> Result<()> {
        let options = writing(self.durability, 0);
        // SAFETY: see put().
        call(|error| unsafe { ffi::mergedb_keyspace_clear(self.db.handle, &options, self.id, error) })
    }

    fn newest(self) -> View<'db> {
        View { keyspace: self, snapshot: 0 }
    }

    /// The keyspace as of a snapshot of its database.
    pub fn at<'s>(self, snapshot: &'s Snapshot<'_>) -> View<'s>
    where
        'db: 's,
    {
        View { keyspace: self, snapshot: snapshot.handle }
    }

    /// The value of `key`, if there is one.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>> {
        self.newest().get(key)
    }

    /// The values of many keys as of one moment.
    pub fn multi_get<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Value>>> {
        self.newest().multi_get(keys)
    }

    /// An iterator over the present state.
    pub fn iter(&self, options: &IterOptions) -> Result<Iter<'db>> {
        self.newest().iter(options)
    }

    /// Compacts the keys of [lower, upper) into the bottommost run. `None`: no bound.
    pub fn compact_range(&self, lower: Option<&[u8]>, upper: Option<&[u8]>) -> Result<()> {
        let (lower, upper) = (lower.map(ffi::Slice::of), upper.map(ffi::Slice::of));
        // SAFETY: the slices live for the call.
        call(|error| unsafe {
            if self.id == 0 {
                ffi::mergedb_compact_range(self.db.handle, optional(&lower), optional(&upper), error)
            } else {
                ffi::mergedb_keyspace_compact(self.db.handle, self.id, optional(&lower), optional(&upper), error)
            }
        })
    }
}

impl<'s> View<'s> {
    /// The value of `key`, if there is one.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>> {
        let (options, key) = (reading(self.keyspace.id, self.snapshot, 0), key.as_ref());
        let (mut value, mut size) = (null_mut(), 0);
        // SAFETY: everything lives for the call.
        found(call(|error| unsafe {
            ffi::mergedb_get(
                self.keyspace.db.handle,
                &options,
                key.as_ptr().cast(),
                key.len(),
                &mut value,
                &mut size,
                error,
            )
        }))?;
        // SAFETY: the call returned memory to free, or null.
        Ok(unsafe { Value::take(value, size) })
    }

    /// The values of many keys as of one moment.
    pub fn multi_get<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Value>>> {
        let options = reading(self.keyspace.id, self.snapshot, 0);
        let slices: Vec<ffi::Slice> = keys.iter().map(|key| ffi::Slice::of(key.as_ref())).collect();
        let mut values: Vec<*mut c_void> = vec![null_mut(); keys.len()];
        let (mut sizes, mut codes) = (vec![0_usize; keys.len()], vec![0_i32; keys.len()]);
        // SAFETY: all arrays have `keys.len()` elements and live for the call.
        let result = call(|error| unsafe {
            ffi::mergedb_multi_get(
                self.keyspace.db.handle,
                &options,
                slices.as_ptr(),
                slices.len(),
                values.as_mut_ptr(),
                sizes.as_mut_ptr(),
                codes.as_mut_ptr(),
                error,
            )
        });
        // SAFETY: each value is memory to free, or null. An error of one key drops the values of the others.
        let values = values.into_iter().zip(sizes).map(|(value, size)| unsafe { Value::take(value, size) }).collect();
        result.map(|()| values)
    }

    /// An iterator over this state.
    pub fn iter(&self, options: &IterOptions) -> Result<Iter<'s>> {
        let read = reading(0, self.snapshot, if options.skip_cache { ffi::NO } else { 0 });
        let lower = options.lower.as_deref().map(ffi::Slice::of);
        let upper = options.upper.as_deref().map(ffi::Slice::of);
        let c = ffi::IteratorOptions {
            struct_size: size_of::<ffi::IteratorOptions>(),
            prefix: ffi::Slice::of(&options.prefix),
            lower: optional(&lower),
            upper: optional(&upper),
            read: &read,
            keys_only: i32::from(options.keys_only),
            keyspace: self.keyspace.id,
        };
        let mut handle = 0;
        // SAFETY: everything lives for the call, which copies it.
        call(|error| unsafe { ffi::mergedb_iterator_create(self.keyspace.db.handle, &c, &mut handle, error) })?;
        Ok(Iter::new(handle))
    }
}

impl<'db> Snapshot<'db> {
    /// Reads a key of the default keyspace as of the snapshot.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>> {
        self.db.at(self).get(key)
    }

    /// The snapshot sees all writes with a sequence number up to this one.
    pub fn sequence(&self) -> Result<u64> {
        let mut sequence = 0;
        // SAFETY: the result lives for the call.
        call(|error| unsafe { ffi::mergedb_snapshot_sequence(self.handle, &mut sequence, error) })?;
        Ok(sequence)
    }
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        // SAFETY: the call checks the handle.
        unsafe { ffi::mergedb_snapshot_close(self.handle, null_mut()) };
    }
}
