// Keyspaces in a transaction. The keyspace records (format/keyspace_record.h) are read and written like other keys.
#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "db/access/keyspace_records.h"
#include "db/access/write_checks.h"
#include "format/keyspace_record.h"
#include "txn/transaction_impl.h"

namespace mergedb::txn {

std::string TransactionImpl::RecordKey(std::string_view name) const {
  return db::KeyspaceRecordTreeKey(*key_map_, name);
}

// WHY not in an optimistic transaction: the map is chosen under the writers' lock, and other writers would
// wait for a transaction that may never commit.
Status TransactionImpl::EnsureKeyMap() {
  if (key_map_ != nullptr) return {};
  if (options_.kind != TransactionKind::kSingleWriter) {
    return Status::NotSupported(
        "this would be the first keyspace of the database; create it outside of the transaction, or in a transaction "
        "of kind kSingleWriter");
  }
  const auto begins_own_key = [this](const std::string& prefix) {
    const auto own = writes_.NewIterator();
    own->Seek(prefix, kv::kTagMax);
    return own->Valid() && own->entry().key.starts_with(prefix);
  };
  RETURN_IF_ERROR(host_.keyspaces().Enable(begins_own_key));
  // An earlier call may have chosen the map and failed to enable it. That call did not check this transaction's keys.
  const kv::KeyMap* const map = host_.key_map();
  if (begins_own_key(map->reserved_prefix())) return Status::Conflict(kOtherKeyMap);
  key_map_ = map;
  has_whole_ranges_ = writes_.NewMaskSource() != nullptr;
  return {};
}

Result<Keyspace> TransactionImpl::OpenKeyspace(std::string_view name) {
  RETURN_IF_ERROR(CheckReadable(Keyspace()));
  std::string value;
  const bool has_none = key_map_ == nullptr;
  const Status status = has_none ? Status::NotFound("") : GetInTree(RecordKey(name), &value);
  if (status.IsNotFound()) return Status::NotFound("there is no keyspace \"" + base::Escape(name, 64) + "\"");
  RETURN_IF_ERROR(status);
  ASSIGN_OR_RETURN(const kv::KeyspaceId id, format::DecodeKeyspaceRecord(value));
  RETURN_IF_ERROR(host_.keyspaces().CheckMade(Keyspace(id)));
  return Keyspace(id);
}

// The keyspaces as the transaction sees them. The read is not remembered.
Result<std::vector<KeyspaceEntry>> TransactionImpl::ReadKeyspaceRecords() {
  if (key_map_ == nullptr) return std::vector<KeyspaceEntry>();
  IteratorOptions options = OptionsOfReads();
  options.prefix = RecordKey("");
  return db::ReadKeyspaceRecords(*key_map_, *host_.NewTreeIterator(options, NewOverlay()));
}

Result<std::vector<KeyspaceEntry>> TransactionImpl::ListKeyspaces() {
  RETURN_IF_ERROR(CheckReadable(Keyspace()));
  ASSIGN_OR_RETURN(auto entries, ReadKeyspaceRecords());
  if (remembers_reads() && key_map_ != nullptr) {
    const std::string first = RecordKey("");
    RETURN_IF_ERROR(RememberTreeStretch(first, *base::PrefixEnd(first)));
  }
  return entries;
}

Result<Keyspace> TransactionImpl::CreateKeyspace(std::string_view name, const KeyspaceOptions& options) {
  RETURN_IF_ERROR(CheckWritable(Keyspace()));
  RETURN_IF_ERROR(db::CheckKeyspace(name, options));
  RETURN_IF_ERROR(EnsureKeyMap());
  const auto found = OpenKeyspace(name);
  if (found && !options.may_exist)
    return Status::InvalidArgument("a keyspace \"" + base::Escape(name, 64) + "\" exists already");
  if (found || !found.error().IsNotFound()) return found;
  const bool is_single = options_.kind == TransactionKind::kSingleWriter;
  ASSIGN_OR_RETURN(const kv::KeyspaceId id, host_.keyspaces().AllocateId(is_single ? this : nullptr));
  RETURN_IF_ERROR(Write(std::nullopt, kv::Kind::kPut, RecordKey(name), format::EncodeKeyspaceRecord(id)));
  changes_.created.push_back(id);
  changes_.created_names.emplace_back(name);
  return Keyspace(id);
}

// The name under which the transaction sees the keyspace. WHY it reads the record: the keyspace may have been
// created after the snapshot.
Result<std::string> TransactionImpl::NameOf(Keyspace keyspace) {
  const auto created = std::ranges::find(changes_.created, keyspace.id());
  if (created != changes_.created.end())
    return changes_.created_names[static_cast<size_t>(created - changes_.created.begin())];
  if (auto name = host_.keyspaces().NameOf(keyspace.id()); name) {
    const auto found = OpenKeyspace(*name);
    if (found && *found == keyspace) return std::move(*name);
    if (!found && !found.error().IsNotFound()) return found.error();
  }
  return Status::InvalidArgument("keyspace " + std::to_string(keyspace.id()) + " was dropped");
}

Status TransactionImpl::DropKeyspace(Keyspace keyspace) {
  RETURN_IF_ERROR(CheckWritable(keyspace));
  if (keyspace.is_default()) return Status::InvalidArgument("the default keyspace cannot be dropped");
  ASSIGN_OR_RETURN(const std::string name, NameOf(keyspace));
  const std::string key = RecordKey(name);
  const std::string prefix = key_map_->Prefix(keyspace.id());
  const std::string end = *base::PrefixEnd(prefix);
  if (remembers_reads()) RETURN_IF_ERROR(RememberTreeKey(key));
  RETURN_IF_ERROR(CheckRoom(OwnWrites::BytesOf(key.size(), 0) + OwnWrites::BytesOf(prefix.size(), end.size())));
  RETURN_IF_ERROR(Write(std::nullopt, kv::Kind::kDelete, key, {}));
  RETURN_IF_ERROR(Write(std::nullopt, kv::Kind::kRangeDelete, prefix, end));
  changes_.dropped.push_back(keyspace.id());
  return {};
}

Status TransactionImpl::ClearKeyspace(Keyspace keyspace) {
  RETURN_IF_ERROR(CheckWritable(keyspace));
  if (keyspace.is_default())
    return Status::InvalidArgument("ClearKeyspace does not support the default keyspace; use DeleteRange");
  const std::string prefix = key_map_->Prefix(keyspace.id());
  RETURN_IF_ERROR(Write(std::nullopt, kv::Kind::kRangeDelete, prefix, *base::PrefixEnd(prefix)));
  NoteUse(keyspace);
  return {};
}

}  // namespace mergedb::txn
