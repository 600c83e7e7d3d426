#include "c/handles.h"

#include "base/assert.h"

namespace mergedb::c {

namespace {

constexpr uint64_t kClosing = uint64_t{1} << 31;
constexpr uint64_t kPinsMask = kClosing - 1;
constexpr uint32_t kGenerationMax = UINT32_MAX;

constexpr uint32_t GenerationOf(uint64_t state_or_handle, int shift) {
  return static_cast<uint32_t>(state_or_handle >> shift);
}
constexpr uint64_t FreeState(uint32_t generation) { return uint64_t{generation} << 32 | kClosing; }

constexpr uint64_t MakeHandle(HandleKind kind, uint32_t index, uint32_t generation) {
  return uint64_t{static_cast<uint8_t>(kind)} << 60 | uint64_t{index} << 32 | generation;
}
constexpr HandleKind KindOf(uint64_t handle) { return static_cast<HandleKind>(handle >> 60); }
constexpr uint32_t IndexOf(uint64_t handle) { return static_cast<uint32_t>(handle >> 32) & ((1u << 28) - 1); }

std::atomic<uint32_t> process_number{0};

}  // namespace

Object::~Object() = default;

HandleTable::HandleTable() = default;

HandleTable::~HandleTable() {
  for (std::atomic<Slot*>& chunk : chunks_) delete[] chunk.load();
}

void HandleTable::ForgetParentLocked() { process_number.fetch_add(1); }

HandleTable::Slot* HandleTable::SlotAt(uint32_t index) {
  const uint32_t chunk = index / kChunkSlots;
  if (chunk >= kChunksMax) return nullptr;
  Slot* slots = chunks_[chunk].load(std::memory_order_acquire);  // WHY: pairs with the release in Add
  return slots == nullptr ? nullptr : slots + index % kChunkSlots;
}

uint64_t HandleTable::Add(HandleKind kind, std::unique_ptr<Object> object) {
  uint32_t index = 0;
  {
    base::Lock lock(mutex_);
    if (free_.empty()) {
      const uint32_t chunk = slot_count_ / kChunkSlots;
      if (chunk == kChunksMax) return 0;
      free_.reserve(slot_count_ + kChunkSlots);  // WHY: so that Close never allocates
      auto slots = std::make_unique<Slot[]>(kChunkSlots);
      for (uint32_t i = 0; i < kChunkSlots; ++i) slots[i].state = FreeState(1);
      chunks_[chunk].store(slots.release(), std::memory_order_release);
      for (uint32_t i = kChunkSlots; i > 0; --i) free_.push_back(slot_count_ + i - 1);
      slot_count_ += kChunkSlots;
    }
    index = free_.back();
    free_.pop_back();
  }
  Slot* slot = SlotAt(index);
  const uint64_t state = slot->state.load();
  ASSERT((state & kClosing) != 0 && (state & kPinsMask) == 0, "a free slot is in use");
  slot->object = std::move(object);
  slot->kind = kind;
  slot->process = process_number.load();
  slot->state.store(state & ~kClosing);
  return MakeHandle(kind, index, GenerationOf(state, 32));
}

PinOutcome HandleTable::TakePin(Slot* slot, uint32_t generation, bool is_exclusive) {
  uint64_t state = slot->state.load();
  do {
    if (GenerationOf(state, 32) != generation || (state & kClosing) != 0) return PinOutcome::kBadHandle;
    if (is_exclusive && (state & kPinsMask) != 0) return PinOutcome::kInUse;
  } while (!slot->state.compare_exchange_weak(state, state + 1));
  return PinOutcome::kPinned;
}

void HandleTable::DropPin(Slot* slot) {
  const uint64_t before = slot->state.fetch_sub(1);
  if ((before & kClosing) != 0 && (before & kPinsMask) == 1) slot->state.notify_all();
}

bool HandleTable::Fits(const Slot& slot, HandleKind kind) {
  return slot.kind == kind && slot.process == process_number.load();
}

PinOutcome HandleTable::Pin(uint64_t handle, HandleKind kind, Object** object) {
  Slot* slot = SlotAt(IndexOf(handle));
  if (slot == nullptr || KindOf(handle) != kind) return PinOutcome::kBadHandle;
  const PinOutcome outcome = TakePin(slot, GenerationOf(handle, 0), IsExclusive(kind));
  if (outcome != PinOutcome::kPinned) return outcome;
  if (!Fits(*slot, kind)) {
    DropPin(slot);
    return PinOutcome::kBadHandle;
  }
  *object = slot->object.get();
  return PinOutcome::kPinned;
}

void HandleTable::Unpin(uint64_t handle) { DropPin(SlotAt(IndexOf(handle))); }

PinOutcome HandleTable::Close(uint64_t handle, HandleKind kind, std::unique_ptr<Object>* object) {
  Object* pinned = nullptr;
  const PinOutcome outcome = Pin(handle, kind, &pinned);
  if (outcome != PinOutcome::kPinned) return outcome;
  Slot* slot = SlotAt(IndexOf(handle));
  if ((slot->state.fetch_or(kClosing) & kClosing) != 0) {  // another thread closes it
    DropPin(slot);
    return PinOutcome::kBadHandle;
  }
  pinned->BeginClose();
  DropPin(slot);
  for (uint64_t state = slot->state.load(); (state & kPinsMask) != 0; state = slot->state.load()) {
    slot->state.wait(state);
  }
  *object = std::move(slot->object);
  const uint32_t generation = GenerationOf(handle, 0);
  if (generation == kGenerationMax) return PinOutcome::kPinned;  // retired
  slot->state.store(FreeState(generation + 1));
  base::Lock lock(mutex_);
  free_.push_back(IndexOf(handle));
  return PinOutcome::kPinned;
}

}  // namespace mergedb::c
