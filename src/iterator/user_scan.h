// What the two directions of a user iterator share: the input, the key that is decided, and what the iterator shows.
//
//   UserIterator      the reader's calls, changes of direction, exceptions     iterator/user_iterator.cc
//   ├─ ForwardScan    and LookAhead                                            iterator/forward_scan.h
//   ├─ ReverseScan                                                             iterator/reverse_scan.h
//   └─ UserScan       BoundedInput, KeyVersions                                this file
#pragma once

#include <memory>
#include <utility>

#include "iterator/bounded_input.h"
#include "iterator/key_versions.h"
#include "iterator/reseek_check.h"
#include "iterator/tombstone_scan.h"
#include "iterator/user_iterator.h"

namespace mergedb::iterator {

// What a scan has come to.
enum class [[nodiscard]] Move{
    kShown,  // it shows an entry
    kEnded,  // it is at a bound, at the end of the input, or has failed: the iterator's status says it
    kGoOn,   // it has nothing to show yet
};

struct UserScan : UserCursor {
  UserScan(const kv::Order& order, UserIteratorOptions options, std::unique_ptr<kv::Iterator> input)
      : in(order, std::move(options), std::move(input)), versions(in), meter(in.options.on_tombstone_scan) {
    status_ = in.input->status();
  }

  Move Show(const kv::Entry& entry) {
    entry_ = entry;
    if (in.options.keys_only) entry_.value = {};
    return Move::kShown;
  }
  // Shows the collected versions as the key's value.
  Move ShowVersions(kv::Sequence newest) {
    Status status = versions.Show(newest, &entry_);
    return status.ok() ? Move::kShown : FailKey(std::move(status));
  }

  // Without an error the scan is at its end. With an error of the input the keys concerned are unknown.
  Move End(Status status) {
    status_ = std::move(status);
    return Move::kEnded;
  }
  // The key that is decided has an error of its own.
  Move FailKey(Status status) {
    is_failed = true;
    return End(std::move(status));
  }
  // Ends with the error of KeyVersions::Collect.
  Move FailCollected(Status status) {
    return in.input->status().ok() ? FailKey(std::move(status)) : End(std::move(status));
  }
  void Recover() {
    is_failed = false;
    status_ = {};
  }

  // True: what a move found since the scan was made may be zeros.
  bool HasFault() const { return faults.count() != faults_before; }

  // Seeks from the input's entry to a version of its key. kEnded: entries are out of order.
  Move ReseekForward(const kv::Entry& entry, kv::Tag tag) {
    return Reseek(reseeks.Forward(in.order, entry, entry.key, tag), tag);
  }
  // The caller goes on before that version.
  Move ReseekBackward(const kv::Entry& entry, kv::Tag tag) {
    return Reseek(reseeks.Backward(in.order, entry, entry.key, tag), tag);
  }

  BoundedInput in;
  KeyVersions versions;
  const base::MappedFaults& faults = *in.options.faults;
  const uint64_t faults_before = faults.count();
  bool is_failed = false;  // the key of `versions` has an error of its own
  ReseekCheck reseeks;     // past hidden versions
  TombstoneScanMeter meter;

 private:
  Move Reseek(Status status, kv::Tag tag) {
    if (!status.ok()) return End(std::move(status));
    in.input->Seek(reseeks.key(), tag);
    return Move::kGoOn;
  }
};

}  // namespace mergedb::iterator
