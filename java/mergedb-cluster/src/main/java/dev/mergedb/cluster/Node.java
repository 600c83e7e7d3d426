package dev.mergedb.cluster;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.infinispan.AdvancedCache;
import org.infinispan.Cache;
import org.infinispan.configuration.parsing.ConfigurationBuilderHolder;
import org.infinispan.configuration.parsing.ParserRegistry;
import org.infinispan.conflict.ConflictManagerFactory;
import org.infinispan.distribution.ch.ConsistentHash;
import org.infinispan.factories.GlobalComponentRegistry;
import org.infinispan.manager.DefaultCacheManager;
import org.infinispan.remoting.transport.Transport;
import org.infinispan.remoting.transport.jgroups.JGroupsTransport;
import org.infinispan.server.resp.RespServer;
import org.infinispan.server.resp.configuration.RespServerConfigurationBuilder;
import org.infinispan.topology.CacheTopology;
import org.jgroups.protocols.TCPPING;

/**
 * One node of `./dev cluster`: an Infinispan cache whose entries are in mergedb, with the Redis protocol in front.
 *
 * <p>System properties: {@code node.name}, {@code node.directory}, {@code node.port}, {@code node.hosts},
 * {@code node.owners} (see cluster.xml) and {@code node.redis.port}. The program prints "ready" and then answers each
 * line of its input with one line:
 *
 * <pre>
 *   status            members=N settled=true|false coordinator=true|false (settled: no entry is moving)
 *   join PORT,PORT    joined: the node looks for members at these ports from now on
 *   resolve           resolved: owners that have an entry have given it to owners that lack it
 *   shutdown          shut down: every node has saved which entries it owns, and this node's cache has stopped
 *   stop              stopped: this node has left the cluster, and the program ends
 * </pre>
 *
 * <p>For a clean stop give `shutdown` to every node and only then `stop`: a node that leaves while the cache of another
 * one runs would be seen as lost, and its entries would be moved.
 *
 * <p>At the end of its input the program ends at once, as after kill -9: no node outlives the script that started it.
 */
public final class Node {
  private static final String CACHE = "kv";

  private final DefaultCacheManager manager;
  private final Cache<Object, Object> cache;
  private final RespServer redis;

  private Node() throws IOException {
    ConfigurationBuilderHolder configuration =
        new ParserRegistry(Node.class.getClassLoader(), false, System.getProperties()).parseFile("cluster.xml");
    manager = new DefaultCacheManager(configuration, true);
    cache = manager.getCache(CACHE);
    redis = new RespServer();
    redis.start(new RespServerConfigurationBuilder().defaultCacheName(CACHE).host("127.0.0.1")
        .port(Integer.getInteger("node.redis.port"))
        .ioThreads(2).build(), manager);
    redis.postStart();
  }

  public static void main(String[] args) throws IOException {
    BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    int exitCode = 1;
    try {
      Node node = new Node();
      answer("ready");
      exitCode = node.serve(commands);
    } catch (Exception | Error e) {
      e.printStackTrace();
      answer("failed: " + e);
    }
    Runtime.getRuntime().halt(exitCode);
  }

  private int serve(BufferedReader commands) throws IOException {
    for (String line = commands.readLine(); line != null; line = commands.readLine()) {
      String[] words = line.trim().split(" ", 2);
      switch (words[0]) {
        case "status" -> answer(status());
        case "join" -> {
          lookFor(words[1]);
          answer("joined");
        }
        case "resolve" -> {
          ConflictManagerFactory.get(cache.getAdvancedCache()).resolveConflicts();
          answer("resolved");
        }
        case "shutdown" -> {
          redis.stop();
          cache.shutdown();
          answer("shut down");
        }
        case "stop" -> {
          redis.stop();
          manager.close();
          answer("stopped");
          return 0;
        }
        default -> answer("failed: expected status, join, resolve, shutdown or stop, found '" + line + "'");
      }
    }
    return 1;
  }

  private String status() {
    AdvancedCache<Object, Object> advanced = cache.getAdvancedCache();
    CacheTopology topology = advanced.getDistributionManager().getCacheTopology();
    int members = topology.getActualMembers().size();
    ConsistentHash owners = topology.getCurrentCH();
    int ownersWanted = Math.min(members, cache.getCacheConfiguration().clustering().hash().numOwners());
    boolean isSettled = topology.getPhase() == CacheTopology.Phase.NO_REBALANCE && topology.getPendingCH() == null
        && !ConflictManagerFactory.get(advanced).isConflictResolutionInProgress();
    for (int segment = 0; isSettled && segment < owners.getNumSegments(); ++segment) {
      isSettled = owners.locateOwnersForSegment(segment).size() == ownersWanted;
    }
    return "members=" + members + " settled=" + isSettled + " coordinator=" + manager.isCoordinator();
  }

  private void lookFor(String ports) {
    List<InetSocketAddress> hosts = new ArrayList<>();
    for (String port : ports.split(",")) hosts.add(new InetSocketAddress("127.0.0.1", Integer.parseInt(port)));
    JGroupsTransport transport = (JGroupsTransport) GlobalComponentRegistry.componentOf(manager, Transport.class);
    TCPPING discovery = transport.getChannel().getProtocolStack().findProtocol(TCPPING.class);
    discovery.setInitialHosts(hosts);
  }

  private static void answer(String line) {
    System.out.println(line);
    System.out.flush();
  }
}
