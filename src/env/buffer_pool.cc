#include "env/buffer_pool.h"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/fork_safe.h"
#include "base/sync.h"
#include "mergedb/env.h"

namespace mergedb::env {
namespace {

// Buffers of kPooledBytes that nobody uses.
class Pool {
 public:
  Pool() { free_.reserve(kBuffersKept); }  // so that TryKeep allocates nothing
  static Pool& Get() { return base::ForkSafe<Pool>::Get(); }

  char* TryTake() {
    base::Lock lock(mutex_);
    if (free_.empty()) return nullptr;
    char* const memory = free_.back();
    free_.pop_back();
    return memory;
  }
  bool TryKeep(char* memory) {
    base::Lock lock(mutex_);
    if (free_.size() >= kBuffersKept) return false;
    free_.push_back(memory);
    return true;
  }

 private:
  friend class base::ForkSafe<Pool>;
  void ForgetParentLocked() REQUIRES_LOCK(mutex_) {}

  base::Mutex mutex_;
  std::vector<char*> free_ GUARDED_BY(mutex_);
};

char* Allocate(size_t bytes) { return static_cast<char*>(::operator new (bytes, std::align_val_t{kDirectIoAlign})); }

void Free(char* memory) { ::operator delete (memory, std::align_val_t{kDirectIoAlign}); }

char* TakePooled() {
  char* const memory = Pool::Get().TryTake();
  return memory != nullptr ? memory : Allocate(kPooledBytes);
}

void GiveBack(char* memory) {
  if (!Pool::Get().TryKeep(memory)) Free(memory);
}

size_t RoundUp(size_t bytes) { return (bytes + kDirectIoAlign - 1) / kDirectIoAlign * kDirectIoAlign; }

}  // namespace

AlignedBuffer::AlignedBuffer(size_t bytes_least) : size_(std::max(RoundUp(bytes_least), kDirectIoAlign)) {
  // A buffer of at least a quarter of the pooled size becomes a pooled one. For smaller ones malloc's reuse is enough.
  if (size_ <= kPooledBytes && size_ >= kPooledBytes / 4) size_ = kPooledBytes;
  data_ = size_ == kPooledBytes ? TakePooled() : Allocate(size_);
}

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

AlignedBuffer::~AlignedBuffer() {
  if (data_ == nullptr) return;
  if (size_ == kPooledBytes) {
    GiveBack(data_);
  } else {
    Free(data_);
  }
}

}  // namespace mergedb::env
