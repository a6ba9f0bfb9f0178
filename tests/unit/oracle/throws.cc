// Exceptions through several frames: caught, thrown on, by cleanups, from constructors, out of a callback of the C library.
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

static volatile int sink;

struct guard {
	int n;
	explicit guard(int n) : n(n) {}
	~guard() { sink = sink + n; }
};
struct fails {
	guard before;
	explicit fails(int n) : before(n)
	{
		if (n > 2)
			throw n;
	}
};

__attribute__((noinline)) static int leaf(int n)
{
	if (n == 0)
		throw std::runtime_error("bottom");
	return n + sink;
}
__attribute__((noinline)) static int dive(int n)
{
	guard g(n);
	return n ? dive(n - 1) + leaf(n) : leaf(0);
}
__attribute__((noinline)) static int passes_on(int n)
{
	try {
		return dive(n);
	} catch (const std::exception &) {
		guard g(1);
		throw;
	}
}
__attribute__((noinline)) static int catches(int n)
{
	try {
		return passes_on(n);
	} catch (const std::runtime_error &e) {
		return e.what()[0];
	}
}
__attribute__((noinline)) static int constructs(int n)
{
	try {
		fails f(n);
		return 1;
	} catch (int v) {
		return v;
	}
}
static int compare(const void *a, const void *b)
{
	int x = *static_cast<const int *>(a), y = *static_cast<const int *>(b);
	if (x == 7)
		throw std::string("seven");
	return x - y;
}
__attribute__((noinline)) static int sorts(int n)
{
	int v[] = { 3, n, 5, 1 };
	try {
		qsort(v, 4, sizeof *v, compare);
	} catch (const std::string &s) {
		return s.size();
	}
	return v[0];
}
struct shape {
	virtual int area(int n) const = 0;
	virtual ~shape() = default;
};
struct square : shape {
	int area(int n) const override { return leaf(n) * n; }
};

int main()
{
	std::vector<std::string> names;
	for (int i = 0; i < 3; i++)
		names.push_back(std::string(20 + i, 'x'));
	shape *s = new square;
	sink = sink + s->area(3) + names.size();
	delete s;
	sink = sink + catches(1) + constructs(1) + constructs(3) + sorts(7);
	return 0;
}
