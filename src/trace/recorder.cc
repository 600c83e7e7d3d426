#include "trace/recorder.h"

#include <algorithm>
#include <utility>

#include "base/current.h"
#include "base/hash.h"
#include "base/random.h"
#include "env/clock.h"
#include "format/batch.h"

namespace mergedb::trace {
namespace {

constexpr uint64_t kBytesMaxMin = uint64_t{64} << 10, kBytesMaxMax = uint64_t{1} << 40;
constexpr uint32_t kSamplingMax = 1'000'000;

OpKind KindOf(kv::Kind kind) {
  switch (kind) {
    case kv::Kind::kDelete: return OpKind::kDelete;
    case kv::Kind::kMerge: return OpKind::kMerge;
    case kv::Kind::kRangeDelete: return OpKind::kDeleteRange;
    default: return OpKind::kPut;
  }
}

Status CheckOptions(const TraceOptions& options) {
  if (options.sampling < 1 || options.sampling > kSamplingMax)
    return Status::InvalidArgument("sampling of a trace: expected 1 to 1000000");
  if (options.bytes_max < kBytesMaxMin || options.bytes_max > kBytesMaxMax)
    return Status::InvalidArgument("bytes_max of a trace: expected 64 KiB to 1 TiB");
  return {};
}

// A record of a batch in a caller's terms; nullopt for the engine's own records.
std::optional<Operation> ElementOf(const format::BatchReader& record, const kv::KeyMap* map) {
  Operation op{.kind = KindOf(record.kind()),
               .is_element = true,
               .keyspace = record.keyspace(),
               .key = record.key(),
               .value_bytes = record.value().size()};
  const bool is_range = op.kind == OpKind::kDeleteRange;
  if (is_range) {
    op.end = record.value();
    op.value_bytes = 0;
  }
  if (map == nullptr) return op;
  const kv::KeyMap::Place place = map->FromTree(record.key());
  if (place.is_keyspace_record) return std::nullopt;
  op.keyspace = place.keyspace;
  op.key = place.key;
  if (!is_range) return op;
  const kv::KeyMap::Place end = map->FromTree(record.value());
  if (end.keyspace == place.keyspace && !end.is_keyspace_record) {
    op.end = end.key;
  } else if (place.keyspace != kv::kDefaultKeyspace) {
    return std::nullopt;  // a keyspace is dropped or cleared
  }
  return op;
}

}  // namespace

struct Recorder::Block {
  std::string bytes;
  uint64_t operations = 0;  // in the trace up to the end of this block
};

struct Recorder::Session {
  Session(const TraceOptions& given, uint64_t id, uint64_t now_nanos, uint64_t session_number)
      : options(given), number(session_number), start_nanos(now_nanos), builder(id) {}

  bool IsSampled(std::string_view key) const {
    return options.sampling == 1 || base::Hash64(key) % options.sampling == 0;
  }
  void AddValue(Operation* op, std::string_view value) const {
    if (options.record_values && value.size() <= kValueBytesMax) op->value = value;
  }
  // The block waits to be written.
  void EndBlock() {
    waiting.push_back({.bytes = builder.Finish(), .operations = operations});
    waiting_bytes += waiting.back().bytes.size();
    bytes += waiting.back().bytes.size();
  }

