use crate::error::{Error, Result};
use crate::event::Listener;
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
    // options: begin members (scripts/options.toml)
    /// What an open does if there is a database, or none. Default: CREATE_IF_MISSING.
    pub mode: Mode,
    /// The memory for write buffers and the block cache together. Default: 256 MiB.
    pub memory_bytes: u64,
    /// Unflushed writes may take twice this many bytes of memory_bytes, standby memtable included. Default: an eighth
    /// of memory_bytes.
    pub write_buffer_bytes: u64,
    /// How background compactions arrange the data. Default: LAZY.
    pub style: Option<Style>,
    /// The codec of new upper tables, which are rewritten soon. Default: LZ4.
    pub upper_compression: Option<Compression>,
    /// The codec of new bottommost tables, which stay. Default: LZ4.
    pub bottom_compression: Option<Compression>,
    /// Bits per key of the tables' bloom filters. `Some(0)`: no filters. Default: 10.
    pub bloom_bits_per_key: Option<u8>,
    /// The target size of a table's blocks before compression. Default: 4,096.
    pub block_bytes: u64,
    /// Values of at least this many bytes are written once, to a blob file, and tables refer to them. `Some(0)`: all
    /// values are stored in tables. Default: 768.
    pub blob_value_bytes_min: Option<u64>,
    /// The maximum of open tables; half as many blob files may be open, too. Default: 1,000.
    pub open_tables_max: u32,
    /// Tables and blob files up to this many bytes together are mapped into memory and read in place. `Some(0)`: no
    /// file is mapped. Default: half of the machine's memory.
    pub mapped_read_bytes_max: Option<u64>,
    /// The maximum delay of a put while the disk keeps up with the writes. At least a microsecond, of which it is cut
    /// to a multiple. Default: 10,000 microseconds.
    pub write_delay_max: Duration,
    /// Close waits for running compactions.
    pub finish_compactions_on_close: bool,
    /// The space that a busy database reuses stays allocated when it is at rest, for benchmarks of the steady state.
    pub keep_space_at_rest: bool,
    /// One write for each commit group, instead of a WAL buffer in a mapped file.
    pub no_mapped_wal_buffer: bool,
    /// An unsynced write is durable (it survives a power loss) at most this long after the call. At least a
    /// millisecond, of which it is cut to a multiple. `Some(Duration::ZERO)`: no limit in time. Default: 5,000
    /// milliseconds.
    pub wal_sync_interval: Option<Duration>,
    /// The files LOG and LOG.old of the directory hold the newest events as lines of JSON, at most this many bytes
    /// together. Default: no LOG is written.
    pub log_bytes_max: u64,
    /// A call that takes at least this long becomes an event with its breakdown. At least a microsecond, of which it is
    /// cut to a multiple. Default: calls are not measured.
    pub slow_call: Duration,
    // options: end
    /// Gets the events of the database: docs/EVENTS.md.
    pub listener: Option<Listener>,
}

const MICROSECOND: Duration = Duration::from_micros(1);
const MILLISECOND: Duration = Duration::from_millis(1);

/// The nearest number that C has. It means the same: no value, number of tables or time is larger.
fn saturated<T, F: TryFrom<T>>(n: T, max: F) -> F {
    F::try_from(n).unwrap_or(max)
}

/// In C, 0 is the default, and -1 says none.
fn or_none(value: Option<impl Into<u64>>) -> i64 {
    match value.map(Into::into) {
        None => 0,
        Some(0) => -1,
        Some(n) => saturated(n, i64::MAX),
    }
}

/// The duration as a multiple of the unit of C. An error if it is less than one unit, and so would become 0.
fn units(name: &str, value: Duration, unit: Duration) -> Result<u64> {
    if value < unit && !value.is_zero() {
        return Err(Error::invalid(&format!("options.{name} is {value:?}: the minimum is {unit:?}")));
    }
    Ok(saturated(value.as_nanos() / unit.as_nanos(), u64::MAX))
}

fn units_or_none(name: &str, value: Option<Duration>, unit: Duration) -> Result<i64> {
    value.map(|value| units(name, value, unit)).transpose().map(or_none)
}

impl Options {
    /// All fields but the listener.
    pub(crate) fn to_c(&self) -> Result<ffi::Options> {
        Ok(ffi::Options {
            // options: begin fields (scripts/options.toml)
            struct_size: size_of::<ffi::Options>(),
            mode: self.mode as i32,
            style: self.style.map_or(0, |choice| choice as i32),
            memory_bytes: self.memory_bytes,
            write_buffer_bytes: self.write_buffer_bytes,
            compression_upper: self.upper_compression.map_or(0, |choice| choice as i32),
            compression_bottom: self.bottom_compression.map_or(0, |choice| choice as i32),
            bloom_bits_per_key: or_none(self.bloom_bits_per_key) as i32,
            open_tables_max: saturated(self.open_tables_max, i32::MAX),
            block_bytes: self.block_bytes,
            write_delay_us_max: units("write_delay_max", self.write_delay_max, MICROSECOND)?,
            finish_compactions_on_close: i32::from(self.finish_compactions_on_close),
            use_mapped_wal_buffer: -i32::from(self.no_mapped_wal_buffer),
            comparator: null(),
            logger: null(),
            merge_operators: null(),
            merge_operator_count: 0,
            blob_value_bytes_min: or_none(self.blob_value_bytes_min),
            wal_sync_interval_ms: units_or_none("wal_sync_interval", self.wal_sync_interval, MILLISECOND)?,
            listener: null(),
            log_bytes_max: self.log_bytes_max,
            slow_call_us: units("slow_call", self.slow_call, MICROSECOND)?,
            mapped_read_bytes_max: or_none(self.mapped_read_bytes_max),
            keep_space_at_rest: i32::from(self.keep_space_at_rest),
            reserved: 0,
            // options: end
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
