"""The comparison: the engines and the command lines that each of them runs.

In an experiment, each engine runs db_bench once on a new directory; the steps are the names in --benchmarks. All
engines get the same flags. Sizes come in pairs, so that the report shows the effect of growth.
"""

from dataclasses import dataclass, field, replace

COMMON = ["--compression=0", "--compression_ratio=1", "--bloom_bits=10"]
SEED = ["--threads=1", "--cache_size=104857600", "--bloom_bits=10", "--open_files=500000", "--compression_ratio=1",
        "--compression=0"]
READS = ["readrandom", "readmissing", "readhot", "seekrandom", "readseq", "readreverse"]


@dataclass(frozen=True)
class Engine:
    id: str
    title: str
    flags: tuple
    peer: str  # the engine that the report compares with; the best of its variants counts


@dataclass
class Experiment:
    id: str
    title: str
    flags: list
    benchmarks: list
    engines: list = None          # ids; None: all engines except those of OTHERWISE
    benchmarks_of: dict = field(default_factory=dict)  # by id: steps of engines that do the same in another way
    memory_limit: int = 0         # bytes for the whole process and its page cache; 0: none
    cold_reads: int = 0           # then drop the page cache and read this many random keys in a new process
    rate_of: str = ""             # openloop: the experiment of which the rate is half of LevelDB's load rate
    repeat_max: int = 99
    is_long: bool = False         # runs only if --only names it


def engines(rocksdb_library, built=None):
    """`built` has the path of the library of each of fjall and Pebble that takes part."""
    chosen = [Engine("mergedb", "mergedb", ("--engine=mergedb",), "")]
    chosen.append(Engine("leveldb", "LevelDB", ("--engine=leveldb",), "leveldb"))
    newer = (f"--rocksdb_library={rocksdb_library}",) if rocksdb_library else ()
    name = "RocksDB 11.8.1" if rocksdb_library else "RocksDB 7.8"
    chosen.append(Engine("rocksdb", f"{name} leveled", ("--engine=rocksdb", *newer), "rocksdb"))
    chosen.append(Engine("rocksdb-universal", f"{name} universal",
                         ("--engine=rocksdb", "--rocksdb_style=universal", *newer), "rocksdb"))
    if rocksdb_library:
        chosen.append(Engine("rocksdb-7.8", "RocksDB 7.8 leveled (Debian)", ("--engine=rocksdb",), ""))
    chosen.append(Engine("rocksdb-64m", f"{name} leveled, 64 MB buffers",
                         ("--engine=rocksdb", "--write_buffer_size=67108864", *newer), "rocksdb-64m"))
    chosen.append(Engine("rocksdb-update", f"{name} leveled, get + put", ("--engine=rocksdb", *newer), "rocksdb-update"))
    chosen.append(Engine("lmdb", "LMDB", ("--engine=lmdb",), "lmdb"))
    for id_, title in [("fjall", "fjall"), ("pebble", "Pebble")]:
        if id_ in (built or {}):
            chosen.append(Engine(id_, title, (f"--engine={id_}", f"--peer_library={built[id_]}"), id_))
    chosen.append(Engine("mergedb-calls", "mergedb, files read by calls", ("--engine=mergedb", "--mmap_read=0"), ""))
    chosen.append(Engine("mergedb-cascade", "mergedb, cascade", ("--engine=mergedb", "--style=cascade"), ""))
    return chosen


OTHERWISE = ["rocksdb-64m", "rocksdb-update", "mergedb-calls"]
LOG_STRUCTURED = ["mergedb", "leveldb", "rocksdb", "rocksdb-universal", "fjall", "pebble"]
MAIN = [*LOG_STRUCTURED, "lmdb"]
DRAIN = "waitforcompaction"
LARGE = 3  # times the entries of the small size


def load(id_, title, value_size, num, flags, reads, **more):
    """A fill and an overwrite, each with a wait for the background work; then reads in every way."""
    return Experiment(id_, title, [f"--num={num}", f"--value_size={value_size}", f"--reads={reads}", *flags],
                      ["fillrandom", DRAIN, "overwrite", DRAIN, *READS], **more)


