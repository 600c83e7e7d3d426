use crate::error::{Error, Result};
use crate::ffi;
use std::mem::size_of;
use std::ptr::null;
use std::time::Duration;

/// When a write is durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Survives kill -9 once the call returns. A power loss may lose the newest writes.
    #[default]
    ProcessCrash = 0,
    /// Also survives a power loss once the call returns, as does every logged write before it.
    Synced = 1,
    /// Not written to the WAL: durable after the next flush or close.
    NoWal = 2,
}

/// What open does if there is a database, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Opens the database, or creates it.
    #[default]
    CreateIfMissing = 0,
    /// `NotFound` if there is none.
    MustExist = 1,
    /// `InvalidArgument` if there is one.
    MustNotExist = 2,
    /// Takes no lock and changes no byte.
    ReadOnly = 3,
}

/// A compaction style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// The lowest write amplification for a given space bound.
    Lazy = 1,
    /// The capacities of the levels double.
    Cascade = 2,
}

/// A codec of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// No compression.
    None = 1,
    /// Snappy.
    Snappy = 2,
    /// Zstandard.
    Zstd = 3,
    /// LZ4.
    Lz4 = 4,
}

/// The options of [`Db::open_with`](crate::Db::open_with). `None` and 0 are the defaults;
/// `include/mergedb/options.h` describes each of them and its limits. A value beyond them is
/// [`Error::InvalidArgument`](crate::Error::InvalidArgument).
///
/// ```
/// let options = mergedb::Options {
///     memory_bytes: 64 << 20,
///     ..mergedb::Options::default()
/// };
/// ```
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Whether the database must exist.
    pub mode: Mode,
    /// The compaction style.
    pub style: Option<Style>,
    /// Memory for write buffers and the block cache.
    pub memory_bytes: u64,
    /// Unflushed writes may take twice this many bytes.
    pub write_buffer_bytes: u64,
    /// The codec of upper tables.
    pub upper_compression: Option<Compression>,
    /// The codec of bottommost tables.
    pub bottom_compression: Option<Compression>,
    /// Bits per key of the bloom filters; `Some(0)`: no filters.
    pub bloom_bits_per_key: Option<u8>,
    /// The maximum of open tables.
    pub open_tables_max: u32,
    /// Target size of a block.
    pub block_bytes: u64,
    /// Values of this size and larger go to blob files; `Some(0)`: none.
    pub blob_value_bytes_min: Option<u64>,
    /// The maximum delay of a put while the disk keeps up: at least a microsecond, of which it is cut to a multiple.
    pub write_delay_max: Duration,
    /// An unsynced write is durable at most this long after the call: at least a millisecond, of which it is cut to a
    /// multiple. `Some(ZERO)`: no limit in time.
    pub wal_sync_interval: Option<Duration>,
    /// Tables and blob files up to this many bytes are mapped and read in place; an I/O error of the disk then kills the
    /// process.
    pub mapped_read_bytes_max: u64,
    /// Close waits for running compactions.
    pub finish_compactions_on_close: bool,
    /// One write for each commit group instead of a mapped WAL buffer.
    pub no_mapped_wal_buffer: bool,
}

/// The nearest number that C has. It means the same: no value, number of tables or time is larger.
fn saturated<T, F: TryFrom<T>>(n: T, max: F) -> F {
    F::try_from(n).unwrap_or(max)
}

/// The duration as a multiple of the unit of C. An error if it is less than one unit, and so would become 0.
fn units(name: &str, value: Duration, unit: Duration) -> Result<u64> {
    if value < unit && !value.is_zero() {
        return Err(Error::invalid(&format!("options.{name} is {value:?}: the minimum is {unit:?}")));
    }
    Ok(saturated(value.as_nanos() / unit.as_nanos(), u64::MAX))
}

