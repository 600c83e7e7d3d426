#include "table/scan_iterator.h"

#include <optional>
#include <string>

#include "base/assert.h"
#include "format/block.h"

namespace mergedb::table {
namespace {

constexpr size_t kReadBytes = size_t{1} << 20;
constexpr uint64_t kBufferedBytesMax = 256 << 10;

class ScanIterator final : public kv::Iterator {
 public:
  explicit ScanIterator(const BlockSource& source) : source_(source), cursor_(source.order) {}

  void SeekToFirst() override {
    if (Start() && Enter(0)) Show(0);
  }

  void Seek(std::string_view key, kv::Tag tag) override {
    if (valid_ && key.data() == entry_.key.data()) return Seek(std::string(key), tag);  // `key` is a view of this entry
    if (!Start()) return;
    for (uint32_t block = source_.index.Find(source_.order, key); block < source_.index.count(); ++block) {
      if (!Enter(block)) return;
      const uint32_t i = cursor_.block().Seek(source_.order, key, tag);
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

  void SeekToLast() override { ASSERT(false, "a scan goes forward"); }
  void Prev() override { ASSERT(false, "a scan goes forward"); }

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
  std::unique_ptr<File> direct_;
  std::optional<BlockWindow> window_;
  format::BlockCursor cursor_;
  uint32_t block_ = 0;
  uint32_t position_ = 0;
  uint32_t count_ = 0;
};

}  // namespace

std::unique_ptr<kv::Iterator> NewScanIterator(const BlockSource& source) {
  return std::make_unique<ScanIterator>(source);
}

}  // namespace mergedb::table
