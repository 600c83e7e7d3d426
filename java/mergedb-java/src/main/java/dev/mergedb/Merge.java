package dev.mergedb;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Objects;

/**
 * An operand of {@link Database#merge}: what is done to the value of a key without reading it. Numbers are 8 bytes,
 * little-endian. Immutable; arrays are copied.
 */
public final class Merge {
  /** Which bytes stay when the cap of an append cuts. */
  public enum Keep {
    /** The newest. */
    NEWEST,
    /** The oldest. */
    OLDEST
  }

  private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final byte[] NONE = {};

  // The members of mergedb_operand (include/mergedb/c.h). A type is a MERGEDB_... constant of that header.
  final int type;
  final int keep;
  final long u64;
  final long i64;
  final double f64;
  final long capBytes;
  final byte[] bytes;
  final byte[] delimiter;
  final byte[] name;

  private Merge(int type, int keep, long u64, long i64, double f64, long capBytes, byte[] bytes, byte[] delimiter,
      byte[] name) {
    this.type = type;
    this.keep = keep;
    this.u64 = u64;
    this.i64 = i64;
    this.f64 = f64;
    this.capBytes = capBytes;
    this.bytes = bytes;
    this.delimiter = delimiter;
    this.name = name;
  }

  private static Merge ofU64(int type, long number) {
    return new Merge(type, 0, number, 0, 0, 0, NONE, NONE, null);
  }

  private static Merge ofI64(int type, long number) {
    return new Merge(type, 0, 0, number, 0, 0, NONE, NONE, null);
  }

  private static Merge ofF64(int type, double number) {
    return new Merge(type, 0, 0, 0, number, 0, NONE, NONE, null);
  }

  private static Merge ofBytes(int type, long timestamp, byte[] bytes) {
    return new Merge(type, 0, timestamp, 0, 0, 0, Limits.value(bytes).clone(), NONE, null);
  }

  /**
   * Adds to an unsigned 64-bit number, modulo 2^64.
   *
   * @param delta what is added
   * @return the operand
   */
  public static Merge addU64(long delta) {
    return ofU64(1, delta);
  }

  /**
   * Adds to a signed 64-bit number; a sum out of range reads as the nearest long.
   *
   * @param delta what is added
   * @return the operand
   */
  public static Merge addI64(long delta) {
    return ofI64(2, delta);
  }

  /**
   * Adds to a signed 64-bit number; a sum out of range makes reads of the key MERGE_FAILED.
   *
   * @param delta what is added
   * @return the operand
   */
  public static Merge addI64Failing(long delta) {
    return ofI64(3, delta);
  }

  /**
   * Adds to a double.
   *
   * @param delta what is added
   * @return the operand
   */
  public static Merge addF64(double delta) {
    return ofF64(4, delta);
  }

  /**
   * The larger of two unsigned numbers.
   *
   * @param value the other number
   * @return the operand
   */
  public static Merge maxU64(long value) {
    return ofU64(5, value);
  }

  /**
   * The larger of two signed numbers.
   *
   * @param value the other number
   * @return the operand
   */
  public static Merge maxI64(long value) {
    return ofI64(6, value);
  }

  /**
   * The larger of two doubles.
   *
   * @param value the other number
   * @return the operand
   */
  public static Merge maxF64(double value) {
    return ofF64(7, value);
  }

  /**
   * The larger of two byte strings.
   *
   * @param value the other bytes
   * @return the operand
   */
  public static Merge maxBytes(byte[] value) {
    return ofBytes(8, 0, value);
  }

  /**
   * The smaller of two unsigned numbers.
   *
   * @param value the other number
   * @return the operand
   */
  public static Merge minU64(long value) {
    return ofU64(9, value);
  }

  /**
   * The smaller of two signed numbers.
   *
   * @param value the other number
   * @return the operand
   */
  public static Merge minI64(long value) {
    return ofI64(10, value);
  }

  /**
   * The smaller of two doubles.
   *
   * @param value the other number
   * @return the operand
   */
  public static Merge minF64(double value) {
    return ofF64(11, value);
  }

  /**
   * The smaller of two byte strings.
   *
   * @param value the other bytes
   * @return the operand
   */
  public static Merge minBytes(byte[] value) {
    return ofBytes(12, 0, value);
  }

  /**
   * Bitwise and.
   *
   * @param value the other bytes
   * @return the operand
   */
  public static Merge and(byte[] value) {
    return ofBytes(13, 0, value);
  }

  /**
   * Bitwise or.
   *
   * @param value the other bytes
   * @return the operand
   */
  public static Merge or(byte[] value) {
    return ofBytes(14, 0, value);
  }

