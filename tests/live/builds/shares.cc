// As shares.c, with methods and templates: the names are the same without their classes and arguments.
#include <cstdlib>
#include <ctime>
#include <vector>

#define APART __attribute__((noinline))

static volatile unsigned sink;

APART static void work(int n)
{
	for (int i = 0; i < n * 1000; i++)
		sink = sink * 3 + 1;
}
struct part {
	virtual void alpha(int n) = 0;
	virtual ~part() = default;
};
struct half : part {
	APART void alpha(int n) override
	{
		work(5 * n);
		sink = sink + 1;
	}
};
template <class T> APART void gamma_(T n)
{
	std::vector<T> room(n);
	work(3 * n);
	sink = sink + room[n / 2];
}
APART static void beta(int n)
{
	gamma_(n);
	sink = sink + 2;
}
namespace parts
{
APART void delta(int n)
{
	work(2 * n);
	sink = sink + 3;
}
}
APART static void run(part &p, int cpu_ms)
{
	std::clock_t begin = std::clock(), now = begin, before;
	int n = 40;

	while (now - begin < cpu_ms * (CLOCKS_PER_SEC / 1000)) {
		p.alpha(n);
		beta(n);
		parts::delta(n);
		before = now;
		now = std::clock();
		if (now - before < CLOCKS_PER_SEC / 40)
			n *= 2;
	}
	sink = sink + 4;
}

int main(int argc, char **argv)
{
	half h;
	run(h, argc > 1 ? std::atoi(argv[1]) : 5000);
	return 0;
}
