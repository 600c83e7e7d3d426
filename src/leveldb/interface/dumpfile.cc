// DumpFile prints a log, a table or a MANIFEST of LevelDB as text. The text is the same as LevelDB's, except
// for reports of damage.
#include "leveldb/dumpfile.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "format/file_name.h"
#include "leveldb/format/batch.h"
#include "leveldb/format/edit.h"
#include "leveldb/format/log.h"
#include "leveldb/format/name.h"
#include "leveldb/interface/escape.h"
#include "leveldb/interface/table_adapters.h"
#include "leveldb/options.h"
#include "leveldb/table.h"

namespace leveldb {
namespace {

namespace format = mergedb::leveldb_format;
namespace kv = mergedb::kv;

std::string Number(uint64_t number) { return std::to_string(number); }
std::string Number(kv::FileNumber number) { return std::to_string(kv::ToInt(number)); }

std::string PrintKey(std::string_view internal_key) {
  std::string_view key;
  kv::Tag tag = 0;
  if (!format::SplitInternalKey(internal_key, &key, &tag)) return "(bad)" + Escaped(internal_key);
  return "'" + Escaped(key) + "' @ " + Number(kv::SequenceOf(tag)) + " : " +
         Number(static_cast<uint64_t>(kv::KindOf(tag)));
}

std::string PrintBatch(std::string_view record) {
  if (record.size() < format::kBatchHeaderBytes)
    return "log record length " + Number(record.size()) + " is too small\n";
  format::BatchReader batch(record);
  std::string text = "sequence " + Number(batch.first_sequence()) + "\n";
  while (batch.Next()) {
    text += batch.kind() == kv::Kind::kPut ? "  put '" + Escaped(batch.key()) + "' '" + Escaped(batch.value()) + "'\n"
                                           : "  del '" + Escaped(batch.key()) + "'\n";
  }
  return batch.status().ok() ? text : text + "  error: " + FromCore(batch.status()).ToString() + "\n";
}

std::string PrintEdit(std::string_view record) {
  const auto edit = format::DecodeVersionEdit(record);
  if (!edit) return FromCore(edit.error()).ToString() + "\n";
  std::string text = "VersionEdit {";
  if (edit->comparator) text += "\n  Comparator: " + *edit->comparator;
  if (edit->log) text += "\n  LogNumber: " + Number(*edit->log);
  if (edit->previous_log) text += "\n  PrevLogNumber: " + Number(*edit->previous_log);
  if (edit->next_file) text += "\n  NextFile: " + Number(*edit->next_file);
  if (edit->last_sequence) text += "\n  LastSeq: " + Number(*edit->last_sequence);
  for (const auto& [level, key] : edit->pointers) text += "\n  CompactPointer: " + Number(level) + " " + PrintKey(key);
  for (const auto& [level, number] : edit->removed) text += "\n  RemoveFile: " + Number(level) + " " + Number(number);
  for (const auto& [level, file] : edit->added) {
    text += "\n  AddFile: " + Number(level) + " " + Number(file.number) + " " + Number(file.bytes) + " " +
            PrintKey(file.smallest) + " .. " + PrintKey(file.largest);
  }
  return text + "\n}\n";
}

Status Open(Env* env, const std::string& fname, std::unique_ptr<RandomAccessFile>* file, uint64_t* bytes) {
  RandomAccessFile* opened = nullptr;
  Status status = env->GetFileSize(fname, bytes);
  if (status.ok()) status = env->NewRandomAccessFile(fname, &opened);
  file->reset(opened);
  return status;
}

// A log and a MANIFEST are both sequences of records.
Status DumpRecords(Env* env, const std::string& fname, std::string (*print)(std::string_view), WritableFile* dst) {
  uint64_t bytes = 0;
  std::unique_ptr<RandomAccessFile> file;
  Status status = Open(env, fname, &file, &bytes);
  if (!status.ok()) return status;
  const auto read = [&](uint64_t offset, size_t wanted, char* out, size_t* got) -> mergedb::Status {
    *got = 0;
    if (offset >= bytes) return {};
    Slice found;
    const Status outcome =
        file->Read(offset, static_cast<size_t>(std::min<uint64_t>(wanted, bytes - offset)), &found, out);
    if (outcome.ok() && found.data() != out) std::memmove(out, found.data(), found.size());
    if (outcome.ok()) *got = found.size();
    return ToCore(outcome);
  };
  const auto tell = [&](uint64_t, uint64_t lost, std::string_view why) {
    if (status.ok())
      status = dst->Append("corruption: " + Number(lost) + " bytes; Corruption: " + std::string(why) + "\n");
  };
  format::LogReader reader(read, tell);
  for (std::string_view record; status.ok() && reader.Next(&record);) {
    status = dst->Append("--- offset " + Number(reader.record_offset()) + "; " + print(record));
  }
  return status.ok() ? FromCore(reader.status()) : status;
}

Status DumpTable(Env* env, const std::string& fname, WritableFile* dst) {
  uint64_t bytes = 0;
  std::unique_ptr<RandomAccessFile> file;
  Status status = Open(env, fname, &file, &bytes);
  if (!status.ok()) return status;
  // Any order works, since nothing is sought. The default order compares the bytes of internal keys, tags included.
  Options options;
  options.env = env;
  Table* made = nullptr;
  status = Table::Open(options, file.get(), bytes, &made);
  if (!status.ok()) return status;
  const std::unique_ptr<Table> table(made);
  ReadOptions reading;
  reading.fill_cache = false;
  const std::unique_ptr<Iterator> it(table->NewIterator(reading));
  for (it->SeekToFirst(); status.ok() && it->Valid(); it->Next()) {
    std::string_view key;
    kv::Tag tag = 0;
    if (!format::SplitInternalKey(ToStringView(it->key()), &key, &tag)) {
      status = dst->Append("badkey '" + Escaped(ToStringView(it->key())) + "' => '" +
                           Escaped(ToStringView(it->value())) + "'\n");
      continue;
    }
    status = dst->Append("'" + Escaped(key) + "' @ " + Number(kv::SequenceOf(tag)) +
                         (kv::KindOf(tag) == kv::Kind::kPut ? " : val" : " : del") + " => '" +
                         Escaped(ToStringView(it->value())) + "'\n");
  }
  if (status.ok() && !it->status().ok()) status = dst->Append("iterator error: " + it->status().ToString() + "\n");
  return status;
}

}  // namespace

Status DumpFile(Env* env, const std::string& fname, WritableFile* dst) {
  return Guarded([&]() -> Status {
    if (env == nullptr || dst == nullptr)
      return Status::InvalidArgument("DumpFile needs an env and a file to write to");
    const auto name = format::ParseName(mergedb::format::LastName(fname));
    if (!name) return Status::InvalidArgument(fname + ": unknown file type");
    switch (name->kind) {
      case format::NameKind::kLog: return DumpRecords(env, fname, PrintBatch, dst);
      case format::NameKind::kManifest: return DumpRecords(env, fname, PrintEdit, dst);
      case format::NameKind::kTable:
      case format::NameKind::kOldTable: return DumpTable(env, fname, dst);
      default: return Status::InvalidArgument(fname + ": not a dump-able file type");
    }
  });
}

}  // namespace leveldb
