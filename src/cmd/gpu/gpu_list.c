/* cresset gpu list: the GPUs, their state, and the processes that use them. */
#include "base/buf.h"
#include "base/err.h"
#include "base/escape.h"
#include "base/json/json.h"
#include "base/str.h"
#include "cmd/gpu/gpu.h"
#include "cmd/gpu/gpu_setup.h"

#include <errno.h>
#include <string.h>

/* Escapes text from a driver or a program. */
static void add_text(struct buf *b, const char *text)
{
	esc_term(b, text, strlen(text), 256);
}

/* --- text ------------------------------------------------------------------------------------- */

static void add_process(struct buf *b, const struct gpu_process *p)
{
	buf_addf(b, "       pid %u ", p->pid);
	add_text(b, *p->name ? p->name : "[unknown]");
	if (p->has_memory) {
		buf_adds(b, ", ");
		fmt_bytes(b, p->memory_bytes);
	}
	if (p->has_utilization)
		buf_addf(b, ", %.0f %%", 100 * p->utilization);
	buf_addc(b, '\n');
}

static void add_device(struct buf *b, const struct gpu_now *now, uint32_t i)
{
	const struct gpu_device *d = &now->machine.devices.v[i];

	buf_addf(b, "%4s  ", d->label);
	add_text(b, *d->name ? d->name : "[unnamed]");
	buf_adds(b, "  ");
	gpu_now_words(now, i, b);
	buf_adds(b, "\n      ");
	add_text(b, d->uuid);
	if (*d->bus) {
		buf_adds(b, "  ");
		add_text(b, d->bus);
	}
	buf_addc(b, '\n');
	for (size_t k = 0; k < now->reading.processes.n; k++)
		if (now->reading.processes.v[k].device == i)
			add_process(b, &now->reading.processes.v[k]);
}

static void list_text(const struct gpu_now *now, struct buf *b)
{
	if (!now->machine.devices.n) {
		buf_adds(b, "no GPUs: ");
		add_text(b, now->status.words);
		buf_addc(b, '\n');
		return;
	}
	buf_addf(b, "driver: %s ", now->status.backend);
	add_text(b, now->machine.driver);
	buf_addc(b, '\n');
	for (uint32_t i = 0; i < now->machine.devices.n; i++)
		add_device(b, now, i);
	if (now->machine.left_out)
		buf_addf(b, "%u more not shown: not responding, or beyond the limit\n",
			 now->machine.left_out);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void json_value(struct json *j, const char *key, const struct gpu_now *now, uint32_t i,
		       enum gpu_metric metric)
{
	double value;

	json_key(j, key);
	if (gpu_now_value(now, i, metric, &value))
		json_num(j, value);
	else
		json_str(j, NULL);
}

static void json_process(struct json *j, const struct gpu_process *p)
{
	json_obj(j);
	json_key_u64(j, "pid", p->pid);
	json_key_text(j, "name", p->name);
	json_key(j, "memory_bytes");
	if (p->has_memory)
		json_u64(j, p->memory_bytes);
	else
		json_str(j, NULL);
	json_key(j, "utilization");
	if (p->has_utilization)
		json_num(j, p->utilization);
	else
		json_str(j, NULL);
	json_end(j);
}

static void json_device(struct json *j, const struct gpu_now *now, uint32_t i)
{
	const struct gpu_device *d = &now->machine.devices.v[i];

	json_obj(j);
	json_key_str(j, "gpu", d->label);
	json_key_text(j, "uuid", d->uuid);
	json_key_text(j, "model", d->name);
	json_key_text(j, "bus", d->bus);
	json_key_bool(j, "is_instance", d->is_instance);
	json_key_bool(j, "is_lost", d->is_lost);
	json_value(j, "utilization", now, i, GPU_UTILIZATION);
	json_value(j, "memory_used_bytes", now, i, GPU_MEMORY_USAGE);
	json_value(j, "memory_bytes", now, i, GPU_MEMORY_LIMIT);
	json_value(j, "power_w", now, i, GPU_POWER);
	json_value(j, "temperature_c", now, i, GPU_TEMPERATURE);
	json_key(j, "processes");
	json_arr(j);
	for (size_t k = 0; k < now->reading.processes.n; k++)
		if (now->reading.processes.v[k].device == i)
			json_process(j, &now->reading.processes.v[k]);
	json_end(j);
	json_end(j);
}

static void list_json(const struct gpu_now *now, struct buf *b)
{
	struct json j = json_to(b);

	json_obj(&j);
	json_key_str(&j, "backend", now->status.backend);
	json_key_text(&j, "driver", now->machine.driver);
	json_key_text(&j, "why_none", now->machine.devices.n ? "" : now->status.words);
	json_key_u64(&j, "left_out", now->machine.left_out);
	json_key(&j, "devices");
	json_arr(&j);
	for (uint32_t i = 0; i < now->machine.devices.n; i++)
		json_device(&j, now, i);
	json_end(&j);
	json_end(&j);
	buf_addc(b, '\n');
}

/* Prints why there is nothing to list: the driver does not respond or does not work, or the file of
 * simulated GPUs cannot be read. */
static int fail(const struct gpu_now *now)
{
	struct err err = { 0 };

	if (now->status.state == GPU_FAILED && gpu_env().script) {
		err_set(&err, EBADMSG, "%s", now->status.words);
		err_hint(&err, "CRESSET_GPU_SCRIPT names a file that simulates GPUs");
		return cmd_fail(CMD_BAD_INPUT, &err);
	}
	if (now->status.state == GPU_FAILED)
		err_set(&err, EIO, "cannot query the GPUs: %s", now->status.words);
	else
		err_set(&err, ETIMEDOUT, "the GPU driver does not respond");
	return cmd_fail(CMD_FAILED, &err);
}

int gpu_list_run(const struct cmd_line *line, const void *opts)
{
	struct gpu_now now = { 0 };
	struct buf b = { 0 };

	(void)opts;
	gpu_now_read(&now);
	if (now.status.hangs_ns || now.status.state == GPU_STARTING ||
	    now.status.state == GPU_FAILED) {
		int status = fail(&now);

		gpu_now_done(&now);
		return status;
	}
	bool none = !now.machine.devices.n;

	if (line->globals.json)
		list_json(&now, &b);
	else
		list_text(&now, &b);
	gpu_now_done(&now);
	int status = cmd_print(&b);
	return status == CMD_OK && none ? CMD_UNSUPPORTED : status;
}
