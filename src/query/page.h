/* query/page.h: the response to a query as a page in one file (format/html/html.h): with a timeline
 * if possible, with GPU idle times if there are data, and with notes on what is missing.
 *
 *     struct query_page page;
 *     query_page(&q, &tree, is_file, &page, &err);
 *     query_page_opts(&page, &opts);                    then page.p is written
 *     query_page_done(&page); */
#ifndef CRESSET_QUERY_PAGE_H
#define CRESSET_QUERY_PAGE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

struct format_write_opts;
struct query;
struct tree_opts;

/* From a store: PAGE_SAMPLES of a type for a timeline, and of all types for idle times. */
/* limit PAGE_SAMPLES: samples of a type in a page; of all types for idle times */
enum { PAGE_SAMPLES = 1 << 21, PAGE_NOTES = 3 };

struct query_page {
	struct profile *p;
	struct buf idle; /* cresset.gpu-idle (query/gpu/gpu_idle.h); empty: none */
	/* Why it has none; code 0: it has one. no_idle ENODATA: there are no data on GPUs being
	 * busy. */
	struct err no_timeline, no_idle;
	bool ids_missing;            /* query_tree's (query/plan.h) */
	char *notes[PAGE_NOTES + 1]; /* what is missing, and why; NULL-terminated */
};

/* page->p is the profile of query_part (query/part.h) plus query_gpu_tracks: always for a file; for
 * a store if all times are exact, for at most PAGE_SAMPLES and within the memory limit, otherwise
 * without times. For snapshots it is query_part alone. Calls query_page_idle and query_page_notes,
 * too. query_page_done has to be called in any case. */
int query_page(const struct query *q, const struct tree_opts *tree, bool is_file,
	       struct query_page *page, struct err *err);
void query_page_done(struct query_page *page);

/* Fills in only idle times, from gpu_idle_query, for callers that have the profile from elsewhere.
 * If q's type is not of threads (gpu_idle_is_of_threads), q only selects the hosts. An exceeded
 * limit is not a failure, but a reason for a note. */
int query_page_idle(const struct query *q, bool is_file, struct query_page *page, struct err *err);
/* Called when p and the reasons are set. */
void query_page_notes(struct query_page *page);
void query_page_opts(const struct query_page *page, struct format_write_opts *opts);

/* A sentence on what is unknown if there are only sums for a part of the data. */
extern const char query_ids_missing_words[];

#endif
