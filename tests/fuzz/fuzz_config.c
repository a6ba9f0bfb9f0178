// tier: test
/* Any text as a configuration file; its rules are tried on a series. */
#include "base/json/yaml.h"
#include "cmd/daemon/always.h"
#include "profile/profile.h"
#include "profile/relabel.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_rules(const struct relabel *r)
{
	static const struct label_text labels[] = { { "comm", "nginx: worker" },
						    { "host", "web-1.example.org" },
						    { "__meta", "a-b-c" } };
	struct profile *p = profile_new();
	uint32_t set;

	if (relabel_labels(r, profile_sink(p), labels, 3, &set) &&
	    p->series.sets.v[set].n > RELABEL_MAX_LABELS)
		abort();
	profile_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = { 0 };
	const struct yaml *y;
	struct relabel *r;

	if (yaml_read(data, size, "f", &a, &y, NULL) == 0) {
		if (!yaml_equal(y, y))
			abort();
		for (const struct yaml *kid = y->kids; kid; kid = kid->next)
			if (relabel_read(kid, "f", &r, NULL) == 0) {
				try_rules(r);
				relabel_free(r);
			}
	}
	arena_done(&a);
	return 0;
}
