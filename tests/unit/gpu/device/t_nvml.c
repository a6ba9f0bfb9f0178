// tier: test
/* NVIDIA GPUs through NVML, simulated by tests/doubles/libnvidia-ml.so.1.c: every answer, no answer, missing functions, and impossible answers. */
#include "unit.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "gpu/device/nvidia.h"
#include "gpu/device/watch.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <time.h>
#include <unistd.h>

/* A load of the library by name gets the one already loaded. */
static void play(const char *text)
{
	char lib[128], path[] = "/tmp/t_nvml.XXXXXX";
	const char *build = getenv("BUILD");
	int fd = mkstemp(path);
	snprintf(lib, sizeof lib, "%s/doubles/libnvidia-ml.so.1", build ? build : "build");
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	setenv("CRESSET_DOUBLE", path, 1);
	if (!dlopen(lib, RTLD_NOW))
		ck_abort_msg("%s", dlerror());
}

static void end_play(void)
{
	unlink(getenv("CRESSET_DOUBLE"));
}

struct played {
	gpu_call call;
	struct gpu_session *session;
	struct gpu_machine machine;
	struct gpu_reading reading;
};

static void begin(struct played *p)
{
	struct err err = { 0 };
	*p = (struct played){ 0 };
	ck_assert_msg(gpu_nvidia.open(&(struct gpu_source){ 0 }, &p->call, &p->session, &err) == 0,
		      "%s", err.text);
	ck_assert_int_eq(gpu_nvidia.discover(p->session, &p->machine, &err), 0);
}

static void read_all(struct played *p, bool with_slow)
{
	vec_clear(&p->reading.points);
	vec_clear(&p->reading.processes);
	gpu_nvidia.metrics(p->session, &p->machine, with_slow, &p->reading);
	ck_assert_uint_eq(p->call, 0);
}

static void end(struct played *p)
{
	gpu_nvidia.close(p->session);
	vec_done(&p->machine.devices);
	gpu_reading_done(&p->reading);
	end_play();
}

/* "DEVICE name:value number" of each point, by line. */
static char *spelled(const struct played *p)
{
	struct buf b = { 0 };
	for (size_t i = 0; i < p->reading.points.n; i++) {
		const struct gpu_point *at = &p->reading.points.v[i];
		const struct gpu_metric_row *row = &gpu_metrics[at->metric];
		buf_addf(&b, "%s %s%s%s %.10g\n", p->machine.devices.v[at->device].label, row->name,
			 row->value ? ":" : "", row->value ? row->value : "", at->value);
	}
	return buf_steal(&b);
}

static void reads_these(const struct played *p, const char *want)
{
	char *text = spelled(p);
	ck_assert_str_eq(text, want);
	free(text);
}

static const char full[] =
	"device 0 name \"NVIDIA H100 80GB HBM3\" uuid GPU-a-b memory 85000000000\n"
	"metric 0 gpu 37,99\nmetric 0 memory 12\nmetric 0 used 1000000\nmetric 0 reserved 500\n"
	"metric 0 clock_sm 1980\nmetric 0 clock_mem 2619\nmetric 0 clock_graphics 1975\n"
	"metric 0 max_sm 1981\nmetric 0 max_mem 2620\nmetric 0 max_graphics 1982\n"
	"metric 0 power_mw 350125,351000\nmetric 0 power_limit_mw 700000\n"
	"metric 0 energy_mj 123456789,123806789\nmetric 0 temperature 45\n"
	"metric 0 shutdown 92\nmetric 0 slowdown 89\nmetric 0 memory_max 95\nmetric 0 gpu_max 87\n"
	"metric 0 throttled 5\nmetric 0 pcie_tx_kb 1500\nmetric 0 pcie_rx_kb 2500\n"
	"metric 0 pcie_generation 5\nmetric 0 pcie_width 16\nmetric 0 pcie_replays 3\n"
	"metric 0 nvlink_tx_kib 10\nmetric 0 nvlink_rx_kib 20\nmetric 0 ecc_corrected 7\n"
	"metric 0 ecc_uncorrected 1\nmetric 0 retired_single_bit 2\nmetric 0 retired_double_bit 0\n"
	"metric 0 remapped_corrected 4\nmetric 0 remapped_uncorrected 5\nmetric 0 encoder 8\n"
	"metric 0 decoder 9\nmetric 0 performance_state 2\nmetric 0 fan 61\n";

