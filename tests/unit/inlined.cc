// The same in C++: namespaces, templates, lambdas, constructors, virtual functions, exceptions.
#include <stdlib.h>

namespace shop {
struct item {
	int price;
	explicit item(int p) : price(p < 0 ? rand() : p) {}
	virtual ~item() {}
	virtual int total(int n);
	inline int discount(int n) const { return price * n + (n > 3 ? price : n); }
};
int item::total(int n)
{
	int sum = 0;
	for (int i = 0; i < n; i++)
		sum += discount(i);
	return sum;
}
template <class T> struct box {
	T v;
	template <class F> T map(F f) const { return f(v) + f(v + 1); }
};
}
namespace {
inline int hidden(int a)
{
	return a * a + rand();
}
int shown(int a)
{
	return hidden(a) + hidden(a + 1);
}
}
template <class T> T larger(T a, T b)
{
	return a < b ? b : a + (T)hidden(3);
}
static __attribute__((noinline)) int risky(int a)
{
	try {
		if (a > 5)
			throw a;
	} catch (int e) {
		return shown(e);
	}
	return a;
}
int main(int argc, char **)
{
	shop::item one(argc);
	shop::box<long> box = { argc };
	auto add = [argc](long x) { return x * argc + rand(); };
	return one.total(argc) + risky(argc) + larger(argc, 2) + (int)larger(1.5, 2.0 * argc) +
	       (int)box.map(add) + (int)box.map([](long x) { return x + hidden((int)x); });
}
