// tier: test
/* Metrics of the host: files of /proc as points; odd, truncated or damaged files. */
#include "host_points_text.h"
#include "rand.h"

#include "collect/host/host_metrics.h"
#include "collect/host/host_sources.h"
#include "collect/kernel/gpu_stats.h"
#include "collect/kernel/missing.h"
#include "collect/kernel/sampler_opts.h"
#include "format/otlp/otlp_metrics.h"
#include "store/codec/metric_samples.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- CPU -------------------------------------------------------------------------------------- */

static const char stat_text[] = "cpu  1000 20 300 4000 50 6 7 80 9 0\n"
				"cpu0 600 10 200 2000 25 3 3 40 9 0\n"
				"cpu3 400 10 100 2000 25 3 4 40 0 0\n"
				"intr 1234 0 0 9\n"
				"ctxt 1990473\nbtime 1062191376\nprocesses 2915\n"
				"procs_running 1\nprocs_blocked 0\n";

START_TEST(cpu_time_by_mode_and_core)
{
	struct host_points w;
	struct host_cpu c;
	host_points_init(&w, "db7");
	host_cpu_init(&c);
	c.ticks_per_s = 100;
	host_cpu_put_stat(&c, text_of(stat_text), &w);
	puts_these(&w, "system_cpu_time{user,db7} 10\nsystem_cpu_time{nice,db7} 0.2\n"
		       "system_cpu_time{system,db7} 3\nsystem_cpu_time{idle,db7} 40\n"
		       "system_cpu_time{iowait,db7} 0.5\nsystem_cpu_time{irq,db7} 0.06\n"
		       "system_cpu_time{softirq,db7} 0.07\nsystem_cpu_time{steal,db7} 0.8\n"
		       "system_cpu_busy{db7,0} 8.16\nsystem_cpu_busy{db7,3} 5.17\n"
		       "system_cpu_logical_count{db7} 2\n");
	host_cpu_done(&c);
	host_points_done(&w);
}
END_TEST

/* iowait may decrease; a decreased counter would count in full. */
START_TEST(decreases_by_a_few_ticks_are_ignored)
{
	struct host_points w;
	struct host_cpu c;
	host_points_init(&w, NULL);
	host_cpu_init(&c);
	c.ticks_per_s = 100;
	host_cpu_put_stat(&c, text_of("cpu0 500 0 0 0 0 0 0 0\n"), &w);
	host_cpu_put_stat(&c, text_of("cpu0 498 0 0 0 0 0 0 0\n"), &w);
	host_cpu_put_stat(&c, text_of("cpu0 501 0 0 0 0 0 0 0\n"), &w);
	host_cpu_put_stat(&c, text_of("cpu0 3 0 0 0 0 0 0 0\n"), &w); /* restarted */
	puts_these(&w, "system_cpu_busy{0} 5\nsystem_cpu_logical_count{} 1\n"
		       "system_cpu_busy{0} 5\nsystem_cpu_logical_count{} 1\n"
		       "system_cpu_busy{0} 5.01\nsystem_cpu_logical_count{} 1\n"
		       "system_cpu_busy{0} 0.03\nsystem_cpu_logical_count{} 1\n");
	host_cpu_done(&c);
	host_points_done(&w);
}
END_TEST

START_TEST(odd_lines_of_cpus_are_passed_over)
{
	struct host_points w;
	struct host_cpu c;
	host_points_init(&w, NULL);
	host_cpu_init(&c);
	c.ticks_per_s = 100;
	host_cpu_put_stat(&c,
			  text_of("cpu\ncpuX 1 2 3 4 5 6 7 8\ncpu99999999 1 2 3 4 5 6 7 8\n"
				  "cpu1 1 2 3 4 5 6 7\ncpu2 1 2 3 -4 5 6 7 8\n"
				  "cpu4 99999999999999999999 0 0 0 0 0 0 0\n"
				  "cpu5 18446744073709551615 0 0 0 0 0 0 0\n"
				  "cpu6 1 2 3 4 5 6 7 8"), /* cut */
			  &w);
	puts_these(&w, "system_cpu_busy{5} 1.844674407e+17\nsystem_cpu_logical_count{} 1\n");
	host_cpu_put_stat(&c, text_of(""), &w);
	puts_these(&w, "");
	host_cpu_done(&c);
	host_points_done(&w);
}
END_TEST

