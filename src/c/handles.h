// Handles: 64-bit numbers that stand for objects of the C face, checked on every use.
//
//   63..60  kind        so that an iterator's handle is no database's, and small integers are nobody's
//   59..32  slot        index in the table
//   31..0   generation  of the slot; counts up when the object goes, so that an old handle fits no later object
//
// The simple truth: Pin looks the number up and keeps the object alive for the length of one call; Close takes the
// object out, so that exactly one caller destroys it. A slot's state is one atomic word,
//
//   63..32  generation    31  closing (or free)    30..0  pins
//
// hence a call costs two atomic operations and no lock. Slots live as long as the table: a number made up by a
// caller is looked up in memory that stays a slot for ever. A slot whose generations are used up is retired.
//
// What complicates it: closing a shared object (database, snapshot) waits for the calls that are in it; an exclusive
// one (all others) allows one pin, and whoever comes second hears Busy. The child of a fork has none of the
// parent's threads, so handles made before the fork are bad in it.
//
// Tested by tests/unit/c/handles_test.cc.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/sync.h"

namespace mergedb::c {

enum class HandleKind : uint8_t {
  kDatabase = 1,
  kIterator = 2,
  kSnapshot = 3,
  kBatch = 4,
  kTransaction = 5,
  kCursor = 6,
  kReport = 7
};

// What a handle can stand for: a class with a `kKind`.
struct Object {
  virtual ~Object();
};

// c.h: databases, snapshots and reports may be used by any number of threads at once.
constexpr bool IsExclusive(HandleKind kind) {
  return kind != HandleKind::kDatabase && kind != HandleKind::kSnapshot && kind != HandleKind::kReport;
}

enum class PinOutcome : uint8_t { kPinned, kBadHandle, kInUse };

class HandleTable {
 public:
  HandleTable();
  ~HandleTable();
  HandleTable(const HandleTable&) = delete;
  HandleTable& operator=(const HandleTable&) = delete;

  // The one table of the process; lives for ever.
  static HandleTable& Global();

  // 0 if all slots are taken.
  uint64_t Add(HandleKind kind, std::unique_ptr<Object> object);

  // After kPinned, *object is alive until Unpin.
  PinOutcome Pin(uint64_t handle, HandleKind kind, Object** object);
  void Unpin(uint64_t handle);

  // Take the object out of the table: from now on the handle is bad. Waits until nobody has it pinned.
  PinOutcome Close(uint64_t handle, HandleKind kind, std::unique_ptr<Object>* object);

 private:
  struct Slot {
    std::atomic<uint64_t> state;
    // Written while the closing bit keeps everybody out.
    std::unique_ptr<Object> object;
    HandleKind kind{};
    uint32_t process = 0;  // how many forks led to the process that made it
  };
  static constexpr uint32_t kChunkSlots = 256;
  static constexpr uint32_t kChunksMax = 16384;

  Slot* SlotAt(uint32_t index);
  static PinOutcome TakePin(Slot* slot, uint32_t generation, bool is_exclusive);
  static void DropPin(Slot* slot);
  static bool Fits(const Slot& slot, HandleKind kind);

  std::atomic<Slot*> chunks_[kChunksMax] = {};  // grows under mutex_; entries never change once set
  base::Mutex mutex_;
  uint32_t slot_count_ GUARDED_BY(mutex_) = 0;
  std::vector<uint32_t> free_ GUARDED_BY(mutex_);
};

// A pinned object, for the length of a call.
template <typename T>
class Pinned {
 public:
  explicit Pinned(uint64_t handle) : handle_(handle) {
    Object* object = nullptr;
    outcome_ = HandleTable::Global().Pin(handle, T::kKind, &object);
    object_ = static_cast<T*>(object);
  }
  ~Pinned() {
    if (object_ != nullptr) HandleTable::Global().Unpin(handle_);
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

  PinOutcome outcome() const { return outcome_; }
  T* operator->() const { return object_; }
  T* get() const { return object_; }

 private:
  uint64_t handle_;
  PinOutcome outcome_;
  T* object_;
};

}  // namespace mergedb::c
