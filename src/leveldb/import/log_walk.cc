#include "leveldb/import/log_walk.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "format/file_name.h"
#include "leveldb/format/batch.h"
#include "leveldb/format/log.h"
#include "table/reader.h"
#include "table/writer.h"

namespace mergedb::leveldb_import {
namespace {

// Operations in the order of the log. The entries point into the batches.
struct Piece {
  std::deque<std::string> batches;
  std::vector<kv::Entry> entries;
  size_t bytes = 0;
};

// Sorts by kv::Order. If two entries have the same key and sequence, which does not occur in an undamaged log,
// the later one stays.
void Sort(const kv::Order& order, std::vector<kv::Entry>* entries) {
  std::reverse(entries->begin(), entries->end());
  std::stable_sort(entries->begin(), entries->end(),
                   [&](const kv::Entry& a, const kv::Entry& b) { return order.Compare(a, b) < 0; });
  const auto is_same = [&](const kv::Entry& a, const kv::Entry& b) { return order.Compare(a, b) == 0; };
  entries->erase(std::unique(entries->begin(), entries->end(), is_same), entries->end());
}

class PieceIterator final : public kv::ForwardIterator {
 public:
  explicit PieceIterator(std::shared_ptr<const Piece> piece) : piece_(std::move(piece)) {}

  void SeekToFirst() override { Show(0); }
  void Next() override { Show(at_ + 1); }

 private:
  void Show(size_t at) {
    at_ = at;
    valid_ = at < piece_->entries.size();
    if (valid_) entry_ = piece_->entries[at];
  }

  const std::shared_ptr<const Piece> piece_;
  size_t at_ = 0;
};

// Keeps the table open as long as its iterator lives.
class TableIterator final : public kv::ForwardIterator {
 public:
  explicit TableIterator(std::shared_ptr<table::Reader> reader)
      : reader_(std::move(reader)), it_(reader_->NewScanIterator()) {}

  void SeekToFirst() override {
    it_->SeekToFirst();
    Show();
  }
  void Next() override {
    it_->Next();
    Show();
  }

 private:
  void Show() {
    valid_ = it_->Valid();
    if (valid_) entry_ = it_->entry();
    if (!valid_) status_ = it_->status();
  }

  const std::shared_ptr<table::Reader> reader_;
  const std::unique_ptr<kv::ForwardIterator> it_;
};

class LogWalker {
 public:
  LogWalker(const Walking& walking, const LogWalkOptions& options, LogWalk* walk)
      : walking_(walking), options_(options), walk_(*walk) {}

  Status Run(const std::vector<SourceLog>& logs) {
    for (const SourceLog& log : logs) RETURN_IF_ERROR(Read(log));
    if (!damage_.ok()) walk_.report += "dropped a torn tail: " + std::string(damage_.message()) + "\n";
    if (piece_->entries.empty()) return {};
    Sort(walking_.order, &piece_->entries);
    walk_.pieces.insert(walk_.pieces.begin(), std::make_unique<PieceIterator>(std::move(piece_)));
    return {};
  }

 private:
  Status Read(const SourceLog& log) {
    const std::string path = format::JoinPath(walking_.directory, log.name);
    ASSIGN_OR_RETURN(auto file, walking_.file_system->Open(path, {.access = Access::kRead}));
    leveldb_format::LogReader reader(
        [&](uint64_t offset, size_t bytes, char* out, size_t* got) -> Status {
          RETURN_IF_ERROR(file->ReadAt(offset, bytes, out, got));
          return walking_.advance ? walking_.advance(*got) : Status();
        },
        [&](uint64_t offset, uint64_t bytes, std::string_view why) {
          Lose(log, offset, bytes, why, reader.passed_over_whole());
        });
    std::string_view record;
    while (reader.Next(&record)) {
      if (!damage_.ok()) return damage_;
      RETURN_IF_ERROR(Take(log, reader.record_offset(), record));
    }
    RETURN_IF_ERROR(reader.status());
    if (reader.is_cut_short()) walk_.report += "dropped an unfinished record at the end of " + path + "\n";
    return is_no_tail_ ? damage_ : Status();  // if losses are reported, damage_ stays OK
  }

