package dev.mergedb.versions;

import java.util.HexFormat;

/** Bytes in messages. */
final class Bytes {
  private static final int SHOWN_MAX = 32;

  private Bytes() {}

  /** Hexadecimal digits, cut after 32 bytes. */
  static String hex(byte[] bytes) {
    HexFormat format = HexFormat.of();
    return bytes.length <= SHOWN_MAX
        ? format.formatHex(bytes)
        : format.formatHex(bytes, 0, SHOWN_MAX) + "... (" + bytes.length + " bytes)";
  }
}
