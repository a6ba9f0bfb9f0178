// Deep FRAMES: works below that many frames of Java, until it is ended.
public class Deep {
	static volatile long sink;

	static int leaf(int n) {
		int h = 7;
		for (int i = 0; i < n; i++) {
			h = h * 31 + (i ^ h >>> 3);
		}
		return h;
	}

	static int deep(int left) {
		return left > 0 ? deep(left - 1) + 1 : leaf(100000);
	}

	public static void main(String[] args) {
		int frames = Integer.parseInt(args[0]) - 3; // main, the outermost deep and the leaf are frames, too
		while (true) {
			sink += deep(frames);
		}
	}
}
