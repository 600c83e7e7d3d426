#include "bench/replay.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/keys.h"
#include "bench/measure.h"
#include "bench/open_loop.h"
#include "bench/workloads.h"
#include "mergedb/env.h"
#include "trace/reader.h"

namespace mergedb::bench {
namespace {

using trace::Operation;
// WHY this name: bench::OpKind is the kind in the report.
using Kind = trace::OpKind;

// The key in the engine's one keyspace.
std::string TreeKey(uint32_t keyspace, std::string_view key) {
  std::string tree;
  if (keyspace != 0) {
    for (const int shift : {24, 16, 8, 0}) tree += static_cast<char>(keyspace >> shift);
  }
  return tree.append(key);
}

class Player {
 public:
  Player(Task& task, trace::Reader& reader)
      : task_(task),
        reader_(reader),
        can_merge_(task.engine->CanMerge()),
        single_(task.engine->NewWriter(task.workload.durability, false)),
        batch_(task.engine->NewWriter(task.workload.durability, true)),
        gets_(task.engine->NewReader()),
        values_(task.value_bytes) {}

  void Play() {
    const uint64_t start = NowNanos();
    for (Operation op; reader_.Next(&op);) {
      if (op.thread % static_cast<uint32_t>(task_.flags.threads) != static_cast<uint32_t>(task_.index)) continue;
      if (!op.is_element) WaitFor(op, start);
      op.is_element ? PlayElement(op) : PlayCall(op);
    }
    AddMessages();
  }

 private:
  struct OpenCursor {
    std::unique_ptr<Cursor> cursor;
    uint32_t keyspace = 0;
    bool has_lower = false, has_upper = false;
    std::string lower, upper;
  };

  void WaitFor(const Operation& op, uint64_t start) {
    begin_nanos_ = NowNanos();
    if (task_.flags.replay_speed <= 0) return;
    const uint64_t due =
        start + static_cast<uint64_t>(static_cast<double>(op.start_micros) * 1000 / task_.flags.replay_speed);
    WaitUntil(due);
    begin_nanos_ = NowNanos();
    late_nanos_max_ = std::max(late_nanos_max_, begin_nanos_ - due);
  }

  void Finish(OpKind kind, int64_t found) { task_.stats.FinishedOp(kind, found, NowNanos() - begin_nanos_); }

  void PlayCall(const Operation& op) {
    group_ = op;
    elements_left_ = trace::IsGroup(op.kind) ? op.count : 0;
    found_ = 0;
    if (op.kind == Kind::kGet) {
      PlayGet(op);
      Finish(OpKind::kRead, found_);
    } else if (op.kind == Kind::kLost) {
      lost_ += op.count;
    } else if (trace::IsWrite(op.kind) && op.kind != Kind::kBatch) {
      if (op.code != Code::kOk) return;
      PlayWrite(op, *single_);
      single_->Commit();
      Finish(OpKind::kUpdate, 0);
    } else if (op.iterator != 0) {
      PlayIterator(op);
    }
  }

  void PlayElement(const Operation& op) {
    if (elements_left_ == 0) return;
    const bool is_get = group_.kind == Kind::kMultiGet;
    if (is_get) {
      PlayGet(op);
    } else if (group_.code == Code::kOk) {
      PlayWrite(op, *batch_);
    }
    if (--elements_left_ > 0) return;
    if (is_get) return Finish(OpKind::kRead, found_);
    if (group_.code != Code::kOk) return;
    batch_->Commit();
    Finish(OpKind::kUpdate, 0);
  }

  // Valid until the next call.
  std::string_view KeyOf(const Operation& op) {
    if (op.keyspace == 0) return op.key;
    return scratch_ = TreeKey(op.keyspace, op.key);
  }

  void PlayGet(const Operation& op) {
    const std::string_view key = KeyOf(op);
    const bool is_found = gets_->Get(key, &value_);
    found_ += is_found;
    if (!op.in_transaction) differs_ += is_found != (op.code == Code::kOk);
    task_.stats.AddFound(is_found);
    if (is_found) task_.stats.AddBytes(static_cast<int64_t>(key.size() + value_.size()));
  }

  void PlayWrite(const Operation& op, Writer& writer) {
    const std::string_view key = KeyOf(op);
    int64_t bytes = static_cast<int64_t>(key.size());
    if (op.kind == Kind::kDelete) {
      writer.Delete(key);
    } else if (op.kind == Kind::kDeleteRange) {
      DeleteRange(key, TreeKey(op.keyspace, op.end), writer);
    } else {
      const std::string_view value = op.kind == Kind::kMerge && can_merge_ ? OperandOf(op) : ValueOf(op);
      if (op.kind == Kind::kMerge && can_merge_) {
        writer.Merge(key, value);
      } else {
        merges_as_puts_ += op.kind == Kind::kMerge;
        writer.Put(key, value);
      }
      bytes += static_cast<int64_t>(value.size());
    }
    task_.stats.AddBytes(bytes);
    task_.stats.AddUserBytes(bytes);
  }

  void DeleteRange(std::string_view begin, std::string_view end, Writer& writer) {
    if (task_.engine->CanDeleteRange()) return writer.DeleteRange(begin, end);
    const auto cursor = task_.engine->NewCursor();
    std::vector<std::string> keys;
    for (cursor->Seek(begin); cursor->Valid() && cursor->key() < end; cursor->Next()) keys.emplace_back(cursor->key());
    for (const std::string& key : keys) writer.Delete(key);
    ++ranges_as_deletes_;
  }

