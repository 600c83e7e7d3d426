#include "read/db_iterator.h"

#include <algorithm>
#include <string>
#include <utility>

#include "iterator/user_iterator.h"
#include "read/next_step.h"
#include "read/tree_iterator.h"

namespace mergedb::read {
namespace {

class DbIterator final : public InternalAccessIterator {
 public:
  DbIterator(const DbIteratorContext& context, SuperVersionPtr super_version, kv::Sequence sequence,
             const IteratorOptions& options, Overlay overlay)
      : InternalAccessIterator(context.is_closed),
        order_(context.order),
        keep_(context.keep),
        directory_(context.directory),
        latencies_(context.latencies),
        slow_calls_(context.slow_calls),
        heat_(context.heat),
        observer_(context.observer),
        explain_(context.explain),
        super_version_(std::move(super_version)),
        values_(*super_version_->version, context.values, options.read.verify_checksums, context.observer, context.kept,
                context.skipped == nullptr),
        faults_(*context.faults) {
    format::Bounds bounds = BoundsOf(options);
    const kv::Sequence visible = overlay.versions == nullptr ? sequence : kv::kSequenceMax;
    auto tree = NewTreeIterator(
        {.order = context.order, .tables = context.tables, .kept = context.kept}, *super_version_, sequence, bounds,
        {options.read.verify_checksums, options.read.fill_cache, context.skipped, context.skipped == nullptr},
        std::move(overlay));
    input_ = iterator::NewUserIterator(order_,
                                       {.sequence = visible,
                                        .lower = std::move(bounds.lower),
                                        .upper = std::move(bounds.upper),
                                        .on_tombstone_scan = OnTombstoneScan(),
                                        .operators = context.operators,
                                        .values = &values_,
                                        .faults = context.faults,
                                        .shows_lasting = context.kept != nullptr,
                                        .keys_only = options.keys_only},
                                       std::move(tree));
  }
  ~DbIterator() override {
    ReportRunVisits();
    input_ = nullptr;
    super_version_ = nullptr;
  }

  bool Valid() const override { return input_->Valid() && IsOpen(); }
  void SeekToFirst() override {
    MeasureSeek([&] { input_->SeekToFirst(); });
  }
  void SeekToLast() override {
    MeasureSeek([&] { input_->SeekToLast(); });
  }
  void Seek(std::string_view target) override {
    MeasureSeek([&] { input_->Seek(target, kv::kTagMax); }, &target);
  }
  void SeekForPrev(std::string_view target) override {
    MeasureSeek([&] { input_->SeekForPrev(target); }, &target);
  }
  void Next() override {
    if (Valid()) [[likely]]
      return input_->Next();
    if (failed_key()) input_->NextFromFailed();
  }
  void Prev() override {
    if (Valid()) [[likely]]
      return input_->Prev();
    if (failed_key()) input_->PrevFromFailed();
  }
  // Busy says nothing about the key: no descriptor is left, or another process has replaced a file.
  std::optional<std::string_view> failed_key() const override {
    const auto key = unreadable_key();
    return key && !status().IsBusy() ? key : std::nullopt;
  }
  std::optional<std::string_view> unreadable_key() const override {
    return IsOpen() ? input_->failed_key() : std::nullopt;
  }
  void PrevFromUnreadable() override { input_->PrevFromFailed(); }
  kv::Iterator& internal() override { return *input_; }
  std::string_view key() const override { return input_->entry().key; }
  std::string_view value() const override { return input_->entry().value; }
  const Status& status() const override {
    static const Status closed = Status::ShuttingDown("the database of this iterator is closed");
    if (!IsOpen()) return closed;
    if (faults_.count() != faults_before_ && input_->status().ok()) [[unlikely]] {
      // In bytes that the caller has read since the last move. WHY once: views of the message stay valid.
      if (at_fault_.ok()) at_fault_ = faults_.status(faults_before_);
      return at_fault_;
    }
    const Status& status = input_->status();
    if (status.ok() || !(status.IsCorruption() || explain_ != nullptr)) [[likely]]
      return status;
    // WHY once: an explanation may read files. Busy may pass.
    if (explained_.ok() || explained_.IsBusy() || status.message() != unexplained_) {
      unexplained_ = status.message();
      Status explained = explain_ != nullptr ? (*explain_)(status) : WithNextStep(status, directory_);
      // WHY not always: views of the message stay valid.
      if (explained.ToString() != explained_.ToString()) explained_ = std::move(explained);
    }
    return explained_;
  }

