package voldemort.store.mergedb;

import dev.mergedb.MergedbException;
import dev.mergedb.versions.ObsoleteVersionException;
import dev.mergedb.versions.VectorClock;
import dev.mergedb.versions.VersionFormatException;
import dev.mergedb.versions.Versioned;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import voldemort.store.PersistenceFailureException;
import voldemort.versioning.Version;

/** Voldemort's clocks, versions and exceptions, and those of dev.mergedb.versions. */
final class Translation {
  private Translation() {}

  static VectorClock clock(Version version) {
    if (!(version instanceof voldemort.versioning.VectorClock clock)) {
      throw new IllegalArgumentException("expected a version that is a vector clock, found " + version);
    }
    return VectorClock.of(clock.getVersionMap(), clock.getTimestamp());
  }

  static voldemort.versioning.VectorClock clock(VectorClock clock) {
    voldemort.versioning.VectorClock theirs = new voldemort.versioning.VectorClock(clock.timestamp());
    for (Map.Entry<Short, Long> entry : clock.entries().entrySet()) {
      theirs.getVersionMap().put(entry.getKey(), entry.getValue());
    }
    return theirs;
  }

  static Versioned versioned(voldemort.versioning.Versioned<byte[]> version) {
    return new Versioned(version.getValue(), clock(version.getVersion()));
  }

  static voldemort.versioning.Versioned<byte[]> versioned(Versioned version) {
    return new voldemort.versioning.Versioned<>(version.value(), clock(version.clock()));
  }

  static List<Versioned> ours(List<voldemort.versioning.Versioned<byte[]>> versions) {
    List<Versioned> ours = new ArrayList<>(versions.size());
    versions.forEach(version -> ours.add(versioned(version)));
    return ours;
  }

  static List<voldemort.versioning.Versioned<byte[]>> theirs(List<Versioned> versions) {
    List<voldemort.versioning.Versioned<byte[]>> theirs = new ArrayList<>(versions.size());
    versions.forEach(version -> theirs.add(versioned(version)));
    return theirs;
  }

  /** Runs a call and throws Voldemort's exceptions instead of ours. */
  static <T> T call(Supplier<T> body) {
    try {
      return body.get();
    } catch (ObsoleteVersionException e) {
      throw new voldemort.versioning.ObsoleteVersionException(e.getMessage(), e);
    } catch (MergedbException | VersionFormatException e) {
      throw new PersistenceFailureException(e.getMessage(), e);
    }
  }
}
