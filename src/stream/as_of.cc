#include "stream/as_of.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/assert.h"
#include "stream/plain_moves.h"

namespace mergedb::stream {
namespace {

// After this many versions left out one by one, a seek is cheaper.
constexpr int kStepsMax = 8;

class AsOfIterator final : public kv::Iterator {
 public:
  AsOfIterator(kv::Sequence sequence, std::unique_ptr<kv::Iterator> input) : sequence_(sequence), input_(std::move(input)) {
    status_ = input_->status();
  }

  void SeekToFirst() override {
    input_->SeekToFirst();
    FindForward();
  }
  void SeekToLast() override {
    input_->SeekToLast();
    FindBackward();
  }
  void Seek(std::string_view key, kv::Tag tag) override {
    input_->Seek(key, std::min(tag, kv::SeekTag(sequence_)));
    FindForward();
  }
  void Next() override {
    DCHECK(Valid(), "Next of an invalid iterator");
    input_->Next();
    FindForward();
  }
  void Prev() override {
    DCHECK(Valid(), "Prev of an invalid iterator");
    input_->Prev();
    FindBackward();
  }

 private:
  bool IsNewer() const { return kv::SequenceOf(input_->entry().tag) > sequence_; }

  void FindForward() {
    for (int steps = 1; input_->Valid() && IsNewer(); ++steps) {
      if (steps % kStepsMax != 0) {
        input_->Next();
        continue;
      }
      target_.assign(input_->entry().key);
      input_->Seek(target_, kv::SeekTag(sequence_));
    }
    Show();
  }

  void FindBackward() {
    while (input_->Valid() && IsNewer()) input_->Prev();
    Show();
  }

  void Show() {
    valid_ = input_->Valid();
    status_ = input_->status();
    if (valid_) CopyEntry(input_->entry(), &entry_);
  }

  const kv::Sequence sequence_;
  const std::unique_ptr<kv::Iterator> input_;
  std::string target_;
};

}  // namespace

std::unique_ptr<kv::Iterator> NewAsOfIterator(kv::Sequence sequence, std::unique_ptr<kv::Iterator> input) {
  return std::make_unique<AsOfIterator>(sequence, std::move(input));
}

}  // namespace mergedb::stream
