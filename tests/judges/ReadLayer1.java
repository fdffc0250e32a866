import java.nio.file.Files;
import java.nio.file.Path;
import org.batfish.common.topology.Layer1Topology;
import org.batfish.common.util.BatfishObjectMapper;

/** Reads a layer-1 topology as Batfish does, and writes what it took. */
public class ReadLayer1 {
  public static void main(String[] files) throws Exception {
    String text = Files.readString(Path.of(files[0]));
    Layer1Topology read = BatfishObjectMapper.mapper().readValue(text, Layer1Topology.class);
    System.out.println(BatfishObjectMapper.writePrettyString(read));
  }
}