  std::string_view ValueOf(const Operation& op) {
    if (op.value && op.kind == Kind::kPut) return *op.value;
    if (op.value_bytes <= task_.value_bytes.size()) return values_.Next(op.value_bytes);
    while (large_.size() < op.value_bytes) large_.append(task_.value_bytes);
    return std::string_view(large_).substr(0, op.value_bytes);
  }
  // Of --merge_operator. The size in the trace includes the head of an operand of mergedb.
  std::string_view OperandOf(const Operation& op) {
    return task_.flags.merge_operator == "uint64add" ? values_.Next(8) : ValueOf(op);
  }

  void PlayIterator(const Operation& op) {
    if (op.kind == Kind::kIterator) {
      cursors_[op.iterator] = {.cursor = task_.engine->NewCursor(),
                               .keyspace = op.keyspace,
                               .has_lower = op.has_lower || op.keyspace != 0,
                               .has_upper = op.has_upper || op.keyspace != 0,
                               .lower = TreeKey(op.keyspace, op.key),
                               .upper = op.has_upper ? TreeKey(op.keyspace, op.end) : TreeKey(op.keyspace + 1, "")};
      return;
    }
    const auto open = cursors_.find(op.iterator);
    if (open == cursors_.end()) return;
    if (op.kind == Kind::kRelease) {
      cursors_.erase(open);
      return;
    }
    const OpenCursor& of = open->second;
    if (op.kind == Kind::kNext || op.kind == Kind::kPrev) return PlaySteps(op, *of.cursor);
    Seek(op, of);
    Finish(OpKind::kScan, Show(*of.cursor));
  }

  void Seek(const Operation& op, const OpenCursor& of) {
    Cursor& cursor = *of.cursor;
    switch (op.kind) {
      case Kind::kSeek: return cursor.Seek(std::max(of.lower, TreeKey(of.keyspace, op.key)));
      case Kind::kSeekForPrev: {
        const std::string target = TreeKey(of.keyspace, op.key);
        return of.has_upper && target >= of.upper ? SeekForPrev(of.upper, cursor, false)
                                                  : SeekForPrev(target, cursor, true);
      }
      case Kind::kSeekToFirst: return of.has_lower ? cursor.Seek(of.lower) : cursor.SeekToFirst();
      default: return of.has_upper ? SeekForPrev(of.upper, cursor, false) : cursor.SeekToLast();
    }
  }

  // To the last key at or before `target`; before it unless `may_equal`.
  static void SeekForPrev(const std::string& target, Cursor& cursor, bool may_equal) {
    cursor.Seek(target);
    if (!cursor.Valid()) return cursor.SeekToLast();
    if (!may_equal || cursor.key() != target) cursor.Prev();
  }

  void PlaySteps(const Operation& op, Cursor& cursor) {
    int64_t entries = 0;
    for (uint64_t step = 0; step < op.count && cursor.Valid(); ++step) {
      op.kind == Kind::kNext ? cursor.Next() : cursor.Prev();
      entries += Show(cursor);
    }
    Finish(OpKind::kScan, entries);
  }

  int64_t Show(Cursor& cursor) {
    if (!cursor.Valid()) return 0;
    task_.stats.AddBytes(EntryBytes(cursor, task_.flags));
    return 1;
  }

  void AddMessages() {
    const auto add = [this](int64_t count, const char* what) {
      if (count > 0) task_.stats.AddMessage("(" + std::to_string(count) + " " + what + ")");
    };
    if (task_.flags.replay_speed > 0) {
      task_.stats.AddMessage("(at most " + std::to_string(late_nanos_max_ / 1'000'000) + " ms late)");
    }
    add(differs_, "gets differ from the trace in whether the key exists");
    add(merges_as_puts_, "merges by puts");
    add(ranges_as_deletes_, "range deletes by scans");
    add(static_cast<int64_t>(lost_), "operations were lost in the recording");
    if (!reader_.status().ok()) {
      task_.stats.AddMessage("(the trace is cut or damaged)");
      if (task_.index == 0) std::fprintf(stderr, "trace: %s\n", reader_.status().ToString().c_str());
    }
  }

  Task& task_;
  trace::Reader& reader_;
  const bool can_merge_;
  const std::unique_ptr<Writer> single_;
  const std::unique_ptr<Writer> batch_;
  const std::unique_ptr<Reader> gets_;
  ValueSource values_;
  std::string large_, value_, scratch_;
  std::map<uint64_t, OpenCursor> cursors_;
  Operation group_;
  uint64_t elements_left_ = 0;
  int64_t found_ = 0, differs_ = 0, merges_as_puts_ = 0, ranges_as_deletes_ = 0;
  uint64_t lost_ = 0, begin_nanos_ = 0, late_nanos_max_ = 0;
};

}  // namespace

void Replay(Task& task) {
  const Env env = DefaultEnv();
  const auto reader = trace::Reader::Open(env.file_system, task.flags.trace);
  if (!reader) Die("trace", "open", reader.status().ToString());
  Player(task, **reader).Play();
}

}  // namespace mergedb::bench
