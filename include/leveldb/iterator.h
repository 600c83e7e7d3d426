// A cursor over (key, value) pairs in order. The caller deletes it before what it came from.
// THREADS: const members may run at once; anything else needs the caller's lock.
#ifndef STORAGE_LEVELDB_INCLUDE_ITERATOR_H_
#define STORAGE_LEVELDB_INCLUDE_ITERATOR_H_

#include "leveldb/export.h"
#include "leveldb/slice.h"
#include "leveldb/status.h"

namespace leveldb {

class LEVELDB_EXPORT Iterator {
 public:
  Iterator();
  Iterator(const Iterator&) = delete;
  Iterator& operator=(const Iterator&) = delete;
  virtual ~Iterator();

  virtual bool Valid() const = 0;
  virtual void SeekToFirst() = 0;
  virtual void SeekToLast() = 0;
  virtual void Seek(const Slice& target) = 0;  // the first pair at or after it

  // REQUIRES: Valid(), for all that follow but status().
  virtual void Next() = 0;
  virtual void Prev() = 0;
  virtual Slice key() const = 0;    // until the iterator moves
  virtual Slice value() const = 0;  // until the iterator moves
  // Why the iterator is not valid, if that is not the end.
  virtual Status status() const = 0;

  // Called with both arguments when the iterator is deleted.
  using CleanupFunction = void (*)(void* first, void* second);
  void RegisterCleanup(CleanupFunction function, void* first, void* second);

 private:
  struct CleanupNode {
    CleanupFunction function;  // null: the node is empty
    void* first;
    void* second;
    CleanupNode* next;
  };
  CleanupNode cleanup_head_;
};

LEVELDB_EXPORT Iterator* NewEmptyIterator();
LEVELDB_EXPORT Iterator* NewErrorIterator(const Status& status);

}  // namespace leveldb

#endif  // STORAGE_LEVELDB_INCLUDE_ITERATOR_H_
