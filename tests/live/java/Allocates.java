// Allocates MIB: objects of known sizes, MIB of each, in each of two ways: one kind after the other, and all of them in turn. It prints "ready", waits for
// a line, allocates, and prints
//
//     FUNCTION BYTES OBJECTS     allocated in that function
//     done
//
// and waits for another line. Objects stay for a moment, so that they are not optimized away.
import java.util.Scanner;

public class Allocates {
	static final Object[] kept = new Object[8];
	static final int SMALL = 32, MEDIUM = 1016, LARGE = 65536, HUGE = (1 << 20) + 16;

	static class Small {
		long first, second;
	}

	static void small(int n) {
		for (int i = 0; i < n; i++) {
			kept[i & 7] = new Small();
		}
	}

	static void medium(int n) {
		for (int i = 0; i < n; i++) {
			kept[i & 7] = new byte[MEDIUM - 16];
		}
	}

	static void large(int n) {
		for (int i = 0; i < n; i++) {
			kept[i & 7] = new byte[LARGE - 16];
		}
	}

	// Of G1 they are outside of TLABs.
	static void huge(int n) {
		for (int i = 0; i < n; i++) {
			kept[i & 7] = new byte[HUGE - 16];
		}
	}

	// A function of its own, compiled before its loop is long: some hundred calls.
	static long[] alone(long each) {
		long[] bytes = new long[4];
		for (; bytes[0] < each; bytes[0] += 4096 * SMALL) {
			small(4096);
		}
		for (; bytes[1] < each; bytes[1] += 512 * MEDIUM) {
			medium(512);
		}
		for (; bytes[2] < each; bytes[2] += 16 * LARGE) {
			large(16);
		}
		for (; bytes[3] < each; bytes[3] += HUGE) {
			huge(1);
		}
		return bytes;
	}

	static long[] mixed(long each) {
		long[] bytes = new long[4];
		for (; bytes[3] < each; bytes[3] += HUGE) {
			for (int i = 0; i < 16; i++) {
				small(2048);
				medium(64);
				large(1);
			}
			huge(1);
			bytes[0] += 16 * 2048 * SMALL;
			bytes[1] += 16 * 64 * MEDIUM;
			bytes[2] += 16 * LARGE;
		}
		return bytes;
	}

	public static void main(String[] args) {
		long each = Long.parseLong(args[0]) << 20;
		Scanner lines = new Scanner(System.in);
		String[] names = { "small", "medium", "large", "huge" };
		int[] sizes = { SMALL, MEDIUM, LARGE, HUGE };

		System.out.println("ready");
		lines.nextLine();
		long[] one = alone(each), two = mixed(each);
		for (int i = 0; i < names.length; i++) {
			System.out.println(names[i] + " " + (one[i] + two[i]) + " " + (one[i] + two[i]) / sizes[i]);
		}
		System.out.println("done");
		lines.nextLine();
	}
}
