#include <cerrno>
#include <cstring>

#include "lmdb/handles.h"

namespace mergedb::lmdb {

int CodeOf(const Status& status) {
  switch (status.code()) {
    case Code::kOk: return MDB_SUCCESS;
    case Code::kNotFound: return MDB_NOTFOUND;
    case Code::kCorruption: return MDB_CORRUPTED;
    case Code::kInvalidArgument: return EINVAL;
    case Code::kNotSupported: return MDB_INCOMPATIBLE;
    case Code::kIOError: return EIO;
    case Code::kNoSpace: return ENOSPC;
    case Code::kBusy: return EBUSY;
    case Code::kConflict:
    case Code::kAborted: return MDB_BAD_TXN;
    case Code::kShuttingDown: return EINVAL;
    case Code::kMergeFailed: return MDB_CORRUPTED;
  }
  return MDB_PANIC;
}

namespace {

// From MDB_KEYEXIST on. Programs compare these texts in their logs: each begins with the name of the code.
constexpr const char* kTexts[] = {
    "MDB_KEYEXIST: Key/data pair already exists",
    "MDB_NOTFOUND: No matching key/data pair found",
    "MDB_PAGE_NOTFOUND: Requested page not found",
    "MDB_CORRUPTED: Located page was wrong type",
    "MDB_PANIC: Update of meta page failed or environment had fatal error",
    "MDB_VERSION_MISMATCH: Database environment version mismatch",
    "MDB_INVALID: Not a database of this library",
    "MDB_MAP_FULL: Environment mapsize limit reached",
    "MDB_DBS_FULL: Environment maxdbs limit reached",
    "MDB_READERS_FULL: Environment maxreaders limit reached",
    "MDB_TLS_FULL: Thread-local storage keys full",
    "MDB_TXN_FULL: Transaction has too many changes",
    "MDB_CURSOR_FULL: Internal error - cursor stack limit reached",
    "MDB_PAGE_FULL: Internal error - page has no more space",
    "MDB_MAP_RESIZED: Database contents grew beyond environment mapsize",
    "MDB_INCOMPATIBLE: Operation and database do not go together; mergedb has no MDB_DUPSORT and no comparators",
    "MDB_BAD_RSLOT: This thread has a read transaction already",
    "MDB_BAD_TXN: Transaction must abort, has a child, or is invalid",
    "MDB_BAD_VALSIZE: Unsupported size of key or data",
    "MDB_BAD_DBI: The specified database handle is not open",
};

}  // namespace
}  // namespace mergedb::lmdb

char* mdb_version(int* major, int* minor, int* patch) {
  if (major != nullptr) *major = MDB_VERSION_MAJOR;
  if (minor != nullptr) *minor = MDB_VERSION_MINOR;
  if (patch != nullptr) *patch = MDB_VERSION_PATCH;
  return const_cast<char*>(MDB_VERSION_STRING);
}

char* mdb_strerror(int err) {
  if (err == 0) return const_cast<char*>("Successful return: 0");
  if (err >= MDB_KEYEXIST && err <= MDB_LAST_ERRCODE)
    return const_cast<char*>(mergedb::lmdb::kTexts[err - MDB_KEYEXIST]);
  return strerror(err);
}
