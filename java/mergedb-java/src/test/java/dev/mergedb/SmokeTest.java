package dev.mergedb;

import static org.junit.jupiter.api.Assertions.*;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SmokeTest {
  @Test
  void smoke(@TempDir Path dir) {
    try (Database db = Database.open(dir.resolve("db"))) {
      for (int i = 0; i < 1000; ++i) db.put(("k" + (1000 + i)).getBytes(), ("v" + i).getBytes());
      assertEquals("v7", new String(db.get("k1007".getBytes())));
      int n = 0;
      try (EntryIterator it = db.iterator()) {
        for (boolean ok = it.seekToFirst(); ok; ok = it.next()) {
          assertEquals("k" + (1000 + n), new String(it.key()));
          assertEquals("v" + n, new String(it.value()));
          ++n;
        }
        assertEquals(1000, n);
        for (boolean ok = it.seekToLast(); ok; ok = it.prev()) --n;
        assertEquals(0, n);
      }
    }
  }
}
