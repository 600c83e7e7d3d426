// Counts the words of files and prints the ten most frequent ones: word_counter DIR FILE...
// The counts of a file and its name are one atomic batch. So a file counts once, also if the program is killed or runs
// again.
#include <mergedb/db.h>
#include <mergedb/merge.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

using mergedb::DB;
using mergedb::Keyspace;
using mergedb::Status;

namespace {

Status CountFile(DB& db, Keyspace words, Keyspace files, const std::string& path) {
  std::string counted;
  Status status = db.Get({}, files, path, &counted);
  if (!status.IsNotFound()) return status;  // OK: an earlier run counted it

  std::ifstream in(path);
  if (!in) return Status::IOError(path + ": cannot open the file");
  mergedb::WriteBatch batch;
  batch.Put(files, path, "");
  std::string word;
  for (char c = 0; in.get(c);) {
    if (std::isalpha(static_cast<unsigned char>(c))) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!word.empty()) {
      batch.Merge(words, word, mergedb::merge::AddU64(1));  // reads nothing
      word.clear();
    }
  }
  if (!word.empty()) batch.Merge(words, word, mergedb::merge::AddU64(1));
  return db.Write({}, batch);
}

Status PrintTop(DB& db, Keyspace words, size_t count_max) {
  std::vector<std::pair<uint64_t, std::string>> counts;
  auto it = db.NewIterator({.keyspace = words});
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    counts.emplace_back(mergedb::merge::ToU64(it->value()).value_or(0), it->key());
  }
  RETURN_IF_ERROR(it->status());
  // The keys come in order, so a stable sort keeps words with the same count in alphabetical order.
  std::stable_sort(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (size_t i = 0; i < std::min(count_max, counts.size()); ++i) {
    std::cout << counts[i].first << ' ' << counts[i].second << '\n';
  }
  return Status::Ok();
}

Status Run(const std::vector<std::string>& arguments) {
  ASSIGN_OR_RETURN(std::unique_ptr<DB> db, DB::Open({}, arguments[0]));
  ASSIGN_OR_RETURN(Keyspace words, db->CreateKeyspace("words", {.may_exist = true}));
  ASSIGN_OR_RETURN(Keyspace files, db->CreateKeyspace("files", {.may_exist = true}));
  for (size_t i = 1; i < arguments.size(); ++i) RETURN_IF_ERROR(CountFile(*db, words, files, arguments[i]));
  RETURN_IF_ERROR(PrintTop(*db, words, 10));
  return db->Close();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::cerr << "usage: word_counter DIR FILE...\n", 2;
  Status status = Run({argv + 1, argv + argc});
  if (!status.ok()) return std::cerr << status.ToString() << '\n', 1;
  return 0;
}
