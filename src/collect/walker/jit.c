/* Holds samples until the names of their generated code are known. */
#include "collect/walker/jit.h"

#include "base/clock.h"
#include "base/mem.h"
#include "collect/proc/proc_stat.h"
#include "collect/process/image.h"
#include "collect/process/object.h"
#include "collect/process/object_name.h"
#include "collect/process/process.h"
#include "collect/process/symbolize.h"
#include "collect/walker/account.h"
#include "collect/worker/code_worker.h"
#include "collect/worker/helper.h"
#include "profile/frame.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

struct pending {
	struct sample sample; /* its stack is not known yet */
	uint32_t part;        /* enum account_part */
	uint32_t n;
	uint32_t tries; /* responses without all of its names */
	uint64_t stack[];
};

void jit_table_init(struct jit_table *t, struct sink *sink, struct accounts *accounts,
		    struct object_table *objects, struct map *leaf_samples, struct helper *helper)
{
	*t = (struct jit_table){ .sink = sink,
				 .accounts = accounts,
				 .objects = objects,
				 .leaf_samples = leaf_samples,
				 .unnamed_frame = FRAME_NONE,
				 .helper = helper,
				 .worker.fd = -1 };
}

void jit_table_set_sink(struct jit_table *t, struct sink *sink)
{
	t->sink = sink;
	t->unnamed_frame = FRAME_NONE;
}

static void jit_free(struct jit *j)
{
	if (j->process)
		j->process->jit = NULL;
	buf_done(&j->pending);
	buf_done(&j->asked);
	vec_done(&j->frames);
	free(j);
}

void jit_table_done(struct jit_table *t)
{
	for (size_t i = 0; i < t->all.n; i++)
		jit_free(t->all.v[i]);
	vec_done(&t->all);
	vec_done(&t->sent);
	left_alone_done(&t->left_users);
	stream_close(&t->worker);
	helper_free(t->own_helper);
}

enum { MAX_TRIES = 1 }; /* responses beyond the first that a sample waits for */

/* --- passing on ------------------------------------------------------------------------------- */

static uint32_t jit_frame(struct jit_table *t, const char *name)
{
	struct frame f = {
		.kind = FRAME_JIT,
		.mapping = MAPPING_NONE,
		.function = sink_string(t->sink, name),
	};

	return t->sink->ops->frame(t->sink, &f);
}

static uint32_t unnamed_frame(struct jit_table *t)
{
	if (t->unnamed_frame == FRAME_NONE)
		t->unnamed_frame = jit_frame(t, "[anon]");
	return t->unnamed_frame;
}

/* Returns the frame of a response; without one it has no name. */
static uint32_t answered_frame(struct jit_table *t, const struct jit *j, size_t i)
{
	uint32_t frame = i < j->frames.n ? j->frames.v[i] : FRAME_NONE;

	return frame == FRAME_NONE ? unnamed_frame(t) : frame;
}

static void hand_over(struct jit_table *t, const struct jit *j, struct pending *p, size_t answer,
		      uint32_t *frames)
{
	for (uint32_t i = 0; i < p->n; i++)
		frames[i] = p->stack[i] & JIT_ADDRESS ? answered_frame(t, j, answer++)
						      : (uint32_t)p->stack[i];
	p->sample.stack = t->sink->ops->stack(t->sink, frames, p->n);
	account_sample(t->accounts, &p->sample, p->part);
	if (p->n)
		leaf_count(t->leaf_samples, frames[p->n - 1]);
}

static uint32_t addresses_of(const struct pending *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n; i++)
		n += (p->stack[i] & JIT_ADDRESS) != 0;
	return n;
}

static uint32_t unnamed_of(const struct jit *j, size_t answer, uint32_t n)
{
	uint32_t unnamed = 0;

	for (size_t i = answer; i < answer + n && i < j->frames.n; i++)
		unnamed += j->frames.v[i] == FRAME_NONE;
	return unnamed;
}

/* A compiler writes its names later than it runs the code, a buffer at a time. So a sample without
 * all of its names waits for another response, if the process writes names at all. */
static bool may_wait(const struct jit_table *t, const struct jit *j, const struct pending *p)
{
	return j->process && j->has_files && !j->given_up && !t->is_settling &&
	       p->tries < MAX_TRIES && t->pending_bytes < JIT_MAX_PENDING_BYTES / 2;
}

