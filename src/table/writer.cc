#include "table/writer.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "format/bloom.h"
#include "format/range_tombstones.h"

namespace mergedb::table {
namespace {

constexpr uint64_t kBufferedBytesMax = 256 << 10;
// A recycled file keeps its size if the padding is at most this share (1/16) of it.
constexpr uint64_t kPaddingShare = 16;
constexpr size_t kReusedHashesMax = 2 << 20;  // 16 MiB per thread
constexpr std::string_view kWriterName = "mergedb";

// Memory for the hashes of a table's keys, 8 bytes each. A thread reuses it for its next table, since fresh
// pages are expensive.
std::vector<uint64_t>& ReusedHashes() {
  thread_local std::vector<uint64_t> spare;
  return spare;
}

}  // namespace

Result<std::unique_ptr<Writer>> Writer::Create(FileSystem* file_system, const std::string& path, kv::FileNumber number,
                                               uint64_t unique_id, const kv::Order& order,
                                               const WriterOptions& options) {
  const bool is_direct = options.is_direct && options.bytes_expected >= kBufferedBytesMax;
  ASSIGN_OR_RETURN(auto file,
                   env::SinkFile::Open(file_system, path,
                                       {.is_direct = is_direct, .is_reuse = options.is_reuse, .times = options.times}));
  return std::unique_ptr<Writer>(new Writer(path, std::move(file), number, unique_id, order, options));
}

Writer::Writer(std::string path, env::SinkFile file, kv::FileNumber number, uint64_t unique_id, const kv::Order& order,
               const WriterOptions& options)
    : path_(std::move(path)),
      order_(order),
      block_bytes_(std::max<size_t>(options.block_bytes, 1)),
      bits_per_key_(
          order.is_bytewise() && options.filter_policy == nullptr ? std::clamp(options.bloom_bits_per_key, 0, 64) : 0),
      sink_(std::move(file)),
      compressor_(options.compression),
      block_(order.is_bytewise() && !options.keeps_keys_whole),
      index_(order.is_bytewise()),
      hashes_(std::move(ReusedHashes())),
      filter_policy_(options.filter_policy) {
  hashes_.clear();
  if (filter_policy_ != nullptr) own_filter_.emplace(*filter_policy_);
  meta_.number = number;
  meta_.unique_id = unique_id;
  meta_.smallest_sequence = kv::kSequenceMax;
}

Writer::~Writer() {
  const size_t room = hashes_.capacity();
  if (room > ReusedHashes().capacity() && room <= kReusedHashesMax) ReusedHashes() = std::move(hashes_);
}

// Different prefixes decide the order without a read of the last key.
bool Writer::IsAfterLast(const kv::Entry& entry) {
  is_older_version_ = false;
  if (entry.prefix != last_prefix_) return entry.prefix > last_prefix_;
  const int order = order_.CompareKeys(last_key(), entry.key);
  // Not after an operand: operands need the older version, so it is not garbage.
  is_older_version_ = order == 0 && kv::KindOf(last_tag_) != kv::Kind::kMerge;
  return order != 0 ? order < 0 : last_tag_ > entry.tag;
}

Status Writer::OutOfOrder(const kv::Entry& entry) const {
  return Status::Corruption(path_ + ": comparator \"" + std::string(order_.comparator()->Name()) +
                            "\" is not a total order, or entries came out of order: " +
                            kv::PrintKey(entry.key, entry.tag) + " after " + kv::PrintKey(last_key(), last_tag_));
}

void Writer::Count(const kv::Entry& entry) {
  const kv::Sequence sequence = kv::SequenceOf(entry.tag);
  meta_.smallest_sequence = std::min(meta_.smallest_sequence, sequence);
  meta_.largest_sequence = std::max(meta_.largest_sequence, sequence);
  meta_.tombstones += is_older_version_ || kv::KindOf(entry.tag) == kv::Kind::kDelete;
  meta_.raw_bytes += entry.key.size() + entry.value.size();
  ++meta_.entries;
  last_prefix_ = entry.prefix;
  last_tag_ = entry.tag;
}

Status Writer::Add(const kv::Entry& entry) {
  ASSERT(!is_finished_, "nothing is added after Finish");
  DCHECK(entry.prefix == order_.Prefix(entry.key), "an entry carries its key's prefix");
  if (!status_.ok()) [[unlikely]]
    return status_;
  if (meta_.entries == 0) [[unlikely]] {
    first_key_ = entry.key;
  } else if (!IsAfterLast(entry)) [[unlikely]] {
    return status_ = OutOfOrder(entry);
  }
  if (block_.IsFullFor(entry.key.size(), entry.value.size(), block_bytes_)) {
    RETURN_IF_ERROR(status_ = FinishBlock());
    index_.AddFence(border_, &entry.key);
  }
  block_.Add(entry.key, entry.tag, entry.value);
  if (HasFilter()) {
    const uint64_t hash = base::Hash64(entry.key);
    if (hashes_.empty() || hashes_.back() != hash) hashes_.push_back(hash);  // the versions of a key count once
  }
  if (own_filter_) own_filter_->AddKey(entry.key);  // older versions, too: they may be in another block
  Count(entry);
  return {};
}

void Writer::SetRangeTombstones(const kv::RangeTombstones& tombstones) {
  ASSERT(!is_finished_ && meta_.range_tombstones == 0, "range tombstones are set once, before Finish");
  if (tombstones.empty()) return;
  range_tombstones_ = format::EncodeRangeTombstones(tombstones);
  ranges_begin_ = tombstones.begin(0);
  ranges_end_ = tombstones.end(tombstones.size() - 1);
  meta_.range_tombstones = tombstones.tombstones();
  meta_.smallest_sequence = std::min(meta_.smallest_sequence, tombstones.oldest_sequence());
  meta_.largest_sequence = std::max(meta_.largest_sequence, tombstones.newest_sequence());
}

Status Writer::FinishBlock() {
  const std::string_view raw = block_.Finish();
  const std::string_view compressed = compressor_.Compress(raw);
  uint64_t stored_bytes = 0;
  RETURN_IF_ERROR(compressed.empty() ? AppendPart(raw, Compression::kNone, &stored_bytes)
                                     : AppendPart(compressed, compressor_.codec(), &stored_bytes));
  if (stored_bytes > UINT32_MAX) return Status::NotSupported(path_ + ": a block of 4 GiB");
  index_.AddBlock(static_cast<uint32_t>(stored_bytes));
  border_ = block_.last_key();
  block_.Reset();
  if (own_filter_) own_filter_->StartBlock(sink_.offset());
  return {};
}

Status Writer::AppendPart(std::string_view payload, Compression codec, uint64_t* stored_bytes) {
  char trailer[format::kTrailerBytes];
  format::StoreTrailer(trailer, payload, codec, {.unique_id = meta_.unique_id, .offset = sink_.offset()});
  RETURN_IF_ERROR(sink_.Append(payload));
  RETURN_IF_ERROR(sink_.Append({trailer, sizeof trailer}));
  *stored_bytes = payload.size() + sizeof trailer;
  return {};
}

Status Writer::AppendSections() {
  if (meta_.entries > 0) {
    RETURN_IF_ERROR(FinishBlock());
    index_.AddFence(border_, nullptr);
  }
  if (index_.bytes() > UINT32_MAX) return Status::NotSupported(path_ + ": an index of 4 GiB");
  format::SetLimits(
      order_, {.first_key = first_key_, .last_key = border_, .ranges_begin = ranges_begin_, .ranges_end = ranges_end_},
      &meta_);
  format::Footer footer{.unique_id = meta_.unique_id, .data_bytes = sink_.offset()};
  if (HasFilter() && meta_.entries > 0) {
    RETURN_IF_ERROR(AppendPart(format::EncodeBloom(hashes_, bits_per_key_), Compression::kNone, &footer.filter_bytes));
  }
  if (own_filter_ && meta_.entries > 0) {
    RETURN_IF_ERROR(AppendPart(own_filter_->Finish(), Compression::kNone, &footer.filter_bytes));
  }
  if (!range_tombstones_.empty()) {
    RETURN_IF_ERROR(AppendPart(range_tombstones_, Compression::kNone, &footer.range_tombstone_bytes));
  }
  if (meta_.entries > 0) {
    RETURN_IF_ERROR(AppendPart(index_.Finish(first_key_, border_), Compression::kNone, &footer.index_bytes));
  }
  const format::Properties properties{
      .meta = meta_,
      .comparator = std::string(order_.comparator()->Name()),
      .writer = std::string(kWriterName),
      .compacted_ranges = compacted_ranges_,
      .filter_policy = footer.filter_bytes > 0 && own_filter_ ? std::string(filter_policy_->Name()) : ""};
  RETURN_IF_ERROR(AppendPart(format::EncodeProperties(properties), Compression::kNone, &footer.properties_bytes));
  const uint64_t least_bytes = format::TableBytes(footer.sections_end());
  const uint64_t recycled_bytes = sink_.recycled_bytes();
  const bool fits = recycled_bytes >= least_bytes && recycled_bytes % format::kTableAlign == 0 &&
                    recycled_bytes - least_bytes <= recycled_bytes / kPaddingShare;
  footer.file_bytes = fits ? recycled_bytes : least_bytes;
  RETURN_IF_ERROR(sink_.PadTo(footer.file_bytes - format::kFooterBytes));
  RETURN_IF_ERROR(sink_.Append(format::EncodeFooter(footer)));
  meta_.bytes = footer.file_bytes;
  return sink_.Finish();
}

Result<format::FileMetaPtr> Writer::Finish() {
  ASSERT(!is_finished_, "a table is finished once");
  if (status_.ok()) {
    ASSERT(meta_.entries > 0 || meta_.range_tombstones > 0, "a table has entries or range tombstones");
    status_ = AppendSections();
  }
  is_finished_ = true;
  if (!status_.ok()) return status_;
  return std::make_shared<const format::FileMeta>(meta_);
}

Status Writer::Sync() {
  ASSERT(is_finished_, "Finish comes before Sync");
  if (!status_.ok()) return status_;
  return status_ = sink_.Sync();  // never repeat a failed sync
}

}  // namespace mergedb::table