START_TEST(waits_for_a_cpu)
{
	struct host_points w;
	host_points_init(&w, NULL);
	host_cpu_put_schedstat(text_of("version 15\ntimestamp 4296127281\n"
				       "cpu0 0 0 0 0 0 0 70000000000 2500000000 901\n"
				       "domain0 00000003 1 2 3 4 5 6 7 8\n"
				       "cpu12 0 0 0 0 0 0 70000000000 1000 901\ncpu2 0 0 0\n"),
			       &w);
	puts_these(&w, "system_cpu_wait{0} 2.5\nsystem_cpu_wait{12} 1e-06\n");
	host_cpu_put_schedstat(text_of("version 12\ncpu0 0 0 0 0 0 0 1 2 3\n"), &w);
	host_cpu_put_schedstat(text_of("timestamp 12\ncpu0 0 0 0 0 0 0 1 2 3\n"), &w);
	puts_these(&w, "");
	host_points_done(&w);
}
END_TEST

START_TEST(load_and_run_queue)
{
	struct host_points w;
	struct host_cpu c;
	host_points_init(&w, NULL);
	host_cpu_init(&c);
	host_cpu_put_load(text_of("13.98 13.08 7.74 16/148 7178\n"), &w);
	host_cpu_look(&c, text_of("13.98 13.08 7.74 16/148 7178\n"));
	host_cpu_look(&c, text_of("0.00 0.00 0.00 1/80 7178\n"));
	host_cpu_look(&c, text_of("0.00 0.00 0.00\n"));
	host_cpu_look(&c, text_of(""));
	host_cpu_put_run_queue(&c, &w);
	puts_these(&w, "system_cpu_load_average_1m{} 13.98\nsystem_cpu_run_queue{} 7.5\n");
	host_cpu_put_run_queue(&c, &w); /* nobody looked */
	static const char *const none[] = { "", "1", "1.2 3", "x.00 1", "1.x0 2", "1.002 1" };
	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		host_cpu_put_load(text_of(none[i]), &w);
	puts_these(&w, "");
	host_cpu_done(&c);
	host_points_done(&w);
}
END_TEST

/* --- memory ----------------------------------------------------------------------------------- */

START_TEST(memory_in_parts)
{
	struct host_points w;
	host_points_init(&w, NULL);
	host_memory_put(text_of("MemTotal:        1000 kB\nMemFree:          300 kB\n"
				"MemAvailable:     600 kB\nBuffers:           50 kB\n"
				"Cached:           200 kB\nSwapCached:         0 kB\n"
				"Active(anon):       1 kB\nSReclaimable:      40 kB\n"
				"SwapTotal:        100 kB\nSwapFree:          70 kB\n"
				"HugePages_Total:       7\n"),
			&w);
	puts_these(&w, "system_memory_limit{} 1024000\nsystem_memory_available{} 614400\n"
		       "system_memory_usage{used} 419840\nsystem_memory_usage{free} 307200\n"
		       "system_memory_usage{buffers} 51200\nsystem_memory_usage{cached} 245760\n"
		       "system_paging_usage{used} 30720\nsystem_paging_usage{free} 71680\n");
	host_memory_put(text_of("MemTotal: 10 kB\nMemFree: 11 kB\nBuffers: 1 kB\nCached: 1 kB\n"),
			&w);
	puts_these(&w, "system_memory_limit{} 10240\nsystem_memory_usage{used} 0\n"
		       "system_memory_usage{free} 11264\nsystem_memory_usage{buffers} 1024\n"
		       "system_memory_usage{cached} 1024\n");
	host_memory_put(text_of("MemTotal:\nMemFree kB\nSwapFree: 5 kB\nMemTotal: 10 k"), &w);
	puts_these(&w, "");
	host_points_done(&w);
}
END_TEST

START_TEST(pressure)
{
	struct host_points w;
	host_points_init(&w, NULL);
	host_pressure_put("io",
			  text_of("some avg10=3.20 avg60=2.96 avg300=1.83 total=1263876714\n"
				  "full avg10=0.00 avg60=0.00 avg300=0.28 total=499160032\n"),
			  &w);
	puts_these(&w,
		   "system_pressure{io,some} 1263.876714\nsystem_pressure{io,full} 499.160032\n");
	host_pressure_put("irq", text_of("full avg10=0.00 total=5 more=1\n"), &w);
	puts_these(&w, "system_pressure{irq,full} 5e-06\n");
	host_pressure_put(
		"cpu", text_of("some avg10=0.00\nsome total=x\nother total=1\nfull total=9"), &w);
	puts_these(&w, "");
	host_points_done(&w);
}
END_TEST

