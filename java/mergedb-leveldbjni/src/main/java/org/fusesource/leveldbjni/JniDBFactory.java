package org.fusesource.leveldbjni;

import dev.mergedb.Database;
import dev.mergedb.leveldb.LevelDbException;
import dev.mergedb.leveldb.MergedbFactory;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.fusesource.leveldbjni.internal.NativeDB;
import org.iq80.leveldb.DB;
import org.iq80.leveldb.DBFactory;
import org.iq80.leveldb.Options;

/**
 * The factory that programs of leveldbjni load by this name, over mergedb. Loading the class loads the native library, as with leveldbjni:
 * an {@link UnsatisfiedLinkError} or an {@link ExceptionInInitializerError} on a platform without one.
 *
 * <p>Any number of threads may call any method.
 */
public class JniDBFactory implements DBFactory {
  /** The factory. */
  public static final JniDBFactory factory = new JniDBFactory();

  /** The version of mergedb, such as 0.1.0. */
  public static final String VERSION = Database.version();

  /** A factory like {@link #factory}. */
  public JniDBFactory() {}

  /**
   * Encodes a text.
   *
   * @param value a text, or null
   * @return its bytes in UTF-8, or null
   */
  public static byte[] bytes(String value) {
    return value == null ? null : value.getBytes(StandardCharsets.UTF_8);
  }

  /**
   * Decodes a text.
   *
   * @param value bytes in UTF-8, or null
   * @return the text, or null
   */
  public static String asString(byte[] value) {
    return value == null ? null : new String(value, StandardCharsets.UTF_8);
  }

  /**
   * Opens a database, or creates it: {@link MergedbFactory#open}.
   *
   * @param path the directory; its parent must be there
   * @param options how
   * @return the database, to be closed
   * @throws NativeDB.DBException with LevelDB's messages
   */
  @Override
  public DB open(File path, Options options) throws IOException {
    try {
      return MergedbFactory.factory.open(path, options);
    } catch (LevelDbException e) {
      throw new NativeDB.DBException(e);
    }
  }

  /**
   * Removes a database: {@link MergedbFactory#destroy}.
   *
   * @param path the directory
   * @param options not used
   * @throws NativeDB.DBException with LevelDB's messages
   */
  @Override
  public void destroy(File path, Options options) throws IOException {
    try {
      MergedbFactory.factory.destroy(path, options);
    } catch (LevelDbException e) {
      throw new NativeDB.DBException(e);
    }
  }

  /**
   * Makes a damaged database open again: {@link MergedbFactory#repair}.
   *
   * @param path the directory
   * @param options with the comparator of the database
   * @throws NativeDB.DBException with LevelDB's messages
   */
  @Override
  public void repair(File path, Options options) throws IOException {
    try {
      MergedbFactory.factory.repair(path, options);
    } catch (LevelDbException e) {
      throw new NativeDB.DBException(e);
    }
  }

  @Override
  public String toString() {
    return "leveldbjni of mergedb version " + VERSION;
  }

  /**
   * Has no effect: calls allocate no native memory of their own.
   *
   * @param size bytes; not used
   */
  public static void pushMemoryPool(int size) {}

  /** Has no effect. */
  public static void popMemoryPool() {}
}
