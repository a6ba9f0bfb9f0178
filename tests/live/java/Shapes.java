// Shapes SECONDS: threads of known structure, until the process has used that much CPU time. Threads that use a CPU
// measure, by their own CPU clocks, what each of their paths takes; at the end they print
//
//     cpu THREAD NS
//     path THREAD FUNCTION NS     below that function
//
// Shapes SECONDS SHAPE…: some of them, for that time.
import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;

public class Shapes {
	static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();
	static final OperatingSystemMXBean PROCESS =
		ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
	static volatile long sink;
	static volatile boolean over;
	static final Object LOCK = new Object();

	static int burn(int n) {
		int h = 7;
		for (int i = 0; i < n; i++) {
			h = h * 31 + (i ^ h >>> 3);
		}
		return h;
	}

	// --- an inlined chain of three, in two shares ---
	static int inner(int n) {
		return burn(n) + 1;
	}

	static int middle(int n) {
		return inner(n) + 1;
	}

	static int outer(int n) {
		return middle(n) + 1;
	}

	static int heavy(int n) {
		return outer(3 * n);
	}

	static int light(int n) {
		return outer(n);
	}

	static long heavyNs;
	static long lightNs;

	static void chain() {
		long begun = CLOCK.getCurrentThreadCpuTime();
		sink += heavy(40000);
		long between = CLOCK.getCurrentThreadCpuTime();
		sink += light(40000);
		heavyNs += between - begun;
		lightNs += CLOCK.getCurrentThreadCpuTime() - between;
	}

	// --- recursion ---
	static int deep(int left) {
		if (left > 0) {
			return deep(left - 1) + 1;
		}
		return burn(60000);
	}

	static void recurse() {
		sink += deep(300);
	}

	// --- lambdas and a stream ---
	static void lambdas() {
		IntUnaryOperator f = x -> burn(x + 20000);
		sink += f.applyAsInt(1);
		sink += IntStream.range(0, 8).map(x -> burn(10000 + x)).sum();
	}

	// --- a monitor of its own ---
	static synchronized int locked(int n) {
		synchronized (LOCK) {
			return burn(n);
		}
	}

	static void monitor() {
		sink += locked(40000);
	}

	// --- an interface with several implementations, and exceptions ---
	interface Op {
		int apply(int n);
	}

	static class Thrower implements Op {
		public int apply(int n) {
			if (n > 0) {
				throw new IllegalStateException();
			}
			return 0;
		}
	}

	static class Caller implements Op {
		final Op next;

		Caller(Op next) {
			this.next = next;
		}

		public int apply(int n) {
			try {
				return next.apply(n);
			} catch (IllegalStateException e) {
				return burn(n);
			}
		}
	}

	static final Op OPS = new Caller(new Caller(new Thrower()));

	static void interfaces() {
		sink += OPS.apply(40000);
	}

	// --- off the CPU ---
	static void nap() throws InterruptedException {
		Thread.sleep(2);
	}

	static void sleeping() throws InterruptedException {
		nap();
	}

	static void park() {
		LockSupport.parkNanos(2000000);
	}

	static void parking() {
		park();
	}

	static void await() throws InterruptedException {
		Object o = new Object();
		synchronized (o) {
			o.wait(2);
		}
	}

	static void waiting() throws InterruptedException {
		await();
	}

	// --- off the CPU until the end ---
	static int dormant(int left, Body body) throws Exception {
		if (left > 0) {
			return dormant(left - 1, body) + 1;
		}
		body.run();
		return 0;
	}

	static void asleep() throws Exception {
		dormant(20, () -> Thread.sleep(1000000));
	}

	static void parked() throws Exception {
		dormant(10, () -> LockSupport.park(LOCK));
	}

	static void waits() throws Exception {
		Object o = new Object();
		dormant(5, () -> {
			synchronized (o) {
				o.wait();
			}
		});
	}

	// --- threads ---
	interface Body {
		void run() throws Exception;
	}

	static void loop(Body body) throws Exception {
		while (!over) {
			body.run();
		}
	}

	static Thread thread(String name, Body body) {
		Thread t = new Thread(() -> {
			try {
				long begun = CLOCK.getCurrentThreadCpuTime();
				loop(body);
				synchronized (System.out) {
					System.out.println("cpu " + name + " " + (CLOCK.getCurrentThreadCpuTime() - begun));
				}
			} catch (InterruptedException e) {
				assert over;
			} catch (Exception e) {
				e.printStackTrace();
			}
		}, name);
		t.start();
		return t;
	}

	static Thread start(String name) {
		switch (name) {
		case "chain":
			return thread(name, Shapes::chain);
		case "recurse":
			return thread(name, Shapes::recurse);
		case "lambdas":
			return thread(name, Shapes::lambdas);
		case "monitor":
			return thread(name, Shapes::monitor);
		case "interfaces":
			return thread(name, Shapes::interfaces);
		case "asleep":
			return thread(name, Shapes::asleep);
		case "parked":
			return thread(name, Shapes::parked);
		case "waits":
			return thread(name, Shapes::waits);
		case "sleeping":
			return thread(name, Shapes::sleeping);
		case "parking":
			return thread(name, Shapes::parking);
		case "waiting":
			return thread(name, Shapes::waiting);
		default:
			throw new IllegalArgumentException(name);
		}
	}

	static final String[] ALL = { "chain", "recurse", "lambdas", "monitor", "interfaces", "sleeping", "parking", "waiting" };

	public static void main(String[] args) throws Exception {
		List<Thread> threads = new ArrayList<>();
		if (args.length > 1) {
			for (int i = 1; i < args.length; i++) {
				threads.add(start(args[i]));
			}
		} else {
			for (String name : ALL) {
				threads.add(start(name));
			}
		}
		System.out.println("ready");
		double seconds = Double.parseDouble(args[0]);
		if (args.length > 1) {
			Thread.sleep((long) (1000 * seconds));
		} else {
			while (PROCESS.getProcessCpuTime() < 1e9 * seconds) {
				Thread.sleep(20);
			}
		}
		over = true;
		for (Thread t : threads) {
			t.interrupt();
			t.join();
		}
		System.out.println("path chain heavy " + heavyNs);
		System.out.println("path chain light " + lightNs);
	}
}