#define THROTTLED \
	"0 hw_gpu_throttled:idle 1\n0 hw_gpu_throttled:application_clocks 0\n" \
	"0 hw_gpu_throttled:power_cap 1\n0 hw_gpu_throttled:hardware 0\n" \
	"0 hw_gpu_throttled:sync_boost 0\n0 hw_gpu_throttled:thermal 0\n" \
	"0 hw_gpu_throttled:hardware_thermal 0\n0 hw_gpu_throttled:power_brake 0\n" \
	"0 hw_gpu_throttled:display_clocks 0\n"
#define MEMORY \
	"0 hw_gpu_memory_limit 8.5e+10\n0 hw_gpu_memory_usage 1000000\n" \
	"0 hw_gpu_memory_free 8.49989995e+10\n0 hw_gpu_memory_reserved 500\n"
#define SPEED \
	"0 hw_gpu_speed:sm 1980000000\n0 hw_gpu_speed:memory 2619000000\n" \
	"0 hw_gpu_speed:graphics 1975000000\n"
#define PCIE   "0 hw_gpu_pcie_throughput:receive 2500000\n0 hw_gpu_pcie_throughput:transmit 1500000\n"
#define CODERS "0 hw_gpu_utilization:encoder 0.08\n0 hw_gpu_utilization:decoder 0.09\n"
#define LINK   "0 hw_gpu_link_io:receive 20480\n0 hw_gpu_link_io:transmit 10240\n"

START_TEST(every_value_in_its_unit)
{
	struct played p;
	play(full);
	begin(&p);
	ck_assert_uint_eq(p.machine.devices.n, 1);
	ck_assert_str_eq(p.machine.driver, "550.54.15");
	ck_assert_str_eq(p.machine.devices.v[0].name, "NVIDIA H100 80GB HBM3");
	ck_assert_str_eq(p.machine.devices.v[0].uuid, "GPU-a-b");
	ck_assert_str_eq(p.machine.devices.v[0].bus, "00000000:01:00.0");
	ck_assert_uint_eq(p.machine.devices.v[0].memory_bytes, 85000000000);
	read_all(&p, true);
	reads_these(
		&p,
		"0 hw_gpu_power 350.125\n0 hw_gpu_utilization:general 0.37\n"
		"0 hw_gpu_memory_controller_utilization 0.12\n" MEMORY SPEED
		"0 hw_gpu_speed_limit:sm 1981000000\n0 hw_gpu_speed_limit:memory 2620000000\n"
		"0 hw_gpu_speed_limit:graphics 1982000000\n0 hw_gpu_power_limit 700\n"
		"0 hw_gpu_temperature 45\n0 hw_gpu_temperature_limit:shutdown 92\n"
		"0 hw_gpu_temperature_limit:slowdown 89\n"
		"0 hw_gpu_temperature_limit:memory_max 95\n"
		"0 hw_gpu_temperature_limit:gpu_max 87\n" PCIE
		"0 hw_gpu_pcie_link_generation 5\n0 hw_gpu_pcie_link_width 16\n"
		"0 hw_gpu_pcie_replays 3\n0 hw_gpu_performance_state 2\n"
		"0 hw_gpu_fan_speed_ratio 0.61\n0 hw_gpu_energy 123456.789\n" CODERS THROTTLED LINK
		"0 hw_gpu_errors:corrected 7\n0 hw_gpu_errors:uncorrected 1\n"
		"0 hw_gpu_retired_pages:single_bit 2\n0 hw_gpu_retired_pages:double_bit 0\n"
		"0 hw_gpu_remapped_rows:corrected 4\n0 hw_gpu_remapped_rows:uncorrected 5\n"
		"0 hw_gpu_partitioned 0\n");
	read_all(&p, false);
	reads_these(&p,
		    "0 hw_gpu_power 351\n0 hw_gpu_utilization:general 0.99\n"
		    "0 hw_gpu_memory_controller_utilization 0.12\n" MEMORY SPEED
		    "0 hw_gpu_temperature 45\n" PCIE "0 hw_gpu_performance_state 2\n"
		    "0 hw_gpu_fan_speed_ratio 0.61\n0 hw_gpu_energy 123806.789\n" CODERS THROTTLED
			    LINK);
	ck_assert_uint_eq(p.reading.implausible, 0);
	end(&p);
}
END_TEST

