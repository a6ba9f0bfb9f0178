// tier: test
/* perf script: our own text, read again. */
#include "base/buf.h"
#include "base/vec.h"
#include "perf_script_text.h"
#include "random_profile.h"
#include "spelled_profile.h"

START_TEST(the_text_is_as_perf_prints_it)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct type type = { .name = sink_string(s, "cpu"),
			     .sample_type = sink_string(s, "samples"),
			     .unit = sink_string(s, "count"),
			     .period_type = sink_string(s, "cpu"),
			     .period_unit = sink_string(s, "nanoseconds") };
	struct label comm = { .key = sink_string(s, "comm"), .str = sink_string(s, "web server") };
	struct series series = { .type = s->ops->type(s, &type),
				 .period = 10000000,
				 .labels = s->ops->labels(s, &comm, 1) };
	struct frame f = { .mapping = MAPPING_NONE,
			   .function = sink_string(s, "app.main"),
			   .kind = FRAME_PYTHON,
			   .binary = sink_string(s, "app") };
	uint32_t frames[2] = { s->ops->frame(s, &f) };
	struct mapping m = { .name = sink_string(s, "[kernel]") };
	struct frame k = { .kind = FRAME_KERNEL,
			   .mapping = s->ops->mapping(s, &m),
			   .offset = 0xffffffff81000010 };
	frames[1] = s->ops->frame(s, &k);
	struct sample sample = { .time_ns = 5000000007,
				 .value = 3,
				 .series = s->ops->series(s, &series),
				 .stack = s->ops->stack(s, frames, 2),
				 .pid = 12,
				 .tid = 13,
				 .cpu = 4 };
	s->ops->sample(s, &sample);
	s->ops->meta(s)->host = sink_string(s, "db7");
	char *got = written(&format_perf_script, p, &(struct format_write_opts){ 0 });
	ck_assert_str_eq(
		got,
		"# ========\n# hostname : db7\n"
		"# cresset type : cpu-clock\tcpu\tsamples\tcount\tcpu\tnanoseconds\t10000000\t1\n"
		"# ========\n#\n"
		"web server      12/13      [004]     5.000000007:   30000000 cpu-clock: \n"
		"\tffffffff81000010 [kernel]+0xffffffff81000010+0x0 ([kernel.kallsyms])\n"
		"\t               0 app.main+0x0 (//python)\n\n");
	free(got);
	profile_free(p);
}
END_TEST

/* Name and kind of every frame, and all columns, of one type; values in the unit of the period. */
static char *spelled_rows(struct profile *p, uint32_t type)
{
	struct shown_line lines[NAMES_MAX_INLINE];
	struct buf b = { 0 };
	for (size_t i = 0; i < p->samples.n; i++) {
		const struct sample_columns *c = &p->samples;
		const struct series *s = &p->series.series.v[c->series[i]];
		if (s->type != type || c->value[i] <= 0)
			continue;
		const struct label *comm =
			label_find(&p->series, s->labels, strtab_find(&p->strings, "comm"));
		uint32_t depth = stack_depth(&p->stacks, c->stack[i]);
		uint32_t *frames = malloc((depth + 1) * sizeof *frames);
		stack_frames(&p->stacks, c->stack[i], frames);
		buf_addf(&b, "%012lld %s %u %u %u %lld", (long long)c->time_ns[i],
			 comm ? profile_str(p, comm->str) : "?", c->pid[i], c->tid[i], c->cpu[i],
			 (long long)(c->value[i] * (s->period ? s->period : 1)));
		for (uint32_t k = 0; k < depth; k++) {
			const struct frame *f = &p->frames.frames.v[frames[k]];
			uint32_t n = profile_frame_lines(p, frames[k], lines, NAMES_MAX_INLINE);
			while (n-- > 0)
				buf_addf(&b, ";%s:%s", frame_kinds[f->kind].name,
					 profile_str(p, lines[n].name));
		}
		buf_addc(&b, '\n');
		free(frames);
	}
	return buf_steal(&b);
}

static int line_cmp(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *sorted_lines(char *text)
{
	VEC(char *) lines = { 0 };
	struct buf b = { 0 };
	for (char *save, *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
		vec_push(&lines, l);
	if (lines.n)
		qsort(lines.v, lines.n, sizeof *lines.v, line_cmp);
	for (size_t i = 0; i < lines.n; i++)
		buf_addf(&b, "%s\n", lines.v[i]);
	free(text);
	vec_done(&lines);
	return buf_steal(&b);
}

START_TEST(written_files_are_read_again)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct random_shape shape = { 30, 200, seed % 2, false, false };
		struct profile *p = random_profile(seed, shape).p;
		for (uint32_t type = 0; type < p->series.types.n; type++) {
			struct format_write_opts opts = {
				.type = profile_str(p, p->series.types.v[type].sample_type)
			};
			char *text = written(&format_perf_script, p, &opts);
			ck_assert(perf_script_detect(text, strlen(text)));
			struct profile *again = read_text(text);
			char *want = sorted_lines(spelled_rows(p, type));
			char *got = sorted_lines(spelled_rows(again, 0));
			ck_assert_str_eq(got, want);
			ck_assert_uint_eq(again->meta.loss[LOSS_INPUT_SKIPPED], 0);
			char *twice = written(&format_perf_script, again,
					      &(struct format_write_opts){ 0 });
			free(twice);
			free(want);
			free(got);
			free(text);
			profile_free(again);
		}
		profile_free(p);
	}
}
END_TEST

START_TEST(a_comm_never_becomes_another_column)
{
	static const struct {
		const char *comm, *again;
	} cases[] = { { "a 1 [2] 3.4: e:", "a____________e_" },
		      { "1234", "1234" },
		      { "2.5:", "____" },
		      { "#x y", "?x y" },
		      { " kworker/0:1 ", "_kworker_____" },
		      { "V8 Worker:1", "V8 Worker:1" } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct profile *p = folded_profile("f 3\n");
		struct sink *s = profile_sink(p);
		struct label comm = { .key = sink_string(s, "comm"),
				      .str = sink_string(s, cases[i].comm) };
		p->series.series.v[0].labels = s->ops->labels(s, &comm, 1);
		char *text = written(&format_perf_script, p, &(struct format_write_opts){ 0 });
		struct profile *again = read_text(text);
		ck_assert_uint_eq(again->samples.n, 1);
		ck_assert_int_eq(profile_total(again, 0), 3);
		const struct label *l = label_find(&again->series, again->series.series.v[0].labels,
						   strtab_find(&again->strings, "comm"));
		ck_assert_str_eq(profile_str(again, l->str), cases[i].again);
		free(text);
		profile_free(p);
		profile_free(again);
	}
}
END_TEST

/* Reading our output gives the same text, except for the addresses, which are dropped. */
START_TEST(golden_files_survive)
{
	static const char *const names[] = { "perf-dd-stacks-01", "perf-funcab-cmd-01",
					     "perf-java-stacks-01", "perf-js-stacks-01",
					     "perf-numa-stacks-01" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct profile *p = read_golden(names[i]);
		char *text = written(&format_perf_script, p, &(struct format_write_opts){ 0 });
		struct profile *again = read_text(text);
		if (p->samples.time_ns[0])
			assert_same_profile(p, again, SPELL_TIMES);
		else
			ck_assert_int_eq(profile_total(again, 0), profile_total(p, 0));
		free(text);
		profile_free(p);
		profile_free(again);
	}
}
END_TEST

UNIT_MAIN("perf_script_write", the_text_is_as_perf_prints_it, written_files_are_read_again,
	  a_comm_never_becomes_another_column, golden_files_survive)
