#include "leveldb/format/table.h"

#include <utility>

#include "base/assert.h"
#include "leveldb/format/edit.h"

namespace mergedb::leveldb_format {

// ---- building -------------------------------------------------------------------------------------------------------

TableBuilder::TableBuilder(const KeyOrder& order, const TableOptions& options, Append append)
    : order_(order), options_(options), append_(std::move(append)), data_(options.restart_interval), index_(1) {
  if (options_.filter == nullptr) return;
  filter_.emplace(*options_.filter);
  filter_->StartBlock(0);
}

void TableBuilder::ChangeOptions(const TableOptions& options) {
  const format::FilterPolicy* const filter = options_.filter;
  options_ = options;
  options_.filter = filter;
  data_.set_restart_interval(options.restart_interval);
}

void TableBuilder::Add(std::string_view key, std::string_view value) {
  if (!status_.ok()) return;
  if (ended_) {
    // WHY not earlier: the shortest separator depends on the first key of the next block.
    order_.ShortenTowards(key, &last_key_);
    AddIndexEntry();
  }
  if (filter_) filter_->AddKey(options_.keys_have_tags ? key.substr(0, key.size() - kInternalTagBytes) : key);
  last_key_ = key;
  ++entries_;
  data_.Add(key, value);
  if (data_.bytes() >= options_.block_bytes) Flush();
}

void TableBuilder::Flush() {
  if (!status_.ok() || data_.empty()) return;
  ASSERT(!ended_, "a block's index entry is written with the next block's first key");
  const Handle handle = Write(data_.Finish(), options_.codec);
  data_.Reset();
  if (!status_.ok()) return;
  ended_ = handle;
  if (filter_) filter_->StartBlock(bytes_);
}

void TableBuilder::AddIndexEntry() {
  std::string handle;
  AppendHandle(&handle, *ended_);
  index_.Add(last_key_, handle);
  ended_.reset();
}

Handle TableBuilder::Write(std::string_view block, const BlockCodec& codec) {
  stored_.clear();
  const Handle handle{.offset = bytes_, .bytes = SealBlock(block, codec, &stored_)};
  if (status_.ok()) status_ = append_(stored_);
  if (status_.ok()) bytes_ += stored_.size();
  return handle;
}

Handle TableBuilder::WriteMetaindex(const Handle& filter) {
  BlockBuilder metaindex(options_.restart_interval);
  if (filter_) {
    std::string handle;
    AppendHandle(&handle, filter);
    metaindex.Add("filter." + std::string(options_.filter->Name()), handle);
  }
  return Write(metaindex.Finish(), options_.codec);
}

Status TableBuilder::Finish() {
  Flush();
  Handle filter;
  if (filter_) filter = Write(filter_->Finish(), {.compression = Compression::kNone});
  TableFooter footer;
  footer.metaindex = WriteMetaindex(filter);
  if (ended_) {
    order_.ShortenUpwards(&last_key_);
    AddIndexEntry();
  }
  footer.index = Write(index_.Finish(), options_.codec);
  const std::string bytes = EncodeTableFooter(footer);
  if (status_.ok()) status_ = append_(bytes);
  if (status_.ok()) bytes_ += bytes.size();
  return status_;
}

// ---- reading --------------------------------------------------------------------------------------------------------

TableIterator::TableIterator(const KeyOrder& order, Block index, ReadBlock read)
    : order_(order),
      index_block_(std::move(index)),
      read_(std::move(read)),
      index_(order_, *index_block_),
      status_(index_.status()) {}

bool TableIterator::OpenBlock() {
  data_.reset();
  if (!index_.Valid()) {
    if (status_.ok()) status_ = index_.status();
    return false;
  }
  const auto handle = DecodeHandle(index_.value());
  Result<Block> block = handle ? read_(*handle) : handle.error();
  if (!block) {
    if (status_.ok()) status_ = block.error();
    return false;
  }
  data_block_ = std::move(*block);
  data_.emplace(order_, *data_block_);
  return true;
}

void TableIterator::EnterBlock(bool is_forward) {
  if (OpenBlock()) is_forward ? data_->SeekToFirst() : data_->SeekToLast();
}

// At the end of the current block, moves on to the next block in this direction that has an entry.
void TableIterator::PassEnds(bool is_forward) {
  while (data_ && !data_->Valid()) {
    if (!data_->status().ok()) {
      status_ = data_->status();
      data_.reset();
      return;
    }
    is_forward ? index_.Next() : index_.Prev();
    EnterBlock(is_forward);
  }
}

void TableIterator::SeekToFirst() {
  status_ = {};
  index_.SeekToFirst();
  EnterBlock(true);
  PassEnds(true);
}

void TableIterator::SeekToLast() {
  status_ = {};
  index_.SeekToLast();
  EnterBlock(false);
  PassEnds(false);
}

void TableIterator::Seek(std::string_view target) {
  status_ = {};
  index_.Seek(target);
  if (OpenBlock()) data_->Seek(target);
  PassEnds(true);
}

void TableIterator::Next() {
  data_->Next();
  PassEnds(true);
}

void TableIterator::Prev() {
  data_->Prev();
  PassEnds(false);
}

bool TableIterator::SkipBlock(bool is_forward) {
  status_ = {};
  data_.reset();
  if (!index_.Valid()) return false;  // the end of the index, or the index itself is unreadable
  is_forward ? index_.Next() : index_.Prev();
  EnterBlock(is_forward);
  PassEnds(is_forward);
  return index_.Valid() || !status_.ok();
}

}  // namespace mergedb::leveldb_format
