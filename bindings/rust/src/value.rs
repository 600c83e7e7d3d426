use crate::ffi;
use std::ffi::c_void;
use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;

/// Bytes that a read returned: a slice that owns its memory.
pub struct Value {
    data: NonNull<u8>,
    size: usize,
}

// SAFETY: a Value owns its memory alone, and mergedb_free works in any thread.
unsafe impl Send for Value {}
// SAFETY: a shared Value can only be read.
unsafe impl Sync for Value {}

impl Value {
    /// Takes memory of the C interface; None if there is none.
    ///
    /// # Safety
    ///
    /// `data` is null, or `size` bytes that a call allocated for mergedb_free and that nobody else frees.
    pub(crate) unsafe fn take(data: *mut c_void, size: usize) -> Option<Value> {
        NonNull::new(data.cast()).map(|data| Value { data, size })
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        // SAFETY: see take().
        unsafe { ffi::mergedb_free(self.data.as_ptr().cast()) }
    }
}

impl Deref for Value {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: see take().
        unsafe { std::slice::from_raw_parts(self.data.as_ptr(), self.size) }
    }
}

impl AsRef<[u8]> for Value {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: AsRef<[u8]> + ?Sized> PartialEq<T> for Value {
    fn eq(&self, other: &T) -> bool {
        **self == *other.as_ref()
    }
}

impl From<Value> for Vec<u8> {
    fn from(value: Value) -> Vec<u8> {
        value.to_vec()
    }
}
