// The bug zoo: bugs planted on purpose, one at a time, to prove that the tests find such bugs. `./dev test zoo` lets each of
// them out and prints which test found it, after how long (docs/decisions/0016-power-cuts-and-the-zoo.md).
//
//     Status status = ZOO(kDroppedTableSync) ? Status() : file->Sync();
//
// ZOO(...) is the constant false, and the list below is not compiled, but in a build of its own (preset `zoo`), where the
// environment names the bug: MERGEDB_ZOO=kDroppedTableSync. tests/zoo/absent_test.py proves that other builds hold no trace.
// WHY in the product's lines and not in a patch: patches rot; a planted bug moves with the line that it spoils.
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
  /* What is durable, and when. */ \
  X(kDroppedTableSync)               /* tables are named by the MANIFEST unsynced */ \
  X(kDroppedLogSync)                 /* segments are not synced for a synced write */ \
  X(kDroppedManifestSync)            /* an VersionEdit counts as committed unsynced */ \
  X(kDroppedCurrentSync)             /* CURRENT is renamed before its bytes are durable */ \
  X(kSkippedDirectorySyncOfTables)   /* names of new tables */ \
  X(kSkippedDirectorySyncOfSegments) /* names of new segments */ \
  X(kSkippedDirectorySyncOfCurrent)  /* the rename of CURRENT */ \
  X(kSkippedDirectorySyncOfParent)   /* the database's own name */ \
  X(kDroppedBlobFileSync)           /* value files are named by the MANIFEST unsynced */ \
  X(kBlobFileNotNamed)              /* a complete MANIFEST names tables alone */ \
  X(kAcknowledgedBeforeSync)         /* a synced write returns before its sync */ \
  X(kAcknowledgedBeforeWrite)        /* an unmapped write returns before it left the process */ \
  X(kLoneWriterIgnored)              /* who queues goes on while one who is not in the queue commits */ \
  X(kFollowerNotLogged)              /* of a commit group only the leader reaches the log */ \
  X(kNoLogForgottenByClose)          /* Close does not flush writes without log */ \
  X(kSegmentReleasedEarly)           /* segments are used again while replay needs them */ \
  X(kOldViewShowsPieces)             /* a reader sees what of a large batch its older SuperVersion holds */ \
  X(kLostBatchForgotten)             /* a group forgets that a batch of it is larger than the window of recent writes */ \
  X(kSnapshotRegisteredLate)         /* a snapshot reads its sequence before a job that asks for the snapshots can see it */ \
  X(kManualTakenOver)                /* a CompactRange that begins takes the place of one that waits */ \
  X(kPickedFromOldView)              /* a compaction is picked from a SuperVersion that is older than the list of running jobs */ \
  X(kHeadersBlockLeftOut)            /* the block that a large frame's header crosses into is not prepared before the rest */ \
  X(kReadOnlyLooksOnce)              /* a read-only open beside a writer does not read the MANIFEST again */ \
  X(kOlderManifestAccepted)          /* a MANIFEST that ends before the end that CURRENT says */ \
  X(kRecordsBehindABreakIgnored)     /* damage to both copies of a MANIFEST record passes for a torn end */ \
  X(kMovedFramesIgnored)             /* frames of the ring that stand where they were not written pass for a torn end */ \
  X(kSkippedErrorForgotten)          /* an iterator of LevelDB's interface passes over a block and does not say so */ \
  X(kBatchMovesUnderCursor)          /* a cursor of a transaction keeps views of a batch that moves */ \
  X(kListedSegmentRemoved)           /* a segment that the durable MANIFEST edit lists is removed */ \
  X(kStagingReusedTooEarly)          /* the ring's bytes of a frame that the drain cut in two */ \
  /* Failures. */ \
  X(kRetriedLogSync)                 /* a failed sync of the log is tried again on the same file */ \
  X(kRetriedTableSync)               /* and of a table */ \
  X(kFailedSyncAcknowledged)         /* a write whose sync failed is OK, and visible */ \
  X(kLockNotTaken)                   /* two databases in one directory */ \
  /* Recovery. */ \
  X(kDurableMarkTooHigh)             /* frames say that all before them was durable */ \
  X(kPayloadNotChecked)              /* a frame's header vouches for its payload */ \
  X(kReplayPastGap)                  /* replay goes on behind a hole */ \
  X(kLastSegmentIgnored)             /* the newest of several */ \
  X(kDamageTakenForTornTail)         /* below a durable mark */ \
  X(kCleanEndIgnored)                /* a log that was closed may end anywhere */ \
  X(kSequenceUsedTwice)              /* recovery is off by one */ \
  X(kLiveTableTakenForOrphan) \
  X(kLiveBlobFileTakenForOrphan) \
  X(kFileNumberUsedTwice)            /* an orphan's */ \
  X(kBatchReplayedInHalves)          /* a batch in several memtables is released with the first */ \
  /* Checks. */ \
  X(kBlockNotChecked) \
  X(kBlockSaltWithoutFile)           /* a block passes in another table */ \
  X(kBlockSaltWithoutOffset)         /* a block passes in another place */ \
  X(kRecordNotChecked)               /* of a value file */ \
  X(kRecordSaltWithoutFile)          /* a value passes in another value file, or where a spare held it */ \
  X(kRecordSaltWithoutOffset)        /* a value passes in another place */ \
  X(kRecordKeyNotCompared)           /* a reference may lead to another key's value */ \
  X(kFrameWithoutSalt)               /* a frame passes in another epoch */ \
  X(kManifestNotChecked) \
  X(kManifestMirrorUnread)           /* the second copy */ \
  /* Versions of a key. */ \
  X(kTombstoneDroppedEarly)          /* above older versions */ \
  X(kSequenceZeroedEarly) \
  X(kSnapshotIgnoredByMerge) \
  X(kSnapshotIgnoredByFlush) \
  X(kKeyCutInTwo)                    /* versions of a key in two tables of a run */ \
  X(kMergeResultToFront)             /* the original MergeDB's first rule: a merge's result counts as the newest run, */ \
  X(kPartialRelease)                 /* its second: inputs go before all of them is merged, */ \
  X(kRecencyByFileNumber)            /* and its third: at open runs are ordered by their files' numbers */ \
  /* Keyspaces. */ \
  X(kKeyspaceEndWithoutId)           /* a scan of one goes on into the next */ \
  X(kKeyspaceIdUsedTwice)            /* a dropped one's, after a restart */ \
  X(kKeyspacesWithoutEpoch)          /* the first one begins no new epoch of the log: replay may not know the marker */ \
  X(kDropKeepsKeys)                  /* its range delete covers one key */ \
  /* Transactions. */ \
  X(kStretchNotRemembered)           /* phantoms are no conflict */ \
  X(kWindowBeginForgotten)           /* one that began before the window's oldest commit is checked against the rest */ \
  X(kGroupNotChecked)                /* against those before it in its commit group */ \
  X(kRollbackKeepsRangeDelete)       /* to a savepoint */ \
  /* Values that stand apart. */ \
  X(kReferenceNotCounted)            /* of the references that a merge passes on */ \
  X(kReferencesOfPartsForgotten)     /* of tables that are shown in part */ \
  X(kReferenceTakenForValue)         /* operands are folded onto the reference's own bytes */ \
  X(kReleasedWithoutValues)          /* tables are shown before the value file that they refer to is finished */ \
  X(kCleaningMovesNothing)           /* the cleaned file's references are passed on */ \
  X(kMovedValueCountsAsNew)          /* over what was put since */ \
  X(kMissingFileTakenForMissingKey)  /* a value file that is gone */ \
  X(kWindowOfAnotherFile)            /* what a scan read ahead in one file passes for another's */ \
  /* Reading. */ \
  X(kSealedReadOldestFirst) \
  X(kFilterWithoutKey) \
  X(kCacheKeyedByOffset) \
  X(kBlockBorderSkipped)             /* the first entry of a block, in a scan */ \
  X(kReverseMissesNewest) \
  X(kUpperBoundIncluded) \
  X(kAheadShowsOlder)                /* a scan that looks ahead takes versions of a key for keys */ \
  X(kAheadBeyondSlice)               /* and shows of a file what another run has taken over */ \
  X(kLastBeyondUpper)                /* who steps back from the end finds what is covered beyond the upper bound */ \
  X(kAheadShowsCovered)              /* and versions that the range tombstone at hand covers */ \
  X(kAheadBeyondSpan)                /* and keys that another range tombstone covers */ \
  X(kPublishedBeforeApply)           /* a sequence is visible before its records are */ \
  /* Space. */ \
  X(kObsoleteTablesKept)             /* it never comes back */ \
  X(kDeletedRangeStaysLive)          /* the bound allows for what a range delete took away */ \
  X(kSpareTailKept)                  /* a table in a longer spare file ends before the file does */ \
  X(kLinkedFileWrittenAgain)         /* a spare that is somebody's backup as well */ \
  /* Care. */ \
  X(kTakenInCountsAgain)             /* repair without a MANIFEST takes leftovers of merges for live tables */ \
  X(kLostValueNotTold)               /* a value file's damage is told without the keys */ \
  X(kRepairDropsReferences)          /* of a damaged table, to value files that are whole */ \
  /* Copies. */ \
  X(kCheckpointNotSynced)            /* files of the copy, whose tables no MANIFEST had made durable yet */ \
  X(kCheckpointNameNotSynced)        /* the rename that makes it one */
// clang-format on

namespace mergedb::base::zoo {

#define MERGEDB_ZOO_NAME(bug) bug,
enum class Bug { kNone, MERGEDB_ZOO_BUGS(MERGEDB_ZOO_NAME) };
#undef MERGEDB_ZOO_NAME

// A name that is none stops the program: a bug that is not let out would pass for one that nobody finds.
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
