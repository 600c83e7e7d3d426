// The defaults of class DB, for other implementations of it: no named keyspaces, no metrics, no traces.
#include "mergedb/db.h"

namespace mergedb {
namespace {

Status NoKeyspaces() { return Status::NotSupported("this database has no named keyspaces"); }

}  // namespace

Result<Keyspace> DB::CreateKeyspace(std::string_view, const KeyspaceOptions&) { return NoKeyspaces(); }
Result<Keyspace> DB::OpenKeyspace(std::string_view, const ReadOptions&) { return NoKeyspaces(); }
Result<std::vector<KeyspaceEntry>> DB::ListKeyspaces(const ReadOptions&) { return NoKeyspaces(); }
Status DB::DropKeyspace(const WriteOptions&, Keyspace) { return NoKeyspaces(); }
Status DB::ClearKeyspace(const WriteOptions&, Keyspace) { return NoKeyspaces(); }

Status DB::Put(const WriteOptions& options, Keyspace keyspace, std::string_view key, std::string_view value) {
  return keyspace.is_default() ? Put(options, key, value) : NoKeyspaces();
}
Status DB::Delete(const WriteOptions& options, Keyspace keyspace, std::string_view key) {
  return keyspace.is_default() ? Delete(options, key) : NoKeyspaces();
}
Status DB::DeleteRange(const WriteOptions& options, Keyspace keyspace, std::string_view begin, std::string_view end) {
  return keyspace.is_default() ? DeleteRange(options, begin, end) : NoKeyspaces();
}
Status DB::DeletePrefix(const WriteOptions& options, Keyspace keyspace, std::string_view prefix) {
  return keyspace.is_default() ? DeletePrefix(options, prefix) : NoKeyspaces();
}
Status DB::Merge(const WriteOptions& options, Keyspace keyspace, std::string_view key, std::string_view operand) {
  return keyspace.is_default() ? Merge(options, key, operand) : NoKeyspaces();
}
Status DB::Get(const ReadOptions& options, Keyspace keyspace, std::string_view key, std::string* value) {
  return keyspace.is_default() ? Get(options, key, value) : NoKeyspaces();
}
std::vector<Status> DB::MultiGet(const ReadOptions& options, Keyspace keyspace,
                                 const std::vector<std::string_view>& keys, std::vector<std::string>* values) {
  if (keyspace.is_default()) return MultiGet(options, keys, values);
  values->assign(keys.size(), {});
  return std::vector<Status>(keys.size(), NoKeyspaces());
}
Status DB::CompactRange(Keyspace keyspace, const std::string_view* lower, const std::string_view* upper) {
  return keyspace.is_default() ? CompactRange(lower, upper) : NoKeyspaces();
}
std::vector<uint64_t> DB::ApproximateSizes(Keyspace keyspace, const std::vector<KeyRange>& ranges) {
  return keyspace.is_default() ? ApproximateSizes(ranges) : std::vector<uint64_t>(ranges.size(), 0);
}

Result<std::vector<Metric>> DB::Metrics() { return Status::NotSupported("this database has no metrics"); }
Result<std::vector<LatencyHistogram>> DB::Histograms() {
  return Status::NotSupported("this database has no histograms");
}
Status DB::StartTrace(const std::string&, const TraceOptions&) {
  return Status::NotSupported("this database records no traces");
}
Status DB::EndTrace(TraceReport*) { return Status::NotSupported("this database records no traces"); }

}  // namespace mergedb
