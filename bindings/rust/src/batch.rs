use crate::db::Keyspace;
use crate::error::{call, Error, Result};
use crate::ffi;
use crate::merge::Operand;

/// A list of changes that [`Db::write`](crate::Db::write) applies atomically. It belongs to no database until
/// [`WriteBatch::keyspace`] names a keyspace of one.
///
/// The methods change the default keyspace; [`WriteBatch::keyspace`] chooses another one.
#[derive(Debug)]
pub struct WriteBatch {
    pub(crate) handle: u64,
    current: u32,
    pub(crate) db: u64, // of the keyspaces that keyspace() named; 0: none
}

/// A keyspace within a batch.
#[derive(Debug)]
pub struct BatchKeyspace<'b> {
    batch: &'b mut WriteBatch,
    id: u32,
    db: u64, // 0: of whatever database the batch is written to
}

impl WriteBatch {
    /// An empty batch.
    pub fn new() -> Result<WriteBatch> {
        let mut handle = 0;
        // SAFETY: `handle` lives for the call.
        call(|error| unsafe { ffi::mergedb_batch_create(&mut handle, error) })?;
        Ok(WriteBatch { handle, current: 0, db: 0 })
    }

    /// The batch for another keyspace. All keyspaces of a batch must be of one database: a change of another one is
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument), as is a write to another database.
    pub fn keyspace(&mut self, keyspace: Keyspace<'_>) -> BatchKeyspace<'_> {
        BatchKeyspace { batch: self, id: keyspace.id, db: keyspace.db.handle }
    }

    fn default_keyspace(&mut self) -> BatchKeyspace<'_> {
        BatchKeyspace { batch: self, id: 0, db: 0 }
    }

    /// Sets the value of `key`.
    pub fn put(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.default_keyspace().put(key, value)
    }

    /// Deletes `key`, which may be absent.
    pub fn delete(&mut self, key: impl AsRef<[u8]>) -> Result<()> {
        self.default_keyspace().delete(key)
    }

    /// Deletes every key in [begin, end), also those that earlier changes put.
    pub fn delete_range(&mut self, begin: impl AsRef<[u8]>, end: impl AsRef<[u8]>) -> Result<()> {
        self.default_keyspace().delete_range(begin, end)
    }

    /// Applies an operand to the value of `key`.
    pub fn merge(&mut self, key: impl AsRef<[u8]>, operand: &Operand) -> Result<()> {
        self.default_keyspace().merge(key, operand)
    }

    /// Removes all changes.
    pub fn clear(&mut self) -> Result<()> {
        (self.current, self.db) = (0, 0);
        // SAFETY: the call checks the handle.
        call(|error| unsafe { ffi::mergedb_batch_clear(self.handle, error) })
    }

    /// The number of changes.
    pub fn len(&self) -> usize {
        let mut count = 0;
        // SAFETY: `count` lives for the call.
        unsafe { ffi::mergedb_batch_size(self.handle, &mut count, std::ptr::null_mut(), std::ptr::null_mut()) };
        count as usize
    }

    /// Whether there is no change.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Drop for WriteBatch {
    fn drop(&mut self) {
        // SAFETY: the call checks the handle.
        unsafe { ffi::mergedb_batch_close(self.handle, std::ptr::null_mut()) };
    }
}

impl BatchKeyspace<'_> {
    fn enter(&mut self) -> Result<()> {
        if self.db != 0 {
            if self.batch.db != 0 && self.batch.db != self.db {
                return Err(Error::foreign_keyspace());
            }
            self.batch.db = self.db;
        }
        if self.batch.current != self.id {
            // SAFETY: the call checks the handle.
            call(|error| unsafe { ffi::mergedb_batch_set_keyspace(self.batch.handle, self.id, error) })?;
            self.batch.current = self.id;
        }
        Ok(())
    }

    /// Sets the value of `key`.
    pub fn put(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.enter()?;
        let (key, value) = (key.as_ref(), value.as_ref());
        // SAFETY: the slices live for the call, which copies them. So in all calls below.
        call(|error| unsafe {
            ffi::mergedb_batch_put(
                self.batch.handle,
                key.as_ptr().cast(),
                key.len(),
                value.as_ptr().cast(),
                value.len(),
                error,
            )
        })
    }

    /// Deletes `key`, which may be absent.
    pub fn delete(&mut self, key: impl AsRef<[u8]>) -> Result<()> {
        self.enter()?;
        let key = key.as_ref();
        // SAFETY: see put().
        call(|error| unsafe { ffi::mergedb_batch_delete(self.batch.handle, key.as_ptr().cast(), key.len(), error) })
    }

    /// Deletes every key in [begin, end), also those that earlier changes put.
    pub fn delete_range(&mut self, begin: impl AsRef<[u8]>, end: impl AsRef<[u8]>) -> Result<()> {
        self.enter()?;
        let (begin, end) = (begin.as_ref(), end.as_ref());
        // SAFETY: see put().
        call(|error| unsafe {
            ffi::mergedb_batch_delete_range(
                self.batch.handle,
                begin.as_ptr().cast(),
                begin.len(),
                end.as_ptr().cast(),
                end.len(),
                error,
            )
        })
    }

    /// Applies an operand to the value of `key`.
    pub fn merge(&mut self, key: impl AsRef<[u8]>, operand: &Operand) -> Result<()> {
        self.enter()?;
        let key = key.as_ref();
        operand.with_c(|operand| {
            // SAFETY: see put(); the operand lives for the call.
            call(|error| unsafe {
                ffi::mergedb_batch_merge(self.batch.handle, key.as_ptr().cast(), key.len(), operand, error)
            })
        })
    }
}
