#include "leveldb/iterator.h"

#include "base/assert.h"

namespace leveldb {

Iterator::Iterator() {
  cleanup_head_.function = nullptr;
  cleanup_head_.next = nullptr;
}

// The cleanup that was registered first runs first; the others run newest first.
Iterator::~Iterator() {
  if (cleanup_head_.function == nullptr) return;
  cleanup_head_.function(cleanup_head_.first, cleanup_head_.second);
  for (CleanupNode* node = cleanup_head_.next; node != nullptr;) {
    node->function(node->first, node->second);
    CleanupNode* const next = node->next;
    delete node;
    node = next;
  }
}

void Iterator::RegisterCleanup(CleanupFunction function, void* first, void* second) {
  ASSERT(function != nullptr, "a cleanup needs a function");
  CleanupNode* node = &cleanup_head_;
  if (cleanup_head_.function != nullptr) {
    node = new CleanupNode;
    node->next = cleanup_head_.next;
    cleanup_head_.next = node;
  }
  node->function = function;
  node->first = first;
  node->second = second;
}

namespace {

class NoEntries final : public Iterator {
 public:
  explicit NoEntries(const Status& status) : status_(status) {}
  bool Valid() const override { return false; }
  void SeekToFirst() override {}
  void SeekToLast() override {}
  void Seek(const Slice&) override {}
  void Next() override { ASSERT(false, "Next of an iterator that is not valid"); }
  void Prev() override { ASSERT(false, "Prev of an iterator that is not valid"); }
  Slice key() const override { return {}; }
  Slice value() const override { return {}; }
  Status status() const override { return status_; }

 private:
  const Status status_;
};

}  // namespace

Iterator* NewEmptyIterator() { return new NoEntries(Status::OK()); }
Iterator* NewErrorIterator(const Status& status) { return new NoEntries(status); }

}  // namespace leveldb
