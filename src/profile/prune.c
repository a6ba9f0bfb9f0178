/* Compiles the expressions, and cuts stacks. */
#include "profile/prune.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/pattern.h"
#include "profile/profile.h"

#include <stdlib.h>
#include <string.h>

enum frame_fate {
	FATE_STAYS,
	FATE_ENDS, /* stays without its inlined lines, those below it go */
	FATE_GOES, /* and those below it */
};

struct pruning {
	struct profile *p;
	regex_t drop, keep;
	bool has_keep;
	struct buf name;
	uint8_t *fates; /* by frame, enum frame_fate */
	uint32_t *frames;
};

/* --- names ------------------------------------------------------------------------------------ */

static size_t reserved_len(const char *s)
{
	static const char *const reserved[] = { "(anonymous namespace)", "operator()" };
	for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
		if (strncmp(s, reserved[i], strlen(reserved[i])) == 0)
			return strlen(reserved[i]);
	return 0;
}

/* Retains a name without the dot of PowerPC and without its arguments. */
static const char *bare_name(struct buf *b, const char *name)
{
	const char *s = name += *name == '.';
	while (*s && *s != '(' && !reserved_len(s))
		s++;
	while (*s && (*s != '(' || reserved_len(s)))
		s += reserved_len(s) ? reserved_len(s) : 1;
	buf_clear(b);
	buf_add(b, name, s - name);
	return buf_cstr(b);
}

static bool is_dropped(struct pruning *x, uint32_t name)
{
	const char *text = profile_str(x->p, name);
	if (!*text)
		return false;
	text = bare_name(&x->name, text);
	return regexec(&x->drop, text, 0, NULL, 0) == 0 &&
	       !(x->has_keep && regexec(&x->keep, text, 0, NULL, 0) == 0);
}

/* --- frames ----------------------------------------------------------------------------------- */

/* Removes the inlined lines of the frame up to the outermost one that is dropped. */
static enum frame_fate fate_of_lines(struct pruning *x, uint32_t frame, const struct line *lines,
				     uint32_t n)
{
	struct line kept[NAMES_MAX_INLINE];
	for (uint32_t i = n; i-- > 0;) {
		if (!is_dropped(x, x->p->names.functions.v[lines[i].function].name))
			continue;
		if (i == n - 1)
			return FATE_GOES;
		uint32_t n_kept = n - i - 1;
		memcpy(kept, lines + i + 1, n_kept * sizeof *kept);
		names_set(&x->p->names, frame, kept, n_kept);
		return FATE_ENDS;
	}
	return FATE_STAYS;
}

static enum frame_fate fate_of(struct pruning *x, uint32_t frame)
{
	const struct frame *f = &x->p->frames.frames.v[frame];
	const struct line *lines;
	uint32_t n = names_get(&x->p->names, frame, &lines);
	if (n)
		return fate_of_lines(x, frame, lines, n < NAMES_MAX_INLINE ? n : NAMES_MAX_INLINE);
	if (f->mapping != MAPPING_NONE)
		return FATE_STAYS;
	return is_dropped(x, f->function) ? FATE_GOES : FATE_STAYS;
}

static bool find_fates(struct pruning *x)
{
	size_t n = x->p->frames.frames.n;
	bool any = false;
	x->fates = xcalloc(n + 1, sizeof *x->fates);
	for (uint32_t i = 0; i < n; i++) {
		x->fates[i] = fate_of(x, i);
		any |= x->fates[i] != FATE_STAYS;
	}
	return any;
}

/* --- stacks ----------------------------------------------------------------------------------- */

static uint32_t pruned_stack(struct pruning *x, uint32_t stack)
{
	struct stack_table *t = &x->p->stacks;
	uint32_t depth = stack_depth(t, stack), n = 0;
	bool found_other = false;
	stack_frames(t, stack, x->frames);
	for (; n < depth; n++) {
		enum frame_fate fate = x->fates[x->frames[n]];
		if (fate == FATE_STAYS)
			found_other = true;
		else if (found_other && fate == FATE_GOES)
			return stack_intern(t, x->frames, n);
		else if (found_other)
			return n + 1 == depth ? stack : stack_intern(t, x->frames, n + 1);
	}
	return stack;
}

static uint64_t prune_samples(struct pruning *x)
{
	struct sample_columns *c = &x->p->samples;
	size_t n_stacks = x->p->stacks.stacks.n;
	uint32_t *stacks = xreallocarray(NULL, n_stacks + 1, sizeof *stacks);
	uint64_t n = 0;
	x->frames = xmalloc(STACK_MAX_DEPTH * sizeof *x->frames);
	for (uint32_t i = 0; i < n_stacks; i++)
		stacks[i] = pruned_stack(x, i);
	for (size_t i = 0; i < c->n; i++) {
		n += stacks[c->stack[i]] != c->stack[i];
		c->stack[i] = stacks[c->stack[i]];
	}
	free(x->frames);
	free(stacks);
	return n;
}

static int compile(const struct profile *p, uint32_t text, const char *field, regex_t *out,
		   struct err *err)
{
	int rc = pattern_compile(profile_str(p, text), out, err);
	if (rc)
		err_prefix(err, "%s", field);
	return rc;
}

int profile_prune(struct profile *p, uint64_t *n, struct err *err)
{
	struct pruning x = { .p = p, .has_keep = p->meta.keep_frames != 0 };
	*n = 0;
	if (!p->meta.drop_frames)
		return 0;
	int rc = compile(p, p->meta.drop_frames, "drop_frames", &x.drop, err);
	if (rc)
		return rc;
	if (x.has_keep)
		rc = compile(p, p->meta.keep_frames, "keep_frames", &x.keep, err);
	if (rc == 0) {
		if (find_fates(&x))
			*n = prune_samples(&x);
		p->meta.loss[LOSS_INPUT_PRUNED] += *n;
		if (x.has_keep)
			regfree(&x.keep);
	}
	regfree(&x.drop);
	free(x.fates);
	buf_done(&x.name);
	return rc;
}
