package dev.mergedb.users;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import org.fusesource.leveldbjni.JniDBFactory;
import org.junit.jupiter.api.Test;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;
import org.junit.platform.launcher.listeners.TestExecutionSummary;

/**
 * Tests that programs of leveldbjni publish, on mergedb. The number of tests is asserted: a missing jar would make them run nothing and
 * succeed.
 */
class UsersTest {
  private static void run(long count, String... classes) {
    LauncherDiscoveryRequestBuilder request = LauncherDiscoveryRequestBuilder.request();
    for (String name : classes) {
      request.selectors(selectClass(name));
    }
    SummaryGeneratingListener listener = new SummaryGeneratingListener();
    LauncherDiscoveryRequest built = request.build();
    LauncherFactory.create().execute(built, listener);
    TestExecutionSummary summary = listener.getSummary();
    StringWriter text = new StringWriter();
    summary.printFailuresTo(new PrintWriter(text), 12);
    assertEquals(0, summary.getTotalFailureCount(), text.toString());
    assertEquals(count, summary.getTestsSucceededCount(), "tests that ran");
  }

  @Test
  void theClassesAreOfMergedb() throws Exception {
    Path source = Path.of(JniDBFactory.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    assertEquals("mergedb", JniDBFactory.class.getDeclaredField("factory").get(null).toString().split(" ")[2], source.toString());
  }

  @Test
  void sparkKvstore() {
    String folder = "org.apache.spark.util.kvstore.";
    run(54, folder + "LevelDBSuite", folder + "LevelDBIteratorSuite");
  }

  @Test
  void hadoopYarnTimeline() {
    String folder = "org.apache.hadoop.yarn.server.timeline.";
    run(
        41,
        folder + "TestLeveldbTimelineStore",
        folder + "recovery.TestLeveldbTimelineStateStore",
        folder + "TestRollingLevelDB",
        folder + "TestRollingLevelDBTimelineStore");
  }

  @Test
  void pekkoJournal() {
    run(16, PekkoJournal.class.getName());
  }
}
