// The text that the demo indexes: the text files under /usr/share and /usr/include, in a fixed order, up to a
// limit. All of it is read into memory first, so that the measured times do not include these reads.
//
// The index is a stream of records. For each file, in order:
//
//   "\0" file                  -> path         once
//   word "\0" file position    -> ""           for each word; file and position are 4 bytes, big-endian
//
// A word is a run of 2 to 32 ASCII letters and digits, in lower case. Its position counts all runs of the file,
// so neighbouring words have neighbouring positions and a phrase can be found.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace mergedb::demo {

struct TextFile {
  std::string path;
  std::string text;
};

struct Corpus {
  std::vector<TextFile> files;
  uint64_t bytes = 0;

  // Files and bytes that are not indexed.
  uint64_t binary_files = 0;
  uint64_t unreadable_files = 0;
  uint64_t files_after_limit = 0, bytes_after_limit = 0;
};

Corpus ReadCorpus(const std::vector<std::string>& roots, uint64_t bytes_max);

void AppendBigEndian(std::string* out, uint32_t value);
uint32_t BigEndianAt(std::string_view bytes, size_t offset);

std::string FileKey(uint32_t file);
std::string WordPrefix(std::string_view word);  // the word and a zero byte
std::string PostingKey(std::string_view word, uint32_t file, uint32_t position);

constexpr size_t kWordBytesMin = 2;
constexpr size_t kWordBytesMax = 32;

// Calls word(text, position) for every word of `text`; returns how many runs were too short or too long.
template <typename Visit>
uint64_t ForEachWord(std::string_view text, Visit visit) {
  char word[kWordBytesMax];
  uint64_t skipped = 0;
  uint32_t position = 0;
  for (size_t i = 0; i < text.size();) {
    size_t length = 0;
    for (; i < text.size(); ++i, ++length) {
      char c = text[i];
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
      if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))) break;
      if (length < kWordBytesMax) word[length] = c;
    }
    if (length == 0) {
      ++i;
      continue;
    }
    if (length >= kWordBytesMin && length <= kWordBytesMax) {
      visit(std::string_view(word, length), position);
    } else {
      ++skipped;
    }
    ++position;
  }
  return skipped;
}

// Calls visit(key, value, bytes of the text files before this record's file) for each record, until it returns
// false.
template <typename Visit>
void ForEachRecord(const Corpus& corpus, Visit visit) {
  std::string key;
  uint64_t text_bytes = 0;
  for (uint32_t file = 0; file < corpus.files.size(); ++file) {
    const TextFile& source = corpus.files[file];
    bool goes_on = visit(std::string_view(FileKey(file)), std::string_view(source.path), text_bytes);
    ForEachWord(source.text, [&](std::string_view word, uint32_t position) {
      if (!goes_on) return;
      key.assign(word);
      key += '\0';
      AppendBigEndian(&key, file);
      AppendBigEndian(&key, position);
      goes_on = visit(std::string_view(key), std::string_view(), text_bytes);
    });
    if (!goes_on) return;
    text_bytes += source.text.size();
  }
}

// Independent of the order, so that a stream and a sorted scan can be compared.
struct Fingerprint {
  uint64_t count = 0;
  uint64_t sum = 0;
  void Add(std::string_view key, std::string_view value) {
    ++count;
    sum += std::hash<std::string_view>()(key) * 3 + std::hash<std::string_view>()(value);
  }
  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};
Fingerprint FingerprintOfFirst(const Corpus& corpus, uint64_t records);

}  // namespace mergedb::demo