START_TEST(nothing_is_supported)
{
	struct played p;
	play("device 0\n");
	begin(&p);
	read_all(&p, true);
	reads_these(&p, "0 hw_gpu_partitioned 0\n");
	ck_assert_uint_eq(p.reading.processes.n, 0);
	ck_assert_uint_eq(p.reading.implausible, 0);
	end(&p);
}
END_TEST

/* --- functions that are missing --------------------------------------------------------------- */

static const char *const symbols[] = {
#define SYMBOL(member, symbol, args) symbol,
	NVML_CALLS(SYMBOL)
#undef SYMBOL
};
enum { SYMBOLS = sizeof symbols / sizeof *symbols };

struct less {
	void *library;
	const char *missing;
};
static void *find_less(void *ctx, const char *symbol)
{
	const struct less *l = ctx;
	return strcmp(symbol, l->missing) == 0 ? NULL : dlsym(l->library, symbol);
}

START_TEST(each_function_may_be_missing)
{
	static const char *const needed[] = { "nvmlInit_v2", "nvmlShutdown",
					      "nvmlDeviceGetCount_v2",
					      "nvmlDeviceGetHandleByIndex_v2" };
	play(full);
	for (int i = 0; i < SYMBOLS; i++) {
		struct less less = { dlopen("libnvidia-ml.so.1", RTLD_NOW), symbols[i] };
		struct played p = { 0 };
		struct nvml_api api;
		struct err err = { 0 };
		bool is_needed = false;
		for (size_t k = 0; k < sizeof needed / sizeof *needed; k++)
			is_needed |= strcmp(needed[k], symbols[i]) == 0;
		int rc = nvml_find(&api, find_less, &less, &err);
		ck_assert_msg(rc == (is_needed ? -ENOENT : 0), "%s: %d", symbols[i], rc);
		if (rc)
			continue;
		ck_assert_int_eq(api.init(), 0);
		p.session = nvidia_session_new(&api, less.library, &p.call);
		ck_assert_int_eq(gpu_nvidia.discover(p.session, &p.machine, &err), 0);
		gpu_nvidia.metrics(p.session, &p.machine, true, &p.reading);
		ck_assert_msg(p.reading.points.n > 30, "%s: %zu points", symbols[i],
			      p.reading.points.n);
		ck_assert_uint_eq(p.reading.implausible, 0);
		gpu_nvidia.close(p.session);
		vec_done(&p.machine.devices);
		gpu_reading_done(&p.reading);
	}
	end_play();
}
END_TEST

/* --- no driver, devices that go --------------------------------------------------------------- */

START_TEST(no_driver_and_one_that_fails)
{
	struct gpu_session *s;
	struct err err = { 0 };
	gpu_call call = 0;
	play("fail nvmlInit_v2 9\n");
	ck_assert_int_eq(gpu_nvidia.open(&(struct gpu_source){ 0 }, &call, &s, &err), -ENODEV);
	ck_assert_str_eq(err.text, "NVIDIA's library is installed but cannot be initialized: the "
				   "driver is not loaded");
	end_play();
	play("fail nvmlInit_v2 999\n");
	ck_assert_int_eq(gpu_nvidia.open(&(struct gpu_source){ 0 }, &call, &s, &err), -EAGAIN);
	ck_assert_str_eq(err.text,
			 "NVIDIA's library is installed but cannot be initialized: error 999");
	end_play();
}
END_TEST

