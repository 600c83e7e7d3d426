#include "table/scan_iterator.h"

#include <optional>
#include <string>
#include <utility>

#include "base/assert.h"
#include "base/open_files.h"
#include "format/block.h"

namespace mergedb::table {
namespace {

constexpr size_t kReadBytes = size_t{1} << 20;
constexpr uint64_t kBufferedBytesMax = 256 << 10;

// A key that is not above the keys of all blocks behind `block`, and not below those of the blocks before it.
// WHY without a zero at the end: if the versions of one key continue in the next block, the fence is this key and a
// zero.
std::string LowerFence(const BlockSource& source, uint32_t block) {
  std::string fence = source.index.fence(block);
  if (source.order.is_bytewise() && fence.ends_with('\0')) fence.pop_back();
  return fence;
}

class ScanIterator final : public kv::ForwardIterator {
 public:
  ScanIterator(const BlockSource& source, std::optional<std::string> lower, const ScanLimit& limit)
      : source_(source), lower_(std::move(lower)), limit_(limit), cursor_(source.order) {}

  void SeekToFirst() override {
    if (!Start()) return;
    const uint32_t first = lower_ ? source_.index.Find(source_.order, *lower_) : 0;
    for (uint32_t block = first; block < source_.index.count(); ++block) {
      if (!Enter(block)) return;
      const uint32_t i = lower_ ? cursor_.block().Seek(source_.order, *lower_, kv::kTagMax) : 0;
      if (i < count_) return Show(i);
      if (EndsWith(block)) return;
    }
  }

  void Next() override {
    DCHECK(valid_, "Next needs a valid iterator");
    if (++position_ < count_) [[likely]]
      return cursor_.Show(position_, &entry_);
    valid_ = false;
    if (block_ + 1 < source_.index.count() && !EndsWith(block_) && Enter(block_ + 1)) Show(0);
  }

 private:
  // Opens the file at its first use.
  bool Start() {
    valid_ = false;
    status_ = {};
    if (window_) return true;
    File* file = source_.file.get();
    if (source_.index.offset(source_.index.count()) > kBufferedBytesMax) {
      auto direct = base::NeverNotFound(
          "table", source_.file_system->Open(source_.path, {.access = Access::kRead, .direct = true}));
      if (!direct) {
        status_ = direct.error();
        return false;
      }
      direct_ = std::move(direct).value();
      file = direct_.get();
    }
    window_.emplace(source_, file,
                    BlockWindow::Shape{.bytes_first = kReadBytes, .bytes_max = kReadBytes, .verify = true});
    return true;
  }

  // The blocks behind this one have no key that the caller needs.
  bool EndsWith(uint32_t block) const {
    return limit_.upper && source_.order.CompareKeys(LowerFence(source_, block), *limit_.upper) >= 0;
  }

  bool Enter(uint32_t block) {
    valid_ = false;
    std::string_view raw;
    status_ = window_->Read(block, &raw);
    if (!status_.ok()) [[unlikely]] {
      if (limit_.unreadable != nullptr) *limit_.unreadable = KeysOfBlock(source_, block);
      return false;
    }
    cursor_.Open(format::Block(raw));
    block_ = block;
    count_ = cursor_.block().count();
    return true;
  }

  void Show(uint32_t i) {
    position_ = i;
    cursor_.Show(i, &entry_);
    valid_ = true;
  }

  const BlockSource& source_;
  const std::optional<std::string> lower_;
  const ScanLimit limit_;
  std::unique_ptr<File> direct_;
  std::optional<BlockWindow> window_;
  format::BlockCursor cursor_;
  uint32_t block_ = 0;
  uint32_t position_ = 0;
  uint32_t count_ = 0;
};

}  // namespace

std::unique_ptr<kv::ForwardIterator> NewScanIterator(const BlockSource& source, std::optional<std::string> lower,
                                                     const ScanLimit& limit) {
  return std::make_unique<ScanIterator>(source, std::move(lower), limit);
}

// Under a comparator of the program the fence is the last key of the block: the next larger key that is known is the
// last key of a later block.
format::Bounds KeysOfBlock(const BlockSource& source, uint32_t block) {
  format::Bounds bounds;
  if (block > 0) bounds.lower = LowerFence(source, block - 1);
  if (source.order.is_bytewise()) {
    bounds.upper = source.index.fence(block);
    return bounds;
  }
  for (uint32_t later = block + 1; later < source.index.count() && !bounds.upper; ++later) {
    if (source.order.CompareKeys(source.index.fence(later), source.index.fence(block)) > 0)
      bounds.upper = source.index.fence(later);
  }
  return bounds;
}

}  // namespace mergedb::table
