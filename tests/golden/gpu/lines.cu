/* Two kernels that share inlined functions three deep, a function that is called, and a kernel of a template. */
#include "lib/scale.cuh"

#ifndef SEPARATE
#define SEPARATE 0
#endif

namespace deep
{
#if SEPARATE == 1
__device__ float heavy(float x, int n);
#else
__device__ __noinline__ float heavy(float x, int n)
{
	for (int i = 0; i < n; i++)
		x = bend(x) * x + 0.5f;
	return x;
}
#endif
__device__ __forceinline__ float outer(float x)
{
	return bend(x + 1.0f) - bend(x - 1.0f);
}
}

#if SEPARATE != 2
__global__ void saxpy(float *y, const float *x, float a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = deep::outer(a * x[i]) + deep::heavy(y[i], n);
}

template <typename T> __global__ void sum(T *out, const T *in, int n)
{
	__shared__ T part[64];
	T mine = 0;
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		mine += in[i] + (T)deep::outer((float)i);
	part[threadIdx.x % 64] = mine;
	__syncthreads();
	if (threadIdx.x == 0)
		for (int i = 0; i < 64; i++)
			atomicAdd(out, part[i]);
}
template __global__ void sum<float>(float *, const float *, int);
template __global__ void sum<double>(double *, const double *, int);
#endif
