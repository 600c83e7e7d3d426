#include "c/options.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "c/merging.h"

namespace mergedb::c {

namespace {

constexpr size_t kStructBytesMax = 4096;  // a larger size is garbage, not a newer version

// WHY functions of their own, and no operator+: g++ 12 with -fsanitize=thread warns of a copy beyond a string.
Status SizeError(std::string message, size_t found, size_t expected) {
  message.append(": struct_size is ").append(std::to_string(found));
  message.append(", expected ").append(std::to_string(expected));
  return Status::InvalidArgument(message);
}
Status NewerFieldError(std::string message, size_t at) {
  message.append(": the field at byte ").append(std::to_string(at));
  message.append(" is of a newer version than this library");
  return Status::NotSupported(message);
}

template <typename T>
Status ReadStruct(const T* given, const char* name, T* out) {
  *out = T{};
  if (given == nullptr) return Status::Ok();
  size_t bytes = 0;
  std::memcpy(&bytes, given, sizeof bytes);
  if (bytes < sizeof bytes || bytes > kStructBytesMax) return SizeError(name, bytes, sizeof(T));
  const char* raw = reinterpret_cast<const char*>(given);
  std::memcpy(static_cast<void*>(out), raw, std::min(bytes, sizeof(T)));
  for (size_t i = sizeof(T); i < bytes; ++i) {
    if (raw[i] != 0) return NewerFieldError(name, i);
  }
  return Status::Ok();
}

Status BadField(const char* struct_name, const char* field, int64_t found, const char* expected) {
  return Status::InvalidArgument(std::string(struct_name) + ": " + field + " is " + std::to_string(found) +
                                 ", expected " + expected);
}

Status DecodeFlag(const char* struct_name, const char* field, int32_t given, bool* flag) {
  switch (given) {
    case MERGEDB_DEFAULT: return Status::Ok();
    case MERGEDB_YES: *flag = true; return Status::Ok();
    case MERGEDB_NO: *flag = false; return Status::Ok();
    default: return BadField(struct_name, field, given, "0, 1 (yes) or -1 (no)");
  }
}

Status TakeKeyspace(const char* struct_name, mergedb_keyspace given, Keyspace* keyspace) {
  if (keyspace != nullptr) *keyspace = Keyspace(given);
  return keyspace != nullptr || given == 0 ? Status() : BadField(struct_name, "keyspace", given, "0, for this call");
}

Status DecodeDurability(const char* struct_name, int32_t given, Durability* durability) {
  switch (given) {
    case MERGEDB_PROCESS_CRASH: *durability = Durability::kProcessCrash; return Status::Ok();
    case MERGEDB_SYNCED: *durability = Durability::kSynced; return Status::Ok();
    case MERGEDB_NO_WAL: *durability = Durability::kNoWal; return Status::Ok();
    default: return BadField(struct_name, "durability", given, "0 to 2");
  }
}

Status TakeSnapshot(mergedb_snapshot handle, const Opened* opened, std::shared_ptr<const Snapshot>* snapshot) {
  Pinned<SnapshotHolder> holder(handle);
  if (holder.outcome() != PinOutcome::kPinned) return BadHandle(holder.outcome(), HandleKind::kSnapshot);
  if (holder->opened.get() != opened) return Status::InvalidArgument("the snapshot is of another database");
  *snapshot = holder->snapshot;
  return Status::Ok();
}

// The progress callback of a struct with `progress` and its `state`.
template <typename Given>
Progress ProgressOf(const Given& c) {
  if (c.progress == nullptr) return {};
  return
      [progress = c.progress, state = c.state](uint64_t done, uint64_t all) { return progress(state, done, all) != 0; };
}

// Each Decode takes a field of mergedb_options.
Status Decode(const char* field, int32_t given, bool* flag) {
  return DecodeFlag("mergedb_options", field, given, flag);
}

Status Decode(const char* field, int32_t given, Compression* compression) {
  switch (given) {
    case MERGEDB_COMPRESSION_DEFAULT: return Status::Ok();
    case MERGEDB_COMPRESSION_NONE: *compression = Compression::kNone; return Status::Ok();
    case MERGEDB_COMPRESSION_SNAPPY: *compression = Compression::kSnappy; return Status::Ok();
    case MERGEDB_COMPRESSION_ZSTD: *compression = Compression::kZstd; return Status::Ok();
    case MERGEDB_COMPRESSION_LZ4: *compression = Compression::kLz4; return Status::Ok();
    default: return BadField("mergedb_options", field, given, "0 to 4");
  }
}

Status Decode(const char* field, int32_t given, OpenMode* mode) {
  switch (given) {
    case MERGEDB_CREATE_IF_MISSING: *mode = OpenMode::kCreateIfMissing; return Status::Ok();
    case MERGEDB_MUST_EXIST: *mode = OpenMode::kMustExist; return Status::Ok();
    case MERGEDB_MUST_NOT_EXIST: *mode = OpenMode::kMustNotExist; return Status::Ok();
    case MERGEDB_READ_ONLY: *mode = OpenMode::kReadOnly; return Status::Ok();
    default: return BadField("mergedb_options", field, given, "0 to 3");
  }
}

Status Decode(const char* field, int32_t given, Style* style) {
  switch (given) {
    case MERGEDB_STYLE_DEFAULT: return Status::Ok();
    case MERGEDB_STYLE_LAZY: *style = Style::kLazy; return Status::Ok();
    case MERGEDB_STYLE_CASCADE: *style = Style::kCascade; return Status::Ok();
    default: return BadField("mergedb_options", field, given, "0 to 2");
  }
}

// A number for which 0 means the default.
template <typename Given, typename Number>
Status Decode(const char* field, Given given, Number* number) {
  if (std::cmp_less(given, 0)) return BadField("mergedb_options", field, static_cast<int64_t>(given), "0 or more");
  if (given != 0) *number = static_cast<Number>(given);
  return Status::Ok();
}

// A number for which 0 means the default, and -1 means 0.
template <typename Given, typename Number>
Status DecodeOrNone(const char* field, const char* none, Given given, Number* number) {
  if (given < -1) {
    return BadField("mergedb_options", field, given, ("-1 (" + std::string(none) + ") or more").c_str());
  }
  if (given != 0) *number = given < 0 ? 0 : static_cast<Number>(given);
  return Status::Ok();
}

// The fields that are numbers, flags and choices.
Status DecodeFields(const mergedb_options& c, Options* options) {
#define TAKE(field, member) RETURN_IF_ERROR(Decode(#field, c.field, &options->member))
#define TAKE_OR_NONE(field, member, none) RETURN_IF_ERROR(DecodeOrNone(#field, none, c.field, &options->member))
  // options: begin decode (scripts/options.toml)
  TAKE(mode, mode);
  TAKE(memory_bytes, memory_bytes);
  TAKE(write_buffer_bytes, write_buffer_bytes);
  TAKE(style, style);
  TAKE(compression_upper, compression.upper);
  TAKE(compression_bottom, compression.bottom);
  TAKE_OR_NONE(bloom_bits_per_key, bloom_bits_per_key, "no filters");
  TAKE(block_bytes, block_bytes);
  TAKE_OR_NONE(blob_value_bytes_min, blob_value_bytes_min, "all values are stored in tables");
  TAKE(open_tables_max, open_tables_max);
  TAKE_OR_NONE(mapped_read_bytes_max, mapped_read_bytes_max, "no file is mapped");
  TAKE(write_delay_us_max, write_delay_us_max);
  TAKE(finish_compactions_on_close, finish_compactions_on_close);
  TAKE(keep_space_at_rest, keep_space_at_rest);
  TAKE(use_mapped_wal_buffer, use_mapped_wal_buffer);
  TAKE_OR_NONE(wal_sync_interval_ms, wal_sync_interval_ms, "no limit in time");
  TAKE(log_bytes_max, log_bytes_max);
  TAKE(slow_call_us, slow_call_us);
  // options: end
#undef TAKE
#undef TAKE_OR_NONE
  return Status::Ok();
}

class ForeignComparator final : public Foreign<Comparator, mergedb_comparator> {
 public:
  explicit ForeignComparator(const mergedb_comparator& given) : Foreign(given), name_(given.name) {}