/* --- devices ---------------------------------------------------------------------------------- */

static bool has_no_digit_at_its_end(void *ctx, const char *name)
{
	(void)ctx;
	return name[strlen(name) - 1] > '9';
}
static bool is_eth(void *ctx, const char *name)
{
	return ctx && strncmp(name, "eth", 3) == 0;
}

START_TEST(disks)
{
	const struct host_device_facts facts = { .is_disk = has_no_digit_at_its_end };
	struct host_points w;
	host_points_init(&w, NULL);
	host_disks_put(text_of("   7       0 loop0 9 9 9 9 9 9 9 9 9 9 9\n"
			       " 254       0 vda 10 2 100 5 20 3 200 6 1 7500 8 0 0 0 0 1 2\n"
			       " 254       1 vda1 10 2 100 5 20 3 200 6 1 7500 8\n"
			       " 254      16 vdb 0 0 0 0 0 0 0 0 0 0 0\n" /* never used */
			       " 253       0 dm-a 10 2 100 5 20 3 200 6 1 7500 8\n"
			       "   8       0 sda 1 2 3\n"
			       "   8       0 a-name-that-is-longer-than-any-disk-has-in-linux 1 2 "
			       "3 4 5 6 7 8 9 10\n"
			       "   8       0 sdb 1 0 18446744073709551615 0 0 0 0 0 0 4294967295\n"
			       "   8       0 sdc 1 0 1 0 0 0 0 0 0 4"),
		       &facts, &w);
	puts_these(&w, "system_disk_io{vda,read} 51200\nsystem_disk_io{vda,write} 102400\n"
		       "system_disk_operations{vda,read} 10\nsystem_disk_operations{vda,write} 20\n"
		       "system_disk_io_time{vda} 7.5\n"
		       "system_disk_io{sdb,read} 9.444732966e+21\nsystem_disk_io{sdb,write} 0\n"
		       "system_disk_operations{sdb,read} 1\nsystem_disk_operations{sdb,write} 0\n"
		       "system_disk_io_time{sdb} 4294967.295\n");
	host_points_done(&w);
}
END_TEST

static const char net_text[] =
	"Inter-|   Receive                                                |  Transmit\n"
	" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs\n"
	"    lo: 9 9 9 9 0 0 0 0 9 9 9 9 0 0 0 0\n"
	"  eth0:100 2 3 4 5 6 7 8 900 10 11 12 13 14 15 16\n"
	"  veth1: 1 0 0 0 0 0 0 0 2 0 0 0 0 0 0 0\n"
	"  eth1: 1 2 3\n";

START_TEST(networks)
{
	bool has = true;
	struct host_device_facts facts = { .is_hardware = is_eth, .ctx = &has };
	struct host_points w;
	host_points_init(&w, NULL);
	host_networks_put(text_of(net_text), &facts, &w);
	puts_these(&w, "system_network_io{eth0,receive} 100\nsystem_network_io{eth0,transmit} 900\n"
		       "system_network_packets{eth0,receive} 2\n"
		       "system_network_packets{eth0,transmit} 10\n"
		       "system_network_errors{eth0,receive} 3\n"
		       "system_network_errors{eth0,transmit} 11\n"
		       "system_network_dropped{eth0,receive} 4\n"
		       "system_network_dropped{eth0,transmit} 12\n");
	facts.ctx = NULL; /* none is hardware */
	host_networks_put(text_of(net_text), &facts, &w);
	ck_assert_uint_eq(w.m.points.n, 16);
	host_points_done(&w);
}
END_TEST

START_TEST(devices_are_bounded)
{
	const struct host_device_facts facts = { .is_disk = has_no_digit_at_its_end,
						 .is_hardware = is_eth };
	struct host_points w;
	struct buf disks = { 0 }, nets = { 0 };
	host_points_init(&w, NULL);
	for (int i = 0; i < 2 * HOST_MAX_DEVICES; i++) {
		buf_addf(&disks, "8 0 sd%dx 1 0 1 0 0 0 0 0 0 4 0\n", i);
		buf_addf(&nets, "veth%d: 1 0 0 0 0 0 0 0 2 0 0 0 0 0 0 0\n", i);
	}
	host_disks_put(cur_of(disks.data, disks.len), &facts, &w);
	ck_assert_uint_eq(w.m.points.n, 5 * HOST_MAX_DEVICES);
	host_networks_put(cur_of(nets.data, nets.len), &facts, &w);
	ck_assert_uint_eq(w.m.points.n, (5 + 8) * HOST_MAX_DEVICES);
	buf_done(&disks);
	buf_done(&nets);
	host_points_done(&w);
}
END_TEST

