#include "read/db_iterator.h"

#include <string>
#include <utility>
#include <vector>

#include "read/run_iterator.h"
#include "read/view_values.h"
#include "stream/merging.h"
#include "stream/visible.h"

namespace mergedb::read {
namespace {

// The first key after all that begin with `prefix`; nullopt if there is none (all bytes 0xff).
std::optional<std::string> PrefixEnd(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xff) prefix.pop_back();
  if (prefix.empty()) return std::nullopt;
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

format::Bounds BoundsOf(const IteratorOptions& options) {
  format::Bounds bounds{.lower = options.lower, .upper = options.upper};
  if (options.prefix.empty()) return bounds;
  if (!bounds.lower || *bounds.lower < options.prefix) bounds.lower = options.prefix;
  if (auto end = PrefixEnd(options.prefix); end && (!bounds.upper || *end < *bounds.upper)) bounds.upper = std::move(end);
  return bounds;
}

std::unique_ptr<kv::Iterator> NewTreeIterator(const DbIteratorContext& context, const View& view,
                                              const format::Bounds& bounds, const table::ReadControl& control) {
  std::vector<std::unique_ptr<kv::Iterator>> children;
  children.reserve(1 + view.sealed.size() + view.version->runs().size());
  if (!view.active->empty()) children.push_back(view.active->NewIterator());
  for (const auto& table : view.sealed) children.push_back(table->NewIterator());
  for (const tree::RunPtr& run : view.version->runs()) {
    const auto [first, last] = run->Overlap(context.order, bounds);
    if (first == last) continue;
    children.push_back(NewRunIterator(context.order, run, bounds, [&tables = context.tables, control](const tree::Slice& slice) {
      auto reader = tables.Open(slice.file);
      if (!reader) return kv::NewEmptyIterator(reader.error());
      auto iterator = (*reader)->NewIterator(control);
      return NewPinnedTableIterator(std::move(*reader), std::move(iterator));
    }));
  }
  if (children.empty()) return kv::NewEmptyIterator();
  return stream::NewMergingIterator(context.order, std::move(children));
}

class DbIterator final : public Iterator {
 public:
  DbIterator(const DbIteratorContext& context, ViewPtr view, kv::Sequence sequence, const IteratorOptions& options)
      : order_(context.order),
        is_closed_(context.is_closed),
        on_release_(context.on_release),
        keep_(context.keep),
        view_(std::move(view)),
        values_(*view_->version, context.values, options.read.verify_checksums) {
    format::Bounds bounds = BoundsOf(options);
    auto tree = NewTreeIterator(context, *view_, bounds, {options.read.verify_checksums, options.read.fill_cache});
    input_ = stream::NewVisibleIterator(
        order_,
        {.sequence = sequence,
         .lower = std::move(bounds.lower),
         .upper = std::move(bounds.upper),
         .on_wade = context.on_wade,
         .values = &values_,
         .keys_only = options.keys_only},
        std::move(tree));
  }
  ~DbIterator() override {
    input_ = nullptr;
    view_ = nullptr;
    if (on_release_) on_release_();
  }

  bool Valid() const override { return input_->Valid() && IsOpen(); }
  void SeekToFirst() override {
    if (IsOpen()) input_->SeekToFirst();
  }
  void SeekToLast() override {
    if (IsOpen()) input_->SeekToLast();
  }
  void Seek(std::string_view target) override {
    if (IsOpen()) input_->Seek(target, kv::kTagMax);
  }
  void SeekForPrev(std::string_view target) override {
    if (!IsOpen()) return;
    input_->Seek(target, kv::kTagMax);
    if (!input_->Valid()) {
      if (input_->status().ok()) input_->SeekToLast();
    } else if (order_.CompareKeys(input_->entry().key, target) > 0) {
      input_->Prev();
    }
  }
  void Next() override {
    if (Valid()) input_->Next();
  }
  void Prev() override {
    if (Valid()) input_->Prev();
  }
  std::string_view key() const override { return input_->entry().key; }
  std::string_view value() const override { return input_->entry().value; }
  const Status& status() const override {
    static const Status closed = Status::ShuttingDown("the database of this iterator is closed");
    return IsOpen() ? input_->status() : closed;
  }

 private:
  bool IsOpen() const { return !is_closed_->load(std::memory_order_acquire); }

  const kv::Order order_;
  const std::shared_ptr<const std::atomic<bool>> is_closed_;
  const std::function<void()> on_release_;
  // Destroyed last to first: the input reads what the View and `keep_` hold.
  const std::shared_ptr<const void> keep_;
  ViewPtr view_;
  ViewValues values_;
  std::unique_ptr<kv::Iterator> input_;
};

class ErrorIterator final : public Iterator {
 public:
  explicit ErrorIterator(Status status) : status_(std::move(status)) {}
  bool Valid() const override { return false; }
  void SeekToFirst() override {}
  void SeekToLast() override {}
  void Seek(std::string_view) override {}
  void SeekForPrev(std::string_view) override {}
  void Next() override {}
  void Prev() override {}
  std::string_view key() const override { return {}; }
  std::string_view value() const override { return {}; }
  const Status& status() const override { return status_; }

 private:
  const Status status_;
};

}  // namespace

std::unique_ptr<Iterator> NewDbIterator(const DbIteratorContext& context, ViewPtr view, kv::Sequence sequence,
                                        const IteratorOptions& options) {
  if (!options.prefix.empty() && !context.order.is_bytewise()) {
    return NewErrorIterator(Status::InvalidArgument("a prefix needs the bytewise comparator; use lower and upper"));
  }
  return std::make_unique<DbIterator>(context, std::move(view), sequence, options);
}

std::unique_ptr<Iterator> NewErrorIterator(Status status) { return std::make_unique<ErrorIterator>(std::move(status)); }

}  // namespace mergedb::read
