/* Loads a BPF object; after a refusal, loads its programs one by one to find the refused one. */
#include "collect/kernel/load.h"

#include "base/mem.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The kernel accepts no log buffer smaller than 128 bytes. Before 6.4, loading fails if the log
 * does not fit. */
enum { LOG_PLACE_BYTES = 256, LOG_MAX_BYTES = 16 << 20 };

int load_object(struct bpf_object *obj, struct bpf_object_skeleton *skeleton, char *program,
		size_t size)
{
	struct bpf_program *p;
	size_t n = 0;

	bpf_object__for_each_program(p, obj) n++;
	char(*places)[LOG_PLACE_BYTES] = xcalloc(n ? n : 1, sizeof *places);
	size_t i = 0;
	bpf_object__for_each_program(p, obj)
		bpf_program__set_log_buf(p, places[i++], sizeof *places);
	int rc = skeleton ? bpf_object__load_skeleton(skeleton) : bpf_object__load(obj);
	i = 0;
	program[0] = '\0';
	bpf_object__for_each_program(p, obj)
	{
		if (rc && places[i][0] && !program[0])
			snprintf(program, size, "%s", bpf_program__name(p));
		i++;
		bpf_program__set_log_buf(p, NULL, 0);
	}
	free(places);
	return rc;
}

int load_alone(struct bpf_object *obj, const char *program, char **log)
{
	struct bpf_program *p, *wanted = NULL;

	*log = NULL;
	bpf_object__for_each_program(p, obj)
	{
		bool is_it = strcmp(bpf_program__name(p), program) == 0;

		bpf_program__set_autoload(p, is_it);
		if (is_it)
			wanted = p;
	}
	if (!wanted)
		return -ENOENT;
	/* most of it is never touched */
	char *place = xcalloc(1, LOG_MAX_BYTES);
	bpf_program__set_log_buf(wanted, place, LOG_MAX_BYTES);
	int rc = bpf_object__load(obj);
	bpf_program__set_log_buf(wanted, NULL, 0);
	if (place[0])
		*log = strdup(place);
	free(place);
	return rc;
}
