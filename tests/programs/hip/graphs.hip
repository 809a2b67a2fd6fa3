/* SPDX-License-Identifier: MIT */
/* graphs: captured from streams that fork and join, built node by node, changed after they were made, launched more
 * than once. */
#include "check.h"

static const int n = 2048;

__global__ void add(int *x, int value)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] += value;
}

__global__ void multiply(int *x, int value)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] *= value;
}

__global__ void combine(int *out, const int *a, const int *b)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = a[i] - b[i];
}

static void captured()
{
	hipStream_t stream, other;
	hipEvent_t fork, join;
	hipGraph_t graph;
	hipGraphExec_t exec;
	hipStreamCaptureStatus status;
	size_t nodes = 0;
	Buffer<int> a(n), b(n), out(n);
	std::vector<int> in(n), want(n), result(n);

	for (int i = 0; i < n; i++)
		in[i] = i;
	HIP_CHECK(hipStreamCreate(&stream));
	HIP_CHECK(hipStreamCreate(&other));
	HIP_CHECK(hipEventCreate(&fork));
	HIP_CHECK(hipEventCreate(&join));
	HIP_CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
	HIP_CHECK(hipStreamIsCapturing(stream, &status));
	EXPECT(status == hipStreamCaptureStatusActive);
	HIP_CHECK(hipMemcpyAsync(a.data, in.data(), n * sizeof(int), hipMemcpyHostToDevice, stream));
	HIP_CHECK(hipEventRecord(fork, stream));
	HIP_CHECK(hipStreamWaitEvent(other, fork, 0));
	HIP_CHECK(hipMemsetAsync(b.data, 0, n * sizeof(int), other));
	add<<<n / 256, 256, 0, other>>>(b.data, 3);
	multiply<<<n / 256, 256, 0, other>>>(b.data, 5);
	HIP_CHECK(hipEventRecord(join, other));
	multiply<<<n / 256, 256, 0, stream>>>(a.data, 2);
	HIP_CHECK(hipStreamWaitEvent(stream, join, 0));
	combine<<<n / 256, 256, 0, stream>>>(out.data, a.data, b.data);
	HIP_CHECK(hipMemcpyAsync(result.data(), out.data, n * sizeof(int), hipMemcpyDeviceToHost, stream));
	HIP_CHECK(hipStreamEndCapture(stream, &graph));
	LAUNCHED();
	HIP_CHECK(hipGraphGetNodes(graph, nullptr, &nodes));
	EXPECT(nodes == 7);
	HIP_CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < n; i++) {
			in[i] = i + round;
			result[i] = -1;
			want[i] = 2 * in[i] - 15;
		}
		HIP_CHECK(hipGraphLaunch(exec, stream));
		HIP_CHECK(hipStreamSynchronize(stream));
		expect_same("captured", result, want);
	}
	HIP_CHECK(hipGraphExecDestroy(exec));
	HIP_CHECK(hipGraphDestroy(graph));
	HIP_CHECK(hipEventDestroy(fork));
	HIP_CHECK(hipEventDestroy(join));
	HIP_CHECK(hipStreamDestroy(other));
	HIP_CHECK(hipStreamDestroy(stream));
}

static void called(void *data)
{
	++*(int *)data;
}

static hipGraphNode_t kernel_node(hipGraph_t graph, const std::vector<hipGraphNode_t> &after, void *function, void **args)
{
	hipKernelNodeParams params = {};
	hipGraphNode_t node;

	params.func = function;
	params.gridDim = dim3(n / 256);
	params.blockDim = dim3(256);
	params.kernelParams = args;
	HIP_CHECK(hipGraphAddKernelNode(&node, graph, after.data(), after.size(), &params));
	return node;
}

