// tier: test
/* Kernel addresses: their image, the same after every boot, and their names from kallsyms. */
#include "base/buf.h"
#include "collect/process/symbolize.h"
#include "collect/walker/kernel_space.h"
#include "profile/profile.h"
#include "shell.h"

#include <bpf/bpf.h>
#include <inttypes.h>
#include <linux/bpf_common.h>
#include <unistd.h>

static struct profile *p;
static struct kernel_space k;

static void setup(void)
{
	p = profile_new();
	kernel_space_init(&k, profile_sink(p));
}

static void teardown(void)
{
	kernel_space_done(&k);
	profile_free(p);
}

static const struct frame *frame_of(uint64_t addr)
{
	uint32_t id = kernel_space_frame(&k, addr, 1);

	return &p->frames.frames.v[id];
}

static const char *mapping_of(uint64_t addr)
{
	uint32_t mapping = frame_of(addr)->mapping;

	return profile_str(p, p->frames.mappings.v[mapping].name);
}

static uint64_t text_start(const char *kallsyms)
{
	int fd = file_of(kallsyms, strlen(kallsyms));
	uint64_t start = kernel_text_start(fd);

	close(fd);
	return start;
}

START_TEST(texts)
{
	ck_assert_uint_eq(text_start("0000000000000000 A fixed_percpu_data\n"
				     "ffffffff9a200000 T _stext\n"
				     "ffffffff9a200000 T _text\n"
				     "ffffffff9a200040 t x\n"),
			  0xffffffff9a200000);
	ck_assert_uint_eq(text_start("0000000000000000 T _text\n"), 0);
	ck_assert_uint_eq(text_start("ffffffff9a200000 T _textual\n"), 0);
	ck_assert_uint_eq(text_start(""), 0);
	ck_assert_uint_eq(kernel_text_size("00001000-0009fbff : System RAM\n"
					   "  01000000-02209987 : Kernel code\n"
					   "  02400000-02e09fff : Kernel rodata\n"
					   "  03b34000-03c57fff : Kernel bss\n"
					   "fee00000-fee00fff : Local APIC\n"),
			  0x2c58000);
	ck_assert_uint_eq(kernel_text_size("  00000000-00000000 : Kernel code\n"), 0);
	ck_assert_uint_eq(kernel_text_size(""), 0);
}
END_TEST

START_TEST(notes)
{
	static const uint8_t notes[] = {
		5, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 'X', 'e', 'n', '\0', '!', 0, 0, 0,
		9, 9, 9, 0, /* another owner's type 3 */
		4, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0,    1,   2, 3, 4
	};
	uint8_t id[8] = { 0 };

	ck_assert_uint_eq(kernel_notes_build_id(notes, sizeof notes, id, sizeof id), 4);
	ck_assert_mem_eq(id, "\1\2\3\4", 4);
	for (size_t len = 0; len < sizeof notes; len++)
		ck_assert_uint_eq(kernel_notes_build_id(notes, len, id, sizeof id), 0);
	ck_assert_uint_eq(kernel_notes_build_id(notes, sizeof notes, id, 3), 0);
}
END_TEST

START_TEST(areas)
{
	setup();
	k.text.start = 0xffffffff9a200000;
	k.text.end = k.text.start + 0x2000000;
	k.text.shift = k.text.start - 0xffffffff81000000;
	kernel_space_add_modules(&k, "xfs 40960 2 dm,x, Live 0xffffffffc0a20000 (E)\n"
				     "ext4 131072 1 - Live 0xffffffffc0a00000\n"
				     "hidden 4096 0 - Live 0x0000000000000000\n"
				     "rubbish\n\n"
				     "huge 18446744073709551615 0 - Live 0xffffffffc0b00000\n");
	ck_assert_str_eq(mapping_of(0xffffffff9a200010), "[kernel]");
	ck_assert_uint_eq(frame_of(0xffffffff9a200010)->offset, 0xffffffff81000010);
	ck_assert_str_eq(mapping_of(0xffffffff9c1fffff), "[kernel]");
	ck_assert_str_eq(mapping_of(0xffffffffc0a00010), "[ext4]");
	ck_assert_uint_eq(frame_of(0xffffffffc0a00010)->offset, 0x10);
	ck_assert_str_eq(mapping_of(0xffffffffc0a1ffff), "[ext4]");
	ck_assert_str_eq(mapping_of(0xffffffffc0a20000), "[xfs]");
	ck_assert_str_eq(mapping_of(0xffffffffc0a2a000), "[bpf]"); /* behind the last module */
	ck_assert_str_eq(mapping_of(0xffffffff00000000), "[bpf]");
	ck_assert_int_eq(frame_of(0xffffffffc0a20000)->kind, FRAME_KERNEL);
	ck_assert_uint_eq(kernel_space_frame(&k, 0xffffffffc0a20001, 1),
			  kernel_space_frame(&k, 0xffffffffc0a20001, 1));
	teardown();
}
END_TEST

