#include "kv/iterator.h"

#include <utility>

#include "base/assert.h"

namespace mergedb::kv {
namespace {

class EmptyIterator final : public Iterator {
 public:
  explicit EmptyIterator(Status status) { status_ = std::move(status); }
  void SeekToFirst() override {}
  void SeekToLast() override {}
  void Seek(std::string_view, Tag) override {}
  void Next() override { ASSERT(false, "Next needs Valid()"); }
  void Prev() override { ASSERT(false, "Prev needs Valid()"); }
};

}  // namespace

std::unique_ptr<Iterator> NewEmptyIterator(Status status) { return std::make_unique<EmptyIterator>(std::move(status)); }

}  // namespace mergedb::kv
