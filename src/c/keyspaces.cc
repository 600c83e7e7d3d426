// The C interface of keyspaces. For keyspaces in transactions see src/c/transactions.cc.
#include <cstdlib>
#include <cstring>
#include <new>

#include "c/interface.h"
#include "c/options.h"

namespace mergedb::c {

Status GiveEntries(const std::vector<KeyspaceEntry>& list, mergedb_keyspace_entry** entries, size_t* count) {
  size_t bytes = list.size() * sizeof(mergedb_keyspace_entry) + 1;
  for (const KeyspaceEntry& each : list) bytes += each.name.size();
  auto* const given = static_cast<mergedb_keyspace_entry*>(std::malloc(bytes));
  if (given == nullptr) throw std::bad_alloc();
  char* names = reinterpret_cast<char*>(given + list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    given[i] = {.name = {.data = names, .size = list[i].name.size()}, .keyspace = list[i].keyspace.id()};
    std::memcpy(names, list[i].name.data(), list[i].name.size());
    names += list[i].name.size();
  }
  *entries = given;
  *count = list.size();
  return Status::Ok();
}

}  // namespace mergedb::c

using namespace mergedb;
using namespace mergedb::c;

extern "C" {

mergedb_code mergedb_keyspace_create(mergedb_db db, const void* name, size_t name_size, int32_t may_exist,
                                     mergedb_keyspace* keyspace, mergedb_error* error) {
  Clear(keyspace);
  return On<Database>(db, error, [&](Database& database) {
    RETURN_IF_ERROR(CheckBytes(name, name_size, "name"));
    RETURN_IF_ERROR(CheckPointer(keyspace, "keyspace"));
    KeyspaceOptions options;
    RETURN_IF_ERROR(DecodeMayExist(may_exist, &options));
    ASSIGN_OR_RETURN(const Keyspace created, database.db().CreateKeyspace(ToStringView(name, name_size), options));
    *keyspace = created.id();
    return Status::Ok();
  });
}

mergedb_code mergedb_keyspace_open(mergedb_db db, const mergedb_read_options* options, const void* name,
                                   size_t name_size, mergedb_keyspace* keyspace, mergedb_error* error) {
  Clear(keyspace);
  return On<Database>(db, error, [&](Database& database) {
    RETURN_IF_ERROR(CheckBytes(name, name_size, "name"));
    RETURN_IF_ERROR(CheckPointer(keyspace, "keyspace"));
    ReadOptions read;
    std::shared_ptr<const Snapshot> snapshot;
    RETURN_IF_ERROR(DecodeReadOptions(options, database.opened.get(), &read, &snapshot));
    ASSIGN_OR_RETURN(const Keyspace found, database.db().OpenKeyspace(ToStringView(name, name_size), read));
    *keyspace = found.id();
    return Status::Ok();
  });
}

mergedb_code mergedb_keyspace_list(mergedb_db db, const mergedb_read_options* options, mergedb_keyspace_entry** entries,
                                   size_t* count, mergedb_error* error) {
  Clear(entries, count);
  return On<Database>(db, error, [&](Database& database) {
    RETURN_IF_ERROR(CheckPointer(entries, "entries"));
    RETURN_IF_ERROR(CheckPointer(count, "count"));
    ReadOptions read;
    std::shared_ptr<const Snapshot> snapshot;
    RETURN_IF_ERROR(DecodeReadOptions(options, database.opened.get(), &read, &snapshot));
    ASSIGN_OR_RETURN(const auto list, database.db().ListKeyspaces(read));
    return GiveEntries(list, entries, count);
  });
}

mergedb_code mergedb_keyspace_drop(mergedb_db db, const mergedb_write_options* options, mergedb_keyspace keyspace,
                                   mergedb_error* error) {
  return On<Database>(db, error, [&](Database& database) {
    WriteOptions write;
    RETURN_IF_ERROR(DecodeWriteOptions(options, &write));
    return database.db().DropKeyspace(write, Keyspace(keyspace));
  });
}

mergedb_code mergedb_keyspace_clear(mergedb_db db, const mergedb_write_options* options, mergedb_keyspace keyspace,
                                    mergedb_error* error) {
  return On<Database>(db, error, [&](Database& database) {
    WriteOptions write;
    RETURN_IF_ERROR(DecodeWriteOptions(options, &write));
    return database.db().ClearKeyspace(write, Keyspace(keyspace));
  });
}

mergedb_code mergedb_keyspace_compact(mergedb_db db, mergedb_keyspace keyspace, const mergedb_slice* lower,
                                      const mergedb_slice* upper, mergedb_error* error) {
  return On<Database>(db, error, [&](Database& database) {
    std::string_view ends[2];
    if (lower != nullptr) {
      RETURN_IF_ERROR(CheckBytes(*lower, "lower"));
      ends[0] = ToStringView(*lower);
    }
    if (upper != nullptr) {
      RETURN_IF_ERROR(CheckBytes(*upper, "upper"));
      ends[1] = ToStringView(*upper);
    }
    return database.db().CompactRange(Keyspace(keyspace), lower != nullptr ? &ends[0] : nullptr,
                                      upper != nullptr ? &ends[1] : nullptr);
  });
}

}  // extern "C"
