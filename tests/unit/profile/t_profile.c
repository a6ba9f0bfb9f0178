// tier: test
#include "base/vec.h"
#include "naive_tree.h"
#include "random_profile.h"
#include "unit.h"

static const struct random_shape SHAPE = { .n_stacks = 300, .n_samples = 1500 };

/* --- the name of a frame --- */

static uint32_t by_address(struct profile *p, uint8_t kind, const char *path, uint64_t offset)
{
	struct sink *s = profile_sink(p);
	struct mapping m = { .name = sink_string(s, path) };
	struct frame f = { .kind = kind, .mapping = s->ops->mapping(s, &m), .offset = offset };
	return s->ops->frame(s, &f);
}

static const char *only_name(struct profile *p, uint32_t frame)
{
	struct shown_line line;
	ck_assert_uint_eq(profile_frame_lines(p, frame, &line, 1), 1);
	ck_assert_uint_eq(line.line, 0);
	ck_assert_uint_eq(line.file, 0);
	return profile_str(p, line.name);
}

START_TEST(frames_without_a_name_are_module_and_offset)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct frame nameless = { .kind = FRAME_JIT, .mapping = MAPPING_NONE };
	ck_assert_str_eq(only_name(p, by_address(p, FRAME_NATIVE, "/usr/lib/libc.so.6", 0x1234)),
			 "libc.so.6+0x1234");
	ck_assert_str_eq(only_name(p, by_address(p, FRAME_KERNEL, "[kernel]", 0xffffffff81000010)),
			 "[kernel]+0xffffffff81000010");
	ck_assert_str_eq(only_name(p, by_address(p, FRAME_NATIVE, "prog", 0)), "prog+0x0");
	ck_assert_str_eq(only_name(p, by_address(p, FRAME_NATIVE, "", 0x10)), "[unknown]+0x10");
	ck_assert_str_eq(only_name(p, by_address(p, FRAME_NATIVE, "/dir/", 0x10)), "/dir/+0x10");
	ck_assert_str_eq(only_name(p, s->ops->frame(s, &nameless)), "[unknown]");
	profile_free(p);
}
END_TEST

START_TEST(binaries_are_the_last_part_of_the_path)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct frame named = { .kind = FRAME_JIT, .mapping = MAPPING_NONE };
	uint32_t frame = by_address(p, FRAME_NATIVE, "/usr/bin/redis-server (deleted)", 1);
	ck_assert_str_eq(profile_str(p, profile_frame_binary(p, frame)), "redis-server (deleted)");
	ck_assert_uint_eq(profile_frame_binary(p, s->ops->frame(s, &named)), 0);
	profile_free(p);
}
END_TEST

START_TEST(names_win_over_the_frame_s_own)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct frame own = { .kind = FRAME_PYTHON, .mapping = MAPPING_NONE, .line = 12 };
	own.function = sink_string(s, "handler");
	own.file = sink_string(s, "app.py");
	uint32_t frame = s->ops->frame(s, &own);
	struct shown_line lines[3];
	ck_assert_uint_eq(profile_frame_lines(p, frame, lines, 3), 1);
	ck_assert_str_eq(profile_str(p, lines[0].name), "handler");
	ck_assert_str_eq(profile_str(p, lines[0].file), "app.py");
	ck_assert_uint_eq(lines[0].line, 12);

	struct function inner = { .name = sink_string(s, "inner") };
	struct function outer = { .linkage = sink_string(s, "_outer"), .file = own.file };
	struct line chain[] = { { s->ops->function(s, &inner), 3, 0 },
				{ s->ops->function(s, &outer), 4, 0 } };
	s->ops->names(s, frame, chain, 2);
	ck_assert_uint_eq(profile_frame_lines(p, frame, lines, 3), 2);
	ck_assert_str_eq(profile_str(p, lines[0].name), "inner");
	ck_assert_str_eq(profile_str(p, lines[1].name), "_outer");
	ck_assert_str_eq(profile_str(p, lines[1].file), "app.py");
	ck_assert_uint_eq(lines[1].line, 4);
	ck_assert_uint_eq(profile_frame_lines(p, frame, lines, 1), 1);
	ck_assert_str_eq(profile_str(p, lines[0].name), "inner");

	s->ops->names(s, frame, NULL, 0);
	ck_assert_uint_eq(profile_frame_lines(p, frame, lines, 3), 1);
	ck_assert_str_eq(profile_str(p, lines[0].name), "handler");
	profile_free(p);
}
END_TEST

/* --- identity --- */

