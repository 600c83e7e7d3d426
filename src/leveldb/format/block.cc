#include "leveldb/format/block.h"

#include "base/bytes.h"
#include "base/coding.h"

namespace mergedb::leveldb_format {

// ---- building -------------------------------------------------------------------------------------------------------

void BlockBuilder::Add(std::string_view key, std::string_view value) {
  size_t shared = 0;
  if (since_restart_ < restart_interval_) {
    shared = base::CommonPrefixBytes(last_key_, key);
  } else {
    restarts_.push_back(static_cast<uint32_t>(bytes_.size()));
    since_restart_ = 0;
  }
  base::AppendVarint32(&bytes_, static_cast<uint32_t>(shared));
  base::AppendVarint32(&bytes_, static_cast<uint32_t>(key.size() - shared));
  base::AppendVarint32(&bytes_, static_cast<uint32_t>(value.size()));
  bytes_.append(key.substr(shared)).append(value);
  last_key_.resize(shared);
  last_key_.append(key.substr(shared));
  ++since_restart_;
}

std::string_view BlockBuilder::Finish() {
  for (const uint32_t restart : restarts_) base::AppendFixed32(&bytes_, restart);
  base::AppendFixed32(&bytes_, static_cast<uint32_t>(restarts_.size()));
  return bytes_;
}

void BlockBuilder::Reset() {
  bytes_.clear();
  restarts_.assign(1, 0);
  since_restart_ = 0;
  last_key_.clear();
}

// ---- reading --------------------------------------------------------------------------------------------------------

BlockIterator::BlockIterator(const KeyOrder& order, std::string_view block) : order_(order), block_(block) {
  if (block.size() < 4) {
    Fail("too short");
    return;
  }
  const size_t count = base::LoadFixed32(block.data() + block.size() - 4);
  if (count > (block.size() - 4) / 4) {
    Fail(std::to_string(count) + " restarts in " + std::to_string(block.size()) + " bytes");
    return;
  }
  restart_count_ = count;
  restarts_at_ = block.size() - 4 * (1 + count);
  End();
}

bool BlockIterator::Fail(std::string_view why) {
  status_ = Status::Corruption("a block: " + std::string(why));
  End();
  return false;
}

size_t BlockIterator::Restart(size_t index) const {
  return base::LoadFixed32(block_.data() + restarts_at_ + 4 * index);
}

bool BlockIterator::Read(size_t offset) {
  std::string_view rest = block_.substr(offset, restarts_at_ - offset);
  uint32_t shared = 0, unshared = 0, value_bytes = 0;
  if (!base::TakeVarint32(&rest, &shared) || !base::TakeVarint32(&rest, &unshared) ||
      !base::TakeVarint32(&rest, &value_bytes) || uint64_t{unshared} + value_bytes > rest.size() ||
      shared > key_.size()) {
    return Fail("a bad entry at offset " + std::to_string(offset));
  }
  key_.resize(shared);
  key_.append(rest.substr(0, unshared));
  value_ = rest.substr(unshared, value_bytes);
  at_ = offset;
  next_ = static_cast<size_t>(value_.data() + value_bytes - block_.data());
  return true;
}

void BlockIterator::GoToRestart(size_t index) {
  key_.clear();
  const size_t offset = index < restart_count_ ? Restart(index) : restarts_at_;
  if (offset < restarts_at_) {
    (void)Read(offset);
  } else if (offset > restarts_at_) {
    Fail("a restart beyond its entries");
  } else {
    End();  // the block is empty
  }
}

bool BlockIterator::KeyAtRestart(size_t index, std::string_view* key) {
  const size_t offset = Restart(index);
  if (offset >= restarts_at_) return Fail("a restart beyond its entries");
  std::string_view rest = block_.substr(offset, restarts_at_ - offset);
  uint32_t shared = 0, unshared = 0, value_bytes = 0;
  if (!base::TakeVarint32(&rest, &shared) || !base::TakeVarint32(&rest, &unshared) ||
      !base::TakeVarint32(&rest, &value_bytes) || shared != 0 || unshared > rest.size()) {
    return Fail("a bad entry at offset " + std::to_string(offset));
  }
  *key = rest.substr(0, unshared);
  return true;
}

void BlockIterator::SeekToFirst() {
  if (status_.ok()) GoToRestart(0);
}

void BlockIterator::SeekToLast() {
  if (!status_.ok()) return;
  if (restart_count_ == 0 || restarts_at_ == 0) return End();
  GoToRestart(restart_count_ - 1);
  while (Valid() && next_ < restarts_at_) (void)Read(next_);
}

void BlockIterator::Seek(std::string_view target) {
  if (!status_.ok()) return;
  if (restart_count_ == 0 || restarts_at_ == 0) return End();
  // Find the last restart before the target, or the first restart if all others are at or after the target.
  size_t left = 0, right = restart_count_ - 1;
  while (left < right) {
    const size_t middle = (left + right + 1) / 2;
    std::string_view key;
    if (!KeyAtRestart(middle, &key)) return;
    if (order_.Compare(key, target) < 0) {
      left = middle;
    } else {
      right = middle - 1;
    }
  }
  GoToRestart(left);
  while (Valid() && order_.Compare(key_, target) < 0) Next();
}

void BlockIterator::Next() {
  if (next_ < restarts_at_) {
    (void)Read(next_);
  } else {
    End();
  }
}

void BlockIterator::Prev() {
  const size_t before = at_;
  // Find the last restart before the current entry.
  size_t left = 0, right = restart_count_;
  while (left < right) {
    const size_t middle = (left + right) / 2;
    if (Restart(middle) < before) {
      left = middle + 1;
    } else {
      right = middle;
    }
  }
  if (left == 0) return End();
  GoToRestart(left - 1);
  while (Valid() && next_ < before) (void)Read(next_);
}

}  // namespace mergedb::leveldb_format
