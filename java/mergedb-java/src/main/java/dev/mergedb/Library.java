package dev.mergedb;

/** Finds and loads the native library. */
final class Library {
  private Library() {}

  static void load() {
    String path = System.getProperty("mergedb.library.path");
    if (path == null || path.isEmpty()) {
      throw new UnsatisfiedLinkError("mergedb.library.path is not set");
    }
    System.load(path);
  }
}