START_TEST(mappings_are_equal_by_build_id_or_else_by_file)
{
	struct frame_table t = { 0 };
	struct mapping id_a = { .name = 1, .build_id_len = 20, .build_id = { 7 } }, moved = id_a;
	moved.name = 2;
	moved.start = 0x5000;
	ck_assert_uint_eq(mapping_intern(&t, &id_a), mapping_intern(&t, &moved));
	ck_assert_uint_eq(t.mappings.v[0].name, 1);
	moved.build_id[19] = 1;
	ck_assert_uint_eq(mapping_intern(&t, &moved), 1);
	struct mapping text = { .name = 1, .build_id_text = 9 }, file = { .name = 1 }, other = file;
	ck_assert_uint_eq(mapping_intern(&t, &text), 2);
	ck_assert_uint_eq(mapping_intern(&t, &file), 3);
	other.identity = 5;
	ck_assert_uint_eq(mapping_intern(&t, &other), 4);
	other.offset = 0x1000;
	ck_assert_uint_eq(mapping_intern(&t, &other), 5);
	ck_assert_uint_eq(mapping_intern(&t, &file), 3);
	frame_table_done(&t);
}
END_TEST

START_TEST(frames_are_equal_by_address_or_by_name)
{
	struct frame_table t = { 0 };
	mapping_intern(&t, &(struct mapping){ .name = 1 });
	struct frame address = { .kind = FRAME_NATIVE, .mapping = 0, .offset = 64 };
	struct frame named = { .kind = FRAME_NATIVE, .mapping = MAPPING_NONE, .function = 64 };
	uint32_t a = frame_intern(&t, &address), b = frame_intern(&t, &named);
	ck_assert_uint_ne(a, b);
	address.line = 5; /* means nothing here */
	ck_assert_uint_eq(frame_intern(&t, &address), a);
	named.line = 5;
	ck_assert_uint_eq(frame_intern(&t, &named), 2);
	named.file = 1;
	ck_assert_uint_eq(frame_intern(&t, &named), 3);
	named.kind = FRAME_JIT;
	ck_assert_uint_eq(frame_intern(&t, &named), 4);
	frame_table_done(&t);
}
END_TEST

START_TEST(a_too_deep_stack_retains_its_leaf)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	uint32_t n = STACK_MAX_DEPTH + 100, *frames = calloc(n, sizeof *frames);
	for (uint32_t i = 0; i < n; i++)
		frames[i] = i < 10 ? by_address(p, FRAME_NATIVE, "prog", i) : frames[i % 10];
	uint32_t id = s->ops->stack(s, frames, n);
	uint32_t *got = calloc(STACK_MAX_DEPTH, sizeof *got);
	ck_assert_uint_eq(stack_depth(&p->stacks, id), STACK_MAX_DEPTH);
	stack_frames(&p->stacks, id, got);
	ck_assert_str_eq(only_name(p, got[0]), "[truncated: too deep]");
	ck_assert_uint_eq(p->frames.frames.v[got[0]].kind, FRAME_MARKER);
	ck_assert_mem_eq(got + 1, frames + n - (STACK_MAX_DEPTH - 1),
			 (STACK_MAX_DEPTH - 1) * sizeof *got);
	free(frames);
	free(got);
	profile_free(p);
}
END_TEST

/* The same stack as if all of its frames had been given, also for no frames and for one that becomes too deep. */
START_TEST(frames_are_put_above_a_stack)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	uint32_t *frames = calloc(STACK_MAX_DEPTH + 2, sizeof *frames);
	const uint32_t depths[] = { 0, 1, 2, 7, 300, STACK_MAX_DEPTH - 2, STACK_MAX_DEPTH };
	for (uint32_t i = 0; i < STACK_MAX_DEPTH + 2; i++)
		frames[i] = by_address(p, FRAME_NATIVE, "prog", i % 13);
	for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
		uint32_t below = s->ops->stack(s, frames, depths[i]);
		uint32_t above = s->ops->stack_above(s, below, frames + depths[i], 2);
		ck_assert_uint_eq(above, s->ops->stack(s, frames, depths[i] + 2));
		ck_assert_uint_eq(s->ops->stack_above(s, below, frames, 0), below);
	}
	free(frames);
	profile_free(p);
}
END_TEST

/* --- tables --- */

