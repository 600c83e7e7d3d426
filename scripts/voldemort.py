#!/usr/bin/env python3
"""mergedb under Voldemort 1.10.26: build it, test the engine, try a node, compare its speed with BDB and RocksDB.

  ./dev voldemort DIR                 every step
  ./dev voldemort DIR --steps build,test,node
  ./dev voldemort DIR --steps bench --entries 3000000 --through engine,node

DIR is a source checkout of Voldemort 1.10.26, or a directory of jars: Voldemort's, those of its tests and
performance tool, and their dependencies. Nothing of Voldemort is part of this repository. All outputs go to
DIR/build-mergedb and build/voldemort. docs/voldemort.md explains the steps.
"""

import argparse
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import xml.etree.ElementTree
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OUT = os.path.join(ROOT, "build", "voldemort")
JAVA = os.path.join(ROOT, "java")
STEPS = ("build", "test", "node", "bench")

# The dependencies of Voldemort's server, tests and performance tool, in the versions of its build.gradle.
# Exceptions, because the originals are in no public registry: log4j 1.2.17 for 1.2.15, libthrift 0.6.1 for
# 0.5.0.0, je 5.0.73 for 5.0.104, hadoop-common 2.3.0 for Cloudera's.
JARS = """
  org.apache.avro:avro:1.4.0 commons-codec:commons-codec:1.4 commons-dbcp:commons-dbcp:1.2.2 commons-pool:commons-pool:1.5.2 commons-io:commons-io:2.1
  commons-lang:commons-lang:2.4 commons-logging:commons-logging:1.1.1 commons-collections:commons-collections:3.2.1 com.ning:compress-lzf:0.9.1
  com.google.guava:guava:14.0.1 org.apache.httpcomponents:httpclient:4.1.2 org.apache.httpcomponents:httpcore:4.1.2
  org.codehaus.jackson:jackson-mapper-asl:1.9.13 org.codehaus.jackson:jackson-core-asl:1.9.13 org.jdom:jdom:1.1 org.mortbay.jetty:jetty-util:6.1.18
  org.mortbay.jetty:jetty:6.1.18 jline:jline:0.9.94 net.java.dev.jna:jna:3.2.7 joda-time:joda-time:1.6 net.sf.jopt-simple:jopt-simple:4.6
  log4j:log4j:1.2.17 javax.mail:mail:1.4.1 io.netty:netty:3.5.8.Final com.google.protobuf:protobuf-java:2.3.0 javax.servlet:servlet-api:2.5
  org.slf4j:slf4j-api:1.5.6 org.slf4j:slf4j-log4j12:1.5.6 org.iq80.snappy:snappy:0.2 org.apache.velocity:velocity:1.6.2 com.sleepycat:je:5.0.73
  colt:colt:1.2.0 concurrent:concurrent:1.3.4 junit:junit:4.6 org.mockito:mockito-all:1.8.5 org.apache.hadoop:hadoop-common:2.3.0 io.tehuti:tehuti:0.7.0
  org.apache.thrift:libthrift:0.6.1 org.rocksdb:rocksdbjni:3.13.1 org.bouncycastle:bcprov-jdk15on:1.48 com.thoughtworks.paranamer:paranamer:2.2
""".split()
DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"

# Replaces a class that uses the cleaner of JDK 8: unmaps a mapped buffer.
BYTE_BUFFER_CLOSER = """
package voldemort.store.readonly.io;

public class ByteBufferCloser implements java.io.Closeable {
  private final java.nio.ByteBuffer buffer;

  public ByteBufferCloser(java.nio.ByteBuffer buffer) {
    this.buffer = buffer;
  }

  @Override
  public void close() throws java.io.IOException {
    try {
      java.lang.reflect.Field unsafe = Class.forName("sun.misc.Unsafe").getDeclaredField("theUnsafe");
      unsafe.setAccessible(true);
      unsafe.getType().getMethod("invokeCleaner", java.nio.ByteBuffer.class).invoke(unsafe.get(null), buffer);
    } catch (ReflectiveOperationException e) {
      throw new java.io.IOException(e);
    }
  }
}
"""

# Voldemort's test classes for an engine and the number of tests in each. A smaller number means that tests were
# not found.
ENGINE_TESTS = {
    "voldemort.store.mergedb.MergedbStorageEngineTest": 19 + 2,
    "voldemort.store.mergedb.MergedbPlainEngineTest": 19 + 2,
    "voldemort.store.leveldb.LevelDBStorageEngineTest": 19 + 2,
}


