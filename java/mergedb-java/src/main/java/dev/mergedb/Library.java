package dev.mergedb;

import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Set;

/**
 * Finds and loads the native library: the file that -Dmergedb.library.path names, or the one in the jar, which is
 * copied to a file whose name holds its SHA-256, in a directory that only its owner may use.
 *
 * <p>The file is written under another name and renamed when it is whole and durable, so several processes may start
 * at once. A file that is there already is compared with the one in the jar, byte by byte, before it is loaded.
 */
final class Library {
  static final String PATH_PROPERTY = "mergedb.library.path";

  private static final String FILE = "libmergedb_jni.so";
  private static final Set<PosixFilePermission> OWNER_ONLY = PosixFilePermissions.fromString("rwx------");

  private Library() {}

  static void load() {
    String path = System.getProperty(PATH_PROPERTY);
    if (path != null && !path.isEmpty()) {
      System.load(Path.of(path).toAbsolutePath().toString());
      return;
    }
    byte[] library = fromJar(platform());
    Path directory = directory();
    try {
      loadFile(extract(library, directory));
    } catch (IOException e) {
      throw failure(
          "the native library could not be written to " + directory + ": " + e
              + "; set another directory with -Djava.io.tmpdir, or a library with -D" + PATH_PROPERTY, e);
    }
  }

  private static UnsatisfiedLinkError failure(String message, Throwable cause) {
    UnsatisfiedLinkError error = new UnsatisfiedLinkError("mergedb: " + message);
    error.initCause(cause);
    return error;
  }

  /** Such as linux-x86_64: a folder of META-INF/native. */
  static String platform() {
    String system = System.getProperty("os.name").toLowerCase(Locale.ROOT);
    String machine = System.getProperty("os.arch").toLowerCase(Locale.ROOT);
    if (machine.equals("amd64")) {
      machine = "x86_64";
    } else if (machine.equals("arm64")) {
      machine = "aarch64";
    }
    return system.replace(' ', '_') + "-" + machine;
  }

  private static byte[] fromJar(String platform) {
    String name = "/META-INF/native/" + platform + "/" + FILE;
    try (InputStream in = Library.class.getResourceAsStream(name)) {
      if (in == null) {
        throw failure("the jar has no library for " + platform + " (" + name
                + "); build one by `./dev build java` and set its path with -D" + PATH_PROPERTY,
            null);
      }
      return in.readAllBytes();
    } catch (IOException e) {
      throw failure("the jar's " + name + " cannot be read: " + e, e);
    }
  }

  private static Path directory() {
    return Path.of(System.getProperty("java.io.tmpdir"), "mergedb-" + userName());
  }

  private static String userName() {
    return System.getProperty("user.name", "user").replaceAll("[^A-Za-z0-9._-]", "_");
  }

  /** A file with these bytes that nobody else can change. */
  static Path extract(byte[] library, Path directory) throws IOException {
    makeOwned(directory);
    Path file = directory.resolve("libmergedb_jni-" + sha256(library) + ".so");
    if (!isWhole(file, library)) {
      write(library, directory, file);
    }
    if (!isWhole(file, library)) {
      throw new IOException(file + " has another checksum; expected SHA-256 " + sha256(library));
    }
    return file;
  }

  /** Makes the directory, or checks that it is a directory of this user that nobody else may use. */
  private static void makeOwned(Path directory) throws IOException {
    Files.createDirectories(directory.toAbsolutePath().getParent());
    try {
      Files.createDirectory(directory, PosixFilePermissions.asFileAttribute(OWNER_ONLY));
    } catch (FileAlreadyExistsException e) {
      // Checked below, as one that was just made.
    }
    if (!Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)) {
      throw new IOException(directory + " is not a directory");
    }
    Path probe = Files.createTempFile(directory, "owner", null);
    try {
      if (!Files.getOwner(directory, LinkOption.NOFOLLOW_LINKS).equals(Files.getOwner(probe))) {
        throw new IOException(directory + " belongs to another user");
      }
    } finally {
      Files.deleteIfExists(probe);
    }
    if (!Files.getPosixFilePermissions(directory, LinkOption.NOFOLLOW_LINKS).equals(OWNER_ONLY)) {
      Files.setPosixFilePermissions(directory, OWNER_ONLY);
    }
  }

  private static boolean isWhole(Path file, byte[] library) throws IOException {
    try {
      return Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)
          && Files.size(file) == library.length
          && Arrays.equals(Files.readAllBytes(file), library);
    } catch (NoSuchFileException e) {
      return false; // removed meanwhile
    }
  }

  private static void write(byte[] library, Path directory, Path file) throws IOException {
    Path temporary = Files.createTempFile(directory, "libmergedb_jni", ".tmp");
    try {
      Files.write(temporary, library);
      try (FileChannel channel = FileChannel.open(temporary, StandardOpenOption.WRITE)) {
        channel.force(true);
      }
      Files.move(temporary, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } finally {
      Files.deleteIfExists(temporary);
    }
  }

  /**
   * A file is loaded by one class loader only: a second one, as of a second web application, gets a copy of its own.
   */
  private static void loadFile(Path file) throws IOException {
    try {
      System.load(file.toAbsolutePath().toString());
    } catch (UnsatisfiedLinkError e) {
      if (e.getMessage() == null || !e.getMessage().contains("already loaded in another classloader")) {
        throw e;
      }
      Path copy = Files.createTempFile(file.getParent(), "libmergedb_jni", ".so");
      try {
        Files.copy(file, copy, StandardCopyOption.REPLACE_EXISTING);
        System.load(copy.toAbsolutePath().toString());
      } finally {
        Files.deleteIfExists(copy); // it stays mapped
      }
    }
  }

  static String sha256(byte[] bytes) {
    try {
      return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every JVM has SHA-256", e);
    }
  }
}
