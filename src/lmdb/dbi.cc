// Databases: handles, named databases as keyspaces, counts, dropping.
//
// A named database is the keyspace of its name. As in LMDB its name is also an item of the main database, and
// cursors over the main database show it (format/lmdb.h). The value has the length of LMDB's description of a
// database. Only the flags in it have a meaning here.
#include <algorithm>
#include <cerrno>

#include "format/lmdb.h"
#include "lmdb/handles.h"

namespace mergedb::lmdb {

namespace {

static_assert(format::kLmdbReverseKey == MDB_REVERSEKEY && format::kLmdbIntegerKey == MDB_INTEGERKEY);

MDB_dbi FindSlot(const MDB_env* env, std::string_view name) {
  for (MDB_dbi dbi = kMainDbi + 1; dbi < env->slots_used; ++dbi) {
    if (env->slots[dbi].is_open && env->slots[dbi].name == name) return dbi;
  }
  return kFreeDbi;
}

MDB_dbi FreeSlot(const MDB_env* env) {
  for (MDB_dbi dbi = kMainDbi + 1; dbi < env->slots.size(); ++dbi) {
    if (!env->slots[dbi].is_open) return dbi;
  }
  return kFreeDbi;
}

// Opens the keyspace of `name`, or creates it if `flags` has MDB_CREATE. Returns the flags that it was created with.
int OpenNamed(MDB_txn* txn, const std::string& name, unsigned flags, Keyspace* keyspace, unsigned* found_flags) {
  const auto found = txn->transaction().OpenKeyspace(name);
  std::string_view flags_item;
  const Status item = GetValue(txn, kMainDbi, name, &flags_item);
  if (found) {
    *keyspace = *found;
    *found_flags = item.ok() ? format::DecodeNameItem(flags_item).value_or(0) : 0;
    return 0;
  }
  if (!found.error().IsNotFound()) return CodeOf(found.error());
  if (item.ok()) return MDB_INCOMPATIBLE;  // an item of the main database
  if (!item.IsNotFound()) return CodeOf(item);
  if (!(flags & MDB_CREATE)) return MDB_NOTFOUND;
  if (txn->is_read_only()) return EACCES;
  const auto made = txn->transaction().CreateKeyspace(name, {});
  if (!made) return WriteFailed(txn, made.error());
  const Status status = txn->transaction().Put(Keyspace(), name, format::EncodeNameItem(flags & kDbiFlags));
  if (!status.ok()) return WriteFailed(txn, status);
  CountChange(txn, kMainDbi, 1);
  *keyspace = *made;
  *found_flags = flags & kDbiFlags;
  return 0;
}

Result<uint64_t> CountKeys(MDB_txn* txn, const Slot& slot) {
  const auto cursor = txn->transaction().NewCursor(slot.keyspace);
  uint64_t entries = 0;
  Status status = cursor->First();
  for (; status.ok(); status = cursor->Next()) ++entries;
  if (!status.IsNotFound()) return status;
  return entries;
}

Result<uint64_t> Entries(MDB_txn* txn, MDB_dbi dbi) {
  MDB_env* const env = txn->env;
  Slot& slot = env->slots[dbi];
  if (const auto changed = txn->changes.counts.find(dbi); changed != txn->changes.counts.end()) {
    Count& count = changed->second;
    if (!count.is_known) {
      ASSIGN_OR_RETURN(count.entries, CountKeys(txn, slot));
      count.is_known = true;
    }
    return count.entries;
  }
  const uint64_t sequence = txn->transaction().sequence();
  {
    base::Lock lock(env->mutex);
    if (slot.count.is_known && sequence >= slot.changed_from) return slot.count.entries;
  }
  ASSIGN_OR_RETURN(const uint64_t entries, CountKeys(txn, slot));
  base::Lock lock(env->mutex);
  if (sequence >= slot.changed_from) slot.count = {.is_known = true, .entries = entries};
  return entries;
}

// Describes a tree of pages that could hold the entries: programs look at the depth, and divide by pages.
void FillStat(MDB_env* env, const Slot& slot, uint64_t entries, MDB_stat* stat) {
  constexpr uint64_t kItemsAPage = 64, kBranchesAPage = 128;
  const uint64_t bytes =
      env->db->ApproximateSizes(slot.keyspace, {{std::string_view(), std::string(kKeyBytesMax + 1, '\xff')}}).front();
  *stat = {.ms_psize = kPageBytes,
           .ms_depth = 0,
           .ms_branch_pages = 0,
           .ms_leaf_pages = 0,
           .ms_overflow_pages = 0,
           .ms_entries = entries};
  if (entries == 0) return;
  stat->ms_leaf_pages = std::max({uint64_t{1}, entries / kItemsAPage, bytes / kPageBytes});
  stat->ms_depth = 1;
  for (uint64_t pages = stat->ms_leaf_pages; pages > 1; ++stat->ms_depth) {
    pages = (pages + kBranchesAPage - 1) / kBranchesAPage;
    stat->ms_branch_pages += pages;
  }
}

Status ClearMain(MDB_txn* txn) {
  Transaction& transaction = txn->transaction();
  if (txn->env->has_names) {
    ASSIGN_OR_RETURN(const auto names, transaction.ListKeyspaces());
    for (const KeyspaceEntry& each : names) {
      RETURN_IF_ERROR(transaction.DropKeyspace(each.keyspace));
      if (const MDB_dbi dbi = FindSlot(txn->env, each.name); dbi != kFreeDbi) txn->changes.dropped.push_back(dbi);
    }
  }
  return transaction.DeleteRange(Keyspace(), std::string_view(), std::string(kKeyBytesMax + 1, '\xff'));
}

Status DropNamed(MDB_txn* txn, MDB_dbi dbi) {
  const Slot& slot = txn->env->slots[dbi];
  RETURN_IF_ERROR(txn->transaction().DropKeyspace(slot.keyspace));
  RETURN_IF_ERROR(txn->transaction().Delete(Keyspace(), slot.name));
  CountChange(txn, kMainDbi, -1);
  return {};
}

// Clears the handle in the changes of the transaction and its parents: their count is that of the previous
// database, and they must not close the next database under this handle.
void ForgetHandle(MDB_txn* txn, MDB_dbi dbi) {
  for (MDB_txn* each = txn; each != nullptr; each = each->parent) {
    if (const auto count = each->changes.counts.find(dbi); count != each->changes.counts.end()) count->second = {};
    std::erase(each->changes.opened, dbi);
  }
}

}  // namespace

void CloseSlot(MDB_env* env, MDB_dbi dbi) {
  base::Lock lock(env->mutex);
  if (dbi > kMainDbi && dbi < env->slots.size()) env->slots[dbi].is_open = false;
}

}  // namespace mergedb::lmdb

