// Traces in memory, for tests.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "testing/fault_file_system.h"
#include "trace/format.h"
#include "trace/reader.h"

namespace mergedb::trace {

// The operations of a trace; they own their bytes. `lines` has one text for each of them.
struct ReadTrace {
  Status open, status;
  Head head;
  std::vector<std::string> lines;
  std::optional<Operation> end;
};

inline std::string Line(const Operation& op) {
  std::string line(op.is_element ? "  " : "");
  line.append(NameOf(op.kind));
  if (op.code != Code::kOk) line.append(" ").append(CodeName(op.code));
  if (op.in_transaction) line += " in_transaction";
  if (op.keyspace != 0) line += " @" + std::to_string(op.keyspace);
  if (op.iterator != 0) line += " #" + std::to_string(op.iterator);
  const bool is_iterator = op.kind == OpKind::kIterator;
  if (is_iterator ? op.has_lower : !op.key.empty()) line.append(" ").append(op.key);
  if (op.kind == OpKind::kDeleteRange || op.has_upper) line.append(" to ").append(op.end);
  if (op.keys_only) line += " keys_only";
  if (op.value_bytes != 0) line += " [" + std::to_string(op.value_bytes) + "]";
  if (op.value) line.append("=").append(*op.value);
  if (op.count != 0) line += " x" + std::to_string(op.count);
  return line;
}

inline ReadTrace ReadAll(FileSystem* files, const std::string& path) {
  ReadTrace read;
  auto reader = Reader::Open(files, path);
  read.open = read.status = reader.status();
  if (!reader) return read;
  read.head = (*reader)->head();
  for (Operation op; (*reader)->Next(&op);) read.lines.push_back(Line(op));
  read.status = (*reader)->status();
  read.end = (*reader)->end();
  return read;
}

}  // namespace mergedb::trace
