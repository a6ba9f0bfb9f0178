// tier: test
/* NVIDIA device code: every instruction of the golden cubins has the function, lines and name that nvdisasm, readelf and NVIDIA's own library agree
 * on (tests/golden/gpu/answers.py). */
#include "base/buf.h"
#include "base/err.h"
#include "gpu/code/cubin.h"
#include "gpu/code/device_code.h"
#include "gpu/code/sass.h"
#include "shell.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define GPU_DIR "tests/golden/gpu/"

static struct cubin *open_golden(const char *name)
{
	struct cubin *c;
	struct err err = { 0 };
	char path[256];
	snprintf(path, sizeof path, GPU_DIR "%s.cubin", name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_msg(cubin_open(fd, &c, &err) == 0, "%s: %s", path, err.text);
	return c; /* fd stays open for the whole test */
}

/* --- answers --------------------------------------------------------------------------------------------------------- */

struct answers { /* the line at hand */
	struct cubin *c;
	uint32_t text, texts;
	uint64_t next; /* offset */
	char at[4096];
	char linkage[4096];
	unsigned instructions;
};

/* "FILE:LINE FUNCTION, FILE:LINE": the frames that have lines. */
static void spell(const struct cubin_frame *f, uint32_t n, char *text, size_t size)
{
	size_t len = 0;
	text[0] = '\0';
	for (uint32_t i = 0; i < n && f[i].file; i++)
		len += snprintf(text + len, size - len, "%s%s/%s:%u%s%s", i ? ", " : "",
				f[i].dir ? f[i].dir : "", f[i].file, f[i].line,
				f[i].inlined ? " " : "", f[i].inlined ? f[i].linkage : "");
}

static void check_instruction(struct answers *a, uint64_t offset, const char *mnemonic)
{
	struct cubin_frame f[CUBIN_MAX_DEPTH];
	uint64_t word[2];
	char spelled[4096], unknown[SASS_NAME_MAX];
	uint32_t n = cubin_lookup(a->c, a->text, offset, f, CUBIN_MAX_DEPTH);
	spell(f, n, spelled, sizeof spelled);
	ck_assert_str_eq(spelled, a->at);
	ck_assert_uint_eq(offset, a->next);
	ck_assert_uint_gt(n, 0);
	ck_assert_str_eq(f[n - 1].linkage, a->linkage);
	ck_assert(cubin_instruction(a->c, a->text, offset, word));
	const char *name = sass_name(cubin_sm(a->c), word, unknown);
	if (strcmp(mnemonic, "?") != 0)
		ck_assert_msg(strcmp(name, mnemonic) == 0, "%s+%" PRIu64 ": %s, not %s", a->linkage,
			      offset, name, mnemonic);
	else
		ck_assert_msg(strncmp(name, "op", 2) != 0, "%s+%" PRIu64 ": %s", a->linkage, offset,
			      name);
	a->next = offset + CUBIN_INSTRUCTION;
	a->instructions++;
}

static void check_text(struct answers *a, const char *linkage, uint64_t size)
{
	uint32_t n;
	const struct cubin_text *t = cubin_texts(a->c, &n);
	ck_assert_msg(cubin_find(a->c, linkage, &a->text), "%s", linkage);
	ck_assert_uint_eq(t[a->text].size, size);
	snprintf(a->linkage, sizeof a->linkage, "%s", linkage);
	a->next = 0;
	a->texts++;
}

static void check_symbol(const struct answers *a, const char *linkage, uint64_t start,
			 uint64_t size)
{
	uint32_t n;
	const struct cubin_function *f = cubin_functions(a->c, &n);
	for (uint32_t i = 0; i < n; i++)
		if (f[i].text == a->text && f[i].start == start && f[i].size == size &&
		    strcmp(f[i].linkage, linkage) == 0)
			return;
	ck_abort_msg("no function %s at %" PRIu64, linkage, start);
}

static void check_line(struct answers *a, char *line)
{
	char name[4096];
	uint64_t x, y;
	unsigned sm;
	if (sscanf(line, "sm %u", &sm) == 1)
		ck_assert_uint_eq(cubin_sm(a->c), sm);
	else if (sscanf(line, "text %4095s %" SCNu64, name, &x) == 2)
		check_text(a, name, x);
	else if (sscanf(line, "symbol %4095s %" SCNu64 " %" SCNu64, name, &x, &y) == 3)
		check_symbol(a, name, x, y);
	else if (strncmp(line, "at ", 3) == 0)
		snprintf(a->at, sizeof a->at, "%s", line + 3);
	else if (sscanf(line, "%" SCNu64 " %4095s", &x, name) == 2)
		check_instruction(a, x, name);
	else
		ck_abort_msg("not an answer: %s", line);
}

static const struct {
	const char *name;
	unsigned instructions;
} golden[] = {
	{ "lines-abi7.sm_70", 400 }, { "lines-abi7.sm_90", 424 }, { "lines.sm_75", 384 },
	{ "lines.sm_80", 408 },      { "lines.sm_86", 408 },      { "lines.sm_89", 408 },
	{ "lines.sm_90", 424 },      { "lines.sm_100", 424 },     { "lines.sm_120", 432 },
	{ "linked.sm_90", 520 },     { "ops.sm_75", 720 },        { "ops.sm_80", 752 },
	{ "ops.sm_90", 752 },        { "ops.sm_100", 760 },       { "ops.sm_120", 904 },
	{ "pc_sample_toy", 536 },
};
enum { GOLDEN = sizeof golden / sizeof *golden };

static void check_golden(const char *name, unsigned instructions)
{
	char *save, *text = shell("cat " GPU_DIR "%s.cubin.txt", name);
	struct answers a = { .c = open_golden(name) };
	uint32_t texts;
	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
		check_line(&a, l);
	cubin_texts(a.c, &texts);
	ck_assert_uint_eq(a.texts, texts);
	ck_assert_uint_eq(a.instructions, instructions);
	ck_assert_uint_eq(cubin_skipped(a.c), 0);
	cubin_close(a.c);
	free(text);
}

START_TEST(every_instruction)
{
	for (size_t i = 0; i < GOLDEN; i++)
		check_golden(golden[i].name, golden[i].instructions);
}
END_TEST

/* --- layers ---------------------------------------------------------------------------------------------------------- */

static void spell_layer(void *ctx, enum frame_kind kind, const char *name, const char *file,
			uint32_t line)
{
	struct buf *b = ctx;
	if (b->len)
		buf_addc(b, ';');
	buf_addf(b, "%s%s", name, frame_kinds[kind].suffix);
	if (file)
		buf_addf(b, "{%s:%u}", file, line);
}

static void check_layers(struct cubin *c, uint64_t offset, const char *stall, unsigned layers,
			 const char *want)
{
	struct buf b = { 0 };
	uint32_t text;
	ck_assert(cubin_find(c, "_Z5saxpyPfPKffi", &text));
	cubin_layers(c, text, offset, stall, layers, spell_layer, &b);
	ck_assert_str_eq(buf_cstr(&b), want);
	buf_done(&b);
}

START_TEST(layers_of_a_place)
{
	struct cubin *c = open_golden("lines.sm_90");
	static const char whole[] = "tmp_[G];cresset-gpu_[G];lib_[G];scale.cuh_[G];saxpy(float*, "
				    "float const*, float, int)_[G]{lines.cu:31};"
				    "deep::outer(float)_[G]{lines.cu:22};bend(float)_[G]{scale.cuh:"
				    "8};float scale<3>(float)_[G]{scale.cuh:4};"
				    "HFMA2_[g];memory (long scoreboard)_[g];0x100_[g]";
	check_layers(c, 0x100, "memory (long scoreboard)", CUBIN_ALL_LAYERS, whole);
	check_layers(c, 0x100, NULL, CUBIN_MNEMONIC | CUBIN_STALL | CUBIN_FILE,
		     "scale.cuh_[G];HFMA2_[g]");
	check_layers(c, 0x770, NULL, CUBIN_FUNCTIONS,
		     "saxpy(float*, float const*, float, int)_[G];deep::heavy(float, "
		     "int)_[G]{lines.cu:17}");
	check_layers(c, 1 << 20, NULL, CUBIN_ALL_LAYERS, "");
	cubin_close(c);
}
END_TEST

/* --- names ----------------------------------------------------------------------------------------------------------- */

START_TEST(opcodes)
{
	const uint64_t ffma[2] = { 0x7223 }, none[2] = { 0xfff }, iadd[2] = { 0x235 };
	const uint64_t mma[2] = { 0x75ea }, imma[2] = { 0x75ea, 0x100 }, odd[2] = { 0x75ea, 0x200 };
	char text[SASS_NAME_MAX];
	ck_assert_str_eq(sass_mnemonic(70, ffma), "FFMA");
	ck_assert_str_eq(sass_mnemonic(121, ffma), "FFMA");
	ck_assert_ptr_null(sass_mnemonic(61, ffma)); /* words of 64 bits */
	ck_assert_ptr_null(sass_mnemonic(130, ffma));

	ck_assert_str_eq(sass_mnemonic(90, iadd), "HFMA2");
	ck_assert_str_eq(sass_mnemonic(120, iadd), "IADD");
	ck_assert_str_eq(sass_mnemonic(100, mma), "UTCHMMA");
	ck_assert_str_eq(sass_mnemonic(100, imma), "UTCIMMA");
	ck_assert_str_eq(sass_name(100, odd, text), "op 0x5ea");
	ck_assert_str_eq(sass_name(90, none, text), "op 0xfff");
}
END_TEST

START_TEST(table_is_sorted)
{
	for (size_t i = 1; i < sass_row_count; i++) {
		const struct sass_row *a = &sass_rows[i - 1], *b = &sass_rows[i];
		ck_assert_uint_le(a->first, a->last);
		ck_assert(a->opcode < b->opcode || (a->opcode == b->opcode && a->last < b->first));
	}
	ck_assert_uint_gt(sass_row_count, 580);
}
END_TEST

START_TEST(stall_names)
{
	char text[DEVICE_STALL_MAX];
	bool not_issued;
	ck_assert_str_eq(device_stall_name("smsp__pcsamp_warps_issue_stalled_long_scoreboard", text,
					   &not_issued),
			 "memory (long scoreboard)");
	ck_assert(!not_issued);
	ck_assert_str_eq(device_stall_name("smsp__pcsamp_warps_issue_stalled_wait_not_issued", text,
					   &not_issued),
			 "fixed latency (wait)");
	ck_assert(not_issued);
	ck_assert_str_eq(
		device_stall_name("smsp__pcsamp_warps_issue_stalled_new_thing", text, &not_issued),
		"new thing");
	ck_assert_str_eq(device_stall_name("", text, &not_issued), "");
}
END_TEST

/* --- bad files ------------------------------------------------------------------------------------------------------- */

START_TEST(other_files)
{
	struct cubin *c;
	struct err err = { 0 };
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(cubin_open(fd, &c, &err), -ENOEXEC);
	ck_assert_int_eq(cubin_open_image("not ELF", 7, &c, &err), -ENOEXEC);
	close(fd);
}
END_TEST

/* A truncated file is refused, or read as far as it goes. */
START_TEST(cut_files)
{
	char *image = malloc(64 << 10);
	int fd = open(GPU_DIR "lines.sm_75.cubin", O_RDONLY | O_CLOEXEC);
	ssize_t got = read(fd, image, 64 << 10);
	ck_assert_int_gt(got, 30000);
	size_t size = got;
	struct cubin *c;
	for (size_t cut = 0; cut < size; cut += 61) {
		struct cubin_frame f[4];
		char *part = memcpy(malloc(cut + 1), image, cut);
		if (cubin_open_image(part, cut, &c, NULL) == 0) {
			for (uint64_t at = 0; at < 4096; at += 16)
				cubin_lookup(c, 0, at, f, 4);
			cubin_close(c);
		}
		free(part);
	}
	free(image);
	close(fd);
}
END_TEST

UNIT_MAIN("cubin", every_instruction, layers_of_a_place, opcodes, table_is_sorted, stall_names,
	  other_files, cut_files)
