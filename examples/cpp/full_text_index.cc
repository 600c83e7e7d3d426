// Finds documents by the words in them: full_text_index DIR
// "postings" has a key for each word of each document, with the number of its occurrences. A document and its postings
// change in one transaction, and a search reads one snapshot: it never sees a half-indexed document.
#include <mergedb/db.h>
#include <mergedb/merge.h>
#include <mergedb/transaction.h>

#include <algorithm>
#include <cctype>
#include <iostream>
#include <string>
#include <vector>

using mergedb::Keyspace, mergedb::Status, mergedb::Transaction;

namespace {

struct Index {
  std::unique_ptr<mergedb::DB> db;
  Keyspace documents, postings;
};

std::vector<std::string> Words(const std::string& text) {
  std::vector<std::string> words(1);
  for (unsigned char c : text) {
    if (std::isalnum(c)) words.back() += static_cast<char>(std::tolower(c));
    if (!std::isalnum(c) && !words.back().empty()) words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

std::string Posting(const std::string& word, const std::string& document) { return word + "/" + document; }

// Adds, replaces or (with an empty text) removes a document.
Status Set(Index& index, const std::string& document, const std::string& text) {
  ASSIGN_OR_RETURN(auto change, Transaction::Begin(*index.db));
  std::string old;
  if (Status status = change->Get(index.documents, document, &old); !status.ok() && !status.IsNotFound()) return status;
  for (const std::string& word : Words(old)) RETURN_IF_ERROR(change->Delete(index.postings, Posting(word, document)));
  for (const std::string& word : Words(text)) {
    RETURN_IF_ERROR(change->Merge(index.postings, Posting(word, document), mergedb::merge::AddU64(1)));
  }
  RETURN_IF_ERROR(text.empty() ? change->Delete(index.documents, document)
                               : change->Put(index.documents, document, text));
  return change->Commit();
}

// Prints the documents with all of the words, those with the most occurrences first.
Status Search(Index& index, const std::string& query) {
  const std::vector<std::string> words = Words(query);
  auto snapshot = index.db->GetSnapshot();
  std::vector<std::pair<uint64_t, std::string>> found;
  auto it = index.db->NewIterator(
      {.prefix = words.at(0) + "/", .read = {.snapshot = snapshot.get()}, .keyspace = index.postings});
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    const std::string document(it->key().substr(words[0].size() + 1));
    uint64_t occurrences = 0;
    Status status;
    for (size_t i = 0; i < words.size() && status.ok(); ++i) {
      std::string count;
      status = index.db->Get({.snapshot = snapshot.get()}, index.postings, Posting(words[i], document), &count);
      occurrences += status.ok() ? mergedb::merge::ToU64(count).value_or(0) : 0;
    }
    if (!status.ok() && !status.IsNotFound()) return status;
    if (status.ok()) found.emplace_back(occurrences, document);
  }
  RETURN_IF_ERROR(it->status());
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::cout << query << ':';
  for (const auto& [occurrences, document] : found) std::cout << ' ' << document << " (" << occurrences << ')';
  std::cout << '\n';
  return Status::Ok();
}

Status Run(const std::string& directory) {
  Index index;
  ASSIGN_OR_RETURN(index.db, mergedb::DB::Open({}, directory));
  ASSIGN_OR_RETURN(index.documents, index.db->CreateKeyspace("documents", {.may_exist = true}));
  ASSIGN_OR_RETURN(index.postings, index.db->CreateKeyspace("postings", {.may_exist = true}));
  RETURN_IF_ERROR(Set(index, "fable", "The quick fox and the slow fox met a dog."));
  RETURN_IF_ERROR(Set(index, "news", "A fox was seen at the harbour."));
  RETURN_IF_ERROR(Set(index, "recipe", "A quick soup: onions, water, salt."));
  for (const char* query : {"fox", "quick", "Quick fox"}) RETURN_IF_ERROR(Search(index, query));
  RETURN_IF_ERROR(Set(index, "news", "The quick fox has left; a quick search found nothing."));
  RETURN_IF_ERROR(Set(index, "fable", ""));
  for (const char* query : {"quick fox", "dog", "harbour"}) RETURN_IF_ERROR(Search(index, query));
  return index.db->Close();
}

}  // namespace

int main(int argc, char** argv) {
  Status status = argc == 2 ? Run(argv[1]) : Status::InvalidArgument("usage: full_text_index DIR");
  if (!status.ok()) std::cerr << status.ToString() << '\n';
  return status.ok() ? 0 : 1;
}
