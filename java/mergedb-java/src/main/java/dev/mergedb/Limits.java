package dev.mergedb;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.Objects;

/** The checks that are made before native code is called. Native code makes them again. */
final class Limits {
  static final int KEY_BYTES_MAX = 8 << 20;
  static final int VALUE_BYTES_MAX = 1 << 30;

  private Limits() {}

  static long notNegative(long value, String name) {
    if (value < 0) {
      throw new IllegalArgumentException(name + " is " + value + "; it must not be negative");
    }
    return value;
  }

  static long notBelow(long least, long value, String name) {
    if (value < least) {
      throw new IllegalArgumentException(name + " is " + value + "; it must be at least " + least);
    }
    return value;
  }

  static byte[] key(byte[] key, String name) {
    Objects.requireNonNull(key, name);
    keySize(key.length, name);
    return key;
  }

  static byte[] key(byte[] key) {
    return key(key, "key");
  }

  static byte[] value(byte[] value) {
    Objects.requireNonNull(value, "value");
    valueSize(value.length);
    return value;
  }

  static int keySize(int size, String name) {
    if (size > KEY_BYTES_MAX) {
      throw new MergedbException(
          MergedbException.Code.INVALID_ARGUMENT,
          "the " + name + " has " + size + " bytes; a key has at most " + KEY_BYTES_MAX);
    }
    return size;
  }

  static int valueSize(int size) {
    if (size > VALUE_BYTES_MAX) {
      throw new MergedbException(
          MergedbException.Code.INVALID_ARGUMENT,
          "the value has " + size + " bytes; a value has at most " + VALUE_BYTES_MAX);
    }
    return size;
  }

  /** UTF-8, without a replacement for what has none: two names must not become one. */
  static byte[] utf8(String text, String name) {
    Objects.requireNonNull(text, name);
    try {
      ByteBuffer bytes =
          StandardCharsets.UTF_8
              .newEncoder()
              .onMalformedInput(CodingErrorAction.REPORT)
              .onUnmappableCharacter(CodingErrorAction.REPORT)
              .encode(CharBuffer.wrap(text));
      byte[] result = new byte[bytes.remaining()];
      bytes.get(result);
      return result;
    } catch (CharacterCodingException e) {
      throw new IllegalArgumentException(name + " is not valid Unicode: it has an unpaired surrogate", e);
    }
  }
}
