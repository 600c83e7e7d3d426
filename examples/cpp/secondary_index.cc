// Users by id, with a unique index by email and an index by city: secondary_index DIR
// A record and its index entries change in one optimistic transaction. If another thread changes what the transaction
// read, the commit returns Conflict, and Put begins again.
#include <mergedb/db.h>
#include <mergedb/transaction.h>

#include <iostream>
#include <string>
#include <thread>

using mergedb::Keyspace;
using mergedb::Status;
using mergedb::Transaction;
using mergedb::TransactionKind;

namespace {

struct Users {
  std::unique_ptr<mergedb::DB> db;
  Keyspace by_id, by_email, by_city;  // id: "email|city", email: id, "city|id": nothing
};

Status TryPut(Users& users, const std::string& id, const std::string& email, const std::string& city) {
  ASSIGN_OR_RETURN(auto change, Transaction::Begin(*users.db, {.kind = TransactionKind::kOptimistic}));
  std::string owner, old;
  Status status = change->Get(users.by_email, email, &owner);
  if (!status.ok() && !status.IsNotFound()) return status;
  if (status.ok() && owner != id) return Status::InvalidArgument(email + " belongs to " + owner);
  status = change->Get(users.by_id, id, &old);
  if (!status.ok() && !status.IsNotFound()) return status;
  if (status.ok()) {  // the old index entries go
    const size_t bar = old.find('|');
    RETURN_IF_ERROR(change->Delete(users.by_email, old.substr(0, bar)));
    RETURN_IF_ERROR(change->Delete(users.by_city, old.substr(bar + 1) + "|" + id));
  }
  RETURN_IF_ERROR(change->Put(users.by_id, id, email + "|" + city));
  RETURN_IF_ERROR(change->Put(users.by_email, email, id));
  RETURN_IF_ERROR(change->Put(users.by_city, city + "|" + id, ""));
  return change->Commit();
}

Status Put(Users& users, const std::string& id, const std::string& email, const std::string& city) {
  for (;;) {
    Status status = TryPut(users, id, email, city);
    if (!status.IsConflict()) return status;
  }
}

Status PrintCity(Users& users, const std::string& city) {
  auto it = users.db->NewIterator({.prefix = city + "|", .keyspace = users.by_city});
  std::cout << city << ':';
  for (it->SeekToFirst(); it->Valid(); it->Next()) std::cout << ' ' << it->key().substr(city.size() + 1);
  std::cout << '\n';
  return it->status();
}

Status Travel(Users& users, const std::string& id, const std::string& email) {
  for (int i = 0; i < 50; ++i) RETURN_IF_ERROR(Put(users, id, email, i % 2 == 0 ? "Rome" : "Bergen"));
  return Status::Ok();
}

Status Run(const std::string& directory) {
  Users users;
  ASSIGN_OR_RETURN(users.db, mergedb::DB::Open({}, directory));
  ASSIGN_OR_RETURN(users.by_id, users.db->CreateKeyspace("users", {.may_exist = true}));
  ASSIGN_OR_RETURN(users.by_email, users.db->CreateKeyspace("users by email", {.may_exist = true}));
  ASSIGN_OR_RETURN(users.by_city, users.db->CreateKeyspace("users by city", {.may_exist = true}));
  RETURN_IF_ERROR(Put(users, "1", "ann@example.org", "Oslo"));
  RETURN_IF_ERROR(Put(users, "2", "bob@example.org", "Rome"));
  RETURN_IF_ERROR(Put(users, "3", "cid@example.org", "Oslo"));
  std::cout << Put(users, "2", "ann@example.org", "Rome").message() << '\n';
  RETURN_IF_ERROR(PrintCity(users, "Oslo"));
  Status other;  // two threads move the same user about
  std::thread thread([&] { other = Travel(users, "3", "cid@example.org"); });
  Status status = Travel(users, "3", "cid@work.example");
  thread.join();
  RETURN_IF_ERROR(status.ok() ? other : status);
  for (const char* city : {"Bergen", "Oslo", "Rome"}) RETURN_IF_ERROR(PrintCity(users, city));
  return users.db->Close();
}

}  // namespace

int main(int argc, char** argv) {
  Status status = argc == 2 ? Run(argv[1]) : Status::InvalidArgument("usage: secondary_index DIR");
  if (!status.ok()) std::cerr << status.ToString() << '\n';
  return status.ok() ? 0 : 1;
}
