package voldemort.store.mergedb;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import voldemort.client.ClientConfig;
import voldemort.client.SocketStoreClientFactory;
import voldemort.client.StoreClient;
import voldemort.versioning.Versioned;

/** A client of a node: NodeClient URL STORE write|check COUNT. Writes keys, or checks that all of them are there; ends with status 1 if not. */
public final class NodeClient {
  private NodeClient() {}

  /** The program. */
  public static void main(String[] arguments) {
    int count = Integer.parseInt(arguments[3]);
    ClientConfig config =
        new ClientConfig()
            .setBootstrapUrls(arguments[0])
            .setConnectionTimeout(30, TimeUnit.SECONDS)
            .setSocketTimeout(30, TimeUnit.SECONDS)
            .setRoutingTimeout(30, TimeUnit.SECONDS);
    SocketStoreClientFactory factory = new SocketStoreClientFactory(config);
    StoreClient<String, String> client = factory.getStoreClient(arguments[1]);
    if (arguments[2].equals("write")) {
      write(client, count);
    }
    check(client, count);
    System.out.println(arguments[1] + ": " + arguments[2] + " of " + count + " keys: all as expected");
    factory.close();
    System.exit(0);
  }

  private static String value(int i, int update) {
    return "value " + i + " update " + update + " " + "x".repeat(i % 1_500);
  }

  /** Key i is written once, or twice if i is even; then deleted if i is a multiple of 10. */
  private static void write(StoreClient<String, String> client, int count) {
    for (int i = 0; i < count; ++i) {
      for (int update = 0; update < 2 - i % 2; ++update) {
        client.put("key" + i, value(i, update));
      }
      if (i % 10 == 0 && !client.delete("key" + i)) {
        throw new IllegalStateException("key" + i + ": expected a version to delete, found none");
      }
    }
  }

  private static void check(StoreClient<String, String> client, int count) {
    Map<String, String> expected = new HashMap<>();
    for (int i = 0; i < count; ++i) {
      if (i % 10 != 0) {
        expected.put("key" + i, value(i, 1 - i % 2));
      }
      Versioned<String> found = client.get("key" + i);
      String value = found == null ? null : found.getValue();
      if (!Objects.equals(expected.get("key" + i), value)) {
        throw new IllegalStateException("key" + i + ": expected " + expected.get("key" + i) + ", found " + value);
      }
    }
    Map<String, Versioned<String>> several = client.getAll(List.of("key0", "key1", "key2"));
    if (!several.keySet().equals(Set.of("key1", "key2"))) {
      throw new IllegalStateException("getAll: expected key1 and key2, found " + several.keySet());
    }
  }
}
