#include "leveldb/import/table_walk.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "format/file_name.h"
#include "leveldb/format/table.h"

namespace mergedb::leveldb_import {
namespace {

// An open table. Reads one block at a time and always verifies its checksum.
class TableFile {
 public:
  static Result<std::unique_ptr<TableFile>> Open(const Walking& walking, const SourceTable& table) {
    std::unique_ptr<TableFile> opened(new TableFile(walking, table));
    Status status = opened->ReadIndex();
    if (!status.ok()) return status.WithContext(opened->path_);
    return opened;
  }

  leveldb_format::TableIterator Iterate() {
    return {internal_, index_, [this](const leveldb_format::Handle& handle) { return Read(handle); }};
  }
  const leveldb_format::Handle& last_read() const { return last_read_; }
  const std::string& path() const { return path_; }

 private:
  TableFile(const Walking& walking, const SourceTable& table)
      : walking_(walking),
        path_(format::JoinPath(walking.directory, table.name)),
        bytes_(table.file.bytes),
        user_(walking.order) {}

  Status ReadIndex() {
    ASSIGN_OR_RETURN(file_, walking_.file_system->Open(path_, {.access = Access::kRead}));
    // Like LevelDB, look for the footer at the file size that the MANIFEST states.
    ASSIGN_OR_RETURN(const uint64_t there, file_->Size());
    if (there < bytes_) return Status::Corruption(std::to_string(there) + " bytes, expected " + std::to_string(bytes_));
    if (bytes_ < leveldb_format::kTableFooterBytes) return Status::Corruption("file is too short to be an sstable");
    ASSIGN_OR_RETURN(const std::string bytes,
                     ReadBytes(bytes_ - leveldb_format::kTableFooterBytes, leveldb_format::kTableFooterBytes));
    ASSIGN_OR_RETURN(const leveldb_format::TableFooter footer, leveldb_format::DecodeTableFooter(bytes));
    file_->WillRead(0, bytes_);
    ASSIGN_OR_RETURN(index_, Read(footer.index));
    return {};
  }

  Result<std::string> ReadBytes(uint64_t offset, uint64_t count) {
    std::string bytes(count, '\0');
    size_t got = 0;
    RETURN_IF_ERROR(file_->ReadAt(offset, bytes.size(), bytes.data(), &got));
    if (got < count)
      return Status::Corruption("offset " + std::to_string(offset) + ": " + std::to_string(got) + " bytes of " +
                                std::to_string(count));
    return bytes;
  }

  Result<leveldb_format::TableIterator::Block> Read(const leveldb_format::Handle& handle) {
    RETURN_IF_ERROR(leveldb_format::CheckHandle(handle, bytes_));
    last_read_ = handle;
    ASSIGN_OR_RETURN(std::string stored, ReadBytes(handle.offset, handle.bytes + leveldb_format::kBlockTrailerBytes));
    if (walking_.advance) RETURN_IF_ERROR(walking_.advance(stored.size()));
    auto block = leveldb_format::OpenBlock(std::move(stored), true);
    if (!block) return block.error().WithContext("offset " + std::to_string(handle.offset));
    return std::make_shared<const std::string>(std::move(*block));
  }

  const Walking& walking_;
  const std::string path_;
  const uint64_t bytes_;
  const leveldb_format::UserOrder user_;
  const leveldb_format::InternalOrder internal_{user_};
  std::unique_ptr<File> file_;
  leveldb_format::TableIterator::Block index_;
  leveldb_format::Handle last_read_;
};

// Damage of the file itself. Other errors, such as an I/O error, end the iterator even if damage is passed over.
bool IsDamage(const Status& status) { return status.IsCorruption() || status.IsNotFound(); }

// A sorted run: several tables, one after the other. REQUIRES: each table begins behind the last key of the table
// before.
class TableChainIterator final : public kv::ForwardIterator {
 public:
  explicit TableChainIterator(const Walking& walking) : walking_(walking) {}

  void Add(const SourceTable& table) { tables_.push_back(&table); }

  void SeekToFirst() override {
    next_ = 0;
    has_last_ = false;
    CloseTable();
    Advance();
  }
  void Next() override {
    it_->Next();
    Advance();
  }

 private:
  const SourceTable& table() const { return *tables_[next_ - 1]; }  // the table that is open

  // Shows the entry at the table's position, or the first entry behind it that is readable.
  void Advance() {
    for (valid_ = false; status_.ok();) {
      if (!it_ && !OpenNext()) return;
      if (!it_) continue;
      if (it_->Valid()) {
        if (Show()) return;
        it_->Next();
      } else if (!it_->status().ok()) {
        if (!Passes(it_->status().WithContext(file_->path()), file_->last_read())) return;
        if (!it_->SkipBlock()) CloseTable();
      } else {
        CloseTable();
      }
    }
  }

  void CloseTable() {
    it_.reset();
    file_ = nullptr;
  }

  // False after the last table. If a table cannot be opened, the iterator skips it or ends with the error.
  bool OpenNext() {
    if (next_ == tables_.size()) return false;
    const SourceTable& next = *tables_[next_++];
    auto opened = TableFile::Open(walking_, next);
    if (!opened) {
      (void)Passes(opened.error(), {});
      return status_.ok();
    }
    file_ = std::move(*opened);
    it_.emplace(file_->Iterate());
    it_->SeekToFirst();
    return true;
  }

