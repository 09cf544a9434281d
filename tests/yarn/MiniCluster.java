import java.io.File;
import java.io.FileOutputStream;
import java.util.Map;
import java.util.Scanner;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/**
 * A NameNode, a ResourceManager and two NodeManagers, until stdin ends. Argument: the folder for their files. A line of
 * stdin is the number of a NodeManager to stop, with all that runs on it.
 */
public class MiniCluster {
  public static void main(String[] arguments) throws Exception {
    File folder = new File(arguments[0]).getAbsoluteFile();
    System.setProperty("test.build.data", folder.getPath());
    System.setProperty("test.build.dir", folder.getPath());
    YarnConfiguration settings = new YarnConfiguration();
    settings.set("hadoop.tmp.dir", new File(folder, "tmp").getPath());
    settings.set("yarn.scheduler.capacity.root.queues", "default");
    settings.set("yarn.scheduler.capacity.root.default.capacity", "100");
    settings.set("yarn.scheduler.capacity.maximum-am-resource-percent", "1.0");
    settings.set("yarn.scheduler.minimum-allocation-mb", "256");
    settings.set("yarn.nodemanager.vmem-check-enabled", "false");
    settings.set("yarn.nodemanager.pmem-check-enabled", "false");
    settings.set("yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage", "99.0");
    // A node that is stopped does not say so here: the ResourceManager has to miss it, also where it ran the master.
    settings.set("yarn.nm.liveness-monitor.expiry-interval-ms", "20000");
    MiniDFSCluster files = new MiniDFSCluster.Builder(settings, new File(folder, "hdfs")).numDataNodes(1).build();
    settings.set("fs.defaultFS", files.getFileSystem().getUri().toString());
    MiniYARNCluster nodes = new MiniYARNCluster("framefold", 2, 1, 1);
    nodes.init(settings);
    nodes.start();
    Configuration written = new Configuration(false);
    for (Map.Entry<String, String> each : nodes.getConfig()) {
      // A class of Hadoop's tests, which a client does not have.
      if (!each.getKey().equals("net.topology.node.switch.mapping.impl")) {
        written.set(each.getKey(), each.getValue());
      }
    }
    written.set("fs.defaultFS", settings.get("fs.defaultFS"));
    for (String name : new String[] {"core-site.xml", "hdfs-site.xml", "yarn-site.xml"}) {
      try (FileOutputStream file = new FileOutputStream(new File(folder, name))) {
        written.writeXml(file);
      }
    }
    System.out.println("ready " + files.getNameNode().getHttpAddress().getHostString() + ":" + files.getNameNode().getHttpAddress().getPort());
    Scanner numbers = new Scanner(System.in);
    while (numbers.hasNextInt()) {
      nodes.getNodeManager(numbers.nextInt()).stop();
    }
    nodes.stop();
    files.shutdown();
  }
}
