"""Rule T7: a source that is compiled with cmake/precompiled.h includes the standard headers that it uses.

Builds with tests precompile these headers (CMakeLists.txt), so g++ does not notice there that an #include is missing. The
release build would fail. The table holds the names that the sources use often. A header counts if the source or a header
of the project that it includes names it."""

import os
import re

FOLDERS = ("src", "bench", "testing")
HEADERS = {
    "algorithm": "all_of any_of binary_search clamp copy copy_n count_if equal equal_range fill fill_n find find_if "
                 "lower_bound max max_element min min_element nth_element none_of partition_point pop_heap push_heap remove_if "
                 "replace reverse sort stable_sort unique upper_bound",
    "array": "array",
    "atomic": "atomic atomic_ref atomic_thread_fence memory_order_acq_rel memory_order_acquire memory_order_relaxed "
              "memory_order_release",
    "bit": "bit_cast bit_ceil bit_floor bit_width countl_zero countr_zero endian has_single_bit popcount",
    "condition_variable": "condition_variable",
    "cstring": "memchr memcmp memcpy memmove memset strchr strcmp strlen strrchr",
    "deque": "deque",
    "functional": "function greater hash less ref reference_wrapper",
    "map": "map multimap",
    "memory": "enable_shared_from_this make_shared make_unique shared_ptr unique_ptr weak_ptr",
    "mutex": "call_once lock_guard mutex once_flag scoped_lock unique_lock",
    "new": "align_val_t bad_alloc nothrow",
    "optional": "make_optional nullopt optional",
    "set": "multiset set",
    "span": "as_bytes span",
    "string": "stoi stoul stoull string to_string",
    "string_view": "string_view",
    "unordered_map": "unordered_map",
    "utility": "exchange forward in_range make_pair move pair swap",
    "vector": "vector",
}
HEADER_OF = {name: header for header, names in HEADERS.items() for name in names.split()}
# Headers that declare the names of others too, in every library that mergedb is compiled with.
ALSO = {"algorithm": {"utility"}, "map": {"utility"}, "memory": {"utility"}, "set": {"utility"}, "string": {"string_view"},
        "unordered_map": {"utility"}}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.M)
NAME = re.compile(r"\bstd::(?:ranges::)?(\w+)")


def included(path, root, known):
    """Returns the standard headers that a file includes, also through headers of the project."""
    if path not in known:
        known[path] = set()  # ends a cycle
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            names = INCLUDE.findall(file.read())
        for name in names:
            inner = next((each for each in (f"src/{name}", f"include/{name}", name) if os.path.isfile(os.path.join(root, each))), None)
            known[path] |= included(inner, root, known) if inner else {name} | ALSO.get(name, set())
    return known[path]


def check(report, root, sources, read, code_only):
    known = {}
    for path in sources(*FOLDERS, endings=(".cc",)):
        missing = {}
        text = code_only(read(path))
        for match in NAME.finditer(text):
            header = HEADER_OF.get(match[1])
            if header and header not in missing and header not in included(path, root, known):
                missing[header] = match
        for header, match in missing.items():
            report.error("T7", path, text.count("\n", 0, match.start()) + 1, f"std::{match[1]} needs #include <{header}>")
