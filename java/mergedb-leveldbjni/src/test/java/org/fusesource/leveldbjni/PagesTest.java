package org.fusesource.leveldbjni;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The Java of docs/api/java-leveldb.md compiles and runs. */
class PagesTest {
  @TempDir Path folder;

  @Test
  void block() throws Exception {
    String page = Files.readString(Path.of("../../docs/api/java-leveldb.md"));
    Matcher block = Pattern.compile("(?ms)^```java\n(.*?)^```$").matcher(page);
    assertTrue(block.find(), "the page has a block");
    String path = folder.resolve("data").toString();
    Path source = folder.resolve("Block.java");
    Files.writeString(
        source,
        """
        import static org.fusesource.leveldbjni.JniDBFactory.bytes;

        import dev.mergedb.leveldb.MergedbFactory;
        import java.io.File;
        import org.fusesource.leveldbjni.JniDBFactory;
        import org.iq80.leveldb.DB;
        import org.iq80.leveldb.Options;

        public class Block {
          public static byte[] run() throws Exception {
            %s
            try (db) {
              return db.get(bytes("views"));
            }
          }
        }
        """
            .formatted(block.group(1).replace("/srv/data", path)));
    assertTrue(!block.find(), "this test runs one block only");
    int result =
        ToolProvider.getSystemJavaCompiler()
            .run(null, null, null, "-cp", System.getProperty("java.class.path"), "-d", folder.toString(), source.toString());
    assertEquals(0, result, "javac");
    try (URLClassLoader loader = new URLClassLoader(new URL[] {folder.toUri().toURL()}, getClass().getClassLoader())) {
      byte[] views = (byte[]) loader.loadClass("Block").getMethod("run").invoke(null);
      assertEquals(1, views[0]);
    }
  }
}