  // Damage is a possible torn tail unless a whole record follows it.
  void Lose(const SourceLog& log, uint64_t offset, uint64_t bytes, std::string_view why, bool has_whole_behind) {
    is_no_tail_ |= has_whole_behind;
    if (walking_.on_loss) return walking_.on_loss(log.name, offset, bytes, why);
    if (damage_.ok()) {
      damage_ =
          Status::Corruption(format::JoinPath(walking_.directory, log.name) + ": offset " + std::to_string(offset) +
                             ", " + std::to_string(bytes) + " bytes: " + std::string(why));
    }
  }

  // Adds all operations of a batch, or none if the batch is damaged.
  Status Take(const SourceLog& log, uint64_t offset, std::string_view record) {
    piece_->batches.emplace_back(record);
    const std::string& batch = piece_->batches.back();
    const size_t count_before = piece_->entries.size();
    leveldb_format::BatchReader reader(batch);
    while (reader.Next()) {
      piece_->entries.push_back({.prefix = walking_.order.Prefix(reader.key()),
                                 .key = reader.key(),
                                 .tag = kv::MakeTag(reader.sequence(), reader.kind()),
                                 .value = reader.value()});
    }
    if (!reader.status().ok()) {
      piece_->entries.resize(count_before);
      piece_->batches.pop_back();
      if (!walking_.on_loss) {
        return reader.status().WithContext(format::JoinPath(walking_.directory, log.name) + ": record at offset " +
                                           std::to_string(offset));
      }
      walking_.on_loss(log.name, offset, record.size(), reader.status().message());
      return {};
    }
    if (reader.count() > 0 && walk_.first_sequence == 0) walk_.first_sequence = reader.first_sequence();
    if (reader.count() > 0) walk_.last_sequence = std::max(walk_.last_sequence, reader.sequence());
    piece_->bytes += batch.size() + reader.count() * sizeof(kv::Entry);
    return piece_->bytes < options_.piece_bytes ? Status() : Spill();
  }

  Status Spill() {
    if (piece_->entries.empty()) return {};
    Sort(walking_.order, &piece_->entries);
    const kv::FileNumber number = options_.allocate_number();
    const std::string path = format::TablePath(walking_.directory, number);
    walk_.tables.push_back(number);
    const table::WriterOptions options{.bloom_bits_per_key = 0, .bytes_expected = piece_->bytes};
    ASSIGN_OR_RETURN(auto writer, table::Writer::Create(walking_.file_system, path, number, options_.entropy(),
                                                        walking_.order, options));
    for (const kv::Entry& entry : piece_->entries) RETURN_IF_ERROR(writer->Add(entry));
    ASSIGN_OR_RETURN(auto meta, writer->Finish());
    piece_ = std::make_shared<Piece>();
    ASSIGN_OR_RETURN(auto reader,
                     table::Reader::Open(walking_.file_system, path, std::move(meta), walking_.order, nullptr));
    walk_.pieces.insert(walk_.pieces.begin(), std::make_unique<TableIterator>(std::move(reader)));
    return {};
  }

  const Walking& walking_;
  const LogWalkOptions& options_;
  LogWalk& walk_;
  std::shared_ptr<Piece> piece_ = std::make_shared<Piece>();
  Status damage_;  // the first damage that was not reported as a loss
  bool is_no_tail_ = false;
};

}  // namespace

Status WalkLogs(const Walking& walking, const std::vector<SourceLog>& logs, const LogWalkOptions& options,
                LogWalk* walk) {
  return LogWalker(walking, options, walk).Run(logs);
}

}  // namespace mergedb::leveldb_import
