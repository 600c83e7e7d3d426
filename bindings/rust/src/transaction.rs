use crate::db::{copy, Db, Keyspace};
use crate::error::{call, found, Error, Result};
use crate::ffi;
use crate::merge::Operand;
use crate::options::TransactionOptions;
use crate::value::Value;
use std::ffi::CString;
use std::marker::PhantomData;
use std::mem::size_of;
use std::ptr::null_mut;

/// A transaction: it reads the database as of one moment, together with its own writes, and commits all of them
/// atomically, or none. A drop rolls back.
///
/// It stays in its thread, since the engine knows a single writer by its thread: a write of the database in that
/// thread, outside of the transaction, is [`Error::Busy`] and does not wait forever.
///
/// ```compile_fail
/// fn is_send<T: Send>() {}
/// is_send::<mergedb::Transaction<'static>>();
/// ```
#[derive(Debug)]
pub struct Transaction<'db> {
    handle: u64,
    db: u64,
    database: PhantomData<&'db Db>,
    one_thread: PhantomData<*const ()>,
}

/// A keyspace within a transaction.
#[derive(Clone, Copy, Debug)]
pub struct TransactionKeyspace<'t> {
    handle: u64,
    id: u32,
    is_foreign: bool, // of another database: each call is an error
    transaction: PhantomData<&'t Transaction<'t>>,
}

impl<'db> Transaction<'db> {
    pub(crate) fn begin(db: &'db Db, options: &TransactionOptions) -> Result<Transaction<'db>> {
        let name = CString::new(options.name.as_str()).map_err(|_| Error::invalid("the name has a NUL byte"))?;
        let c = ffi::TransactionOptions {
            struct_size: size_of::<ffi::TransactionOptions>(),
            kind: options.kind as i32,
            durability: options.durability as i32,
            bytes_max: options.bytes_max,
            // In C, 0 is no limit.
            wait_us_max: options.wait_max.map_or(0, |wait| u64::try_from(wait.as_micros()).unwrap_or(u64::MAX).max(1)),
            snapshot: 0,
            name: name.as_ptr(),
        };
        let mut handle = 0;
        // SAFETY: everything lives for the call, which copies it.
        call(|error| unsafe { ffi::mergedb_transaction_begin(db.handle, &c, &mut handle, error) })?;
        Ok(Transaction { handle, db: db.handle, database: PhantomData, one_thread: PhantomData })
    }

    /// The transaction for another keyspace. If the keyspace is of another database, each call returns
    /// [`Error::InvalidArgument`].
    pub fn keyspace(&self, keyspace: Keyspace<'_>) -> TransactionKeyspace<'_> {
        let is_foreign = keyspace.db.handle != self.db;
        TransactionKeyspace { handle: self.handle, id: keyspace.id, is_foreign, transaction: PhantomData }
    }

    fn root(&self) -> TransactionKeyspace<'_> {
        TransactionKeyspace { handle: self.handle, id: 0, is_foreign: false, transaction: PhantomData }
    }

    /// The value of `key`, if there is one.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>> {
        self.root().get(key)
    }

    /// Sets the value of `key`.
    pub fn put(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.root().put(key, value)
    }

    /// Deletes `key`, which may be absent.
    pub fn delete(&self, key: impl AsRef<[u8]>) -> Result<()> {
        self.root().delete(key)
    }

    /// Deletes every key in [begin, end).
    pub fn delete_range(&self, begin: impl AsRef<[u8]>, end: impl AsRef<[u8]>) -> Result<()> {
        self.root().delete_range(begin, end)
    }

    /// Applies an operand to the value of `key`.
    pub fn merge(&self, key: impl AsRef<[u8]>, operand: &Operand) -> Result<()> {
        self.root().merge(key, operand)
    }

    /// A cursor over the default keyspace.
    pub fn cursor(&self) -> Result<Cursor<'_>> {
        self.root().cursor()
    }

    /// Commits. [`Error::Conflict`]: nothing was written; its details name the key.
    pub fn commit(self) -> Result<()> {
        // SAFETY: the call checks the handle. The drop closes it.
        call(|error| unsafe { ffi::mergedb_transaction_commit(self.handle, error) }).map_err(|mut error| {
            if matches!(error, Error::Conflict(_)) {
                error.details_mut().key = self.conflict();
            }
            error
        })
    }

    /// Ends the transaction without its writes, as a drop does.
    pub fn rollback(self) {}

    fn conflict(&self) -> Option<Vec<u8>> {
        let (mut keyspace, mut key, mut size) = (0, null_mut(), 0);
        // SAFETY: everything lives for the call; the key is memory to free, or null.
        unsafe {
            ffi::mergedb_transaction_conflict(self.handle, &mut keyspace, &mut key, &mut size, null_mut());
            Value::take(key, size).map(|key| key.to_vec())
        }
    }

    /// Adds a savepoint on top of the stack.
    pub fn set_savepoint(&self) -> Result<()> {
        // SAFETY: the call checks the handle. So in the two calls below.
        call(|error| unsafe { ffi::mergedb_transaction_set_savepoint(self.handle, error) })
    }

    /// Undoes every write since the newest savepoint, and removes that savepoint.
    pub fn rollback_to_savepoint(&self) -> Result<()> {
        // SAFETY: see set_savepoint().
        call(|error| unsafe { ffi::mergedb_transaction_rollback_to_savepoint(self.handle, error) })
    }

    /// Removes the newest savepoint and keeps the writes.
    pub fn release_savepoint(&self) -> Result<()> {
        // SAFETY: see set_savepoint().
        call(|error| unsafe { ffi::mergedb_transaction_release_savepoint(self.handle, error) })
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        // SAFETY: the call checks the handle, and rolls back unless committed.
        unsafe { ffi::mergedb_transaction_close(self.handle, null_mut()) };
    }
}

