/* Writes the files of each thread, and the summary. */
#include "format/threads/thread_files.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/mem.h"
#include "format/folded/folded.h"
#include "format/picture/svg.h"
#include "format/threads/thread_account.h"
#include "profile/profile.h"
#include "profile/sink.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

struct thread_writer {
	struct profile *p;
	const char *dir;
	struct format_write_opts opts;
	struct thread_accounts accounts;
	bool *shown;                /* by account */
	struct map names;           /* names in use: hash */
	struct sample_columns part; /* of the current thread */
};

int thread_files_make_dir(const char *dir, struct err *err)
{
	char *path = xstrndup(dir, strlen(dir));
	struct stat st;
	for (char *at = path + 1; *path && *at; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		mkdir(path, 0777); /* failure is reported below */
		*at = '/';
	}
	int rc = mkdir(path, 0777) < 0 && errno != EEXIST ? -errno : 0;
	if (rc == 0 && (stat(path, &st) < 0 || !S_ISDIR(st.st_mode)))
		rc = -ENOTDIR;
	free(path);
	return rc ? err_set(err, -rc, "cannot create the directory %s: %s", dir, strerror(-rc)) : 0;
}

/* --- the samples of one thread --------------------------------------------------------------- */

#define GATHER(field) \
	do { \
		to->field = xreallocarray(NULL, n + 1, sizeof *to->field); \
		for (size_t i = 0; i < n; i++) \
			to->field[i] = from->field[rows[i]]; \
	} while (0)
static void gather_rows(const struct sample_columns *from, const uint32_t *rows, size_t n,
			struct sample_columns *to)
{
	*to = (struct sample_columns){ .n = n, .cap = n };
	GATHER(time_ns);
	GATHER(value);
	if (from->length_ns)
		GATHER(length_ns);
	GATHER(series);
	GATHER(stack);
	GATHER(pid);
	GATHER(tid);
	GATHER(cpu);
	if (from->link)
		GATHER(link);
}

/* --- files ----------------------------------------------------------------------------------- */

