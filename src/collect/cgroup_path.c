#include "collect/cgroup_path.h"

#include "base/buf.h"
#include "base/fs.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { CGROUP_FILE_MAX_BYTES = 64 * 1024 };

/* A part of a path between slashes. */
struct part {
	const char *s;
	size_t len;
};

static bool next_part(struct part *rest, struct part *out)
{
	while (rest->len && *rest->s == '/')
		rest->s++, rest->len--;
	const char *slash = memchr(rest->s, '/', rest->len);
	out->s = rest->s;
	out->len = slash ? (size_t)(slash - rest->s) : rest->len;
	rest->s += out->len;
	rest->len -= out->len;
	return out->len != 0;
}

static bool starts(struct part p, const char *with)
{
	size_t len = strlen(with);

	return p.len > len && memcmp(p.s, with, len) == 0;
}

static bool ends(struct part p, const char *with)
{
	size_t len = strlen(with);

	return p.len > len && memcmp(p.s + p.len - len, with, len) == 0;
}

static struct part without(struct part p, size_t front, size_t back)
{
	return (struct part){ p.s + front, p.len - front - back };
}

static void copy(char *out, size_t size, struct part p)
{
	size_t len = p.len < size - 1 ? p.len : size - 1;

	memcpy(out, p.s, len);
	out[len] = '\0';
}

/* --- containers ------------------------------------------------------------------------------- */

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* systemd's escapes undone: "\x2d" is "-" (systemd.unit(5)). */
static void copy_unescaped(char *out, size_t size, struct part p)
{
	size_t n = 0;

	for (size_t i = 0; i < p.len && n < size - 1; i++) {
		int hi = -1, lo = -1;
		if (p.len - i >= 4 && p.s[i] == '\\' && p.s[i + 1] == 'x') {
			hi = hex_value(p.s[i + 2]);
			lo = hex_value(p.s[i + 3]);
		}
		bool escaped = hi >= 0 && lo >= 0 && (hi | lo);
		out[n++] = escaped ? (char)(hi << 4 | lo) : p.s[i];
		i += escaped ? 3 : 0;
	}
	out[n] = '\0';
}

/* Containers whose path has a name: systemd-nspawn and machined, LXC (before 4.0: /lxc/NAME; since: /lxc.payload.NAME). */
static bool named_container(struct part p, bool below_lxc, char *name)
{
	static const char nspawn[] = "systemd-nspawn@", machine[] = "machine-",
			  payload[] = "lxc.payload.";

	if (starts(p, nspawn) && ends(p, ".service"))
		copy_unescaped(name, CGROUP_NAME_BYTES,
			       without(p, sizeof nspawn - 1, strlen(".service")));
	else if (starts(p, machine) && ends(p, ".scope"))
		copy_unescaped(name, CGROUP_NAME_BYTES,
			       without(p, sizeof machine - 1, strlen(".scope")));
	else if (starts(p, payload))
		copy(name, CGROUP_NAME_BYTES, without(p, sizeof payload - 1, 0));
	else if (below_lxc)
		copy(name, CGROUP_NAME_BYTES, p);
	else
		return false;
	return *name != '\0';
}

/* podUID, or kubepods-QOS-podUID.slice with "_" for "-": 36 characters, or the 32 digits of a pod from a file. */
static bool pod_uid_in(struct part p, char out[POD_UID_BYTES])
{
	char uid[CGROUP_NAME_BYTES];

	if (ends(p, ".slice")) {
		p = without(p, 0, strlen(".slice"));
		const char *pod = memmem(p.s, p.len, "-pod", 4);
		if (!memmem(p.s, p.len, "kubepods", strlen("kubepods")) || !pod)
			return false; /* in front: the kubelet's --cgroup-root */
		p = without(p, pod + 1 - p.s, 0);
	}
	if (!starts(p, "pod"))
		return false;
	copy(uid, sizeof uid, without(p, 3, 0));
	size_t len = strlen(uid);
	for (size_t i = 0; i < len; i++) {
		if (uid[i] == '_')
			uid[i] = '-';
		if (uid[i] != '-' && hex_value(uid[i]) < 0)
			return false;
	}
	if (len != 36 && len != 32)
		return false;
	memcpy(out, uid, len + 1);
	return true;
}

/* "SLICE:RUNTIME:ID" is the name that runtimes without the systemd driver make of what was meant for systemd. */
static struct part before_colon(struct part p)
{
	const char *colon = memchr(p.s, ':', p.len);

	return colon ? without(p, 0, p.s + p.len - colon) : p;
}

/* systemd-nspawn keeps itself and what it runs apart, in "supervisor" and "payload". */
static struct part behind_payload(struct part rest)
{
	struct part behind = rest, p;

	return next_part(&behind, &p) && p.len == 7 && memcmp(p.s, "payload", 7) == 0 ? behind
										      : rest;
}

/* Returns what is behind the innermost container: all of the path where there is none. */
static struct part take_containers(struct part path, struct cgroup_place *out)
{
	struct part rest = path, inside = path, p;
	bool below_lxc = false;

