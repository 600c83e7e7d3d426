#include "iterator/snapshot_filter.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "iterator/reseek_check.h"

namespace mergedb::iterator {
namespace {

class SnapshotFilter final : public kv::Iterator {
 public:
  SnapshotFilter(const kv::Order& order, kv::Sequence sequence, std::unique_ptr<kv::Iterator> input)
      : order_(order), sequence_(sequence), input_(std::move(input)) {
    status_ = input_->status();
  }

  void SeekToFirst() override {
    reseeks_.Restart();
    input_->SeekToFirst();
    FindForward();
  }
  void SeekToLast() override {
    reseeks_.Restart();
    input_->SeekToLast();
    FindBackward();
  }
  void Seek(std::string_view key, kv::Tag tag) override {
    reseeks_.Restart();
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
    reseeks_.Restart();
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
      const kv::Entry& entry = input_->entry();
      const kv::Tag tag = kv::SeekTag(sequence_);
      Status status = reseeks_.Forward(order_, entry, entry.key, tag);
      if (!status.ok()) return Fail(std::move(status));
      input_->Seek(reseeks_.key(), tag);
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
    if (valid_) entry_ = input_->entry();
  }

  void Fail(Status status) {
    valid_ = false;
    status_ = std::move(status);
  }

  const kv::Order order_;
  const kv::Sequence sequence_;
  const std::unique_ptr<kv::Iterator> input_;
  ReseekCheck reseeks_;  // forward only: a backward scan does not reseek
};

}  // namespace

std::unique_ptr<kv::Iterator> NewSnapshotFilter(const kv::Order& order, kv::Sequence sequence,
                                                std::unique_ptr<kv::Iterator> input) {
  return std::make_unique<SnapshotFilter>(order, sequence, std::move(input));
}

}  // namespace mergedb::iterator
