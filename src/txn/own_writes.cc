#include "txn/own_writes.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/assert.h"
#include "format/batch.h"
#include "kv/fold.h"

namespace mergedb::txn {
namespace {

constexpr kv::Tag kTagFirst = kv::MakeTag(OwnWrites::kSequenceFirst, kv::Kind{0});

class OwnMasks final : public iterator::MaskSource {
 public:
  explicit OwnMasks(const memtable::RangeDeletes& deletes) : deletes_(deletes) {}
  Status Find(std::string_view key, kv::Mask* mask) override {
    *mask = deletes_.Find(key, kv::kSequenceMax);
    return {};
  }

 private:
  const memtable::RangeDeletes& deletes_;
};

}  // namespace

OwnWrites::OwnWrites(const kv::Order& order)
    : order_(order), range_deletes_(std::make_unique<memtable::RangeDeletes>(order)) {}
OwnWrites::~OwnWrites() = default;

// ---- Writing ----------------------------------------------------------------------------------------------

size_t OwnWrites::BytesOf(size_t key_bytes, size_t value_bytes) {
  return format::RecordBytes(kv::Kind::kPut, key_bytes, value_bytes) + kRecordOverheadBytes;
}

bool OwnWrites::IsInBatch(std::string_view bytes) const {
  return std::greater_equal<>()(bytes.data(), batch_.data()) &&
         std::less<>()(bytes.data(), batch_.data() + batch_.size());
}

void OwnWrites::Add(kv::Kind kind, std::string_view key, std::string_view value) {
  // WHY: a cursor shows views into the batch, which moves when it grows.
  if (IsInBatch(key) || IsInBatch(value)) [[unlikely]]
    return Add(kind, std::string(key) + std::string(value), key.size());
  Append(kind, key, value);
}

void OwnWrites::Add(kv::Kind kind, const std::string& key_and_value, size_t key_bytes) {
  const std::string_view both(key_and_value);
  Append(kind, both.substr(0, key_bytes), both.substr(key_bytes));
}

void OwnWrites::Append(kv::Kind kind, std::string_view key, std::string_view value) {
  format::AppendRecord(&batch_, kind, key, value);
  ++count_;
  // WHY: a reader may have kept a mask, found for one key, for the neighbouring keys too.
  if (kind == kv::Kind::kRangeDelete) ++generation_;
}

char* OwnWrites::AddReserved(std::string_view given_key, size_t value_bytes) {
  const std::string key(given_key);  // WHY a copy: as in Add
  batch_.reserve(batch_.size() + format::RecordBytes(kv::Kind::kPut, key.size(), value_bytes));  // WHY: as AppendRecord
  format::AppendRecordHeader(&batch_, kv::Kind::kPut, key.size(), value_bytes);
  batch_.append(key).append(value_bytes, '\0');
  ++count_;
  return batch_.data() + batch_.size() - value_bytes;
}

void OwnWrites::RollBack(const Mark& mark) {
  ASSERT(mark.count <= count_ && mark.batch_bytes <= batch_.size(), "a savepoint is not after the last write");
  ++generation_;
  // WHY first: if memory runs out, nothing is undone.
  RebuildRangeDeletes(mark.count);
  while (records_.size() > mark.count) {
    UnindexRecord(static_cast<uint32_t>(records_.size() - 1));
    records_.pop_back();
  }
  batch_.resize(mark.batch_bytes);
  count_ = mark.count;
  indexed_bytes_ = std::min(indexed_bytes_, batch_.size());
}

void OwnWrites::Compact() {
  CatchUp();
  std::vector<bool> is_replaced(records_.size());
  for (const auto& [slot, newest] : index_) {
    bool is_behind_base = false;
    for (uint32_t record = newest; record != kNone; record = records_[record].older) {
      is_replaced[record] = is_behind_base;
      is_behind_base = is_behind_base || kv::IsBase(records_[record].kind);
    }
  }
  std::string batch;
  uint64_t count = 0;
  for (uint32_t record = 0; record < records_.size(); ++record) {
    if (is_replaced[record]) continue;
    format::AppendRecord(&batch, records_[record].kind, KeyOf(record), ValueOf(record));
    ++count;
  }
  auto range_deletes = std::make_unique<memtable::RangeDeletes>(order_);
  // From here on nothing fails. The next read indexes the records that are left.
  ++generation_;
  batch_ = std::move(batch);
  count_ = count;
  index_.clear();
  behind_last_ = index_.end();
  records_.clear();
  indexed_bytes_ = replaced_bytes_ = 0;
  range_deletes_ = std::move(range_deletes);
  range_keys_.clear();
}

// ---- The index --------------------------------------------------------------------------------------------

void OwnWrites::CatchUp() {
  if (indexed_bytes_ == batch_.size()) return;
  format::BatchReader reader(std::string_view(batch_).substr(indexed_bytes_));
  while (reader.Next()) {
    const auto record = static_cast<uint32_t>(records_.size());
    const std::string_view value = reader.kind() == kv::Kind::kDelete ? std::string_view() : reader.value();
    records_.push_back({.kind = reader.kind(),
                        .key_at = static_cast<uint32_t>(reader.key().data() - batch_.data()),
                        .key_bytes = static_cast<uint32_t>(reader.key().size()),
                        .value_bytes = static_cast<uint32_t>(value.size()),
                        .older = kNone,
                        .newer = kNone});
    try {
      if (reader.kind() == kv::Kind::kRangeDelete) {
        AddRangeDelete(record, range_deletes_.get(), &range_keys_);
      } else {
        IndexRecord(record);
      }
    } catch (...) {  // out of memory; the next call goes on with this record
      records_.pop_back();
      throw;
    }
    indexed_bytes_ = static_cast<size_t>(reader.value().data() + reader.value().size() - batch_.data());
  }
  ASSERT(reader.status().ok() && records_.size() == count_, "a transaction can read what it wrote");
}

void OwnWrites::IndexRecord(uint32_t record) {
  const size_t keys = index_.size();
  const auto place = index_.try_emplace(behind_last_, Slot{order_.Prefix(KeyOf(record)), record}, record);
  behind_last_ = std::next(place);
  if (index_.size() > keys) return;
  records_[record].older = place->second;
  records_[place->second].newer = record;
  place->second = record;
  replaced_bytes_ += ReplacedBy(record);
}

// The bytes of the records that only `record` replaces: down to the next older base, which replaces the others.
size_t OwnWrites::ReplacedBy(uint32_t record) const {
  size_t bytes = 0;
  if (!kv::IsBase(records_[record].kind)) return bytes;
  for (uint32_t older = records_[record].older; older != kNone; older = records_[older].older) {
    bytes += BytesOf(records_[older].key_bytes, records_[older].value_bytes);
    if (kv::IsBase(records_[older].kind)) break;
  }
  return bytes;
}

// REQUIRES: `record` is the newest one.
void OwnWrites::UnindexRecord(uint32_t record) {
  if (records_[record].kind == kv::Kind::kRangeDelete) return;
  const auto place = index_.find(Probe{order_.Prefix(KeyOf(record)), KeyOf(record)});
  ASSERT(place != index_.end() && place->second == record, "writes are undone newest first");
  const uint32_t older = records_[record].older;
  replaced_bytes_ -= ReplacedBy(record);
  if (older == kNone) {
    behind_last_ = index_.erase(place);
    return;
  }
  place->second = older;
  records_[older].newer = kNone;
}

void OwnWrites::AddRangeDelete(uint32_t record, memtable::RangeDeletes* deletes, std::deque<std::string>* keys) const {
  const std::string& begin = keys->emplace_back(KeyOf(record));
  const std::string& end = keys->emplace_back(ValueOf(record));
  deletes->Add({.begin = begin, .end = end, .sequence = SequenceOf(record)});
}

// If one of the records from `count` on is a range delete: makes the range deletes of the others anew.
void OwnWrites::RebuildRangeDeletes(uint64_t count) {
  const auto is_range_delete = [](const Record& record) { return record.kind == kv::Kind::kRangeDelete; };
  const auto kept_end = records_.begin() + static_cast<ptrdiff_t>(std::min<uint64_t>(count, records_.size()));
  if (std::none_of(kept_end, records_.end(), is_range_delete)) return;
  auto range_deletes = std::make_unique<memtable::RangeDeletes>(order_);
  std::deque<std::string> range_keys;
  for (uint32_t record = 0; record < std::min<uint64_t>(count, records_.size()); ++record) {
    if (is_range_delete(records_[record])) AddRangeDelete(record, range_deletes.get(), &range_keys);
  }
  range_deletes_ = std::move(range_deletes);
  range_keys_ = std::move(range_keys);
}

// ---- Reading ----------------------------------------------------------------------------------------------

OwnWrites::Says OwnWrites::Find(std::string_view key, std::string_view* value,
                                std::vector<std::string_view>* operands) {
  CatchUp();
  operands->clear();
  const kv::Sequence masking_sequence =
      range_deletes_->empty() ? 0 : range_deletes_->MaskingSequence(key, kv::kSequenceMax);
  const auto place = index_.find(Probe{order_.Prefix(key), key});
  uint32_t record = place == index_.end() ? kNone : place->second;
  for (; record != kNone && SequenceOf(record) > masking_sequence; record = records_[record].older) {
    const kv::Kind kind = records_[record].kind;
    if (kind == kv::Kind::kMerge) {
      operands->push_back(ValueOf(record));
      continue;
    }
    if (!operands->empty() && kind == kv::Kind::kPut) {
      *value = ValueOf(record);
      return Says::kOperandsOnValue;
    }
    if (!operands->empty()) return Says::kOperandsAlone;
    if (kind == kv::Kind::kDelete) return Says::kDeleted;
    *value = ValueOf(record);
    return Says::kValue;
  }
  if (!operands->empty()) return masking_sequence > 0 ? Says::kOperandsAlone : Says::kOperands;
  return masking_sequence > 0 ? Says::kDeleted : Says::kNothing;
}

class OwnWrites::VersionIterator final : public kv::Iterator {
 public:
  explicit VersionIterator(OwnWrites& home) : home_(home) {}

