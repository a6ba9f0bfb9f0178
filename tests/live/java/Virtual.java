// Virtual SECONDS: virtual threads that work and yield, until the process has used that much CPU time. Each is thawed with only its innermost
// frames: a stub is where the others would be.
import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;

public class Virtual {
	static final OperatingSystemMXBean PROCESS =
		ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
	static volatile long sink;
	static volatile boolean over;

	static int burn(int n) {
		int h = 7;
		for (int i = 0; i < n; i++) {
			h = h * 31 + (i ^ h >>> 3);
		}
		return h;
	}

	static int deep(int left) {
		return left > 0 ? deep(left - 1) + 1 : burn(60000);
	}

	// Parameters are on the stack while it is interpreted.
	static void work(long one, long other, int depth) {
		while (!over) {
			sink += deep(depth) + one - other;
			Thread.yield();
		}
	}

	public static void main(String[] args) throws Exception {
		double seconds = Double.parseDouble(args[0]);
		Thread[] threads = new Thread[4];
		for (int i = 0; i < threads.length; i++) {
			threads[i] = Thread.ofVirtual().start(() -> work(1, 2, 20));
		}
		while (PROCESS.getProcessCpuTime() < 1e9 * seconds) {
			Thread.sleep(20);
		}
		over = true;
		for (Thread t : threads) {
			t.join();
		}
	}
}
