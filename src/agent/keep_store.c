/* Writes received batches to the store, and retries when the disk is full. */
#include "agent/batch_receiver.h"

#include "base/err.h"
#include "base/log.h"
#include "base/vec.h"
#include "format/otlp/otlp_metrics.h"
#include "store/codec/metric_samples.h"

#include <inttypes.h>

/* Turns the host's metrics into points of dict's series. The collector is not trusted: if they are
 * damaged, the samples are stored without them. */
static void read_metrics(struct profile *dict, const struct received_batch *b,
			 struct metric_samples *points)
{
	struct otlp_metrics m = { 0 };
	struct err err = { 0 };

	if (otlp_metrics_decode(b->metrics, b->metrics_bytes, dict, &m, &err) == 0)
		otlp_metrics_points(&m, dict, points);
	else
		log_warn("host metrics dropped: %s", err.text);
	otlp_metrics_done(&m);
}

/* Warns once, until a batch is stored again. */
static void say_expired(struct keep_store *k, uint64_t expired)
{
	if (expired && !k->is_expired)
		log_warn("%" PRIu64
			 " samples and points dropped: older than the retention; check the clock",
			 expired);
	k->is_expired = expired;
}

static int add_batch(void *ctx, struct profile *dict, const struct received_batch *b,
		     struct err *err)
{
	struct keep_store *k = ctx;
	struct metric_samples points = { 0 };
	bool duplicate = false;
	uint64_t expired = 0;

	if (!k->known)
		k->known = store_dict_new(k->store);
	read_metrics(dict, b, &points);
	const struct store_batch batch = { .p = dict,
					   .sender = b->sender,
					   .sequence = b->sequence,
					   .metrics = points.n ? &points : NULL,
					   .expired = &expired,
					   .dict = k->known };
	int rc = store_ingest(k->store, &batch, 1, &duplicate, err);
	vec_done(&points);
	if (rc == 0)
		say_expired(k, expired);
	return rc;
}

static int add_names(void *ctx, struct profile *dict, struct err *err)
{
	struct keep_store *k = ctx;

	return store_add_names(k->store, dict, err);
}

static void end(void *ctx)
{
	struct keep_store *k = ctx;

	store_dict_free(k->known);
	k->known = NULL;
}

struct batch_target keep_in_store(struct keep_store *k)
{
	return (struct batch_target){
		.batch = add_batch, .names = add_names, .end = end, .ctx = k
	};
}
