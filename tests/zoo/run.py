#!/usr/bin/env python3
"""Let each planted bug of src/base/zoo.h out, and see which test of the normal suite finds it.

usage: run.py BUILD [BUG...]      BUILD: a build of the preset `zoo`; BUG: only these
       run.py --targets           the test programs that a build must have

Each bug names the tests that should find it, the best first; the first that fails has found it. A test that runs into its time limit
has found nothing. At first all of these tests run with no bug out, and must pass: what fails then proves nothing later.
Prints a table; fails if a bug goes unnoticed, or has no test to its name.
"""

import concurrent.futures
import os
import re
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CPU_SECONDS_MAX = 120  # one test; what others do on the machine is not its fault
SECONDS_MAX = 1200
WORKERS = 2

CUTS_MAPPED = ("crash_power_cut_test", "*AllSequences*/LazyMapped")
CUTS_SEPARATED = ("crash_power_cut_test", "*AllSequences*/LazyMappedSeparated")
CUTS_WRITTEN = ("crash_power_cut_test", "*AllSequences*/LazyWritten")
CUTS_RANDOM = ("crash_power_cut_test", "*Random*/LazyMapped")
CUTS_ROLLING = ("crash_power_cut_test", "*RollOver*/CascadeMapped")
CUTS_MERGING = ("crash_power_cut_test", "*CompactionsOfManyRuns*/CascadeMapped")
CUTS_FAILING = ("crash_power_cut_test", "*SyncsThatFail*/LazyMapped")
ERRORS = ("crash_errors_test", "*")
DAMAGE = ("flips_bytes_test", "*ChangedByte*/ClosedMapped")
MODEL = ("model_model_test", "*")
SHAPES = ("db_hard_workloads_test", "*")
VALUES = ("db_blob_files_test", "*")
READER = ("unit_blob_reader_test", "*")
FLAWS = ("db_seed_flaws_test", "*")
COPIES = ("crash_checkpoint_cut_test", "*LinkedMapped")
KEYSPACES = ("db_keyspace_test", "Keyspaces*")
TRANSACTIONS = ("db_transaction_test", "*")

