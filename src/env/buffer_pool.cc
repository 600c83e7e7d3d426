#include "env/buffer_pool.h"

#include <pthread.h>

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/sync.h"
#include "mergedb/env.h"

namespace mergedb::env {
namespace {

struct Pool {
  base::Mutex mutex;
  std::vector<char*> free GUARDED_BY(mutex);

  // WHY the lock is held across a fork: the child has no thread that could unlock it.
  static Pool& Get() {
    static Pool* const pool = [] {
      static Pool* made = new Pool;      // never destroyed: threads may outlive main's statics
      made->free.reserve(kBuffersKept);  // so that GiveBack allocates nothing
      pthread_atfork([] { made->mutex.lock(); }, [] { made->mutex.unlock(); }, [] { made->mutex.unlock(); });
      return made;
    }();
    return *pool;
  }
};

char* Allocate(size_t bytes) { return static_cast<char*>(::operator new (bytes, std::align_val_t{kDirectIoAlign})); }

void Free(char* memory) { ::operator delete (memory, std::align_val_t{kDirectIoAlign}); }

char* TakePooled() {
  Pool& pool = Pool::Get();
  {
    base::Lock lock(pool.mutex);
    if (!pool.free.empty()) {
      char* memory = pool.free.back();
      pool.free.pop_back();
      return memory;
    }
  }
  return Allocate(kPooledBytes);
}

void GiveBack(char* memory) {
  Pool& pool = Pool::Get();
  {
    base::Lock lock(pool.mutex);
    if (pool.free.size() < kBuffersKept) {
      pool.free.push_back(memory);
      return;
    }
  }
  Free(memory);
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
