// Destructors of the classes that programs derive from. They are out of line so that the vtables and type
// information lie in this library, where already compiled programs look for them.
#include "leveldb/cache.h"
#include "leveldb/comparator.h"
#include "leveldb/db.h"
#include "leveldb/env.h"
#include "leveldb/filter_policy.h"
#include "leveldb/write_batch.h"

namespace leveldb {

Cache::~Cache() = default;
Comparator::~Comparator() = default;
DB::~DB() = default;
Env::Env() = default;
Env::~Env() = default;
EnvWrapper::~EnvWrapper() = default;
FileLock::~FileLock() = default;
FilterPolicy::~FilterPolicy() = default;
Logger::~Logger() = default;
RandomAccessFile::~RandomAccessFile() = default;
SequentialFile::~SequentialFile() = default;
Snapshot::~Snapshot() = default;
WritableFile::~WritableFile() = default;
WriteBatch::Handler::~Handler() = default;

Status Env::NewAppendableFile(const std::string& fname, WritableFile**) {
  return Status::NotSupported("NewAppendableFile", fname);
}
Status Env::RemoveFile(const std::string& fname) { return DeleteFile(fname); }
Status Env::DeleteFile(const std::string& fname) { return RemoveFile(fname); }
Status Env::RemoveDir(const std::string& dirname) { return DeleteDir(dirname); }
Status Env::DeleteDir(const std::string& dirname) { return RemoveDir(dirname); }

// Programs call these as DB::Put(...) from their own subclasses.
Status DB::Put(const WriteOptions& options, const Slice& key, const Slice& value) {
  WriteBatch batch;
  batch.Put(key, value);
  return Write(options, &batch);
}

Status DB::Delete(const WriteOptions& options, const Slice& key) {
  WriteBatch batch;
  batch.Delete(key);
  return Write(options, &batch);
}

}  // namespace leveldb