static void wait_again(struct jit *j, struct pending *p, size_t answer, size_t bytes)
{
	for (uint32_t i = 0; i < p->n; i++) {
		if (!(p->stack[i] & JIT_ADDRESS))
			continue;
		uint32_t frame = j->frames.v[answer++];
		if (frame != FRAME_NONE)
			p->stack[i] = frame;
	}
	p->tries++;
	buf_add(&j->pending, p, bytes);
}

/* Passes on the samples of a buffer, with the responses so far. Samples that may wait are pending
 * again. */
static void hand_over_all(struct jit_table *t, struct jit *j, struct buf *held, bool is_over)
{
	VEC(uint32_t) frames = { 0 };
	size_t answer = 0, kept = j->pending.len;

	for (size_t at = 0; at < held->len;) {
		struct pending *p = (struct pending *)(held->data + at);
		size_t bytes = sizeof *p + p->n * sizeof p->stack[0];
		uint32_t n = addresses_of(p), unnamed = unnamed_of(j, answer, n);

		vec_reserve(&frames, p->n);
		if (unnamed && !is_over && may_wait(t, j, p)) {
			wait_again(j, p, answer, bytes);
		} else {
			j->passed += j->has_files ? 0 : unnamed;
			hand_over(t, j, p, answer, frames.v);
		}
		answer += n;
		at += bytes;
	}
	vec_done(&frames);
	t->pending_bytes -= held->len - (j->pending.len - kept);
	buf_done(held);
}

static uint32_t count_addresses(const struct buf *held)
{
	uint32_t n = 0;

	for (size_t at = 0; at < held->len;) {
		const struct pending *p = (struct pending *)(held->data + at);

		n += addresses_of(p);
		at += sizeof *p + p->n * sizeof p->stack[0];
	}
	return n;
}

/* is_over: no sample waits for another response. */
static void hand_over_asked(struct jit_table *t, struct jit *j, bool is_over)
{
	uint32_t n = count_addresses(&j->asked);

	if (n > j->frames.n)
		t->sink->ops->loss(t->sink, LOSS_CODE_UNREAD, n - j->frames.n);
	hand_over_all(t, j, &j->asked, is_over);
	vec_done(&j->frames);
	j->n_asks = 0;
}

/* Sends a message about a process to the worker, which is there. */
static void send_about(struct jit_table *t, const struct jit *j, enum code_message type,
		       const void *payload, size_t len)
{
	if (!t->sent.n)
		t->progress_ns = clock_mono_ns();
	vec_push(&t->sent, (struct jit_sent){ j->id, j->uid, type });
	t->n_asked += type == CODE_ASK;
	stream_put(&t->worker, type, payload, len, -1);
}

static void forget(struct jit_table *t, struct jit *j)
{
	for (size_t i = 0; i < t->all.n; i++)
		if (t->all.v[i] == j)
			t->all.v[i] = t->all.v[--t->all.n];
	if (j->is_told && stream_is_open(&t->worker))
		send_about(t, j, CODE_CLOSE, &j->id, sizeof j->id);
	jit_free(j);
}

static void forget_if_over(struct jit_table *t, struct jit *j)
{
	if (!j->process && !j->asked.len && !j->pending.len)
		forget(t, j);
}

/* --- the worker ------------------------------------------------------------------------------- */

enum { MAX_DEATHS = 3 }; /* a worker may die of something else */

static bool has_worker(struct jit_table *t)
{
	if (stream_is_open(&t->worker))
		return true;
	if (!t->helper && helper_new(&t->own_helper) == 0)
		t->helper = t->own_helper;
	int fd = t->helper ? helper_start(t->helper, HELPER_CODE) : -1;
	if (fd < 0)
		return false;
	stream_open(&t->worker, fd, CODE_MAX_TO_COLLECTOR);
	return true;
}

/* Finds where the process has its dump mapped. This also shows whose code a forked child
 * inherited. */
static const struct object *find_dump(const struct jit_table *t, const struct process *p,
				      struct code_process_head *h)
{
	for (size_t i = 0; p->image && i < p->image->maps.n; i++) {
		const struct image_map *m = &p->image->maps.v[i];
		const struct object *o = t->objects->all.v[m->object];

		if (!object_name_is_jitdump(o->name))
			continue;
		h->has_dump = true;
		h->start = m->start;
		h->end = m->end;
		h->pgoff = m->pgoff;
		h->maj = o->maj;
		h->min = o->min;
		h->ino = o->ino;
		return o;
	}
	return NULL;
}

