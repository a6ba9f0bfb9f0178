#include "cmd/always.h"

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "cmd/gpu_env.h"
#include "cmd/gpu_library.h"
#include "cmd/machine.h"
#include "cmd/reach.h"
#include "cmd/store_user.h"
#include "cmd/trial.h"
#include "gpu/cuda_attach.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As always_events. */
const char *const always_event_words[] = { "cpu", "off-cpu", "sched-wait", NULL };
static const uint32_t always_events[] = { COLLECT_CPU, COLLECT_OFF_CPU, COLLECT_SCHED_WAIT };

/* As forced. */
const char *const always_force_words[] = { "seccomp", "user-namespace", NULL };
static const enum gpu_attach_refusal forced[] = { GPU_ATTACH_SECCOMP, GPU_ATTACH_USER_NAMESPACE };

/* What always-on use can afford. */
enum {
	ALWAYS_STACK_BYTES = 1 << 20,
	ALWAYS_MAX_BLOCK_S = 3600,
};

/* --- what is recorded ------------------------------------------------------------------------- */

enum { ALWAYS_MAX_LABELS = 16 };
struct always {
	struct choose choose;
	struct relabel *relabel;
	struct machine machine;
	const char *host;
	struct label_text labels[ALWAYS_MAX_LABELS];
	size_t n_labels;
	char gpu_library[GPU_LIBRARY_PATH_MAX]; /* with --gpu-attach */
};

bool always_add_label(struct always *a, const char *key, const char *value)
{
	if (strcmp(key, "host") == 0) {
		a->host = value;
		return true;
	}
	if (a->n_labels == ALWAYS_MAX_LABELS)
		return false;
	a->labels[a->n_labels++] = (struct label_text){ key, value };
	return true;
}

void always_free(struct always *a)
{
	if (!a)
		return;
	choose_done(&a->choose);
	relabel_free(a->relabel);
	free(a);
}

static int settle_attach(struct cmd_line *line, const struct always_opts *o, struct always *a)
{
	struct err err = { 0 };
	int status = choose_settle_attach(line, &a->choose, &o->gpu_attach);

	if (status == CMD_OK && o->gpu_force.n && !o->gpu_attach.n)
		status = cmd_usage(line,
				   "--gpu-attach-force is of --gpu-attach, which is not there");
	if (status != CMD_OK || !o->gpu_attach.n)
		return status;
	if (!(gpu_level_events(o->gpu) & COLLECT_GPU_INSIDE))
		return cmd_usage(line, "--gpu-attach is for GPU time, which --gpu=%s leaves out",
				 gpu_level_words[o->gpu]);
	if (!gpu_library_path(cuda_attach_library.name, a->gpu_library, &err))
		return CMD_OK;
	err_hint(&err, "looked beside this program, and in ../lib/cresset from there");
	return cmd_fail(CMD_UNSUPPORTED, &err);
}

static int settle(struct cmd_line *line, const struct always_opts *o, struct always *a)
{
	struct err err = { 0 };

	if (!(o->gpu_budget_percent.v > 0))
		return cmd_usage(line, "--gpu-budget is to be more than 0: --gpu=0 has no windows");
	machine_init(&a->machine);
	always_add_label(a, "host", a->machine.name.nodename);
	for (int i = 0; i < MACHINE_LABELS; i++)
		always_add_label(a, a->machine.labels[i].key, a->machine.labels[i].value);
	if (relabel_read(o->relabel, o->config, &a->relabel, &err))
		return cmd_fail(CMD_USAGE, &err);
	int status = choose_settle(line, &a->choose, &o->only, &o->exclude);
	return status == CMD_OK ? settle_attach(line, o, a) : status;
}

int always_new(struct cmd_line *line, const struct always_opts *o, struct always **out)
{
	struct always *a = xcalloc(1, sizeof *a);
	int status = settle(line, o, a);

	if (status == CMD_OK)
		*out = a;
	else
		always_free(a);
	return status;
}