START_TEST(every_kind_and_loss_has_its_row)
{
	for (int i = 0; i < FRAME_KINDS; i++) {
		ck_assert_ptr_nonnull(frame_kinds[i].name);
		ck_assert_ptr_nonnull(frame_kinds[i].suffix);
		for (int k = 0; k < i; k++) {
			ck_assert_str_ne(frame_kinds[i].name, frame_kinds[k].name);
			/* The layers of a GPU's code share two. */
			bool is_layer = i >= FRAME_GPU_SOURCE && i <= FRAME_GPU_STALL &&
					k >= FRAME_GPU_SOURCE;
			if (*frame_kinds[i].suffix && !is_layer)
				ck_assert_str_ne(frame_kinds[i].suffix, frame_kinds[k].suffix);
		}
	}
	for (int i = 0; i < LOSS_REASONS; i++) {
		ck_assert_ptr_nonnull(loss_reasons[i].name);
		ck_assert(loss_reasons[i].text && loss_reasons[i].remedy);
	}
	for (int i = 0; i < BY_KEYS; i++)
		ck_assert_ptr_nonnull(tree_by_names[i]);
}
END_TEST

static uint32_t add_type(struct profile *p, const char *name, const char *sample_type)
{
	struct sink *s = profile_sink(p);
	struct type t = { .name = sink_string(s, name),
			  .sample_type = sink_string(s, sample_type) };
	return s->ops->type(s, &t);
}

START_TEST(types_are_picked_by_sample_type_then_by_name)
{
	struct profile *p = profile_new();
	ck_assert_uint_eq(profile_pick_type(p, NULL), UINT32_MAX);
	ck_assert_uint_eq(profile_pick_type(p, "cpu"), UINT32_MAX);
	uint32_t samples = add_type(p, "cpu", "samples"), time = add_type(p, "cpu", "cpu");
	uint32_t space = add_type(p, "alloc", "alloc_space");
	ck_assert_uint_eq(profile_pick_type(p, NULL), samples);
	ck_assert_uint_eq(profile_pick_type(p, "cpu"), time);
	ck_assert_uint_eq(profile_pick_type(p, "samples"), samples);
	ck_assert_uint_eq(profile_pick_type(p, "alloc"), space);
	ck_assert_uint_eq(profile_pick_type(p, "nothing"), UINT32_MAX);
	vec_push(&p->meta.sample_types, time);
	ck_assert_uint_eq(profile_pick_type(p, NULL), time);
	p->meta.default_type = space;
	ck_assert_uint_eq(profile_pick_type(p, NULL), space);
	profile_free(p);
}
END_TEST

START_TEST(totals_are_the_sums_of_their_type)
{
	struct random_profile r = random_profile(9, SHAPE);
	int64_t cpu = 0, alloc = 0;
	for (size_t i = 0; i < r.p->samples.n; i++) {
		uint32_t type = r.p->series.series.v[r.p->samples.series[i]].type;
		*(type == r.cpu ? &cpu : &alloc) += r.p->samples.value[i];
	}
	ck_assert_int_ne(cpu, 0);
	ck_assert_int_eq(profile_total(r.p, r.cpu), cpu);
	ck_assert_int_eq(profile_total(r.p, r.alloc), alloc);
	profile_free(r.p);
}
END_TEST

static uint32_t mapping_with(struct profile *p, const char *name, const char *id, size_t len,
			     uint64_t identity)
{
	struct sink *s = profile_sink(p);
	struct mapping m = { .name = sink_string(s, name),
			     .build_id_len = len,
			     .identity = identity };
	memcpy(m.build_id, id, len);
	return s->ops->mapping(s, &m);
}

START_TEST(build_ids_identify_files)
{
	static const char id[] = "0123456789", zeros[20] = { 0 };
	struct profile *p = profile_new();
	uint32_t first = mapping_with(p, "a", id, 10, 1);
	ck_assert_uint_eq(mapping_with(p, "b", id, 10, 1), first);
	ck_assert_uint_eq(mapping_with(p, "b", id, 10, 0), first); /* not known */
	ck_assert_uint_ne(mapping_with(p, "b", id, 10, 2), first); /* another file's code */
	/* Placeholders are no ids. */
	first = mapping_with(p, "a", zeros, 20, 0);
	ck_assert_uint_eq(mapping_with(p, "a", zeros, 20, 0), first);
	ck_assert_uint_ne(mapping_with(p, "b", zeros, 20, 0), first);
	first = mapping_with(p, "a", id, 7, 0);
	ck_assert_uint_ne(mapping_with(p, "b", id, 7, 0), first);
	ck_assert_uint_eq(p->frames.mappings.n, 6);
	profile_free(p);
}
END_TEST

START_TEST(only_lost_samples_count_as_such)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	uint64_t want = 0;
	for (int i = 0; i < LOSS_REASONS; i++) {
		s->ops->loss(s, i, 1ull << i);
		s->ops->loss(s, i, 1ull << i);
		want += loss_reasons[i].is_sample ? 2ull << i : 0;
	}
	ck_assert_uint_eq(profile_lost_samples(p), want);
	ck_assert_int_eq(loss_reasons[LOSS_RING_FULL].is_sample, 1);
	ck_assert_int_eq(loss_reasons[LOSS_STACK_RING_FULL].is_sample, 0);
	profile_free(p);
}
END_TEST