/* Every prefix of every file, and the file with any byte changed: no point that is not a number, no read beyond the end (ASan). */
START_TEST(cut_and_damaged_files)
{
	static const char meminfo[] = "MemTotal: 1000 kB\nMemFree: 300 kB\nBuffers: 5 kB\n";
	const struct host_device_facts facts = { .is_disk = has_no_digit_at_its_end,
						 .is_hardware = is_eth };
	struct rng rng = { 7 };
	struct host_cpu c;
	struct host_points w;
	host_cpu_init(&c);
	host_points_init(&w, NULL);
	for (int i = 0; i < 3000; i++) {
		const char *const texts[] = { stat_text, meminfo, net_text };
		const char *text = texts[i % 3];
		size_t len = rng_below(&rng, strlen(text) + 1);
		char *copy = malloc(len + !len); /* exact size */
		memcpy(copy, text, len);
		if (len && i % 2)
			copy[rng_below(&rng, len)] = (char)rng_below(&rng, 256);
		host_cpu_put_stat(&c, cur_of(copy, len), &w);
		host_cpu_put_load(cur_of(copy, len), &w);
		host_memory_put(cur_of(copy, len), &w);
		host_pressure_put("cpu", cur_of(copy, len), &w);
		host_disks_put(cur_of(copy, len), &facts, &w);
		host_networks_put(cur_of(copy, len), &facts, &w);
		free(copy);
	}
	for (size_t i = 0; i < w.m.points.n; i++)
		ck_assert(w.m.points.v[i].value >= 0);
	host_cpu_done(&c);
	host_points_done(&w);
}
END_TEST

/* --- the real ones ---------------------------------------------------------------------------- */

static double value_of(const struct otlp_metrics *m, const struct profile *p, const char *name)
{
	for (size_t i = 0; i < m->points.n; i++)
		if (strcmp(profile_str(p, m->series.v[m->points.v[i].series].name), name) == 0)
			return m->points.v[i].value;
	return -1;
}

/* A profile with a sample of this process. */
static struct profile *sampled_profile(void)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct type type = { .name = sink_string(s, "cpu"),
			     .sample_type = sink_string(s, "samples"),
			     .unit = sink_string(s, "count") };
	struct label label = { .key = sink_string(s, "process"), .str = sink_string(s, "me") };
	struct series series = { .type = s->ops->type(s, &type),
				 .period = 50000000,
				 .labels = s->ops->labels(s, &label, 1) };
	struct sample sample = { .value = 1,
				 .series = s->ops->series(s, &series),
				 .pid = getpid() };
	s->ops->sample(s, &sample);
	return p;
}

START_TEST(losses_of_the_collector)
{
	struct host_points w;
	struct host_losses h = { 0 };
	uint64_t lost[LOSS_REASONS] = { [LOSS_RING_FULL] = 3, [LOSS_LEFT_OUT] = 1000 };
	host_points_init(&w, "db7");
	w.time_ns = 20;
	host_losses_put(&h, lost, 10, &w);
	puts_these(&w, "cresset_lost{ring_full,sample,db7} 0 @10\n"
		       "cresset_lost{ring_full,sample,db7} 3 @20\n"
		       "cresset_lost{ring_busy,sample,db7} 0 @20\n"
		       "cresset_lost{sampler_busy,sample,db7} 0 @20\n"
		       "cresset_lost{waits_unseen,sample,db7} 0 @20\n"
		       "cresset_lost{queue_full,sample,db7} 0 @20\n");
	lost[LOSS_OBJECT_GONE] = 2;
	lost[LOSS_QUEUE_FULL] = 5;
	w.time_ns = 30;
	host_losses_put(&h, lost, 20, &w);
	puts_these(&w, "cresset_lost{ring_full,sample,db7} 3 @30\n"
		       "cresset_lost{ring_busy,sample,db7} 0 @30\n"
		       "cresset_lost{sampler_busy,sample,db7} 0 @30\n"
		       "cresset_lost{waits_unseen,sample,db7} 0 @30\n"
		       "cresset_lost{queue_full,sample,db7} 5 @30\n"
		       "cresset_lost{object_gone,detail,db7} 0 @20\n"
		       "cresset_lost{object_gone,detail,db7} 2 @30\n");
	host_points_done(&w);
}
END_TEST