/* memset -> add -> multiply -> copy to the host -> a call on the host, and an empty node in between */
static void built()
{
	hipStream_t stream;
	hipGraph_t graph;
	hipGraphExec_t exec;
	hipGraphNode_t set, plus, nothing, times, copy, host;
	hipMemsetParams memset_params = {};
	hipHostNodeParams host_params = {};
	hipKernelNodeParams new_params = {};
	Buffer<int> x(n);
	std::vector<int> result(n);
	int calls = 0, seven = 7, three = 3, eleven = 11;
	size_t roots = 0;
	void *plus_args[] = {&x.data, &seven}, *times_args[] = {&x.data, &three}, *new_args[] = {&x.data, &eleven};

	HIP_CHECK(hipStreamCreate(&stream));
	HIP_CHECK(hipGraphCreate(&graph, 0));
	memset_params.dst = x.data;
	memset_params.elementSize = sizeof(int);
	memset_params.value = 2;
	memset_params.width = n;
	memset_params.height = 1;
	HIP_CHECK(hipGraphAddMemsetNode(&set, graph, nullptr, 0, &memset_params));
	plus = kernel_node(graph, {set}, (void *)add, plus_args);
	HIP_CHECK(hipGraphAddEmptyNode(&nothing, graph, &plus, 1));
	times = kernel_node(graph, {nothing}, (void *)multiply, times_args);
	HIP_CHECK(hipGraphAddMemcpyNode1D(&copy, graph, &times, 1, result.data(), x.data, n * sizeof(int),
					  hipMemcpyDeviceToHost));
	host_params.fn = called;
	host_params.userData = &calls;
	HIP_CHECK(hipGraphAddHostNode(&host, graph, &copy, 1, &host_params));
	HIP_CHECK(hipGraphGetRootNodes(graph, nullptr, &roots));
	EXPECT(roots == 1);
	HIP_CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
	for (int round = 1; round <= 2; round++) {
		HIP_CHECK(hipGraphLaunch(exec, stream));
		HIP_CHECK(hipStreamSynchronize(stream));
		expect_same("built", result, std::vector<int>(n, (2 + 7) * 3));
		EXPECT(calls == round);
	}
	new_params.func = (void *)add;
	new_params.gridDim = dim3(n / 256);
	new_params.blockDim = dim3(256);
	new_params.kernelParams = new_args;
	HIP_CHECK(hipGraphExecKernelNodeSetParams(exec, plus, &new_params));
	HIP_CHECK(hipGraphLaunch(exec, stream));
	HIP_CHECK(hipStreamSynchronize(stream));
	expect_same("changed", result, std::vector<int>(n, (2 + 11) * 3));
	HIP_CHECK(hipGraphExecDestroy(exec));
	HIP_CHECK(hipGraphDestroy(graph));
	HIP_CHECK(hipStreamDestroy(stream));
}

/* a graph within a graph, and one made by cloning */
static void nested()
{
	hipStream_t stream;
	hipGraph_t inner, outer, copy;
	hipGraphExec_t exec;
	hipGraphNode_t child, last;
	Buffer<int> x(n);
	int two = 2, five = 5;
	void *add_args[] = {&x.data, &two}, *multiply_args[] = {&x.data, &five};

	HIP_CHECK(hipMemset(x.data, 0, n * sizeof(int)));
	HIP_CHECK(hipStreamCreate(&stream));
	HIP_CHECK(hipGraphCreate(&inner, 0));
	HIP_CHECK(hipGraphCreate(&outer, 0));
	kernel_node(inner, {kernel_node(inner, {}, (void *)add, add_args)}, (void *)multiply, multiply_args);
	HIP_CHECK(hipGraphAddChildGraphNode(&child, outer, nullptr, 0, inner));
	last = kernel_node(outer, {child}, (void *)add, add_args);
	(void)last;
	HIP_CHECK(hipGraphClone(&copy, outer));
	HIP_CHECK(hipGraphInstantiate(&exec, outer, nullptr, nullptr, 0));
	HIP_CHECK(hipGraphLaunch(exec, stream));
	HIP_CHECK(hipStreamSynchronize(stream));
	expect_same("nested", x.get(), std::vector<int>(n, 12));
	HIP_CHECK(hipGraphExecDestroy(exec));
	HIP_CHECK(hipGraphInstantiate(&exec, copy, nullptr, nullptr, 0));
	HIP_CHECK(hipGraphLaunch(exec, stream));
	HIP_CHECK(hipStreamSynchronize(stream));
	expect_same("cloned", x.get(), std::vector<int>(n, (12 + 2) * 5 + 2));
	HIP_CHECK(hipGraphExecDestroy(exec));
	HIP_CHECK(hipGraphDestroy(outer));
	HIP_CHECK(hipGraphDestroy(inner));
	HIP_CHECK(hipStreamDestroy(stream));
}

int main()
{
	captured();
	built();
	nested();
	std::printf("graphs: ok\n");
	return 0;
}