/* A hundred functions of the running kernel, by address, and one byte into each. */
START_TEST(running_kernel)
{
	struct map no_samples = { 0 };
	uint64_t addr[100];
	char name[100][128];
	int n = 0;

	char *text = shell("awk '($2 == \"T\" || $2 == \"t\") && $4 == \"\" && $1 != last "
			   "{ last = $1; if (++n %% 1000 == 0) print $1, $3 }' /proc/kallsyms");
	for (char *line = strtok(text, "\n"); line && n < 100; line = strtok(NULL, "\n"))
		n += sscanf(line, "%" SCNx64 " %127s", &addr[n], name[n]) == 2 && addr[n];
	free(text);
	if (!n)
		T_SKIP("/proc/kallsyms shows no addresses");
	setup();
	struct symbolize s = { .sink = profile_sink(p), .leaf_samples = &no_samples };
	for (int i = 0; i < n; i++)
		kernel_space_frame(&k, addr[i], 1);
	kernel_space_symbolize(&k, &s);
	int right = 0;
	for (int i = 0; i < n; i++) {
		struct shown_line line;
		uint32_t frame = kernel_space_frame(&k, addr[i], 1);

		ck_assert_str_eq(mapping_of(addr[i]), "[kernel]");
		ck_assert_uint_eq(profile_frame_lines(p, frame, &line, 1), 1);
		right += !strcmp(profile_str(p, line.name), name[i]);
	}
	ck_assert_int_ge(right, n * 8 / 10); /* of several names at one address, any may be shown */
	uint32_t kernel = frame_of(addr[0])->mapping;
	const struct mapping *m = &p->frames.mappings.v[kernel];
	char *id = shell("od -An -v -tx1 /sys/kernel/notes | tr -d ' \\n'");
	struct buf hex = { 0 };
	for (int i = 0; i < m->build_id_len; i++)
		buf_addf(&hex, "%02x", m->build_id[i]);
	ck_assert_uint_ge(m->build_id_len, 8);
	ck_assert_ptr_nonnull(strstr(id, buf_cstr(&hex)));
	free(id);
	buf_done(&hex);
	teardown();
}
END_TEST

/* Without addresses everything is in [kernel], of this boot only: without a build id, which other boots would share. */
START_TEST(hidden_addresses)
{
	setup();
	k.hidden = true;
	k.text.start = k.text.shift = 0;
	k.text.end = UINT64_MAX;
	ck_assert_str_eq(mapping_of(0xffffffffc0a00010), "[kernel]");
	ck_assert_uint_eq(frame_of(0xffffffffc0a00010)->offset, 0xffffffffc0a00010);
	uint32_t kernel = frame_of(0xffffffffc0a00010)->mapping;
	const struct mapping *m = &p->frames.mappings.v[kernel];
	ck_assert_uint_eq(m->build_id_len, 0);
	ck_assert_uint_ne(m->identity, 0);
	teardown();
}
END_TEST

static struct map no_samples;

static bool has_name(uint64_t addr)
{
	struct shown_line line;

	return profile_frame_lines(p, kernel_space_frame(&k, addr, 1), &line, 1) == 1 && line.name;
}

static void name_frames(void)
{
	struct symbolize s = { .sink = profile_sink(p), .leaf_samples = &no_samples };

	kernel_space_symbolize(&k, &s);
}

static uint64_t address_of(const char *pattern)
{
	char *line = shell("grep -m1 '%s' /proc/kallsyms || echo 0", pattern);
	uint64_t addr = strtoull(line, NULL, 16);

	free(line);
	return addr;
}

/* If kept, they are read once; every sink has the names at once. */
START_TEST(retained_symbols)
{
	uint64_t a = address_of(" [tT] schedule$"), b = address_of(" [tT] do_exit$");

	if (!a || !b)
		T_SKIP("/proc/kallsyms shows no addresses");
	setup();
	k.keeps_symbols = true;
	kernel_space_frame(&k, a + 4, 1);
	name_frames();
	ck_assert(has_name(a + 4));
	ck_assert_uint_eq(k.symbols_read, 1);
	k.budget.left_ns = -1000000000;
	k.budget.at_ns = UINT64_MAX; /* nothing is to spend ever again */
	kernel_space_frame(&k, b + 4, 1);
	name_frames();
	ck_assert(has_name(b + 4));
	ck_assert(!kernel_space_has_new(&k));
	struct profile *other = profile_new();
	kernel_space_set_sink(&k, profile_sink(other));
	profile_free(p);
	p = other;
	kernel_space_frame(&k, a + 4, 1);
	kernel_space_frame(&k, b + 4, 1);
	ck_assert(kernel_space_has_new(&k));
	name_frames();
	ck_assert(has_name(a + 4) && has_name(b + 4));
	ck_assert_uint_eq(k.symbols_read, 1);
	teardown();
}
END_TEST

