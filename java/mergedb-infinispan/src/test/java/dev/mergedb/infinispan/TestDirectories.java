package dev.mergedb.infinispan;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Empty directories for tests, below the build's own. A test removes what it has made. */
final class TestDirectories {
  private TestDirectories() {}

  static Path make(String name) {
    try {
      return Files.createTempDirectory(Files.createDirectories(Path.of(System.getProperty("mergedb.test.directory"))
          .toAbsolutePath()), name + "-");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
