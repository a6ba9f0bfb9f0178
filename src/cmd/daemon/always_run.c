/* Starts and supervises the processes of up and agent, and reloads the configuration on SIGHUP. */
#include "cmd/daemon/always.h"

#include "base/err.h"
#include "base/log.h"
#include "cmd/doctor/doctor.h"

#include <string.h>

static unsigned part_of(const struct always_run *r, const char *name)
{
	for (const struct always_key *k = r->keys; k->name; k++)
		if (strcmp(k->name, name) == 0)
			return k->part;
	log_warn("%s has changed: restart to apply it", name);
	return 0;
}

static unsigned parts_of(const struct always_run *r, const struct str_list *changed)
{
	unsigned parts = 0;

	for (size_t i = 0; i < changed->n; i++) {
		unsigned part = part_of(r, changed->v[i]);
		if (part)
			log_info("%s changed: restarting the %s", changed->v[i],
				 part == UP_COLLECTOR ? "collector" : r->dir.process);
		parts |= part;
	}
	if (!changed->n)
		log_info("the configuration is unchanged");
	return parts;
}

static unsigned reload(void *ctx);

static int later_fd(void *ctx)
{
	const struct always_run *r = ctx;

	return r->later_fd ? r->later_fd(r->ctx) : -1;
}

static unsigned later(void *ctx)
{
	const struct always_run *r = ctx;

	return r->later(r->ctx);
}

/* The directory and owner of the data stay as determined at the start. */
static void take(struct always_run *r, struct up_opts *up, struct always *always, const void *opts)
{
	if (r->now) {
		up->data_dir = r->up.data_dir;
		up->uid = r->up.uid;
		up->gid = r->up.gid;
	}
	up->reload = (struct up_reload){ reload, later_fd, later, r };
	up->ready = (struct up_ready){ r->say, r->ctx };
	always_free(r->always);
	r->always = always;
	r->up = *up;
	r->now = opts;
}

static unsigned reload(void *ctx)
{
	struct always_run *r = ctx;
	struct up_opts up = { 0 };
	struct always *always;
	struct config_again again;
	struct err err = { 0 };
	int rc = config_again(r->line, r->now, &again, &err);

	if (rc) {
		log_warn("keeping the previous configuration: %s", err.text);
		return 0;
	}
	if (r->fill(r->ctx, &again.line, again.opts, &up, &always) != CMD_OK) {
		/* The reason has been printed. */
		log_warn("keeping the previous configuration");
		config_again_done(&again);
		return 0;
	}
	unsigned parts = parts_of(r, &again.changed);
	take(r, &up, always, again.opts);
	config_again_done(&r->again);
	r->again = again;
	return parts;
}

static int run(struct always_run *r)
{
	struct err err = { 0 };
	int rc = always_check_permissions(&err);

	if (rc)
		return cmd_fail(CMD_PERMISSION, &err);
	int status = r->begin ? r->begin(r->ctx, &r->up) : CMD_OK;
	if (status != CMD_OK)
		return status;
	rc = always_prepare_directory(&r->up, &r->dir, &err);
	if (rc)
		return cmd_fail(CMD_NO_OUTPUT, &err);
	rc = up_run(&r->up);
	return rc ? collect_status(rc) : CMD_OK;
}

int always_run(struct always_run *r)
{
	struct up_opts up = { 0 };
	struct always *always;
	int status = r->fill(r->ctx, r->line, r->typed, &up, &always);

	if (status != CMD_OK)
		return status;
	take(r, &up, always, r->typed);
	status = run(r);
	always_free(r->always);
	config_again_done(&r->again);
	return status;
}