impl<'t> TransactionKeyspace<'t> {
    fn enter(&self) -> Result<()> {
        if self.is_foreign {
            return Err(Error::foreign_keyspace());
        }
        Ok(())
    }

    /// The value of `key`, if there is one.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>> {
        self.enter()?;
        let (key, mut value, mut size) = (key.as_ref(), null_mut(), 0);
        // SAFETY: everything lives for the call.
        found(call(|error| unsafe {
            ffi::mergedb_transaction_get(
                self.handle,
                self.id,
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

    /// Sets the value of `key`.
    pub fn put(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.enter()?;
        let (key, value) = (key.as_ref(), value.as_ref());
        // SAFETY: the slices live for the call, which copies them. So in all writes below.
        call(|error| unsafe {
            ffi::mergedb_transaction_put(
                self.handle,
                self.id,
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
        self.enter()?;
        let key = key.as_ref();
        // SAFETY: see put().
        call(|error| unsafe {
            ffi::mergedb_transaction_delete(self.handle, self.id, key.as_ptr().cast(), key.len(), error)
        })
    }

    /// Deletes every key in [begin, end).
    pub fn delete_range(&self, begin: impl AsRef<[u8]>, end: impl AsRef<[u8]>) -> Result<()> {
        self.enter()?;
        let (begin, end) = (begin.as_ref(), end.as_ref());
        // SAFETY: see put().
        call(|error| unsafe {
            ffi::mergedb_transaction_delete_range(
                self.handle,
                self.id,
                begin.as_ptr().cast(),
                begin.len(),
                end.as_ptr().cast(),
                end.len(),
                error,
            )
        })
    }

    /// Applies an operand to the value of `key`.
    pub fn merge(&self, key: impl AsRef<[u8]>, operand: &Operand) -> Result<()> {
        self.enter()?;
        let key = key.as_ref();
        operand.with_c(|operand| {
            // SAFETY: see put(); the operand lives for the call.
            call(|error| unsafe {
                ffi::mergedb_transaction_merge(self.handle, self.id, key.as_ptr().cast(), key.len(), operand, error)
            })
        })
    }

    /// A cursor, which stands at no key.
    pub fn cursor(&self) -> Result<Cursor<'t>> {
        self.enter()?;
        let mut handle = 0;
        // SAFETY: the handle lives for the call.
        call(|error| unsafe { ffi::mergedb_cursor_open(self.handle, self.id, &mut handle, error) })?;
        Ok(Cursor { handle, transaction: PhantomData })
    }
}

/// Moves over the keys that a transaction sees, also over its own writes. The transaction may write under it.
#[derive(Debug)]
pub struct Cursor<'t> {
    handle: u64,
    transaction: PhantomData<&'t Transaction<'t>>,
}

/// Where a cursor moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To<'k> {
    /// The first key.
    First,
    /// The last key.
    Last,
    /// The next key; the first one, if the cursor stands nowhere.
    Next,
    /// The previous key; the last one, if the cursor stands nowhere.
    Prev,
    /// This key. If it is absent, the cursor stands before the first key after it.
    Key(&'k [u8]),
    /// The first key at or after this one.
    KeyOrNext(&'k [u8]),
    /// The last key at or before this one.
    KeyOrPrev(&'k [u8]),
    /// Its own key; after a delete, the key after the gap.
    Current,
}

impl Cursor<'_> {
    /// Moves, and returns whether it reached a key.
    pub fn go(&mut self, to: To<'_>) -> Result<bool> {
        let (code, key): (i32, &[u8]) = match to {
            To::First => (1, &[]),
            To::Last => (2, &[]),
            To::Next => (3, &[]),
            To::Prev => (4, &[]),
            To::Key(key) => (5, key),
            To::KeyOrNext(key) => (6, key),
            To::KeyOrPrev(key) => (7, key),
            To::Current => (8, &[]),
        };
        // SAFETY: the slice lives for the call.
        found(call(|error| unsafe {
            ffi::mergedb_cursor_move(self.handle, code, key.as_ptr().cast(), key.len(), error)
        }))
    }

    /// Copies of the key and the value at which the cursor stands. After a write, go to [`To::Current`] first.
    pub fn entry(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let (mut key, mut value) = (ffi::Slice::EMPTY, ffi::Slice::EMPTY);
        // SAFETY: the slices live for the call. Their bytes live until the next call of this transaction, which stays
        // in this thread.
        unsafe {
            let code = ffi::mergedb_cursor_entry(self.handle, &mut key, &mut value, null_mut());
            (code == ffi::OK).then(|| (copy(key), copy(value)))
        }
    }

    /// Sets the value of the key at which the cursor stands.
    pub fn put(&mut self, value: impl AsRef<[u8]>) -> Result<()> {
        let value = value.as_ref();
        // SAFETY: the slice lives for the call.
        call(|error| unsafe { ffi::mergedb_cursor_put(self.handle, value.as_ptr().cast(), value.len(), error) })
    }

    /// Deletes the key at which the cursor stands. [`To::Next`] then goes to the key after it.
    pub fn delete(&mut self) -> Result<()> {
        // SAFETY: the call checks the handle.
        call(|error| unsafe { ffi::mergedb_cursor_delete(self.handle, error) })
    }
}

impl Drop for Cursor<'_> {
    fn drop(&mut self) {
        // SAFETY: the call checks the handle.
        unsafe { ffi::mergedb_cursor_close(self.handle, null_mut()) };
    }
}
