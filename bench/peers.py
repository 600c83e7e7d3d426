"""The newest RocksDB in the form that its users get: the shared library in the Java archive rocksdbjni exports
the whole C interface. Maven downloads it once into build/peers/, and its hash is compared with the one below.
Without Maven or a network, the comparison uses Debian's RocksDB 7.8 and says so.
"""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import zipfile

VERSION = "11.8.1"
ARCHIVE = f"rocksdbjni-{VERSION}.jar"
ARCHIVE_SHA256 = "628ed387887f4a431df480857954df2a28b4389bfe24858ccdec611cabf65dbf"
MEMBERS = {"x86_64": "librocksdbjni-linux64.so", "aarch64": "librocksdbjni-linux-aarch64.so"}


def fetch(folder):
    """Downloads the archive into `folder`. Returns None, or the reason why it is missing."""
    if not shutil.which("mvn"):
        return f"there is no mvn (Debian: maven); or put {ARCHIVE} into {folder}"
    print(f"fetching RocksDB {VERSION} (92 MB, once) into {folder}", file=sys.stderr)
    try:
        done = subprocess.run(["mvn", "-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy",
                               f"-Dartifact=org.rocksdb:rocksdbjni:{VERSION}", f"-DoutputDirectory={folder}"],
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    if done.returncode == 0 and os.path.exists(os.path.join(folder, ARCHIVE)):
        return None
    lines = [line for line in done.stdout.splitlines() if line.startswith("[ERROR]")] or ["mvn brought no archive"]
    return lines[0]


def is_the_archive(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest() == ARCHIVE_SHA256


def rocksdb_library(folder):
    """Returns (path of the library, ""), or (None, the reason why it is missing)."""
    member = MEMBERS.get(platform.machine())
    if not member:
        return None, f"RocksDB {VERSION} has no library for {platform.machine()}"
    library = os.path.join(folder, f"librocksdb-{VERSION}.so")
    if os.path.exists(library):
        return library, ""
    os.makedirs(folder, exist_ok=True)
    archive = os.path.join(folder, ARCHIVE)
    if not os.path.exists(archive) and (reason := fetch(folder)):
        return None, f"RocksDB {VERSION} could not be fetched: {reason}"
    if not is_the_archive(archive):
        os.remove(archive)
        return None, f"{ARCHIVE} is not the archive that was published: removed"
    with zipfile.ZipFile(archive) as jar, open(library + ".partial", "wb") as target:
        shutil.copyfileobj(jar.open(member), target)
    os.rename(library + ".partial", library)
    return library, ""
