#include "compaction/compaction_job.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "compaction/range_inputs.h"
#include "format/blob_file.h"
#include "iterator/merging_iterator.h"
#include "iterator/range_tombstone_filter.h"

namespace mergedb::compaction {
namespace {

// Entries between two checks of the clock.
constexpr int kEntriesPerLook = 256;

// The virtual tables of one source within the pick's bounds, one after the other, read in large pieces. The
// iterator closes a table after its last entry: the publication that follows may remove the file while the job goes on.
class SourceIterator final : public kv::ForwardIterator {
 public:
  // `failed` receives the table that cannot be read; it outlives the iterator.
  SourceIterator(const kv::Order& order, table::Cache& tables, std::deque<version::VirtualTable> virtual_tables,
                 const format::Bounds& bounds, std::optional<FailedInput>* failed)
      : order_(order), tables_(tables), bounds_(bounds), failed_(failed), virtual_tables_(std::move(virtual_tables)) {}

  void SeekToFirst() override { Enter(); }
  void Next() override {
    child_->Next();
    SkipToShown();
  }

 private:
  void Enter() {
    for (; !virtual_tables_.empty(); virtual_tables_.pop_front()) {
      const version::VirtualTable& virtual_table = virtual_tables_.front();
      auto reader = tables_.Open(virtual_table.file);
      if (!reader) {
        unreadable_ = {};
        return Fail(reader.error());
      }
      child_ = nullptr;
      reader_ = std::move(*reader);
      upper_ = Tighter(virtual_table.bounds.upper, bounds_.upper, -1);
      unreadable_ = {};
      child_ = reader_->NewScanIterator(Tighter(virtual_table.bounds.lower, bounds_.lower, 1),
                                        {.upper = upper_, .unreadable = &unreadable_});
      child_->SeekToFirst();
      if (Show()) return;
      if (!status_.ok()) return;
    }
    valid_ = false;
    child_ = nullptr;
    reader_ = nullptr;
  }
  void SkipToShown() {
    if (Show() || !status_.ok()) return;
    virtual_tables_.pop_front();
    Enter();
  }
  bool Show() {
    if (!child_->Valid()) {
      if (!child_->status().ok()) Fail(child_->status());
      return valid_ = false;
    }
    if (upper_ && order_.CompareKeys(child_->entry().key, *upper_) >= 0) return valid_ = false;
    entry_ = child_->entry();
    return valid_ = true;
  }
  void Fail(Status status) {
    status_ = std::move(status);
    valid_ = false;
    *failed_ = FailedInput{.file = virtual_tables_.front().file->number, .keys = std::exchange(unreadable_, {})};
  }
  using Bound = std::optional<std::string>;
  const Bound& Tighter(const Bound& a, const Bound& b, int sign) const {
    if (!a || !b) return a ? a : b;
    return order_.CompareKeys(*a, *b) * sign >= 0 ? a : b;
  }

  const kv::Order order_;
  table::Cache& tables_;
  const format::Bounds bounds_;
  std::optional<FailedInput>* const failed_;
  std::deque<version::VirtualTable> virtual_tables_;  // not yet read; the first one is being read
  format::Bounds unreadable_;  // of the child, after an error; declared before child_, which writes it
  std::shared_ptr<table::Reader> reader_;
  std::unique_ptr<kv::ForwardIterator> child_;
  Bound upper_;
};

// The base values for folding operands. A blob index that the job meets is in an input that is not cut yet,
// so its blob file is part of the newest version.
class BaseValues final : public kv::ValueSource {
 public:
  BaseValues(const CompactionJobContext& context, uint64_t* bytes_read)
      : context_(context), bytes_read_(bytes_read), scanner_(*context.values, true, blob::kCompactionScannerLimits) {}

  Status Resolve(const kv::Entry& entry, std::string_view* value) override {
    format::BlobIndex reference;
    RETURN_IF_ERROR(format::DecodeBlobIndex(entry.value, &reference));
    const auto file = context_.tree.FindBlobFile(reference.file);
    if (file == nullptr) return Status::Corruption("a blob index of a blob file that is not part of the database");
    *bytes_read_ += reference.bytes;
    return scanner_.Read(*file, reference, entry.key, value);
  }