/* --- merging --- */

static struct profile *merge_of(const uint64_t *seeds, int n)
{
	struct profile *all = profile_new();
	for (int i = 0; i < n; i++) {
		struct random_profile one = random_profile(seeds[i], SHAPE);
		profile_merge(all, one.p);
		profile_free(one.p);
	}
	return all;
}

/* Everything of a type as text: root frames by all keys, and every line. */
static struct spelled spell_type(struct profile *p, const char *type)
{
	struct tree_opts o = { .type = profile_pick_type(p, type),
			       .by = { BY_PROCESS, BY_TID, BY_CPU, BY_CONTAINER },
			       .n_by = 4 };
	struct naive_result r = naive_build(p, &o, NULL);
	return r.spelled;
}

static void assert_same_profile(struct profile *a, struct profile *b)
{
	static const char *const types[] = { "samples", "alloc_space" };
	for (int i = 0; i < 2; i++) {
		struct spelled x = spell_type(a, types[i]), y = spell_type(b, types[i]);
		ck_assert_uint_gt(x.rows.n, 0);
		assert_spelled_eq(&x, &y);
		spelled_done(&x);
		spelled_done(&y);
	}
	ck_assert_uint_eq(a->samples.n, b->samples.n);
	ck_assert_uint_eq(a->frames.frames.n, b->frames.frames.n);
	ck_assert_uint_eq(a->frames.mappings.n, b->frames.mappings.n);
	ck_assert_uint_eq(a->stacks.stacks.n, b->stacks.stacks.n);
	ck_assert_uint_eq(a->stacks.own.n, b->stacks.own.n);
	ck_assert_uint_eq(a->series.series.n, b->series.series.n);
	ck_assert_uint_eq(a->series.types.n, b->series.types.n);
}

START_TEST(merging_into_nothing_is_a_copy)
{
	for (uint64_t seed = 1; seed < 10; seed++) {
		struct random_profile one = random_profile(seed, SHAPE);
		struct profile *copy = merge_of(&seed, 1);
		assert_same_profile(one.p, copy);
		profile_free(one.p);
		profile_free(copy);
	}
}
END_TEST

START_TEST(merging_in_any_order_is_the_same)
{
	for (uint64_t s = 1; s < 8; s++) {
		struct profile *abc = merge_of((uint64_t[]){ s, s + 10, s + 20 }, 3);
		struct profile *cab = merge_of((uint64_t[]){ s + 20, s, s + 10 }, 3);
		struct profile *right = merge_of((uint64_t[]){ s }, 1);
		struct profile *bc = merge_of((uint64_t[]){ s + 10, s + 20 }, 2);
		assert_same_profile(abc, cab);
		profile_merge(right, bc);
		assert_same_profile(abc, right);
		profile_free(abc);
		profile_free(cab);
		profile_free(right);
		profile_free(bc);
	}
}
END_TEST

START_TEST(merging_adds_totals)
{
	struct random_profile a = random_profile(1, SHAPE), b = random_profile(2, SHAPE);
	int64_t cpu = profile_total(a.p, a.cpu) + profile_total(b.p, b.cpu);
	size_t rows = a.p->samples.n + b.p->samples.n;
	profile_merge(a.p, b.p);
	ck_assert_int_eq(profile_total(a.p, a.cpu), cpu);
	ck_assert_uint_eq(a.p->samples.n, rows);
	profile_free(a.p);
	profile_free(b.p);
}
END_TEST

/* A profile of one sample, 7 ns after its start. */
static struct profile *one_sample(int64_t wall_ns, int64_t mono_ns, const char *host)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct series series = { .type = add_type(p, "cpu", "samples") };
	struct sample sample = { .time_ns = mono_ns + 7, .value = 1 };
	struct profile_meta *m = s->ops->meta(s);
	sample.series = s->ops->series(s, &series);
	s->ops->sample(s, &sample);
	m->start_wall_ns = wall_ns;
	m->start_mono_ns = mono_ns;
	m->duration_ns = 100;
	m->cpus = 4;
	m->host = sink_string(s, host);
	m->own_cpu_ns = 3;
	m->own_peak_bytes = wall_ns;
	vec_push(&m->comments, sink_string(s, "both"));
	vec_push(&m->comments, sink_string(s, host));
	return p;
}