START_TEST(a_lost_device_is_not_queried_again)
{
	struct played p;
	play("device 0\ndevice 1\nmetric 0 temperature 40\nmetric 1 temperature 50\nlost 1 after "
	     "1\n");
	begin(&p);
	read_all(&p, false);
	reads_these(&p, "0 hw_gpu_temperature 40\n1 hw_gpu_temperature 50\n");
	read_all(&p, false);
	ck_assert(p.machine.devices.v[1].is_lost);
	ck_assert(!p.machine.devices.v[0].is_lost);
	read_all(&p, false);
	reads_these(&p, "0 hw_gpu_temperature 40\n");
	end(&p);
}
END_TEST

START_TEST(instances_have_memory_only)
{
	struct played p;
	play("device 0 name G memory 8000 mig 2\nmetric 0 temperature 40\nmetric 0 used 10\n"
	     "metric 0 reserved 0\n");
	begin(&p);
	ck_assert_uint_eq(p.machine.devices.n, 3);
	ck_assert_str_eq(p.machine.devices.v[2].label, "0:1");
	ck_assert_str_eq(p.machine.devices.v[2].uuid, "MIG-0-1");
	ck_assert(p.machine.devices.v[2].is_instance);
	read_all(&p, true);
	reads_these(&p, "0 hw_gpu_memory_limit 8000\n0 hw_gpu_memory_usage 10\n"
			"0 hw_gpu_memory_free 7990\n0 hw_gpu_memory_reserved 0\n"
			"0 hw_gpu_temperature 40\n0 hw_gpu_partitioned 1\n"
			"0:0 hw_gpu_memory_limit 4000\n0:0 hw_gpu_memory_usage 0\n"
			"0:0 hw_gpu_memory_free 4000\n0:0 hw_gpu_memory_reserved 0\n"
			"0:1 hw_gpu_memory_limit 4000\n0:1 hw_gpu_memory_usage 0\n"
			"0:1 hw_gpu_memory_free 4000\n0:1 hw_gpu_memory_reserved 0\n");
	end(&p);
}
END_TEST

/* --- impossible values ------------------------------------------------------------------------ */

START_TEST(numbers_that_cannot_be_are_left_out)
{
	struct played p;
	play("device 0\nmetric 0 gpu 101\nmetric 0 memory -1\nmetric 0 power_mw -1\n"
	     "metric 0 temperature 4000000000\nmetric 0 energy_mj -1\nmetric 0 used -1\n"
	     "metric 0 reserved 0\nmetric 0 performance_state 32\nmetric 0 fan 50\n");
	begin(&p);
	read_all(&p, false);
	reads_these(&p, "0 hw_gpu_fan_speed_ratio 0.5\n");
	ck_assert_uint_eq(p.reading.implausible, 7);
	end(&p);
}
END_TEST

START_TEST(counts_that_cannot_be)
{
	struct played p;
	struct buf b = { 0 };
	play("device 0\ncount -1\n");
	begin(&p);
	ck_assert_uint_eq(p.machine.devices.n, 1);
	ck_assert_uint_eq(p.machine.left_out, UINT32_MAX - 1);
	end(&p);
	for (int i = 0; i < 70; i++)
		buf_addf(&b, "device %d\n", i);
	play(buf_cstr(&b));
	begin(&p);
	ck_assert_uint_eq(p.machine.devices.n, GPU_MAX_DEVICES);
	ck_assert_uint_eq(p.machine.left_out, 70 - GPU_MAX_DEVICES);
	end(&p);
	buf_done(&b);
}
END_TEST

START_TEST(texts_without_an_end)
{
	struct played p;
	play("device 0\nunterminated\n");
	begin(&p);
	ck_assert_uint_eq(strlen(p.machine.devices.v[0].name), GPU_TEXT - 1);
	ck_assert_uint_eq(strlen(p.machine.devices.v[0].bus), 32);
	ck_assert_uint_eq(strlen(p.machine.driver), GPU_TEXT - 1);
	end(&p);
	play("device 0 name \"a\x1b[31mb\xff\"\n");
	begin(&p);
	ck_assert_str_eq(p.machine.devices.v[0].name, "a?[31mb?");
	end(&p);
}
END_TEST

