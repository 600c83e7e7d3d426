// The open transactions, for property "mergedb.transactions": it names the transaction that holds a snapshot
// or the writers' lock for long.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/sync.h"
#include "kv/key.h"
#include "mergedb/transaction.h"

namespace mergedb::db {

// THREADS: any. Shared, because transactions may outlive the database's Close.
class OpenTransactions : public std::enable_shared_from_this<OpenTransactions> {
 public:
  struct Facts {
    std::string name;
    TransactionKind kind = TransactionKind::kReadOnly;
    kv::Sequence sequence = 0;
    uint64_t since_nanos = 0;
  };
  // One transaction. It is listed from its construction or Return until Rest or its destruction.
  class Entry {
   public:
    // `place` has one element, which becomes this entry.
    Entry(std::shared_ptr<OpenTransactions> home, std::list<Entry*>& place, Facts facts)
        : home_(std::move(home)),
          name_(std::move(facts.name)),
          kind_(facts.kind),
          sequence_(facts.sequence),
          since_nanos_(facts.since_nanos),
          place_(place.begin()) {
      *place_ = this;
    }
    ~Entry() { home_->Remove(*this); }

    // The transaction has ended and may begin again (Return). WHY the entry is kept: a new one costs as much
    // as a small read transaction.
    void Rest() { is_listed_ = false; }
    void Return(kv::Sequence sequence, uint64_t now_nanos) {
      sequence_ = sequence;
      since_nanos_ = now_nanos;
      is_listed_ = true;
    }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    std::atomic<uint64_t> writes{0};
    std::atomic<size_t> bytes{0};

   private:
    friend class OpenTransactions;
    const std::shared_ptr<OpenTransactions> home_;
    const std::string name_;
    const TransactionKind kind_;
    std::atomic<kv::Sequence> sequence_;
    std::atomic<uint64_t> since_nanos_;
    std::atomic<bool> is_listed_{true};
    const std::list<Entry*>::iterator place_;
  };

  std::unique_ptr<Entry> Add(Facts facts) {
    std::list<Entry*> place(1);  // WHY first: an Entry without a place could not be destroyed
    auto entry = std::make_unique<Entry>(shared_from_this(), place, std::move(facts));
    base::Lock lock(mutex_);
    open_.splice(open_.end(), place);
    return entry;
  }

  size_t count() const {
    base::Lock lock(mutex_);
    return static_cast<size_t>(
        std::ranges::count_if(open_, [](const Entry* entry) { return entry->is_listed_.load(); }));
  }

  // One line for each transaction, the oldest first.
  std::string Text(uint64_t now_nanos) const {
    std::vector<std::pair<uint64_t, std::string>> lines;
    base::Lock lock(mutex_);
    for (const Entry* entry : open_) {
      if (!entry->is_listed_) continue;
      const uint64_t since = std::min<uint64_t>(entry->since_nanos_, now_nanos);
      lines.push_back({since, KindName(entry->kind_) + " \"" + base::Escape(entry->name_) + "\": " +
                                  std::to_string((now_nanos - since) / 1'000'000) + " ms old, reads as of sequence " +
                                  std::to_string(entry->sequence_) + ", " + std::to_string(entry->writes) +
                                  " writes, " + std::to_string(entry->bytes) + " bytes\n"});
    }
    std::ranges::stable_sort(lines, {}, &std::pair<uint64_t, std::string>::first);
    std::string text;
    for (const auto& [since, line] : lines) text += line;
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
