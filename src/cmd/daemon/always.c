/* Checks the common options of up and agent, prepares the collector, and checks the data
 * directory. */
#include "cmd/daemon/always.h"

#include "attach/attach_library.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json/yaml.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/sandbox/privileges.h"
#include "base/str.h"
#include "base/vec.h"
#include "cmd/cli/cmd.h"
#include "cmd/cli/installed.h"
#include "cmd/daemon/users.h"
#include "cmd/files/kernel.h"
#include "cmd/files/names_env.h"
#include "cmd/gpu/gpu_setup.h"
#include "collect/inspect/inspect.h"
#include "collect/kernel/check.h"
#include "collect/proc/series_hook.h"
#include "profile/relabel.h"
#include "query/selector.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- --only, --exclude, --gpu-attach, --mem-attach --- */

static int add(struct cmd_line *line, const char *option, const char *text, struct selector **out)
{
	/* Conditions without braces are as if in braces. */
	bool is_bare = !strchr(text, '{') && strpbrk(text, "=~");
	struct err err = { 0 };
	struct buf b = { 0 };

	buf_addf(&b, is_bare ? "{%s}" : "%s", text);
	int rc = selector_parse(buf_cstr(&b), out, &err);
	buf_done(&b);
	if (rc < 0) {
		err_prefix(&err, "option --%s", option);
		return cmd_fail(CMD_USAGE, &err);
	}
	if (selector_suits_labels(*out))
		return CMD_OK;
	return cmd_usage(line, "option --%s: '%s': only labels and the name of a type are allowed",
			 option, text);
}

/* Returns an exit status, with the error printed. */
static int choose_finalize(struct cmd_line *line, struct choose *c, const struct str_list *only,
			   const struct str_list *exclude)
{
	int status = CMD_OK;

	for (size_t i = 0; i < only->n && status == CMD_OK; i++) {
		vec_push(&c->only, NULL);
		status = add(line, "only", only->v[i], &c->only.v[i]);
	}
	for (size_t i = 0; i < exclude->n && status == CMD_OK; i++) {
		vec_push(&c->exclude, NULL);
		status = add(line, "exclude", exclude->v[i], &c->exclude.v[i]);
	}
	return status;
}

/* --gpu-attach, --mem-attach: programs that one of the selectors takes get the library. Call it
 * after choose_finalize. */
static int choose_finalize_attach(struct cmd_line *line, struct choose *choose, int which,
				  const char *option, const struct str_list *selectors)
{
	struct choose_attach *c = &choose->attach[which];
	int status = CMD_OK;

	c->choose = choose;
	for (size_t i = 0; i < selectors->n && status == CMD_OK; i++) {
		struct selector **s;

		vec_push(&c->all, NULL);
		s = &c->all.v[i];
		status = add(line, option, selectors->v[i], s);
		if (status == CMD_OK && selector_type_text(*s))
			status = cmd_usage(line,
					   "option --%s: '%s' names a type: select programs by "
					   "labels: 'comm=\"train\"'; all of them: '{}'",
					   option, selectors->v[i]);
	}
	return status;
}

static void choose_done(struct choose *c)
{
	for (size_t i = 0; i < c->only.n; i++)
		selector_free(c->only.v[i]);
	for (size_t i = 0; i < c->exclude.n; i++)
		selector_free(c->exclude.v[i]);
	vec_done(&c->only);
	vec_done(&c->exclude);
	for (int k = 0; k < CHOOSES; k++) {
		for (size_t i = 0; i < c->attach[k].all.n; i++)
			selector_free(c->attach[k].all.v[i]);
		vec_done(&c->attach[k].all);
	}
}

static const char *get(void *ctx, const char *label)
{
	const struct series_labels *l = ctx;

	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->v[i].key, label) == 0)
			return l->v[i].value;
	return NULL;
}

static bool keeps(void *ctx, struct series_labels *labels)
{
	const struct choose *c = ctx;
	bool keep = !c->only.n;

	for (size_t i = 0; i < c->only.n && !keep; i++)
		keep = selector_takes_labels(c->only.v[i], labels->type, get, labels);
	for (size_t i = 0; i < c->exclude.n && keep; i++)
		keep = !selector_takes_labels(c->exclude.v[i], labels->type, get, labels);
	return keep;
}

/* Returns a hook without a function if there is nothing to choose. c must outlive it. */
static struct series_hook choose_hook(const struct choose *c)
{
	bool any = c->only.n || c->exclude.n;

	return any ? (struct series_hook){ keeps, (void *)c } : (struct series_hook){ 0 };
}