using namespace mergedb::lmdb;
using mergedb::Keyspace;
using mergedb::Status;

int mdb_dbi_open(MDB_txn* txn, const char* name, unsigned int flags, MDB_dbi* dbi) {
  return Guard([&]() -> int {
    if (dbi == nullptr || (flags & ~(kDbiFlags | MDB_CREATE))) return EINVAL;
    LMDB_RETURN_IF_ERROR(CheckTxn(txn));
    if (flags & kDupFlags) return MDB_INCOMPATIBLE;
    if (name == nullptr) {
      if (flags & kDbiFlags) return MDB_INCOMPATIBLE;
      *dbi = kMainDbi;
      return 0;
    }
    MDB_env* const env = txn->env;
    LMDB_RETURN_IF_ERROR(CheckOrder(env->slots[kMainDbi]));  // the name is a key of the main database
    const std::string key = name;
    if (key.empty() || key.size() > kKeyBytesMax) return MDB_BAD_VALSIZE;
    if (const MDB_dbi open = FindSlot(env, key); open != kFreeDbi) return *dbi = open, 0;
    const MDB_dbi free = FreeSlot(env);
    if (free == kFreeDbi) return MDB_DBS_FULL;
    Keyspace keyspace;
    unsigned found_flags = 0;
    LMDB_RETURN_IF_ERROR(OpenNamed(txn, key, flags, &keyspace, &found_flags));
    env->has_names = true;
    ForgetHandle(txn, free);
    txn->changes.opened.push_back(free);
    mergedb::base::Lock lock(env->mutex);
    Slot& slot = env->slots[free];
    slot.name = key;
    slot.flags = found_flags;
    slot.keyspace = keyspace;
    slot.count = {};
    slot.changed_from = 0;
    slot.count_credit = 0;
    slot.is_refused = false;
    slot.is_open = true;
    env->slots_used = std::max(env->slots_used.load(), free + 1);
    *dbi = free;
    return 0;
  });
}

