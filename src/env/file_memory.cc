#include "env/file_memory.h"

#include <utility>

#include "env/posix_mapping.h"

namespace mergedb::env {
namespace {

// `share` may be null: beyond the budget.
class SharedMapping final : public ReadMapping {
 public:
  SharedMapping(std::unique_ptr<ByteBudget::Share> share, std::unique_ptr<ReadMapping> mapping)
      : share_(std::move(share)), mapping_(std::move(mapping)) {}
  const char* data() const override { return mapping_->data(); }
  size_t size() const override { return mapping_->size(); }

 private:
  const std::unique_ptr<ByteBudget::Share> share_;
  const std::unique_ptr<ReadMapping> mapping_;
};

}  // namespace

// WHY only a file that is too short is an error: after any other refusal (of the file system, or of a memory limit)
// ReadAt still works.
Result<std::unique_ptr<ReadMapping>> FileMemory::Map(File* file, uint64_t bytes) {
  std::unique_ptr<ReadMapping> none;
  auto share = bytes == 0 ? nullptr : mapped_->Take(bytes);
  if (share == nullptr && (!maps_all_ || bytes == 0)) return none;
  auto mapping = file->MapForReading(static_cast<size_t>(bytes));
  if (mapping) {
    if (share == nullptr) ExpectSingleReads(**mapping);
    return std::unique_ptr<ReadMapping>(std::make_unique<SharedMapping>(std::move(share), std::move(*mapping)));
  }
  if (mapping.error().IsCorruption()) return mapping.error();
  return none;
}

ReadAround FileMemory::Around(uint64_t bytes) {
  auto share = around_->Take(bytes);
  return share == nullptr ? ReadAround() : ReadAround(bytes, std::move(share));
}

}  // namespace mergedb::env
