// A number of bytes of memory that files share.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace mergedb::env {

// THREADS: any. OWNERSHIP: shared by the shares, which may live longer than the database.
class ByteBudget : public std::enable_shared_from_this<ByteBudget> {
 public:
  explicit ByteBudget(uint64_t bytes_max) : left_(bytes_max) {}

  // Gives its bytes back when it is destroyed.
  class Share {
   public:
    Share(std::shared_ptr<ByteBudget> budget, uint64_t bytes) : budget_(std::move(budget)), bytes_(bytes) {}
    ~Share() { budget_->left_.fetch_add(bytes_, std::memory_order_relaxed); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

   private:
    const std::shared_ptr<ByteBudget> budget_;
    const uint64_t bytes_;
  };

  // Null: fewer bytes are left.
  std::unique_ptr<Share> Take(uint64_t bytes) {
    uint64_t left = left_.load(std::memory_order_relaxed);
    do {
      if (bytes > left) return nullptr;
    } while (!left_.compare_exchange_weak(left, left - bytes, std::memory_order_relaxed));
    try {
      return std::make_unique<Share>(shared_from_this(), bytes);
    } catch (...) {  // out of memory
      left_.fetch_add(bytes, std::memory_order_relaxed);
      throw;
    }
  }
  uint64_t bytes_left() const { return left_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> left_;
};

}  // namespace mergedb::env
