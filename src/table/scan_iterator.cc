#include "table/scan_iterator.h"

#include <optional>
#include <string>
#include <utility>

#include "base/assert.h"
#include "format/block.h"

namespace mergedb::table {
namespace {

constexpr size_t kReadBytes = size_t{1} << 20;
constexpr uint64_t kBufferedBytesMax = 256 << 10;

class ScanIterator final : public kv::ForwardIterator {
 public:
  ScanIterator(const BlockSource& source, std::optional<std::string> lower)
      : source_(source), lower_(std::move(lower)), cursor_(source.order) {}

  void SeekToFirst() override {
    if (!Start()) return;
    const uint32_t first = lower_ ? source_.index.Find(source_.order, *lower_) : 0;
    for (uint32_t block = first; block < source_.index.count(); ++block) {
      if (!Enter(block)) return;
      const uint32_t i = lower_ ? cursor_.block().Seek(source_.order, *lower_, kv::kTagMax) : 0;
      if (i < count_) return Show(i);
    }
  }

  void Next() override {
    DCHECK(valid_, "Next needs a valid iterator");
    if (++position_ < count_) [[likely]]
      return cursor_.Show(position_, &entry_);
    valid_ = false;
    if (block_ + 1 < source_.index.count() && Enter(block_ + 1)) Show(0);
  }

 private:
  // Opens the file at its first use.
  bool Start() {
    valid_ = false;
    status_ = {};
    if (window_) return true;
    File* file = source_.file.get();
    if (source_.index.offset(source_.index.count()) > kBufferedBytesMax) {
      auto direct = source_.file_system->Open(source_.path, {.access = Access::kRead, .direct = true});
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

  bool Enter(uint32_t block) {
    valid_ = false;
    std::string_view raw;
    status_ = window_->Read(block, &raw);
    if (!status_.ok()) [[unlikely]]
      return false;
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
  std::unique_ptr<File> direct_;
  std::optional<BlockWindow> window_;
  format::BlockCursor cursor_;
  uint32_t block_ = 0;
  uint32_t position_ = 0;
  uint32_t count_ = 0;
};

}  // namespace

std::unique_ptr<kv::ForwardIterator> NewScanIterator(const BlockSource& source, std::optional<std::string> lower) {
  return std::make_unique<ScanIterator>(source, std::move(lower));
}

}  // namespace mergedb::table
