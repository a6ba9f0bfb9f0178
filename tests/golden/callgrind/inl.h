static inline __attribute__((always_inline)) int sq(int x)
{
	return x * x + 1;
}