	while (next_part(&rest, &p)) {
		const char *id = container_id_in_part(p.s, p.len);
		char name[CGROUP_NAME_BYTES];
		if (id) {
			memcpy(out->container_id, id, CONTAINER_ID_LEN);
			out->container_id[CONTAINER_ID_LEN] = '\0';
			out->container[0] = '\0';
			pod_uid_in(before_colon(p), out->pod_uid);
			inside = rest;
		} else if (named_container(p, below_lxc, name)) {
			memcpy(out->container, name, sizeof name);
			out->container_id[0] = '\0';
			inside = behind_payload(rest);
		} else {
			pod_uid_in(p, out->pod_uid);
		}
		below_lxc = p.len == 3 && memcmp(p.s, "lxc", 3) == 0;
	}
	return inside;
}

/* --- units ------------------------------------------------------------------------------------ */

static bool is_unit(struct part p)
{
	static const char *const kinds[] = { ".service", ".scope", ".socket",
					     ".mount",   ".swap",  ".slice" };

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (ends(p, kinds[i]))
			return true;
	return false;
}

/* The next unit below slices; *slice is the last of these, empty where there is none. False when there is no such unit. */
static bool next_unit(struct part *rest, struct part *slice, struct part *unit)
{
	struct part p;

	*slice = (struct part){ "", 0 };
	while (next_part(rest, &p)) {
		if (p.len == 2 && memcmp(p.s, "..", 2) == 0)
			continue; /* above the root of our own cgroup namespace */
		if (starts(p, "_"))
			p = without(p, 1, 0);
		if (!is_unit(p))
			return false;
		*unit = p;
		if (!ends(p, ".slice"))
			return true;
		*slice = p;
	}
	return false;
}

/* Desktops start each program as app-…-ID-RANDOM.scope or app-…-ID@RANDOM.service (https://systemd.io/DESKTOP_ENVIRONMENTS): without what is
 * another one each time. */
static void copy_user_unit(char out[CGROUP_NAME_BYTES], struct part unit)
{
	bool is_scope = ends(unit, ".scope"), is_app = starts(unit, "app-");
	const char *kind = is_scope ? ".scope" : ".service";
	const char *random = is_app ? memrchr(unit.s, is_scope ? '-' : '@', unit.len) : NULL;

	copy(out, CGROUP_NAME_BYTES, unit);
	if (!random || !ends(unit, kind) || random - unit.s <= (long)strlen("app"))
		return;
	size_t kept = random - unit.s + !is_scope;
	if (kept + strlen(kind) < CGROUP_NAME_BYTES)
		memcpy(out + kept, kind, strlen(kind) + 1);
}

static void take_units(struct part path, struct cgroup_place *out)
{
	struct part slice, unit, rest = path;

	if (!next_unit(&rest, &slice, &unit)) {
		if (!starts(slice, "kubepods")) /* of each pod another one */
			copy(out->unit, sizeof out->unit, slice);
		return;
	}
	bool is_session = starts(unit, "session-") && ends(unit, ".scope") && slice.len;
	copy(out->unit, sizeof out->unit, is_session ? slice : unit);
	if (starts(unit, "user@") && next_unit(&rest, &slice, &unit))
		copy_user_unit(out->user_unit, unit);
}

/* --- the file --------------------------------------------------------------------------------- */

/* Of v1 only systemd's own hierarchy has units: the others have what somebody asked for. */
static bool line_has_units(struct part line, struct part path)
{
	static const char v2[] = "0::", v1[] = ":name=systemd:";

	return (line.len >= sizeof v2 - 1 && memcmp(line.s, v2, sizeof v2 - 1) == 0) ||
	       memmem(line.s, path.s - line.s, v1, sizeof v1 - 1) != NULL;
}

static bool path_of_line(struct part line, struct part *path)
{
	const char *controllers = memchr(line.s, ':', line.len);
	const char *colon =
		controllers ? memchr(controllers + 1, ':', line.s + line.len - (controllers + 1))
			    : NULL;

	if (!colon)
		return false;
	*path = without(line, colon + 1 - line.s, 0);
	return true;
}

/* The first line that knows a container, and the first that knows a unit, say it: where v1 and v2 are both mounted, one of them may be
 * "/". */
void cgroup_place_parse(const char *text, size_t len, struct cgroup_place *out)
{
	struct cur c = cur_of(text, len);
	struct part line, path;

	*out = (struct cgroup_place){ 0 };
	while (cur_line(&c, &line.s, &line.len)) {
		struct cgroup_place of_line = { 0 };
		if (!path_of_line(line, &path))
			continue;
		struct part inside = take_containers(path, &of_line);
		if (!out->container_id[0] && !out->container[0]) {
			memcpy(out->container_id, of_line.container_id, sizeof out->container_id);
			memcpy(out->container, of_line.container, sizeof out->container);
		}
		if (!out->pod_uid[0])
			memcpy(out->pod_uid, of_line.pod_uid, sizeof out->pod_uid);
		if (!out->unit[0] && line_has_units(line, path))
			take_units(inside, out);
	}
}

int cgroup_place_of(uint32_t pid, struct cgroup_place *out, bool *unified)
{
	struct buf b = { 0 };
	char path[40];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/cgroup", pid);
	int rc = fs_read_at(AT_FDCWD, path, CGROUP_FILE_MAX_BYTES, &b, NULL);
	if (!rc) {
		/* Where there are v1 hierarchies, too, the line of v2 is the last one. */
		*unified = b.len >= 3 && memcmp(b.data, "0::", 3) == 0;
		cgroup_place_parse(b.data, b.len, out);
	}
	buf_done(&b);
	return rc;
}