static bool is_left_alone(struct jit_table *t, const struct jit *j)
{
	return j->is_left || left_alone_has(&t->left_users, j->uid, clock_mono_ns(), false);
}

/* Not of a process that is left alone: the worker would look at its files. */
static void tell(struct jit_table *t, struct jit *j)
{
	struct code_process_head head = {
		.id = j->id,
		.pid = j->pid,
		.is_raw = t->is_raw,
		.parent = j->process ? j->process->parent : 0,
		.begun_ns = j->begun_ns,
	};
	struct buf b = { 0 };

	if (!j->process || (j->is_told && j->has_dump) || is_left_alone(t, j) || !has_worker(t))
		return;
	const struct object *dump = find_dump(t, j->process, &head);
	if (j->is_told && !dump)
		return;
	buf_add(&b, &head, sizeof head);
	if (dump)
		buf_add(&b, dump->name, strnlen(dump->name, CODE_MAX_PATH - 1));
	send_about(t, j, CODE_PROCESS, b.data, b.len);
	buf_done(&b);
	j->is_told = true;
	j->has_dump = dump != NULL;
}

static void send_asks(struct jit_table *t, struct jit *j, struct buf *asks)
{
	struct code_ask_head head = {
		.id = j->id,
		.n = (asks->len - sizeof head) / sizeof(struct code_ask),
		.is_last = !j->process,
		.exec_ns = j->exec_ns,
	};

	memcpy(asks->data, &head, sizeof head);
	send_about(t, j, CODE_ASK, asks->data, asks->len);
	buf_clear(asks);
	buf_add(asks, &head, sizeof head);
}

static void ask_for(struct jit_table *t, struct jit *j, struct buf *asks, const struct pending *p)
{
	for (uint32_t i = 0; i < p->n; i++) {
		struct code_ask ask = { p->stack[i] & ~JIT_ADDRESS, p->sample.time_ns };

		if (!(p->stack[i] & JIT_ADDRESS))
			continue;
		j->n_asks++;
		buf_add(asks, &ask, sizeof ask);
		if (asks->len >= sizeof(struct code_ask_head) + CODE_MAX_ASKS * sizeof ask)
			send_asks(t, j, asks);
	}
}

static void ask_about_asked(struct jit_table *t, struct jit *j)
{
	struct code_ask_head head = { 0 };
	struct buf asks = { 0 };

	tell(t, j);
	j->n_asks = 0;
	buf_add(&asks, &head, sizeof head);
	for (size_t at = 0; at < j->asked.len;) {
		const struct pending *p = (struct pending *)(j->asked.data + at);

		ask_for(t, j, &asks, p);
		at += sizeof *p + p->n * sizeof p->stack[0];
	}
	if (asks.len > sizeof head)
		send_asks(t, j, &asks);
	buf_done(&asks);
}

/* Requests names for pending samples, unless a response is awaited already. */
static void ask(struct jit_table *t, struct jit *j)
{
	if (j->asked.len || !j->pending.len)
		return;
	j->asked = j->pending;
	j->pending = (struct buf){ 0 };
	j->given_up = false;
	if (!is_left_alone(t, j) && (j->is_told || j->process) && has_worker(t)) {
		ask_about_asked(t, j);
		return;
	}
	hand_over_asked(t, j, true);
}

/* --- responses -------------------------------------------------------------------------------- */

static struct jit *find(const struct jit_table *t, uint32_t id)
{
	for (size_t i = 0; i < t->all.n; i++)
		if (t->all.v[i]->id == id)
			return t->all.v[i];
	return NULL;
}

/* Each reading of the same files counts only bad entries beyond those counted before. */
static void count_bad(struct jit_table *t, struct jit *j, const struct code_names_head *h)
{
	uint64_t unread = h->given_up;

	/* Samples that were passed on before the process wrote any name. */
	if (h->has_files) {
		unread += j->passed;
		j->passed = 0;
	}
	j->has_files |= h->has_files != 0;
	j->given_up |= h->given_up != 0;
	if (unread)
		t->sink->ops->loss(t->sink, LOSS_CODE_UNREAD, unread);
	if (h->skipped <= j->skipped)
		return;
	t->sink->ops->loss(t->sink, LOSS_SYMBOLS_SKIPPED, h->skipped - j->skipped);
	j->skipped = h->skipped;
}

