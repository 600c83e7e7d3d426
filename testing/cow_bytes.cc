#include "testing/cow_bytes.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/assert.h"

namespace mergedb::testing {
namespace {

constexpr char kZeros[kChunkBytes] = {};

size_t ChunkCount(uint64_t size) { return static_cast<size_t>((size + kChunkBytes - 1) / kChunkBytes); }

uint64_t Mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 29);
}

// Four sums, so that a multiplication does not wait for the one before.
uint64_t HashChunk(const char* bytes) {
  uint64_t sums[4] = {1, 2, 3, 4};
  for (size_t offset = 0; offset < kChunkBytes; offset += sizeof(sums)) {
    uint64_t words[4];
    std::memcpy(words, bytes + offset, sizeof(words));
    for (size_t i = 0; i < 4; ++i) sums[i] = Mix(sums[i], words[i]);
  }
  return Mix(Mix(sums[0], sums[1]), Mix(sums[2], sums[3])) | 1;  // never 0, because 0 means "not computed"
}

// Calls visit(index of the chunk, offset in the chunk, offset in the range, bytes) for each chunk of the range.
template <typename Visit>
void ForEachChunk(uint64_t offset, size_t bytes, Visit&& visit) {
  for (size_t done = 0; done < bytes;) {
    const size_t index = static_cast<size_t>((offset + done) / kChunkBytes);
    const size_t within = static_cast<size_t>((offset + done) % kChunkBytes);
    const size_t piece = std::min(bytes - done, kChunkBytes - within);
    if (!visit(index, within, done, piece)) return;
    done += piece;
  }
}

}  // namespace

size_t CowBytes::Read(uint64_t offset, size_t bytes, char* out) const {
  if (offset >= size_) return 0;
  bytes = static_cast<size_t>(std::min<uint64_t>(bytes, size_ - offset));
  ForEachChunk(offset, bytes, [&](size_t index, size_t within, size_t done, size_t piece) {
    const Chunk* chunk = chunks_[index].get();
    std::memcpy(out + done, chunk ? chunk->bytes + within : kZeros, piece);
    return true;
  });
  return bytes;
}

char* CowBytes::MutableChunk(size_t index) {
  std::shared_ptr<Chunk>& chunk = chunks_[index];
  if (chunk == nullptr) {
    chunk = std::make_shared<Chunk>();
    allocated_bytes_ += kChunkBytes;
  } else if (chunk.use_count() > 1) {
    chunk = std::make_shared<Chunk>(*chunk);
  }
  chunk->fingerprint = 0;
  return chunk->bytes;
}

void CowBytes::Write(uint64_t offset, std::string_view bytes) {
  if (bytes.empty()) return;
  size_ = std::max<uint64_t>(size_, offset + bytes.size());
  if (chunks_.size() < ChunkCount(size_)) chunks_.resize(ChunkCount(size_));
  ForEachChunk(offset, bytes.size(), [&](size_t index, size_t within, size_t done, size_t piece) {
    std::memcpy(MutableChunk(index) + within, bytes.data() + done, piece);
    return true;
  });
}

bool CowBytes::Allocate(uint64_t offset, uint64_t bytes, uint64_t room) {
  ASSERT(offset % kChunkBytes == 0 && bytes % kChunkBytes == 0 && offset + bytes <= size_, "whole chunks of the file");
  for (size_t index = offset / kChunkBytes; index < (offset + bytes) / kChunkBytes; ++index) {
    if (chunks_[index]) continue;
    if (room < kChunkBytes) return false;
    (void)MutableChunk(index);
    room -= kChunkBytes;
  }
  return true;
}

void CowBytes::Deallocate(uint64_t offset, uint64_t bytes) {
  ASSERT(offset % kChunkBytes == 0 && bytes % kChunkBytes == 0 && offset + bytes <= size_, "whole chunks of the file");
  for (size_t index = offset / kChunkBytes; index < (offset + bytes) / kChunkBytes; ++index) {
    if (chunks_[index]) allocated_bytes_ -= kChunkBytes;
    chunks_[index] = nullptr;
  }
}

void CowBytes::Resize(uint64_t size) {
  for (size_t index = ChunkCount(size); index < chunks_.size(); ++index) {
    if (chunks_[index]) allocated_bytes_ -= kChunkBytes;
  }
  chunks_.resize(ChunkCount(size));
  const size_t tail = size % kChunkBytes;
  if (size < size_ && tail != 0 && chunks_.back()) {
    std::memset(MutableChunk(chunks_.size() - 1) + tail, 0, kChunkBytes - tail);
  }
  size_ = size;
}

std::string CowBytes::ToString() const {
  std::string bytes(size_, '\0');
  Read(0, bytes.size(), bytes.data());
  return bytes;
}

size_t CowBytes::BytesThatFit(uint64_t offset, size_t bytes, uint64_t room) const {
  size_t fit = 0;
  ForEachChunk(offset, bytes, [&](size_t index, size_t, size_t, size_t piece) {
    if (index >= chunks_.size() || chunks_[index] == nullptr) {
      if (room < kChunkBytes) return false;
      room -= kChunkBytes;
    }
    fit += piece;
    return true;
  });
  return fit;
}

bool CowBytes::Follow(std::string_view memory) {
  ASSERT(memory.size() == size_, "the memory has another size");
  bool is_changed = false;
  ForEachChunk(0, memory.size(), [&](size_t index, size_t, size_t done, size_t piece) {
    const char* mine = chunks_[index] ? chunks_[index]->bytes : kZeros;
    if (std::memcmp(mine, memory.data() + done, piece) != 0) {
      std::memcpy(MutableChunk(index), memory.data() + done, piece);
      is_changed = true;
    }
    return true;
  });
  return is_changed;
}

// Several threads may compute the fingerprint of a shared chunk at the same time; all of them store the same value.
uint64_t CowBytes::Chunk::Fingerprint() {
  const std::atomic_ref<uint64_t> known(fingerprint);
  if (known.load() == 0) known.store(HashChunk(bytes));
  return known.load();
}

uint64_t CowBytes::Fingerprint() const {
  static const uint64_t hole = HashChunk(kZeros);
  uint64_t hash = Mix(2, size_);
  for (const std::shared_ptr<Chunk>& chunk : chunks_) { hash = Mix(hash, chunk ? chunk->Fingerprint() : hole); }
  return hash;
}

}  // namespace mergedb::testing