static void add_role(struct buf *b, const char *role)
{
	for (size_t i = 0; role[i] && i < THREAD_ROLE_MAX; i++) {
		char c = role[i], lower = c | 0x20;
		bool is_plain = (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') ||
				(i && c == '.') || c == '_' || c == '-';
		buf_addc(b, is_plain ? c : '_');
	}
}

static void add_tid(struct buf *b, uint32_t tid)
{
	if (tid == SAMPLE_NO_ID)
		buf_adds(b, "unknown");
	else
		buf_addu(b, tid);
}

/* Appends "DIR/thread_12_worker". */
static void add_stem(struct thread_writer *w, const struct thread_account *t, struct buf *b)
{
	buf_addf(b, "%s/thread_", w->dir);
	add_tid(b, t->tid);
	buf_addc(b, '_');
	add_role(b, thread_role(w->p, t));
	uint64_t hash = hash_bytes(b->data, b->len);
	if (map_get(&w->names, hash)) /* taken */
		buf_addf(b, "_of_%u", t->pid);
	else
		map_put(&w->names, hash, 1);
}

/* Ends a file opened with out_open; rc is the result of writing it. */
static int finish(struct out *out, int rc, struct err *err)
{
	if (rc == 0)
		return out_commit(out, err);
	out_abort(out);
	return rc;
}

static int write_text(const char *path, const struct buf *text, struct err *err)
{
	struct out out;
	int rc = out_open(&out, path, err);
	return rc ? rc : finish(&out, out_write(&out, text->data, text->len, err), err);
}

static int write_format(const struct thread_writer *w, const struct format *f,
			const struct format_write_opts *opts, const char *stem, struct err *err)
{
	double min_width_px;
	struct out out;
	char *path = xasprintf("%s%s", stem, f->endings[0]);
	int rc = out_open(&out, path, err);
	if (rc == 0)
		rc = finish(&out, format_write_fitting(f, w->p, opts, &out, &min_width_px, err),
			    err);
	free(path);
	return rc;
}

static int write_stacks(struct thread_writer *w, const struct thread_account *t, const char *stem,
			struct err *err)
{
	struct sample_columns all = w->p->samples;
	struct format_write_opts opts = w->opts;
	struct buf title = { 0 };
	buf_adds(&title, "thread ");
	add_tid(&title, t->tid);
	buf_addf(&title, " (%s): %s", thread_role(w->p, t), opts.type);
	opts.title = buf_cstr(&title);
	gather_rows(&all, w->accounts.rows + t->first_row, t->n_rows, &w->part);
	w->p->samples = w->part; /* writers can only be restricted this way */
	int rc = write_format(w, &format_svg, &opts, stem, err);
	if (rc == 0)
		rc = write_format(w, &format_folded, &opts, stem, err);
	w->p->samples = all;
	sample_columns_done(&w->part);
	buf_done(&title);
	return rc;
}

static int write_thread(struct thread_writer *w, const struct thread_account *t, struct err *err)
{
	struct buf stem = { 0 }, path = { 0 }, text = { 0 };
	add_stem(w, t, &stem);
	int rc = write_stacks(w, t, buf_cstr(&stem), err);
	buf_addf(&path, "%s_analysis.txt", buf_cstr(&stem));
	thread_text(w->p, &w->accounts, t, &text);
	if (rc == 0)
		rc = write_text(buf_cstr(&path), &text, err);
	buf_done(&stem);
	buf_done(&path);
	buf_done(&text);
	return rc;
}

static int write_summary(struct thread_writer *w, const char *base, char **path, struct err *err)
{
	struct buf text = { 0 };
	thread_text_summary(w->p, &w->accounts, w->shown, &text);
	*path = xasprintf("%s/%s_%sthread_analysis.txt", w->dir, base,
			  w->accounts.all.n == 1 ? "single_" : "");
	int rc = write_text(*path, &text, err);
	buf_done(&text);
	return rc;
}

/* --- selection of threads and type ----------------------------------------------------------- */

static int compare_busy(const void *a, const void *b, void *ctx)
{
	const struct thread_account *all = ctx;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct thread_account *x = &all[i], *y = &all[k];
	if (x->ns[STATE_ON_CPU] != y->ns[STATE_ON_CPU])
		return x->ns[STATE_ON_CPU] < y->ns[STATE_ON_CPU] ? 1 : -1;
	if (x->life_ns != y->life_ns)
		return x->life_ns < y->life_ns ? 1 : -1;
	return i < k ? -1 : i > k;
}

static void choose_threads(struct thread_writer *w, struct thread_files *out)
{
	size_t n = w->accounts.all.n;
	uint32_t *order = xcalloc(n + 1, sizeof *order);
	w->shown = xcalloc(n + 1, sizeof *w->shown);
	for (size_t i = 0; i < n; i++)
		order[i] = i;
	if (n)
		qsort_r(order, n, sizeof *order, compare_busy, w->accounts.all.v);
	out->threads = n < THREAD_FILES_MAX ? n : THREAD_FILES_MAX;
	out->left_out = n - out->threads;
	for (size_t i = 0; i < out->threads; i++)
		w->shown[order[i]] = true;
	free(order);
}

static int choose_type(struct thread_writer *w, struct err *err)
{
	uint32_t type = profile_pick_type(w->p, "wall");
	if (w->opts.type || type == UINT32_MAX) {
		int rc = format_pick_type(w->p, w->opts.type, &type, err);
		if (rc)
			return rc;
	}
	w->opts.type = profile_str(w->p, w->p->series.types.v[type].sample_type);
	return 0;
}

int thread_files_write(struct profile *p, const char *dir, const char *base,
		       const struct format_write_opts *opts, struct thread_files *out,
		       struct err *err)
{
	struct thread_writer w = { .p = p, .dir = dir, .opts = *opts };
	*out = (struct thread_files){ 0 };
	int rc = thread_files_make_dir(dir, err);
	if (rc == 0)
		rc = choose_type(&w, err);
	if (rc)
		return rc;
	thread_accounts_make(p, &w.accounts);
	choose_threads(&w, out);
	for (size_t i = 0; rc == 0 && i < w.accounts.all.n; i++)
		if (w.shown[i])
			rc = write_thread(&w, &w.accounts.all.v[i], err);
	if (rc == 0)
		rc = write_summary(&w, base, &out->summary, err);
	thread_accounts_done(&w.accounts);
	map_done(&w.names);
	free(w.shown);
	return rc;
}