/* Takes the names of a response as frames, numbered from 1 on. */
static bool take_names(struct jit_table *t, struct jit *j, const struct stream_message *m)
{
	struct code_names_head h;
	struct cur c = cur_of(m->payload, m->len);
	const void *head = cur_take(&c, sizeof h);
	VEC(uint32_t) names = { 0 };

	if (!head)
		return false;
	memcpy(&h, head, sizeof h);
	const uint8_t *numbers = cur_take(&c, (size_t)h.n * sizeof(uint32_t));
	if (!numbers || h.id != j->id || h.n > j->n_asks - j->frames.n)
		return false;
	for (const char *p = (const char *)c.p, *end = (const char *)c.end; p < end;) {
		size_t len = strnlen(p, end - p);

		if (len == (size_t)(end - p))
			break;
		vec_push(&names, jit_frame(t, p));
		p += len + 1;
	}
	for (uint32_t i = 0; i < h.n; i++) {
		uint32_t number;

		memcpy(&number, numbers + i * sizeof number, sizeof number);
		vec_push(&j->frames,
			 number && number <= names.n ? names.v[number - 1] : FRAME_NONE);
	}
	count_bad(t, j, &h);
	vec_done(&names);
	return true;
}

static void is_served(struct jit_table *t)
{
	t->n_asked -= t->sent.v[0].type == CODE_ASK;
	memmove(t->sent.v, t->sent.v + 1, --t->sent.n * sizeof *t->sent.v);
	t->has_started = false;
}

/* Takes a CODE_BEGIN or CODE_DONE. */
static bool take_report(struct jit_table *t, const struct stream_message *m)
{
	bool begins = m->type == CODE_BEGIN;
	uint32_t id;

	if (m->len != sizeof id || t->has_started == begins)
		return false;
	memcpy(&id, m->payload, sizeof id);
	if (id != t->sent.v[0].id || (!begins && t->sent.v[0].type == CODE_ASK))
		return false;
	if (begins)
		t->has_started = true;
	else
		is_served(t);
	return true;
}

static bool take_answer(struct jit_table *t, const struct stream_message *m)
{
	t->progress_ns = clock_mono_ns();
	if (!t->sent.n)
		return false;
	if (m->type != CODE_NAMES)
		return (m->type == CODE_BEGIN || m->type == CODE_DONE) && take_report(t, m);
	struct jit *j =
		t->has_started && t->sent.v[0].type == CODE_ASK ? find(t, t->sent.v[0].id) : NULL;
	if (!j || !take_names(t, j, m))
		return false;
	is_served(t);
	j->deaths = 0;
	if (j->frames.n < j->n_asks)
		return true;
	hand_over_asked(t, j, false);
	if (!j->process)
		ask(t, j);
	forget_if_over(t, j);
	return true;
}

/* Leaves alone the process at which the worker stalled, or died for the third time, and others of
 * its user for a while. None if the worker had not started with any. */
static void leave_alone(struct jit_table *t, enum helper_end how)
{
	const struct jit_sent *at = t->has_started ? &t->sent.v[0] : NULL;
	struct jit *j = at ? find(t, at->id) : NULL;

	if (!at || (how == HELPER_DIED && (!j || ++j->deaths < MAX_DEATHS)))
		return;
	if (j)
		j->is_left = true;
	if (at->uid)
		left_alone_add(&t->left_users, at->uid, clock_mono_ns(), JIT_LEFT_ALONE_NS);
}

static void forget_sent(struct jit_table *t)
{
	vec_clear(&t->sent);
	t->n_asked = 0;
	t->has_started = false;
}

/* Starts another worker, and repeats requests without a response. */
static void begin_again(struct jit_table *t, enum helper_end how)
{
	leave_alone(t, how);
	helper_end(t->helper, HELPER_CODE, how, &t->worker);
	forget_sent(t);
	for (size_t i = 0; i < t->all.n; i++)
		t->all.v[i]->is_told = t->all.v[i]->has_dump = false;
	for (size_t i = 0; i < t->all.n;) {
		struct jit *j = t->all.v[i];

		vec_clear(&j->frames);
		if (j->asked.len && j->process && !is_left_alone(t, j) && has_worker(t))
			ask_about_asked(t, j);
		else if (j->asked.len)
			hand_over_asked(t, j, true);
		size_t n = t->all.n;
		forget_if_over(t, j);
		i += t->all.n == n;
	}
}

