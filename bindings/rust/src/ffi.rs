//! The declarations of include/mergedb/c.h that this crate uses.

use std::ffi::{c_char, c_int, c_void};

pub type Code = c_int;

pub const OK: Code = 0;
pub const NOT_FOUND: Code = 1;
pub const CORRUPTION: Code = 2;
pub const INVALID_ARGUMENT: Code = 3;
pub const NOT_SUPPORTED: Code = 4;
pub const IO_ERROR: Code = 5;
pub const NO_SPACE: Code = 6;
pub const BUSY: Code = 7;
pub const CONFLICT: Code = 8;
pub const ABORTED: Code = 9;
pub const SHUTTING_DOWN: Code = 10;
pub const MERGE_FAILED: Code = 11;
pub const BAD_HANDLE: Code = 100;
pub const OUT_OF_MEMORY: Code = 101;

pub const YES: i32 = 1;
pub const NO: i32 = -1;

#[repr(C)]
pub struct Error {
    pub code: i32,
    pub outcome_unknown: i32,
    pub message: [c_char; 504],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Slice {
    pub data: *const c_void,
    pub size: usize,
}

impl Slice {
    pub const EMPTY: Slice = Slice { data: std::ptr::null(), size: 0 };

    pub fn of(bytes: &[u8]) -> Slice {
        Slice { data: bytes.as_ptr().cast(), size: bytes.len() }
    }
}

#[repr(C)]
pub struct Options {
    // options: begin fields (scripts/options.toml)
    pub struct_size: usize,
    pub mode: i32,
    pub style: i32,
    pub memory_bytes: u64,
    pub write_buffer_bytes: u64,
    pub compression_upper: i32,
    pub compression_bottom: i32,
    pub bloom_bits_per_key: i32,
    pub open_tables_max: i32,
    pub block_bytes: u64,
    pub write_delay_us_max: u64,
    pub finish_compactions_on_close: i32,
    pub use_mapped_wal_buffer: i32,
    pub comparator: *const c_void,
    pub logger: *const c_void,
    pub merge_operators: *const c_void,
    pub merge_operator_count: usize,
    pub blob_value_bytes_min: i64,
    pub wal_sync_interval_ms: i64,
    pub listener: *const c_void,
    pub log_bytes_max: u64,
    pub slow_call_us: u64,
    pub mapped_read_bytes_max: i64,
    pub keep_space_at_rest: i32,
    pub reserved: i32,
    // options: end
}

#[repr(C)]
pub struct WriteOptions {
    pub struct_size: usize,
    pub durability: i32,
    pub keyspace: u32,
}

#[repr(C)]
pub struct ReadOptions {
    pub struct_size: usize,
    pub snapshot: u64,
    pub verify_checksums: i32,
    pub fill_cache: i32,
    pub keyspace: u32,
    pub reserved: i32,
}

#[repr(C)]
pub struct IteratorOptions {
    pub struct_size: usize,
    pub prefix: Slice,
    pub lower: *const Slice,
    pub upper: *const Slice,
    pub read: *const ReadOptions,
    pub keys_only: i32,
    pub keyspace: u32,
}

#[repr(C)]
pub struct Operand {
    pub struct_size: usize,
    pub kind: i32,
    pub keep: i32,
    pub u64: u64,
    pub i64: i64,
    pub f64: f64,
    pub bytes: Slice,
    pub delimiter: Slice,
    pub cap_bytes: u64,
    pub name: *const c_char,
}

#[repr(C)]
pub struct TransactionOptions {
    pub struct_size: usize,
    pub kind: i32,
    pub durability: i32,
    pub bytes_max: u64,
    pub wait_us_max: u64,
    pub snapshot: u64,
    pub name: *const c_char,
}

#[repr(C)]
pub struct KeyspaceEntry {
    pub name: Slice,
    pub keyspace: u32,
}

#[repr(C)]
pub struct Metric {
    pub struct_size: usize,
    pub name: *const c_char,
    pub unit: *const c_char,
    pub help: *const c_char,
    pub kind: i32,
    pub value: u64,
}

#[repr(C)]
pub struct CheckpointOptions {
    pub struct_size: usize,
    pub may_link: i32,
    pub verify: i32,
    pub progress: Option<unsafe extern "C" fn(*mut c_void, u64, u64) -> i32>,
    pub state: *mut c_void,
}

#[repr(C)]
pub struct CheckpointReport {
    pub struct_size: usize,
    pub files: u64,
    pub linked: u64,
    pub copied: u64,
    pub kept: u64,
    pub bytes: u64,
    pub sequence: u64,
}

#[repr(C)]
pub struct EventField {
    pub name: *const c_char,
    pub number: u64,
    pub text: *const c_char,
    pub text_size: usize,
}

#[repr(C)]
pub struct Event {
    pub struct_size: usize,
    pub kind: i32,
    pub name: *const c_char,
    pub time_us: u64,
    pub fields: *const EventField,
    pub field_count: usize,
    pub json: *const c_char,
}

#[repr(C)]
pub struct EventListener {
    pub struct_size: usize,
    pub on_event: unsafe extern "C" fn(*mut c_void, *const Event),
    pub destroy: unsafe extern "C" fn(*mut c_void),
    pub state: *mut c_void,
}

#[repr(C)]
pub struct TraceOptions {
    pub struct_size: usize,
    pub sampling: u32,
    pub record_values: i32,
    pub bytes_max: u64,
}

#[repr(C)]
pub struct TraceReport {
    pub struct_size: usize,
    pub operations: u64,
    pub lost: u64,
    pub bytes: u64,
    pub is_full: i32,
}

type Bytes = *const c_void;

#[rustfmt::skip]
extern "C" {
    pub fn mergedb_version() -> *const c_char;
    pub fn mergedb_free(bytes: *mut c_void);
    pub fn mergedb_open(path: *const c_char, options: *const Options, db: *mut u64, error: *mut Error) -> Code;
    pub fn mergedb_close(db: u64, error: *mut Error) -> Code;
    pub fn mergedb_destroy(path: *const c_char, error: *mut Error) -> Code;
    pub fn mergedb_put(db: u64, options: *const WriteOptions, key: Bytes, key_size: usize, value: Bytes, value_size: usize, error: *mut Error) -> Code;
    pub fn mergedb_delete(db: u64, options: *const WriteOptions, key: Bytes, key_size: usize, error: *mut Error) -> Code;
    pub fn mergedb_delete_range(db: u64, options: *const WriteOptions, begin: Bytes, begin_size: usize, end: Bytes, end_size: usize, error: *mut Error) -> Code;
    pub fn mergedb_delete_prefix(db: u64, options: *const WriteOptions, prefix: Bytes, size: usize, error: *mut Error) -> Code;
    pub fn mergedb_merge(db: u64, options: *const WriteOptions, key: Bytes, key_size: usize, operand: *const Operand, error: *mut Error) -> Code;
    pub fn mergedb_write(db: u64, options: *const WriteOptions, batch: u64, error: *mut Error) -> Code;
    pub fn mergedb_batch_create(batch: *mut u64, error: *mut Error) -> Code;
    pub fn mergedb_batch_put(batch: u64, key: Bytes, key_size: usize, value: Bytes, value_size: usize, error: *mut Error) -> Code;
    pub fn mergedb_batch_delete(batch: u64, key: Bytes, key_size: usize, error: *mut Error) -> Code;
    pub fn mergedb_batch_delete_range(batch: u64, begin: Bytes, begin_size: usize, end: Bytes, end_size: usize, error: *mut Error) -> Code;
    pub fn mergedb_batch_merge(batch: u64, key: Bytes, key_size: usize, operand: *const Operand, error: *mut Error) -> Code;
    pub fn mergedb_batch_set_keyspace(batch: u64, keyspace: u32, error: *mut Error) -> Code;
    pub fn mergedb_batch_clear(batch: u64, error: *mut Error) -> Code;
    pub fn mergedb_batch_size(batch: u64, count: *mut u64, bytes: *mut u64, error: *mut Error) -> Code;
    pub fn mergedb_batch_close(batch: u64, error: *mut Error) -> Code;
    pub fn mergedb_get(db: u64, options: *const ReadOptions, key: Bytes, key_size: usize, value: *mut *mut c_void, value_size: *mut usize, error: *mut Error) -> Code;
    pub fn mergedb_multi_get(db: u64, options: *const ReadOptions, keys: *const Slice, count: usize, values: *mut *mut c_void, sizes: *mut usize, codes: *mut i32, error: *mut Error) -> Code;
    pub fn mergedb_snapshot_create(db: u64, snapshot: *mut u64, error: *mut Error) -> Code;
    pub fn mergedb_snapshot_sequence(snapshot: u64, sequence: *mut u64, error: *mut Error) -> Code;
    pub fn mergedb_snapshot_close(snapshot: u64, error: *mut Error) -> Code;
    pub fn mergedb_iterator_create(db: u64, options: *const IteratorOptions, iterator: *mut u64, error: *mut Error) -> Code;
    pub fn mergedb_iterator_seek_to_first(iterator: u64, error: *mut Error) -> Code;
    pub fn mergedb_iterator_seek_to_last(iterator: u64, error: *mut Error) -> Code;
    pub fn mergedb_iterator_seek(iterator: u64, key: Bytes, key_size: usize, error: *mut Error) -> Code;
    pub fn mergedb_iterator_seek_for_prev(iterator: u64, key: Bytes, key_size: usize, error: *mut Error) -> Code;
    pub fn mergedb_iterator_next(iterator: u64, error: *mut Error) -> Code;
    pub fn mergedb_iterator_prev(iterator: u64, error: *mut Error) -> Code;
    pub fn mergedb_iterator_entry(iterator: u64, key: *mut Slice, value: *mut Slice, error: *mut Error) -> Code;
    pub fn mergedb_iterator_failed_key(iterator: u64, key: *mut Slice, error: *mut Error) -> Code;
    pub fn mergedb_iterator_read(iterator: u64, backwards: i32, buffer: *mut c_void, capacity: usize, used: *mut usize, count: *mut usize, error: *mut Error) -> Code;
    pub fn mergedb_iterator_close(iterator: u64, error: *mut Error) -> Code;
    pub fn mergedb_transaction_begin(db: u64, options: *const TransactionOptions, transaction: *mut u64, error: *mut Error) -> Code;
    pub fn mergedb_transaction_commit(transaction: u64, error: *mut Error) -> Code;
    pub fn mergedb_transaction_close(transaction: u64, error: *mut Error) -> Code;
    pub fn mergedb_transaction_get(transaction: u64, keyspace: u32, key: Bytes, key_size: usize, value: *mut *mut c_void, value_size: *mut usize, error: *mut Error) -> Code;
    pub fn mergedb_transaction_put(transaction: u64, keyspace: u32, key: Bytes, key_size: usize, value: Bytes, value_size: usize, error: *mut Error) -> Code;
    pub fn mergedb_transaction_delete(transaction: u64, keyspace: u32, key: Bytes, key_size: usize, error: *mut Error) -> Code;
    pub fn mergedb_transaction_delete_range(transaction: u64, keyspace: u32, begin: Bytes, begin_size: usize, end: Bytes, end_size: usize, error: *mut Error) -> Code;
    pub fn mergedb_transaction_merge(transaction: u64, keyspace: u32, key: Bytes, key_size: usize, operand: *const Operand, error: *mut Error) -> Code;
    pub fn mergedb_transaction_set_savepoint(transaction: u64, error: *mut Error) -> Code;
    pub fn mergedb_transaction_rollback_to_savepoint(transaction: u64, error: *mut Error) -> Code;
    pub fn mergedb_transaction_release_savepoint(transaction: u64, error: *mut Error) -> Code;
    pub fn mergedb_transaction_conflict(transaction: u64, keyspace: *mut u32, key: *mut *mut c_void, key_size: *mut usize, error: *mut Error) -> Code;
    pub fn mergedb_cursor_open(transaction: u64, keyspace: u32, cursor: *mut u64, error: *mut Error) -> Code;
    pub fn mergedb_cursor_move(cursor: u64, to: i32, key: Bytes, key_size: usize, error: *mut Error) -> Code;
    pub fn mergedb_cursor_entry(cursor: u64, key: *mut Slice, value: *mut Slice, error: *mut Error) -> Code;
    pub fn mergedb_cursor_put(cursor: u64, value: Bytes, value_size: usize, error: *mut Error) -> Code;
    pub fn mergedb_cursor_delete(cursor: u64, error: *mut Error) -> Code;
    pub fn mergedb_cursor_close(cursor: u64, error: *mut Error) -> Code;
    pub fn mergedb_keyspace_create(db: u64, name: Bytes, name_size: usize, may_exist: i32, keyspace: *mut u32, error: *mut Error) -> Code;
    pub fn mergedb_keyspace_open(db: u64, options: *const ReadOptions, name: Bytes, name_size: usize, keyspace: *mut u32, error: *mut Error) -> Code;
    pub fn mergedb_keyspace_list(db: u64, options: *const ReadOptions, entries: *mut *mut KeyspaceEntry, count: *mut usize, error: *mut Error) -> Code;
    pub fn mergedb_keyspace_drop(db: u64, options: *const WriteOptions, keyspace: u32, error: *mut Error) -> Code;
    pub fn mergedb_keyspace_clear(db: u64, options: *const WriteOptions, keyspace: u32, error: *mut Error) -> Code;
    pub fn mergedb_keyspace_compact(db: u64, keyspace: u32, lower: *const Slice, upper: *const Slice, error: *mut Error) -> Code;
    pub fn mergedb_flush(db: u64, error: *mut Error) -> Code;
    pub fn mergedb_sync_wal(db: u64, error: *mut Error) -> Code;
    pub fn mergedb_compact_range(db: u64, lower: *const Slice, upper: *const Slice, error: *mut Error) -> Code;
    pub fn mergedb_wait(db: u64, error: *mut Error) -> Code;
    pub fn mergedb_approximate_sizes(db: u64, lowers: *const Slice, uppers: *const Slice, count: usize, bytes: *mut u64, error: *mut Error) -> Code;
    pub fn mergedb_get_property(db: u64, name: *const c_char, value: *mut *mut c_char, error: *mut Error) -> Code;
    pub fn mergedb_check(db: u64, error: *mut Error) -> Code;
    pub fn mergedb_metrics(db: u64, take: unsafe extern "C" fn(*mut c_void, *const Metric) -> i32, state: *mut c_void, error: *mut Error) -> Code;
    pub fn mergedb_start_trace(db: u64, path: *const c_char, options: *const TraceOptions, error: *mut Error) -> Code;
    pub fn mergedb_end_trace(db: u64, report: *mut TraceReport, error: *mut Error) -> Code;
    pub fn mergedb_checkpoint(db: u64, target: *const c_char, options: *const CheckpointOptions, report: *mut CheckpointReport, error: *mut Error) -> Code;
}

#[cfg(test)]
mod tests {
    //! Goal: the declarations above are those of the header. Method: a C program prints sizes, offsets and constants.
    use super::*;
    use std::mem::{offset_of, size_of};
    use std::process::Command;