  const TraceOptions options;
  const uint64_t number;
  const uint64_t start_nanos;
  std::unique_ptr<File> file;
  BlockBuilder builder;
  std::vector<Block> waiting;
  uint64_t waiting_bytes = 0;
  uint64_t bytes = 0;  // of the file, once the blocks that wait are written
  uint64_t operations = 0;
  uint64_t lost = 0;
  uint64_t lost_here = 0;  // since the last record LOST
  uint64_t iterators_seen = 0;
  uint64_t iterators = 0;
  bool is_writing = false;  // a thread writes without the mutex; it alone uses `file` and the next two
  uint64_t written_bytes = 0;
  uint64_t written_operations = 0;
  bool is_ended = false;  // by EndTrace, or because it is full or has failed
  bool is_full = false;
  Status status;
};

Recorder::Recorder(FileSystem* files, Clock* clock, bool is_bytewise)
    : files_(files), clock_(clock), is_bytewise_(is_bytewise) {}

Recorder::~Recorder() = default;

// ---- begin and end -------------------------------------------------------------------------------------------------

Status Recorder::Start(const std::string& path, const TraceOptions& options) noexcept {
  RETURN_IF_ERROR(CheckOptions(options));
  base::Lock lock(mutex_);
  if (session_ != nullptr) return Status::Busy("a trace was started already; EndTrace ends it");
  ASSIGN_OR_RETURN(auto file, files_->Open(path, {.access = Access::kCreate}));
  const uint64_t now = clock_->NowNanos(), wall = env::WallMicros();
  const Head head{.id = base::Random(now ^ wall << 20 ^ reinterpret_cast<uintptr_t>(this)).Next(),
                  .start_unix_micros = wall,
                  .sampling = options.sampling,
                  .has_values = options.record_values,
                  .is_bytewise = is_bytewise_};
  const std::string bytes = EncodeHead(head);
  if (Status status = file->WriteAt(0, bytes); !status.ok()) {
    file = nullptr;
    (void)files_->Remove(path);
    return status;
  }
  session_ = std::make_unique<Session>(options, head.id, now, ++sessions_);
  session_->file = std::move(file);
  session_->bytes = session_->written_bytes = bytes.size();
  session_now_.store(session_->number, std::memory_order_relaxed);  // WHY relaxed: see is_on
  return {};
}

// Records nothing more.
void Recorder::StopSession(Session& session) {
  session.is_ended = true;
  session_now_.store(0, std::memory_order_relaxed);  // WHY relaxed: see is_on
}

Status Recorder::End(EndReason reason, TraceReport* report) noexcept {
  base::Lock lock(mutex_);
  while (session_ != nullptr && session_->is_writing) written_.Wait(lock);
  if (session_ == nullptr) return Status::InvalidArgument("no trace was started");
  Session& session = *session_;
  if (!session.is_ended) {
    session.builder.Add({.kind = OpKind::kEnd,
                         .start_micros = (clock_->NowNanos() - session.start_nanos) / 1000,
                         .count = session.operations,
                         .lost = session.lost,
                         .reason = reason});
    session.EndBlock();
    StopSession(session);
  }
  WriteWaitingLocked();
  Status status = std::move(session.status);
  Status closed = session.file->Close();
  if (status.ok()) status = std::move(closed);
  if (report != nullptr) {
    *report = {.operations = session.written_operations,
               .lost = session.lost,
               .bytes = session.written_bytes,
               .is_full = session.is_full};
  }
  session_ = nullptr;
  written_.NotifyAll();
  return status;
}

// ---- writing -------------------------------------------------------------------------------------------------------

// Returns at once if another thread writes: the next block that is full, or End, writes what waits then.
void Recorder::WriteWaitingLocked() {
  Session& session = *session_;
  if (session.is_writing || session.waiting.empty()) return;
  const std::vector<Block> blocks = std::exchange(session.waiting, {});
  session.waiting_bytes = 0;
  session.is_writing = true;
  Status status;
  {
    base::Unlocked unlocked(mutex_);
    status = WriteBlocks(session, blocks);
  }
  session.is_writing = false;
  if (!status.ok()) {
    session.status = std::move(status);
    session.waiting.clear();
    StopSession(session);
  }
  written_.NotifyAll();
}

Status Recorder::WriteBlocks(Session& session, const std::vector<Block>& blocks) {
  for (const Block& block : blocks) {
    Status status = session.file->WriteAt(session.written_bytes, block.bytes);
    if (!status.ok()) {
      // What was written of the block is no use to a reader. If it stays, the reader says that the trace is cut.
      if (!files_->is_append_only()) (void)session.file->Truncate(session.written_bytes);
      return status;
    }
    session.written_bytes += block.bytes.size();
    session.written_operations = block.operations;
  }
  return {};
}

// ---- recording -----------------------------------------------------------------------------------------------------

bool Recorder::IsRecordingLocked(const Call& call) const {
  return session_ != nullptr && session_->number == call.session && !session_->is_ended;
}

template <typename Encode>
void Recorder::Record(const Call& call, const Encode& encode) {
  if (call.session == 0) return;
  const uint64_t now = clock_->NowNanos();
  base::Lock lock(mutex_);
  if (IsRecordingLocked(call) && session_->waiting_bytes >= kWaitingBytesMax) WriteWaitingLocked();
  if (!IsRecordingLocked(call)) return;
  Session& session = *session_;
  const auto lose = [&session] {
    ++session.lost;
    ++session.lost_here;
  };
  if (session.waiting_bytes >= kWaitingBytesMax) return lose();
  const uint64_t begin = std::max(call.begin_nanos, session.start_nanos);
  const Operation timed{.thread = static_cast<uint32_t>(base::ThreadNumber()),
                        .start_micros = (begin - session.start_nanos) / 1000,
                        .took_micros = now > begin ? (now - begin) / 1000 : 0};
  const BlockBuilder::Mark mark = session.builder.mark();
  if (session.lost_here > 0) {
    session.builder.Add({.kind = OpKind::kLost, .start_micros = timed.start_micros, .count = session.lost_here});
  }
  const Outcome outcome = encode(session, timed);
  const bool is_full = session.bytes + session.builder.bytes() + kEndBytesMax > session.options.bytes_max;
  if (outcome != Outcome::kAdded || is_full) session.builder.Rollback(mark);
  if (outcome == Outcome::kUnwanted) return;
  if (outcome == Outcome::kTooLarge) return lose();
  if (!is_full) {
    session.lost_here = 0;
    ++session.operations;
    if (session.builder.bytes() < kBlockBytes) [[likely]]
      return;
    session.EndBlock();
  } else {
    session.builder.Add({.kind = OpKind::kEnd,
                         .start_micros = timed.start_micros,
                         .count = session.operations,
                         .lost = session.lost,
                         .reason = EndReason::kFull});
    session.EndBlock();
    session.is_full = true;
    StopSession(session);
  }
  WriteWaitingLocked();
}

namespace {

Operation WithTimes(Operation op, const Operation& timed) {
  op.thread = timed.thread;
  op.start_micros = timed.start_micros;
  op.took_micros = timed.took_micros;
  return op;
}

}  // namespace

void Recorder::Add(const Call& call, const Operation& operation) noexcept {
  Record(call, [&operation](Session& session, const Operation& timed) {
    Operation op = WithTimes(operation, timed);
    const bool has_key = op.kind <= OpKind::kMerge || op.kind == OpKind::kGet;
    if (has_key && !session.IsSampled(op.key)) return Outcome::kUnwanted;
    if (op.key.size() + op.end.size() > kGroupBytesMax) return Outcome::kTooLarge;  // the database refused the key
    if (const auto value = std::exchange(op.value, std::nullopt)) session.AddValue(&op, *value);
    session.builder.Add(op);
    return Outcome::kAdded;
  });
}

void Recorder::AddBatch(const Call& call, const Batch& batch) noexcept {
  Record(call, [&](Session& session, const Operation& timed) {
    const auto for_each = [&](const auto& act) {
      format::BatchReader record(batch.records, format::BatchReader::Form::kCaller);
      while (record.Next()) {
        auto op = ElementOf(record, batch.map);
        if (!op || (op->kind != OpKind::kDeleteRange && !session.IsSampled(op->key))) continue;
        if (op->kind == OpKind::kPut || op->kind == OpKind::kMerge) session.AddValue(&*op, record.value());
        if (!act(*op)) return;
      }
    };
    uint64_t elements = 0;
    for_each([&elements](const Operation&) { return ++elements; });
    if (elements == 0) return Outcome::kUnwanted;
    const size_t begin = session.builder.bytes();
    session.builder.Add(WithTimes(
        {.kind = OpKind::kBatch, .in_transaction = batch.in_transaction, .code = batch.code, .count = elements},
        timed));
    for_each([&](const Operation& op) {
      session.builder.Add(op);
      return session.builder.bytes() - begin <= kGroupBytesMax;
    });
    return session.builder.bytes() - begin <= kGroupBytesMax ? Outcome::kAdded : Outcome::kTooLarge;
  });
}

void Recorder::AddMultiGet(const Call& call, uint32_t keyspace, const std::vector<std::string_view>& keys,
                           const std::vector<Status>& statuses, const std::vector<std::string>& values) noexcept {
  Record(call, [&](Session& session, const Operation& timed) {
    const auto wanted = std::ranges::count_if(keys, [&](std::string_view key) { return session.IsSampled(key); });
    if (wanted == 0) return Outcome::kUnwanted;
    const size_t begin = session.builder.bytes();
    session.builder.Add(WithTimes({.kind = OpKind::kMultiGet, .count = static_cast<uint64_t>(wanted)}, timed));
    for (size_t i = 0; i < keys.size(); ++i) {
      if (!session.IsSampled(keys[i])) continue;
      session.builder.Add({.kind = OpKind::kGet,
                           .is_element = true,
                           .code = statuses[i].code(),
                           .keyspace = keyspace,
                           .key = keys[i],
                           .value_bytes = values[i].size()});
      if (session.builder.bytes() - begin > kGroupBytesMax) return Outcome::kTooLarge;
    }
    return Outcome::kAdded;
  });
}

uint64_t Recorder::AddIterator(const Call& call, Operation operation) noexcept {
  uint64_t number = 0;
  Record(call, [&](Session& session, const Operation& timed) {
    if (session.iterators_seen++ % session.options.sampling != 0) return Outcome::kUnwanted;
    number = operation.iterator = ++session.iterators;
    session.builder.Add(WithTimes(operation, timed));
    return Outcome::kAdded;
  });
  return number;
}

}  // namespace mergedb::trace