void jit_run(struct jit_table *t)
{
	struct stream_message m;
	bool is_good = true;
	int rc;

	if (!stream_is_open(&t->worker))
		return;
	is_good = stream_flush(&t->worker) == 0;
	do {
		rc = stream_read(&t->worker);
		while (is_good && stream_next(&t->worker, &m) > 0)
			is_good = take_answer(t, &m);
	} while (rc > 0 && is_good);
	is_good = is_good && rc == -EAGAIN && stream_flush(&t->worker) == 0;
	if (!is_good)
		begin_again(t, HELPER_DIED);
	else if (t->sent.n && clock_mono_ns() > t->progress_ns + JIT_STALL_NS)
		begin_again(t, HELPER_STUCK);
}

static void wait_for_answers(struct jit_table *t, uint32_t wait_ms)
{
	uint64_t now_ns = clock_mono_ns(), end_ns = now_ns + wait_ms * 1000000ull;

	jit_run(t);
	while (t->n_asked && stream_is_open(&t->worker) && (now_ns = clock_mono_ns()) < end_ns) {
		short events = POLLIN | (stream_has_more(&t->worker) ? POLLOUT : 0);
		struct pollfd p = { .fd = t->worker.fd, .events = events };

		poll(&p, 1, (end_ns - now_ns + 999999) / 1000000);
		jit_run(t);
	}
}

/* --- interface -------------------------------------------------------------------------------- */

/* ask() may pass samples on immediately, so some may be removed. */
static void ask_each(struct jit_table *t)
{
	for (size_t i = 0; i < t->all.n; i++)
		ask(t, t->all.v[i]);
}

void jit_ask_all(struct jit_table *t, uint32_t wait_ms)
{
	if (!t->all.n)
		return;
	ask_each(t);
	wait_for_answers(t, wait_ms);
}

static void drop_questions(struct jit_table *t)
{
	if (t->n_asked) { /* its responses would be outdated */
		helper_end(t->helper, HELPER_CODE, HELPER_LEFT, &t->worker);
		forget_sent(t);
	}
	for (size_t i = 0; i < t->all.n && !stream_is_open(&t->worker); i++)
		t->all.v[i]->is_told = t->all.v[i]->has_dump = false;
}

void jit_settle(struct jit_table *t, uint32_t wait_ms)
{
	t->is_settling = true;
	jit_ask_all(t, wait_ms);
	drop_questions(t);
	for (size_t i = 0; i < t->all.n;) {
		struct jit *j = t->all.v[i];
		size_t n = t->all.n;

		hand_over_asked(t, j, true);
		j->asked = j->pending;
		j->pending = (struct buf){ 0 };
		hand_over_asked(t, j, true);
		forget_if_over(t, j);
		i += t->all.n == n;
	}
	t->is_settling = false;
}

void jit_close(struct jit_table *t, struct process *p, uint64_t exec_ns)
{
	struct jit *j = p->jit;

	if (!j)
		return;
	tell(t, j);
	j->exec_ns = exec_ns;
	j->process = NULL;
	p->jit = NULL;
	ask(t, j);
	if (stream_is_open(&t->worker))
		stream_flush(&t->worker);
	forget_if_over(t, j);
}

static struct jit *new_jit(struct jit_table *t, struct process *p)
{
	struct jit *j = xcalloc(1, sizeof *j);

	*j = (struct jit){
		.id = ++t->next_id, .process = p, .pid = p->pid, .begun_ns = p->begun_ns
	};
	/* Of one that has ended, its parent's files are read. */
	if (proc_uid(p->pid, &j->uid) && (!p->parent || proc_uid(p->parent, &j->uid)))
		j->uid = 0;
	vec_push(&t->all, j);
	p->jit = j;
	tell(t, j);
	if (stream_is_open(&t->worker))
		stream_flush(&t->worker);
	return j;
}

void jit_hold(struct jit_table *t, struct process *p, const struct sample *s, uint32_t part,
	      const uint64_t *stack, uint32_t n)
{
	struct pending head = { .sample = *s, .part = part, .n = n };
	struct jit *j = p->jit ? p->jit : new_jit(t, p);

	buf_add(&j->pending, &head, sizeof head);
	buf_add(&j->pending, stack, n * sizeof *stack);
	t->pending_bytes += sizeof head + n * sizeof *stack;
	if (t->pending_bytes > 2 * JIT_MAX_PENDING_BYTES)
		jit_settle(t, 0);
	else if (t->pending_bytes > JIT_MAX_PENDING_BYTES)
		jit_ask_all(t, 0);
}