static bool attaches(void *ctx, struct series_labels *labels)
{
	const struct choose_attach *c = ctx;
	bool takes = false;

	for (size_t i = 0; i < c->all.n && !takes; i++)
		takes = selector_takes_labels(c->all.v[i], labels->type, get, labels);
	return takes && keeps((void *)c->choose, labels);
}

static struct series_hook choose_attach_hook(const struct choose_attach *c)
{
	return c->all.n ? (struct series_hook){ attaches, (void *)c } : (struct series_hook){ 0 };
}

/* --- whether a user can reach a directory, and work in it --- */

/* The result of the child. */
struct obstacle {
	int error;      /* 0: none */
	size_t n_bytes; /* length of the path up to the directory that cannot be entered */
};

static struct obstacle walk(const char *path)
{
	char at[PATH_MAX];

	for (size_t n = 1; n <= strlen(path); n++) {
		bool is_whole = !path[n];
		if (!is_whole && path[n] != '/' && n > 1)
			continue;
		memcpy(at, path, n);
		at[n] = '\0';
		if (access(at, is_whole ? R_OK | W_OK | X_OK : X_OK))
			return (struct obstacle){ errno, n };
	}
	return (struct obstacle){ 0 };
}

static _Noreturn void be_user(const char *path, uid_t uid, gid_t gid, int out)
{
	struct obstacle o = { .error = -privileges_drop(uid, gid, NULL) };

	if (!o.error)
		o = walk(path);
	_exit(write(out, &o, sizeof o) == sizeof o ? 0 : 1);
}