 private:
  const CompactionJobContext& context_;
  uint64_t* const bytes_read_;
  blob::Scanner scanner_;
};

// The part of a run that shows keys in `bounds`.
version::RunPtr PartOf(const kv::Order& order, const version::Run& run, const format::Bounds& bounds) {
  const auto [first, last] = run.Overlap(order, bounds);
  const auto begin = run.virtual_tables().begin();
  return std::make_shared<version::Run>(
      run.position(), run.level(),
      std::vector(begin + static_cast<ptrdiff_t>(first), begin + static_cast<ptrdiff_t>(last)));
}

}  // namespace

CompactionJob::CompactionJob(const CompactionJobContext& context, picker::CompactionPick pick,
                             const version::VersionPtr& version)
    : context_(context), pick_(std::move(pick)), rest_(pick_.bounds) {
  for (const kv::Position position : pick_.sources) {
    const version::RunPtr run = version->FindRun(position);
    ASSERT(run != nullptr, "the sources of a pick are in its version");
    sources_.push_back(PartOf(context_.factory.order, *run, pick_.bounds));
  }
  for (const kv::FileNumber number : pick_.blob_files_to_collect) {
    // A file that is obsolete since the pick needs no collection.
    if (auto file = version->FindBlobFile(number)) collected_.push_back(std::move(file));
  }
  compacted_ranges_ = version::CompactedRangesBy(context_.factory.order, *version, pick_.sources.front(),
                                                 pick_.sources.back(), pick_.bounds, context_.flushed_sequence);
}

CompactionJob::~CompactionJob() = default;

Result<bool> CompactionJob::Step(uint64_t nanos) {
  if (pick_.is_move) {
    RETURN_IF_ERROR(Move());
    return true;
  }
  const uint64_t deadline = context_.clock->NowNanos() + nanos;
  if (input_ == nullptr) RETURN_IF_ERROR(Start());
  do {
    for (int i = 0; i < kEntriesPerLook && input_->Valid(); ++i) {
      RETURN_IF_ERROR(Add(input_->entry()));
      if (outputs_->is_at_publication()) {
        const std::string cursor = outputs_->cut_key();
        RETURN_IF_ERROR(Publish(&cursor));
      }
      input_->Next();
    }
    if (!input_->Valid()) {
      RETURN_IF_ERROR(input_->status());
      RETURN_IF_ERROR(outputs_->Finish());
      RETURN_IF_ERROR(Publish(nullptr));
      return true;
    }
  } while (context_.clock->NowNanos() < deadline);
  return false;
}

Status CompactionJob::Add(const kv::Entry& entry) {
  if (!collected_.empty() && kv::KindOf(entry.tag) == kv::Kind::kPutBlobIndex) return AddBlobIndex(entry);
  return outputs_->Add(entry);
}

Status CompactionJob::AddBlobIndex(const kv::Entry& entry) {
  format::BlobIndex reference;
  RETURN_IF_ERROR(format::DecodeBlobIndex(entry.value, &reference));
  const auto file =
      std::ranges::lower_bound(collected_, reference.file, {}, [](const auto& each) { return each->number; });
  if (file == collected_.end() || (*file)->number != reference.file) return outputs_->Add(entry);
  kv::Entry whole = entry;
  whole.tag = kv::MakeTag(kv::SequenceOf(entry.tag), kv::Kind::kPut);
  if (Status status = scanner_->Read(**file, reference, entry.key, &whole.value); !status.ok()) {
    failed_input_ = FailedInput{.file = reference.file, .is_blob_file = true, .keys = {}};
    return status;
  }
  counts_.blob_bytes_moved += reference.bytes;
  counts_.bytes_read += reference.bytes;
  return outputs_->AddMoved(whole);
}

Status CompactionJob::Start() {
  if (!collected_.empty()) {
    ASSERT(context_.values != nullptr, "blob garbage collection needs the blob files");
    scanner_ = std::make_unique<blob::Scanner>(*context_.values, true, blob::kCompactionScannerLimits);
  }
  if (context_.values != nullptr) base_values_ = std::make_unique<BaseValues>(context_, &counts_.bytes_read);
  const kv::Order& order = context_.factory.order;
  // The inputs are fixed. A snapshot taken later sees the newest versions, which the compaction keeps.
  const kv::Stripes stripes(context_.tree.LiveSequences());
  ASSIGN_OR_RETURN(ranges_,
                   GatherRangeTombstones(order, context_.tables, sources_, pick_.bounds, stripes, &failed_input_));
  std::vector<std::unique_ptr<kv::ForwardIterator>> children;
  uint64_t entries = 0, raw_bytes = 0;
  for (const version::RunPtr& run : sources_) {
    std::deque<version::VirtualTable> virtual_tables = TakeVirtualTables(stripes, *run);
    for (const version::VirtualTable& virtual_table : virtual_tables) {
      entries += virtual_table.file->entries;
      raw_bytes += virtual_table.file->raw_bytes;
    }
    children.push_back(std::make_unique<SourceIterator>(order, context_.tables, std::move(virtual_tables), pick_.bounds,
                                                        &failed_input_));
  }
  sources_.clear();
  entries_expected_ = entries;
  auto survivors = iterator::NewRangeTombstoneFilter(
      order, ranges_, stripes, iterator::NewMergingIterator(order, std::move(children)), &counts_.input.masked);
  input_ = iterator::NewCompactionIterator(order,
                                           {.stripes = stripes,
                                            .is_bottommost = pick_.is_bottommost,
                                            .operators = context_.factory.operators,
                                            .values = base_values_.get()},
                                           std::move(survivors), &counts_.input);
  outputs_ = std::make_unique<Outputs>(
      context_.factory,
      Outputs::Options{.compression = pick_.is_bottommost ? context_.compression.bottom : context_.compression.upper,
                       .table_bytes_max = pick_.output_file_bytes,
                       .bytes_expected = pick_.output_file_bytes != 0
                                             ? std::min(pick_.output_file_bytes, pick_.input_bytes)
                                             : pick_.input_bytes,
                       .value_bytes_expected = context_.publication_bytes,
                       .cut_keys = pick_.cut_keys,
                       .range_tombstones = PassedOn(order, ranges_, stripes, pick_.is_bottommost),
                       .stripes = stripes,
                       .masked_bytes =
                           [this](const kv::RangeTombstones& ranges) {
                             return context_.tree.MaskedBytes(pick_.sources.back(), ranges);
                           },
                       .compacted_ranges = compacted_ranges_,
                       .separates_values = AreWorthABlobFile(context_.factory, entries, raw_bytes),
                       .publication_bytes = context_.publication_bytes});
  input_->SeekToFirst();
  return {};
}

// The virtual tables of a source that the job must read.
std::deque<version::VirtualTable> CompactionJob::TakeVirtualTables(const kv::Stripes& stripes,
                                                                   const version::Run& run) {
  const kv::Order& order = context_.factory.order;
  std::deque<version::VirtualTable> virtual_tables;
  for (const version::VirtualTable& virtual_table : run.virtual_tables()) {
    const auto shown =
        version::Clip(order, virtual_table.file, version::Intersection(order, virtual_table.bounds, pick_.bounds));
    if (!shown) continue;
    const bool is_hidden = IsHidden(order, ranges_, stripes, *shown);
    (is_hidden ? counts_.bytes_unread : counts_.bytes_read) += virtual_table.file->bytes;
    largest_sequence_ = std::max(largest_sequence_, virtual_table.file->largest_sequence);
    if (!is_hidden) virtual_tables.push_back(virtual_table);
  }
  return virtual_tables;
}

Status CompactionJob::Publish(const std::string* cursor) {
  format::VersionEdit edit;
  format::Bounds done = rest_;
  if (cursor != nullptr) done.upper = *cursor;
  kv::Position target = pick_.sources.back();
  for (const kv::Position position : pick_.sources) edit.cuts.push_back({.position = position, .bounds = done});
  // At a cut the entry at the cursor has begun a new table, so every finished table lies below the cursor.
  for (auto& file : outputs_->Take()) {
    // WHY this check: a forged input with deletes newer than any reader would be compacted again and again.
    if (file->largest_sequence > largest_sequence_) {
      return Status::Corruption("an input of a compaction has sequence " + std::to_string(file->largest_sequence) +
                                ", larger than that of its tables in the MANIFEST, " +
                                std::to_string(largest_sequence_));
    }
    counts_.bytes_written += file->bytes;
    edit.adds.push_back({.position = target, .level = pick_.target_level, .file = std::move(file), .bounds = {}});
  }
  for (auto& file : outputs_->TakeBlobFiles()) {
    counts_.bytes_written += file->bytes;
    edit.blob_files.push_back({std::move(file)});
  }
  if (cursor == nullptr) edit.levels.push_back({.position = target, .level = pick_.target_level});
  if (cursor != nullptr) rest_.lower = *cursor;
  return context_.tree.Install(edit);
}

Status CompactionJob::Move() {
  format::VersionEdit edit;
  const kv::Position target = pick_.sources.back();
  for (const version::RunPtr& run : sources_) {
    if (run->position() == target) continue;
    edit.cuts.push_back({.position = run->position(), .bounds = pick_.bounds});
    for (const version::VirtualTable& virtual_table : run->virtual_tables()) {
      edit.adds.push_back({.position = target,
                           .level = pick_.target_level,
                           .file = virtual_table.file,
                           .bounds = virtual_table.bounds});
    }
  }
  edit.levels.push_back({.position = target, .level = pick_.target_level});
  return context_.tree.Install(edit);
}

}  // namespace mergedb::compaction
