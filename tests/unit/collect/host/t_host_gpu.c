// tier: test
/* Scripted GPUs, read by the thread for readings, as points of a host: labels, times, processes by name. */
#include "host_points_text.h"

#include "base/clock.h"
#include "collect/host/host_sources.h"
#include "gpu/device/scripted.h"
#include "gpu/device/watch.h"
#include "profile/readings.h"

#include <errno.h>
#include <unistd.h>

/* Makes a reading of two devices and an instance. */
struct made {
	struct gpu_machine machine;
	struct gpu_reading reading;
	struct gpu_status status;
};

static void make(struct made *m)
{
	static const struct gpu_device devices[] = {
		{ .label = "0", .uuid = "GPU-a", .name = "H100" },
		{ .label = "1", .uuid = "GPU-b", .name = "L4", .is_lost = true },
		{ .label = "0:1", .uuid = "MIG-c", .name = "H100 1g", .is_instance = true },
	};
	*m = (struct made){ .machine.driver = "550" };
	vec_append(&m->machine.devices, devices, 3);
}

static void done(struct made *m, struct host_points *w)
{
	vec_done(&m->machine.devices);
	gpu_reading_done(&m->reading);
	host_points_done(w);
}

START_TEST(points_have_labels_and_their_own_times)
{
	struct made m;
	struct host_points w;
	make(&m);
	host_points_init(&w, "db7");
	w.time_ns = 99;
	gpu_point_put(&m.reading, 0, GPU_UTILIZATION, 10, 0.5);
	gpu_point_put(&m.reading, 0, GPU_UTILIZATION, 20, 0.75);
	gpu_point_put(&m.reading, 0, GPU_POWER, 20, 350);
	gpu_point_put(&m.reading, 2, GPU_MEMORY_USAGE, 20, 4096);
	gpu_point_put(&m.reading, 2, GPU_MEMORY_FREE, 20, 1);
	gpu_point_put(&m.reading, 7, GPU_POWER, 20, 1); /* of no device */
	m.status = (struct gpu_status){ .implausible = 3 };
	host_gpu_put(&m.machine, &m.reading, &m.status, &w);
	ck_assert_int_eq(w.time_ns, 99);
	puts_these(&w, "hw_gpu_info{0,GPU-a,H100,550,db7} 1 @99\n"
		       "hw_gpu_info{0:1,MIG-c,H100 1g,550,db7} 1 @99\n"
		       "cresset_gpu_left_out{db7,implausible} 3 @99\n"
		       "hw_gpu_utilization{0,GPU-a,db7,general} 0.5 @10\n"
		       "hw_gpu_utilization{0,GPU-a,db7,general} 0.75 @20\n"
		       "hw_gpu_power{0,GPU-a,db7} 350 @20\n"
		       "hw_gpu_instance_memory_usage{0:1,MIG-c,db7} 4096 @20\n");
	done(&m, &w);
}
END_TEST

static void use(struct made *m, uint32_t device, int64_t time_ns, const char *name, uint64_t bytes)
{
	struct gpu_process p = { .device = device,
				 .time_ns = time_ns,
				 .has_memory = true,
				 .memory_bytes = bytes,
				 .has_utilization = bytes > 100,
				 .utilization = 0.25 };
	snprintf(p.name, sizeof p.name, "%s", name);
	vec_push(&m->reading.processes, p);
}

START_TEST(processes_of_one_name_are_added_up)
{
	struct made m;
	struct host_points w;
	make(&m);
	m.machine.devices.n = 1;
	m.machine.devices.v[0].is_lost = true; /* its info is tested elsewhere */
	host_points_init(&w, NULL);
	use(&m, 0, 10, "python3", 1000);
	use(&m, 0, 10, "", 7);
	use(&m, 0, 10, "python3", 500);
	use(&m, 0, 20, "python3", 50);
	use(&m, 5, 20, "python3", 50); /* of no device */
	host_gpu_put(&m.machine, &m.reading, &m.status, &w);
	puts_these(&w, "process_gpu_memory_usage{0,python3} 1500 @10\n"
		       "process_gpu_utilization{0,python3} 0.5 @10\n"
		       "process_gpu_memory_usage{0,[unknown]} 7 @10\n"
		       "process_gpu_memory_usage{0,python3} 50 @20\n");
	done(&m, &w);
}
END_TEST

START_TEST(excess_names_are_merged)
{
	struct made m;
	struct host_points w;
	double sum = 0, other = 0;
	make(&m);
	m.machine.devices.n = 1;
	m.machine.devices.v[0].is_lost = true;
	host_points_init(&w, NULL);
	for (int i = 0; i < 100; i++) {
		char name[16];
		snprintf(name, sizeof name, "p%d", i);
		use(&m, 0, 10, name, 10);
	}
	host_gpu_put(&m.machine, &m.reading, &m.status, &w);
	ck_assert_uint_eq(w.m.points.n, HOST_GPU_NAMES + 1);
	for (size_t i = 0; i < w.m.points.n; i++)
		sum += w.m.points.v[i].value;
	other = w.m.points.v[HOST_GPU_NAMES].value;
	ck_assert_double_eq(sum, 1000);
	ck_assert_double_eq(other, 10 * (100 - HOST_GPU_NAMES));
	done(&m, &w);
}
END_TEST

