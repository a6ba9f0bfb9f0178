/* Reads names of containers from links in /var/log/containers and from files of runtimes. */
#include "collect/proc/container_names.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/input.h"
#include "base/json/json_read.h"
#include "base/mem.h"
#include "collect/proc/cgroup_path.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	CONFIG_MAX_BYTES = 1 << 20,
	DIRECTORY_MAX_ENTRIES = 8192,
	LOOKS_MAX = 4, /* lookups of a container without a result */
};
#define LOOK_AGAIN_NS 4000000000ull

static void set(char out[CONTAINER_NAME_BYTES], const char *s, size_t len)
{
	if (len >= CONTAINER_NAME_BYTES || memchr(s, '\0', len))
		return;
	memcpy(out, s, len);
	out[len] = '\0';
}

/* --- names of files --------------------------------------------------------------------------- */

/* Splits A_B_C; names in Kubernetes have no "_". */
static bool split(const char *s, size_t len, const char *part[3], size_t part_len[3])
{
	const char *end = s + len;

	for (int i = 0; i < 3; i++) {
		const char *stop = i < 2 ? memchr(s, '_', end - s) : end;
		if (!stop || stop == s)
			return false;
		part[i] = s;
		part_len[i] = stop - s;
		s = stop + 1;
	}
	return !memchr(part[2], '_', part_len[2]);
}

bool container_link_parse(const char *name, size_t len, const char *id, struct container_names *out)
{
	enum { TAIL = 1 + CONTAINER_ID_LEN + 4 };
	const char *part[3];
	size_t n[3];

	if (len <= TAIL)
		return false;
	const char *tail = name + len - TAIL;
	if (*tail != '-' || memcmp(tail + 1, id, CONTAINER_ID_LEN) != 0 ||
	    memcmp(tail + 1 + CONTAINER_ID_LEN, ".log", 4) != 0 ||
	    !split(name, len - TAIL, part, n))
		return false;
	set(out->pod, part[0], n[0]);
	set(out->name_space, part[1], n[1]);
	set(out->container, part[2], n[2]);
	return true;
}

bool pod_directory_parse(const char *name, size_t len, const char *pod_uid,
			 struct container_names *out)
{
	const char *part[3];
	size_t n[3];

	if (!split(name, len, part, n) || n[2] != strlen(pod_uid) ||
	    memcmp(part[2], pod_uid, n[2]) != 0)
		return false;
	set(out->name_space, part[0], n[0]);
	set(out->pod, part[1], n[1]);
	return true;
}

typedef bool name_parse_fn(const char *name, size_t len, const char *id,
			   struct container_names *out);

static bool look_in_directory(int root, const char *path, name_parse_fn *parse, const char *id,
			      struct container_names *out)
{
	int fd = openat(root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	bool found = false;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	for (int n = 0; !found && n < DIRECTORY_MAX_ENTRIES && (e = readdir(dir)); n++)
		found = parse(e->d_name, strlen(e->d_name), id, out);
	closedir(dir);
	return found;
}

/* --- JSON ------------------------------------------------------------------------------------- */

enum name_field { FIELD_CONTAINER, FIELD_POD, FIELD_NAMESPACE };

/* Where a name is in the document: how deep, and whether only the kubelet can have set it. */
static const struct config_key {
	const char *key;
	enum name_field field;
	bool of_pod;
} config_keys[] = {
	{ "Name", FIELD_CONTAINER, false },
	{ "nerdctl/name", FIELD_CONTAINER, false },
	{ "io.kubernetes.container.name", FIELD_CONTAINER, true },
	{ "io.kubernetes.pod.name", FIELD_POD, true },
	{ "io.kubernetes.pod.namespace", FIELD_NAMESPACE, true },
	{ "io.kubernetes.cri.container-name", FIELD_CONTAINER, true },
	{ "io.kubernetes.cri.sandbox-name", FIELD_POD, true },
	{ "io.kubernetes.cri.sandbox-namespace", FIELD_NAMESPACE, true },
};

static const struct config_key *find_key(const struct json_value *key, int depth)
{
	for (size_t i = 0; i < sizeof config_keys / sizeof *config_keys; i++) {
		const struct config_key *k = &config_keys[i];
		bool is_name = k == config_keys; /* docker's own, not, say, that of a volume */
		if (json_is(key, k->key) && (is_name ? depth == 1 : depth == 2 || depth == 3))
			return k;
	}
	return NULL;
}

static void take_name(const struct config_key *k, const struct json_value *v,
		      struct container_names *out)
{
	char *const fields[] = { [FIELD_CONTAINER] = out->container,
				 [FIELD_POD] = out->pod,
				 [FIELD_NAMESPACE] = out->name_space };
	size_t skip = k == config_keys && v->len && *v->text == '/';

