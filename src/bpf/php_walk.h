/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/php_walk.h: PHP's frames among the native ones (bpf/php.h): before a call of the loop come
 * the frames that it runs.
 *
 * A walk meets the calls of the loop from the innermost on, and follows PHP's frames at the same
 * time. Their numbers can differ for some instructions at the start and at the end of a call, when
 * its frame exists already, or no longer: then frames of a walk with more than one call are at the
 * wrong one (is_unfit). A fiber has a separate stack, where the walk ends: the frames of its
 * callers are left out.
 *
 * Functions are sent before the first stack that has them: PHP frees a file's functions after its
 * request, closures after their use. All data come from the process. */
#ifndef CRESSET_BPF_PHP_WALK_H
#define CRESSET_BPF_PHP_WALK_H

#include "bpf/maps.h"
#include "bpf/php_code.h"

enum {
	PHP_FRAMES_AT_ONCE = 4, /* in a step */
	PHP_FUNC_WORDS = 32,
	PHP_UNSENT = 16,    /* others are sent with the next stack that has them */
	PHP_SENT_MAX = 500, /* functions that a CPU sends in a second */
	PHP_SKIPPED_MAX = 64,
};

struct php_walk {
	struct php_process process;
	__u64 at; /* the next execute_data; 0: none */
	__u32 tgid;
	__u32 in_group; /* frames of the current call have been taken */
	__u32 n_groups;
	__u32 n_skipped; /* frames without a function, one after the other */
	__u32 is_loop;   /* the native frame is a call of the loop, not code of the JIT */
	__u32 is_cut;    /* there are more, unreadable */
	__u32 is_unfit;
	__u64 frame[8];                   /* PHP_FRAME_BYTES of them */
	__u64 func[PHP_FUNC_WORDS];       /* PHP_FUNC_BYTES of them */
	__u64 name[2], scope[2], file[2]; /* hashes and lengths of their texts */
	/* Functions of the stack that were not sent yet: the address, and the second word of the
	 * frame. */
	__u64 unsent[PHP_UNSENT][2];
	__u32 n_unsent;
	/* The function to be sent, and its place in functions_sent. */
	__u32 slot;
	__u64 mark;
	struct event_function out;
	/* Functions sent in the second since then. */
	__u64 since_ns;
	__u32 n_sent, reserved;
};

/* --- maps ------------------------------------------------------------------------------------- */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PHP_MAX_PROCESSES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32); /* tgid */
	__type(value, struct php_process);
} php_processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SCRATCHES);
	__type(key, __u32);
	__type(value, struct php_walk);
} php_walks SEC(".maps");

/* Functions that were sent, as in seen (bpf/maps.h), but by any CPU. */
enum { FUNCTION_SLOTS = 32768, FUNCTION_SLOTS_OF_ONE = FUNCTION_SLOTS / 2 };
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FUNCTION_SLOTS);
	__type(key, __u32);
	__type(value, __u64);
} functions_sent SEC(".maps");

/* --- functions -------------------------------------------------------------------------------- */

static __always_inline int php_read(void *to, __u32 size, __u64 address)
{
	return bpf_probe_read_user(to, size, (const void *)address) != 0;
}

static __always_inline __u64 php_func_word(const struct php_walk *p, __u16 offset)
{
	return p->func[offset / 8 & (PHP_FUNC_WORDS - 1)];
}

/* Copies a zend_string, of a longer one its first or its last bytes. Returns 0 and sets *out to its
 * length, 0 for NULL; nonzero: it is unreadable, or too long. */
static __always_inline int php_text(char *to, const __u32 max, __u64 string, const int its_end,
				    __u32 *out)
{
	__u64 len = 0, at = string + PHP_STRING_BYTES, n;

	*out = 0;
	if (!string)
		return 0;
	if (php_read(&len, sizeof len, string + PHP_STRING_LENGTH) || len >> 31)
		return 1;
	n = len < max ? len : max;
	if (its_end)
		at += len - n;
	asm volatile("" : "+r"(n));
	if (n > max || php_read(to, n, at))
		return 1;
	*out = len;
	return 0;
}

static __always_inline int php_is_internal(const struct php_walk *p)
{
	return (p->func[PHP_FUNC_TYPE / 8] & 255) == PHP_TYPE_INTERNAL;
}

/* Reads hash and length of a text. They are 0 if it is NULL or unreadable. */
static __always_inline void php_read_text(__u64 out[2], __u64 string)
{
	out[0] = out[1] = 0;
	if (string && php_read(out, 16, string + PHP_STRING_HASH))
		out[0] = out[1] = 0;
}

