/* Parses cgroup paths: container ids, pods, systemd units and slices. */
#include "collect/proc/cgroup_path.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/parse.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* --- containers ------------------------------------------------------------------------------- */

/* The id of a container in the names that container runtimes give to cgroups:
 *
 *     /docker/ID                             /system.slice/docker-ID.scope
 *     /kubepods/besteffort/podUID/ID         /kubepods.slice/…/cri-containerd-ID.scope
 *     …/podUID.slice:cri-containerd:ID       …/crio-ID.scope
 *     /machine.slice/libpod-ID.scope/container
 *
 * where ID is 64 lower-case hex digits.
 *
 * The monitor next to a container (libpod-conmon-ID.scope) is not inside it. */

static size_t hex_run(const char *s, size_t len)
{
	size_t n = 0;

	while (n < len && ((s[n] >= '0' && s[n] <= '9') || (s[n] >= 'a' && s[n] <= 'f')))
		n++;
	return n;
}

/* One part of a path: [PREFIX-]ID[.scope]. The prefix ends in '-' or ':', so that no longer number
 * is truncated. */
static const char *container_id_in_part(const char *part, size_t len)
{
	static const char scope[] = ".scope", monitor[] = "conmon-";
	size_t prefix;

	if (len > sizeof scope - 1 &&
	    memcmp(part + len - (sizeof scope - 1), scope, sizeof scope - 1) == 0)
		len -= sizeof scope - 1;
	if (len < CONTAINER_ID_LEN)
		return NULL;
	prefix = len - CONTAINER_ID_LEN;
	if (hex_run(part + prefix, CONTAINER_ID_LEN) != CONTAINER_ID_LEN)
		return NULL;
	if (prefix && part[prefix - 1] != '-' && part[prefix - 1] != ':')
		return NULL;
	if (memmem(part, prefix, monitor, sizeof monitor - 1))
		return NULL;
	return part + prefix;
}

/* --- parts of a path -------------------------------------------------------------------------- */

enum { CGROUP_FILE_MAX_BYTES = 64 * 1024 };

/* A component of a path. */
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

/* --- pods ------------------------------------------------------------------------------------- */

/* Decodes systemd's escapes: "\x2d" is "-" (systemd.unit(5)). */
static void copy_unescaped(char *out, size_t size, struct part p)
{
	size_t n = 0;

	for (size_t i = 0; i < p.len && n < size - 1; i++) {
		int hi = -1, lo = -1;
		if (p.len - i >= 4 && p.s[i] == '\\' && p.s[i + 1] == 'x') {
			hi = parse_hex_digit(p.s[i + 2]);
			lo = parse_hex_digit(p.s[i + 3]);
		}
		bool escaped = hi >= 0 && lo >= 0 && (hi | lo);
		out[n++] = escaped ? (char)(hi << 4 | lo) : p.s[i];
		i += escaped ? 3 : 0;
	}
	out[n] = '\0';
}

/* Recognizes containers with a name in the path: systemd-nspawn and machined, LXC (before 4.0:
 * /lxc/NAME; since: /lxc.payload.NAME). */
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

/* Finds podUID, or kubepods-QOS-podUID.slice with "_" for "-": 36 characters, or the 32 digits of a
 * pod from a file. */
static bool pod_uid_in(struct part p, char out[POD_UID_BYTES])
{
	char uid[CGROUP_NAME_BYTES];

	if (ends(p, ".slice")) {
		p = without(p, 0, strlen(".slice"));
		const char *pod = memmem(p.s, p.len, "-pod", 4);
		if (!memmem(p.s, p.len, "kubepods", strlen("kubepods")) || !pod)
			return false; /* the prefix is the kubelet's --cgroup-root */
		p = without(p, pod + 1 - p.s, 0);
	}
	if (!starts(p, "pod"))
		return false;
	copy(uid, sizeof uid, without(p, 3, 0));
	size_t len = strlen(uid);
	for (size_t i = 0; i < len; i++) {
		if (uid[i] == '_')
			uid[i] = '-';
		if (uid[i] != '-' && parse_hex_digit(uid[i]) < 0)
			return false;
	}
	if (len != 36 && len != 32)
		return false;
	memcpy(out, uid, len + 1);
	return true;
}

/* Runtimes without the systemd driver use the systemd form "SLICE:RUNTIME:ID" as a name. */
static struct part before_colon(struct part p)
{
	const char *colon = memchr(p.s, ':', p.len);

	return colon ? without(p, 0, p.s + p.len - colon) : p;
}

/* systemd-nspawn separates itself, in "supervisor", from what it runs, in "payload". */
static struct part behind_payload(struct part rest)
{
	struct part behind = rest, p;

	return next_part(&behind, &p) && p.len == 7 && memcmp(p.s, "payload", 7) == 0 ? behind
										      : rest;
}

/* Returns the path after the innermost container; the whole path if none exists. */
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

/* Returns the next unit below slices; *slice is the last of these, or empty. Returns false when
 * there is no such unit. */
static bool next_unit(struct part *rest, struct part *slice, struct part *unit)
{
	struct part p;

	*slice = (struct part){ "", 0 };
	while (next_part(rest, &p)) {
		if (p.len == 2 && memcmp(p.s, "..", 2) == 0)
			continue; /* above the root of our cgroup namespace */
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

/* Desktops start each program as app-…-ID-RANDOM.scope or app-…-ID@RANDOM.service
 * (https://systemd.io/DESKTOP_ENVIRONMENTS). Removes the random part. */
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
		if (!starts(slice, "kubepods")) /* differs for each pod */
			copy(out->unit, sizeof out->unit, slice);
		return;
	}
	bool is_session = starts(unit, "session-") && ends(unit, ".scope") && slice.len;
	copy(out->unit, sizeof out->unit, is_session ? slice : unit);
	if (starts(unit, "user@") && next_unit(&rest, &slice, &unit))
		copy_user_unit(out->user_unit, unit);
}

/* --- the file --------------------------------------------------------------------------------- */

/* In v1 only systemd's own hierarchy has units; the others have requested paths. */
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

/* Takes the container from the first line that has one, and the unit from the first line that has
 * one: if both v1 and v2 are mounted, one of them may be "/". */
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
		/* If there are v1 hierarchies as well, the line of v2 is last. */
		*unified = b.len >= 3 && memcmp(b.data, "0::", 3) == 0;
		cgroup_place_parse(b.data, b.len, out);
	}
	buf_done(&b);
	return rc;
}
