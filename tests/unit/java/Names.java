/* Code of every kind that names differ in, all of it compiled: says "ready" once it is, and stays until its input ends. */
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntBinaryOperator;
import java.util.function.Supplier;

public class Names {
	static long sum;

	static class Size {
		static long größe𝒳(int[][] werte, Map.Entry<String, Long> eintrag, boolean... ja) {
			return werte[0].length + eintrag.getValue() + ja.length;
		}
	}

	static int leaf(int x) {
		return x * 31 + 7;
	}

	static int middle(int x) {
		return leaf(x) ^ leaf(x + 1);
	}

	static int outer(int x) {
		return middle(x) + middle(x * 3);
	}

	static synchronized void locked(int x) {
		sum += outer(x);
	}

	static void thrown(int x) {
		try {
			if (x % 3 == 0)
				throw new IllegalStateException("x");
			sum++;
		} catch (IllegalStateException e) {
			sum += 2;
		}
	}

	static void round(int i, Map<String, Long> map) {
		IntBinaryOperator op = (a, b) -> outer(a) + b;
		Supplier<String> text = () -> "n" + (i & 15);

		locked(i);
		thrown(i);
		sum += op.applyAsInt(i, 2);
		map.merge(text.get(), 1L, Long::sum);
		for (Map.Entry<String, Long> e : map.entrySet())
			sum += Size.größe𝒳(new int[][] { { i } }, e, true, false);
		List<Integer> list = new ArrayList<>();
		for (int k = 0; k < 8; k++)
			list.add(k ^ i);
		sum += list.stream().mapToInt(v -> middle(v)).sum();
	}

	public static void main(String[] args) throws Exception {
		Map<String, Long> map = new HashMap<>();

		for (int i = 0; i < 30000; i++)
			round(i, map);
		System.out.println("ready " + sum);
		System.out.flush();
		while (System.in.read() >= 0)
			sum++;
	}
}