/* Reads a function into p->func. Returns 0; nonzero: it is none, or unreadable. */
static __always_inline int php_read_func(struct php_walk *p, __u64 func)
{
	__u64 class;
	__u32 type;

	if (func >= USER_MAX || php_read(p->func, PHP_FUNC_HEAD, func))
		return 1;
	type = p->func[PHP_FUNC_TYPE / 8] & 255;
	php_read_text(p->name, p->func[PHP_FUNC_NAME / 8]);
	class = p->func[PHP_FUNC_SCOPE / 8];
	if (class && php_read(&class, sizeof class, class + PHP_CLASS_NAME))
		class = 0;
	php_read_text(p->scope, class);
	p->file[0] = p->file[1] = 0;
	if (type == PHP_TYPE_INTERNAL)
		return 0;
	if ((type != PHP_TYPE_USER && type != PHP_TYPE_EVAL) ||
	    php_read(p->func + PHP_FUNC_HEAD / 8, PHP_FUNC_BYTES - PHP_FUNC_HEAD,
		     func + PHP_FUNC_HEAD))
		return 1;
	php_read_text(p->file, php_func_word(p, p->process.func_file));
	return 0;
}

/* Mixes the addresses of the function's parts, and hashes and lengths of its texts: requests that
 * follow each other have the same addresses. */
static __always_inline __u32 php_stamp_of(const struct php_walk *p)
{
	__u64 h = mix(HASH_SEED, p->func[PHP_FUNC_NAME / 8]);

	h = mix(mix(mix(h, p->name[0]), p->name[1]), p->func[PHP_FUNC_SCOPE / 8]);
	h = mix(mix(h, p->scope[0]), p->scope[1]);
	if (php_is_internal(p))
		return h >> 32;
	h = mix(mix(h, php_func_word(p, p->process.func_file)),
		php_func_word(p, p->process.func_lines));
	return mix(mix(h, p->file[0]), p->file[1]) >> 32;
}

/* The first word of a frame. Closures are copies of a function, with the same instructions. */
static __always_inline __u64 php_what(const struct php_walk *p, __u64 func)
{
	if (php_is_internal(p))
		return runtime_frame_what(RUNTIME_PHP, PHP_INTERNAL, func);
	return runtime_frame_what(RUNTIME_PHP, PHP_USER, php_func_word(p, p->process.func_opcodes));
}

/* --- frames ----------------------------------------------------------------------------------- */

/* The line of the instruction at op, 0 if op is not one of the function: in code of the JIT the
 * pointer may be old, or used for something else. */
static __always_inline __u32 php_line(const struct php_walk *p, __u64 op)
{
	__u64 lines = php_func_word(p, p->process.func_lines);
	__u64 last = php_func_word(p, p->process.func_last);
	__u32 line;

	op -= php_func_word(p, p->process.func_opcodes);
	last = p->process.func_last & 4 ? last >> 32 : (__u32)last;
	if (op >= last * PHP_OP_BYTES || op % PHP_OP_BYTES)
		return 0;
	op += php_func_word(p, p->process.func_opcodes);
	if (php_read(&line, sizeof line, op + PHP_OP_LINE) || line < (__u32)lines ||
	    line > lines >> 32)
		return 0;
	return line;
}

/* A frame's pointer to its instruction is written before a call; a leaf in the loop has it in r15.
 * Without any it is the line that the function starts at. */
static __always_inline __u32 php_line_of(const struct walk *w, const struct php_walk *p,
					 int is_leaf)
{
	__u32 line = is_leaf ? php_line(p, w->regs[0]) : 0;

	line = line ? line : php_line(p, p->frame[PHP_FRAME_OPLINE / 8]);
	return line ? line : (__u32)php_func_word(p, p->process.func_lines);
}

/* Sets slot and mark. Returns the mark of the slot, NULL without the map. */
static __always_inline __u64 *php_sent(struct php_walk *p, __u32 index, __u64 what, __u64 place)
{
	__u64 hash = mix(mix(mix(HASH_SEED, p->tgid), what), RUNTIME_STAMP_OF(place));

	p->slot = (hash & (FUNCTION_SLOTS_OF_ONE - 1)) +
		  (index == SCRATCH_SAMPLE ? 0 : FUNCTION_SLOTS_OF_ONE);
	p->mark = hash ^ seen_epoch << 48;
	return bpf_map_lookup_elem(&functions_sent, &p->slot);
}

