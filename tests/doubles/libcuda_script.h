/* tests/doubles/libcuda_script.h: the part of libcuda.so.1.c that is its script: which devices there are, what takes how long, and what fails. */

enum { DEVICES = 16, NAMES = 256 };
enum wait_how { WAIT_SLEEP, WAIT_SPIN, WAIT_NONE };
struct named {
	char name[128];
	u64 value, after;
	u64 calls;
};
static struct {
	struct device {
		char name[64], uuid[64];
		u64 memory;
		u32 index; /* of all that there are */
	} device[DEVICES];
	u32 n_devices;
	struct named kernels[NAMES], fails[NAMES], costs[NAMES];
	u32 n_kernels, n_fails, n_costs;
	u64 other_kernel_ns, copy_bytes_per_us;
	enum wait_how wait;
	struct lazy_module {
		char path[256], kernels[8][128];
		u32 n_kernels;
		bool is_loaded;
	} modules[16];
	u32 n_modules;
} script = { .other_kernel_ns = 10000, .copy_bytes_per_us = 20000 };

static void add_named(struct named *list, u32 *n, const char *name, u64 value, u64 after)
{
	if (*n == NAMES)
		return;
	snprintf(list[*n].name, sizeof list[*n].name, "%s", name);
	list[*n].value = value;
	list[(*n)++].after = after;
}

static void device_statement(int n, char **w)
{
	u64 i = strtoull(w[1], NULL, 0);

	if (i >= DEVICES)
		return;
	if (script.n_devices <= i)
		script.n_devices = i + 1;
	script.device[i].memory = script_number(n, w, "memory", 80000000000ull);
	for (int k = 2; k + 1 < n; k++) {
		if (strcmp(w[k], "name") == 0)
			snprintf(script.device[i].name, sizeof script.device[i].name, "%s",
				 w[k + 1]);
		if (strcmp(w[k], "uuid") == 0)
			snprintf(script.device[i].uuid, sizeof script.device[i].uuid, "%s",
				 w[k + 1]);
	}
}

static void module_statement(int n, char **w)
{
	struct lazy_module *m = &script.modules[script.n_modules];

	if (script.n_modules == sizeof script.modules / sizeof *script.modules)
		return;
	script.n_modules++;
	snprintf(m->path, sizeof m->path, "%s", w[1]);
	for (int i = 2; i < n && m->n_kernels < 8; i++)
		snprintf(m->kernels[m->n_kernels++], 128, "%s", w[i]);
}

static void statement(int n, char **w)
{
	if (n < 3)
		return;
	if (!strcmp(w[0], "module"))
		module_statement(n, w);
	if (!strcmp(w[0], "device"))
		device_statement(n, w);
	else if (!strcmp(w[0], "kernel") && !strcmp(w[1], "*"))
		script.other_kernel_ns = script_number(n, w, "ns", 10000);
	else if (!strcmp(w[0], "kernel"))
		add_named(script.kernels, &script.n_kernels, w[1], script_number(n, w, "ns", 10000),
			  0);
	else if (!strcmp(w[0], "copy"))
		script.copy_bytes_per_us = script_number(n, w, "bytes_per_us", 20000);
	else if (!strcmp(w[0], "fail") && !strncmp(w[1], "cu", 2))
		add_named(script.fails, &script.n_fails, w[1], strtoull(w[2], NULL, 0),
			  script_number(n, w, "after", 0));
	else if (!strcmp(w[0], "cost"))
		add_named(script.costs, &script.n_costs, w[1], script_number(n, w, "ns", 0), 0);
}

static void wait_statement(int n, char **w)
{
	if (n >= 2 && !strcmp(w[0], "wait"))
		script.wait = !strcmp(w[1], "spin")   ? WAIT_SPIN
			      : !strcmp(w[1], "none") ? WAIT_NONE
						      : WAIT_SLEEP;
}

static u32 device_named(const struct device *all, u32 n, const char *word)
{
	u32 i = 0;

	if (*word >= '0' && *word <= '9')
		return strtoul(word, NULL, 10);
	while (i < n && strcmp(all[i].uuid, word) != 0)
		i++;
	return i;
}

/* Of those that there are; the first that there is not ends the list. */
static void choose_visible(void)
{
	const char *said = getenv("CUDA_VISIBLE_DEVICES");
	char list[256], *rest = list, *word;
	struct device all[DEVICES];
	u32 n = 0, n_all = script.n_devices;

	if (!said)
		return;
	snprintf(list, sizeof list, "%s", said);
	memcpy(all, script.device, sizeof all);
	while ((word = strsep(&rest, ",")) && n < DEVICES && *word) {
		u32 i = device_named(all, n_all, word);

		if (i >= n_all)
			break;
		script.device[n++] = all[i];
	}
	script.n_devices = n;
}

__attribute__((constructor)) static void read_script(void)
{
	script_read(statement);
	script_read(wait_statement);
	if (!script.n_devices)
		script.device[script.n_devices++].memory = 80000000000ull;
	for (u32 i = 0; i < script.n_devices; i++) {
		script.device[i].index = i;
		if (!script.device[i].name[0])
			snprintf(script.device[i].name, sizeof script.device[i].name, "Double %u",
				 i);
		if (!script.device[i].uuid[0])
			snprintf(script.device[i].uuid, sizeof script.device[i].uuid,
				 "GPU-00000000-0000-0000-0000-%012u", i);
	}
	choose_visible();
}

static struct named *find_named(struct named *list, u32 n, const char *name)
{
	for (u32 i = 0; i < n; i++)
		if (strcmp(list[i].name, name) == 0)
			return &list[i];
	return NULL;
}

__attribute__((visibility("default"))) u64 double_cuda_kernel_ns(const char *name)
{
	struct named *k = find_named(script.kernels, script.n_kernels, name);

	return k ? k->value : script.other_kernel_ns;
}
