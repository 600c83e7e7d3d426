// Handles: 64-bit numbers that stand for objects of the C interface. Every use checks them.
//
//   63..60  kind        so that the handle of an iterator is no handle of a database, and small integers are no handles
//   59..32  slot        index in the table
//   31..0   generation  of the slot; incremented when the object is closed, so that an old handle fits no later object
//
// Pin looks the number up and keeps the object alive for the length of one call. Close takes the object out of
// the table, so that exactly one caller destroys it. The state of a slot is one atomic word:
//
//   63..32  generation    31  closing (or free)    30..0  pins
//
// So a call costs two atomic operations and no lock. Slots live as long as the table, so a look-up of any
// number reads valid memory. A slot whose generations are used up is retired.
//
// Close of a shared object (database, snapshot, report) waits for the calls that use it. An exclusive object
// (all other kinds) allows one pin, and a second caller gets Busy. In the child of a fork the parent's threads
// do not exist, so handles made before the fork are bad there.
//
// Tests: tests/unit/c/handles_test.cc.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/fork_safe.h"
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

// An object that a handle can stand for: a class with a `kKind`.
struct Object {
  virtual ~Object();
  // Ends the waits of calls that have the object pinned, as far as a call waits for another one. No new call pins it.
  virtual void BeginClose() {}
};

// c.h: any number of threads may use databases, snapshots and reports at once.
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

  // The table of the process. It is never destroyed.
  static HandleTable& Global() { return base::ForkSafe<HandleTable>::Get(); }

  // 0 if all slots are taken.
  uint64_t Add(HandleKind kind, std::unique_ptr<Object> object);

  // After kPinned, *object stays alive until Unpin.
  PinOutcome Pin(uint64_t handle, HandleKind kind, Object** object);
  void Unpin(uint64_t handle);

  // Takes the object out of the table: from now on the handle is bad. Calls Object::BeginClose and waits until no call
  // has it pinned.
  PinOutcome Close(uint64_t handle, HandleKind kind, std::unique_ptr<Object>* object);

 private:
  friend class base::ForkSafe<HandleTable>;
  struct Slot {
    std::atomic<uint64_t> state;
    // Written only while the closing bit is set, when the slot cannot be pinned.
    std::unique_ptr<Object> object;
    HandleKind kind{};
    uint32_t process = 0;  // number of forks before the process that made the object
  };
  static constexpr uint32_t kChunkSlots = 256;
  static constexpr uint32_t kChunksMax = 16384;

  void ForgetParentLocked() REQUIRES_LOCK(mutex_);
  Slot* SlotAt(uint32_t index);
  static PinOutcome TakePin(Slot* slot, uint32_t generation, bool is_exclusive);
  static void DropPin(Slot* slot);
  static bool Fits(const Slot& slot, HandleKind kind);

  std::atomic<Slot*> chunks_[kChunksMax] = {};  // grows under mutex_; an entry never changes once set
  base::Mutex mutex_;
  uint32_t slot_count_ GUARDED_BY(mutex_) = 0;
  std::vector<uint32_t> free_ GUARDED_BY(mutex_);
};

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