/* --- processes -------------------------------------------------------------------------------- */

START_TEST(processes_with_memory_and_utilization)
{
	struct played p;
	play("device 0\nprocess 0 pid 7 memory 4096 sm 60\nprocess 0 pid 8 memory 8192\n");
	begin(&p);
	usleep(2000);
	read_all(&p, false);
	ck_assert_uint_eq(p.reading.processes.n, 2);
	const struct gpu_process *v = p.reading.processes.v;
	ck_assert(v[0].pid == 7 && v[0].memory_bytes == 4096 && v[0].has_utilization);
	ck_assert_double_eq_tol(v[0].utilization, 0.6, 1e-12);
	ck_assert(v[1].pid == 8 && v[1].memory_bytes == 8192 && !v[1].has_utilization);
	end(&p);
}
END_TEST

START_TEST(more_processes_than_fit)
{
	struct played p;
	play("device 0\ncrowd 0 count 1000\n");
	begin(&p);
	read_all(&p, false);
	ck_assert_uint_eq(p.reading.processes.n, 1000);
	for (uint32_t i = 0; i < 1000; i++)
		ck_assert_uint_eq(p.reading.processes.v[i].pid, 1000000 + i);
	ck_assert_uint_eq(p.reading.truncated, 0);
	end(&p);
	play("device 0\ncrowd 0 count 5000\n");
	begin(&p);
	read_all(&p, false);
	ck_assert_uint_eq(p.reading.processes.n, 0);
	ck_assert_uint_eq(p.reading.truncated, 1);
	end(&p);
}
END_TEST

START_TEST(lists_that_lie_about_their_length)
{
	struct played p;
	play("device 0\nprocess 0 pid 7 memory 4096 sm 60\nsample 0 power 0 1000\nlie\n");
	begin(&p);
	read_all(&p, false);
	ck_assert_uint_le(p.reading.processes.n, 128);
	ck_assert_uint_ge(p.reading.implausible, 2);
	end(&p);
}
END_TEST

/* --- samples ---------------------------------------------------------------------------------- */

START_TEST(buffered_samples_have_their_own_times)
{
	struct played p;
	play("device 0\nmetric 0 power_mw 1\nmetric 0 gpu 1\nmetric 0 memory 3\n"
	     "sample 0 power 20 100500\nsample 0 power 40 200000\nsample 0 gpu 30 50\n"
	     "sample 0 power 60000 7\n");
	begin(&p);
	usleep(100000);
	int64_t now_ns = (int64_t)clock_wall_ns();
	read_all(&p, false);
	reads_these(&p,
		    "0 hw_gpu_power 100.5\n0 hw_gpu_power 200\n0 hw_gpu_utilization:general 0.5\n"
		    "0 hw_gpu_memory_controller_utilization 0.03\n");
	const struct gpu_point *v = p.reading.points.v;
	ck_assert_int_eq(v[1].time_ns - v[0].time_ns, 20000000);
	ck_assert_int_eq(v[1].time_ns - v[2].time_ns, 10000000);
	ck_assert(v[0].time_ns < now_ns && v[0].time_ns > now_ns - 5000000000);
	/* None is repeated; in between, the current value is used. */
	read_all(&p, false);
	reads_these(&p, "0 hw_gpu_power 0.001\n0 hw_gpu_utilization:general 0.01\n"
			"0 hw_gpu_memory_controller_utilization 0.03\n");
	end(&p);
}
END_TEST

/* --- the thread that reads -------------------------------------------------------------------- */

/* A driver that hangs in its call `after`, until end_play(). */
static struct gpu_watch *watch_hanging(unsigned after)
{
	const struct gpu_watch_opts opts = { .interval_ns = 20000000 };
	char text[96];
	snprintf(text, sizeof text, "device 0\nhang nvmlDeviceGetFanSpeed after %u\n", after);
	play(text);
	struct gpu_watch *w = gpu_watch_start(&opts);
	ck_assert_ptr_nonnull(w);
	return w;
}

