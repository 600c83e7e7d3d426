// FORMAT: a trace, which is a file of the operations that a program did on a database (docs/formats/trace.md).
//
//   trace   | head | block | block | ... | block with the END record |
//   head    | magic 8 | version 4 | head bytes 4 | id 8 | start 8 | sampling 4 | flags 4 | crc 4 | 0 4 |   48 bytes
//   block   | payload bytes 4 | number 4 | base 8 | crc 4 | payload: records |                  20 bytes + payload
//   record  | bytes varint | kind u8 | flags u8 | [thread | start | took] | [code] | [keyspace] | body |
//
// The crc of a block covers the id of the trace, the head of the block and its payload. So a block of another trace, a
// block in another place and a damaged block are errors. The last record of a whole trace is END, so a trace that was
// cut between two blocks is an error, too. What comes before the damage is usable.
//
// A group is a record BATCH or MULTI_GET and the records of its elements, which follow it in the same block.
//
// A reader skips records of unknown kinds, and the rest of a record that is longer than it expects.
//
// Tests: tests/unit/trace/format_test.cc, fuzz/trace_fuzz.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mergedb/result.h"
#include "mergedb/status.h"

namespace mergedb::trace {

inline constexpr size_t kHeadBytes = 48;
inline constexpr size_t kHeadBytesMax = 4096;
inline constexpr size_t kBlockHeadBytes = 20;
inline constexpr size_t kPayloadBytesMax = size_t{64} << 20;
inline constexpr size_t kEndBytesMax = 64;  // of a block with nothing but END

enum class OpKind : uint8_t {
  kPut = 1,
  kDelete = 2,
  kMerge = 3,
  kDeleteRange = 4,
  kBatch = 5,
  kGet = 6,
  kMultiGet = 7,
  kIterator = 8,  // an iterator was made
  kSeek = 9,
  kSeekForPrev = 10,
  kSeekToFirst = 11,
  kSeekToLast = 12,
  kNext = 13,  // `count` steps, from one seek or turn to the next one
  kPrev = 14,
  kRelease = 15,  // the iterator was destroyed
  kLost = 16,     // `count` operations are missing here
  kEnd = 17,      // the last record
};
inline constexpr uint8_t kOpKindMax = 17;
std::string_view NameOf(OpKind kind);  // "put", "delete_range", ...

constexpr bool IsGroup(OpKind kind) { return kind == OpKind::kBatch || kind == OpKind::kMultiGet; }
constexpr bool IsWrite(OpKind kind) { return kind >= OpKind::kPut && kind <= OpKind::kBatch; }
constexpr bool IsSeek(OpKind kind) { return kind >= OpKind::kSeek && kind <= OpKind::kSeekToLast; }

enum class EndReason : uint8_t { kEnded = 1, kFull = 2, kClosed = 3, kScrubbed = 4 };

struct Head {
  uint64_t id = 0;  // a random number
  uint64_t start_unix_micros = 0;
  uint32_t sampling = 1;  // one of so many keys and iterators is in the trace
  bool has_values = false;
  bool is_scrubbed = false;
  bool is_bytewise = true;  // the order of the keys
  bool operator==(const Head&) const = default;
};

// An operation. The views live as long as the bytes from which they were decoded.
struct Operation {
  OpKind kind = OpKind::kPut;
  bool is_element = false;      // of the group before it; has the thread and the times of the group
  bool in_transaction = false;  // of a get, a batch (its commit) or an iterator: of a transaction
  uint32_t thread = 0;          // number of the thread in its process
  uint64_t start_micros = 0;    // when the call began, since the start of the trace
  uint64_t took_micros = 0;
  Code code = Code::kOk;
  uint32_t keyspace = 0;
  std::string_view key = {};                   // of a range delete: its begin; of an iterator: its lower bound
  std::string_view end = {};                   // of a range delete; of an iterator: its upper bound
  uint64_t value_bytes = 0;                    // of a put, a merge operand, or the value that a get found
  std::optional<std::string_view> value = {};  // of a put or merge, if the trace has values
  uint64_t iterator = 0;                       // number of the iterator, from 1 on
  bool has_lower = false, has_upper = false, keys_only = false;  // of an iterator
  uint64_t count = 0;  // of a group: its elements; of kNext and kPrev: steps; of kLost and kEnd: operations
  uint64_t lost = 0;   // of kEnd: operations that are missing
  EndReason reason = EndReason::kEnded;
  bool operator==(const Operation&) const = default;
};

std::string EncodeHead(const Head& head);
// The head in the first bytes of a file, and its size. Corruption, or NotSupported if its version is newer.
Result<Head> DecodeHead(std::string_view bytes, size_t* head_bytes);

// Makes the blocks of a trace.
class BlockBuilder {
 public:
  explicit BlockBuilder(uint64_t trace_id) : trace_id_(trace_id) { Clear(); }

  // REQUIRES: the elements of a group follow it before Finish.
  void Add(const Operation& operation);
  bool empty() const { return payload_.size() == kBlockHeadBytes; }
  size_t bytes() const { return payload_.size(); }  // of the block
  // A place to which Rollback returns.
  struct Mark {
    size_t bytes;
    uint64_t previous_start;
    uint64_t base;
  };
  Mark mark() const { return {payload_.size(), previous_start_, base_}; }
  void Rollback(const Mark& mark);
  // The block; the next one begins.
  std::string Finish();

 private:
  void Clear();

  const uint64_t trace_id_;
  std::string payload_;  // begins with room for the head
  std::string content_;  // of the record that is encoded
  uint64_t base_ = 0;
  uint64_t previous_start_ = 0;
  uint32_t number_ = 0;
};

struct BlockHead {
  uint32_t payload_bytes = 0;
  uint32_t number = 0;
  uint64_t base_micros = 0;
  uint32_t crc = 0;
};
// REQUIRES: kBlockHeadBytes bytes.
BlockHead DecodeBlockHead(std::string_view bytes);
uint32_t BlockCrc(uint64_t trace_id, std::string_view head, std::string_view payload);

// Decodes the records of one block, whose crc is right.
class BlockDecoder {
 public:
  BlockDecoder() = default;
  BlockDecoder(std::string_view payload, uint64_t base_micros)
      : rest_(payload), payload_bytes_(payload.size()), previous_start_(base_micros) {}
  // False at the end of the block, and at an invalid record: then status() is Corruption.
  bool Next(Operation* operation);
  const Status& status() const { return status_; }
  size_t offset() const { return payload_bytes_ - rest_.size(); }  // in the payload, of the next record

 private:
  bool Decode(std::string_view content, Operation* operation);
  bool TakesElement(const Operation& operation) const;
  bool Fail(std::string_view what);

  std::string_view rest_;
  size_t payload_bytes_ = 0;
  uint64_t previous_start_ = 0;
  Operation group_;
  uint64_t elements_left_ = 0;
  Status status_;
};

}  // namespace mergedb::trace
