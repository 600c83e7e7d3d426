use crate::ffi;
use std::ffi::CStr;
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr::addr_of;

/// What a failed call says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Details {
    /// What failed, where, and what was expected.
    pub message: String,
    /// The failed write may be present after the next open, completely or not at all.
    pub outcome_unknown: bool,
    /// After [`Error::Conflict`]: the key that the transaction read and another write changed, if it is known.
    pub key: Option<Vec<u8>>,
}

/// Why a call failed. An absent key is no error: reads return `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The file, the keyspace or the database does not exist.
    NotFound(Details),
    /// The stored bytes are not the bytes that were written.
    Corruption(Details),
    /// The caller asked for something that can never work.
    InvalidArgument(Details),
    /// Valid, but not supported by this build, file or compaction style.
    NotSupported(Details),
    /// The operating system returned an error.
    Io(Details),
    /// The disk or the quota is full, or a transaction exceeds its memory.
    NoSpace(Details),
    /// In use by another process, thread or transaction. Try again.
    Busy(Details),
    /// Another write conflicts with the transaction, which wrote nothing. Begin it again.
    Conflict(Details),
    /// The caller ended the operation, or the transaction has ended.
    Aborted(Details),
    /// The database of this object is closed.
    ShuttingDown(Details),
    /// The operands of this key cannot be applied. Other keys work; a put or delete repairs the key.
    MergeFailed(Details),
    /// The object belongs to the parent of a fork.
    Closed(Details),
    /// An allocation failed. If the call was a write, its outcome is unknown.
    OutOfMemory(Details),
    /// A code that this version of the crate does not know.
    Unknown(Details),
}

/// The result of a call.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn new(code: ffi::Code, details: Details) -> Error {
        match code {
            ffi::NOT_FOUND => Error::NotFound(details),
            ffi::CORRUPTION => Error::Corruption(details),
            ffi::INVALID_ARGUMENT => Error::InvalidArgument(details),
            ffi::NOT_SUPPORTED => Error::NotSupported(details),
            ffi::IO_ERROR => Error::Io(details),
            ffi::NO_SPACE => Error::NoSpace(details),
            ffi::BUSY => Error::Busy(details),
            ffi::CONFLICT => Error::Conflict(details),
            ffi::ABORTED => Error::Aborted(details),
            ffi::SHUTTING_DOWN => Error::ShuttingDown(details),
            ffi::MERGE_FAILED => Error::MergeFailed(details),
            ffi::BAD_HANDLE => Error::Closed(details),
            ffi::OUT_OF_MEMORY => Error::OutOfMemory(details),
            _ => Error::Unknown(details),
        }
    }

    pub(crate) fn invalid(message: &str) -> Error {
        Error::InvalidArgument(Details { message: message.into(), ..Details::default() })
    }

    pub(crate) fn foreign_keyspace() -> Error {
        Error::invalid("the keyspace is of another database")
    }

    /// The message, and whether the outcome of a failed write is unknown.
    pub fn details(&self) -> &Details {
        self.parts().1
    }

    pub(crate) fn details_mut(&mut self) -> &mut Details {
        match self {
            Error::NotFound(d)
            | Error::Corruption(d)
            | Error::InvalidArgument(d)
            | Error::NotSupported(d)
            | Error::Io(d)
            | Error::NoSpace(d)
            | Error::Busy(d)
            | Error::Conflict(d)
            | Error::Aborted(d)
            | Error::ShuttingDown(d)
            | Error::MergeFailed(d)
            | Error::Closed(d)
            | Error::OutOfMemory(d)
            | Error::Unknown(d) => d,
        }
    }

    fn parts(&self) -> (&'static str, &Details) {
        match self {
            Error::NotFound(d) => ("not found", d),
            Error::Corruption(d) => ("corruption", d),
            Error::InvalidArgument(d) => ("invalid argument", d),
            Error::NotSupported(d) => ("not supported", d),
            Error::Io(d) => ("I/O error", d),
            Error::NoSpace(d) => ("no space", d),
            Error::Busy(d) => ("busy", d),
            Error::Conflict(d) => ("conflict", d),
            Error::Aborted(d) => ("aborted", d),
            Error::ShuttingDown(d) => ("shutting down", d),
            Error::MergeFailed(d) => ("merge failed", d),
            Error::Closed(d) => ("closed", d),
            Error::OutOfMemory(d) => ("out of memory", d),
            Error::Unknown(d) => ("unknown error", d),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, details) = self.parts();
        if details.message.is_empty() {
            return f.write_str(name);
        }
        write!(f, "{name}: {}", details.message)
    }
}

impl std::error::Error for Error {}

/// Runs a call of the C interface, which fills the error if it fails.
pub(crate) fn call(f: impl FnOnce(*mut ffi::Error) -> ffi::Code) -> Result<()> {
    let mut error = MaybeUninit::<ffi::Error>::uninit();
    let code = f(error.as_mut_ptr());
    if code == ffi::OK {
        return Ok(());
    }
    let error = error.as_ptr();
    // SAFETY: a call that fails fills the fields of the error, and its message up to a NUL.
    let (message, outcome_unknown) = unsafe {
        let message = CStr::from_ptr(addr_of!((*error).message).cast());
        (message.to_string_lossy().into_owned(), (*error).outcome_unknown != 0)
    };
    Err(Error::new(code, Details { message, outcome_unknown, key: None }))
}

/// Whether a move reached a key, or a read found one.
pub(crate) fn found(result: Result<()>) -> Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(Error::NotFound(_)) => Ok(false),
        Err(error) => Err(error),
    }
}
