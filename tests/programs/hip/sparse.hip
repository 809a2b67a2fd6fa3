/* SPDX-License-Identifier: MIT */
/* sparse: the rocSPARSE library against the CPU: products of a sparse matrix in two formats, and a triangular solve. */
#include "check.h"

#include <rocsparse/rocsparse.h>

#include <algorithm>
#include <cmath>

#define SPARSE_CHECK(call)                                                                                             \
	do {                                                                                                           \
		rocsparse_status sparse_status = (call);                                                               \
		if (sparse_status != rocsparse_status_success) {                                                       \
			std::fprintf(stderr, "wrong: %s: %d\n", #call, (int)sparse_status);                            \
			std::exit(1);                                                                                  \
		}                                                                                                      \
	} while (0)

static const int n = 600;

/* small whole numbers, with some rows empty, most short, few long; ones on the diagonal of a lower triangle */
struct Matrix {
	std::vector<int> starts, rows, columns;
	std::vector<double> values;

	explicit Matrix(bool lower)
	{
		Random random(lower);

		starts.push_back(0);
		for (int i = 0; i < n; i++) {
			int length = i % 50 == 7 ? 300 : (int)(random.next() % 6);
			std::vector<int> where;

			for (int k = 0; k < length; k++)
				where.push_back((int)(random.next() % (lower ? i + 1 : n)));
			if (lower)
				where.push_back(i);
			std::sort(where.begin(), where.end());
			where.erase(std::unique(where.begin(), where.end()), where.end());
			for (int j : where) {
				rows.push_back(i);
				columns.push_back(j);
				values.push_back(lower && i == j ? 4 : (double)(random.next() % 9) - 4);
			}
			starts.push_back((int)columns.size());
		}
	}
};

static std::vector<double> whole_numbers(int seed)
{
	std::vector<double> x(n);
	Random random(seed);

	for (double &value : x)
		value = (double)(random.next() % 21) - 10;
	return x;
}

/* y = 3 A x + 2 y: whole numbers, so exact in any order */
static void products(rocsparse_handle handle)
{
	Matrix a(false);
	std::vector<double> x = whole_numbers(5), y = whole_numbers(6), want(n);
	const int count = (int)a.values.size();
	const double alpha = 3, beta = 2;
	Buffer<int> starts(a.starts), rows(a.rows), columns(a.columns);
	Buffer<double> values(a.values), device_x(x), device_y(y);
	rocsparse_mat_descr descr;
	rocsparse_mat_info info;

	for (int i = 0; i < n; i++)
		want[i] = beta * y[i];
	for (int k = 0; k < count; k++)
		want[a.rows[k]] += alpha * a.values[k] * x[a.columns[k]];
	SPARSE_CHECK(rocsparse_create_mat_descr(&descr));
	SPARSE_CHECK(rocsparse_dcsrmv(handle, rocsparse_operation_none, n, n, count, &alpha, descr, values.data, starts.data,
				      columns.data, nullptr, device_x.data, &beta, device_y.data));
	expect_same("csrmv", device_y.get(), want);

	/* rows of like length together: other kernels */
	device_y.put(y);
	SPARSE_CHECK(rocsparse_create_mat_info(&info));
	SPARSE_CHECK(rocsparse_dcsrmv_analysis(handle, rocsparse_operation_none, n, n, count, descr, values.data, starts.data,
					       columns.data, info));
	SPARSE_CHECK(rocsparse_dcsrmv(handle, rocsparse_operation_none, n, n, count, &alpha, descr, values.data, starts.data,
				      columns.data, info, device_x.data, &beta, device_y.data));
	expect_same("csrmv, analysed", device_y.get(), want);
	SPARSE_CHECK(rocsparse_destroy_mat_info(info));

	device_y.put(y);
	SPARSE_CHECK(rocsparse_dcoomv(handle, rocsparse_operation_none, n, n, count, &alpha, descr, values.data, rows.data,
				      columns.data, device_x.data, &beta, device_y.data));
	expect_same("coomv", device_y.get(), want);
	SPARSE_CHECK(rocsparse_destroy_mat_descr(descr));
}

/* A y = 2 x with a lower triangle: work-groups wait for the rows that others solve */
static void solve(rocsparse_handle handle)
{
	Matrix a(true);
	std::vector<double> x = whole_numbers(9), want(n);
	const int count = (int)a.values.size();
	const double alpha = 2;
	Buffer<int> starts(a.starts), columns(a.columns);
	Buffer<double> values(a.values), device_x(x), y(n);
	rocsparse_mat_descr descr;
	rocsparse_mat_info info;
	size_t bytes = 0;

	/* rows of up to 300 entries make the solution grow: keep them small */
	for (int k = 0; k < count; k++)
		if (a.rows[k] != a.columns[k])
			a.values[k] /= 64;
	values.put(a.values);
	for (int i = 0; i < n; i++) {
		double sum = alpha * x[i], diagonal = 1;

		for (int k = a.starts[i]; k < a.starts[i + 1]; k++) {
			if (a.columns[k] == i)
				diagonal = a.values[k];
			else
				sum -= a.values[k] * want[a.columns[k]];
		}
		want[i] = sum / diagonal;
	}
	SPARSE_CHECK(rocsparse_create_mat_descr(&descr));
	SPARSE_CHECK(rocsparse_set_mat_fill_mode(descr, rocsparse_fill_mode_lower));
	SPARSE_CHECK(rocsparse_set_mat_diag_type(descr, rocsparse_diag_type_non_unit));
	SPARSE_CHECK(rocsparse_create_mat_info(&info));
	SPARSE_CHECK(rocsparse_dcsrsv_buffer_size(handle, rocsparse_operation_none, n, count, descr, values.data, starts.data,
						  columns.data, info, &bytes));
	Buffer<char> room(bytes);

	SPARSE_CHECK(rocsparse_dcsrsv_analysis(handle, rocsparse_operation_none, n, count, descr, values.data, starts.data,
					       columns.data, info, rocsparse_analysis_policy_force, rocsparse_solve_policy_auto,
					       room.data));
	SPARSE_CHECK(rocsparse_dcsrsv_solve(handle, rocsparse_operation_none, n, count, &alpha, descr, values.data, starts.data,
					    columns.data, info, device_x.data, y.data, rocsparse_solve_policy_auto, room.data));
	std::vector<double> found = y.get();
	for (int i = 0; i < n; i++)
		EXPECT(std::fabs(found[i] - want[i]) <= 1e-9 * (1 + std::fabs(want[i])));
	SPARSE_CHECK(rocsparse_csrsv_clear(handle, descr, info));
	SPARSE_CHECK(rocsparse_destroy_mat_info(info));
	SPARSE_CHECK(rocsparse_destroy_mat_descr(descr));
}

int main()
{
	rocsparse_handle handle;

	SPARSE_CHECK(rocsparse_create_handle(&handle));
	products(handle);
	solve(handle);
	SPARSE_CHECK(rocsparse_destroy_handle(handle));
	std::printf("sparse: ok\n");
	return 0;
}