  int Compare(std::string_view a, std::string_view b) const override {
    return given_.compare(given_.state, a.data(), a.size(), b.data(), b.size());
  }
  std::string_view Name() const override { return name_; }

 private:
  const std::string name_;
};

Status DecodeComparator(const mergedb_comparator* given, std::unique_ptr<Comparator>* comparator) {
  if (given == nullptr) return Status::Ok();
  mergedb_comparator copy;
  RETURN_IF_ERROR(ReadStruct(given, "mergedb_comparator", &copy));
  if (copy.name == nullptr || copy.name[0] == '\0' || copy.compare == nullptr) {
    return Status::InvalidArgument("mergedb_comparator: name and compare are needed");
  }
  *comparator = std::make_unique<ForeignComparator>(copy);
  return Status::Ok();
}

class ForeignLogger final : public Foreign<Logger, mergedb_logger> {
 public:
  using Foreign::Foreign;

  void Log(std::string_view line) override { given_.log(given_.state, line.data(), line.size()); }
};

Status ReadLogger(const mergedb_logger* given, mergedb_logger* logger) {
  if (given == nullptr) return Status::Ok();
  RETURN_IF_ERROR(ReadStruct(given, "mergedb_logger", logger));
  return logger->log == nullptr ? Status::InvalidArgument("mergedb_logger: log is needed") : Status::Ok();
}

class ForeignListener final : public Foreign<EventListener, mergedb_event_listener> {
 public:
  using Foreign::Foreign;

