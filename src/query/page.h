/* query/page.h: the answer to a question for a page in one file (format/html.h): with a timeline where there can be one, why GPUs were idle where anything says
 * so, and in words what is missing.
 *
 *     struct query_page page;
 *     query_page(&q, &tree, is_file, &page, &err);
 *     query_page_opts(&page, &opts);                    then page.p is written
 *     query_page_done(&page); */
#ifndef CRESSET_QUERY_PAGE_H
#define CRESSET_QUERY_PAGE_H

#include "format/format.h"
#include "query/plan.h"

/* Of a store: PAGE_SAMPLES of a type for a timeline, and of all types for idle times. */
enum { PAGE_SAMPLES = 1 << 21, PAGE_NOTES = 3 };

struct query_page {
	struct profile *p;
	struct buf idle; /* cresset.gpu-idle (query/gpu_idle.h); empty: there is none */
	/* Why it has none; code 0 where it has one. Without idle times ENODATA says that nothing tells them. */
	struct err no_timeline, no_idle;
	bool ids_missing;            /* query_tree's (query/plan.h) */
	char *notes[PAGE_NOTES + 1]; /* what is missing, and why; the last is NULL */
};

/* page->p is query_part (query/part.h) with what query_gpu_tracks adds: of a file always, of a store where all times are exact, of at most PAGE_SAMPLES, and
 * within the limits of memory; else without times. Of snapshots query_part alone. Then query_page_idle and query_page_notes. The page is to be done in any case. */
int query_page(const struct query *q, const struct tree_opts *tree, bool is_file,
	       struct query_page *page, struct err *err);
void query_page_done(struct query_page *page);

/* Idle times alone, for who has the profile from elsewhere: those of gpu_idle_query. Where q's type does not say what threads did (gpu_idle_is_of_threads), q
 * chooses the hosts only. What is too much for the limits is no failure, but a reason. */
int query_page_idle(const struct query *q, bool is_file, struct query_page *page, struct err *err);
/* When p and the reasons are there. */
void query_page_notes(struct query_page *page);
void query_page_opts(const struct query_page *page, struct format_write_opts *opts);

/* Of a part of what was asked there are only sums: what is not known then, as a sentence. */
extern const char query_ids_missing_words[];

#endif