  // True if the caller wants damage reported and the iterator continues. Otherwise sets `status_`: the iterator ends.
  bool Passes(const Status& status, const leveldb_format::Handle& where) {
    if (walking_.on_loss && IsDamage(status)) {
      walking_.on_loss(table().name, where.offset, where.bytes, status.message());
      return true;
    }
    status_ = status;
    return false;
  }

  bool Show() {
    std::string_view key;
    kv::Tag tag = 0;
    if (!leveldb_format::SplitInternalKey(it_->key(), &key, &tag)) {
      (void)Passes(Status::Corruption(file_->path() + ": a key that is no internal key, in the block at offset " +
                                      std::to_string(file_->last_read().offset)),
                   file_->last_read());
      return false;
    }
    const kv::Entry entry{.prefix = walking_.order.Prefix(key), .key = key, .tag = tag, .value = it_->value()};
    // WHY the check: if a child is out of order, the merging iterator shows an older version as the newest.
    if (has_last_ && walking_.order.Compare(
                         {.prefix = walking_.order.Prefix(last_key_), .key = last_key_, .tag = last_tag_, .value = {}},
                         entry) >= 0) {
      (void)Passes(Status::Corruption(file_->path() + ": keys out of order in the block at offset " +
                                      std::to_string(file_->last_read().offset)),
                   file_->last_read());
      return false;
    }
    last_key_ = key;
    last_tag_ = tag;
    has_last_ = true;
    entry_ = entry;
    return valid_ = true;
  }

  const Walking& walking_;
  std::vector<const SourceTable*> tables_;
  size_t next_ = 0;
  std::unique_ptr<TableFile> file_;
  std::optional<leveldb_format::TableIterator> it_;
  std::string last_key_;
  kv::Tag last_tag_ = 0;
  bool has_last_ = false;
};

struct UserBounds {
  std::string smallest, largest;
};

// The bounds of the entries themselves. Nothing if the table has no entry, or no readable one.
Result<std::optional<UserBounds>> ReadBounds(const Walking& walking, const SourceTable& table) {
  Walking quiet = walking;
  // Reported only if no entry is readable. Otherwise the conversion reads the table again and reports them then.
  std::vector<std::function<void()>> losses;
  if (walking.on_loss) {
    quiet.on_loss = [&](const std::string& name, uint64_t offset, uint64_t bytes, std::string_view what) {
      losses.push_back(
          [&walking, name, offset, bytes, what = std::string(what)] { walking.on_loss(name, offset, bytes, what); });
    };
  }
  TableChainIterator run(quiet);
  run.Add(table);
  std::optional<UserBounds> bounds;
  for (run.SeekToFirst(); run.Valid(); run.Next()) {
    if (!bounds) bounds = UserBounds{.smallest = std::string(run.entry().key), .largest = ""};
    bounds->largest = run.entry().key;
  }
  if (!run.status().ok()) return run.status();
  if (!bounds) std::for_each(losses.begin(), losses.end(), [](const auto& tell) { tell(); });
  return bounds;
}

Result<std::optional<UserBounds>> BoundsOf(const Walking& walking, const SourceTable& table) {
  if (!table.has_bounds) return ReadBounds(walking, table);
  std::string_view smallest, largest;
  kv::Tag tag = 0;
  if (!leveldb_format::SplitInternalKey(table.file.smallest, &smallest, &tag) ||
      !leveldb_format::SplitInternalKey(table.file.largest, &largest, &tag)) {
    return Status::Corruption(table.name + ": the MANIFEST has no bounds of it");
  }
  return std::optional(UserBounds{.smallest = std::string(smallest), .largest = std::string(largest)});
}

}  // namespace

Result<std::vector<std::unique_ptr<kv::ForwardIterator>>> NewTableIterators(const Walking& walking,
                                                                            const std::vector<SourceTable>& tables) {
  struct Bounded {
    const SourceTable* table;
    UserBounds bounds;
  };
  std::vector<std::unique_ptr<kv::ForwardIterator>> iterators;
  for (size_t begin = 0, end = 0; begin < tables.size(); begin = end) {
    std::vector<Bounded> bounded;
    for (; end < tables.size() && tables[end].level == tables[begin].level; ++end) {
      ASSIGN_OR_RETURN(auto bounds, BoundsOf(walking, tables[end]));
      if (bounds) bounded.push_back({&tables[end], std::move(*bounds)});
    }
    std::stable_sort(bounded.begin(), bounded.end(), [&](const Bounded& a, const Bounded& b) {
      return walking.order.CompareKeys(a.bounds.smallest, b.bounds.smallest) < 0;
    });
    std::vector<std::pair<TableChainIterator*, const std::string*>> open;  // each run and its largest key so far
    for (const Bounded& next : bounded) {
      auto free = std::find_if(open.begin(), open.end(), [&](const auto& run) {
        return walking.order.CompareKeys(*run.second, next.bounds.smallest) < 0;
      });
      if (free == open.end()) {
        auto run = std::make_unique<TableChainIterator>(walking);
        open.emplace_back(run.get(), nullptr);
        iterators.push_back(std::move(run));
        free = open.end() - 1;
      }
      free->first->Add(*next.table);
      free->second = &next.bounds.largest;
    }
  }
  return iterators;
}

}  // namespace mergedb::leveldb_import
