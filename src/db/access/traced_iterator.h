// An iterator whose calls go to a trace. It wraps every iterator that is made while a trace runs, and lives as long as
// the program holds it; after the trace it only passes the calls on.
//
// Steps are counted: one record has all calls of Next, or of Prev, up to the next seek or turn.
#pragma once

#include <memory>
#include <utility>

#include "db/state/store.h"
#include "mergedb/iterator.h"

namespace mergedb::db {

class TracedIterator final : public Iterator {
 public:
  // `call`: that made the iterator. `number`: of the iterator in the trace.
  TracedIterator(std::shared_ptr<Store> store, const trace::Recorder::Call& call, uint64_t number,
                 std::unique_ptr<Iterator> traced)
      : store_(std::move(store)), session_(call.session), number_(number), traced_(std::move(traced)) {}
  ~TracedIterator() override {
    EndSteps();
    traced_ = nullptr;
    const trace::Recorder::Call call = Begin();
    Add(call, {.kind = trace::OpKind::kRelease});
  }

  bool Valid() const override { return traced_->Valid(); }
  void SeekToFirst() override {
    TraceSeek({.kind = trace::OpKind::kSeekToFirst}, [this] { traced_->SeekToFirst(); });
  }
  void SeekToLast() override {
    TraceSeek({.kind = trace::OpKind::kSeekToLast}, [this] { traced_->SeekToLast(); });
  }
  void Seek(std::string_view target) override {
    target_.assign(target);
    TraceSeek({.kind = trace::OpKind::kSeek, .key = target_}, [&] { traced_->Seek(target); });
  }
  void SeekForPrev(std::string_view target) override {
    target_.assign(target);
    TraceSeek({.kind = trace::OpKind::kSeekForPrev, .key = target_}, [&] { traced_->SeekForPrev(target); });
  }
  void Next() override {
    CountStep(trace::OpKind::kNext);
    traced_->Next();
  }
  void Prev() override {
    CountStep(trace::OpKind::kPrev);
    traced_->Prev();
  }
  std::string_view key() const override { return traced_->key(); }
  std::string_view value() const override { return traced_->value(); }
  const Status& status() const override { return traced_->status(); }
  std::optional<std::string_view> failed_key() const override { return traced_->failed_key(); }

 private:
  trace::Recorder::Call Begin() const {
    const trace::Recorder::Call call = store_->recorder.Begin();
    return call.session == session_ ? call : trace::Recorder::Call();
  }
  void Add(const trace::Recorder::Call& call, trace::Operation operation) {
    operation.iterator = number_;
    store_->recorder.Add(call, operation);
  }
  template <typename Act>
  void TraceSeek(trace::Operation operation, const Act& seek) {
    EndSteps();
    const trace::Recorder::Call call = Begin();
    seek();
    operation.code = traced_->status().code();
    Add(call, operation);
  }
  void CountStep(trace::OpKind direction) {
    if (direction != direction_) {
      EndSteps();
      direction_ = direction;
    }
    if (steps_++ == 0) steps_call_ = Begin();
  }
  void EndSteps() {
    if (steps_ == 0) return;
    Add(steps_call_, {.kind = direction_, .count = std::exchange(steps_, 0)});
  }

  const std::shared_ptr<Store> store_;
  const uint64_t session_;
  const uint64_t number_;
  std::unique_ptr<Iterator> traced_;
  trace::OpKind direction_ = trace::OpKind::kNext;
  uint64_t steps_ = 0;
  trace::Recorder::Call steps_call_;  // the first of the steps
  std::string target_;                // of the current seek. WHY a copy: `target` may be a view of the iterator's entry
};

// `iterator`, which `call` has made; wrapped, if the trace of the call has it.
inline std::unique_ptr<Iterator> TraceIterator(const std::shared_ptr<Store>& store, const trace::Recorder::Call& call,
                                               const IteratorOptions& options, bool in_transaction,
                                               std::unique_ptr<Iterator> iterator) {
  const format::Bounds bounds = read::BoundsOf(options);
  const uint64_t number = store->recorder.AddIterator(call, {.kind = trace::OpKind::kIterator,
                                                             .in_transaction = in_transaction,
                                                             .code = iterator->status().code(),
                                                             .keyspace = options.keyspace.id(),
                                                             .key = bounds.lower.value_or(""),
                                                             .end = bounds.upper.value_or(""),
                                                             .has_lower = bounds.lower.has_value(),
                                                             .has_upper = bounds.upper.has_value(),
                                                             .keys_only = options.keys_only});
  if (number == 0) return iterator;  // not in the sample
  return std::make_unique<TracedIterator>(store, call, number, std::move(iterator));
}

}  // namespace mergedb::db