int mdb_stat(MDB_txn* txn, MDB_dbi dbi, MDB_stat* stat) {
  return Guard([&]() -> int {
    if (stat == nullptr || txn == nullptr) return EINVAL;
    const bool is_free_list = dbi == kFreeDbi && txn->state != TxnState::kReset;
    LMDB_RETURN_IF_ERROR(is_free_list ? CheckTxn(txn) : CheckDbi(txn, dbi));
    if (is_free_list) return FillStat(txn->env, Slot(), 0, stat), 0;
    const auto entries = Entries(txn, dbi);
    if (!entries) return CodeOf(entries.error());
    txn->env->slots[dbi].count_credit.store(std::max(static_cast<int64_t>(*entries), kCountCreditMin),
                                            std::memory_order_relaxed);
    FillStat(txn->env, txn->env->slots[dbi], *entries, stat);
    return 0;
  });
}

int mdb_dbi_flags(MDB_txn* txn, MDB_dbi dbi, unsigned int* flags) {
  if (txn == nullptr || txn->env == nullptr || flags == nullptr || !IsOpenDbi(txn, dbi)) return EINVAL;
  *flags = txn->env->slots[dbi].flags;
  return 0;
}

void mdb_dbi_close(MDB_env* env, MDB_dbi dbi) {
  if (env != nullptr) CloseSlot(env, dbi);
}

int mdb_drop(MDB_txn* txn, MDB_dbi dbi, int del) {
  return Guard([&]() -> int {
    if (del != 0 && del != 1) return EINVAL;
    LMDB_RETURN_IF_ERROR(CheckHandleWritable(txn, dbi));  // an order says nothing about a drop
    Status status;
    if (dbi == kMainDbi) {
      status = ClearMain(txn);
    } else {
      status = del ? DropNamed(txn, dbi) : txn->transaction().ClearKeyspace(txn->env->slots[dbi].keyspace);
    }
    if (!status.ok()) return WriteFailed(txn, status);
    Touch(txn, dbi) = {.is_known = true, .entries = 0};
    txn->root->arena.Clear();
    ForgetPlaces(txn, dbi);
    if (del && dbi != kMainDbi) {
      // WHY before CloseSlot: a reader may open another database under the handle as soon as the slot is closed.
      ForgetHandle(txn, dbi);
      CloseSlot(txn->env, dbi);
    }
    return 0;
  });
}

int mdb_set_compare(MDB_txn* txn, MDB_dbi dbi, MDB_cmp_func*) {
  if (txn == nullptr || txn->env == nullptr || !IsOpenDbi(txn, dbi)) return EINVAL;
  txn->env->slots[dbi].is_refused = true;
  return MDB_INCOMPATIBLE;
}
int mdb_set_dupsort(MDB_txn* txn, MDB_dbi dbi, MDB_cmp_func* cmp) { return mdb_set_compare(txn, dbi, cmp); }

// LMDB stores the function, and the context, and never uses them.
int mdb_set_relfunc(MDB_txn* txn, MDB_dbi dbi, MDB_rel_func*) {
  return txn == nullptr || txn->env == nullptr || !IsOpenDbi(txn, dbi) ? EINVAL : 0;
}
int mdb_set_relctx(MDB_txn* txn, MDB_dbi dbi, void*) { return mdb_set_relfunc(txn, dbi, nullptr); }
