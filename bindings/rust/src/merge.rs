//! Operands of [`Db::merge`](crate::Db::merge), which change a value without reading it.
//! `include/mergedb/merge.h` describes each of them.

use crate::error::{Error, Result};
use crate::ffi;
use std::ffi::CString;
use std::mem::size_of;

/// A change of a value.
#[derive(Clone, Debug, Default)]
pub struct Operand {
    kind: i32,
    u64: u64,
    i64: i64,
    f64: f64,
    bytes: Vec<u8>,
    delimiter: Vec<u8>,
    cap_bytes: u64,
    name: Option<String>,
}

fn unsigned(kind: i32, u64: u64) -> Operand {
    Operand { kind, u64, ..Operand::default() }
}

fn signed(kind: i32, i64: i64) -> Operand {
    Operand { kind, i64, ..Operand::default() }
}

fn float(kind: i32, f64: f64) -> Operand {
    Operand { kind, f64, ..Operand::default() }
}

fn bytes(kind: i32, bytes: &[u8]) -> Operand {
    Operand { kind, bytes: bytes.to_vec(), ..Operand::default() }
}

/// Adds to a counter, modulo 2^64. The value is 8 bytes, little-endian, as of all numbers: [`to_u64`].
pub fn add_u64(delta: u64) -> Operand {
    unsigned(1, delta)
}

/// Adds; a sum out of range reads as the nearest `i64`.
pub fn add_i64(delta: i64) -> Operand {
    signed(2, delta)
}

/// Adds; a sum out of range is an error of the key.
pub fn add_i64_failing(delta: i64) -> Operand {
    signed(3, delta)
}

/// Adds.
pub fn add_f64(delta: f64) -> Operand {
    float(4, delta)
}

/// Keeps the larger number.
pub fn max_u64(value: u64) -> Operand {
    unsigned(5, value)
}

/// Keeps the larger number.
pub fn max_i64(value: i64) -> Operand {
    signed(6, value)
}

/// Keeps the larger number.
pub fn max_f64(value: f64) -> Operand {
    float(7, value)
}

/// Keeps the larger bytes.
pub fn max_bytes(value: impl AsRef<[u8]>) -> Operand {
    bytes(8, value.as_ref())
}

/// Keeps the smaller number.
pub fn min_u64(value: u64) -> Operand {
    unsigned(9, value)
}

/// Keeps the smaller number.
pub fn min_i64(value: i64) -> Operand {
    signed(10, value)
}

/// Keeps the smaller number.
pub fn min_f64(value: f64) -> Operand {
    float(11, value)
}

/// Keeps the smaller bytes.
pub fn min_bytes(value: impl AsRef<[u8]>) -> Operand {
    bytes(12, value.as_ref())
}

/// Byte by byte.
pub fn and(mask: impl AsRef<[u8]>) -> Operand {
    bytes(13, mask.as_ref())
}

/// Byte by byte.
pub fn or(mask: impl AsRef<[u8]>) -> Operand {
    bytes(14, mask.as_ref())
}

/// Byte by byte.
pub fn xor(mask: impl AsRef<[u8]>) -> Operand {
    bytes(15, mask.as_ref())
}

/// Appends, after a delimiter if there is a value. If `cap_bytes` is not 0, the value is cut at its front to this
/// many bytes.
pub fn append(value: impl AsRef<[u8]>, delimiter: impl AsRef<[u8]>, cap_bytes: u64) -> Operand {
    Operand { delimiter: delimiter.as_ref().to_vec(), cap_bytes, ..bytes(16, value.as_ref()) }
}

/// Keeps the bytes with the smallest timestamp.
pub fn first(timestamp: u64, value: impl AsRef<[u8]>) -> Operand {
    Operand { u64: timestamp, ..bytes(17, value.as_ref()) }
}

/// Keeps the bytes with the largest timestamp.
pub fn last(timestamp: u64, value: impl AsRef<[u8]>) -> Operand {
    Operand { u64: timestamp, ..bytes(18, value.as_ref()) }
}

/// Applies a JSON merge patch (RFC 7396).
pub fn json_patch(patch: impl AsRef<[u8]>) -> Operand {
    bytes(19, patch.as_ref())
}

/// An operand of RocksDB's operators by their names: uint64add, stringappend, max, put, bytesxor.
pub fn named(name: &str, value: impl AsRef<[u8]>) -> Operand {
    Operand { name: Some(name.into()), ..bytes(30, value.as_ref()) }
}

/// The number in a value, if the value has 8 bytes.
pub fn to_u64(value: impl AsRef<[u8]>) -> Option<u64> {
    value.as_ref().try_into().ok().map(u64::from_le_bytes)
}

/// The number in a value, if the value has 8 bytes.
pub fn to_i64(value: impl AsRef<[u8]>) -> Option<i64> {
    value.as_ref().try_into().ok().map(i64::from_le_bytes)
}

/// The number in a value, if the value has 8 bytes.
pub fn to_f64(value: impl AsRef<[u8]>) -> Option<f64> {
    value.as_ref().try_into().ok().map(f64::from_le_bytes)
}

impl Operand {
    /// Runs `f` with the operand as C needs it.
    pub(crate) fn with_c<T>(&self, f: impl FnOnce(&ffi::Operand) -> Result<T>) -> Result<T> {
        let name = match &self.name {
            Some(name) => Some(CString::new(name.as_str()).map_err(|_| Error::invalid("the name has a NUL byte"))?),
            None => None,
        };
        f(&ffi::Operand {
            struct_size: size_of::<ffi::Operand>(),
            kind: self.kind,
            keep: 0,
            u64: self.u64,
            i64: self.i64,
            f64: self.f64,
            bytes: ffi::Slice::of(&self.bytes),
            delimiter: ffi::Slice::of(&self.delimiter),
            cap_bytes: self.cap_bytes,
            name: name.as_ref().map_or(std::ptr::null(), |name| name.as_ptr()),
        })
    }
}
