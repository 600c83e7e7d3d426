"""The peers that Debian does not have, in build/peers/.

The newest RocksDB has the form that its users get: the shared library in the Java archive rocksdbjni exports the
whole C interface. Maven downloads it once, and its hash is compared with the one below. Without Maven or a network,
the comparison uses Debian's RocksDB 7.8 and says so.

fjall and Pebble are built from bench/peers/ with cargo and go, and only if they are asked for by name.
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


SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers")
BUILT = ("fjall", "pebble")  # the engines that build() knows
TOOLS = {"fjall": ("cargo", "~/.cargo/bin"), "pebble": ("go", "/usr/local/go/bin")}  # and where they are if not in PATH


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


def build_command(engine, tool, folder):
    """Returns (command, path of the library that it makes)."""
    if engine == "fjall":
        target = os.path.join(folder, "fjall")
        return [tool, "build", "--release", "--locked", "--target-dir", target], os.path.join(target, "release", "libbench_fjall.so")
    library = os.path.join(folder, "libbench_pebble.so")
    return [tool, "build", "-buildmode=c-shared", "-trimpath", "-mod=readonly", "-o", library, "."], library


def build(engine, folder):
    """Builds fjall's or Pebble's library. Returns (its path, ""), or (None, the reason why it is missing)."""
    name, elsewhere = TOOLS[engine]
    tool = shutil.which(name) or shutil.which(name, path=os.path.expanduser(elsewhere))
    if not tool:
        return None, f"there is no {name}"
    os.makedirs(folder, exist_ok=True)
    command, library = build_command(engine, tool, folder)
    print(f"building {engine} in {folder} (the first time takes minutes and downloads its sources)", file=sys.stderr)
    try:
        done = subprocess.run(command, cwd=os.path.join(SOURCES, engine), text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=1800)
    except (OSError, subprocess.SubprocessError) as error:
        return None, str(error)
    if done.returncode == 0 and os.path.exists(library):
        return library, ""
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    return None, f"{name} build failed: " + next((line for line in lines if "error" in line), (lines or ["no message"])[-1])


def build_all(engines, folder):
    """Returns ({engine: path of its library}, [a sentence for each engine that is left out])."""
    libraries, notes = {}, []
    for engine in engines:
        library, why_not = build(engine, folder)
        if library:
            libraries[engine] = library
        else:
            notes.append(f"{engine} is left out: {why_not}")
    return libraries, notes
