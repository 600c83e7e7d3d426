#include "corpus.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace mergedb::demo {

namespace {

namespace fs = std::filesystem;

constexpr size_t kSniffBytes = 4096;

struct Found {
  std::string path;
  uint64_t bytes;
};

// Regular files under `root`, sorted by path. Links are not followed, so that each file appears once.
std::vector<Found> ListFiles(const std::string& root) {
  std::vector<Found> found;
  std::error_code error;
  fs::recursive_directory_iterator it(root, fs::directory_options::skip_permission_denied, error), end;
  while (!error && it != end) {
    std::error_code ignored;
    if (it->symlink_status(ignored).type() == fs::file_type::regular) {
      const uint64_t bytes = it->file_size(ignored);
      if (!ignored) found.push_back({it->path().string(), bytes});
    }
    it.increment(error);
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.path < b.path; });
  return found;
}

// True if the first kSniffBytes have no zero byte and are mostly ASCII.
bool LooksLikeText(std::string_view text) {
  const std::string_view head = text.substr(0, kSniffBytes);
  if (std::memchr(head.data(), 0, head.size()) != nullptr) return false;
  const auto is_high = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
  const auto high = std::count_if(head.begin(), head.end(), is_high);
  return static_cast<size_t>(high) * 10 < head.size() * 3;
}

bool ReadFile(const std::string& path, std::string* text) {
  std::ifstream in(path, std::ios::binary);
  text->resize(kSniffBytes);
  in.read(text->data(), kSniffBytes);
  text->resize(static_cast<size_t>(in.gcount()));
  if (in.bad() || (!in && !in.eof())) return false;
  if (in.eof() || !LooksLikeText(*text)) return true;
  text->append(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  return !in.bad();
}

void TakeFile(const Found& found, uint64_t bytes_max, Corpus* corpus) {
  if (corpus->bytes >= bytes_max) {
    ++corpus->files_after_limit;
    corpus->bytes_after_limit += found.bytes;
    return;
  }
  TextFile file{found.path, {}};
  if (!ReadFile(found.path, &file.text)) {
    ++corpus->unreadable_files;
  } else if (file.text.empty() || !LooksLikeText(file.text)) {
    ++corpus->binary_files;
  } else {
    file.text.resize(std::min<uint64_t>(file.text.size(), bytes_max - corpus->bytes));
    corpus->bytes += file.text.size();
    corpus->files.push_back(std::move(file));
  }
}

}  // namespace

Corpus ReadCorpus(const std::vector<std::string>& roots, uint64_t bytes_max) {
  Corpus corpus;
  for (const std::string& root : roots) {
    for (const Found& found : ListFiles(root)) TakeFile(found, bytes_max, &corpus);
  }
  return corpus;
}

void AppendBigEndian(std::string* out, uint32_t value) {
  const char bytes[4] = {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
                         static_cast<char>(value)};
  out->append(bytes, sizeof bytes);
}

uint32_t BigEndianAt(std::string_view bytes, size_t offset) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes.at(offset + i));
  return value;
}

std::string FileKey(uint32_t file) {
  std::string key(1, '\0');
  AppendBigEndian(&key, file);
  return key;
}

std::string WordPrefix(std::string_view word) { return std::string(word) + '\0'; }

std::string PostingKey(std::string_view word, uint32_t file, uint32_t position) {
  std::string key = WordPrefix(word);
  AppendBigEndian(&key, file);
  AppendBigEndian(&key, position);
  return key;
}

Fingerprint FingerprintOfFirst(const Corpus& corpus, uint64_t records) {
  Fingerprint fingerprint;
  ForEachRecord(corpus, [&](std::string_view key, std::string_view value, uint64_t) {
    if (fingerprint.count == records) return false;
    fingerprint.Add(key, value);
    return true;
  });
  return fingerprint;
}

}  // namespace mergedb::demo