/* Returns -errno if the test could not be made. */
static int try_it(const char *path, uid_t uid, gid_t gid, struct obstacle *o)
{
	int ends[2], rc = 0;

	if (pipe(ends))
		return -errno;
	pid_t pid = fork();
	if (pid == 0)
		be_user(path, uid, gid, ends[1]);
	close(ends[1]);
	if (pid < 0 || read(ends[0], o, sizeof *o) != sizeof *o)
		rc = -EIO;
	close(ends[0]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return rc;
}

static int say(const struct obstacle *o, const char *path, uid_t uid, const char *process,
	       struct err *err)
{
	char words[64];
	int n = (int)o->n_bytes;

	store_user_words(uid, words);
	if (!n)
		return err_set(err, o->error, "the %s cannot become %s: %s", process, words,
			       strerror(o->error));
	err_set(err, o->error, "%s: %s, the user of the %s, cannot %s %.*s: %s", path, words,
		process, path[n] ? "enter" : "write to", n, path, strerror(o->error));
	if (o->error == EROFS)
		return err_hint(err, "choose a directory that can be written to");
	return err_hint(
		err,
		path[n] ? "let others enter it:  chmod o+x %.*s\nor choose another directory, "
			  "like /var/lib/cresset"
			: "it needs full access:  chmod u+rwx %.*s",
		n, path);
}

/* Tests access in a child that becomes this user, without supplementary groups. Returns -EACCES, or
 * the error that stopped it, with err and a remedy set. Returns 0 if the caller is not root: the
 * process that will work there is the same user. process: its name in messages. */
static int reach_check(const char *dir, uid_t uid, gid_t gid, const char *process, struct err *err)
{
	struct obstacle o = { 0 };
	char path[PATH_MAX];

	if (geteuid() != 0 || !realpath(dir, path))
		return 0; /* the open reports what is wrong */
	if (try_it(path, uid, gid, &o) || !o.error)
		return 0;
	return say(&o, path, uid, process, err);
}

/* In the order of always_events. */
const char *const always_event_words[] = { "cpu", "off-cpu", "sched-wait", "lock", "page-fault",
					   "rss", "alloc",   "inuse",      NULL };
static const uint32_t always_events[] = { COLLECT_CPU,   COLLECT_OFF_CPU,    COLLECT_SCHED_WAIT,
					  COLLECT_LOCK,  COLLECT_PAGE_FAULT, COLLECT_RSS,
					  COLLECT_ALLOC, COLLECT_INUSE };

/* In the order of forced. */
const char *const always_force_words[] = { "seccomp", "user-namespace", NULL };
static const enum gpu_attach_refusal forced[] = { GPU_ATTACH_SECCOMP, GPU_ATTACH_USER_NAMESPACE };

/* Limits for always-on use. The budget is a share of the time of all CPUs. */
#define ALWAYS_FAULT_BUDGET 0.001
enum {
	ALWAYS_STACK_BYTES = 1 << 20,
	ALWAYS_MAX_BLOCK_S = 3600,
};

/* --- recording options ------------------------------------------------------------------------ */

enum { ALWAYS_MAX_LABELS = 16 };
struct always {
	struct choose choose;
	struct relabel *relabel;
	struct machine machine;
	const char *host;
	struct label_text labels[ALWAYS_MAX_LABELS];
	size_t n_labels;
	/* With --gpu-attach, --mem-attach. */
	char library[UP_ATTACHES][INSTALLED_PATH_MAX];
	const char *cache_root;
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

static int find_library(const struct gpu_attach_library *kind, char path[INSTALLED_PATH_MAX])
{
	struct err err = { 0 };

	if (!installed_library(kind->name, path, &err))
		return CMD_OK;
	err_hint(&err, "searched the directory of this program and ../lib/cresset from there");
	return cmd_fail(CMD_UNSUPPORTED, &err);
}

static int settle_gpu_attach(struct cmd_line *line, const struct always_opts *o, struct always *a)
{
	int status =
		choose_finalize_attach(line, &a->choose, CHOOSE_GPU, "gpu-attach", &o->gpu_attach);

	if (status == CMD_OK && o->gpu_force.n && !o->gpu_attach.n)
		status = cmd_usage(line, "--gpu-attach-force needs --gpu-attach");
	if (status != CMD_OK || !o->gpu_attach.n)
		return status;
	if (!(gpu_level_events(o->gpu) & COLLECT_GPU_INSIDE))
		return cmd_usage(line,
				 "--gpu-attach is for GPU time, which --gpu=%s does not record",
				 gpu_level_words[o->gpu]);
	return find_library(&cuda_attach_library, a->library[UP_ATTACH_GPU]);
}

static uint32_t event_bits(const struct always_opts *o)
{
	uint32_t bits = 0;

	for (int i = 0; i < o->events.n; i++)
		bits |= always_events[o->events.v[i]];
	return bits;
}

static int settle_mem_attach(struct cmd_line *line, const struct always_opts *o, struct always *a)
{
	int status =
		choose_finalize_attach(line, &a->choose, CHOOSE_MEM, "mem-attach", &o->mem_attach);

	if (status == CMD_OK && o->mem_force.n && !o->mem_attach.n)
		status = cmd_usage(line, "--mem-attach-force needs --mem-attach");
	if (status == CMD_OK)
		status = choose_finalize_attach(line, &a->choose, CHOOSE_SWITCH, "mem-switch",
						&o->mem_switch);
	if (status != CMD_OK || (!o->mem_attach.n && !o->mem_switch.n))
		return status;
	if (o->mem_attach.n && !(event_bits(o) & COLLECT_HEAP))
		return cmd_usage(line,
				 "--mem-attach is for memory: it needs --events alloc or inuse");
	if (!(event_bits(o) & (COLLECT_HEAP | COLLECT_LOCK)))
		return cmd_usage(line, "--mem-switch is for memory and mutexes: it needs --events "
				       "alloc, inuse or lock");
	return o->mem_attach.n ? find_library(&mem_attach_library, a->library[UP_ATTACH_MEM])
			       : CMD_OK;
}

static int settle(struct cmd_line *line, const struct always_opts *o, struct always *a)
{
	struct err err = { 0 };

	if (!(o->gpu_budget_percent.v > 0))
		return cmd_usage(line, "--gpu-budget must be above 0; --gpu=0 records no GPU time");
	a->cache_root = cache_root(&line->arena);
	machine_init(&a->machine);
	always_add_label(a, "host", a->machine.name.nodename);
	for (int i = 0; i < MACHINE_LABELS; i++)
		always_add_label(a, a->machine.labels[i].key, a->machine.labels[i].value);
	if (relabel_read(o->relabel, o->config, &a->relabel, &err))
		return cmd_fail(CMD_USAGE, &err);
	int status = choose_finalize(line, &a->choose, &o->only, &o->exclude);
	if (status == CMD_OK)
		status = settle_gpu_attach(line, o, a);
	if (status == CMD_OK)
		status = settle_mem_attach(line, o, a);
	if (status == CMD_OK)
		cache_root_say(a->cache_root);
	return status;
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
	struct collect_opts collect = o->collect;
	struct sampler_opts *sampler = &collect.sampler;

	sampler->is_always = true;
	sampler->waits.max_block_ns = ALWAYS_MAX_BLOCK_S * 1000000000ull;
	sampler->waits.budget = o->wait_budget_percent.v / 100;
	sampler->fault_budget = ALWAYS_FAULT_BUDGET;
	sampler->kernel.on_refused = kernel_on_refused;
	collect.resolve.stack_bytes = ALWAYS_STACK_BYTES;
	collect.cache_root = a->cache_root;
	collect.resolve.series = (struct series_opts){ .host = a->host,
						       .labels = a->labels,
						       .n_labels = a->n_labels,
						       .hook = choose_hook(&a->choose),
						       .relabel = a->relabel };
	collect.gpu = (struct gpu_collect_opts){ .script = gpu_env().script,
						 .budget = o->gpu_budget_percent.v / 100 };
	collect.heap.takes = choose_attach_hook(&a->choose.attach[CHOOSE_MEM]);
	collect.heap.switches = choose_attach_hook(&a->choose.attach[CHOOSE_SWITCH]);
	sampler->events |= event_bits(o) | gpu_level_events(o->gpu);
	return collect;
}

static uint32_t forced_bits(const struct choice_list *list)
{
	uint32_t bits = 0;

	for (int i = 0; i < list->n; i++)
		bits |= 1u << forced[list->v[i]];
	return bits;
}

void always_attach(const struct always_opts *o, const struct always *a,
		   struct up_attach out[UP_ATTACHES])
{
	out[UP_ATTACH_GPU] = (struct up_attach){
		.takes = choose_attach_hook(&a->choose.attach[CHOOSE_GPU]),
		.events = COLLECT_GPU_TIME,
		.kind = &cuda_attach_library,
		.words = "GPU library",
		.library = a->library[UP_ATTACH_GPU],
		.forced = forced_bits(&o->gpu_force),
	};
	out[UP_ATTACH_MEM] = (struct up_attach){
		.takes = choose_attach_hook(&a->choose.attach[CHOOSE_MEM]),
		.events = COLLECT_HEAP,
		.kind = &mem_attach_library,
		.words = "memory library",
		.library = a->library[UP_ATTACH_MEM],
		.forced = forced_bits(&o->mem_force),
	};
}

/* --- the directory ---------------------------------------------------------------------------- */

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

/* Gives a new or empty directory of root's to the user. */
static int give_away(const struct up_opts *up, const char *process, struct err *err)
{
	const char *dir = up->data_dir;

	if (!is_empty(dir)) {
		err_set(err, EACCES,
			"%s belongs to root and is not empty: the %s does not run as root", dir,
			process);
		return err_hint(err, "if it belongs to cresset:  chown -R %u:%u %s",
				(unsigned)up->uid, (unsigned)up->gid, dir);
	}
	if (chmod(dir, 0700) ||
	    chown(dir, up->uid, up->gid)) /* in this order: chmod needs it to be ours */
		return err_set(err, errno, "cannot give %s to the %s: %s", dir, process,
			       strerror(errno));
	return 0;
}

/* Sets the user, and makes the directory theirs where it is root's. */
static int settle_owner(struct up_opts *up, const char *process, struct err *err)
{
	struct store_user user;
	struct stat st;

	if (stat(up->data_dir, &st))
		return err_set(err, errno, "%s: %s", up->data_dir, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return err_set(err, ENOTDIR, "%s is not a directory", up->data_dir);
	up->uid = st.st_uid;
	up->gid = st.st_gid;
	if (st.st_uid != 0 || geteuid() != 0)
		return 0;
	int rc = store_user_find(&user, err);
	if (rc)
		return rc;
	up->uid = user.uid;
	up->gid = user.gid;
	return give_away(up, process, err);
}

int always_prepare_directory(struct up_opts *up, const struct always_dir *how, struct err *err)
{
	const char *dir = up->data_dir;
	struct err left = { 0 };

	if (mkdir(dir, 0700) && errno != EEXIST)
		return err_set(err, errno, "cannot make %s: %s", dir, strerror(errno));
	int rc = fs_sync_dir_of(dir, err); /* the unprivileged process cannot */
	if (rc)
		return rc;
	if (store_user_take_over(dir, &left) < 0)
		log_warning(&left);
	rc = settle_owner(up, how->process, err);
	if (!rc)
		rc = data_dir_check(dir, &how->rule, err);
	return rc ? rc : reach_check(dir, up->uid, up->gid, how->process, err);
}

/* --- permissions ------------------------------------------------------------------------------ */

int always_check_machine(const struct always_opts *o)
{
	struct kernel_opts kernel = o->collect.sampler.kernel;
	struct err err = { 0 };

	if (gpu_level_check(o->gpu, &err))
		return cmd_fail(CMD_UNSUPPORTED, &err);
	return kernel_finalize(&kernel);
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

/* --- the key "relabel" of a configuration file ------------------------------------------------ */

const char relabel_example[] = "#relabel:\n"
			       "#  - action: drop              # drop what cron starts\n"
			       "#    source_labels: [process]\n"
			       "#    regex: cron|anacron\n"
			       "#  - source_labels: [host]     # web-7.example.org: role=web\n"
			       "#    regex: ([a-z]+)-[0-9]+\\..*\n"
			       "#    target_label: role\n"
			       "#    replacement: $1           # the default\n";

/* A rule while it is read. */
struct reading {
	const char *file;
	struct relabel_rule rule;
	VEC(const char *) sources;
	struct err *err;
};

enum key { KEY_ACTION, KEY_SOURCES, KEY_SEPARATOR, KEY_REGEX, KEY_TARGET, KEY_REPLACEMENT, KEYS };
static const char *const keys[KEYS] = {
	"action", "source_labels", "separator", "regex", "target_label", "replacement",
};

static int refuse(struct reading *r, const struct yaml *y, const char *why)
{
	return err_set(r->err, EINVAL, "%s:%u: %s %s", r->file, y->line,
		       y->key ? y->key : "relabel", why);
}

static int unknown(struct reading *r, const struct yaml *y, const char *what, const char *word,
		   const char *const *known, size_t n)
{
	const char *near = str_nearest(word, known, n);
	struct buf all = { 0 };

	for (size_t i = 0; i < n; i++)
		buf_addf(&all, "%s%s", i ? ", " : "", known[i]);
	err_set(r->err, EINVAL, "%s:%u: relabel: unknown %s '%s'", r->file, y->line, what, word);
	if (near)
		err_hint(r->err, "did you mean %s?\nknown: %s", near, buf_cstr(&all));
	else
		err_hint(r->err, "known: %s", buf_cstr(&all));
	buf_done(&all);
	return -EINVAL;
}

static int take_action(struct reading *r, const struct yaml *y)
{
	for (int i = 0; i < RELABEL_ACTIONS; i++)
		if (strcmp(relabel_actions[i], y->text) == 0) {
			r->rule.action = (enum relabel_action)i;
			return 0;
		}
	return unknown(r, y, "action", y->text, relabel_actions, RELABEL_ACTIONS);
}

static int take_sources(struct reading *r, const struct yaml *y)
{
	if (y->kind != YAML_LIST)
		return refuse(r, y, "is a list: [a, b]");
	for (const struct yaml *kid = y->kids; kid; kid = kid->next) {
		if (kid->kind != YAML_TEXT || !*kid->text)
			return refuse(r, y, "is a list of names");
		vec_push(&r->sources, kid->text);
	}
	r->rule.source_labels = r->sources.v;
	r->rule.n_sources = r->sources.n;
	return 0;
}

static int take(struct reading *r, const struct yaml *y)
{
	size_t key = 0;

	while (key < KEYS && strcmp(keys[key], y->key) != 0)
		key++;
	if (key == KEYS)
		return unknown(r, y, "key", y->key, keys, KEYS);
	if (key == KEY_SOURCES)
		return take_sources(r, y);
	if (y->kind != YAML_TEXT || y->is_null)
		return refuse(r, y, "must be a text; an empty one is ''");
	if (key == KEY_ACTION)
		return take_action(r, y);
	const char **texts[KEYS] = {
		[KEY_SEPARATOR] = &r->rule.separator,
		[KEY_REGEX] = &r->rule.regex,
		[KEY_TARGET] = &r->rule.target_label,
		[KEY_REPLACEMENT] = &r->rule.replacement,
	};
	*texts[key] = y->text;
	return 0;
}

static int read_rule(const struct yaml *y, const char *file, struct relabel *to, struct err *err)
{
	struct reading r = { .file = file, .err = err };
	int rc = y->kind == YAML_MAPPING ? 0 : refuse(&r, y, "rules are keys and values");

	for (const struct yaml *kid = y->kids; kid && !rc; kid = kid->next)
		rc = take(&r, kid);
	if (!rc) {
		rc = relabel_add(to, &r.rule, err);
		if (rc)
			err_prefix(err, "%s:%u: relabel", file, y->line);
	}
	vec_done(&r.sources);
	return rc;
}

int relabel_read(const struct yaml *y, const char *file, struct relabel **out, struct err *err)
{
	int rc = 0;

	*out = NULL;
	if (!y)
		return 0;
	if (y->kind != YAML_LIST)
		return err_set(err, EINVAL, "%s:%u: relabel is a list of rules", file, y->line);
	struct relabel *r = relabel_new();
	for (const struct yaml *kid = y->kids; kid && !rc; kid = kid->next)
		rc = read_rule(kid, file, r, err);
	if (rc)
		relabel_free(r);
	else
		*out = r;
	return rc;
}