  void SeekToFirst() override {
    home_.CatchUp();
    ShowNewest(home_.index_.begin());
  }
  void SeekToLast() override {
    home_.CatchUp();
    valid_ = !home_.index_.empty();
    if (valid_) ShowOldest(std::prev(home_.index_.end()));
  }
  void Seek(std::string_view key, kv::Tag tag) override {
    home_.CatchUp();
    const Probe probe{home_.order_.Prefix(key), key};
    if (tag < kTagFirst) return ShowNewest(home_.index_.upper_bound(probe));
    ShowNewest(home_.index_.lower_bound(probe));
    while (valid_ && entry_.tag > tag && home_.order_.SameKey(entry_.key, key)) Next();
  }
  void Next() override {
    const uint32_t older = OlderShown(record_);
    if (older == kNone) return ShowNewest(std::next(place_));
    Show(older);
  }
  void Prev() override {
    if (home_.records_[record_].newer != kNone) return Show(home_.records_[record_].newer);
    valid_ = place_ != home_.index_.begin();
    if (valid_) ShowOldest(std::prev(place_));
  }

 private:
  uint32_t OlderShown(uint32_t record) const {
    return kv::IsBase(home_.records_[record].kind) ? kNone : home_.records_[record].older;
  }

  void ShowNewest(Index::iterator place) {
    place_ = place;
    valid_ = place != home_.index_.end();
    if (valid_) Show(place->second);
  }
  void ShowOldest(Index::iterator place) {
    place_ = place;
    uint32_t record = place->second;
    for (uint32_t older = OlderShown(record); older != kNone; older = OlderShown(record)) record = older;
    Show(record);
  }
  void Show(uint32_t record) {
    record_ = record;
    const std::string_view key = home_.KeyOf(record);
    entry_ = {.prefix = home_.order_.Prefix(key),
              .key = key,
              .tag = kv::MakeTag(SequenceOf(record), home_.records_[record].kind),
              .value = home_.ValueOf(record)};
    valid_ = true;
  }

  OwnWrites& home_;
  Index::iterator place_;
  uint32_t record_ = kNone;
};

std::unique_ptr<kv::Iterator> OwnWrites::NewIterator() { return std::make_unique<VersionIterator>(*this); }

std::unique_ptr<iterator::MaskSource> OwnWrites::NewMaskSource() {
  CatchUp();
  if (range_deletes_->empty()) return nullptr;
  return std::make_unique<OwnMasks>(*range_deletes_);
}

}  // namespace mergedb::txn