/* Addresses without a symbol: in the kernel's own text they never get one; elsewhere the symbols are read again when the CPU budget allows. */
START_TEST(addresses_without_symbol)
{
	uint64_t a = address_of(" [tT] schedule$"), nothing = 0xffffffffff500000;

	if (!a)
		T_SKIP("/proc/kallsyms shows no addresses");
	setup();
	k.keeps_symbols = true;
	kernel_space_frame(&k, a, 1);
	name_frames();
	kernel_space_frame(&k, k.text.end - 1, 1);
	name_frames();
	ck_assert(!kernel_space_has_new(&k));
	ck_assert_uint_eq(k.symbols_read, 1);
	k.budget.left_ns = 0;
	k.budget.at_ns = UINT64_MAX;
	ck_assert_str_eq(mapping_of(nothing), "[bpf]");
	name_frames();
	ck_assert(kernel_space_has_new(&k));
	ck_assert_uint_eq(k.symbols_read, 1);
	k.budget.left_ns = 1;
	name_frames();
	ck_assert(!kernel_space_has_new(&k));
	ck_assert_uint_eq(k.symbols_read, 2);
	k.budget.left_ns = 1;
	name_frames();
	ck_assert_uint_eq(k.symbols_read, 2);
	teardown();
}
END_TEST

/* mov r0, VALUE; exit: its tag gives it a name of its own. */
static int load_program(int value, char name[64])
{
	const struct bpf_insn code[] = { { .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = value },
					 { .code = BPF_JMP | BPF_EXIT } };
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof info;
	int fd = bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "t_kernel_space", "GPL", code,
			       sizeof code / sizeof *code, NULL);

	if (fd < 0)
		return fd;
	ck_assert_int_eq(bpf_obj_get_info_by_fd(fd, &info, &len), 0);
	snprintf(name, 64, "bpf_prog_");
	for (int i = 0; i < BPF_TAG_SIZE; i++)
		snprintf(name + strlen(name), 3, "%02x", info.tag[i]);
	return fd;
}

/* Also at a reused address: kernels put a new program where the last one was. */
START_TEST(programs_come_and_go)
{
	char first[64], second[64];
	int fd = load_program((int)getpid(), first);
	uint64_t a = fd < 0 ? 0 : address_of(first);

	if (!a)
		T_SKIP("no BPF program can be loaded, or none has a symbol");
	setup();
	k.keeps_symbols = true;
	kernel_space_frame(&k, a, 1);
	name_frames();
	ck_assert(has_name(a));
	int fd2 = load_program(-(int)getpid(), second);
	ck_assert_int_ge(fd2, 0);
	uint64_t b = address_of(second);
	ck_assert_uint_ne(b, 0);
	kernel_space_frame(&k, b, 1);
	name_frames();
	ck_assert(has_name(b));
	struct shown_line line;
	profile_frame_lines(p, kernel_space_frame(&k, b, 1), &line, 1);
	ck_assert_ptr_nonnull(strstr(profile_str(p, line.name), second));
	teardown();
	close(fd);
	close(fd2);
}
END_TEST

static void same_names(const uint64_t *addr, int n, char names[][128])
{
	for (int i = 0; i < n; i++) {
		struct shown_line line;

		ck_assert_uint_eq(
			profile_frame_lines(p, kernel_space_frame(&k, addr[i], 1), &line, 1), 1);
		if (names[i][0])
			ck_assert_str_eq(profile_str(p, line.name), names[i]);
		else
			snprintf(names[i], sizeof names[i], "%s", profile_str(p, line.name));
	}
}

/* Stored by one recording, the names are the same in the next one, which does not read the kernel's list; nor for functions of BPF programs. */
START_TEST(stored_names)
{
	char dir[32], program[64], names[101][128] = { "" }, *text;
	uint64_t addr[101];
	int n = 0, fd = load_program((int)getpid() + 7, program);

	text = shell("awk '($2 == \"T\" || $2 == \"t\") && $4 == \"\" && $1 != last "
		     "{ last = $1; if (++n %% 700 == 0) print $1 }' /proc/kallsyms");
	for (char *line = strtok(text, "\n"); line && n < 100; line = strtok(NULL, "\n"))
		n += sscanf(line, "%" SCNx64, &addr[n]) == 1 && addr[n];
	free(text);
	addr[n] = fd < 0 ? 0 : address_of(program);
	n += addr[n] != 0;
	if (!n || access("/sys/kernel/notes", R_OK))
		T_SKIP("/proc/kallsyms shows no addresses, or the kernel no build id");
	temp_dir(dir);
	for (int recording = 0; recording < 3; recording++) {
		setup();
		k.cache_root = dir;
		for (int i = 0; i < n; i++)
			kernel_space_frame(&k, addr[i], 1);
		name_frames();
		ck_assert_uint_eq(k.symbols_read, recording == 0);
		same_names(addr, n, names);
		teardown();
	}
	setup();
	k.cache_root = dir;
	kernel_space_frame(&k, k.text.end + (1 << 20), 1); /* of nothing that is stored */
	name_frames();
	ck_assert_uint_eq(k.symbols_read, 1);
	teardown();
	close(fd);
	free(shell("rm -r %s", dir));
}
END_TEST

UNIT_MAIN("kernel_space", texts, notes, areas, running_kernel, hidden_addresses, retained_symbols,
	  addresses_without_symbol, programs_come_and_go, stored_names)
