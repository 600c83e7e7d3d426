package voldemort.store.mergedb;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import dev.mergedb.Options;
import java.io.StringWriter;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import org.apache.log4j.Logger;
import org.apache.log4j.SimpleLayout;
import org.apache.log4j.WriterAppender;
import org.junit.Test;
import voldemort.utils.ConfigurationException;

public class SettingsTest {
  private static Settings settings(String... namesAndValues) {
    Map<String, String> properties = new HashMap<>();
    for (int i = 0; i < namesAndValues.length; i += 2) {
      properties.put(namesAndValues[i], namesAndValues[i + 1]);
    }
    return new Settings(properties);
  }

  private static int stripes(String... namesAndValues) {
    return settings(namesAndValues).number("s", Settings.STRIPES, 1, 10_000);
  }

  /** What a call logs. */
  private static String logged(Callable<?> call) throws Exception {
    StringWriter text = new StringWriter();
    WriterAppender appender = new WriterAppender(new SimpleLayout(), text);
    Logger logger = Logger.getLogger(Settings.class);
    logger.addAppender(appender);
    try {
      call.call();
    } finally {
      logger.removeAppender(appender);
    }
    return text.toString();
  }

  @Test
  public void theSeedsDefaults() {
    Map<String, String> expected = new HashMap<>();
    String seed =
        "poolsize=4 iterators=true stripes=100 createifmissing=true errorifexists=false paranoidchecks=false writebuffer.size=20 maxopenfile=1024 "
            + "lrublockcache=100 blocksize=4096 blockrestartinterval=16 compressiontype=1 read.fillcache=true read.verifychecksums=false write.sync=false";
    for (String setting : seed.split(" ")) {
      expected.put(setting.substring(0, setting.indexOf('=')), setting.substring(setting.indexOf('=') + 1));
    }
    assertEquals(15, expected.size());
    expected.forEach((key, value) -> assertEquals(key, value, settings().text("s", key)));
    assertTrue(settings().isOneDatabase("s"));
    assertTrue(settings().flag("s", Settings.PREFIX_KEYS));
  }

  @Test
  public void theStoreThenAllStoresThenTheDefault() {
    assertEquals(100, stripes());
    assertEquals(1, stripes("leveldb.stripes", "1"));
    assertEquals(2, stripes("leveldb.stripes", "1", "mergedb.stripes", "2"));
    assertEquals(3, stripes("leveldb.stripes", "1", "mergedb.stripes", "2", "leveldb.s.stripes", "3"));
    assertEquals(4, stripes("leveldb.stripes", "1", "mergedb.stripes", "2", "leveldb.s.stripes", "3", "mergedb.s.stripes", "4"));
    assertEquals(1, stripes("leveldb.stripes", "1", "mergedb.other.stripes", "5"));
    assertEquals(7, settings("leveldb.stripes", " 7 ").number(null, Settings.STRIPES, 1, 10));
  }

  @Test
  public void everySettingHasBothSpellings() {
    for (String key : Settings.DEFAULTS.keySet()) {
      assertEquals(key, "a", settings("leveldb." + key, "a").text("s", key));
      assertEquals(key, "b", settings("leveldb." + key, "a", "mergedb." + key, "b").text("s", key));
      assertEquals(key, "c", settings("leveldb.s." + key, "c", "mergedb." + key, "b").text("s", key));
    }
  }

  @Test
  public void aWrongValueIsNamed() {
    ConfigurationException e = assertThrows(ConfigurationException.class, () -> stripes("leveldb.s.stripes", "many"));
    assertEquals("server.properties: leveldb.s.stripes = \"many\"; expected a whole number from 1 to 10000", e.getMessage());
    assertThrows(ConfigurationException.class, () -> stripes("leveldb.stripes", "0"));
    e = assertThrows(ConfigurationException.class, () -> settings("mergedb.write.sync", "yes").store("s"));
    assertTrue(e.getMessage(), e.getMessage().endsWith("expected true or false"));
    assertThrows(ConfigurationException.class, () -> settings("mergedb.poolsize", "-1").store("s"));
    assertThrows(ConfigurationException.class, () -> settings("mergedb.compressiontype", "9").database(null, Options.Mode.MUST_EXIST));
    assertThrows(ConfigurationException.class, () -> settings("mergedb.writebuffer.size", "0").database(null, Options.Mode.MUST_EXIST));
  }

  @Test
  public void whatHasNoEffectIsLoggedOnce() throws Exception {
    String log = logged(() -> settings("leveldb.once.iterators", "true", "mergedb.x.blockrestartinterval", "8", "leveldb.stripes", "3"));
    assertTrue(log, log.contains("setting leveldb.once.iterators has no effect"));
    assertTrue(log, log.contains("setting mergedb.x.blockrestartinterval has no effect"));
    assertFalse(log, log.contains("stripes"));
    assertEquals("", logged(() -> settings("leveldb.once.iterators", "true", "mergedb.x.blockrestartinterval", "8")));
    log = logged(() -> settings("mergedb.strips", "3"));
    assertTrue(log, log.contains("setting mergedb.strips is not known"));
    log = logged(() -> settings("mergedb.shop.blocksize", "8192").store("shop"));
    assertTrue(log, log.contains("setting mergedb.shop.blocksize has no effect: all stores share one database"));
    assertEquals("", logged(() -> settings("mergedb.own.blocksize", "8192", "mergedb.own.one.database", "false").store("own")));
  }
}
