// tier: test
/* A block's three blobs, {u16 length, bytes} each, under small limits: what is taken is in order and within them, rows and their sums agree,
 * and what rows give is written and read again. */
#include "base/buf.h"
#include "base/mem.h"
#include "store/codec/block.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WINDOWS = 360, MAX_STACK = 100000, PART_FROM = 100, PART_TO = 200 };

static void must(bool truth)
{
	if (!truth)
		abort();
}

static struct cur take_blob(struct cur *in)
{
	size_t len = cur_u16(in);
	len = len < cur_left(in) ? len : cur_left(in);
	return cur_of(cur_take(in, len), len);
}

/* Where totals are sums modulo 2^64, rows of any block can be written again. */
static void write_again(struct block_coder *c, const struct block_row *rows, size_t n,
			const struct block_sums *sums)
{
	struct block_blobs b = { 0 };
	struct block_sums back = { 0 };
	struct block_row *again;
	size_t n_again;
	block_encode(c, rows, n, WINDOWS, false, 1, &b);
	must(block_read_summary(c, b.summary.data, b.summary.len, MAX_STACK, &back, NULL) == 0);
	must(back.n == sums->n);
	must(back.n == 0 || memcmp(back.stack, sums->stack, back.n * sizeof *back.stack) == 0);
	must(back.n == 0 || memcmp(back.total, sums->total, back.n * sizeof *back.total) == 0);
	must(block_read_detail(c, &back, b.detail.data, b.detail.len, WINDOWS, &again, &n_again,
			       NULL) == 0);
	must(n_again == n);
	for (size_t i = 0; i < n; i++)
		must(again[i].stack == rows[i].stack && again[i].window == rows[i].window &&
		     again[i].value == rows[i].value);
	free(again);
	block_sums_done(&back);
	block_blobs_done(&b);
}

static void check_part(const struct block_sums *sums, const struct block_row *rows, size_t n,
		       const int64_t *totals)
{
	size_t i = 0;
	for (uint32_t k = 0; k < sums->n; k++) {
		uint64_t want = 0;
		for (; i < n && rows[i].stack == sums->stack[k]; i++)
			if (rows[i].window >= PART_FROM && rows[i].window < PART_TO)
				want += (uint64_t)rows[i].value;
		must((uint64_t)totals[k] == want);
	}
	must(i == n);
}

static void read_columns(struct block_coder *c, const struct block_sums *sums, struct cur detail,
			 int detail_rc, size_t n)
{
	struct block_columns columns = { 0 };
	int rc = block_read_columns(c, sums, detail.p, cur_left(&detail), WINDOWS, 0, WINDOWS,
				    &columns, NULL);
	/* rows may be sound that are not those of the totals */
	must(rc == 0 || rc == detail_rc);
	for (size_t i = 0; i < columns.n; i++)
		must(columns.stack[i] < MAX_STACK && columns.window[i] < WINDOWS &&
		     columns.value[i]);
	must(detail_rc || columns.n == n);
	block_columns_done(&columns);
}

static void read_detail(struct block_coder *c, const struct block_sums *sums, struct cur detail)
{
	struct block_row *rows = NULL;
	size_t n = 0;
	int64_t *totals = xcalloc(sums->n + 1, sizeof *totals);
	int rc = block_read_detail(c, sums, detail.p, cur_left(&detail), WINDOWS, &rows, &n, NULL);
	int part = block_read_part(c, sums, detail.p, cur_left(&detail), WINDOWS, PART_FROM,
				   PART_TO, totals, NULL);
	/* a part may be sound where another is not */
	must(part == 0 || part == rc);
	read_columns(c, sums, detail, rc, n);
	for (size_t i = 0; i < n; i++)
		must(rows[i].window < WINDOWS && rows[i].value != 0);
	if (rc == 0) {
		check_part(sums, rows, n, totals);
		write_again(c, rows, n, sums);
	}
	free(rows);
	free(totals);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cur in = cur_of(data, size);
	struct cur summary = take_blob(&in), windows = take_blob(&in), detail = take_blob(&in);
	struct block_coder *c = block_coder_new();
	struct block_sums sums = { 0 };
	int64_t window_sums[WINDOWS];
	if (block_read_summary(c, summary.p, cur_left(&summary), MAX_STACK, &sums, NULL) == 0) {
		for (uint32_t i = 0; i < sums.n; i++)
			must(sums.stack[i] < MAX_STACK &&
			     (i == 0 || sums.stack[i - 1] < sums.stack[i]));
		read_detail(c, &sums, detail);
	}
	block_read_windows(c, windows.p, cur_left(&windows), WINDOWS, window_sums, NULL);
	block_sums_done(&sums);
	block_coder_free(c);
	return 0;
}
