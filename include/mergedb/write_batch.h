// A batch of changes that is atomic: all changes are visible, or none, now and after any crash.
//
//     WriteBatch batch;
//     batch.Delete("old");
//     batch.Put("new", value);
//     Status status = db->Write({}, batch);
//
// If a batch changes a key twice, the later change wins. The batch copies keys and values. A batch belongs to
// no database. Its limit is kBatchBytesMax; DB::Write checks it.
// THREADS: a value; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "mergedb/export.h"
#include "mergedb/keyspace.h"
#include "mergedb/status.h"

namespace mergedb {

class MERGEDB_EXPORT WriteBatch {
 public:
  // Receives the changes of a batch, in order. The views are valid during the call.
  class MERGEDB_EXPORT Visitor {
   public:
    virtual ~Visitor();
    virtual void Put(std::string_view key, std::string_view value) = 0;
    virtual void Delete(std::string_view key) = 0;
    virtual void DeleteRange(std::string_view begin, std::string_view end) = 0;
    virtual void Merge(std::string_view key, std::string_view operand) = 0;
    // The next calls are about this keyspace; before the first EnterKeyspace they are about the default
    // keyspace. False: this visitor does not know keyspaces, and Visit returns NotSupported.
    virtual bool EnterKeyspace(Keyspace) { return false; }
  };

  void Put(std::string_view key, std::string_view value);
  void Delete(std::string_view key);
  // Deletes every key in [begin, end), also keys that earlier changes of the batch put. If begin equals end,
  // nothing is deleted. If begin is after end, Write refuses the batch with InvalidArgument.
  void DeleteRange(std::string_view begin, std::string_view end);
  // As DB::Merge. If DB::Merge would refuse the operand, Write refuses the batch.
  void Merge(std::string_view key, std::string_view operand);
  // The same calls for a keyspace of the database to which the batch is written.
  void Put(Keyspace keyspace, std::string_view key, std::string_view value);
  void Delete(Keyspace keyspace, std::string_view key);
  void DeleteRange(Keyspace keyspace, std::string_view begin, std::string_view end);
  void Merge(Keyspace keyspace, std::string_view key, std::string_view operand);
  // Adds the changes of `other` after those of this batch.
  void Append(const WriteBatch& other);
  void Clear();
  void Reserve(size_t bytes) { rep_.reserve(bytes); }

  // number of changes
  uint64_t count() const { return count_; }
  size_t bytes() const { return rep_.size(); }  // size of the encoded form, which is stored in the WAL
  Status Visit(Visitor& visitor) const;

  // The encoded records (docs/formats/batch.md), whole batches only. For the engine and for replication.
  std::string_view rep() const { return rep_; }

 private:
  std::string rep_;
  uint64_t count_ = 0;
};

}  // namespace mergedb
