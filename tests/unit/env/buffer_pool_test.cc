// Goal: a buffer is aligned and large enough; those from a quarter of the pooled size up to that size come from the
// pool, which gives them out again. Method: sizes on both sides of each limit; addresses of buffers taken and given
// back.
#include "env/buffer_pool.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "mergedb/env.h"

namespace mergedb::env {
namespace {

TEST(AlignedBuffer, HasTheNextAlignedSizeOrThePooledOne) {
  const auto size_for = [](size_t bytes) {
    const AlignedBuffer buffer(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % kDirectIoAlign, 0u);
    buffer.data()[0] = buffer.data()[buffer.size() - 1] = 'x';
    return buffer.size();
  };
  EXPECT_EQ(size_for(0), kDirectIoAlign);
  EXPECT_EQ(size_for(1), kDirectIoAlign);
  EXPECT_EQ(size_for(kDirectIoAlign), kDirectIoAlign);
  EXPECT_EQ(size_for(kDirectIoAlign + 1), 2 * kDirectIoAlign);
  constexpr size_t kQuarter = kPooledBytes / 4;
  EXPECT_EQ(size_for(kQuarter - kDirectIoAlign), kQuarter - kDirectIoAlign);
  EXPECT_EQ(size_for(kQuarter - kDirectIoAlign + 1), kPooledBytes);
  EXPECT_EQ(size_for(kQuarter), kPooledBytes);
  EXPECT_EQ(size_for(kPooledBytes), kPooledBytes);
  EXPECT_EQ(size_for(kPooledBytes + 1), kPooledBytes + kDirectIoAlign);
}

TEST(AlignedBuffer, IsGivenOutAgain) {
  char* data = AlignedBuffer(kPooledBytes).data();
  AlignedBuffer first(kPooledBytes), second(kPooledBytes);
  EXPECT_EQ(first.data(), data);
  EXPECT_NE(second.data(), data);
}

TEST(AlignedBuffer, IsKeptByOneOwner) {
  AlignedBuffer empty, first(kPooledBytes), small(1);
  EXPECT_EQ(empty.data(), nullptr);
  EXPECT_EQ(empty.size(), 0u);
  char* const data = first.data();
  AlignedBuffer moved(std::move(first));
  EXPECT_EQ(moved.data(), data);
  small = std::move(moved);
  EXPECT_EQ(small.data(), data);
  EXPECT_EQ(small.size(), kPooledBytes);
  EXPECT_NE(AlignedBuffer(kPooledBytes).data(), data) << "it has an owner";
}

TEST(AlignedBuffer, ThePoolKeepsUpToItsNumber) {
  std::set<char*> given_back;
  {
    std::vector<AlignedBuffer> taken;
    for (size_t i = 0; i < kBuffersKept + 1; ++i) given_back.insert(taken.emplace_back(kPooledBytes).data());
    EXPECT_EQ(given_back.size(), kBuffersKept + 1);
  }
  std::vector<AlignedBuffer> taken;
  for (size_t i = 0; i < kBuffersKept; ++i)
    EXPECT_TRUE(given_back.erase(taken.emplace_back(kPooledBytes).data()) == 1) << i;
}

}  // namespace
}  // namespace mergedb::env
