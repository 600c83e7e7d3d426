#include "env/file_memory.h"

#include <sys/resource.h>

#include <utility>

#include "env/posix_mapping.h"

namespace mergedb::env {
namespace {

// Mappings of one process. WHY: Linux gives a process 65,530 of them (vm.max_map_count), its memory included.
constexpr size_t kMappedFilesMax = 16'384;

// WHY no file is mapped then: the addresses would be missing for the program's memory.
bool AddressesAreLimited() {
  rlimit addresses{};
  return getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY;
}

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
Result<std::unique_ptr<MappedFile>> FileMemory::Map(File* file, const std::string& path, uint64_t bytes) {
  std::unique_ptr<MappedFile> none;
  const bool has_room = maps_all_ || (guarded_count() < kMappedFilesMax && !AddressesAreLimited());
  auto share = bytes == 0 || !has_room ? nullptr : mapped_->Take(bytes);
  if (share == nullptr && (!maps_all_ || bytes == 0)) return none;
  auto mapping = file->MapForReading(static_cast<size_t>(bytes));
  if (mapping) {
    if (share == nullptr) ExpectSingleReads(**mapping);
    auto shared = std::make_unique<SharedMapping>(std::move(share), std::move(*mapping));
    return std::make_unique<MappedFile>(std::move(shared), path, faults_, maps_all_);
  }
  if (mapping.error().IsCorruption()) return mapping.error();
  return none;
}

ReadAround FileMemory::Around(uint64_t bytes) {
  auto share = around_->Take(bytes);
  return share == nullptr ? ReadAround() : ReadAround(bytes, std::move(share));
}

}  // namespace mergedb::env