  /**
   * Bitwise exclusive or.
   *
   * @param value the other bytes
   * @return the operand
   */
  public static Merge xor(byte[] value) {
    return ofBytes(15, 0, value);
  }

  /**
   * Appends bytes to the value.
   *
   * @param value what is appended
   * @return the operand
   */
  public static Merge append(byte[] value) {
    return append(value, NONE, 0, Keep.NEWEST);
  }

  /**
   * Appends bytes to the value.
   *
   * @param value what is appended
   * @param delimiter goes before what is appended to a value
   * @param capBytes the most bytes that the value may have; 0: no cap
   * @param keep which bytes stay when the cap cuts
   * @return the operand
   * @throws IllegalArgumentException if capBytes is negative
   */
  public static Merge append(byte[] value, byte[] delimiter, long capBytes, Keep keep) {
    Objects.requireNonNull(delimiter, "delimiter");
    Objects.requireNonNull(keep, "keep");
    return new Merge(16, keep.ordinal(), 0, 0, 0, Limits.notNegative(capBytes, "capBytes"), Limits.value(value).clone(),
        delimiter.clone(), null);
  }

  /**
   * The value with the smallest timestamp wins.
   *
   * @param timestamp an unsigned number
   * @param value the bytes
   * @return the operand
   */
  public static Merge first(long timestamp, byte[] value) {
    return ofBytes(17, timestamp, value);
  }

  /**
   * The value with the largest timestamp wins.
   *
   * @param timestamp an unsigned number
   * @param value the bytes
   * @return the operand
   */
  public static Merge last(long timestamp, byte[] value) {
    return ofBytes(18, timestamp, value);
  }

  /**
   * A JSON merge patch (RFC 7396).
   *
   * @param patch the patch, as JSON text
   * @return the operand
   */
  public static Merge jsonPatch(String patch) {
    return ofBytes(19, 0, Limits.utf8(patch, "patch"));
  }

  /**
   * Sets the value.
   *
   * @param value the bytes
   * @return the operand
   */
  public static Merge put(byte[] value) {
    return ofBytes(20, 0, value);
  }

  /**
   * An operand of a named merge operator. RocksDB's names are known: uint64add, stringappend, max, put, bytesxor.
   *
   * @param name the name of the operator, 1 to 255 bytes in UTF-8
   * @param value the bytes of the operand
   * @return the operand
   */
  public static Merge named(String name, byte[] value) {
    byte[] encoded = Limits.utf8(name, "name");
    if (encoded.length == 0 || encoded.length > 255 || name.indexOf('\0') >= 0) {
      throw new IllegalArgumentException(
          "the operator name has " + encoded.length + " bytes; it must have 1 to 255 and no NUL");
    }
    return new Merge(30, 0, 0, 0, 0, 0, Limits.value(value).clone(), NONE, encoded);
  }

  private static long toLong(byte[] value) {
    Objects.requireNonNull(value, "value");
    if (value.length != 8) {
      throw new IllegalArgumentException("a number has 8 bytes; this value has " + value.length);
    }
    return (long) LONGS.get(value, 0);
  }

  private static byte[] fromLong(long number) {
    byte[] value = new byte[8];
    LONGS.set(value, 0, number);
    return value;
  }

  /**
   * The number that a value holds.
   *
   * @param value 8 bytes
   * @return the number, to be read as unsigned
   * @throws IllegalArgumentException if the value does not have 8 bytes
   */
  public static long toU64(byte[] value) {
    return toLong(value);
  }

  /**
   * The number that a value holds.
   *
   * @param value 8 bytes
   * @return the number
   * @throws IllegalArgumentException if the value does not have 8 bytes
   */
  public static long toI64(byte[] value) {
    return toLong(value);
  }

  /**
   * The number that a value holds.
   *
   * @param value 8 bytes
   * @return the number
   * @throws IllegalArgumentException if the value does not have 8 bytes
   */
  public static double toF64(byte[] value) {
    return Double.longBitsToDouble(toLong(value));
  }

  /**
   * A value that holds a number.
   *
   * @param number the number, read as unsigned
   * @return 8 bytes
   */
  public static byte[] fromU64(long number) {
    return fromLong(number);
  }

  /**
   * A value that holds a number.
   *
   * @param number the number
   * @return 8 bytes
   */
  public static byte[] fromI64(long number) {
    return fromLong(number);
  }

  /**
   * A value that holds a number.
   *
   * @param number the number
   * @return 8 bytes
   */
  public static byte[] fromF64(double number) {
    return fromLong(Double.doubleToRawLongBits(number));
  }
}