START_TEST(times_of_different_hosts_meet_on_one_clock)
{
	struct profile *a = one_sample(5000, 10, "a"), *b = one_sample(4000, 900, "b");
	profile_merge(a, b);
	ck_assert_int_eq(a->samples.time_ns[0], 17);
	ck_assert_int_eq(a->samples.time_ns[1], 17 - 1000);
	ck_assert_int_eq(a->meta.start_wall_ns, 4000);
	ck_assert_int_eq(a->meta.start_mono_ns, 10 - 1000);
	ck_assert_int_eq(a->meta.duration_ns, 1100);
	profile_free(a);
	profile_free(b);
}
END_TEST

START_TEST(times_stay_where_a_wall_clock_is_unknown)
{
	struct profile *a = one_sample(0, 0, "a"), *b = one_sample(4000, 900, "b");
	profile_merge(a, b);
	ck_assert_int_eq(a->samples.time_ns[0], 7);
	ck_assert_int_eq(a->samples.time_ns[1], 907);
	ck_assert_int_eq(a->meta.start_wall_ns, 4000);
	ck_assert_int_eq(a->meta.duration_ns, 200);
	profile_free(a);
	profile_free(b);
}
END_TEST

START_TEST(samples_without_times_stay_without)
{
	struct profile *a = one_sample(5000, 10, "a"), *b = one_sample(4000, -7, "b");
	ck_assert_int_eq(b->samples.time_ns[0], 0);
	profile_merge(a, b);
	ck_assert_int_eq(a->samples.time_ns[1], 0);
	profile_free(a);
	profile_free(b);
}
END_TEST

START_TEST(metadata_known_for_both_is_merged)
{
	struct profile *a = one_sample(5000, 10, "a"), *b = one_sample(4000, 900, "b");
	a->meta.loss[LOSS_LATE] = 3;
	b->meta.loss[LOSS_LATE] = 4;
	b->meta.kernel = strtab_put(&b->strings, "6.1");
	profile_merge(a, b);
	ck_assert_str_eq(profile_str(a, a->meta.host), "b"); /* the earlier */
	ck_assert_str_eq(profile_str(a, a->meta.kernel), "6.1");
	ck_assert_uint_eq(a->meta.cpus, 8);
	ck_assert_uint_eq(a->meta.loss[LOSS_LATE], 7);
	ck_assert_uint_eq(a->meta.own_cpu_ns, 6);
	ck_assert_uint_eq(a->meta.own_peak_bytes, 5000);
	ck_assert_uint_eq(a->meta.comments.n, 3);
	struct profile *c = one_sample(4500, 0, "b");
	profile_merge(c, b);
	ck_assert_uint_eq(c->meta.cpus, 4); /* one host */
	profile_free(a);
	profile_free(b);
	profile_free(c);
}
END_TEST

START_TEST(the_shorter_path_of_one_build_id_stays)
{
	static const char *const paths[] = { "/var/lib/docker/overlay2/123/usr/lib/libc.so.6",
					     "/usr/lib/libc.so.6" };
	for (int first = 0; first < 2; first++) {
		struct profile *p[2];
		for (int i = 0; i < 2; i++) {
			p[i] = profile_new();
			struct sink *s = profile_sink(p[i]);
			struct mapping m = { .name = sink_string(s, paths[i]),
					     .build_id_len = 20,
					     .build_id = { 1, 2, 3 } };
			s->ops->mapping(s, &m);
		}
		profile_merge(p[first], p[!first]);
		ck_assert_uint_eq(p[first]->frames.mappings.n, 1);
		ck_assert_str_eq(profile_str(p[first], p[first]->frames.mappings.v[0].name),
				 paths[1]);
		profile_free(p[0]);
		profile_free(p[1]);
	}
}
END_TEST

UNIT_MAIN("profile", frames_without_a_name_are_module_and_offset,
	  binaries_are_the_last_part_of_the_path, names_win_over_the_frame_s_own,
	  mappings_are_equal_by_build_id_or_else_by_file, frames_are_equal_by_address_or_by_name,
	  a_too_deep_stack_retains_its_leaf, frames_are_put_above_a_stack,
	  every_kind_and_loss_has_its_row, types_are_picked_by_sample_type_then_by_name,
	  totals_are_the_sums_of_their_type, build_ids_identify_files,
	  only_lost_samples_count_as_such, merging_into_nothing_is_a_copy,
	  merging_in_any_order_is_the_same, merging_adds_totals,
	  times_of_different_hosts_meet_on_one_clock, times_stay_where_a_wall_clock_is_unknown,
	  samples_without_times_stay_without, metadata_known_for_both_is_merged,
	  the_shorter_path_of_one_build_id_stays)
