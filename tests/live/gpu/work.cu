/* work MODE SECONDS: work for a GPU, of one kind, for so long; then a line "RATE per second".
 *
 *     decode   a chain of small kernels that depend on each other, as generating a token is: 64 to a round, then a wait
 *     graph    the same as a graph, launched in one call
 *     gemm     products of matrices of 2048 by 2048, 8 to a round
 *     sum      rounds of decode's kernels, each between two events: "NS in N kernels" instead
 *
 * With "ready" as a third word it says so, and waits for a line, before it begins. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

enum { SMALL = 1 << 14, CHAIN = 64, SIDE = 2048, TILE = 16, PRODUCTS = 8 };

#define MUST(call) \
	do { \
		cudaError_t rc = (call); \
		if (rc != cudaSuccess) { \
			fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(rc)); \
			exit(1); \
		} \
	} while (0)

__global__ void layer(float *x, int n, float k)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] = x[i] * k + 0.5f;
}

__global__ void longer(float *x, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float v = i < n ? x[i] : 0;

	for (int k = 0; k < 131072; k++)
		v = v * 0.999f + 0.001f;
	if (i < n)
		x[i] = v;
}

__global__ void product(const float *a, const float *b, float *c)
{
	__shared__ float left[TILE][TILE], right[TILE][TILE];
	int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
	float sum = 0;

	for (int t = 0; t < SIDE / TILE; t++) {
		left[threadIdx.y][threadIdx.x] = a[row * SIDE + t * TILE + threadIdx.x];
		right[threadIdx.y][threadIdx.x] = b[(t * TILE + threadIdx.y) * SIDE + column];
		__syncthreads();
		for (int k = 0; k < TILE; k++)
			sum += left[threadIdx.y][k] * right[k][threadIdx.x];
		__syncthreads();
	}
	c[row * SIDE + column] = sum;
}

static float *memory(size_t n)
{
	float *p;

	MUST(cudaMalloc(&p, n * sizeof *p));
	MUST(cudaMemset(p, 0, n * sizeof *p));
	return p;
}

static double now()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static float *small, *matrix[3];
static cudaStream_t stream;
static cudaGraphExec_t graph;

static void chain()
{
	for (int i = 0; i < CHAIN; i++)
		layer<<<SMALL / 256, 256, 0, stream>>>(small, SMALL, 0.9f);
}

static void capture()
{
	cudaGraph_t made;

	MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	chain();
	MUST(cudaStreamEndCapture(stream, &made));
	MUST(cudaGraphInstantiate(&graph, made, 0));
}

static int round_of(const char *mode)
{
	if (!strcmp(mode, "gemm")) {
		for (int i = 0; i < PRODUCTS; i++)
			product<<<dim3(SIDE / TILE, SIDE / TILE), dim3(TILE, TILE), 0, stream>>>(
				matrix[0], matrix[1], matrix[2]);
	} else if (!strcmp(mode, "graph")) {
		MUST(cudaGraphLaunch(graph, stream));
	} else {
		chain();
	}
	MUST(cudaStreamSynchronize(stream));
	return 1;
}

/* What events say of kernels that are long enough for the events' own time to be little of it. */
static void sum(double seconds)
{
	cudaEvent_t before, after;
	double end = now() + seconds, ns = 0;
	long n = 0;

	MUST(cudaEventCreate(&before));
	MUST(cudaEventCreate(&after));
	for (; now() < end; n++) {
		float ms;

		MUST(cudaEventRecord(before, stream));
		for (int i = 0; i < 16; i++)
			longer<<<2048, 256, 0, stream>>>(small, SMALL);
		MUST(cudaEventRecord(after, stream));
		MUST(cudaEventSynchronize(after));
		MUST(cudaEventElapsedTime(&ms, before, after));
		ns += ms * 1e6;
	}
	printf("%.0f in %ld kernels\n", ns, 16 * n);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "decode";
	double seconds = argc > 2 ? atof(argv[2]) : 1;
	char line[16];
	long n = 0;

	setvbuf(stdout, nullptr, _IOLBF, 0);
	MUST(cudaStreamCreate(&stream));
	small = memory(SMALL);
	for (float *&m : matrix)
		m = memory((size_t)SIDE * SIDE);
	capture();
	round_of(mode); /* the first one loads what it needs */
	if (argc > 3) {
		puts("ready");
		if (!fgets(line, sizeof line, stdin))
			return 0;
	}
	if (!strcmp(mode, "sum")) {
		sum(seconds);
		return 0;
	}
	double from = now(), end = from + seconds;
	while (now() < end)
		n += round_of(mode);
	printf("%.1f per second\n", n / (now() - from));
	return 0;
}
