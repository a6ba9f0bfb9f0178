/* One kernel for each group of instructions, as many kinds as a small file can have. */
#include <cuda_fp16.h>
#include <mma.h>

__global__ void floats(float *f, double *d, __half2 *h, int n)
{
	int i = threadIdx.x;
	f[i] = __expf(f[i]) + __log2f(f[i]) + fminf(f[i], f[i + 1]) + rintf(f[i + 2]) + tanhf(f[i + 3]);
	d[i] = d[i] * d[i + 1] + sqrt(d[i + 2]) - fmax(d[i], d[i + 3]) / d[i + 4] + (double)f[i];
	h[i] = __hfma2(h[i], h[i + 1], h[i + 2]);
	h[i + 3] = __hmax2(__hadd2(h[i], h[i + 3]), __hmul2(h[i], h[i + 4]));
}

__global__ void integers(int *p, unsigned *u, long long *l, int n)
{
	int i = threadIdx.x;
	p[i] = __popc(p[i]) + __clz(p[i + 1]) + __brev(p[i + 2]) + __ffs(p[i + 3]) + max(p[i], n) + abs(p[i + 4]) + p[i + 5] / n;
	u[i] = __funnelshift_l(u[i], u[i + 1], 5) ^ __byte_perm(u[i + 2], u[i + 3], 0x5140) ^ __umulhi(u[i], u[i + 4]) ^ (u[i + 5] % 7);
	l[i] = l[i] * l[i + 1] + (l[i + 2] >> n) + (long long)p[i];
	p[i + 6] = __dp4a(p[i], p[i + 1], p[i + 2]) + (int)(float)u[i] + __vabsdiffu4(u[i], u[i + 1]) + __sad(p[i], p[i + 1], 3u);
}

__global__ void memory(int *g, unsigned long long *l, float *f, int n)
{
	__shared__ int s[128];
	int i = threadIdx.x, local[32];
	for (int j = 0; j < 32; j++)
		local[j] = g[j * n];
	s[i] = local[g[i] & 31];
	__syncthreads();
	atomicAdd(&g[n], s[127 - i]);
	atomicAdd(&s[i & 7], local[i & 31]);
	g[i] = atomicCAS(&g[n + 1], 1, s[i]) + atomicExch(&s[3], 4) + (int)atomicMax(&l[n], l[i]);
	atomicAdd(&f[n], f[i]);
	__threadfence();
	g[i + n] = __ldg(&g[i]) + __ldcg(&g[i + 1]) + (int)clock64() + (int)clock();
	__threadfence_system();
}

__global__ void warps(int *g, int n)
{
	int i = threadIdx.x;
	int v = __shfl_xor_sync(~0u, g[i], 3) + __shfl_down_sync(~0u, g[i + 1], n);
	v += __ballot_sync(~0u, g[i] > n) + __any_sync(~0u, g[i + 2] == n) + __activemask() + __match_any_sync(~0u, v);
#if __CUDA_ARCH__ >= 800
	v += __reduce_add_sync(~0u, v) + __reduce_max_sync(~0u, v);
	asm volatile("cp.async.ca.shared.global [%0], [%1], 16;\ncp.async.commit_group;\ncp.async.wait_group 0;" ::"r"(n), "l"(g));
#endif
	if (v & 1) {
		__syncwarp();
		__nanosleep(20);
	}
	while (v > g[n])
		v -= g[v & 31];
	if (v == 77)
		__trap();
	g[i] = v;
}

__global__ void tensors(__half *a, __half *b, float *c)
{
	using namespace nvcuda::wmma;
	fragment<matrix_a, 16, 16, 16, __half, row_major> fa;
	fragment<matrix_b, 16, 16, 16, __half, col_major> fb;
	fragment<accumulator, 16, 16, 16, float> fc;
	fill_fragment(fc, 0.0f);
	load_matrix_sync(fa, a, 16);
	load_matrix_sync(fb, b, 16);
	mma_sync(fc, fa, fb, fc);
	store_matrix_sync(c, fc, 16, mem_row_major);
}