FINDERS = {
    "kDroppedTableSync": [CUTS_MAPPED],
    "kDroppedWalSync": [CUTS_MAPPED],
    "kDroppedManifestSync": [CUTS_MAPPED],
    "kDroppedCurrentSync": [CUTS_MAPPED],
    "kSkippedDirectorySyncOfTables": [CUTS_MAPPED],
    "kSkippedDirectorySyncOfSegments": [CUTS_MAPPED],
    "kSkippedDirectorySyncOfCurrent": [CUTS_MAPPED],
    "kSkippedDirectorySyncOfParent": [CUTS_MAPPED],
    "kAcknowledgedBeforeSync": [CUTS_MAPPED],
    "kAcknowledgedBeforeWrite": [CUTS_WRITTEN],
    "kExclusiveSectionIgnored": [("unit_write_writer_queue_test", "*")],
    "kFollowerNotLogged": [CUTS_RANDOM],
    "kNoLogForgottenByClose": [CUTS_MAPPED],
    "kSegmentReleasedEarly": [("unit_wal_crash_test", "*"), CUTS_ROLLING],
    "kSnapshotRegisteredLate": [("schedule_large_batch_schedule_test", "*ASnapshotKeepsWhatItSees*")],
    "kManualTakenOver": [("schedule_compaction_schedule_test", "*EachOfTwoCompactRanges*")],
    "kPickedFromOldSuperVersion": [("schedule_compaction_schedule_test", "*ADeletedKeyStaysDeleted*")],
    "kHeadersBlockLeftOut": [("unit_wal_wal_test", "*AFrameMayBeginAnywhere*")],
    "kReadOnlyLooksOnce": [("schedule_read_only_schedule_test", "*")],
    "kOlderManifestAccepted": [("unit_manifest_mirror_file_test", "*DoesNotPassAKnownPoint*"), ("flips_metadata_test", "*OlderManifest*")],
    "kRecordsBehindABreakIgnored": [("unit_manifest_mirror_file_test", "*BehindABrokenOne*")],
    "kMovedFramesIgnored": [("unit_wal_staging_damage_test", "*")],
    "kSkippedErrorForgotten": [("compat_interface_test", "DamagedLevelDbInterface*")],
    "kBatchMovesUnderCursor": [("unit_txn_cursor_test", "*"), TRANSACTIONS],
    "kListedSegmentRemoved": [("unit_wal_wal_test", "*ASegmentInTheDurableVersionEditIsNotRemoved*")],
    "kLostBatchForgotten": [("unit_write_recent_writes_test", "*"), ("race_transaction_race_test", "*Geometr*")],
    "kOldSuperVersionShowsPieces": [("unit_db_version_set_test", "*"), ("race_large_batch_race_test", "*")],
    "kWalBufferReusedTooEarly": [("unit_wal_crash_test", "*"), CUTS_ROLLING],
    "kRetriedWalSync": [ERRORS],
    "kRetriedTableSync": [ERRORS],
    "kFailedSyncAcknowledged": [CUTS_FAILING],
    "kLockNotTaken": [("db_db_test", "*")],
    "kDurableMarkTooHigh": [CUTS_MAPPED],
    "kPayloadNotChecked": [CUTS_MAPPED],
    "kReplayPastGap": [CUTS_MAPPED, ("unit_wal_crash_test", "*")],
    "kLastSegmentIgnored": [("unit_wal_crash_test", "*"), CUTS_ROLLING],
    "kDamageTakenForTornTail": [("unit_wal_replay_test", "*")],
    "kCleanEndIgnored": [("unit_wal_replay_test", "*"), DAMAGE],
    "kSequenceUsedTwice": [CUTS_MAPPED],
    "kLiveTableTakenForOrphan": [CUTS_MAPPED],
    "kFileNumberUsedTwice": [CUTS_MAPPED],
    "kBatchReplayedInHalves": [CUTS_RANDOM, SHAPES],
    "kBlockNotChecked": [DAMAGE],
    "kBlockSaltWithoutFile": [("unit_table_damage_test", "*")],
    "kBlockSaltWithoutOffset": [("unit_table_damage_test", "*"), DAMAGE],
    "kFrameWithoutSalt": [("unit_wal_frame_test", "*"), ("unit_wal_replay_test", "*")],
    "kManifestNotChecked": [("unit_manifest_mirror_file_test", "*"), DAMAGE],
    "kManifestMirrorUnread": [("unit_manifest_mirror_file_test", "*"), DAMAGE],
    "kTombstoneDroppedEarly": [MODEL],
    "kSequenceZeroedEarly": [MODEL],
    "kSnapshotIgnoredByCompaction": [MODEL],
    "kSnapshotIgnoredByFlush": [MODEL],
    "kKeyCutInTwo": [("unit_compaction_outputs_test", "*")],
    "kCompactionResultToFront": [MODEL],
    "kPartialRelease": [("unit_compaction_compaction_job_test", "*"), FLAWS, ("db_space_test", "*"), ("db_compactions_at_once_test", "*")],
    "kRecencyByFileNumber": [MODEL, FLAWS],
    "kImmutablesReadOldestFirst": [("db_db_test", "*")],
    "kFilterWithoutKey": [MODEL],
    "kCacheKeyedByOffset": [MODEL],
    "kBlockBorderSkipped": [MODEL],
    "kReverseMissesNewest": [MODEL],
    "kUpperBoundIncluded": [MODEL],
    "kAheadShowsOlder": [("unit_iterator_user_iterator_test", "*"), MODEL],
    "kAheadBeyondVirtualTable": [("unit_read_run_iterator_test", "*"), MODEL],
    "kLastBeyondUpper": [("db_range_delete_test", "*"), MODEL],
    "kAheadShowsMasked": [("unit_iterator_masking_iterator_test", "*"), MODEL],
    "kAheadBeyondSpan": [("unit_iterator_masking_iterator_test", "*"), MODEL],
    "kPublishedBeforeApply": [("unit_write_writer_queue_test", "*")],
    "kObsoleteTablesKept": [("db_space_test", "*")],
    "kDeletedRangeStaysLive": [("db_space_test", "*RangeDeleteTookAway*")],
    "kDroppedBlobFileSync": [CUTS_SEPARATED],
    "kBlobFileNotNamed": [CUTS_SEPARATED, VALUES],
    "kLiveBlobFileTakenForOrphan": [CUTS_SEPARATED, VALUES],
    "kRecordNotChecked": [READER, ("unit_format_blob_file_test", "*")],
    "kRecordSaltWithoutFile": [READER, ("unit_format_blob_file_test", "*")],
    "kRecordSaltWithoutOffset": [READER, ("unit_format_blob_file_test", "*")],
    "kRecordKeyNotCompared": [READER],
    "kReferenceNotCounted": [VALUES, MODEL],
    "kReferencesOfPartsForgotten": [("unit_version_version_builder_test", "*"), MODEL],
    "kBlobIndexTakenForValue": [VALUES, MODEL],
    "kReleasedWithoutValues": [("unit_compaction_outputs_test", "*"), MODEL],
    "kBlobGcMovesNothing": [("unit_compaction_compaction_job_test", "*")],
    "kMovedValueCountsAsNew": [VALUES, MODEL],
    "kMissingFileTakenForMissingKey": [("unit_blob_cache_test", "*"), VALUES],
    "kWindowOfAnotherFile": [("unit_blob_scanner_test", "*"), MODEL],
    "kRecycledTailKept": [("unit_table_writer_test", "*"), CUTS_MERGING],
    "kLinkedFileWrittenAgain": [("unit_env_posix_file_system_test", "*"), ("db_checkpoint_test", "*LivesItsOwnLife")],
    "kTakenInCountsAgain": [("unit_repair_rebuild_test", "*")],
    "kLostValueNotTold": [("flips_repair_test", "*MissingFiles*/ClosedSeparated")],
    "kRepairDropsReferences": [("flips_repair_test", "*ChangedByte*/ClosedSeparated")],
    "kKeyspaceEndWithoutId": [("unit_kv_key_map_test", "*"), KEYSPACES],
    "kKeyspaceIdUsedTwice": [KEYSPACES],
    "kKeyspacesWithoutEpoch": [("db_keyspace_test", "KeyspaceCrashes*"), ("crash_power_cut_test", "*InKeyspaces/LazyMapped")],
    "kDropKeepsKeys": [KEYSPACES],
    "kStretchNotRemembered": [("unit_txn_read_set_test", "*"), TRANSACTIONS],
    "kWindowBeginForgotten": [("unit_write_recent_writes_test", "*"), TRANSACTIONS],
    "kGroupNotChecked": [("unit_write_recent_writes_test", "*")],
    "kRollbackKeepsRangeDelete": [("unit_txn_own_writes_test", "*"), TRANSACTIONS],
    "kCheckpointNotSynced": [COPIES],
    "kCheckpointNameNotSynced": [COPIES],
}