def counter(id_, title, flags, gets=("readrandom",), **more):
    """Adds one to random counters, waits for the background work, reads everything (which folds the remaining
    operands), then reads random keys.

    The clock is not read for each operation, as in LevelDB's and RocksDB's own benchmarks: it costs 7 % of
    mergedb's time and 1 % of the others'.
    """
    def steps(change):
        return [change, DRAIN, "foldall", *gets]
    more.setdefault("engines", ["mergedb", "leveldb", "rocksdb", "rocksdb-update"])
    return Experiment(id_, title, ["--value_size=8", "--merge_operator=uint64add", "--latency=0", *flags], steps("mergerandom"),
                      benchmarks_of={id_: steps("updaterandom") for id_ in ("leveldb", "rocksdb-update", "lmdb")}, **more)


def transactions(records, num, **more):
    """LSMDB's own benchmark: synced transactions of `records` records, random and then in order; reads in every
    way, also beside a writer."""
    flags = [f"--num={num}", f"--reads={max(num, 100_000)}", f"--batch_size={records}", "--key_size=8", "--value_size=16", "--sync=1", *COMMON]
    more.setdefault("engines", ["mergedb", "leveldb", "lmdb"])
    return [Experiment(f"txn-{records}", f"synced transactions of {records}, random", flags,
                       ["appendsync", "filltxn", DRAIN, "readseq", "readtxn", "readtxnwhilewriting"], **more),
            Experiment(f"txn-{records}-seq", f"synced transactions of {records}, in order", flags, ["filltxnseq", DRAIN, "readseq"], **more)]


def ycsb(id_, title, threads, operations, scans, *more_flags, **more):
    """YCSB's core workloads on records of 1 KB: A, B, C, F and D after one load, as its guide says; E, the scans, after
    a load of its own. All threads together make the same number of operations in each experiment."""
    def flags(count):
        return ["--num=300000", "--value_size=1000", f"--writes={count // threads}", f"--threads={threads}", *more_flags, *COMMON]
    more.setdefault("engines", [*MAIN, "mergedb-calls"])
    return [Experiment(id_, title, flags(operations), ["ycsbload", DRAIN, "ycsba", "ycsbb", "ycsbc", "ycsbf", "ycsbd"], **more),
            Experiment(f"{id_}-scans", f"{title}, scans", flags(scans), ["ycsbload", DRAIN, "ycsbe"], **more)]


def ycsb_all():
    """With the distributions of the workloads and with a uniform one, by one and by four threads; each also with ten million
    operations, which take hours."""
    made = []
    for name, title, flags in [("", "", []), ("-uniform", ", uniform", ["--distribution=uniform"])]:
        for threads in (1, 4):
            suffix = name + ("" if threads == 1 else f"-{threads}")
            what = f"1 KB{title}, {threads} thread{'s' if threads > 1 else ''}"
            made += ycsb(f"ycsb{suffix}", f"YCSB, {what}", threads, 300_000, 100_000, *flags)
            made += ycsb(f"10m{suffix}", f"YCSB, 10 M operations, {what}", threads, 10_000_000, 1_000_000, *flags,
                         engines=["mergedb", "leveldb", "rocksdb", "lmdb", "mergedb-calls"], is_long=True, repeat_max=1)
    return made


def divided(experiment, divisor):
    """Returns the experiment with a `divisor`-th of the keys and operations, to see that it runs."""
    def smaller(flag):
        name, _, value = flag.partition("=")
        return f"{name}={max(100, int(value) // divisor)}" if name in ("--num", "--reads", "--writes") else flag
    return replace(experiment, flags=[smaller(flag) for flag in experiment.flags])


# The command line of the seed without the flag that RocksDB has removed. Its text says one thread; its figures
# are of ten.
SEED_COUNTERS = ["--disable_seek_compaction=1", "--mmap_read=0", "--statistics=1", "--block_size=65536", "--disable_wal=1",
                 "--stats_interval=1000000", "--max_background_compactions=20", "--level0_file_num_compaction_trigger=4",
                 "--level0_slowdown_writes_trigger=8", "--level0_stop_writes_trigger=12", "--num_levels=6",
                 "--delete_obsolete_files_period_micros=300000000", "--min_level_to_compress=2", "--stats_per_interval=1",
                 "--max_bytes_for_level_base=10485760", "--use_existing_db=0"]


def experiments(is_quick):
    return quick() if is_quick else full()


