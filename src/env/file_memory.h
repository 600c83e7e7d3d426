// The memory that one database may use for its files: how many bytes it maps for reading, and of how many bytes it
// reads the neighbourhood of a cold block ahead.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "base/mapped_faults.h"
#include "env/byte_budget.h"
#include "env/mapped_files.h"
#include "env/read_around.h"
#include "mergedb/env.h"
#include "mergedb/result.h"

namespace mergedb::env {

// THREADS: any. OWNERSHIP: the mappings and readers that it gives out may live longer.
class FileMemory {
 public:
  // At most `mapped_bytes_max` bytes are mapped for fast reads, and both at most `memory_bytes`. Files beyond that
  // would evict each other from the page cache: a mapped page that is missing costs what the system reads around each
  // fault, and the neighbourhood of a block is evicted before it is read. With `maps_all` such a file is mapped, too,
  // and a fault reads a single page of it: for an interface that promises pointers, which would otherwise be copies.
  FileMemory(uint64_t mapped_bytes_max, uint64_t memory_bytes, bool maps_all = false)
      : maps_all_(maps_all),
        mapped_(std::make_shared<ByteBudget>(std::min(mapped_bytes_max, memory_bytes))),
        around_(std::make_shared<ByteBudget>(memory_bytes)) {}

  // Maps the file's bytes [0, bytes). Null: the budget does not suffice and not all files are mapped, `bytes` is 0, or
  // the file system refuses; the caller then reads. Corruption: the file is shorter. `path`: for messages.
  Result<std::unique_ptr<MappedFile>> Map(File* file, const std::string& path, uint64_t bytes);
  // Reads around within the file's bytes [0, bytes); nothing if the budget does not suffice.
  ReadAround Around(uint64_t bytes);

  const ByteBudget& mapped() const { return *mapped_; }
  const base::MappedFaults& faults() const { return *faults_; }

 private:
  const bool maps_all_;
  const std::shared_ptr<ByteBudget> mapped_;
  const std::shared_ptr<ByteBudget> around_;
  const std::shared_ptr<base::MappedFaults> faults_ = std::make_shared<base::MappedFaults>();
};

}  // namespace mergedb::env