def fail(text):
    sys.exit(f"voldemort: {text}")


def say(text):
    print(f"\n== {text}", flush=True)


def run(command, log=None, **options):
    """Runs a command and waits. A failure ends the program and prints the end of the command's output."""
    if log:
        with open(log, "w", encoding="utf-8") as file:
            status = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, check=False, **options).returncode
    else:
        status = subprocess.run(command, check=False, **options).returncode
    if status:
        if log:
            with open(log, encoding="utf-8", errors="replace") as file:
                sys.stderr.write("".join(file.readlines()[-40:]))
        fail(f"{' '.join(command[:4])} ... failed with status {status}" + (f"; all it printed: {log}" if log else ""))


# ---- build ------------------------------------------------------------------------------------------------------------


def dependencies_pom():
    def element(coordinate):
        group, artifact, version = coordinate.split(":")
        return (f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>"
                "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions></dependency>")
    return ('<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>dev.mergedb</groupId>'
            "<artifactId>voldemort-dependencies</artifactId><version>1</version><packaging>pom</packaging><dependencies>"
            + "".join(map(element, JARS)) + "</dependencies></project>\n")


def fetch_jars(build):
    lib = os.path.join(build, "lib")
    if len(glob.glob(os.path.join(lib, "*.jar"))) == len(JARS):
        return lib
    say(f"Voldemort's {len(JARS)} dependencies, by Maven, to {lib}")
    pom = os.path.join(build, "pom.xml")
    with open(pom, "w", encoding="utf-8") as file:
        file.write(dependencies_pom())
    run(["mvn", "-B", "-q", "-f", pom, DEPENDENCY_PLUGIN + ":copy-dependencies", f"-DoutputDirectory={lib}"], os.path.join(build, "jars.log"))
    if len(glob.glob(os.path.join(lib, "*.jar"))) != len(JARS):
        fail(f"{lib}: expected {len(JARS)} jars; delete the directory and run again")
    return lib