impl Options {
    pub(crate) fn to_c(&self) -> Result<ffi::Options> {
        // In C, 0 is the default of every field, and -1 says none.
        let or_none = |value: u64| if value == 0 { -1 } else { saturated(value, i64::MAX) };
        let wal_sync_interval_ms = match self.wal_sync_interval {
            Some(interval) => or_none(units("wal_sync_interval", interval, Duration::from_millis(1))?),
            None => 0,
        };
        Ok(ffi::Options {
            struct_size: size_of::<ffi::Options>(),
            mode: self.mode as i32,
            style: self.style.map_or(0, |style| style as i32),
            memory_bytes: self.memory_bytes,
            write_buffer_bytes: self.write_buffer_bytes,
            compression_upper: self.upper_compression.map_or(0, |codec| codec as i32),
            compression_bottom: self.bottom_compression.map_or(0, |codec| codec as i32),
            bloom_bits_per_key: self.bloom_bits_per_key.map_or(0, |bits| if bits == 0 { -1 } else { i32::from(bits) }),
            open_tables_max: saturated(self.open_tables_max, i32::MAX),
            block_bytes: self.block_bytes,
            write_delay_us_max: units("write_delay_max", self.write_delay_max, Duration::from_micros(1))?,
            finish_compactions_on_close: i32::from(self.finish_compactions_on_close),
            use_mapped_wal_buffer: if self.no_mapped_wal_buffer { ffi::NO } else { 0 },
            comparator: null(),
            logger: null(),
            merge_operators: null(),
            merge_operator_count: 0,
            blob_value_bytes_min: self.blob_value_bytes_min.map_or(0, or_none),
            wal_sync_interval_ms,
            listener: null(),
            log_bytes_max: 0,
            slow_call_us: 0,
            mapped_read_bytes_max: self.mapped_read_bytes_max,
            keep_space_at_rest: 0,
            reserved: 0,
        })
    }
}

/// The limits of an iterator.
#[derive(Clone, Debug, Default)]
pub struct IterOptions {
    /// Only keys that begin with these bytes.
    pub prefix: Vec<u8>,
    /// Inclusive lower bound.
    pub lower: Option<Vec<u8>>,
    /// Exclusive upper bound.
    pub upper: Option<Vec<u8>>,
    /// Values are empty and are not read.
    pub keys_only: bool,
    /// Do not add blocks to the block cache, for large scans.
    pub skip_cache: bool,
}

impl IterOptions {
    /// The keys that begin with these bytes.
    pub fn prefix(bytes: impl AsRef<[u8]>) -> IterOptions {
        IterOptions { prefix: bytes.as_ref().to_vec(), ..IterOptions::default() }
    }

    /// The keys from `lower` (inclusive) to `upper` (exclusive).
    pub fn range(lower: impl AsRef<[u8]>, upper: impl AsRef<[u8]>) -> IterOptions {
        IterOptions {
            lower: Some(lower.as_ref().to_vec()),
            upper: Some(upper.as_ref().to_vec()),
            ..IterOptions::default()
        }
    }
}

/// A kind of transaction. All kinds are serializable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TransactionKind {
    /// One at a time; all other writes wait until it ends. It never conflicts.
    #[default]
    SingleWriter = 0,
    /// Any number at a time, without waiting. The commit checks what the transaction read.
    Optimistic = 1,
    /// Reads one state; never waits and never conflicts.
    ReadOnly = 2,
}

/// The options of a transaction.
#[derive(Clone, Debug, Default)]
pub struct TransactionOptions {
    /// The kind.
    pub kind: TransactionKind,
    /// The durability of the commit.
    pub durability: Durability,
    /// Memory for its writes and its read set; 0: 256 MiB.
    pub bytes_max: u64,
    /// A single writer waits this long for the previous one, then its begin is `Busy`. `None`: no limit.
    pub wait_max: Option<Duration>,
    /// For property `mergedb.transactions`.
    pub name: String,
}

impl TransactionOptions {
    /// An optimistic transaction.
    pub fn optimistic() -> TransactionOptions {
        TransactionOptions { kind: TransactionKind::Optimistic, ..TransactionOptions::default() }
    }

    /// A read-only transaction.
    pub fn read_only() -> TransactionOptions {
        TransactionOptions { kind: TransactionKind::ReadOnly, ..TransactionOptions::default() }
    }
}