def quick():
    return [
        load("random-100", "100 B values, random", 100, 500_000, COMMON, 100_000, engines=MAIN),
        Experiment("random-1k-seed", "1 KB, MergeDB's flags", ["--num=120000", "--value_size=1024", "--reads=20000", *SEED],
                   ["fillrandom", DRAIN, "readrandom"], engines=MAIN),
        Experiment("random-4k-seed", "4 KB, MergeDB's flags",
                   ["--num=40000", "--value_size=4096", "--reads=20000", *SEED, "--write_buffer_size=2097152"],
                   ["fillrandom", DRAIN, "readrandom"], engines=[*LOG_STRUCTURED, "rocksdb-64m"]),
        Experiment("fresh-reads-100", "reads right after the load", ["--num=300000", "--value_size=100", "--reads=100000", *COMMON],
                   ["fillrandom", "readrandom"], engines=LOG_STRUCTURED),
        Experiment("random-1k-64k", "1 KB, 64 KB buffers, MergeDB's flags",
                   ["--num=30000", "--value_size=1024", *SEED, "--write_buffer_size=65536"], ["fillrandom", DRAIN],
                   engines=["mergedb", "leveldb"]),
        Experiment("sequential-100", "100 B values, in order", ["--num=1000000", "--value_size=100", *COMMON],
                   ["fillseq", DRAIN, "readseq"], engines=LOG_STRUCTURED),
        counter("counter-1m", "counters, 1 M of them", ["--num=1000000", "--writes=1000000", "--reads=100000", *COMMON]),
        Experiment("sync-1", "synced puts, 1 thread", ["--num=300", "--value_size=100", "--sync=1", *COMMON],
                   ["fillrandom"], engines=LOG_STRUCTURED),
        Experiment("openloop-100", "100 B puts, open loop at half of LevelDB's rate",
                   ["--num=10000000", "--value_size=100", "--duration=5", *COMMON], ["openloop"], engines=LOG_STRUCTURED,
                   rate_of="random-100", repeat_max=1),
        *transactions(1000, 200_000),
    ]


