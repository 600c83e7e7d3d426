// Who is in a transaction: for property "mergedb.transactions", so that a snapshot or a writers' lock that is held for long
// has a name.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/sync.h"
#include "kv/key.h"
#include "mergedb/transaction.h"

namespace mergedb::db {

// THREADS: any. Shared, because transactions may be let go of after the database's Close.
class OpenTransactions : public std::enable_shared_from_this<OpenTransactions> {
 public:
  struct Facts {
    std::string name;
    TransactionKind kind = TransactionKind::kReadOnly;
    kv::Sequence sequence = 0;
    uint64_t since_nanos = 0;
  };
  // One of them; it is listed while it lives.
  class Entry {
   public:
    Entry(std::shared_ptr<OpenTransactions> home, Facts facts) : home_(std::move(home)), facts_(std::move(facts)) {}
    ~Entry() { home_->Remove(*this); }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    std::atomic<uint64_t> writes{0};
    std::atomic<size_t> bytes{0};

   private:
    friend class OpenTransactions;
    const std::shared_ptr<OpenTransactions> home_;
    const Facts facts_;
    std::list<Entry*>::iterator place_;
  };

  std::unique_ptr<Entry> Add(Facts facts) {
    auto entry = std::make_unique<Entry>(shared_from_this(), std::move(facts));
    base::Lock lock(mutex_);
    entry->place_ = open_.insert(open_.end(), entry.get());
    return entry;
  }

  size_t count() const {
    base::Lock lock(mutex_);
    return open_.size();
  }

  // A line each, oldest first.
  std::string Text(uint64_t now_nanos) const {
    std::string text;
    base::Lock lock(mutex_);
    for (const Entry* entry : open_) {
      const Facts& facts = entry->facts_;
      text += KindName(facts.kind) + " \"" + base::Escape(facts.name) + "\": " +
              std::to_string((now_nanos - facts.since_nanos) / 1'000'000) + " ms old, reads as of sequence " +
              std::to_string(facts.sequence) + ", " + std::to_string(entry->writes) + " writes, " +
              std::to_string(entry->bytes) + " bytes\n";
    }
    return text;
  }

 private:
  static std::string KindName(TransactionKind kind) {
    switch (kind) {
      case TransactionKind::kSingleWriter: return "single-writer";
      case TransactionKind::kOptimistic: return "optimistic";
      case TransactionKind::kReadOnly: return "read-only";
    }
    return "?";
  }

  void Remove(const Entry& entry) {
    base::Lock lock(mutex_);
    open_.erase(entry.place_);
  }

  mutable base::Mutex mutex_;
  std::list<Entry*> open_ GUARDED_BY(mutex_);
};

}  // namespace mergedb::db
