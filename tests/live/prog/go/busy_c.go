//go:build c

package main

/*
#include <stdlib.h>

extern int backInGo(int);

static int compare(const void *a, const void *b)
{
	return backInGo(*(const int *)a) - backInGo(*(const int *)b);
}

static int sortInC(int n)
{
	int v[] = { n * 7 % 5, n * 3 % 11, n % 13, 4 };
	volatile unsigned sum = 0;
	for (unsigned i = 0; i < 20000; i++)
		sum += i;
	qsort(v, 4, sizeof *v, compare);
	return v[0];
}
*/
import "C"

//export backInGo
func backInGo(n C.int) C.int { return C.int(spin(int(n)*100) & 1023) }

func foreign(n int) int { return int(C.sortInC(C.int(n))) }