  void OnEvent(const Event& event) override {
    std::vector<mergedb_event_field> fields;
    for (const EventField& each : event.fields) {
      fields.push_back({.name = each.name.data(),
                        .number = each.number,
                        .text = each.is_text ? each.text.c_str() : nullptr,
                        .text_size = each.text.size()});
    }
    const std::string json = event.ToJson();
    const mergedb_event shown = {.struct_size = sizeof shown,
                                 .kind = static_cast<int32_t>(event.kind),
                                 .name = event.name().data(),
                                 .time_us = event.time_us,
                                 .fields = fields.data(),
                                 .field_count = fields.size(),
                                 .json = json.c_str()};
    given_.on_event(given_.state, &shown);
  }
};

Status ReadListener(const mergedb_event_listener* given, mergedb_event_listener* listener) {
  if (given == nullptr) return Status::Ok();
  RETURN_IF_ERROR(ReadStruct(given, "mergedb_event_listener", listener));
  return listener->on_event == nullptr ? Status::InvalidArgument("mergedb_event_listener: on_event is needed")
                                       : Status::Ok();
}

Status ReadOperators(const mergedb_options& c, std::vector<mergedb_merge_operator>* operators) {
  if (c.merge_operator_count == 0) return Status::Ok();
  RETURN_IF_ERROR(CheckPointer(c.merge_operators, "merge_operators"));
  for (size_t i = 0; i < c.merge_operator_count; ++i) {
    RETURN_IF_ERROR(CheckPointer(c.merge_operators[i], "merge_operators[i]"));
    mergedb_merge_operator& copy = operators->emplace_back();
    RETURN_IF_ERROR(ReadStruct(c.merge_operators[i], "mergedb_merge_operator", &copy));
    if (copy.name == nullptr || copy.apply == nullptr) {
      return Status::InvalidArgument("mergedb_merge_operator: name and apply are needed");
    }
  }
  return Status::Ok();
}

Status DecodeEnd(const mergedb_slice* given, const char* name, std::optional<std::string>* end) {
  if (given == nullptr) return Status::Ok();
  RETURN_IF_ERROR(CheckBytes(given->data, given->size, name));
  end->emplace(ToStringView(*given));
  return Status::Ok();
}

}  // namespace

Status DecodeOptions(const mergedb_options* given, Options* options, Borrowed* borrowed) {
  mergedb_options c;
  RETURN_IF_ERROR(ReadStruct(given, "mergedb_options", &c));
  RETURN_IF_ERROR(DecodeFields(c, options));
  if (c.reserved != 0) return BadField("mergedb_options", "reserved", c.reserved, "0");
  mergedb_logger logger = {};
  RETURN_IF_ERROR(ReadLogger(c.logger, &logger));  // WHY first: its error must come before anything is borrowed
  mergedb_event_listener listener = {};
  RETURN_IF_ERROR(ReadListener(c.listener, &listener));
  std::vector<mergedb_merge_operator> operators;
  RETURN_IF_ERROR(ReadOperators(c, &operators));
  RETURN_IF_ERROR(DecodeComparator(c.comparator, &borrowed->comparator));
  if (borrowed->comparator != nullptr) options->comparator = borrowed->comparator.get();
  if (c.logger != nullptr) borrowed->logger = std::make_unique<ForeignLogger>(logger);
  options->env.logger = borrowed->logger.get();
  if (c.listener != nullptr) options->listener = std::make_shared<ForeignListener>(listener);
  for (const mergedb_merge_operator& each : operators) options->merge_operators.push_back(NewForeignOperator(each));
  return Status::Ok();
}

Status DecodeRepairOptions(const mergedb_repair_options* given, DecodedRepair* decoded, Borrowed* borrowed) {
  mergedb_repair_options c;
  RETURN_IF_ERROR(ReadStruct(given, "mergedb_repair_options", &c));
  if (c.reserved != 0) return BadField("mergedb_repair_options", "reserved", c.reserved, "0");
  RETURN_IF_ERROR(DecodeFlag("mergedb_repair_options", "dry_run", c.dry_run, &decoded->repair.dry_run));
  decoded->repair.progress = ProgressOf(c);
  return DecodeOptions(c.options, &decoded->options, borrowed);
}

Status DecodeCheckpointOptions(const mergedb_checkpoint_options* given, CheckpointOptions* options) {
  mergedb_checkpoint_options c;
  RETURN_IF_ERROR(ReadStruct(given, "mergedb_checkpoint_options", &c));
  RETURN_IF_ERROR(DecodeFlag("mergedb_checkpoint_options", "may_link", c.may_link, &options->may_link));
  RETURN_IF_ERROR(DecodeFlag("mergedb_checkpoint_options", "verify", c.verify, &options->verify));
  options->progress = ProgressOf(c);
  return Status::Ok();
}

Status DecodeTraceOptions(const mergedb_trace_options* given, TraceOptions* options) {
  mergedb_trace_options c;
  RETURN_IF_ERROR(ReadStruct(given, "mergedb_trace_options", &c));
  RETURN_IF_ERROR(DecodeFlag("mergedb_trace_options", "record_values", c.record_values, &options->record_values));
  if (c.sampling != 0) options->sampling = c.sampling;
  if (c.bytes_max != 0) options->bytes_max = c.bytes_max;
  return Status::Ok();
}

Status CheckRoom(size_t struct_size, size_t bytes, const char* name) {
  if (struct_size >= bytes && struct_size <= kStructBytesMax) return Status::Ok();
  return Status::InvalidArgument(std::string(name) + ": struct_size is " + std::to_string(struct_size) + ", expected " +
                                 std::to_string(bytes));
}

Status DecodeOperand(const mergedb_operand* given, std::string* operand) {
  RETURN_IF_ERROR(CheckPointer(given, "operand"));
  mergedb_operand c;
  RETURN_IF_ERROR(ReadStruct(given, "mergedb_operand", &c));
  if (c.keep != MERGEDB_KEEP_NEWEST && c.keep != MERGEDB_KEEP_OLDEST) {
    return BadField("mergedb_operand", "keep", c.keep, "0 or 1");
  }
  return EncodeOperand(c, operand);
}

Status DecodeWriteOptions(const mergedb_write_options* given, WriteOptions* options, Keyspace* keyspace) {
  if (given == nullptr) return Status::Ok();
  mergedb_write_options c;
  RETURN_IF_ERROR(ReadStruct(given, "mergedb_write_options", &c));
  RETURN_IF_ERROR(TakeKeyspace("mergedb_write_options", c.keyspace, keyspace));
  return DecodeDurability("mergedb_write_options", c.durability, &options->durability);
}

Status DecodeTransactionOptions(const mergedb_transaction_options* given, const Opened* opened,
                                TransactionOptions* options) {
  mergedb_transaction_options c;
  RETURN_IF_ERROR(ReadStruct(given, "mergedb_transaction_options", &c));
  switch (c.kind) {
    case MERGEDB_SINGLE_WRITER: options->kind = TransactionKind::kSingleWriter; break;
    case MERGEDB_OPTIMISTIC: options->kind = TransactionKind::kOptimistic; break;
    case MERGEDB_READ_ONLY_TRANSACTION: options->kind = TransactionKind::kReadOnly; break;
    default: return BadField("mergedb_transaction_options", "kind", c.kind, "0 to 2");
  }
  RETURN_IF_ERROR(DecodeDurability("mergedb_transaction_options", c.durability, &options->durability));
  if (c.bytes_max != 0) options->bytes_max = c.bytes_max;
  if (c.wait_us_max != 0) options->wait_us_max = c.wait_us_max;
  if (c.name != nullptr) options->name = c.name;
  if (c.snapshot == 0) return Status::Ok();
  return TakeSnapshot(c.snapshot, opened, &options->snapshot);
}

Status DecodeMayExist(int32_t may_exist, KeyspaceOptions* options) {
  return DecodeFlag("mergedb_keyspace_create", "may_exist", may_exist, &options->may_exist);
}

Status DecodeReadOptions(const mergedb_read_options* given, const Opened* opened, ReadOptions* options,
                         std::shared_ptr<const Snapshot>* snapshot, Keyspace* keyspace) {
  if (given == nullptr) return Status::Ok();
  mergedb_read_options c;
  RETURN_IF_ERROR(ReadStruct(given, "mergedb_read_options", &c));
  RETURN_IF_ERROR(
      DecodeFlag("mergedb_read_options", "verify_checksums", c.verify_checksums, &options->verify_checksums));
  RETURN_IF_ERROR(DecodeFlag("mergedb_read_options", "fill_cache", c.fill_cache, &options->fill_cache));
  RETURN_IF_ERROR(TakeKeyspace("mergedb_read_options", c.keyspace, keyspace));
  if (c.reserved != 0) return BadField("mergedb_read_options", "reserved", c.reserved, "0");
  if (c.snapshot == 0) return Status::Ok();
  Status outcome = TakeSnapshot(c.snapshot, opened, snapshot);
  options->snapshot = snapshot->get();
  return outcome;
}

Status DecodeIteratorOptions(const mergedb_iterator_options* given, const Opened* opened, IteratorOptions* options,
                             std::shared_ptr<const Snapshot>* snapshot) {
  mergedb_iterator_options c;
  RETURN_IF_ERROR(ReadStruct(given, "mergedb_iterator_options", &c));
  RETURN_IF_ERROR(CheckBytes(c.prefix.data, c.prefix.size, "prefix"));
  options->prefix = ToStringView(c.prefix);
  RETURN_IF_ERROR(DecodeEnd(c.lower, "lower", &options->lower));
  RETURN_IF_ERROR(DecodeEnd(c.upper, "upper", &options->upper));
  RETURN_IF_ERROR(DecodeFlag("mergedb_iterator_options", "keys_only", c.keys_only, &options->keys_only));
  options->keyspace = Keyspace(c.keyspace);
  return DecodeReadOptions(c.read, opened, &options->read, snapshot);
}

}  // namespace mergedb::c
