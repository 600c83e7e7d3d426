package dev.mergedb.users;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import org.apache.pekko.persistence.japi.journal.JavaJournalSpec;
import org.junit.runner.RunWith;
import org.scalatestplus.junit.JUnitRunner;

/** Pekko's test kit of journals on its LevelDB journal, which opens org.fusesource.leveldbjni.JniDBFactory. */
@RunWith(JUnitRunner.class)
public class PekkoJournal extends JavaJournalSpec {
  private static final long serialVersionUID = 1;

  /** On a new directory. */
  public PekkoJournal() {
    super(settings());
  }

  private static Config settings() {
    try {
      String folder = Files.createTempDirectory("pekko-journal").toString();
      return ConfigFactory.parseString(
          "pekko.persistence.journal.plugin = \"pekko.persistence.journal.leveldb\"\n"
              + "pekko.persistence.journal.leveldb.native = on\n"
              + "pekko.persistence.journal.leveldb.dir = \"" + folder + "/journal\"\n"
              + "pekko.actor.allow-java-serialization = on\n"
              + "pekko.actor.warn-about-java-serializer-usage = off\n");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