struct collect_opts always_collect(const struct always_opts *o, const struct always *a)
{
	struct collect_opts collect = {
		.freq_hz = o->freq_hz,
		.clock = o->clock,
		.host = a->host,
		.labels = a->labels,
		.n_labels = a->n_labels,
		.series_hook = choose_hook(&a->choose),
		.relabel = a->relabel,
		.min_block_ns = o->min_block_ns,
		.min_block_set = true,
		.max_block_ns = ALWAYS_MAX_BLOCK_S * 1000000000ull,
		.max_rate = o->max_rate,
		.show_python_native = o->python_native,
		.buffer_bytes = o->buffer_bytes,
		.gpu_script = gpu_env().script,
		.gpu_budget = o->gpu_budget_percent.v / 100,
		.gpu_stacks_per_s = o->max_rate,
		.stack_bytes = ALWAYS_STACK_BYTES,
		.is_always = true,
		.btf_file = o->btf,
		.on_refused = kernel_on_refused,
	};

	for (int i = 0; i < o->events.n; i++)
		collect.events |= always_events[o->events.v[i]];
	collect.events |= gpu_level_events(o->gpu);
	return collect;
}

struct up_attach always_attach(const struct always_opts *o, const struct always *a)
{
	struct up_attach attach = { .takes = choose_attach_hook(&a->choose),
				    .library = a->gpu_library };

	for (int i = 0; i < o->gpu_force.n; i++)
		attach.forced |= 1u << forced[o->gpu_force.v[i]];
	return attach;
}

/* --- the folder ---------------------------------------------------------------------------- */

static bool is_empty(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	bool empty = d != NULL;

	while (d && (e = readdir(d)))
		empty &= strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
	if (d)
		closedir(d);
	return empty;
}

/* A new or empty folder of root's becomes the user's. */
static int give_away(const struct up_opts *up, const char *process, struct err *err)
{
	const char *dir = up->data_dir;

	if (!is_empty(dir)) {
		err_set(err, EACCES, "%s is root's and not empty: the %s is not root", dir,
			process);
		return err_hint(err, "if it is ours:  chown -R %u:%u %s", (unsigned)up->uid,
				(unsigned)up->gid, dir);
	}
	if (chmod(dir, 0700) ||
	    chown(dir, up->uid, up->gid)) /* in this order: it is ours until then */
		return err_set(err, errno, "cannot give %s to the %s: %s", dir, process,
			       strerror(errno));
	return 0;
}

int always_settle_folder(struct up_opts *up, const char *process, struct err *err)
{
	const char *dir = up->data_dir;
	struct err left = { 0 };
	struct stat st;

	if (mkdir(dir, 0700) && errno != EEXIST)
		return err_set(err, errno, "cannot make %s: %s", dir, strerror(errno));
	int rc = fs_sync_dir_of(dir, err); /* the unprivileged process cannot */
	if (rc)
		return rc;
	if (store_user_take_over(dir, &left) < 0)
		log_warning(&left);
	if (stat(dir, &st))
		return err_set(err, errno, "%s: %s", dir, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return err_set(err, ENOTDIR, "%s is not a folder", dir);
	up->uid = st.st_uid;
	up->gid = st.st_gid;
	if (st.st_uid != 0 || geteuid() != 0)
		return reach_check(dir, up->uid, up->gid, process, err);
	struct store_user user;
	rc = store_user_find(&user, err);
	if (rc)
		return rc;
	up->uid = user.uid;
	up->gid = user.gid;
	rc = give_away(up, process, err);
	return rc ? rc : reach_check(dir, up->uid, up->gid, process, err);
}

/* --- permissions ------------------------------------------------------------------------------ */

int always_check_machine(const struct always_opts *o)
{
	struct collect_opts kernel;
	struct err err = { 0 };

	if (gpu_level_check(o->gpu, &err))
		return cmd_fail(CMD_UNSUPPORTED, &err);
	return kernel_settle(o->btf, &kernel);
}

int always_check_permissions(struct err *err)
{
	struct check check = { 0 };

	collect_check_capabilities(&check);
	if (check.state != CHECK_MISSING)
		return 0;
	err_set(err, EPERM, "cannot watch this machine: %s", check.detail);
	return err_hint(err, "%s", check.remedy);
}
