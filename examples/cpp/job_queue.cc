// A durable queue of jobs with several workers: job_queue DIR
// A job moves from "ready" to "running" to "done", and each step is atomic. So no job is lost or taken twice. After a
// crash, Recover returns the jobs of the workers that died to the queue.
#include <mergedb/db.h>
#include <mergedb/transaction.h>

#include <iostream>
#include <string>
#include <thread>

using mergedb::Keyspace, mergedb::Status, mergedb::Transaction;

namespace {

struct Job {
  std::string id, text;
};
struct Queue {
  std::unique_ptr<mergedb::DB> db;
  Keyspace ready, running, done;
};

Status Add(Queue& queue, std::initializer_list<std::string> texts) {
  ASSIGN_OR_RETURN(auto change, Transaction::Begin(*queue.db, {.durability = mergedb::Durability::kSynced}));
  std::string last = "100000000";  // ids have one length, so that the order of the keys is the order of the jobs
  if (Status status = change->Get("last id", &last); !status.ok() && !status.IsNotFound()) return status;
  for (const std::string& text : texts) {
    last = std::to_string(std::stoull(last) + 1);
    RETURN_IF_ERROR(change->Put(queue.ready, last, text));
  }
  RETURN_IF_ERROR(change->Put("last id", last));
  return change->Commit();
}

// Takes the oldest job; NotFound if there is none. A single writer excludes all other workers until it commits.
Status Take(Queue& queue, Job* job) {
  ASSIGN_OR_RETURN(auto change, Transaction::Begin(*queue.db));
  auto cursor = change->OpenCursor(queue.ready);
  RETURN_IF_ERROR(cursor->First());
  *job = {std::string(cursor->key()), std::string(cursor->value())};
  RETURN_IF_ERROR(cursor->Delete());
  RETURN_IF_ERROR(change->Put(queue.running, job->id, job->text));
  return change->Commit();
}

Status Move(Queue& queue, const Job& job, Keyspace target) {
  mergedb::WriteBatch batch;
  batch.Delete(queue.running, job.id);
  batch.Put(target, job.id, job.text);
  return queue.db->Write({}, batch);
}

Status Recover(Queue& queue) {
  auto it = queue.db->NewIterator({.keyspace = queue.running});
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    std::cout << "recovered " << it->key() << '\n';
    RETURN_IF_ERROR(Move(queue, {std::string(it->key()), std::string(it->value())}, queue.ready));
  }
  return it->status();
}

Status Work(Queue& queue) {
  for (Job job;;) {
    Status status = Take(queue, &job);
    if (!status.ok()) return status.IsNotFound() ? Status::Ok() : status;
    job.text += ": done";  // a real worker does the job here
    RETURN_IF_ERROR(Move(queue, job, queue.done));
  }
}

Status Run(const std::string& directory) {
  Queue queue;
  ASSIGN_OR_RETURN(queue.db, mergedb::DB::Open({}, directory));
  ASSIGN_OR_RETURN(queue.ready, queue.db->CreateKeyspace("ready", {.may_exist = true}));
  ASSIGN_OR_RETURN(queue.running, queue.db->CreateKeyspace("running", {.may_exist = true}));
  ASSIGN_OR_RETURN(queue.done, queue.db->CreateKeyspace("done", {.may_exist = true}));
  RETURN_IF_ERROR(Recover(queue));
  RETURN_IF_ERROR(Add(queue, {"resize cat.png", "resize dog.png", "mail ann", "mail bob", "rotate logs", "backup"}));
  Job lost;
  RETURN_IF_ERROR(Take(queue, &lost));  // this worker never ends its job
  RETURN_IF_ERROR(Recover(queue));      // so the next start of the program returns it
  Status other;
  std::thread worker([&] { other = Work(queue); });
  Status status = Work(queue);
  worker.join();
  RETURN_IF_ERROR(status.ok() ? other : status);
  auto it = queue.db->NewIterator({.keyspace = queue.done});
  for (it->SeekToFirst(); it->Valid(); it->Next()) std::cout << it->key() << ' ' << it->value() << '\n';
  RETURN_IF_ERROR(it->status());
  return queue.db->Close();
}

}  // namespace

int main(int argc, char** argv) {
  Status status = argc == 2 ? Run(argv[1]) : Status::InvalidArgument("usage: job_queue DIR");
  if (!status.ok()) std::cerr << status.ToString() << '\n';
  return status.ok() ? 0 : 1;
}