    #[test]
    fn declarations_are_those_of_the_header() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut lines = Vec::new();
        let mut expected = Vec::new();
        macro_rules! compare {
            ($($rust:ident, $c:ident, $field:ident, $member:ident;)*) => {$(
                lines.push(format!("sizeof({}), offsetof({0}, {})", stringify!($c), stringify!($member)));
                expected.push(format!("{} {}", size_of::<$rust>(), offset_of!($rust, $field)));
            )*};
        }
        compare! {
            Error, mergedb_error, message, message;
            Slice, mergedb_slice, size, size;
            // options: begin offsets (scripts/options.toml)
            Options, mergedb_options, struct_size, struct_size;
            Options, mergedb_options, mode, mode;
            Options, mergedb_options, style, style;
            Options, mergedb_options, memory_bytes, memory_bytes;
            Options, mergedb_options, write_buffer_bytes, write_buffer_bytes;
            Options, mergedb_options, compression_upper, compression_upper;
            Options, mergedb_options, compression_bottom, compression_bottom;
            Options, mergedb_options, bloom_bits_per_key, bloom_bits_per_key;
            Options, mergedb_options, open_tables_max, open_tables_max;
            Options, mergedb_options, block_bytes, block_bytes;
            Options, mergedb_options, write_delay_us_max, write_delay_us_max;
            Options, mergedb_options, finish_compactions_on_close, finish_compactions_on_close;
            Options, mergedb_options, use_mapped_wal_buffer, use_mapped_wal_buffer;
            Options, mergedb_options, comparator, comparator;
            Options, mergedb_options, logger, logger;
            Options, mergedb_options, merge_operators, merge_operators;
            Options, mergedb_options, merge_operator_count, merge_operator_count;
            Options, mergedb_options, blob_value_bytes_min, blob_value_bytes_min;
            Options, mergedb_options, wal_sync_interval_ms, wal_sync_interval_ms;
            Options, mergedb_options, listener, listener;
            Options, mergedb_options, log_bytes_max, log_bytes_max;
            Options, mergedb_options, slow_call_us, slow_call_us;
            Options, mergedb_options, mapped_read_bytes_max, mapped_read_bytes_max;
            Options, mergedb_options, keep_space_at_rest, keep_space_at_rest;
            Options, mergedb_options, reserved, reserved;
            // options: end
            WriteOptions, mergedb_write_options, keyspace, keyspace;
            ReadOptions, mergedb_read_options, fill_cache, fill_cache;
            ReadOptions, mergedb_read_options, keyspace, keyspace;
            IteratorOptions, mergedb_iterator_options, read, read;
            IteratorOptions, mergedb_iterator_options, keyspace, keyspace;
            Operand, mergedb_operand, kind, type;
            Operand, mergedb_operand, f64, f64;
            Operand, mergedb_operand, name, name;
            TransactionOptions, mergedb_transaction_options, wait_us_max, wait_us_max;
            TransactionOptions, mergedb_transaction_options, name, name;
            KeyspaceEntry, mergedb_keyspace_entry, keyspace, keyspace;
            Metric, mergedb_metric, value, value;
            EventField, mergedb_event_field, text_size, text_size;
            Event, mergedb_event, time_us, time_us;
            Event, mergedb_event, json, json;
            EventListener, mergedb_event_listener, on_event, on_event;
            EventListener, mergedb_event_listener, state, state;
            TraceOptions, mergedb_trace_options, bytes_max, bytes_max;
            TraceReport, mergedb_trace_report, is_full, is_full;
            CheckpointOptions, mergedb_checkpoint_options, state, state;
            CheckpointReport, mergedb_checkpoint_report, sequence, sequence;
        }
        for (name, code) in
            [("MERGE_FAILED", MERGE_FAILED), ("BAD_HANDLE", BAD_HANDLE), ("OUT_OF_MEMORY", OUT_OF_MEMORY), ("NO", NO)]
        {
            lines.push(format!("(size_t)MERGEDB_{name}, (size_t)0"));
            expected.push(format!("{} 0", code as usize));
        }
        let program = std::env::temp_dir().join(format!("mergedb-layout-{}", std::process::id()));
        let source = program.with_extension("c");
        let body: String = lines.iter().map(|line| format!("printf(\"%zu %zu\\n\", {line});")).collect();
        let text = format!("#include <mergedb/c.h>\n#include <stdio.h>\nint main(void) {{{body}}}");
        std::fs::write(&source, text).unwrap();
        let compiler = std::env::var("CC").unwrap_or("cc".into());
        let built =
            Command::new(compiler).arg("-I").arg(root.join("include")).arg(&source).arg("-o").arg(&program).status();
        assert!(built.unwrap().success());
        let printed = Command::new(&program).output().unwrap().stdout;
        assert_eq!(String::from_utf8(printed).unwrap().lines().collect::<Vec<_>>(), expected);
        std::fs::remove_file(source).unwrap();
        std::fs::remove_file(program).unwrap();
    }
}