def full():
    list_ = []
    for value_size, name, small in [(100, "100", 3_000_000), (1024, "1k", 300_000), (4096, "4k", 75_000)]:
        large = LARGE * small
        user_bytes = large * (16 + value_size)
        list_.append(load(f"random-{name}", f"{name} B values, random", value_size, small, COMMON, 200_000))
        # Without LMDB: each of its random puts waits for a read if the file exceeds the memory, which takes
        # hours.
        list_.append(load(f"random-{name}-large", f"{name} B values, random, {LARGE} times as many, memory limited", value_size,
                          large, COMMON, 20_000, engines=LOG_STRUCTURED, memory_limit=max(512 << 20, user_bytes // 4), repeat_max=1))
        list_.append(Experiment(f"sequential-{name}", f"{name} B values, in order",
                                [f"--num={small}", f"--value_size={value_size}", *COMMON],
                                ["fillseq", DRAIN, "readseq", "readreverse"]))
    list_ += [
        Experiment("random-1k-seed", "1 KB, MergeDB's flags", ["--num=1000000", "--value_size=1024", "--reads=20000", *SEED],
                   ["fillrandom", DRAIN], cold_reads=20000),
        Experiment("random-4k-seed", "4 KB, MergeDB's flags",
                   ["--num=300000", "--value_size=4096", "--reads=20000", *SEED, "--write_buffer_size=2097152"],
                   ["fillrandom", DRAIN], cold_reads=20000, engines=[*MAIN, "rocksdb-64m", "mergedb-cascade"]),
        Experiment("fresh-reads-100", "reads right after the load", ["--num=1000000", "--value_size=100", "--reads=300000", *COMMON],
                   ["fillrandom", "readrandom"], engines=MAIN),
        Experiment("random-1k-64k", "1 KB, 64 KB buffers, MergeDB's flags",
                   ["--num=300000", "--value_size=1024", *SEED, "--write_buffer_size=65536"], ["fillrandom", DRAIN],
                   engines=["mergedb", "mergedb-cascade", "leveldb"]),
        Experiment("zipfian-100", "100 B values, zipfian overwrites",
                   ["--num=2000000", "--value_size=100", "--distribution=zipfian", *COMMON],
                   ["fillseq", "overwrite", DRAIN, "readrandom"], engines=MAIN),
        Experiment("deleterange-100", "10,000 range deletes of half of the keys",
                   ["--num=2000000", "--value_size=100", "--range_tombstone_width=100", "--max_num_range_tombstones=10000",
                    *COMMON],
                   ["fillseq", DRAIN, "deleterange", "readseq", "readrandom", DRAIN, "readseq", "readrandom"],
                   engines=["mergedb", "rocksdb", "rocksdb-universal"]),
        Experiment("beside-writes", "reads beside 20,000 writes a second",
                   ["--num=1000000", "--value_size=100", "--reads=300000", "--write_rate=20000", *COMMON],
                   ["fillrandom", DRAIN, "readwhilewriting", "seekrandomwhilewriting"], engines=MAIN),
        counter("counter-1m", "counters, 1 M of them, 1 thread", ["--num=1000000", "--writes=5000000", "--reads=300000", *COMMON]),
        counter("counter-1m-10", "counters, 1 M of them, 10 threads",
                ["--num=1000000", "--writes=500000", "--reads=30000", "--threads=10", *COMMON]),
        counter("counter-50m", "counters, 50 M of them, 1 thread", ["--num=50000000", "--writes=10000000", "--reads=300000", *COMMON], repeat_max=1),
        counter("counter-50m-10", "counters, 50 M of them, 10 threads",
                ["--num=50000000", "--writes=1000000", "--reads=30000", "--threads=10", *COMMON], repeat_max=1),
        counter("counter-seed", "counters without a log, MergeDB's flags, 1 thread", ["--num=5000000", "--threads=1", *SEED_COUNTERS],
                gets=(), engines=["mergedb", "rocksdb", "rocksdb-update"], repeat_max=2),
        counter("counter-seed-10", "counters without a log, MergeDB's flags, 10 threads",
                ["--num=2000000", "--threads=10", *SEED_COUNTERS],
                gets=(), engines=["mergedb", "rocksdb"], repeat_max=1),  # get and put: 50 us an update by one thread
        Experiment("openloop-100", "100 B puts, open loop at half of LevelDB's rate",
                   ["--num=20000000", "--value_size=100", "--duration=20", *COMMON], ["openloop"], engines=MAIN,
                   rate_of="random-100", repeat_max=2),
        Experiment("openloop-1k", "1 KB puts, open loop at half of LevelDB's rate",
                   ["--num=3000000", "--value_size=1024", "--duration=20", *COMMON], ["openloop"], engines=MAIN,
                   rate_of="random-1k", repeat_max=2),
        Experiment("openloop-1m", "100 B puts, open loop at a million a second",
                   ["--num=20000000", "--value_size=100", "--duration=40", "--rate=1000000", "--write_buffer_size=16777216",
                    *COMMON], ["openloop"], engines=["mergedb"], repeat_max=2),
    ]
    list_ += ycsb_all()
    for threads in (1, 4, 16):
        list_.append(Experiment(f"sync-{threads}", f"synced puts, {threads} threads",
                                [f"--num={max(500, 2000 // threads)}", "--value_size=100", "--sync=1",
                                 f"--threads={threads}", *COMMON], ["fillrandom"], engines=MAIN))
    for records, num in [(1, 2_000), (10, 20_000), (100, 200_000), (1000, 2_000_000)]:
        list_ += transactions(records, num)
    return list_


# The targets: (experiment, metric, peer, smallest ratio).
TARGETS = [
    ("random-100", "fillrandom + drain", "leveldb", 5), ("random-100", "fillrandom + drain", "rocksdb", 5),
    ("random-1k-seed", "fillrandom + drain", "leveldb", 6), ("random-1k-seed", "fillrandom + drain", "rocksdb", 2),
    ("random-4k-seed", "fillrandom + drain", "leveldb", 8), ("random-4k-seed", "fillrandom + drain", "rocksdb", 2),
    ("random-4k-seed", "fillrandom + drain", "rocksdb-64m", 1), ("random-1k-64k", "fillrandom + drain", "leveldb", 8),
    ("fresh-reads-100", "readrandom", "leveldb", 1), ("random-100", "readrandom", "leveldb", 1.3),
    ("fresh-reads-100", "readrandom", "rocksdb", 1), ("random-100", "readrandom", "rocksdb", 1.3),
    ("random-100", "readseq", "leveldb", 1), ("random-100", "readseq", "rocksdb", 1),
    ("random-1k-seed", "cold readrandom", "leveldb", 1), ("random-4k-seed", "cold readrandom", "leveldb", 1),
    ("beside-writes", "seekrandomwhilewriting", "leveldb", 1), ("beside-writes", "seekrandomwhilewriting", "rocksdb", 1),
    ("counter-1m", "change + drain + read", "leveldb", 10), ("counter-1m", "change + drain + read", "rocksdb", 8),
    ("counter-1m", "change + drain + read", "rocksdb-update", 12), ("counter-1m-10", "change + drain + read", "leveldb", 10),
    ("counter-1m-10", "change + drain + read", "rocksdb", 8), ("counter-1m-10", "change + drain + read", "rocksdb-update", 12),
    ("counter-50m", "change + drain + read", "leveldb", 10), ("counter-50m", "change + drain + read", "rocksdb", 8),
    ("counter-50m", "change + drain + read", "rocksdb-update", 12), ("counter-50m-10", "change + drain + read", "leveldb", 10),
    ("counter-50m-10", "change + drain + read", "rocksdb", 8), ("counter-50m-10", "change + drain + read", "rocksdb-update", 12),
    ("counter-seed", "change + drain + read", "rocksdb", 5), ("counter-seed-10", "change + drain + read", "rocksdb", 5),
    ("counter-1m", "readrandom", "leveldb", 1.5), ("counter-1m", "readrandom", "rocksdb", 1.5),
    ("txn-1000", "filltxn", "leveldb", 2), ("txn-1000", "filltxn", "lmdb", 8), ("txn-1000", "readseq", "lmdb", 0.8),
    ("txn-1000", "readtxn", "lmdb", 0.6),
    ("openloop-100", "put p99.99", "leveldb", 10), ("openloop-1k", "put p99.99", "leveldb", 10),
]

# The goals of the quick run, which has small sizes: they notice a regression. Each is about 0.7 of the ratio that a run of
# 26 November 2026 measured, and less where its repetitions differed more.
QUICK_TARGETS = [
    ("random-100", "fillrandom + drain", "leveldb", 1.7), ("random-100", "fillrandom + drain", "rocksdb", 2.2),
    ("random-100", "fillrandom + drain", "lmdb", 4), ("random-1k-seed", "fillrandom + drain", "leveldb", 2),
    ("random-1k-seed", "fillrandom + drain", "rocksdb", 1.3), ("random-4k-seed", "fillrandom + drain", "leveldb", 3.5),
    ("random-4k-seed", "fillrandom + drain", "rocksdb", 1.5), ("random-4k-seed", "fillrandom + drain", "rocksdb-64m", 0.8),
    ("random-1k-64k", "fillrandom + drain", "leveldb", 4), ("sequential-100", "fillseq + drain", "leveldb", 3),
    ("sequential-100", "fillseq + drain", "rocksdb", 5), ("fresh-reads-100", "readrandom", "leveldb", 0.5),
    ("fresh-reads-100", "readrandom", "rocksdb", 0.9), ("random-100", "readrandom", "leveldb", 1),
    ("random-100", "readrandom", "rocksdb", 1.3), ("random-100", "seekrandom", "leveldb", 0.35),
    ("random-100", "readseq", "leveldb", 0.9), ("random-100", "readseq", "rocksdb", 3.5),
    ("counter-1m", "change + drain + read", "leveldb", 6), ("counter-1m", "change + drain + read", "rocksdb", 6),
    ("counter-1m", "change + drain + read", "rocksdb-update", 10), ("counter-1m", "readrandom", "leveldb", 0.7),
    ("counter-1m", "readrandom", "rocksdb", 2), ("txn-1000", "filltxn", "leveldb", 1.5), ("txn-1000", "filltxn", "lmdb", 4),
    ("txn-1000", "readseq", "lmdb", 0.45), ("txn-1000", "readtxn", "lmdb", 0.5), ("openloop-100", "put p99.99", "leveldb", 1.5),
]


def targets(is_quick):
    return QUICK_TARGETS if is_quick else TARGETS
