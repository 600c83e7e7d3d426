// Changes that are applied together, in the order they were added.
//
// FORMAT: rep_ is one string, because programs copy it inline: sequence u64 | count u32 | records, as LevelDB's log has
// it.
// THREADS: const members may run at once; anything else needs the caller's lock.
#ifndef STORAGE_LEVELDB_INCLUDE_WRITE_BATCH_H_
#define STORAGE_LEVELDB_INCLUDE_WRITE_BATCH_H_

#include <string>

#include "leveldb/export.h"
#include "leveldb/status.h"

namespace leveldb {

class Slice;

class LEVELDB_EXPORT WriteBatch {
 public:
  class LEVELDB_EXPORT Handler {
   public:
    virtual ~Handler();
    virtual void Put(const Slice& key, const Slice& value) = 0;
    virtual void Delete(const Slice& key) = 0;
  };

  WriteBatch();
  WriteBatch(const WriteBatch&) = default;
  WriteBatch& operator=(const WriteBatch&) = default;
  ~WriteBatch();

  void Put(const Slice& key, const Slice& value);
  void Delete(const Slice& key);
  void Clear();
  size_t ApproximateSize() const;         // bytes
  void Append(const WriteBatch& source);  // its changes come after those of this one
  Status Iterate(Handler* handler) const;

 private:
  friend class WriteBatchInternal;  // of programs that carry LevelDB's internal headers along: `rep_` is its encoding
  std::string rep_;
};

}  // namespace leveldb

#endif  // STORAGE_LEVELDB_INCLUDE_WRITE_BATCH_H_
