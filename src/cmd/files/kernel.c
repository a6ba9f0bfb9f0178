/* Checks the kernel options, reports refused features, and reads the labels of the machine. */
#include "cmd/files/kernel.h"

#include "base/err.h"
#include "base/json/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "collect/collect.h"
#include "collect/kernel/missing.h"
#include "collect/kernel/refusal.h"
#include "collect/kernel/sampler_opts.h"

const char *const clock_words[] = { "auto", "cpu-clock", "cycles", NULL };
const char *const runtime_native_words[] = { "fold", "show", NULL };
const char *const jit_names_words[] = { "function", "raw", NULL };

void kernel_on_refused(void *ctx, const char *program, const char *log)
{
	enum { LAST_LINES = 20 };

	(void)ctx;
	if (log_level() >= LOG_DEBUG) {
		log_debug("the verifier rejects %s:", program);
		log_lines(LOG_DEBUG, log);
		return;
	}
	log_verbose("the verifier rejects %s; end of its log (-vv: all of it):", program);
	log_lines(LOG_VERBOSE, refusal_last_lines(log, LAST_LINES));
}

int kernel_finalize(struct kernel_opts *kernel)
{
	struct err err = { 0 };
	int rc = kernel->btf_file ? refusal_check_btf(kernel->btf_file, &err) : 0;

	if (kernel->btf_file)
		mem_trim(); /* frees some 10 MB of heap */
	kernel->on_refused = kernel_on_refused;
	return rc ? cmd_fail(CMD_BAD_INPUT, &err) : CMD_OK;
}

size_t kernel_warn(struct collector *c)
{
	const struct collect_missing *missing;
	size_t n = collect_get_missing(c, &missing);

	for (size_t i = 0; i < n; i++) {
		struct err err = { 0 };

		collect_missing_words(&missing[i], &err);
		log_warning(&err);
	}
	return n;
}

void kernel_missing_json(struct json *j, const struct collect_missing *v, size_t n)
{
	json_key(j, "missing");
	json_arr(j);
	for (size_t i = 0; i < n; i++) {
		json_obj(j);
		json_key_str(j, "feature", collect_features[v[i].group].name);
		json_key_str(j, "why", v[i].why);
		json_end(j);
	}
	json_end(j);
}

void machine_init(struct machine *m)
{
	*m = (struct machine){ .labels = { { "kernel", m->name.release },
					   { "arch", m->name.machine } } };
	uname(&m->name); /* on failure names are empty, and give no labels */
}
