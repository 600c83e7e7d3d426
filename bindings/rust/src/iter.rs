use crate::db::copy;
use crate::error::{call, found, Error, Result};
use crate::ffi;
use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::null_mut;

/// Moves over the keys of one state, in both directions. Each move returns whether it reached a key. A new iterator
/// stands at no key.
///
/// An error of one key alone (its merge operands cannot be applied, for example) is an error of the move;
/// [`Iter::failed_key`] names the key, and [`Iter::advance`] and [`Iter::retreat`] continue from it.
#[derive(Debug)]
pub struct Iter<'db> {
    handle: u64,
    database: PhantomData<&'db ()>,
    one_thread: PhantomData<Cell<()>>,
}

impl<'db> Iter<'db> {
    pub(crate) fn new(handle: u64) -> Iter<'db> {
        Iter { handle, database: PhantomData, one_thread: PhantomData }
    }

    /// Moves to the first key.
    pub fn seek_to_first(&mut self) -> Result<bool> {
        // SAFETY: the call checks the handle, and `&mut self` ends the life of all slices. So in all moves.
        found(call(|error| unsafe { ffi::mergedb_iterator_seek_to_first(self.handle, error) }))
    }

    /// Moves to the last key.
    pub fn seek_to_last(&mut self) -> Result<bool> {
        // SAFETY: see seek_to_first().
        found(call(|error| unsafe { ffi::mergedb_iterator_seek_to_last(self.handle, error) }))
    }

    /// Moves to the first key at or after `key`.
    pub fn seek(&mut self, key: impl AsRef<[u8]>) -> Result<bool> {
        let key = key.as_ref();
        // SAFETY: see seek_to_first(); the slice lives for the call.
        found(call(|error| unsafe { ffi::mergedb_iterator_seek(self.handle, key.as_ptr().cast(), key.len(), error) }))
    }

    /// Moves to the last key at or before `key`.
    pub fn seek_for_prev(&mut self, key: impl AsRef<[u8]>) -> Result<bool> {
        let key = key.as_ref();
        // SAFETY: see seek().
        found(call(|error| unsafe {
            ffi::mergedb_iterator_seek_for_prev(self.handle, key.as_ptr().cast(), key.len(), error)
        }))
    }

    /// Moves to the next key.
    pub fn advance(&mut self) -> Result<bool> {
        // SAFETY: see seek_to_first().
        found(call(|error| unsafe { ffi::mergedb_iterator_next(self.handle, error) }))
    }

    /// Moves to the previous key.
    pub fn retreat(&mut self) -> Result<bool> {
        // SAFETY: see seek_to_first().
        found(call(|error| unsafe { ffi::mergedb_iterator_prev(self.handle, error) }))
    }

    /// The key and the value at which the iterator stands, without a copy. They live until the iterator moves.
    pub fn entry(&self) -> Option<(&[u8], &[u8])> {
        let (mut key, mut value) = (ffi::Slice::EMPTY, ffi::Slice::EMPTY);
        // SAFETY: the slices live for the call.
        let code = unsafe { ffi::mergedb_iterator_entry(self.handle, &mut key, &mut value, null_mut()) };
        // SAFETY: the bytes live until a move or the close, which need `&mut self`.
        (code == ffi::OK).then(|| unsafe { (borrow(key), borrow(value)) })
    }

    /// The key whose value cannot be read, if that is why the last move failed.
    pub fn failed_key(&self) -> Option<Vec<u8>> {
        let mut key = ffi::Slice::EMPTY;
        // SAFETY: the slice lives for the call, and its bytes until the iterator moves.
        unsafe {
            let code = ffi::mergedb_iterator_failed_key(self.handle, &mut key, null_mut());
            (code == ffi::OK).then(|| copy(key))
        }
    }

    /// All entries, forwards. An error ends them.
    pub fn forward(&mut self) -> Entries<'_, 'db> {
        let start = self.seek_to_first();
        self.entries(start, 0)
    }

    /// The entries from the first key at or after `key`. An error ends them.
    pub fn forward_from(&mut self, key: impl AsRef<[u8]>) -> Entries<'_, 'db> {
        let start = self.seek(key);
        self.entries(start, 0)
    }

    /// All entries, backwards. An error ends them.
    pub fn backward(&mut self) -> Entries<'_, 'db> {
        let start = self.seek_to_last();
        self.entries(start, ffi::YES)
    }

    fn entries(&mut self, start: Result<bool>, backwards: i32) -> Entries<'_, 'db> {
        let (stands, error) = match start {
            Ok(stands) => (stands, None),
            Err(error) => (false, Some(error)),
        };
        Entries { iter: self, backwards, stands, error, chunk: Vec::new(), begin: 0, end: 0 }
    }
}

/// # Safety
///
/// The bytes live for `'a`.
unsafe fn borrow<'a>(slice: ffi::Slice) -> &'a [u8] {
    if slice.size == 0 {
        return &[];
    }
    // SAFETY: the caller promises it.
    unsafe { std::slice::from_raw_parts(slice.data.cast(), slice.size) }
}

impl Drop for Iter<'_> {
    fn drop(&mut self) {
        // SAFETY: the call checks the handle.
        unsafe { ffi::mergedb_iterator_close(self.handle, null_mut()) };
    }
}

/// The entries of a `for` loop. It reads many of them by each call of the library.
#[derive(Debug)]
pub struct Entries<'i, 'db> {
    iter: &'i mut Iter<'db>,
    backwards: i32,
    stands: bool, // at an entry that no chunk has yet
    error: Option<Error>,
    chunk: Vec<u8>,
    begin: usize,
    end: usize,
}

const CHUNK_BYTES_MIN: usize = 512;
const CHUNK_BYTES: usize = 64 << 10;

impl Entries<'_, '_> {
    fn fill(&mut self) -> Result<bool> {
        let mut capacity = if self.chunk.is_empty() { CHUNK_BYTES_MIN } else { CHUNK_BYTES };
        loop {
            if self.chunk.len() < capacity {
                self.chunk.resize(capacity, 0);
            }
            let (mut used, mut count) = (0, 0);
            // SAFETY: the buffer has the given size and lives for the call.
            let there = found(call(|error| unsafe {
                ffi::mergedb_iterator_read(
                    self.iter.handle,
                    self.backwards,
                    self.chunk.as_mut_ptr().cast(),
                    self.chunk.len(),
                    &mut used,
                    &mut count,
                    error,
                )
            }))?;
            if !there {
                return Ok(false);
            }
            if count > 0 {
                (self.begin, self.end) = (0, used);
                return Ok(true);
            }
            capacity = used; // the entry does not fit
        }
    }

    fn take(&mut self) -> (Vec<u8>, Vec<u8>) {
        let number = |at: usize| u32::from_ne_bytes(self.chunk[at..at + 4].try_into().expect("4 bytes")) as usize;
        let key = self.begin + 8;
        let value = key + number(self.begin);
        let next = value + number(self.begin + 4);
        self.begin = next;
        (self.chunk[key..value].to_vec(), self.chunk[value..next].to_vec())
    }
}

impl Iterator for Entries<'_, '_> {
    type Item = Result<(Vec<u8>, Vec<u8>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.error.take() {
            return Some(Err(error));
        }
        if self.begin == self.end {
            if !self.stands {
                return None;
            }
            match self.fill() {
                Ok(true) => {}
                Ok(false) => {
                    self.stands = false;
                    return None;
                }
                Err(error) => {
                    self.stands = false;
                    return Some(Err(error));
                }
            }
        }
        Some(Ok(self.take()))
    }
}

impl std::iter::FusedIterator for Entries<'_, '_> {}