def bugs_of_the_zoo():
    with open(os.path.join(ROOT, "src/base/zoo.h"), encoding="utf-8") as header:
        return re.findall(r"^\s*X\((k\w+)\)", header.read(), re.M)


def planted():
    names = set()
    for folder, _, files in os.walk(os.path.join(ROOT, "src")):
        for name in files:
            if name.endswith((".cc", ".h")) and name != "zoo.h":
                with open(os.path.join(folder, name), encoding="utf-8") as source:
                    names.update(re.findall(r"\bZOO\((k\w+)\)", source.read()))
    return names


def first_failure(output):
    """What a failed run says: its first failed test, or the assertion that ended it."""
    failed = re.search(r"^\[  FAILED  \] (\S+?),? ", output + " ", re.M) or re.search(r"^\[  FAILED  \] (\S+)", output, re.M)
    if failed:
        return failed.group(1)
    running = re.findall(r"^\[ RUN      \] (\S+)", output, re.M)
    return running[-1] + " (stopped by an assertion)" if running else "(stopped before any test)"


def run(build, finder, bug):
    """(failed?, what failed or why not, seconds)"""
    program, tests = finder
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MERGEDB_", "GTEST_"))}
    if bug:
        environment["MERGEDB_ZOO"] = bug
    start = time.monotonic()
    scratch = os.path.join(build, "zoo")
    os.makedirs(scratch, exist_ok=True)
    command = ["prlimit", f"--cpu={CPU_SECONDS_MAX}", os.path.join(build, "tests", program), f"--gtest_filter={tests}", "--gtest_fail_fast"]
    try:
        done = subprocess.run(command,
                              env=environment, cwd=scratch, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=SECONDS_MAX, check=False)
    except subprocess.TimeoutExpired:
        return False, "time limit", time.monotonic() - start
    seconds = time.monotonic() - start
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return False, "time limit", seconds
    output = done.stdout.decode(errors="replace")
    if "[==========] Running 0 tests" in output:
        return False, f"no test of {program} is called {tests}", seconds
    if "no such bug in the zoo" in output:
        return False, "the build does not know the bug", seconds
    if done.returncode and not bug:
        print(output[-4000:], file=sys.stderr)  # nobody expects that one
    return done.returncode != 0, first_failure(output) if done.returncode else "passed", seconds


def find(build, bug):
    tried, seconds = [], 0.0
    for finder in FINDERS[bug]:
        is_found, what, took = run(build, finder, bug)
        seconds += took
        if is_found:
            return True, f"{finder[0]} {what}", seconds
        tried.append(f"{finder[0]} {finder[1]}: {what}")
    return False, "; ".join(tried), seconds


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if sys.argv[1] == "--targets":
        print(*sorted({finder[0] for finders in FINDERS.values() for finder in finders}))
        return
    build, bugs = os.path.abspath(sys.argv[1]), sys.argv[2:] or bugs_of_the_zoo()
    homeless = set(bugs_of_the_zoo()) ^ set(FINDERS) | set(bugs_of_the_zoo()) ^ planted()
    if homeless:
        sys.exit("not in src/base/zoo.h, in no line of src/, or without a test to find them: " + " ".join(sorted(homeless)))
    begun = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        controls = sorted({finder for bug in bugs for finder in FINDERS[bug]})
        broken = [f"{finder[0]} {finder[1]}: {what}" for finder, (failed, what, _) in
                  zip(controls, pool.map(lambda finder: run(build, finder, None), controls)) if failed or what != "passed"]
        if broken:
            sys.exit("fails without a bug: " + "; ".join(broken))
        print(f"{len(controls)} tests pass with no bug out, {time.monotonic() - begun:.0f} s", flush=True)
        lost = []
        for bug, (is_found, what, seconds) in zip(bugs, pool.map(lambda bug: find(build, bug), bugs)):
            print(f"{bug:32} {seconds:6.1f} s  {'found by ' if is_found else 'NOT FOUND: '}{what}", flush=True)
            if not is_found:
                lost.append(bug)
    print(f"{len(bugs) - len(lost)} of {len(bugs)} bugs found in {time.monotonic() - begun:.0f} s")
    sys.exit(1 if lost else 0)


if __name__ == "__main__":
    main()
