#include "leveldb/format/edit.h"

#include "base/coding.h"

namespace mergedb::leveldb_format {
namespace {

enum Tag : uint32_t {
  kComparator = 1,
  kLogNumber = 2,
  kNextFile = 3,
  kLastSequence = 4,
  kPointer = 5,
  kRemoved = 6,
  kAdded = 7,
  kPreviousLog = 9
};

bool TakeLevel(std::string_view* in, uint32_t* level) { return base::TakeVarint32(in, level) && *level < kLevelsMax; }

bool TakeNumber(std::string_view* in, kv::FileNumber* number) {
  uint64_t value = 0;
  if (!base::TakeVarint64(in, &value)) return false;
  *number = kv::FileNumber{value};
  return true;
}
bool TakeNumber(std::string_view* in, std::optional<kv::FileNumber>* number) {
  return TakeNumber(in, &number->emplace());
}

bool TakeKey(std::string_view* in, std::string* key) {
  std::string_view taken, user_key;
  kv::Tag tag = 0;
  if (!base::TakeLengthPrefixed(in, &taken) || !SplitInternalKey(taken, &user_key, &tag)) return false;
  *key = taken;
  return true;
}

bool TakeFact(uint32_t tag, std::string_view* in, VersionEdit* edit) {
  uint32_t level = 0;
  switch (tag) {
    case kComparator: {
      std::string_view name;
      if (!base::TakeLengthPrefixed(in, &name)) return false;
      edit->comparator = std::string(name);
      return true;
    }
    case kLogNumber: return TakeNumber(in, &edit->log);
    case kPreviousLog: return TakeNumber(in, &edit->previous_log);
    case kNextFile: return TakeNumber(in, &edit->next_file);
    case kLastSequence: return base::TakeVarint64(in, &edit->last_sequence.emplace());
    case kPointer: {
      std::string key;
      if (!TakeLevel(in, &level) || !TakeKey(in, &key)) return false;
      edit->pointers.emplace_back(level, std::move(key));
      return true;
    }
    case kRemoved: {
      kv::FileNumber number{};
      if (!TakeLevel(in, &level) || !TakeNumber(in, &number)) return false;
      edit->removed.emplace(level, number);
      return true;
    }
    case kAdded: {
      File file;
      if (!TakeLevel(in, &level) || !TakeNumber(in, &file.number) || !base::TakeVarint64(in, &file.bytes) ||
          !TakeKey(in, &file.smallest) || !TakeKey(in, &file.largest)) {
        return false;
      }
      edit->added.emplace_back(level, std::move(file));
      return true;
    }
    default: return false;
  }
}

template <typename T>
void Take(const std::optional<T>& fact, std::optional<T>* known) {
  if (fact) *known = fact;
}

}  // namespace

std::string EncodeVersionEdit(const VersionEdit& edit) {
  std::string out;
  const auto put_number = [&](Tag tag, uint64_t value) {
    base::AppendVarint32(&out, tag);
    base::AppendVarint64(&out, value);
  };
  const auto put_level = [&](Tag tag, uint32_t level) {
    base::AppendVarint32(&out, tag);
    base::AppendVarint32(&out, level);
  };
  if (edit.comparator) {
    base::AppendVarint32(&out, kComparator);
    base::AppendLengthPrefixed(&out, *edit.comparator);
  }
  if (edit.log) put_number(kLogNumber, ToInt(*edit.log));
  if (edit.previous_log) put_number(kPreviousLog, ToInt(*edit.previous_log));
  if (edit.next_file) put_number(kNextFile, ToInt(*edit.next_file));
  if (edit.last_sequence) put_number(kLastSequence, *edit.last_sequence);
  for (const auto& [level, key] : edit.pointers) {
    put_level(kPointer, level);
    base::AppendLengthPrefixed(&out, key);
  }
  for (const auto& [level, number] : edit.removed) {
    put_level(kRemoved, level);
    base::AppendVarint64(&out, ToInt(number));
  }
  for (const auto& [level, file] : edit.added) {
    put_level(kAdded, level);
    base::AppendVarint64(&out, ToInt(file.number));
    base::AppendVarint64(&out, file.bytes);
    base::AppendLengthPrefixed(&out, file.smallest);
    base::AppendLengthPrefixed(&out, file.largest);
  }
  return out;
}

Result<VersionEdit> DecodeVersionEdit(std::string_view bytes) {
  VersionEdit edit;
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const size_t offset = bytes.size() - rest.size();
    uint32_t tag = 0;
    if (!base::TakeVarint32(&rest, &tag) || !TakeFact(tag, &rest, &edit)) {
      return Status::Corruption("LevelDB's edit, offset " + std::to_string(offset) + ": expected a fact, found tag " +
                                std::to_string(tag) + " and " + std::to_string(rest.size()) + " bytes");
    }
  }
  return edit;
}

bool HasRocksDbTag(std::string_view bytes) {
  VersionEdit edit;
  uint32_t tag = 0;
  while (base::TakeVarint32(&bytes, &tag) && TakeFact(tag, &bytes, &edit)) {}
  return (tag >= 10 && tag <= 13) || (tag >= 100 && tag <= 103) || (tag >= 200 && tag <= 203) || tag == 300 ||
         (tag >= 400 && tag <= 410) || (tag >= 8192 && tag <= 8300);
}

void State::Apply(const VersionEdit& edit) {
  Take(edit.comparator, &comparator);
  Take(edit.log, &log);
  Take(edit.previous_log, &previous_log);
  Take(edit.next_file, &next_file);
  Take(edit.last_sequence, &last_sequence);
  for (const auto& [level, number] : edit.removed) levels[level].erase(number);
  for (const auto& [level, file] : edit.added) levels[level].insert_or_assign(file.number, file);
}

Status State::Check() const {
  const auto lacks = [](std::string_view what) {
    return Status::Corruption("LevelDB's MANIFEST has no " + std::string(what));
  };
  if (!next_file) return lacks("next file number");
  if (!log) return lacks("log number");
  if (!last_sequence) return lacks("last sequence");
  if (*last_sequence > kv::kSequenceMax)
    return Status::Corruption("LevelDB's MANIFEST has a last sequence beyond the largest");
  return {};
}

void AppendInternalKey(std::string* out, std::string_view user_key, kv::Tag tag) {
  out->append(user_key);
  base::AppendFixed64(out, tag);
}

bool SplitInternalKey(std::string_view internal_key, std::string_view* user_key, kv::Tag* tag) {
  if (internal_key.size() < kInternalTagBytes) return false;
  *user_key = internal_key.substr(0, internal_key.size() - kInternalTagBytes);
  *tag = base::LoadFixed64(user_key->data() + user_key->size());
  return kv::KindOf(*tag) <= kv::Kind::kPut;
}

}  // namespace mergedb::leveldb_format