/* Stacks inside exec and exit are whole. */
START_TEST(stacks_that_end_early)
{
	struct host_points w;
	struct host_stacks h = { 0 };
	uint64_t ends[WALK_ENDS] = { [WALK_NOT_LOADED] = 7, [WALK_EXEC] = 90, [WALK_EXIT] = 80 };
	struct host_cut_stacks cut = { .ends = ends };

	host_points_init(&w, "db7");
	w.time_ns = 20;
	host_stacks_put(&h, &cut, 10, &w);
	puts_these(&w, "cresset_truncated{unwind table not loaded,db7} 0 @10\n"
		       "cresset_truncated{unwind table not loaded,db7} 7 @20\n");
	ends[WALK_CUT] = 2;
	cut.no_time = 3;
	w.time_ns = 30;
	host_stacks_put(&h, &cut, 20, &w);
	puts_these(&w, "cresset_truncated{unwind table not loaded,db7} 7 @30\n"
		       "cresset_truncated{stack not sent,db7} 0 @20\n"
		       "cresset_truncated{stack not sent,db7} 2 @30\n"
		       "cresset_copies_refused{CPU time,db7} 0 @20\n"
		       "cresset_copies_refused{CPU time,db7} 3 @30\n");
	host_points_done(&w);
}
END_TEST

/* The part of GPU time that is seen: absent without GPUs; shares are of the interval, not of all time. */
START_TEST(gpu_time_of_the_collector)
{
	struct host_points w;
	struct host_gpu_time h = { 0 };
	struct gpu_probes_stats probes = { 0 };
	struct gpu_time_stats t = { 0 };

	host_points_init(&w, "db7");
	host_gpu_time_put(&h, &probes, &t, &w);
	puts_these(&w, "");
	probes.files = 2;
	host_gpu_time_put(&h, &probes, &t, &w);
	puts_these(&w, "cresset_gpu_probed_files{db7} 2\n");
	t = (struct gpu_time_stats){ .programs = 5,
				     .watching = 3,
				     .given_up = 1,
				     .watched_ns = 1000,
				     .window_ns = 10,
				     .exact_ns = 2000000000 };
	host_gpu_time_put(&h, &probes, &t, &w);
	puts_these(&w, "cresset_gpu_probed_files{db7} 2\n"
		       "cresset_gpu_time_programs{db7,watched} 2\n"
		       "cresset_gpu_time_programs{db7,given_up} 1\n"
		       "cresset_gpu_time_coverage{db7} 0.01\n"
		       "cresset_gpu_time{db7,exact} 2\n"
		       "cresset_gpu_time{db7,estimate} 0\n"
		       "cresset_gpu_time{db7,unknown} 0\n");
	t.watched_ns = 2000;
	t.window_ns = 510;
	t.given_up = 0;
	t.estimated_ns = 500000000;
	probes.files = 0;
	host_gpu_time_put(&h, &probes, &t, &w);
	puts_these(&w, "cresset_gpu_time_programs{watched,db7} 3\n"
		       "cresset_gpu_time_programs{given_up,db7} 0\n"
		       "cresset_gpu_time_coverage{db7} 0.5\n"
		       "cresset_gpu_time{db7,exact} 2\n"
		       "cresset_gpu_time{db7,estimate} 0.5\n"
		       "cresset_gpu_time{db7,unknown} 0\n");
	host_attach_put(&(struct host_attach){ 4, 3, 2, 1 }, &(struct host_attach){ 8, 7, 6, 5 },
			&w);
	puts_these(&w, "cresset_gpu_attached{attached,db7} 4\n"
		       "cresset_gpu_attached{refused,db7} 3\n"
		       "cresset_gpu_attached{failed,db7} 2\n"
		       "cresset_gpu_attached{left_out,db7} 1\n"
		       "cresset_mem_attached{attached,db7} 8\n"
		       "cresset_mem_attached{refused,db7} 7\n"
		       "cresset_mem_attached{failed,db7} 6\n"
		       "cresset_mem_attached{left_out,db7} 5\n");
	host_points_done(&w);
}
END_TEST