static struct gpu_status until_hangs(struct gpu_watch *w)
{
	uint64_t begun_ns = clock_mono_ns();
	struct gpu_status s;
	do {
		usleep(10000);
		s = gpu_watch_state(w);
	} while (!s.hangs_ns && clock_mono_ns() < begun_ns + t_slow_ns(60000000000));
	ck_assert_uint_ge(s.hangs_ns, GPU_WATCHDOG_NS);
	return s;
}

/* The call ends only after the first half: a caller that waited for it would never get there. */
START_TEST(a_hanging_driver_blocks_no_caller)
{
	struct gpu_watch *w = watch_hanging(2);
	struct gpu_machine machine = { 0 };
	struct gpu_reading reading = { 0 };
	uint64_t fastest_ns = UINT64_MAX;
	struct gpu_status s = until_hangs(w);
	ck_assert_uint_eq(s.readings, 2);
	for (int i = 0; i < 10; i++) {
		uint64_t from_ns = clock_mono_ns();
		gpu_watch_take(w, &machine, &reading);
		s = gpu_watch_state(w);
		uint64_t took_ns = clock_mono_ns() - from_ns;
		fastest_ns = took_ns < fastest_ns ? took_ns : fastest_ns;
		ck_assert_uint_ne(s.hangs_ns, 0);
	}
	ck_assert_uint_lt(fastest_ns, 500000000); /* of one that waited for some time */
	end_play();                               /* it continues when the driver does */
	uint64_t begun_ns = clock_mono_ns();
	do {
		usleep(10000);
		s = gpu_watch_state(w);
	} while (s.readings < 4 && clock_mono_ns() < begun_ns + t_slow_ns(60000000000));
	ck_assert_uint_ge(s.readings, 4);
	ck_assert_uint_eq(s.hangs_ns, 0);
	gpu_watch_stop(w);
	vec_done(&machine.devices);
	gpu_reading_done(&reading);
}
END_TEST

static unsigned threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	unsigned n = 0;
	ck_assert_ptr_nonnull(tasks);
	while (readdir(tasks))
		n++;
	closedir(tasks);
	return n - 2; /* . and .. */
}

START_TEST(closing_does_not_wait_for_a_driver)
{
	unsigned before = threads();
	struct gpu_watch *w = watch_hanging(0);
	until_hangs(w);
	uint64_t from_ns = clock_mono_ns();
	gpu_watch_stop(w);
	ck_assert_uint_ge(clock_mono_ns() - from_ns, GPU_WATCHDOG_NS);
	/* The driver still hangs: the data of its thread remain until that ends. */
	ck_assert_uint_eq(threads(), before + 1);
	end_play();
	for (int i = 0; i < 6000 && threads() > before; i++)
		usleep(10000);
	ck_assert_uint_eq(threads(), before);
}
END_TEST

START_TEST(a_lost_device_is_looked_for_again)
{
	play("device 0\nmetric 0 temperature 40\nlost 0 after 2\n");
	const struct gpu_watch_opts opts = { .interval_ns = 10000000, .retry_ns = 50000000 };
	struct gpu_watch *w = gpu_watch_start(&opts);
	struct gpu_machine machine = { 0 };
	struct gpu_reading reading = { 0 };
	uint64_t begun_ns = clock_mono_ns();
	bool was_lost = false, came_back = false;
	do {
		gpu_watch_take(w, &machine, &reading);
		for (size_t i = 0; i < machine.devices.n; i++) {
			came_back |= was_lost && !machine.devices.v[i].is_lost;
			was_lost |= machine.devices.v[i].is_lost;
		}
		usleep(5000);
	} while (!came_back && clock_mono_ns() < begun_ns + t_slow_ns(60000000000));
	ck_assert(was_lost);
	ck_assert(came_back);
	gpu_watch_stop(w);
	vec_done(&machine.devices);
	gpu_reading_done(&reading);
	end_play();
}
END_TEST

