#!/usr/bin/env python3
"""Checks that programs and shared libraries are hardened, with readelf: position-independent, all relocations
resolved and read-only before main, no executable stack, and calls to the functions of the compiler's checks."""

import re
import subprocess
import sys


def readelf(path, *flags):
    return subprocess.run(["readelf", "-W", *flags, path], capture_output=True, text=True, check=True).stdout


def faults(path):
    header, segments = readelf(path, "-h"), readelf(path, "-l")
    dynamic, symbols = readelf(path, "-d"), readelf(path, "--dyn-syms")
    stack = re.search(r"GNU_STACK.*", segments)
    checks = {
        "is not position-independent": "DYN" in re.search(r"Type:.*", header).group(),
        "has no read-only relocations (relro)": "GNU_RELRO" in segments,
        "resolves symbols lazily (no -z now)": re.search(r"BIND_NOW|FLAGS_1.*NOW", dynamic) is not None,
        "has an executable stack": stack is not None and "RWE" not in stack.group(),
        "has no stack protector": "__stack_chk_fail" in symbols,
        "has no fortified calls": re.search(r"__\w+_chk\b", symbols.replace("__stack_chk_fail", "")) is not None,
    }
    return [f"{path} {fault}" for fault, is_fine in checks.items() if not is_fine]


def main():
    found = [fault for path in sys.argv[1:] for fault in faults(path)]
    print("\n".join(found) if found else f"hardening: {len(sys.argv) - 1} files, no finding")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