START_TEST(unrecorded_values)
{
	const struct series_opts opts = { .host = "here" };
	const struct collect_missing missing[] = { { GROUP_WAITS, "no tracepoint" },
						   { GROUP_GPU, "no uprobes" } };
	struct host_metrics *h = host_metrics_new(&opts, NULL);
	struct host_interval interval = { .start_wall_ns = 1000,
					  .duration_ns = 1000,
					  .now_wall_ns = 2000,
					  .samples = sampled_profile(),
					  .missing = missing };
	struct otlp_metrics m = { 0 };
	struct profile *p = profile_new();
	struct buf b = { 0 };

	host_metrics_take(h, &interval, &b);
	ck_assert_int_eq(otlp_metrics_decode(b.data, b.len, p, &m, NULL), 0);
	ck_assert_uint_eq(strtab_find(&p->strings, "cresset_missing"), UINT32_MAX);
	ck_assert_uint_eq(strtab_find(&p->strings, "cresset_kernel_memory"), UINT32_MAX);
	ck_assert_uint_eq(strtab_find(&p->strings, "cresset_wait_coverage"), UINT32_MAX);
	ck_assert_uint_eq(strtab_find(&p->strings, "cresset_truncated"), UINT32_MAX);
	otlp_metrics_done(&m);
	buf_clear(&b);
	m = (struct otlp_metrics){ 0 };
	interval.n_missing = 2;
	interval.kernel_map_bytes = interval.kernel_ring_bytes = 1 << 19;
	interval.wait_share = .25;
	host_metrics_take(h, &interval, &b);
	ck_assert_int_eq(otlp_metrics_decode(b.data, b.len, p, &m, NULL), 0);
	ck_assert(value_of(&m, p, "cresset_missing") == 1);
	ck_assert(value_of(&m, p, "cresset_kernel_memory") == 1 << 19);
	ck_assert(value_of(&m, p, "cresset_wait_coverage") == .25);
	ck_assert_uint_ne(strtab_find(&p->strings, "waits"), UINT32_MAX);
	ck_assert_uint_ne(strtab_find(&p->strings, "no tracepoint"), UINT32_MAX);
	ck_assert_uint_ne(strtab_find(&p->strings, "GPU calls"), UINT32_MAX);
	otlp_metrics_done(&m);
	buf_done(&b);
	profile_free(p);
	profile_free((struct profile *)interval.samples);
	host_metrics_free(h);
}
END_TEST

START_TEST(this_host)
{
	const struct label_text env = { "env", "test" };
	const struct series_opts opts = { .host = "here", .labels = &env, .n_labels = 1 };
	struct host_metrics *h = host_metrics_new(&opts, NULL);
	struct host_interval interval = { .start_wall_ns = 1000,
					  .duration_ns = 1000,
					  .now_wall_ns = 2000,
					  .samples = sampled_profile() };
	struct otlp_metrics m = { 0 };
	struct metric_samples points = { 0 };
	struct profile *p = profile_new();
	struct buf b = { 0 };
	host_metrics_look(h, 1);
	host_metrics_take(h, &interval, &b);
	ck_assert_int_eq(otlp_metrics_decode(b.data, b.len, p, &m, NULL), 0);
	ck_assert_uint_eq(otlp_metrics_refused(&m), 0);
	ck_assert(value_of(&m, p, "system_memory_limit") ==
		  (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE));
	ck_assert(value_of(&m, p, "system_cpu_logical_count") ==
		  (double)sysconf(_SC_NPROCESSORS_ONLN));
	ck_assert(value_of(&m, p, "system_cpu_run_queue") >= 0);
	ck_assert(value_of(&m, p, "process_memory_usage") > 0);
	otlp_metrics_points(&m, p, &points);
	ck_assert_uint_eq(points.n, m.points.n);
	ck_assert_int_eq(metric_samples_check(&points, p, NULL), 0);
	vec_done(&points);
	buf_done(&b);
	otlp_metrics_done(&m);
	profile_free(p);
	profile_free((struct profile *)interval.samples);
	host_metrics_free(h);
}
END_TEST

UNIT_MAIN("host_metrics", cpu_time_by_mode_and_core, decreases_by_a_few_ticks_are_ignored,
	  odd_lines_of_cpus_are_passed_over, waits_for_a_cpu, load_and_run_queue, memory_in_parts,
	  pressure, disks, networks, devices_are_bounded, cut_and_damaged_files,
	  losses_of_the_collector, stacks_that_end_early, gpu_time_of_the_collector,
	  unrecorded_values, this_host)
