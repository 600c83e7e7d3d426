// Items: get, put, del, and the counts of entries.
#include <algorithm>
#include <cerrno>

#include "lmdb/handles.h"

namespace mergedb::lmdb {

namespace {

constexpr unsigned kPutFlags = MDB_NOOVERWRITE | MDB_NODUPDATA | MDB_RESERVE | MDB_APPEND | MDB_APPENDDUP;
constexpr size_t kItemOverheadBytes = 16;
constexpr size_t kMetaBytes = 2 * kPageBytes;
constexpr uint64_t kMeasureShare = 16;  // a sixteenth of the map is written before it is measured again

// Bytes of tables and blob files, less the bytes in blob files that compactions found to be garbage.
uint64_t LiveBytes(DB& db) {
  const uint64_t values = NumberOf(db, "mergedb.blob_bytes_live");
  return NumberOf(db, "mergedb.table_bytes_live") + values -
         std::min(values, NumberOf(db, "mergedb.blob_bytes_garbage"));
}

// The map's size is a limit on data: the bytes put since the last measurement plus the size of tables and blob
// files at that time. If the sum exceeds the limit, measure again, because overwritten and deleted items count
// until then. Before the map is reported as full, a compaction of all keys removes these items.
int CheckMap(MDB_txn* txn, size_t bytes_more) {
  MDB_env* const env = txn->env;
  const uint64_t ours = kMetaBytes + txn->changes.bytes + bytes_more;
  base::Lock lock(env->mutex);
  if (env->used_bytes + ours <= env->map_bytes) [[likely]]
    return 0;
  const uint64_t share = env->map_bytes / kMeasureShare;
  if (env->used_bytes - env->measured_bytes > share) {
    lock.Unlock();
    (void)env->db->Flush();  // if this fails, the write returns the error
    uint64_t measured = LiveBytes(*env->db);
    // WHY one share earlier: with less room left than one share, the next measurement would come too late.
    if (measured + ours + share > env->map_bytes) {
      (void)env->db->CompactRange(nullptr, nullptr);
      measured = LiveBytes(*env->db);
    }
    lock.Relock();
    env->used_bytes = env->measured_bytes = measured;
  }
  return env->used_bytes + ours <= env->map_bytes ? 0 : MDB_MAP_FULL;
}

Result<bool> IsBehindAll(MDB_txn* txn, MDB_dbi dbi, std::string_view stored) {
  const Root& root = *txn->root;
  if (root.appended_to == dbi && root.appended_at == txn->transaction().writes() &&
      root.appended_in == txn->transaction().generation() && stored > root.appended_key)
    return true;
  const Slot& slot = txn->env->slots[dbi];
  const auto cursor = txn->transaction().NewCursor(slot.keyspace);
  const Status status = cursor->Last();
  if (status.IsNotFound()) return true;
  RETURN_IF_ERROR(status);
  return cursor->key() < stored;
}

Status WriteValue(MDB_txn* txn, const Slot& slot, std::string_view stored, MDB_val* data, bool is_reserving) {
  if (!is_reserving) return txn->transaction().Put(slot.keyspace, stored, ToStringView(*data));
  char* place = nullptr;
  RETURN_IF_ERROR(txn->transaction().Reserve(slot.keyspace, stored, data->mv_size, &place));
  data->mv_data = place;
  return {};
}

}  // namespace

uint64_t NumberOf(DB& db, const char* property) {
  std::string text;
  return db.GetProperty(property, &text) ? std::strtoull(text.c_str(), nullptr, 10) : 0;
}

std::string_view TurnedKey(const Slot& slot, std::string_view key, std::string* scratch) {
  const bool turns = (slot.flags & MDB_REVERSEKEY) || std::endian::native == std::endian::little;
  scratch->assign(key);
  if (turns) std::reverse(scratch->begin(), scratch->end());
  return *scratch;
}

int CheckKey(const Slot& slot, const MDB_val* key) {
  if (key->mv_size == 0 || key->mv_size > kKeyBytesMax) return MDB_BAD_VALSIZE;
  const bool is_integer = (slot.flags & MDB_INTEGERKEY) != 0;
  return is_integer && key->mv_size != sizeof(unsigned) && key->mv_size != sizeof(size_t) ? MDB_BAD_VALSIZE : 0;
}

Status GetValue(MDB_txn* txn, MDB_dbi dbi, std::string_view stored_key, std::string_view* value) {
  return txn->transaction().GetView(txn->env->slots[dbi].keyspace, stored_key, &txn->root->scratch, value);
}

int RefuseName(MDB_txn* txn, MDB_dbi dbi, std::string_view key) {
  if (dbi != kMainDbi || !txn->env->has_names) return 0;
  const Status status = txn->transaction().OpenKeyspace(key).status();
  if (status.IsNotFound()) return 0;
  return status.ok() ? MDB_INCOMPATIBLE : CodeOf(status);
}

int RefuseDeleteOfName(MDB_txn* txn, MDB_dbi dbi, std::string_view key) {
  const int code = RefuseName(txn, dbi, key);
  if (code != 0) txn->state = TxnState::kFailed;
  return code;
}

// ---- counts

Count& Touch(MDB_txn* txn, MDB_dbi dbi) {
  const auto [place, is_new] = txn->changes.counts.try_emplace(dbi);
  if (is_new) {
    base::Lock lock(txn->env->mutex);
    place->second = txn->env->slots[dbi].count;
  }
  return place->second;
}

void CountChange(MDB_txn* txn, MDB_dbi dbi, int64_t change) {
  Touch(txn, dbi).entries += static_cast<uint64_t>(change);
}

void ForgetCount(MDB_txn* txn, MDB_dbi dbi) { Touch(txn, dbi).is_known = false; }

bool MayCount(MDB_txn* txn, MDB_dbi dbi, size_t value_bytes) {
  constexpr int64_t kStepsOfGet = 4;
  constexpr size_t kBytesOfStep = 64;
  std::atomic<int64_t>& credit = txn->env->slots[dbi].count_credit;
  if (credit.load(std::memory_order_relaxed) <= 0 || !Touch(txn, dbi).is_known) return false;
  credit.fetch_sub(kStepsOfGet + static_cast<int64_t>(value_bytes / kBytesOfStep),
                   std::memory_order_relaxed);  // WHY relaxed: the credit guards no other data
  return true;
}

int WriteFailed(MDB_txn* txn, const Status& status) {
  if (status.IsNoSpace()) return MDB_TXN_FULL;  // WHY not ENOSPC: nothing is written to the disk before the commit
  if (status.IsInvalidArgument()) return MDB_BAD_VALSIZE;
  txn->state = TxnState::kFailed;
  return CodeOf(status);
}

// ---- put

int PutItem(MDB_txn* txn, MDB_dbi dbi, MDB_val* key, MDB_val* data, unsigned flags) {
  const Slot& slot = txn->env->slots[dbi];
  LMDB_RETURN_IF_ERROR(CheckKey(slot, key));
  if (data->mv_size > kValueBytesMax) return MDB_BAD_VALSIZE;
  Root& root = *txn->root;
  const std::string_view stored = StoredKey(slot, ToStringView(*key), &root.key_scratch);
  bool is_new = false, is_there = false;
  const bool is_exclusive = (flags & MDB_NOOVERWRITE) != 0;
  if (is_exclusive || (!(flags & MDB_APPEND) && MayCount(txn, dbi, data->mv_size))) {
    std::string_view value;
    const Status found = GetValue(txn, dbi, stored, &value);
    if (found.ok() && is_exclusive) {
      *data = root.Give(value);
      return MDB_KEYEXIST;
    }
    if (!found.ok() && !found.IsNotFound()) return CodeOf(found);
    is_new = found.IsNotFound();
    is_there = found.ok();
  }
  if (flags & MDB_APPEND) {
    const auto is_behind = IsBehindAll(txn, dbi, stored);
    if (!is_behind) return CodeOf(is_behind.error());
    if (!*is_behind) return MDB_KEYEXIST;
    is_new = true;
  }
  LMDB_RETURN_IF_ERROR(RefuseName(txn, dbi, ToStringView(*key)));
  const size_t bytes = key->mv_size + data->mv_size + kItemOverheadBytes;
  if (const int code = CheckMap(txn, bytes); code != 0) {
    txn->state = TxnState::kFailed;
    return code;
  }
  AnchorGaps(txn, dbi);
  if (const Status status = WriteValue(txn, slot, stored, data, flags & MDB_RESERVE); !status.ok())
    return WriteFailed(txn, status);
  txn->changes.bytes += bytes;
  if (!is_there) is_new ? CountChange(txn, dbi, 1) : ForgetCount(txn, dbi);
  if (flags & MDB_APPEND) {
    root.appended_to = dbi;
    root.appended_at = txn->transaction().writes();
    root.appended_in = txn->transaction().generation();
    root.appended_key.assign(stored);
  }
  root.arena.Clear();
  return 0;
}

}  // namespace mergedb::lmdb