 private:
  // `target`: null if the seek has none.
  template <class Act>
  void MeasureSeek(const Act& seek, const std::string_view* target = nullptr) {
    if (!IsOpen()) return;
    values_.NoteSeek();
    const size_t runs = super_version_->version->runs().size();
    run_visits_ += runs - std::min<size_t>(runs, 1);
    if (run_visits_ >= kRunVisitsToReport) ReportRunVisits();
    if (latencies_ == nullptr) return seek();
    if (slow_calls_->threshold_nanos != 0) [[unlikely]]
      return MeasureSlowSeek(seek, target);
    MeasureFastSeek(seek, target);
  }
  template <class Act>
  void MeasureFastSeek(const Act& seek, const std::string_view* target) {
    const env::LatencyTimer timer(*latencies_, env::Operation::kIteratorSeek, [&] {
      if (target != nullptr) heat_->Note(Heat::Kind::kRead, *target, 1);
    });
    seek();
  }
  template <class Act>
  [[gnu::noinline]] void MeasureSlowSeek(const Act& seek, const std::string_view* target) {
    const env::SlowCall slow(*slow_calls_, "seek");
    MeasureFastSeek(seek, target);
  }

  void ReportRunVisits() {
    if (run_visits_ > 0 && observer_ != nullptr) observer_->NoteRunVisits(run_visits_);
    run_visits_ = 0;
  }
  // WHY a lambda of one pointer: std::function allocates no memory for it.
  std::function<void(iterator::TombstoneScan)> OnTombstoneScan() const {
    if (observer_ == nullptr) return {};
    return [observer = observer_](iterator::TombstoneScan scan) { observer->NoteTombstoneScan(std::move(scan)); };
  }

  static constexpr uint64_t kRunVisitsToReport = 1024;

  const kv::Order order_;
  // The members are destroyed last to first: the input reads what the SuperVersion and `keep_` hold.
  const std::shared_ptr<const void> keep_;
  const std::string_view directory_;
  env::Latencies* const latencies_;  // may be null; `keep_` keeps it alive
  const env::SlowCalls* const slow_calls_;
  Heat* const heat_;
  ReadObserver* const observer_;                        // as latencies_
  uint64_t run_visits_ = 0;                             // not yet reported
  const std::function<Status(Status)>* const explain_;  // as latencies_
  mutable std::string unexplained_;                     // the message of the input's last error, and
  mutable Status explained_;                            // what status() returns for it
  SuperVersionPtr super_version_;
  BlobValues values_;
  const base::MappedFaults& faults_;  // as latencies_
  const uint64_t faults_before_ = faults_.count();
  mutable Status at_fault_;
  std::unique_ptr<iterator::UserCursor> input_;
};

class ErrorIterator final : public InternalAccessIterator {
 public:
  explicit ErrorIterator(const Status& status) : nothing_(kv::NewEmptyIterator(status)) {}
  bool Valid() const override { return false; }
  void SeekToFirst() override {}
  void SeekToLast() override {}
  void Seek(std::string_view) override {}
  void SeekForPrev(std::string_view) override {}
  void Next() override {}
  void Prev() override {}
  kv::Iterator& internal() override { return *nothing_; }
  std::string_view key() const override { return {}; }
  std::string_view value() const override { return {}; }
  const Status& status() const override { return nothing_->status(); }

 private:
  const std::unique_ptr<kv::Iterator> nothing_;
};

}  // namespace

format::Bounds BoundsOf(const IteratorOptions& options) {
  format::Bounds bounds{.lower = options.lower, .upper = options.upper};
  if (options.prefix.empty()) return bounds;
  if (!bounds.lower || *bounds.lower < options.prefix) bounds.lower = options.prefix;
  if (auto end = base::PrefixEnd(options.prefix); end && (!bounds.upper || *end < *bounds.upper))
    bounds.upper = std::move(end);
  return bounds;
}

std::unique_ptr<InternalAccessIterator> NewDbIterator(const DbIteratorContext& context, SuperVersionPtr super_version,
                                                      kv::Sequence sequence, const IteratorOptions& options,
                                                      Overlay overlay) {
  if (!options.prefix.empty() && !context.order.is_bytewise()) {
    return NewErrorIterator(Status::InvalidArgument("a prefix needs the bytewise comparator; use lower and upper"));
  }
  return std::make_unique<DbIterator>(context, std::move(super_version), sequence, options, std::move(overlay));
}

std::unique_ptr<InternalAccessIterator> NewErrorIterator(Status status) {
  return std::make_unique<ErrorIterator>(status);
}

}  // namespace mergedb::read