/* Remembers the function if it was not sent yet. In a recursion it comes once. */
static __always_inline void php_note(struct php_walk *p, __u32 index, __u64 func, __u64 what,
				     __u64 place)
{
	__u64 *sent = php_sent(p, index, what, place);
	__u32 n = LOAD(p->n_unsent);

	if (!sent || *sent == p->mark || n >= PHP_UNSENT ||
	    (n && p->unsent[(n - 1) & (PHP_UNSENT - 1)][0] == func))
		return;
	p->unsent[n & (PHP_UNSENT - 1)][0] = func;
	p->unsent[n & (PHP_UNSENT - 1)][1] = place;
	p->n_unsent = n + 1;
}

/* Appends the function that was read. */
static __always_inline void php_append(struct walk *w, struct php_walk *p, __u32 index, __u64 func,
				       __u32 line)
{
	__u64 what = php_what(p, func), place = runtime_frame_place(php_stamp_of(p), line);

	w->has_address = w->has_inline = 1;
	if (w->max < w->most)
		w->max++; /* it is one frame */
	append(w, what);
	walk_put(w, place);
	php_note(p, index, func, what, place);
}

static __always_inline int php_unread(struct php_walk *p)
{
	p->is_cut = 1;
	p->at = 0;
	return 1;
}

/* Takes one frame. Returns nonzero if the call of the loop has no more of them. A global function:
 * verified once. */
__weak int php_take(__u32 index)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &index);
	struct php_walk *p = bpf_map_lookup_elem(&php_walks, &index);
	struct walk *w;
	__u64 func;

	if (!use_runtimes || !s || !p)
		return 1;
	w = &s->walk;
	if (!p->at) {
		p->is_unfit |= !p->in_group && p->n_groups && !p->is_cut;
		return 1;
	}
	if (php_read(p->frame, PHP_FRAME_BYTES, p->at))
		return php_unread(p);
	p->at = p->frame[PHP_FRAME_PREV / 8];
	func = p->frame[PHP_FRAME_FUNC / 8];
	p->in_group = 1;
	if (!func) { /* a frame that PHP itself needs, as for generators */
		p->n_skipped++;
		return p->n_skipped > PHP_SKIPPED_MAX && php_unread(p);
	}
	if (php_read_func(p, func))
		return php_unread(p);
	p->n_skipped = 0;
	if (php_is_internal(p)) {
		php_append(w, p, index, func, 0);
		return 0;
	}
	php_append(w, p, index, func, php_line_of(w, p, p->is_loop && w->exact && !w->n));
	return ((__u32)p->frame[PHP_FRAME_INFO / 8] & PHP_INFO_TOP) != 0;
}

enum php_stepped { PHP_STEPPED = 0, PHP_OVER = 1, PHP_NOT_MINE = 2 };

static __always_inline int php_step(__u32 index, struct walk *w, struct php_walk *p,
				    __u32 has_table)
{
	__u64 pc = walk_pc(w);
	int is_loop = php_is_loop(&p->process, pc);

	p->is_loop = is_loop;
	if (!is_loop && (has_table || !php_is_jit(w, &p->process, pc)))
		return PHP_NOT_MINE;
	for (int i = 0; i < PHP_FRAMES_AT_ONCE; i++) {
		if (w->n + 2 > w->max)
			return walk_over(w, WALK_DEPTH);
		if (!php_take(index))
			continue;
		p->n_groups += p->in_group;
		p->in_group = 0;
		if (!is_loop)
			php_leave_jit(w, &p->process);
		return PHP_NOT_MINE;
	}
	return PHP_STEPPED;
}

/* --- a walk ----------------------------------------------------------------------------------- */

/* Prepares for the frames of a process; returns nonzero if it has such. A global function, as the
 * next ones: verified once. */
__weak int php_begin(__u32 index, __u32 tgid)
{
	struct php_walk *p = bpf_map_lookup_elem(&php_walks, &index);
	const struct php_process *process = bpf_map_lookup_elem(&php_processes, &tgid);

	if (!use_runtimes || !p || !process)
		return 0;
	p->process = *process;
	p->tgid = tgid;
	p->in_group = p->n_groups = p->n_skipped = p->is_cut = p->is_unfit = p->n_unsent = 0;
	if (php_read(&p->at, sizeof p->at, p->process.current))
		p->at = 0;
	return 1;
}

/* Before a native frame: appends PHP's frames of it. has_table: the frame's code is known to have a
 * table. Returns enum php_stepped; PHP_STEPPED: there may be more. */
__weak int php_frames(__u32 index, __u32 has_table)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &index);
	struct php_walk *p = bpf_map_lookup_elem(&php_walks, &index);

	if (!use_runtimes || !s || !p)
		return PHP_NOT_MINE;
	return php_step(index, &s->walk, p, has_table);
}