	/* The kubelet's name takes precedence over docker's: k8s_CONTAINER_POD_… */
	if (k->of_pod || !*fields[k->field])
		set(fields[k->field], v->text + skip, v->len - skip);
}

static struct json_reader *open_json(const char *text, size_t len, struct input **in)
{
	return input_open_memory(text, len, in, NULL) ? NULL : json_reader_new(*in);
}

bool container_config_parse(const char *text, size_t len, bool in_pod, struct container_names *out)
{
	const struct config_key *key = NULL;
	struct json_value v;
	struct input *in;
	struct json_reader *r = open_json(text, len, &in);
	int rc = 0;

	if (!r)
		return false;
	while ((rc = json_next(r, &v, NULL)) > 0) {
		if (v.token == JSON_STRING && key)
			take_name(key, &v, out);
		key = v.token == JSON_KEY ? find_key(&v, json_depth(r)) : NULL;
		if (key && key->of_pod && !in_pod)
			key = NULL;
	}
	json_reader_free(r);
	input_close(in);
	return rc == 0;
}

/* Reads one container of the list: {"id": ID, "names": [NAME, …], …}. */
static int read_listed(struct json_reader *r, const char *id, struct container_names *out)
{
	struct container_names found = { 0 };
	struct json_value v;
	bool is_it = false;
	int rc;

	while ((rc = json_key_next(r, &v, NULL)) > 0) {
		bool is_id = json_is(&v, "id"), is_names = json_is(&v, "names");
		if (is_id && (rc = json_scalar(r, &v, NULL)) > 0)
			is_it = json_is(&v, id);
		else if (is_names && (rc = json_enter(r, JSON_ARRAY, NULL)) > 0)
			while ((rc = json_item_next(r, NULL)) > 0 &&
			       (rc = json_scalar(r, &v, NULL)) >= 0)
				if (rc > 0 && v.token == JSON_STRING && !*found.container)
					set(found.container, v.text, v.len);
		if (!is_id && !is_names)
			rc = json_skip(r, NULL);
		if (rc < 0)
			return rc;
	}
	if (is_it && *found.container)
		set(out->container, found.container, strlen(found.container));
	return rc;
}

bool container_list_parse(const char *text, size_t len, const char *id, struct container_names *out)
{
	struct input *in;
	struct json_reader *r = open_json(text, len, &in);

	if (!r)
		return false;
	int rc = json_enter(r, JSON_ARRAY, NULL);
	bool is_list = rc > 0;
	while (is_list && (rc = json_item_next(r, NULL)) > 0) {
		rc = json_enter(r, JSON_OBJECT, NULL);
		if (rc > 0)
			rc = read_listed(r, id, out);
		if (rc < 0)
			break;
	}
	json_reader_free(r);
	input_close(in);
	return is_list && rc == 0;
}

/* --- lookups ---------------------------------------------------------------------------------- */

static const char *const config_paths[] = {
	"var/lib/docker/containers/%s/config.v2.json",
	"run/containerd/io.containerd.runtime.v2.task/k8s.io/%s/config.json",
	"run/containerd/io.containerd.runtime.v2.task/default/%s/config.json",
	"run/containers/storage/overlay-containers/%s/userdata/config.json",
};

static void look_in_configs(int root, const char *id, bool in_pod, struct container_names *out)
{
	struct buf b = { 0 };
	char path[160];

	for (size_t i = 0; i < sizeof config_paths / sizeof *config_paths && !*out->container;
	     i++) {
		snprintf(path, sizeof path, config_paths[i], id);
		buf_clear(&b);
		if (fs_read_at(root, path, CONFIG_MAX_BYTES, &b, NULL) == 0)
			container_config_parse(b.data, b.len, in_pod, out);
	}
	buf_clear(&b);
	if (!*out->container &&
	    fs_read_at(root, "var/lib/containers/storage/overlay-containers/containers.json",
		       CONFIG_MAX_BYTES, &b, NULL) == 0)
		container_list_parse(b.data, b.len, id, out);
	buf_done(&b);
}

static void look(int root, const struct cgroup_place *place, struct container_names *out)
{
	const char *id = place->container_id;

	if (place->pod_uid[0] && *id)
		look_in_directory(root, "var/log/containers", container_link_parse, id, out);
	if (*id && !*out->container)
		look_in_configs(root, id, place->pod_uid[0] != '\0', out);
	if (place->pod_uid[0] && !*out->pod)
		look_in_directory(root, "var/log/pods", pod_directory_parse, place->pod_uid, out);
}

/* --- cache ------------------------------------------------------------------------------------ */

struct container_entry {
	char id[CONTAINER_ID_LEN + 1], pod_uid[POD_UID_BYTES];
	struct container_names names;
	uint32_t looks;
	uint64_t looked_ns;
};

static void forget(struct container_cache *c)
{
	for (size_t i = 0; i < c->all.n; i++)
		free(c->all.v[i]);
	vec_clear(&c->all);
	map_clear(&c->by_hash);
}

void container_cache_done(struct container_cache *c)
{
	forget(c);
	vec_done(&c->all);
	map_done(&c->by_hash);
}

struct entry_search {
	const struct container_cache *cache;
	const struct cgroup_place *place;
};

static bool is_entry(const void *ctx, uint32_t i)
{
	const struct entry_search *s = ctx;
	const struct container_entry *e = s->cache->all.v[i];

	return strcmp(e->id, s->place->container_id) == 0 &&
	       strcmp(e->pod_uid, s->place->pod_uid) == 0;
}

static struct container_entry *entry_of(struct container_cache *c, const struct cgroup_place *place)
{
	struct entry_search search = { c, place };
	uint64_t hash = hash_mix(hash_bytes(place->container_id, strlen(place->container_id)),
				 hash_bytes(place->pod_uid, strlen(place->pod_uid)));

	if (c->all.n >= CONTAINER_NAMES_MAX)
		forget(c);
	uint32_t i = map_intern(&c->by_hash, hash, c->all.n, is_entry, &search);
	if (i == c->all.n) {
		struct container_entry *e = xcalloc(1, sizeof *e);
		memcpy(e->id, place->container_id, sizeof e->id);
		memcpy(e->pod_uid, place->pod_uid, sizeof e->pod_uid);
		vec_push(&c->all, e);
	}
	return c->all.v[i];
}

static bool is_complete(const struct container_entry *e)
{
	return (*e->names.container || !*e->id) && (*e->names.pod || !*e->pod_uid);
}

const struct container_names *container_names_get(struct container_cache *c, int root,
						  const struct cgroup_place *place, bool may_look,
						  uint64_t now_ns)
{
	if (!place->container_id[0] && !place->pod_uid[0])
		return NULL;
	struct container_entry *e = entry_of(c, place);
	if (may_look && !is_complete(e) && e->looks < LOOKS_MAX &&
	    (!e->looks || now_ns >= e->looked_ns + LOOK_AGAIN_NS)) {
		look(root, place, &e->names);
		e->looks++;
		e->looked_ns = now_ns;
	}
	return &e->names;
}
