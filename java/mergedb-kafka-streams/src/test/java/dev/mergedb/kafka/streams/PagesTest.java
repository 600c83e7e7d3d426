package dev.mergedb.kafka.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The Java of docs/kafka-streams.md compiles. */
class PagesTest {
  @TempDir Path folder;

  @Test
  void blocks() throws Exception {
    String page = Files.readString(Path.of("../../docs/kafka-streams.md"));
    List<String> blocks =
        Pattern.compile("(?ms)^```java\n(.*?)^```$").matcher(page).results().map((MatchResult found) -> found.group(1)).toList();
    assertEquals(2, blocks.size(), "the topology, and the processor");
    Path source = folder.resolve("Blocks.java");
    Files.writeString(
        source,
        """
        import dev.mergedb.kafka.streams.*;
        import org.apache.kafka.common.serialization.Serdes;
        import org.apache.kafka.streams.Topology;
        import org.apache.kafka.streams.processor.api.ProcessorContext;
        import org.apache.kafka.streams.processor.api.Record;

        public class Blocks {
          static void topology(Topology topology) {
            %s
          }

          static void process(ProcessorContext<Void, Void> context, Record<String, Long> record) {
            %s
          }
        }
        """
            .formatted(blocks.get(0), blocks.get(1)));
    int result =
        ToolProvider.getSystemJavaCompiler()
            .run(null, null, null, "-cp", System.getProperty("java.class.path"), "-d", folder.toString(), source.toString());
    assertEquals(0, result, "javac");
  }
}
