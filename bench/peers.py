"""The newest RocksDB, as its users get it: the shared library inside the Java archive on Maven Central exports the
whole C interface. Fetched once into build/peers/, checked against the hash below; without a network the comparison
falls back to Debian's RocksDB 7.8 and says so.
"""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import urllib.request
import zipfile

VERSION = "11.8.1"
ARCHIVE = f"rocksdbjni-{VERSION}.jar"
ARCHIVE_SHA256 = "628ed387887f4a431df480857954df2a28b4389bfe24858ccdec611cabf65dbf"
ADDRESS = f"https://repo1.maven.org/maven2/org/rocksdb/rocksdbjni/{VERSION}/{ARCHIVE}"
MEMBERS = {"x86_64": "librocksdbjni-linux64.so", "aarch64": "librocksdbjni-linux-aarch64.so"}


def fetch_by_maven(folder):
    subprocess.run(["mvn", "-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy",
                    f"-Dartifact=org.rocksdb:rocksdbjni:{VERSION}", f"-DoutputDirectory={folder}"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300)


def fetch_by_http(folder):
    partial = os.path.join(folder, ARCHIVE + ".partial")
    with urllib.request.urlopen(ADDRESS, timeout=30) as source, open(partial, "wb") as target:
        shutil.copyfileobj(source, target)
    os.rename(partial, os.path.join(folder, ARCHIVE))


def is_the_archive(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest() == ARCHIVE_SHA256


def rocksdb_library(folder):
    """The path of the library, or None and why there is none."""
    member = MEMBERS.get(platform.machine())
    if not member:
        return None, f"RocksDB {VERSION} has no library for {platform.machine()}"
    library = os.path.join(folder, f"librocksdb-{VERSION}.so")
    if os.path.exists(library):
        return library, ""
    os.makedirs(folder, exist_ok=True)
    archive = os.path.join(folder, ARCHIVE)
    reasons = []
    for fetch in [fetch_by_maven, fetch_by_http] if shutil.which("mvn") else [fetch_by_http]:
        if os.path.exists(archive):
            break
        print(f"fetching RocksDB {VERSION} (92 MB, once) into {folder}", file=sys.stderr)
        try:
            fetch(folder)
        except (OSError, subprocess.SubprocessError) as error:
            reasons.append(str(error))
    if not os.path.exists(archive):
        return None, f"RocksDB {VERSION} could not be fetched: {'; '.join(reasons)}"
    if not is_the_archive(archive):
        os.remove(archive)
        return None, f"{ARCHIVE} is not the archive that was published: removed"
    with zipfile.ZipFile(archive) as jar, open(library + ".partial", "wb") as target:
        shutil.copyfileobj(jar.open(member), target)
    os.rename(library + ".partial", library)
    return library, ""
