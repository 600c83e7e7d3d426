// Changes that happen together: all of them are visible, or none, now and after any crash.
//
//     WriteBatch batch;
//     batch.Delete("old");
//     batch.Put("new", value);
//     Status status = db->Write({}, batch);
//
// Later changes in a batch win over earlier ones of the same key. Keys and values are copied in.
// THREADS: a value; not for use by two threads at once.
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
  // What a batch holds, in order, for whoever wants to look into it.
  class MERGEDB_EXPORT Visitor {
   public:
    virtual ~Visitor();
    virtual void Put(std::string_view key, std::string_view value) = 0;
    virtual void Delete(std::string_view key) = 0;
    virtual void DeleteRange(std::string_view begin, std::string_view end) = 0;
    virtual void Merge(std::string_view key, std::string_view operand) = 0;
    // The calls that follow are about this keyspace; before the first such call, about the default one. False: this visitor does
    // not know keyspaces, and Visit ends with NotSupported.
    virtual bool EnterKeyspace(Keyspace) { return false; }
  };

  void Put(std::string_view key, std::string_view value);
  void Delete(std::string_view key);
  // Every key from `begin` on and before `end`, as it stands at this place of the batch. Writing a batch with a range whose
  // begin is after its end is InvalidArgument; one with begin equal to end deletes nothing.
  void DeleteRange(std::string_view begin, std::string_view end);
  // As DB::Merge. An operand that it would refuse makes Write refuse the batch.
  void Merge(std::string_view key, std::string_view operand);
  // The same in a keyspace of the database that the batch is written to.
  void Put(Keyspace keyspace, std::string_view key, std::string_view value);
  void Delete(Keyspace keyspace, std::string_view key);
  void DeleteRange(Keyspace keyspace, std::string_view begin, std::string_view end);
  void Merge(Keyspace keyspace, std::string_view key, std::string_view operand);
  void Append(const WriteBatch& other);
  void Clear();
  void Reserve(size_t bytes) { rep_.reserve(bytes); }

  uint64_t count() const { return count_; }
  size_t bytes() const { return rep_.size(); }  // of the encoded form, which is what the log stores
  Status Visit(Visitor& visitor) const;

  // The encoded records (docs/formats/batch.md). Whole batches only; for the engine and for replication.
  std::string_view rep() const { return rep_; }

 private:
  std::string rep_;
  uint64_t count_ = 0;
};

}  // namespace mergedb
