#include "unwind/go_special.h"

#include <string.h>

enum go_special go_special_of(const char *name)
{
	static const struct {
		const char *name;
		enum go_special special;
	} known[] = {
		{ "_rt0_amd64", GO_OUTERMOST },
		{ "_rt0_amd64_linux", GO_OUTERMOST },
		{ "gogo", GO_LEAVES },
		{ "runtime.asmcgocall", GO_CALLS_C },
		{ "runtime.asyncPreempt", GO_INTERRUPTS },
		{ "runtime.cgoSigtramp", GO_HANDLER },
		{ "runtime.cgocall", GO_CGOCALL },
		{ "runtime.cgocallback", GO_SWITCHES },
		{ "runtime.cgocallback_gofunc", GO_SWITCHES },
		{ "runtime.clone", GO_LEAVES },
		{ "runtime.goexit", GO_OUTERMOST },
		{ "runtime.gogo", GO_LEAVES },
		{ "runtime.mcall", GO_LEAVES },
		{ "runtime.morestack", GO_LEAVES },
		{ "runtime.mstart", GO_OUTERMOST },
		{ "runtime.nanotime", GO_SWITCHES },
		{ "runtime.nanotime1", GO_SWITCHES },
		{ "runtime.rt0_go", GO_OUTERMOST },
		{ "runtime.sigpanic", GO_INTERRUPTS },
		{ "runtime.sigpanic0", GO_INTERRUPTS },
		{ "runtime.sigreturn", GO_SIGNAL_FRAME },
		{ "runtime.sigreturn__sigaction", GO_SIGNAL_FRAME },
		{ "runtime.sigtramp", GO_HANDLER },
		{ "runtime.systemstack", GO_SWITCHES },
		{ "runtime.walltime", GO_SWITCHES },
		{ "runtime.walltime1", GO_SWITCHES },
		{ "time.now", GO_SWITCHES },
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(known[i].name, name) == 0)
			return known[i].special;
	return GO_ORDINARY;
}

/* --- instructions ------------------------------------------------------------------------------ */

enum { RSP = 4 };

struct code {
	const uint8_t *p;
	size_t n;
};

static uint8_t byte_at(const struct code *c, size_t i)
{
	return i < c->n ? c->p[i] : 0;
}

/* The length of an instruction whose ModRM byte is at i + 2, without immediate. */
static size_t length_at(const struct code *c, size_t i)
{
	static const uint8_t displacement[] = { 0, 1, 4, 0 };
	uint8_t modrm = byte_at(c, i + 2), mod = modrm >> 6;
	return 3 + (mod != 3 && (modrm & 7) == RSP) + displacement[mod];
}

/* mov or lea to rsp: its length, else 0. */
static size_t load_sp(const struct code *c, size_t i)
{
	uint8_t rex = byte_at(c, i), op = byte_at(c, i + 1), modrm = byte_at(c, i + 2);
	if ((rex & 0xf8) != 0x48)
		return 0;
	bool from_register = op == 0x89 && modrm >> 6 == 3 && (modrm & 7) == RSP && !(rex & 1);
	bool by_reg = (op == 0x8b || op == 0x8d) && (modrm >> 3 & 7) == RSP && !(rex & 4);
	return from_register || by_reg ? length_at(c, i) : 0;
}

/* sub or and of a constant to rsp. */
static size_t lower_sp(const struct code *c, size_t i)
{
	uint8_t op = byte_at(c, i + 1), modrm = byte_at(c, i + 2);
	bool is_sub_or_and = modrm == 0xec || modrm == 0xe4;
	if (byte_at(c, i) != 0x48 || !is_sub_or_and)
		return 0;
	return op == 0x83 ? 4 : op == 0x81 ? 7 : 0;
}

/* pop %rbp, or mov x(%rsp),%rbp and add y,%rsp, and then ret or a jump through rdi. *gone: where the frame pointer is the
 * caller's; the result: the end of it all, 0 when there is none. */
static size_t leave(const struct code *c, size_t i, size_t *gone)
{
	size_t at = i;
	if (byte_at(c, i) == 0x5d) {
		*gone = at = i + 1;
	} else if (byte_at(c, i) == 0x48 && byte_at(c, i + 1) == 0x8b &&
		   byte_at(c, i + 2) == 0x6c && byte_at(c, i + 3) == 0x24 &&
		   byte_at(c, i + 5) == 0x48 && byte_at(c, i + 6) == 0x83 &&
		   byte_at(c, i + 7) == 0xc4) {
		*gone = i + 5;
		at = i + 9;
	} else {
		return 0;
	}
	if (byte_at(c, at) == 0xc3)
		return at + 1;
	return byte_at(c, at) == 0xff && byte_at(c, at + 1) == 0xe7 ? at + 2 : 0;
}

/* mov %rdx,x(%rsp): the old stack pointer is kept. */
static bool keeps_sp(const struct code *c, size_t i, uint8_t *at)
{
	*at = byte_at(c, i + 4);
	return byte_at(c, i) == 0x48 && byte_at(c, i + 1) == 0x89 && byte_at(c, i + 2) == 0x54 &&
	       byte_at(c, i + 3) == 0x24;
}

/* --- switches ---------------------------------------------------------------------------------- */

struct search {
	struct code code;
	struct go_switch *out, now; /* now.to != 0: inside */
	size_t n;
	bool keeps_fp, began;
};

static void begin(struct search *s, size_t from, bool is_same_stack)
{
	s->now = (struct go_switch){ from, s->code.n, is_same_stack, 0 };
	s->began = true;
}

static void end(struct search *s, size_t to)
{
	if (s->now.to && s->n < GO_MAX_SWITCHES && s->now.from < to) {
		s->now.to = to;
		s->out[s->n++] = s->now;
	}
	s->now.to = 0;
}

/* A second load goes back. A frame pointer of the function's own is as good on either stack. */
static void on_load(struct search *s, size_t at)
{
	if (s->now.to && !s->keeps_fp)
		end(s, at);
	else if (!s->now.to)
		begin(s, at, false);
}

size_t go_switches_find(const uint8_t *code, size_t size, bool keeps_fp,
			bool (*is_tracked)(const void *ctx, size_t at), const void *ctx,
			struct go_switch out[GO_MAX_SWITCHES])
{
	struct search s = { .code = { code, size }, .out = out, .keeps_fp = keeps_fp };
	for (size_t i = 0, len, gone, to; i < size; i += len) {
		uint8_t kept_at;
		len = 1;
		if (keeps_fp && (to = leave(&s.code, i, &gone)) && s.began) {
			end(&s, gone);
			begin(&s, to, false);
			len = to - i;
		} else if ((to = load_sp(&s.code, i)) && !is_tracked(ctx, i + to)) {
			on_load(&s, i + to);
			len = to;
		} else if ((to = lower_sp(&s.code, i)) && !is_tracked(ctx, i + to)) {
			if (!s.now.to)
				begin(&s, i, !keeps_fp);
			len = to;
		} else if (s.now.to && s.now.is_same_stack && keeps_sp(&s.code, i, &kept_at)) {
			s.now.kept_at = kept_at;
		}
	}
	end(&s, size);
	return s.n;
}