/* Passes frames without a function at the end of the chain: before PHP 8.2 a call from C has one
 * below it. */
static __always_inline void php_pass_empty(struct php_walk *p)
{
	for (int i = 0; i < 2; i++) {
		if (!p->at || php_read(p->frame, PHP_FRAME_BYTES, p->at) ||
		    p->frame[PHP_FRAME_FUNC / 8])
			return;
		p->at = p->frame[PHP_FRAME_PREV / 8];
	}
}

/* After a walk. Returns bits of the stack's flags. */
__weak int php_flags(__u32 index)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &index);
	struct php_walk *p = bpf_map_lookup_elem(&php_walks, &index);

	if (!use_runtimes || !s || !p)
		return 0;
	php_pass_empty(p);
	if (s->walk.end == WALK_COMPLETE && p->at && p->n_groups)
		p->is_unfit = 1;
	if (p->is_cut)
		count(COUNT_PYTHON_UNREAD);
	return (p->is_cut ? STACK_PHP_CUT : 0) | (p->is_unfit ? STACK_PHP_UNFIT : 0);
}

/* --- functions for user space ----------------------------------------------------------------- */

/* Returns nonzero if a text cannot be read now. */
static __always_inline int php_fill(struct php_walk *p, __u64 what, __u32 stamp)
{
	struct event_function *out = &p->out;
	__u64 scope = p->func[PHP_FUNC_SCOPE / 8], class = 0;

	out->kind = EVENT_FUNCTION;
	out->tgid = p->tgid;
	out->what = what;
	out->stamp = stamp;
	out->line = out->file_len = 0;
	if ((scope && php_read(&class, sizeof class, scope + PHP_CLASS_NAME)) ||
	    php_text(out->scope, FUNCTION_NAME, class, 0, &out->scope_len) ||
	    php_text(out->name, FUNCTION_NAME, p->func[PHP_FUNC_NAME / 8], 0, &out->name_len))
		return 1;
	if (php_is_internal(p))
		return 0;
	out->line = (__u32)php_func_word(p, p->process.func_lines);
	return php_text(out->file, FUNCTION_FILE, php_func_word(p, p->process.func_file), 1,
			&out->file_len);
}

static __always_inline int php_may_send(struct php_walk *p)
{
	__u64 now_ns = bpf_ktime_get_ns();

	if (now_ns - p->since_ns > 1000000000) {
		p->since_ns = now_ns;
		p->n_sent = 0;
	}
	return p->n_sent++ < PHP_SENT_MAX;
}

/* Prepares to send a function of the stack, and marks it as sent. Returns whether it still is one,
 * and was not sent before. A global function: verified once. */
__weak int php_prepare(__u32 index, __u32 i)
{
	struct php_walk *p = bpf_map_lookup_elem(&php_walks, &index);
	__u64 func, place, what, *sent;

	if (!use_runtimes || !p || bpf_get_current_pid_tgid() >> 32 != p->tgid || !php_may_send(p))
		return 0;
	func = p->unsent[i & (PHP_UNSENT - 1)][0];
	place = p->unsent[i & (PHP_UNSENT - 1)][1];
	if (php_read_func(p, func) || php_stamp_of(p) != RUNTIME_STAMP_OF(place))
		return 0;
	what = php_what(p, func);
	sent = php_sent(p, index, what, place);
	if (!sent || *sent == p->mark || php_fill(p, what, RUNTIME_STAMP_OF(place)))
		return 0;
	*sent = p->mark;
	return 1;
}

/* The last one was refused. */
__weak int php_refused(__u32 index)
{
	struct php_walk *p = bpf_map_lookup_elem(&php_walks, &index);
	__u64 *sent;

	if (!use_runtimes || !p)
		return 0;
	sent = bpf_map_lookup_elem(&functions_sent, &p->slot);
	if (sent)
		*sent = 0;
	return 0;
}

/* Sends the functions of the last stack that were not sent before. */
static __always_inline void php_send(struct scratch *s, const enum sender from)
{
	struct php_walk *p = bpf_map_lookup_elem(&php_walks, &s->index);

	if (!p)
		return;
	for (__u32 i = 0; i < PHP_UNSENT; i++) {
		if (i >= LOAD(p->n_unsent))
			break;
		if (php_prepare(s->index, i) &&
		    bpf_ringbuf_output(ring_of(from), &p->out, sizeof p->out, BPF_RB_NO_WAKEUP)) {
			php_refused(s->index);
			break;
		}
	}
	p->n_unsent = 0;
}

#endif
