// Every call of the C interface that takes a handle, with a handle of another kind.
#include "tests/paths/handle_subject.h"

namespace mergedb::testing::handles {
namespace {

struct Taker {
  char kind;
  const char* name;
  mergedb_code (*call)(uint64_t handle);
};

// The outputs of a call, which it must leave at 0.
struct Outputs {
  void* bytes = nullptr;
  size_t size = 0, count = 0;
  uint64_t number = 0;
  mergedb_keyspace keyspace = 0;
  mergedb_slice key{}, value{};
  mergedb_keyspace_entry* entries = nullptr;
  char* text = nullptr;
  const char* line = nullptr;
  char buffer[64];
};

#define TAKER(kind, name, ...)                          \
  {                                                     \
    kind, #name, [](uint64_t h) {                       \
      Outputs o;                                        \
      (void)o;                                          \
      return mergedb_##name(h, ##__VA_ARGS__, nullptr); \
    }                                                   \
  }

constexpr Taker kTakers[] = {
    TAKER('d', put, nullptr, "k", 1, "v", 1),
    TAKER('d', delete, nullptr, "k", 1),
    TAKER('d', delete_range, nullptr, "k", 1, "l", 1),
    TAKER('d', delete_prefix, nullptr, "k", 1),
    TAKER('d', add_u64, nullptr, "k", 1, 1),
    TAKER('d', get, nullptr, "k", 1, &o.bytes, &o.size),
    TAKER('d', get_into, nullptr, "k", 1, o.buffer, sizeof o.buffer, &o.size),
    TAKER('d', multi_get, nullptr, nullptr, 0, nullptr, nullptr, nullptr),
    TAKER('d', snapshot_create, &o.number),
    TAKER('d', iterator_create, nullptr, &o.number),
    TAKER('d', transaction_begin, nullptr, &o.number),
    TAKER('d', keyspace_create, "x", 1, MERGEDB_YES, &o.keyspace),
    TAKER('d', keyspace_open, nullptr, "x", 1, &o.keyspace),
    TAKER('d', keyspace_list, nullptr, &o.entries, &o.count),
    TAKER('d', keyspace_drop, nullptr, 1),
    TAKER('d', keyspace_clear, nullptr, 1),
    TAKER('d', keyspace_compact, 0, nullptr, nullptr),
    TAKER('d', write, nullptr, 0),
    TAKER('d', flush),
    TAKER('d', sync_wal),
    TAKER('d', compact_range, nullptr, nullptr),
    TAKER('d', wait),
    TAKER('d', approximate_sizes, nullptr, nullptr, 0, nullptr),
    TAKER('d', get_property, "mergedb.stats", &o.text),
    TAKER('d', check),
    TAKER('d', metrics, nullptr, nullptr),
    TAKER('d', histograms, nullptr, nullptr),
    TAKER('d', start_trace, "/dev/null/x", nullptr),
    TAKER('d', end_trace, nullptr),
    TAKER('d', checkpoint, "/dev/null/x", nullptr, nullptr),
    TAKER('d', close),
    TAKER('s', snapshot_sequence, &o.number),
    TAKER('s', snapshot_close),
    TAKER('i', iterator_seek_to_first),
    TAKER('i', iterator_seek_to_last),
    TAKER('i', iterator_seek, "k", 1),
    TAKER('i', iterator_seek_for_prev, "k", 1),
    TAKER('i', iterator_next),
    TAKER('i', iterator_prev),
    TAKER('i', iterator_entry, &o.key, &o.value),
    TAKER('i', iterator_failed_key, &o.key),
    TAKER('i', iterator_read, MERGEDB_NO, o.buffer, sizeof o.buffer, &o.size, &o.count),
    TAKER('i', iterator_close),
    TAKER('b', batch_put, "k", 1, "v", 1),
    TAKER('b', batch_delete, "k", 1),
    TAKER('b', batch_delete_range, "k", 1, "l", 1),
    TAKER('b', batch_append, 0),
    TAKER('b', batch_set_keyspace, 0),
    TAKER('b', batch_clear),
    TAKER('b', batch_size, &o.number, nullptr),
    TAKER('b', batch_close),
    TAKER('r', report_text, MERGEDB_DAMAGES, 0, &o.line),
    TAKER('r', report_close),
    TAKER('t', transaction_get, 0, "k", 1, &o.bytes, &o.size),
    TAKER('t', transaction_put, 0, "k", 1, "v", 1),
    TAKER('t', transaction_delete, 0, "k", 1),
    TAKER('t', transaction_delete_range, 0, "k", 1, "l", 1),
    TAKER('t', transaction_keyspace_create, "x", 1, MERGEDB_YES, &o.keyspace),
    TAKER('t', transaction_keyspace_open, "x", 1, &o.keyspace),
    TAKER('t', transaction_keyspace_list, &o.entries, &o.count),
    TAKER('t', transaction_keyspace_drop, 1),
    TAKER('t', transaction_keyspace_clear, 1),
    TAKER('t', transaction_set_savepoint),
    TAKER('t', transaction_rollback_to_savepoint),
    TAKER('t', transaction_release_savepoint),
    TAKER('t', transaction_conflict, &o.keyspace, &o.bytes, &o.size),
    TAKER('t', transaction_size, &o.number, nullptr, nullptr),
    TAKER('t', cursor_open, 0, &o.number),
    TAKER('t', transaction_commit),
    TAKER('t', transaction_rollback),
    TAKER('t', transaction_close),
    TAKER('c', cursor_move, MERGEDB_TO_FIRST, nullptr, 0),
    TAKER('c', cursor_entry, &o.key, &o.value),
    TAKER('c', cursor_put, "v", 1),
    TAKER('c', cursor_delete),
    TAKER('c', cursor_close),
};

#undef TAKER

}  // namespace

// The names of the calls that did not refuse the handle.
std::string Handles::AsOthers(const Call& call) {
  const uint64_t handle = Of(call.kind, call.a);
  std::string wrong;
  for (const Taker& taker : kTakers) {
    if (taker.kind != call.kind && taker.call(handle) != MERGEDB_BAD_HANDLE) wrong += std::string(" ") + taker.name;
  }
  if (handle == 0) return wrong;
  const mergedb_db db = databases_[0];  // an open one, or refused itself
  mergedb_read_options read{};
  read.struct_size = sizeof read;
  read.snapshot = handle;
  Outputs o;
  if (call.kind != 's' && mergedb_get(db, &read, "k", 1, &o.bytes, &o.size, nullptr) != MERGEDB_BAD_HANDLE)
    wrong += " snapshot of get";
  if (call.kind != 'b' && mergedb_write(db, nullptr, handle, nullptr) != MERGEDB_BAD_HANDLE) wrong += " batch of write";
  return wrong;
}

}  // namespace mergedb::testing::handles
