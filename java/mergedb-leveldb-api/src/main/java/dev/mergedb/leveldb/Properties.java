package dev.mergedb.leveldb;

import dev.mergedb.Database;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * LevelDB's properties, made of mergedb's. Level 0 has the flushed runs, levels 1 to 5 the compacted ones by tier, level 6 the oldest
 * run. Flushes are told of level 0, compactions of level 6.
 */
final class Properties {
  private static final int LEVELS = 7;
  private static final String PREFIX = "leveldb.";
  private static final String FILES_AT_LEVEL = "num-files-at-level";
  private static final Pattern RUN = Pattern.compile("(?m)^position \\d+ level (\\d+):(.*)$");
  private static final Pattern TABLE = Pattern.compile(" (\\d{6,})\\[(.*?)\\.\\.(.*?)[\\])](?= \\d{6,}\\[|$)");

  private final Database database;
  private final Path directory;

  Properties(Database database, Path directory) {
    this.database = database;
    this.directory = directory;
  }

  private record Table(long number, long bytes, String smallest, String largest) {}

  /** Null: the name is unknown. */
  String get(String name) {
    if (!name.startsWith(PREFIX)) {
      return database.property(name);
    }
    String rest = name.substring(PREFIX.length());
    if (rest.startsWith(FILES_AT_LEVEL)) {
      return filesAtLevel(rest.substring(FILES_AT_LEVEL.length()));
    }
    return switch (rest) {
      case "stats" -> stats();
      case "sstables" -> tables();
      case "approximate-memory-usage" ->
          Long.toString(counter("block_cache_bytes") + counter("memtable_bytes") + counter("table_memory_bytes"));
      default -> null;
    };
  }

  private long counter(String name) {
    String text = database.property("mergedb." + name);
    return text == null ? 0 : Long.parseLong(text.trim());
  }

  private long bytesOf(long number) {
    try {
      return Files.size(directory.resolve(String.format(Locale.ROOT, "%06d.tbl", number)));
    } catch (IOException e) {
      return 0; // compacted away since the list was made
    }
  }

  /** The tables of each level, newest run first. */
  private List<List<Table>> levels() {
    List<List<Table>> levels = new ArrayList<>();
    for (int level = 0; level < LEVELS; ++level) {
      levels.add(new ArrayList<>());
    }
    List<Table> run = null;
    int level = 0;
    Matcher runs = RUN.matcher(database.property("mergedb.runs"));
    while (runs.find()) {
      if (run != null) {
        levels.get(Math.min(level, LEVELS - 2)).addAll(run);
      }
      level = Integer.parseInt(runs.group(1));
      run = new ArrayList<>();
      Matcher tables = TABLE.matcher(runs.group(2));
      while (tables.find()) {
        long number = Long.parseLong(tables.group(1));
        run.add(new Table(number, bytesOf(number), tables.group(2), tables.group(3)));
      }
    }
    if (run != null) {
      levels.get(LEVELS - 1).addAll(run); // the oldest
    }
    return levels;
  }

  private String filesAtLevel(String digits) {
    return digits.matches("[0-6]") ? Integer.toString(levels().get(Integer.parseInt(digits)).size()) : null;
  }

  private static double mib(long bytes) {
    return bytes / 1048576.0;
  }

  private String stats() {
    StringBuilder text =
        new StringBuilder(
            "                               Compactions\n"
                + "Level  Files Size(MB) Time(sec) Read(MB) Write(MB)\n"
                + "--------------------------------------------------\n");
    List<List<Table>> levels = levels();
    for (int level = 0; level < LEVELS; ++level) {
      long nanos = 0;
      long read = 0;
      long written = 0;
      if (level == 0) {
        nanos = counter("flush_nanos");
        written = counter("flush_bytes");
      } else if (level == LEVELS - 1) {
        nanos = counter("compaction_nanos");
        read = counter("compaction_bytes_read");
        written = counter("compaction_bytes_written");
      }
      List<Table> tables = levels.get(level);
      if (tables.isEmpty() && nanos == 0) {
        continue;
      }
      long bytes = tables.stream().mapToLong(Table::bytes).sum();
      text.append(
          String.format(
              Locale.ROOT,
              "%3d %8d %8.0f %9.0f %8.0f %9.0f\n",
              level, tables.size(), mib(bytes), nanos / 1e9, mib(read), mib(written)));
    }
    return text.toString();
  }

  /** As LevelDB's, without the sequence numbers and types of the keys. */
  private String tables() {
    StringBuilder text = new StringBuilder();
    List<List<Table>> levels = levels();
    for (int level = 0; level < LEVELS; ++level) {
      text.append("--- level ").append(level).append(" ---\n");
      for (Table table : levels.get(level)) {
        text.append(' ').append(table.number()).append(':').append(table.bytes());
        text.append("['").append(table.smallest()).append("' .. '").append(table.largest()).append("']\n");
      }
    }
    return text.toString();
  }
}