def patched_sources(source, build):
    """Returns the server's sources. Two of them are replaced, so that they compile with JDK 17 and the je of
    the public registry."""
    closer = "voldemort/store/readonly/io/ByteBufferCloser.java"
    bdb = "voldemort/store/bdb/BdbStorageConfiguration.java"
    with open(os.path.join(source, bdb), encoding="utf-8") as file:
        text = file.read()
    # je 5.0.73 does not have this setting.
    text, count = re.subn(r"environmentConfig\.setConfigParam\(EnvironmentConfig\.CLEANER_ADJUST_UTILIZATION,.*?;", "", text, flags=re.DOTALL)
    if count != 1:
        fail(f"{source}/{bdb}: expected one use of CLEANER_ADJUST_UTILIZATION, found {count}; is this Voldemort 1.10.26?")
    patched = {closer: BYTE_BUFFER_CLOSER, bdb: text}
    sources = [path for path in glob.glob(os.path.join(source, "**", "*.java"), recursive=True) if os.path.relpath(path, source) not in patched]
    for name, content in patched.items():
        path = os.path.join(build, "patched", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
        sources.append(path)
    return sources


def compile_java(build, name, sources, classpath, resources, options=()):
    """Compiles into a jar of the build directory, which also gets the resource files beside the sources."""
    classes = os.path.join(build, name)
    shutil.rmtree(classes, ignore_errors=True)
    os.makedirs(classes)
    arguments = os.path.join(build, name + ".args")
    with open(arguments, "w", encoding="utf-8") as file:
        file.write("\n".join(f'"{path}"' for path in sources))
    run(["javac", "-J-Xmx1g", "--release", "8", "-nowarn", "-Xlint:-options", "-proc:none", "-encoding", "UTF-8", "-d", classes,
         "-cp", os.pathsep.join(classpath), *options, "@" + arguments], os.path.join(build, name + ".log"))
    jar = os.path.join(build, name + ".jar")
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for folder in [classes, *resources]:
            for path in sorted(glob.glob(os.path.join(folder, "**", "*"), recursive=True)):
                if os.path.isfile(path) and not path.endswith((".java", ".html")):
                    archive.write(path, os.path.relpath(path, folder))
    return jar


def build_voldemort(directory, build):
    """Returns the jars: Voldemort's, those of its tests, and the dependencies."""
    source = os.path.join(directory, "src", "java")
    if not os.path.isdir(source):
        jars = sorted(path for path in glob.glob(os.path.join(directory, "**", "*.jar"), recursive=True) if not path.startswith(build))
        if not jars:
            fail(f"{directory}: expected src/java of Voldemort 1.10.26, or jars; found neither")
        return jars
    jars = [os.path.join(build, "voldemort.jar"), os.path.join(build, "voldemort-tests.jar")]
    lib = sorted(glob.glob(os.path.join(fetch_jars(build), "*.jar")))
    if not os.path.exists(jars[0]):
        say("Voldemort's server")
        jars[0] = compile_java(build, "voldemort", patched_sources(source, build), lib, [source])
    if not os.path.exists(jars[1]):
        say("Voldemort's engine tests and performance tool")
        tests = [os.path.join(directory, "test", part) for part in ("common", "unit", "integration")]
        # The compiler adds the other test classes that these two need.
        wanted = ["unit/voldemort/store/AbstractStorageEngineTest.java", "unit/voldemort/store/rocksdb/RocksdbStorageEngineTest.java"]
        sources = [os.path.join(directory, "test", path) for path in wanted]
        sources += glob.glob(os.path.join(directory, "test", "integration", "voldemort", "performance", "benchmark", "*.java"))
        jars[1] = compile_java(build, "voldemort-tests", sources, [jars[0], *lib], tests[:2], ["-sourcepath", os.pathsep.join(tests)])
    return jars + lib


def classpath_jar(build, jars):
    """Makes an empty jar whose manifest names the jars, because Maven's system scope takes one file."""
    text = "Manifest-Version: 1.0\r\n"
    line = "Class-Path: " + " ".join(os.path.relpath(jar, build) for jar in jars)
    while line:  # a line of a manifest has at most 72 bytes
        text += line[:70] + "\r\n"
        line = " " + line[70:] if len(line) > 70 else ""
    path = os.path.join(build, "voldemort-classpath.jar")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", text + "\r\n")
    return path


# ---- the engine -------------------------------------------------------------------------------------------------------


def maven(directory, jni, *arguments):
    return ["mvn", "-B", "-q", "-f", JAVA, f"-Dvoldemort.dir={directory}", f"-Dmergedb.jni={jni}",
            "-pl", "mergedb-java,mergedb-versions,mergedb-voldemort", *arguments]


def compile_engine(directory, jni):
    say("The engine: java/mergedb-voldemort/target")
    run(maven(directory, jni, "package", "-DskipTests"), os.path.join(OUT, "compile.log"))


def test_engine(directory, jni):
    say("Voldemort's engine tests on the engine, and its own")
    reports = os.path.join(JAVA, "mergedb-voldemort", "target", "surefire-reports")
    shutil.rmtree(reports, ignore_errors=True)
    run(maven(directory, jni, "test", "-Dtest=voldemort.**.*Test", "-Dsurefire.failIfNoSpecifiedTests=false"), os.path.join(OUT, "test.log"))
    for name, expected in ENGINE_TESTS.items():
        suite = xml.etree.ElementTree.parse(os.path.join(reports, f"TEST-{name}.xml")).getroot()
        found = {key: int(suite.get(key)) for key in ("tests", "errors", "failures", "skipped")}
        print(f"{name}: {found['tests']} tests")
        if found != {"tests": expected, "errors": 0, "failures": 0, "skipped": 0}:
            fail(f"{name}: expected {expected} tests that pass, found {found}")


def java_command(classpath, jni, heap_mb, *arguments):
    return ["java", f"-Xmx{heap_mb}m", f"-Dmergedb.library.path={jni}", f"-Dlog4j.configuration=file:{OUT}/log4j.properties",
            "-cp", os.pathsep.join(classpath), *arguments]


def engine_classpath(jar):
    modules = ("mergedb-voldemort", "mergedb-versions", "mergedb-java")
    return [os.path.join(JAVA, "mergedb-voldemort", "target", "test-classes"), *[os.path.join(JAVA, name, "target", "classes") for name in modules], jar]


# ---- a node -----------------------------------------------------------------------------------------------------------

CLUSTER = """<cluster><name>mergedb</name><server><id>0</id><host>localhost</host><http-port>{http}</http-port><socket-port>{socket}</socket-port>
<admin-port>{admin}</admin-port><partitions>0, 1, 2, 3</partitions></server></cluster>
"""
STORE = """<store><name>{name}</name><persistence>{type}</persistence><routing>client</routing><replication-factor>1</replication-factor>
<required-reads>1</required-reads><required-writes>1</required-writes><key-serializer><type>string</type></key-serializer>
<value-serializer><type>string</type></value-serializer></store>
"""
CONFIGURATIONS = {
    "mergedb": "voldemort.store.mergedb.MergedbStorageConfiguration",
    "leveldb": "voldemort.store.leveldb.LevelDBStorageConfiguration",
    "bdb": "voldemort.store.bdb.BdbStorageConfiguration",
    "rocksdb": "voldemort.store.rocksdb.RocksDbStorageConfiguration",
}
LOG4J = """log4j.rootLogger=WARN, out
log4j.logger.voldemort.store.mergedb=INFO
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.target=System.err
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%p %c %m%n
"""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def server_properties(cache_mb, engines):
    """Returns the properties of a server: one cache size for every engine, under each engine's own names."""
    cache = cache_mb << 20
    return "\n".join([
        "node.id=0", "max.threads=50", "http.enable=false", "socket.enable=true", "enable.nio.connector=true", "request.format=vp3", "jmx.enable=false",
        "enable.repair=false", "scheduler.threads=1", "slop.enable=false", "enable.quota.limiting=false",
        "storage.configs=" + ", ".join(CONFIGURATIONS[engine] for engine in engines),
        f"mergedb.lrublockcache={cache_mb}", "mergedb.writebuffer.size=20",
        f"bdb.cache.size={cache}", "bdb.one.env.per.store=false", "bdb.checkpoint.interval.ms=30000",
        "rocksdb.cf.options.write_buffer_size=20971520",
        "rocksdb.cf.options.block_based_table_factory={block_cache=%d;block_size=4096;filter_policy=bloomfilter:10:false}" % cache]) + "\n"


class Node:
    """A node of Voldemort in its own process."""

    def __init__(self, home, classpath, jni, heap_mb, engines, cache_mb=64):
        self.home, self.classpath, self.jni, self.heap_mb = home, classpath, jni, heap_mb
        self.process, self.log = None, os.path.join(home, "node.log")
        config = os.path.join(home, "config")
        os.makedirs(config)
        http, self.port, admin = free_ports(3)
        files = {
            "cluster.xml": CLUSTER.format(http=http, socket=self.port, admin=admin),
            "stores.xml": "<stores>" + "".join(STORE.format(name=engine, type=engine) for engine in engines) + "</stores>",
            "server.properties": server_properties(cache_mb, engines),
        }
        for name, text in files.items():
            with open(os.path.join(config, name), "w", encoding="utf-8") as file:
                file.write(text)

    @property
    def url(self):
        return f"tcp://localhost:{self.port}"

    def start(self):
        with open(self.log, "a", encoding="utf-8") as log:
            command = java_command(self.classpath, self.jni, self.heap_mb, "voldemort.server.VoldemortServer", self.home)
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        for _ in range(600):
            if self.process.poll() is not None:
                fail(f"the node ended with status {self.process.returncode}; its log: {self.log}")
            try:
                socket.create_connection(("localhost", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.1)
        fail(f"the node does not listen on port {self.port} after a minute; its log: {self.log}")

    def stop(self, by=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            self.process.send_signal(by)
            self.process.wait(60)


def try_node(classpath, jni):
    say("A node: put, get, delete through its client; kill -9; a clean stop; everything is there")
    home = os.path.join(OUT, "node")
    shutil.rmtree(home, ignore_errors=True)
    node = Node(home, classpath, jni, 256, ["mergedb", "leveldb"])

    def client(*arguments):
        run(java_command(classpath, jni, 128, "voldemort.store.mergedb.NodeClient", node.url, *arguments))
    try:
        node.start()
        for store in ("mergedb", "leveldb"):
            client(store, "write", "300")
        node.stop(signal.SIGKILL)
        node.start()
        for store in ("mergedb", "leveldb"):
            client(store, "check", "300")
        node.stop()
        node.start()
        for store in ("mergedb", "leveldb"):
            client(store, "check", "300")
    finally:
        node.stop(signal.SIGKILL)


# ---- the performance tool ---------------------------------------------------------------------------------------------

FIGURE = re.compile(r"\[(warmup|benchmark)\]\s+Throughput\(ops/sec\): ([0-9.]+)")


def tool(classpath, jni, heap_mb, log, args, arguments):
    """Runs Voldemort's performance tool; returns its two throughputs. Counts the successful operations, because
    the tool continues after failed ones."""
    run(java_command(classpath, jni, heap_mb, *arguments), log)
    with open(log, encoding="utf-8", errors="replace") as file:
        text = file.read()
    figures = {name: float(value) for name, value in FIGURE.findall(text)}
    if set(figures) != {"warmup", "benchmark"}:
        fail(f"the performance tool printed no throughput; all it printed: {log}")
    done = sum(int(count) for count in re.findall(r"Return: Ok\s+(\d+)", text))
    if done != args.operations:
        fail(f"expected {args.operations} operations that succeed, found {done}; all that the performance tool printed: {log}")
    return figures


def disk_bytes(directory):
    return sum(os.stat(os.path.join(folder, name)).st_blocks * 512 for folder, _, names in os.walk(directory) for name in names)


def measure(args, classpath, jni, engine, value_bytes, cache_mb, through_node):
    """Measures one engine in one scenario: load, then the reads."""
    home = os.path.join(OUT, "bench")
    shutil.rmtree(home, ignore_errors=True)
    os.makedirs(home)
    heap_mb = args.heap or cache_mb + 192
    workload = ["--record-count", str(args.entries), "--ops-count", str(args.operations), "--r", str(args.reads), "--w", str(100 - args.reads),
                "--threads", str(args.threads), "--plugin-class", "voldemort.store.mergedb.SeedWorkload", "--v"]
    if args.reads == 100:
        workload.append("--verify")  # the value of each key is known
    options = [f"-Dseedworkload.entries={args.entries}", f"-Dseedworkload.value.bytes={value_bytes}", "voldemort.performance.benchmark.Benchmark"]
    log = os.path.join(OUT, f"bench-{engine}-{value_bytes}-{cache_mb}{'-node' if through_node else ''}.log")
    node = None
    try:
        if through_node:
            node = Node(os.path.join(home, "node"), classpath, jni, heap_mb, [engine], cache_mb)
            node.start()
            figures = tool(classpath, jni, 256, log, args, [*options, "--url", node.url, "--store-name", engine, *workload])
            node.stop()
        else:
            properties = os.path.join(home, "server.properties")
            data = os.path.join(home, "data")
            with open(properties, "w", encoding="utf-8") as file:
                file.write(server_properties(cache_mb, [engine]) + f"data.directory={data}\nrocksdb.data.dir={data}/rocksdb\nbdb.data.directory={data}/bdb\n")
            figures = tool(classpath, jni, heap_mb, log, args, [*options, "--storage-configuration-class", CONFIGURATIONS[engine],
                                                         "--local-server-properties", properties, "--keyType", "string", *workload])
        return {"engine": engine, "value_bytes": value_bytes, "cache_mb": cache_mb, "heap_mb": heap_mb, "through_node": through_node,
                "entries": args.entries, "load": figures["warmup"], "operations": figures["benchmark"], "disk_bytes": disk_bytes(home)}
    finally:
        if node:
            node.stop(signal.SIGKILL)
        shutil.rmtree(home, ignore_errors=True)


def table(rows, engines):
    lines = ["| value | cache | through | figure | " + " | ".join(engines) + " | to bdb | to rocksdb |", "| --- " * (6 + len(engines)) + "|"]
    scenarios = sorted({(row["through_node"], row["value_bytes"], row["cache_mb"]) for row in rows})
    for through, value, cache in scenarios:
        of = {row["engine"]: row for row in rows if (row["through_node"], row["value_bytes"], row["cache_mb"]) == (through, value, cache)}
        for figure, unit in (("load", "load, op/s"), ("operations", "then, op/s"), ("disk_bytes", "disk, MB")):
            cells = {name: row[figure] / (1e6 if figure == "disk_bytes" else 1) for name, row in of.items()}
            ratio = [f"{cells['mergedb'] / cells[peer]:.2f}" if {"mergedb", peer} <= set(cells) and cells[peer] else "-" for peer in ("bdb", "rocksdb")]
            lines.append(f"| {value} B | {cache} MB | {'node' if through else 'engine'} | {unit} | "
                         + " | ".join(f"{cells[name]:,.0f}" if name in cells else "-" for name in engines) + " | " + " | ".join(ratio) + " |")
    return "\n".join(lines) + "\n"


def bench(args, classpath, jni):
    entry_bytes = 60  # key, clock and the engine's overhead
    rows = []
    for through_node in [name == "node" for name in args.through]:
        for value_bytes in args.values:
            data_mb = args.entries * (value_bytes + entry_bytes) / (1 << 20)
            caches = [args.cache] if args.cache else [max(4, round(data_mb / 2)), max(8, round(data_mb * 2))]
            for cache_mb in caches:
                for engine in args.engines:
                    say(f"{engine}: {args.entries:,} entries of {value_bytes} B, {data_mb:.0f} MB; cache {cache_mb} MB; "
                        f"{'through a node' if through_node else 'the engine alone'}")
                    rows.append(measure(args, classpath, jni, engine, value_bytes, cache_mb, through_node))
                    print(f"load {rows[-1]['load']:,.0f} op/s, then {rows[-1]['operations']:,.0f} op/s, disk {rows[-1]['disk_bytes'] / 1e6:,.0f} MB", flush=True)
    with open(os.path.join(OUT, "report.json"), "w", encoding="utf-8") as file:
        json.dump({"arguments": vars(args), "rows": rows}, file, indent=1)
    text = table(rows, args.engines)
    with open(os.path.join(OUT, "report.md"), "w", encoding="utf-8") as file:
        file.write(text)
    say(f"{args.entries:,} entries, {args.operations:,} operations, {args.reads} % of them reads, {args.threads} threads: build/voldemort/report.md")
    print(text)


def parse():
    parser = argparse.ArgumentParser(prog="./dev voldemort", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", metavar="DIR", help="a checkout of Voldemort 1.10.26, or a directory of jars")
    parser.add_argument("--steps", default=",".join(STEPS), help="of build, test, node, bench; build is always done (default: all)")
    parser.add_argument("--jni", default=os.path.join(ROOT, "build", "jni", "libmergedb_jni.so"), help="the native library (default: build/jni/libmergedb_jni.so)")
    parser.add_argument("--rebuild", action="store_true", help="compile Voldemort again")
    group = parser.add_argument_group("bench")
    group.add_argument("--entries", type=int, default=100_000, help="entries loaded before the measurement (default 100,000)")
    group.add_argument("--operations", type=int, default=100_000, help="measured operations (default 100,000)")
    group.add_argument("--values", type=lambda text: [int(word) for word in text.split(",")], default=[80, 1024], metavar="BYTES,...", help="default 80,1024")
    group.add_argument("--cache", type=int, help="MB; default: half the data, then twice the data")
    group.add_argument("--heap", type=int, help="MB, of every JVM that holds an engine; default: the cache and 192 MB, since BDB's cache is on the heap")
    group.add_argument("--reads", type=int, default=100, help="percent of the measured operations; the others are writes (default 100)")
    group.add_argument("--threads", type=int, default=8)
    group.add_argument("--engines", type=lambda text: text.split(","), default=["mergedb", "bdb", "rocksdb"], metavar="NAME,...")
    group.add_argument("--through", type=lambda text: text.split(","), default=["engine"], metavar="NAME,...",
                       help="engine: the engine alone in the tool's process; node: a node and its client (default engine)")
    args = parser.parse_args()
    args.steps = args.steps.split(",")
    for step in args.steps:
        if step not in STEPS:
            parser.error(f"--steps: expected some of {', '.join(STEPS)}; found {step}")
    for name in args.through:
        if name not in ("engine", "node"):
            parser.error(f"--through: expected engine, node or both; found {name}")
    for engine in args.engines:
        if engine not in CONFIGURATIONS:
            parser.error(f"--engines: expected some of {', '.join(CONFIGURATIONS)}; found {engine}")
    return args


def main():
    args = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that a running node is stopped
    directory = os.path.abspath(args.directory)
    jni = os.path.abspath(args.jni)
    for program, package in (("javac", "openjdk-17-jdk-headless"), ("mvn", "maven")):
        if not shutil.which(program):
            fail(f"{program} is not installed; as root: apt-get install {package}")
    if not os.path.isdir(directory):
        fail(f"{directory}: no such directory; get Voldemort 1.10.26 with git clone, and give its directory")
    if not os.path.exists(jni):
        fail(f"{jni}: not there; build it: ./dev build java")
    build = os.path.join(directory, "build-mergedb")
    if args.rebuild:
        shutil.rmtree(build, ignore_errors=True)
    os.makedirs(build, exist_ok=True)
    os.makedirs(OUT, exist_ok=True)
    with open(os.path.join(OUT, "log4j.properties"), "w", encoding="utf-8") as file:
        file.write(LOG4J)
    jar = classpath_jar(build, build_voldemort(directory, build))
    compile_engine(directory, jni)
    classpath = engine_classpath(jar)
    if "test" in args.steps:
        test_engine(directory, jni)
    if "node" in args.steps:
        try_node(classpath, jni)
    if "bench" in args.steps:
        bench(args, classpath, jni)


if __name__ == "__main__":
    main()
