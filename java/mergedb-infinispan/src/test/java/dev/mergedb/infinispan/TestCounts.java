package dev.mergedb.infinispan;

import java.io.File;
import java.util.Map;
import java.util.TreeMap;
import javax.xml.parsers.DocumentBuilderFactory;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

/**
 * Fails the build if a test class did not run and pass as many tests as it has. TestNG swallows the
 * NoClassDefFoundError of a missing jar, runs nothing and reports success.
 *
 * <p>Arguments: testng-results.xml, then CLASS=COUNT for each class.
 */
public final class TestCounts {
  private TestCounts() {}

  public static void main(String[] args) throws Exception {
    if (args.length < 2) throw new IllegalArgumentException("usage: TestCounts testng-results.xml CLASS=COUNT...");
    Map<String, Integer> passed = passedByClass(new File(args[0]));
    StringBuilder report = new StringBuilder();
    StringBuilder wrong = new StringBuilder();
    for (int i = 1; i < args.length; ++i) {
      String[] pair = args[i].split("=", 2);
      int expected = Integer.parseInt(pair[1]);
      int found = passed.getOrDefault(pair[0], 0);
      report.append(report.isEmpty() ? "" : ", ").append(pair[0].substring(pair[0].lastIndexOf('.') + 1)).append(' ')
          .append(found);
      if (found != expected) wrong.append("\n  ").append(pair[0]).append(": expected ").append(expected)
          .append(" passed tests, found ").append(found);
    }
    if (!wrong.isEmpty()) {
      throw new IllegalStateException("TestNG did not run the tests that are there:" + wrong
          + "\nSee " + args[0] + "; a missing test jar of Infinispan is the usual cause.");
    }
    System.out.println("tests passed: " + report);
  }

  private static Map<String, Integer> passedByClass(File results) throws Exception {
    if (!results.isFile()) throw new IllegalStateException("expected the results of TestNG in " + results
        + "; no test ran");
    NodeList methods = DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(results)
        .getElementsByTagName("test-method");
    Map<String, Integer> passed = new TreeMap<>();
    for (int i = 0; i < methods.getLength(); ++i) {
      Element method = (Element) methods.item(i);
      if ("true".equals(method.getAttribute("is-config")) || !"PASS".equals(method.getAttribute("status"))) continue;
      passed.merge(((Element) method.getParentNode()).getAttribute("name"), 1, Integer::sum);
    }
    return passed;
  }
}
