// A cache on disk with a limit in bytes, which drops the entries that were used longest ago: bounded_cache DIR
// "values" has the entries, "stamps" the time of the last use of each, and "order" the keys by that time. Each call is
// one transaction, so the three agree after a crash.
#include <mergedb/db.h>
#include <mergedb/transaction.h>

#include <iostream>
#include <string>

using mergedb::Keyspace, mergedb::Status, mergedb::Transaction;

namespace {

Status OkIfAbsent(const Status& status) { return status.IsNotFound() ? Status::Ok() : status; }

struct Cache {
  Status Open(const std::string& directory) {
    ASSIGN_OR_RETURN(db, mergedb::DB::Open({}, directory));
    ASSIGN_OR_RETURN(values, db->CreateKeyspace("values", {.may_exist = true}));
    ASSIGN_OR_RETURN(stamps, db->CreateKeyspace("stamps", {.may_exist = true}));
    ASSIGN_OR_RETURN(order, db->CreateKeyspace("order", {.may_exist = true}));
    return Status::Ok();
  }

  Status Get(const std::string& key, std::string* value) {  // NotFound: not in the cache
    ASSIGN_OR_RETURN(auto change, Transaction::Begin(*db));
    RETURN_IF_ERROR(change->Get(values, key, value));
    RETURN_IF_ERROR(Touch(*change, key));
    return change->Commit();
  }

  Status Put(const std::string& key, const std::string& value) {
    ASSIGN_OR_RETURN(auto change, Transaction::Begin(*db));
    std::string bytes = "0", old;
    RETURN_IF_ERROR(OkIfAbsent(change->Get("bytes", &bytes)));
    RETURN_IF_ERROR(OkIfAbsent(change->Get(values, key, &old)));
    RETURN_IF_ERROR(change->Put(values, key, value));
    RETURN_IF_ERROR(Touch(*change, key));
    size_t used = std::stoull(bytes) - old.size() + value.size();
    auto oldest = change->OpenCursor(order);
    while (used > bytes_max) {
      RETURN_IF_ERROR(oldest->First());
      const std::string victim(oldest->value());
      RETURN_IF_ERROR(change->Get(values, victim, &old));
      RETURN_IF_ERROR(oldest->Delete());
      RETURN_IF_ERROR(change->Delete(values, victim));
      RETURN_IF_ERROR(change->Delete(stamps, victim));
      used -= old.size();
    }
    RETURN_IF_ERROR(change->Put("bytes", std::to_string(used)));
    return change->Commit();
  }

  Status Print() {  // the keys, the one used longest ago first
    auto it = db->NewIterator({.keyspace = order});
    for (it->SeekToFirst(); it->Valid(); it->Next()) std::cout << it->value() << '\n';
    return it->status();
  }

  Status Touch(Transaction& change, const std::string& key) {  // makes the key the last one in the order
    std::string stamp;
    RETURN_IF_ERROR(OkIfAbsent(change.Get(stamps, key, &stamp)));
    if (!stamp.empty()) RETURN_IF_ERROR(change.Delete(order, stamp));
    auto newest = change.OpenCursor(order);
    const Status last = newest->Last();
    RETURN_IF_ERROR(OkIfAbsent(last));
    // Stamps have one length, so that the order of the keys is the order of time.
    stamp = std::to_string(last.ok() ? std::stoull(std::string(newest->key())) + 1 : 1'000'000'000'000);
    RETURN_IF_ERROR(change.Put(order, stamp, key));
    return change.Put(stamps, key, stamp);
  }

  std::unique_ptr<mergedb::DB> db;
  Keyspace values, stamps, order;
  size_t bytes_max = 100;
};

Status Run(const std::string& directory) {
  Cache cache;
  std::string value;
  RETURN_IF_ERROR(cache.Open(directory));
  for (const char* key : {"a", "b", "c"}) RETURN_IF_ERROR(cache.Put(key, std::string(30, 'x')));
  RETURN_IF_ERROR(cache.Get("a", &value));                // "b" is now the one used longest ago
  RETURN_IF_ERROR(cache.Put("d", std::string(20, 'x')));  // 110 bytes are too many: "b" goes
  if (!cache.Get("b", &value).IsNotFound()) return Status::Corruption("b is still there");
  RETURN_IF_ERROR(cache.db->Close());
  RETURN_IF_ERROR(cache.Open(directory));  // the cache survives a restart
  RETURN_IF_ERROR(cache.Print());
  return cache.db->Close();
}

}  // namespace

int main(int argc, char** argv) {
  Status status = argc == 2 ? Run(argv[1]) : Status::InvalidArgument("usage: bounded_cache DIR");
  if (!status.ok()) std::cerr << status.ToString() << '\n';
  return status.ok() ? 0 : 1;
}
