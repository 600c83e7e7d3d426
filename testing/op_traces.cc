#include "testing/op_traces.h"

#include <set>
#include <utility>

#include "env/file_reads.h"
#include "testing/checked_iterator.h"
#include "trace/reader.h"

namespace mergedb::testing {
namespace {

Result<std::string> ReadBytes(FileSystem* files, const std::string& path) {
  ASSIGN_OR_RETURN(const auto file, files->Open(path, {.access = Access::kRead}));
  ASSIGN_OR_RETURN(const uint64_t size, file->Size());
  std::string bytes(size, '\0');
  RETURN_IF_ERROR(env::ReadExactly(file.get(), 0, size, bytes.data()));
  return bytes;
}

// Adds a write of the trace. Returns false if the trace lacks its value.
bool AddTo(WriteBatch* batch, const trace::Operation& op) {
  switch (op.kind) {
    case trace::OpKind::kDelete: batch->Delete(op.key); return true;
    case trace::OpKind::kDeleteRange: batch->DeleteRange(op.key, op.end); return true;
    case trace::OpKind::kMerge: batch->Merge(op.key, op.value.value_or("")); break;
    default: batch->Put(op.key, op.value.value_or(""));
  }
  return op.value && op.value->size() == op.value_bytes;
}

// The operations of one trace: its writes, and whether they follow the rules of the format.
struct Content {
  std::vector<WriteBatch> writes;
  uint64_t operations = 0;
  uint64_t iterators = 0;
  std::set<uint64_t> open_iterators;
  bool is_group_kept = false;
  std::string problem;

  void Add(const trace::Operation& op) {
    operations += !op.is_element;
    if (op.kind == trace::OpKind::kLost) problem = "operations were lost";
    AddIteratorCall(op);
    if (!op.is_element) is_group_kept = op.kind == trace::OpKind::kBatch && op.code == Code::kOk;
    const bool is_write = trace::IsWrite(op.kind) && op.kind != trace::OpKind::kBatch;
    if (is_write && op.is_element ? !is_group_kept : op.code != Code::kOk) return;
    if (is_group_kept && !op.is_element) writes.emplace_back();
    if (!is_write) return;
    if (!op.is_element) writes.emplace_back();
    if (!AddTo(&writes.back(), op)) problem = "a write without its value";
  }

 private:
  void AddIteratorCall(const trace::Operation& op) {
    if (op.iterator == 0) return;
    if (op.kind == trace::OpKind::kIterator) {
      if (op.iterator != ++iterators) problem = "iterators are not counted one by one";
      open_iterators.insert(op.iterator);
    } else if (!open_iterators.contains(op.iterator)) {
      problem = "a call of iterator " + std::to_string(op.iterator) + ", which is not open";
    } else if (op.kind == trace::OpKind::kRelease) {
      open_iterators.erase(op.iterator);
    }
  }
};

}  // namespace

std::string OpTraces::Begin(DB& db, OpHome& home) {
  path_ = home.PathBeside("trace" + std::to_string(++begun_));
  const Status status = db.StartTrace(path_, {.record_values = true});
  return status.ok() ? "" : "StartTrace gave " + status.ToString();
}

std::string OpTraces::BeforeClose(DB& db) {
  is_ended_ = !path_.empty() && begun_ % 2 == 0;
  if (!is_ended_) return {};
  const Status status = db.EndTrace(&report_);
  return status.ok() ? "" : "EndTrace gave " + status.ToString();
}

std::string OpTraces::AfterClose(OpHome& home) {
  if (path_.empty()) return {};
  read_path_ = std::exchange(path_, {});
  const auto bytes = ReadBytes(home.files(), read_path_);
  auto reader = trace::Reader::Open(home.files(), read_path_);
  if (!bytes || !reader) return "the trace cannot be opened: " + (bytes ? reader.status() : bytes.status()).ToString();
  read_bytes_ = *bytes;
  Content content;
  for (trace::Operation op; (*reader)->Next(&op);) content.Add(op);
  if (!(*reader)->status().ok()) return (*reader)->status().ToString();
  if (!content.problem.empty()) return content.problem;
  const trace::Operation& end = *(*reader)->end();
  const auto reason = is_ended_ ? trace::EndReason::kEnded : trace::EndReason::kClosed;
  if (end.count != content.operations || end.lost != 0 || end.reason != reason) {
    return "the end says " + std::to_string(end.count) + " operations, found " + std::to_string(content.operations) +
           "; lost " + std::to_string(end.lost) + ", reason " + std::to_string(static_cast<int>(end.reason));
  }
  if (is_ended_ && (report_.operations != content.operations || report_.bytes != read_bytes_.size() ||
                    report_.lost != 0 || report_.is_full)) {
    return "the report says " + std::to_string(report_.operations) + " operations in " + std::to_string(report_.bytes) +
           " bytes; the file has " + std::to_string(content.operations) + " in " + std::to_string(read_bytes_.size());
  }
  for (WriteBatch& write : content.writes) writes_.push_back(std::move(write));
  return {};
}

std::string OpTraces::CheckCut(OpHome& home) const {
  if (read_path_.empty()) return {};
  const auto bytes = ReadBytes(home.files(), read_path_);
  if (!bytes) return "a killed process leaves no trace: " + bytes.status().ToString();
  if (bytes->size() >= read_bytes_.size() || !read_bytes_.starts_with(*bytes))
    return "a killed process leaves a trace that is no beginning of the whole one";
  auto reader = trace::Reader::Open(home.files(), read_path_);
  if (!reader) return reader.status().ToString();
  for (trace::Operation op; (*reader)->Next(&op);) continue;
  return (*reader)->status().IsCorruption() ? "" : "a trace without an end gave " + (*reader)->status().ToString();
}

std::string OpTraces::Replay(const OptionSet& set, uint64_t seed, const ModelDb::Pairs& expected) const {
  const auto home = NewOpHome(set, seed);
  const auto db = home->Open(OpenMode::kMustNotExist);
  if (!db) return "Open gave " + db.status().ToString();
  for (const WriteBatch& write : writes_) {
    if (const Status status = (*db)->Write({}, write); !status.ok()) return "Write gave " + status.ToString();
    home->RunOne();
  }
  const auto iterator = (*db)->NewIterator();
  iterator->SeekToFirst();
  for (const auto& pair : expected) {
    if (!iterator->Valid()) return "no " + Short(pair.first);
    if (const std::string difference = DifferenceOf(*iterator, pair); !difference.empty()) return difference;
    iterator->Next();
  }
  if (!iterator->status().ok()) return iterator->status().ToString();
  return iterator->Valid() ? "one too many, " + Short(iterator->key()) : "";
}

}  // namespace mergedb::testing
