package dev.mergedb.benchmarks.seed;

import dev.mergedb.versions.Occurred;
import dev.mergedb.versions.SeedEncoding;
import dev.mergedb.versions.VectorClock;
import dev.mergedb.versions.Versioned;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;

/** The version logic over an engine that stores one record under a key, with all versions of the key in it. */
abstract class RecordVersions extends VersionedEngine {
  private static final int LOCK_STRIPES = 100; // the seed's default

  private final Object[] locks = new Object[LOCK_STRIPES];

  RecordVersions() {
    Arrays.setAll(locks, i -> new Object());
  }

  /** The record of a key, or null. */
  abstract byte[] read(byte[] key) throws Exception;

  abstract void write(byte[] key, byte[] record) throws Exception;

  @Override
  final List<Versioned> get(byte[] key) throws Exception {
    byte[] record = read(key);
    return record == null ? new ArrayList<>(0) : SeedEncoding.decode(record);
  }

  @Override
  final boolean put(byte[] key, Versioned version) throws Exception {
    synchronized (locks[Math.floorMod(Arrays.hashCode(key), LOCK_STRIPES)]) {
      List<Versioned> versions = get(key);
      if (!supersede(versions, version.clock())) {
        return false;
      }
      versions.add(version);
      write(key, SeedEncoding.encode(versions));
      return true;
    }
  }

  /** Removes the versions that the clock supersedes. False: a version is as new or newer. */
  private static boolean supersede(List<Versioned> versions, VectorClock clock) {
    Iterator<Versioned> rest = versions.iterator();
    while (rest.hasNext()) {
      Occurred occurred = clock.compare(rest.next().clock());
      if (occurred == Occurred.BEFORE) {
        return false;
      }
      if (occurred == Occurred.AFTER) {
        rest.remove();
      }
    }
    return true;
  }
}