using namespace mergedb::lmdb;
using mergedb::Status;

int mdb_get(MDB_txn* txn, MDB_dbi dbi, MDB_val* key, MDB_val* data) {
  return Guard([&]() -> int {
    if (key == nullptr || data == nullptr) return EINVAL;
    LMDB_RETURN_IF_ERROR(CheckDbi(txn, dbi));
    const Slot& slot = txn->env->slots[dbi];
    LMDB_RETURN_IF_ERROR(CheckWantedKey(key));
    Root& root = *txn->root;
    std::string_view value;
    const Status status = GetValue(txn, dbi, StoredKey(slot, ToStringView(*key), &root.key_scratch), &value);
    if (!status.ok()) return CodeOf(status);
    *data = root.Give(value);
    return 0;
  });
}

int mdb_put(MDB_txn* txn, MDB_dbi dbi, MDB_val* key, MDB_val* data, unsigned int flags) {
  return Guard([&]() -> int {
    if (txn == nullptr || key == nullptr || data == nullptr || (flags & ~kPutFlags)) return EINVAL;
    LMDB_RETURN_IF_ERROR(CheckWritable(txn, dbi));
    return PutItem(txn, dbi, key, data, flags);
  });
}

int mdb_del(MDB_txn* txn, MDB_dbi dbi, MDB_val* key, MDB_val*) {
  return Guard([&]() -> int {
    if (key == nullptr) return EINVAL;
    LMDB_RETURN_IF_ERROR(CheckWritable(txn, dbi));
    const Slot& slot = txn->env->slots[dbi];
    LMDB_RETURN_IF_ERROR(CheckWantedKey(key));
    LMDB_RETURN_IF_ERROR(RefuseDeleteOfName(txn, dbi, ToStringView(*key)));
    Root& root = *txn->root;
    const std::string_view stored = StoredKey(slot, ToStringView(*key), &root.key_scratch);
    std::string_view value;
    if (const Status found = GetValue(txn, dbi, stored, &value); !found.ok()) return CodeOf(found);
    if (const Status status = txn->transaction().Delete(slot.keyspace, stored); !status.ok())
      return WriteFailed(txn, status);
    NoteDeleted(txn, dbi, stored);
    CountChange(txn, dbi, -1);
    root.arena.Clear();
    return 0;
  });
}

int mdb_cmp(MDB_txn* txn, MDB_dbi dbi, const MDB_val* a, const MDB_val* b) {
  if (a == nullptr || b == nullptr || txn == nullptr || txn->env == nullptr || !IsOpenDbi(txn, dbi)) return 0;
  return Guard([&]() -> int {
    std::string first, second;
    const Slot& slot = txn->env->slots[dbi];
    return StoredKey(slot, ToStringView(*a), &first).compare(StoredKey(slot, ToStringView(*b), &second));
  });
}

int mdb_dcmp(MDB_txn*, MDB_dbi, const MDB_val* a, const MDB_val* b) {
  return a == nullptr || b == nullptr ? 0 : ToStringView(*a).compare(ToStringView(*b));
}
