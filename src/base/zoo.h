// Mutation tests: one mutant at a time makes the library wrong, to prove that the tests find such bugs.
// `./dev test zoo` runs each mutant and prints which test found it, after how long
// (docs/decisions/0016-power-cuts-and-the-zoo.md).
//
//     Status status = ZOO(kDroppedTableSync) ? Status() : file->Sync();
//
// ZOO(...) is the constant false except in one build (preset `zoo`). There, the environment names the mutant:
// MERGEDB_ZOO=kDroppedTableSync. tests/zoo/absent_test.py proves that other builds hold no trace of the list.
// WHY in the code and not in patches: a patch stops fitting when the code changes; a mutant moves with its line.
// THREADS: any.
#pragma once

#ifndef MERGEDB_ZOO_BUILD

#define ZOO(bug) false

#else

#include <cstdio>
#include <cstdlib>
#include <cstring>

// clang-format off
#define MERGEDB_ZOO_BUGS(X) \
  /* Durability. */ \
  X(kDroppedTableSync)               /* the MANIFEST names tables that are not synced */ \
  X(kDroppedWalSync)                 /* a synced write does not sync its WAL segments */ \
  X(kDroppedManifestSync)            /* a VersionEdit counts as committed before its sync */ \
  X(kDroppedCurrentSync)             /* CURRENT is renamed before its bytes are durable */ \
  X(kSkippedDirectorySyncOfTables)   /* the names of new tables */ \
  X(kSkippedDirectorySyncOfSegments) /* the names of new WAL segments */ \
  X(kSkippedDirectorySyncOfCurrent)  /* the rename of CURRENT */ \
  X(kSkippedDirectorySyncOfParent)   /* the database's own name */ \
  X(kDroppedBlobFileSync)            /* the MANIFEST names blob files that are not synced */ \
  X(kBlobFileNotNamed)               /* a complete MANIFEST names only tables */ \
  X(kAcknowledgedBeforeSync)         /* a synced write returns before its sync */ \
  X(kAcknowledgedBeforeWrite)        /* without a mapping, a write returns before its bytes leave the process */ \
  X(kExclusiveSectionIgnored)              /* the queue's front goes on while a writer outside the queue commits */ \
  X(kFollowerNotLogged)              /* only the leader of a commit group reaches the WAL */ \
  X(kNoLogForgottenByClose)          /* Close does not flush writes that skipped the WAL */ \
  X(kSegmentReleasedEarly)           /* WAL segments are recycled while replay needs them */ \
  X(kOldSuperVersionShowsPieces)             /* a reader with an older SuperVersion sees a part of a large batch */ \
  X(kLostBatchForgotten)             /* a group forgets that its batch is larger than the window of recent writes */ \
  X(kSnapshotRegisteredLate)         /* a snapshot reads its sequence before compactions can see the snapshot */ \
  X(kManualTakenOver)                /* a new CompactRange takes the place of a waiting one */ \
  X(kPickedFromOldSuperVersion)              /* the SuperVersion of a pick is older than the list of running compactions */ \
  X(kHeadersBlockLeftOut)            /* the block that a large frame's header crosses into is not prepared first */ \
  X(kReadOnlyLooksOnce)              /* a read-only open beside a writer does not read the MANIFEST again */ \
  X(kOlderManifestAccepted)          /* a MANIFEST that ends before the end that CURRENT names */ \
  X(kRecordsBehindABreakIgnored)     /* damage to both copies of a MANIFEST record passes for a torn end */ \
  X(kMovedFramesIgnored)             /* frames of the WAL buffer at a wrong position pass for a torn end */ \
  X(kSkippedErrorForgotten)          /* an iterator of the LevelDB interface skips a block without an error */ \
  X(kBatchMovesUnderCursor)          /* a cursor of a transaction keeps views of a batch that moves */ \
  X(kListedSegmentRemoved)           /* a WAL segment that the durable VersionEdit lists is removed */ \
  X(kWalBufferReusedTooEarly)          /* the WAL buffer reuses the bytes of a frame that is written only in part */ \
  /* Failures. */ \
  X(kRetriedWalSync)                 /* a failed sync of the WAL is retried on the same file */ \
  X(kRetriedTableSync)               /* a failed sync of a table is retried */ \
  X(kFailedSyncAcknowledged)         /* a write whose sync failed is OK, and visible */ \
  X(kLockNotTaken)                   /* two databases in one directory */ \
  /* Recovery. */ \
  X(kDurableMarkTooHigh)             /* frames say that everything before them is durable */ \
  X(kPayloadNotChecked)              /* a frame's payload passes without its checksum */ \
  X(kReplayPastGap)                  /* replay continues behind a gap */ \
  X(kLastSegmentIgnored)             /* replay ignores the newest of several WAL segments */ \
  X(kDamageTakenForTornTail)         /* damage below a durable mark */ \
  X(kCleanEndIgnored)                /* a WAL that was closed may end anywhere */ \
  X(kSequenceUsedTwice)              /* recovery is off by one */ \
  X(kLiveTableTakenForOrphan) \
  X(kLiveBlobFileTakenForOrphan) \
  X(kFileNumberUsedTwice)            /* the number of an orphan */ \
  X(kBatchReplayedInHalves)          /* a batch in several memtables is released with the first one */ \
  /* Checks. */ \
  X(kBlockNotChecked) \
  X(kBlockSaltWithoutFile)           /* a block passes in another table */ \
  X(kBlockSaltWithoutOffset)         /* a block passes at another offset */ \
  X(kRecordNotChecked)               /* of a blob file */ \
  X(kRecordSaltWithoutFile)          /* a value passes in another blob file, or in one that recycles its file */ \
  X(kRecordSaltWithoutOffset)        /* a value passes at another offset */ \
  X(kRecordKeyNotCompared)           /* a blob index may lead to another key's value */ \
  X(kFrameWithoutSalt)               /* a frame passes in another epoch */ \
  X(kManifestNotChecked) \
  X(kManifestMirrorUnread)           /* the second copy */ \
  /* Versions of a key. */ \
  X(kTombstoneDroppedEarly)          /* above older versions */ \
  X(kSequenceZeroedEarly) \
  X(kSnapshotIgnoredByCompaction) \
  X(kSnapshotIgnoredByFlush) \
  X(kKeyCutInTwo)                    /* two tables of a sorted run hold versions of one key */ \
  X(kCompactionResultToFront)             /* the original MergeDB's first rule: a compaction's result is the newest run, */ \
  X(kPartialRelease)                 /* its second: inputs are released before all of them are compacted, */ \
  X(kRecencyByFileNumber)            /* and its third: open orders runs by file number */ \
  /* Keyspaces. */ \
  X(kKeyspaceEndWithoutId)           /* a scan of one keyspace goes on into the next */ \
  X(kKeyspaceIdUsedTwice)            /* a dropped keyspace's id, after a restart */ \
  X(kKeyspacesWithoutEpoch)          /* the first keyspace begins no new WAL epoch: replay may not know the marker */ \
  X(kDropKeepsKeys)                  /* the range delete of a drop deletes one key */ \
  /* Transactions. */ \
  X(kStretchNotRemembered)           /* a range read is not remembered: phantoms are no conflict */ \
  X(kWindowBeginForgotten)           /* an old transaction is checked only against the window of recent writes */ \
  X(kGroupNotChecked)                /* a transaction is not checked against earlier writes of its commit group */ \
  X(kRollbackKeepsRangeDelete)       /* a rollback to a savepoint */ \
  /* Blob files. */ \
  X(kReferenceNotCounted)            /* blob indexes that a compaction passes on */ \
  X(kReferencesOfPartsForgotten)     /* blob indexes of virtual tables */ \
  X(kBlobIndexTakenForValue)         /* operands are folded onto the bytes of the blob index */ \
  X(kReleasedWithoutValues)          /* tables are installed before the blob file of their values is finished */ \
  X(kBlobGcMovesNothing)           /* blob garbage collection leaves the values in the collected file */ \
  X(kMovedValueCountsAsNew)          /* a moved value hides later puts */ \
  X(kMissingFileTakenForMissingKey)  /* a missing blob file */ \
  X(kWindowOfAnotherFile)            /* bytes that a scan read ahead in one blob file pass for another file's */ \
  /* Reading. */ \
  X(kImmutablesReadOldestFirst)          /* immutable memtables */ \
  X(kFilterWithoutKey) \
  X(kCacheKeyedByOffset) \
  X(kBlockBorderSkipped)             /* the first entry of a block, in a scan */ \
  X(kReverseMissesNewest) \
  X(kUpperBoundIncluded) \
  X(kAheadShowsOlder)                /* LookAhead shows older versions of a key */ \
  X(kAheadBeyondVirtualTable)               /* LookAhead shows entries beyond the bounds of a virtual table */ \
  X(kLastBeyondUpper)                /* a step back from the end finds masked entries beyond the upper bound */ \
  X(kAheadShowsMasked)              /* LookAhead shows versions that the current range tombstone masks */ \
  X(kAheadBeyondSpan)                /* LookAhead shows keys that another range tombstone masks */ \
  X(kPublishedBeforeApply)           /* a sequence is visible before its records are */ \
  /* Space. */ \
  X(kObsoleteTablesKept)             /* their space never comes back */ \
  X(kDeletedRangeStaysLive)          /* the space bound counts keys that a range delete removed */ \
  X(kRecycledTailKept)                  /* a table in a longer recycled file ends before the file does */ \
  X(kLinkedFileWrittenAgain)         /* a recycled file that is also part of a backup */ \
  /* Verify and repair. */ \
  X(kTakenInCountsAgain)             /* repair without a MANIFEST takes leftover compaction inputs for live tables */ \
  X(kLostValueNotTold)               /* the report of a blob file's damage leaves out the keys */ \
  X(kRepairDropsReferences)          /* repair of a damaged table drops blob indexes to whole blob files */ \
  /* Checkpoints. */ \
  X(kCheckpointNotSynced)            /* files of tables that no MANIFEST commit has synced yet */ \
  X(kCheckpointNameNotSynced)        /* the rename that completes the checkpoint */
// clang-format on

namespace mergedb::base::zoo {

#define MERGEDB_ZOO_NAME(bug) bug,
enum class Bug { kNone, MERGEDB_ZOO_BUGS(MERGEDB_ZOO_NAME) };
#undef MERGEDB_ZOO_NAME

// An unknown name stops the program: a mutant that never runs would look like a mutant that no test finds.
inline Bug LetOut() {
  const char* name = std::getenv("MERGEDB_ZOO");
  if (name == nullptr) return Bug::kNone;
#define MERGEDB_ZOO_MATCH(bug) \
  if (std::strcmp(name, #bug) == 0) return Bug::bug;
  MERGEDB_ZOO_BUGS(MERGEDB_ZOO_MATCH)
#undef MERGEDB_ZOO_MATCH
  std::fprintf(stderr, "no such bug in the zoo: %s\n", name);
  std::abort();
}

inline bool Is(Bug bug) {
  static const Bug out = LetOut();
  return out == bug;
}

}  // namespace mergedb::base::zoo

#define ZOO(bug) ::mergedb::base::zoo::Is(::mergedb::base::zoo::Bug::bug)

#endif