/* --- the thread ------------------------------------------------------------------------------- */

static void write_script(char path[32], const char *text)
{
	snprintf(path, 32, "/tmp/t_host_gpu.XXXXXX");
	int fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

START_TEST(a_script_is_read_reading_by_reading)
{
	char path[32];
	write_script(path, "driver 7\ndevice 0 X 1000 A GPU\nmetric 0 hw_gpu_power 1,2,4,8\n"
			   "metric 0 hw_gpu_power_limit 700\nprocess 0 1 512 0.5\n");
	const struct gpu_watch_opts opts = { .source = { .script = path }, .interval_ns = 5000000 };
	struct gpu_watch *w = gpu_watch_start(&opts);
	struct gpu_machine machine = { 0 };
	struct gpu_reading reading = { 0 };
	double power[6];
	size_t n = 0, limits = 0;
	for (uint64_t end_ns = clock_mono_ns() + 20000000000; n < 6 && clock_mono_ns() < end_ns;
	     usleep(1000)) {
		gpu_watch_take(w, &machine, &reading);
		n = limits = 0;
		for (size_t i = 0; i < reading.points.n; i++) {
			const struct gpu_point *p = &reading.points.v[i];
			if (p->metric == GPU_POWER && n < 6)
				power[n++] = p->value;
			limits += p->metric == GPU_POWER_LIMIT && n <= 6;
		}
	}
	ck_assert_uint_eq(n, 6);
	for (size_t i = 0; i < 6; i++)
		ck_assert_double_eq(power[i], i < 4 ? 1 << i : 8);
	ck_assert_uint_eq(limits, 1);
	ck_assert_str_eq(machine.driver, "7");
	ck_assert_str_eq(machine.devices.v[0].name, "A GPU");
	ck_assert_str_ne(reading.processes.v[0].name, "");
	ck_assert_str_eq(gpu_watch_state(w).backend, "scripted");
	gpu_watch_stop(w);
	vec_done(&machine.devices);
	gpu_reading_done(&reading);
	unlink(path);
}
END_TEST

START_TEST(unsent_readings_are_counted)
{
	char path[32];
	struct buf b = { 0 };
	buf_adds(&b, "device 0 X 1000 G\n");
	for (int i = 0; i < 4000; i++)
		buf_adds(&b, "metric 0 hw_gpu_power 1\n");
	write_script(path, buf_cstr(&b));
	buf_done(&b);
	const struct gpu_watch_opts opts = { .source = { .script = path }, .interval_ns = 1000000 };
	struct gpu_watch *w = gpu_watch_start(&opts);
	struct gpu_machine machine = { 0 };
	struct gpu_reading reading = { 0 };
	for (uint64_t end_ns = clock_mono_ns() + 20000000000;
	     gpu_watch_state(w).readings < 40 && clock_mono_ns() < end_ns;)
		usleep(1000);
	gpu_watch_take(w, &machine, &reading);
	struct gpu_status s = gpu_watch_state(w);
	ck_assert_uint_ge(s.readings, 40);
	ck_assert_uint_gt(s.dropped, 0);
	ck_assert_uint_le(reading.points.n, GPU_MAX_POINTS);
	gpu_watch_stop(w);
	vec_done(&machine.devices);
	gpu_reading_done(&reading);
	unlink(path);
}
END_TEST

START_TEST(none_and_one_that_is_damaged)
{
	char path[32];
	write_script(path, "device 0 X 1000 G\nmetric 1 hw_gpu_power 1\n");
	const struct gpu_watch_opts damaged = { .source = { .script = path } };
	struct gpu_watch *w = gpu_watch_start(&damaged);
	gpu_watch_wait(w, 10000000000);
	struct gpu_status s = gpu_watch_state(w);
	ck_assert_int_eq(s.state, GPU_FAILED);
	ck_assert_ptr_nonnull(strstr(s.words, "line 2 of the script is not a statement"));
	gpu_watch_stop(w);
	unlink(path);
	const struct gpu_watch_opts gone = { .source = { .script = path } };
	w = gpu_watch_start(&gone);
	gpu_watch_wait(w, 10000000000);
	ck_assert_int_eq(gpu_watch_state(w).state, GPU_FAILED);
	gpu_watch_stop(w);
}
END_TEST

START_TEST(each_row_is_found_by_its_name)
{
	for (int i = 0; i < GPU_METRICS; i++) {
		const struct gpu_metric_row *row = &gpu_metrics[i];
		ck_assert_ptr_nonnull(row->name);
		ck_assert_int_eq(gpu_metric_find(row->name, row->value ? row->value : ""), i);
	}
	ck_assert_int_eq(gpu_metric_find("hw_gpu_utilization", ""), -1);
}
END_TEST

UNIT_MAIN("host_gpu", points_have_labels_and_their_own_times, processes_of_one_name_are_added_up,
	  excess_names_are_merged, a_script_is_read_reading_by_reading, unsent_readings_are_counted,
	  none_and_one_that_is_damaged, each_row_is_found_by_its_name)