/* Nothing of a working second device is missing while the first one is searched for. */
START_TEST(others_continue_while_one_is_searched)
{
	play("device 0\ndevice 1\nmetric 0 temperature 40\nmetric 1 temperature 50\nlost 0 after "
	     "1\n");
	const struct gpu_watch_opts opts = { .interval_ns = 10000000, .retry_ns = 30000000 };
	struct gpu_watch *w = gpu_watch_start(&opts);
	struct gpu_machine machine = { 0 };
	struct gpu_reading reading = { 0 };
	for (uint64_t end_ns = clock_mono_ns() + 20000000000;
	     gpu_watch_state(w).readings < 30 && clock_mono_ns() < end_ns;)
		usleep(5000);
	gpu_watch_take(w, &machine, &reading);
	size_t of_second = 0;
	for (size_t i = 0; i < reading.points.n; i++)
		of_second += reading.points.v[i].device == 1 &&
			     reading.points.v[i].metric == GPU_TEMPERATURE;
	ck_assert_uint_ge(of_second, 30);
	ck_assert_uint_eq(gpu_watch_state(w).dropped, 0);
	gpu_watch_stop(w);
	vec_done(&machine.devices);
	gpu_reading_done(&reading);
	end_play();
}
END_TEST

START_TEST(a_late_driver)
{
	play("fail nvmlInit_v2 9\n");
	const struct gpu_watch_opts opts = { .interval_ns = 10000000, .retry_ns = 30000000 };
	struct gpu_watch *w = gpu_watch_start(&opts);
	gpu_watch_wait(w, 10000000000);
	ck_assert_int_eq(gpu_watch_state(w).state, GPU_ABSENT);
	FILE *f = fopen(getenv("CRESSET_DOUBLE"), "w");
	fputs("device 0\nmetric 0 temperature 40\n", f);
	fclose(f);
	for (uint64_t end_ns = clock_mono_ns() + 20000000000;
	     gpu_watch_state(w).state != GPU_WORKS && clock_mono_ns() < end_ns;)
		usleep(5000);
	ck_assert_int_eq(gpu_watch_state(w).state, GPU_WORKS);
	gpu_watch_stop(w);
	end_play();
}
END_TEST

static enum gpu_profiling profiling(const char *text)
{
	return nvidia_profiling_parse(text, strlen(text));
}

START_TEST(permission_to_profile)
{
	ck_assert_int_eq(profiling("ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\nx: 0\n"),
			 GPU_PROFILING_ADMIN);
	ck_assert_int_eq(profiling("RmProfilingAdminOnly: 0\n"), GPU_PROFILING_ALL);
	ck_assert_int_eq(profiling("RmProfilingAdminOnly: 0"), GPU_PROFILING_ALL);
	ck_assert_int_eq(profiling(""), GPU_PROFILING_UNKNOWN);
	ck_assert_int_eq(profiling("RmProfilingAdminOnly:"), GPU_PROFILING_UNKNOWN);
	ck_assert_int_eq(profiling("RmProfilingAdminOnly: \n"), GPU_PROFILING_UNKNOWN);
	ck_assert_int_eq(profiling("RmProfilingAdminOnly: 10\n"), GPU_PROFILING_UNKNOWN);
	ck_assert_int_eq(profiling("RmProfilingAdminOnly: x\n"), GPU_PROFILING_UNKNOWN);
	ck_assert_int_eq(profiling("NotRmProfilingAdminOnly: 0\n"), GPU_PROFILING_UNKNOWN);
}
END_TEST

UNIT_MAIN("nvml", permission_to_profile, every_value_in_its_unit, nothing_is_supported,
	  each_function_may_be_missing, no_driver_and_one_that_fails,
	  a_lost_device_is_not_queried_again, instances_have_memory_only,
	  numbers_that_cannot_be_are_left_out, counts_that_cannot_be, texts_without_an_end,
	  processes_with_memory_and_utilization, more_processes_than_fit,
	  lists_that_lie_about_their_length, buffered_samples_have_their_own_times,
	  a_hanging_driver_blocks_no_caller, closing_does_not_wait_for_a_driver,
	  a_lost_device_is_looked_for_again, others_continue_while_one_is_searched, a_late_driver)
