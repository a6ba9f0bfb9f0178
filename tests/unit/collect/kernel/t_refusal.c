// tier: test
/* Why the kernel refused something, as text: each cause from the known facts of this machine, and no cause that does not apply. */
#include "unit.h"

#include "base/err.h"
#include "collect/kernel/refusal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

enum { SYS_ADMIN = 21, PERFMON = 38, BPF = 39 };
#define CAP(n) (1ull << (n))

/* Root on an ordinary machine. */
static const struct refusal_facts root = {
	.capabilities = ~0ull,
	.bpf_error = EINVAL,
	.perf_error = EFAULT,
	.security_modules = "lockdown,capability,yama,apparmor",
	.perf_paranoid = 2,
	.kernel_major = 6,
	.kernel_minor = 1,
	.memlock_bytes = UINT64_MAX,
};
/* The end of a real log, from Linux 6.1. */
static const char log_6_1[] =
	"2947: (85) call bpf_ringbuf_output#130\n"
	"invalid access to map value, value_size=29568 off=0 size=524312\n"
	"R2 min value is outside of the allowed memory range\n"
	"processed 2948 insns (limit 1000000) max_states_per_insn 4 total_states 51\n";

static int explain(enum refusal_step step, int error, const char *log,
		   const struct refusal_facts *f, struct err *err)
{
	return refusal_explain_by(&(struct refusal){ step, error, "off_sys_exit", log, NULL }, f,
				  err);
}

#define WORDS(e, w) ck_assert_msg(strstr((e).text, w), "'%s': %s", w, (e).text)
#define HINTS(e, w) ck_assert_msg(strstr((e).hint, w), "'%s': %s", w, (e).hint)

START_TEST(a_verifier_refusal_is_not_a_missing_capability)
{
	struct err err;

	for (int error = 1; error < 40; error++) {
		int rc = explain(REFUSED_PROGRAM, -error, log_6_1, &root, &err);
		ck_assert_int_eq(rc, -EOPNOTSUPP);
		ck_assert_str_eq(err.text, "cannot load the BPF programs: the kernel's verifier "
					   "rejects off_sys_exit: R2 min value is outside of the "
					   "allowed memory range");
		ck_assert_ptr_null(strstr(err.hint, "CAP"));
		HINTS(err, "-vv");
	}
}
END_TEST

START_TEST(only_a_missing_capability_is_named)
{
	struct refusal_facts f = root;
	struct err err;

	f.capabilities = 0;
	ck_assert_int_eq(explain(REFUSED_PROGRAM, -EPERM, "", &f, &err), -EPERM);
	WORDS(err, "CAP_BPF and CAP_PERFMON missing");
	HINTS(err, "setcap");
	explain(REFUSED_MAP, -EPERM, NULL, &f, &err);
	WORDS(err, "CAP_BPF and CAP_PERFMON missing");
	f.capabilities = CAP(BPF);
	explain(REFUSED_PROGRAM, EPERM, NULL, &f, &err);
	WORDS(err, ": CAP_PERFMON missing");
	explain(REFUSED_PERF_EVENT, -EACCES, NULL, &f, &err);
	WORDS(err, "cannot open a sampling event: Permission denied: CAP_PERFMON missing");
	explain(REFUSED_MAP, -EPERM, NULL, &f, &err);
	ck_assert_ptr_null(strstr(err.text, "CAP_"));
	f.capabilities = CAP(SYS_ADMIN);
	explain(REFUSED_PROGRAM, -EPERM, NULL, &f, &err);
	ck_assert_ptr_null(strstr(err.text, "CAP_"));
	ck_assert_ptr_null(strstr(err.hint, "cap_"));
}
END_TEST

START_TEST(lockdown_is_named_where_it_forbids)
{
	struct refusal_facts f = root;
	struct err err;

	f.lockdown = LOCKDOWN_CONFIDENTIALITY;
	ck_assert_int_eq(
		explain(REFUSED_PROGRAM, -EINVAL, "unknown func bpf_probe_read_kernel", &f, &err),
		-EOPNOTSUPP);
	WORDS(err, "locked down for confidentiality");
	HINTS(err, "lockdown=integrity");
	explain(REFUSED_PERF_EVENT, -EPERM, NULL, &f, &err);
	WORDS(err, "locked down for confidentiality");
	explain(REFUSED_MAP, -ENOMEM, NULL, &f, &err);
	ck_assert_ptr_null(strstr(err.text, "locked"));
	f.lockdown = LOCKDOWN_INTEGRITY;
	explain(REFUSED_PERF_EVENT, -EPERM, NULL, &f, &err);
	ck_assert_ptr_null(strstr(err.text, "locked"));
}
END_TEST

START_TEST(a_seccomp_filter_is_named_where_it_refuses)
{
	struct refusal_facts f = root;
	struct err err;

	f.bpf_error = ENOSYS; /* without a filter, the kernel has no such call */
	ck_assert_ptr_null(refusal_filtered_call(&f));
	ck_assert_int_eq(explain(REFUSED_MAP, -ENOSYS, NULL, &f, &err), -EOPNOTSUPP);
	WORDS(err, "this kernel has no bpf()");
	HINTS(err, "CONFIG_BPF_SYSCALL");
	f.has_seccomp_filter = true;
	ck_assert_int_eq(explain(REFUSED_MAP, -ENOSYS, NULL, &f, &err), -EPERM);
	WORDS(err, "bpf() is refused by a seccomp filter");
	HINTS(err, "docker run");
	f.bpf_error = EPERM;
	explain(REFUSED_MAP, -EPERM, NULL, &f, &err);
	WORDS(err, "bpf() is refused by a seccomp filter");
	/* The origin of EPERM is unknown when a capability is missing, too. */
	f.capabilities = 0;
	explain(REFUSED_PROGRAM, -EPERM, NULL, &f, &err);
	WORDS(err, "CAP_BPF");
	f = root;
	f.has_seccomp_filter = true; /* a filter that allows both */
	ck_assert_ptr_null(refusal_filtered_call(&f));
	f.perf_error = EPERM;
	ck_assert_str_eq(refusal_filtered_call(&f), "perf_event_open()");
}
END_TEST

START_TEST(paranoia_above_two_wants_sys_admin)
{
	struct refusal_facts f = root;
	struct err err;

	for (f.perf_paranoid = -1; f.perf_paranoid <= 4; f.perf_paranoid++) {
		f.capabilities = CAP(BPF) | CAP(PERFMON);
		ck_assert_int_eq(explain(REFUSED_PERF_EVENT, -EACCES, NULL, &f, &err), -EPERM);
		ck_assert_int_eq(strstr(err.text, "perf_event_paranoid is ") != NULL,
				 f.perf_paranoid > 2);
		if (f.perf_paranoid > 2)
			HINTS(err, "sysctl kernel.perf_event_paranoid=2");
		f.capabilities |= CAP(SYS_ADMIN);
		explain(REFUSED_PERF_EVENT, -EACCES, NULL, &f, &err);
		ck_assert_ptr_null(strstr(err.text, "paranoid"));
	}
}
END_TEST

START_TEST(locked_memory_counts_before_5_11)
{
	struct refusal_facts f = root;
	struct err err;

	f.memlock_bytes = 65536;
	explain(REFUSED_MAP, -EPERM, NULL, &f, &err);
	ck_assert_ptr_null(strstr(err.text, "locked memory"));
	f.kernel_major = 5;
	f.kernel_minor = 10;
	ck_assert_int_eq(explain(REFUSED_MAP, -EPERM, NULL, &f, &err), -EPERM);
	WORDS(err, "the limit of locked memory is 64 KiB");
	HINTS(err, "ulimit -l");
	f.kernel_minor = 11;
	explain(REFUSED_MAP, -EPERM, NULL, &f, &err);
	ck_assert_ptr_null(strstr(err.text, "locked memory"));
}
END_TEST

START_TEST(security_modules_that_have_a_say_are_named)
{
	struct refusal_facts f = root;
	struct err err;
	char modules[64];

	refusal_modules_that_deny(&f, modules, sizeof modules);
	ck_assert_str_eq(modules, "");
	explain(REFUSED_PROGRAM, -EACCES, "", &f, &err);
	WORDS(err, "cannot load the BPF programs: Permission denied");
	HINTS(err, "cresset doctor");
	snprintf(f.security_modules, sizeof f.security_modules, "lockdown,selinux,bpf");
	refusal_modules_that_deny(&f, modules, sizeof modules);
	ck_assert_str_eq(modules, "selinux, bpf");
	explain(REFUSED_PROGRAM, -EACCES, "", &f, &err);
	WORDS(err, "a security module may deny it (selinux, bpf)");
	f.in_user_namespace = true;
	explain(REFUSED_PROGRAM, -EPERM, "", &f, &err);
	WORDS(err, "a user namespace");
}
END_TEST

START_TEST(memory_is_that_of_the_group)
{
	struct refusal_facts f = root;
	struct err err;

	ck_assert_int_eq(explain(REFUSED_MAP, -ENOMEM, NULL, &f, &err), -ENOMEM);
	ck_assert_ptr_null(strstr(err.text, "cgroup"));
	f.memory_limit_bytes = 64 << 20;
	f.memory_used_bytes = 63 << 20;
	explain(REFUSED_MAP, -ENOMEM, NULL, &f, &err);
	WORDS(err, "the memory cgroup of this process allows 67.1 MB, 66.1 MB are used");
	HINTS(err, "MemoryMax=");
}
END_TEST

START_TEST(unknown_errors_are_passed_through)
{
	struct err err;
	char why[40];

	ck_assert_int_eq(
		explain(REFUSED_PROGRAM, -EINVAL, "processed 2 insns (limit 1)\n", &root, &err),
		-EOPNOTSUPP);
	ck_assert_int_eq(explain(REFUSED_ATTACH, -ENOENT, NULL, &root, &err), -EOPNOTSUPP);
	WORDS(err, "cannot attach the BPF programs: this kernel has no tracepoint for it");
	ck_assert_int_eq(explain(REFUSED_MAP, -EMFILE, NULL, &root, &err), -EMFILE);
	HINTS(err, "ulimit -n");
	ck_assert_int_eq(refusal_why(&(struct refusal){ REFUSED_PROGRAM, -EINVAL, "p",
							"a line\nof two\n", NULL },
				     why, sizeof why),
			 -EOPNOTSUPP);
	ck_assert_str_eq(why, "the kernel's verifier rejects p: of two");
}
END_TEST

START_TEST(the_verdict_is_the_last_useful_line)
{
	size_t len;
	const char *line = refusal_verdict(log_6_1, &len);

	ck_assert_uint_eq(len, strlen("R2 min value is outside of the allowed memory range"));
	ck_assert_ptr_eq(line, strstr(log_6_1, "R2 min"));
	ck_assert_ptr_null(refusal_verdict(NULL, &len));
	ck_assert_ptr_null(refusal_verdict("", &len));
	ck_assert_ptr_null(
		refusal_verdict("processed 0 insns\nverification time 5 usec\n\n", &len));
	ck_assert_str_eq(refusal_last_lines(log_6_1, 1), strstr(log_6_1, "processed"));
	ck_assert_str_eq(refusal_last_lines(log_6_1, 2), strstr(log_6_1, "R2 min"));
	ck_assert_str_eq(refusal_last_lines(log_6_1, 4), log_6_1);
	ck_assert_str_eq(refusal_last_lines(log_6_1, 400), log_6_1);
	ck_assert_str_eq(refusal_last_lines("a\nb", 1), "b");
	ck_assert_str_eq(refusal_last_lines("", 1), "");
}
END_TEST

START_TEST(this_process_is_known)
{
	struct refusal_facts f;

	refusal_read_facts(&f);
	ck_assert_uint_gt(f.kernel_major, 4);
	ck_assert_int_eq(f.bpf_error == 0 || f.perf_error == 0, 0);
	FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "r");
	int paranoid = 2;

	if (file) {
		ck_assert_int_eq(fscanf(file, "%d", &paranoid), 1);
		fclose(file);
	}
	ck_assert_int_eq(f.perf_paranoid, paranoid);
	if (geteuid() == 0 && !f.has_seccomp_filter && !f.in_user_namespace)
		ck_assert_int_eq(f.bpf_error, EINVAL);
}
END_TEST

/* --- kernel types ----------------------------------------------------------------------------- */

static const char *file_of(const void *data, size_t len)
{
	static char path[] = "/tmp/t_refusal.XXXXXX";
	static bool is_made;
	int fd;

	if (!is_made) {
		fd = mkstemp(path);
		is_made = true;
	} else {
		fd = open(path, O_WRONLY | O_TRUNC);
	}
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, data, len), (ssize_t)len);
	close(fd);
	return path;
}

static void refuses_types(const char *path, const char *words)
{
	struct err err = { 0 };

	ck_assert_int_lt(refusal_check_btf(path, &err), 0);
	ck_assert_msg(strstr(err.text, words), "'%s' is not in: %s", words, err.text);
	ck_assert_ptr_nonnull(strstr(err.text, path));
	ck_assert_int_ne(err.hint[0], 0);
}

static const unsigned char swapped[24] = { 0xeb, 0x9f, 1 };
static const unsigned char none[24] = { 0x9f, 0xeb, 1, 0, 24 };
/* Of 256 + 256 bytes after the header. */
static const unsigned char cut[24] = { 0x9f, 0xeb, 1, 0, 24, [13] = 1, [17] = 1, [21] = 1 };
static const unsigned char arm[64] = { 0x7f, 'E', 'L', 'F', 2, 1, 1, [18] = 183 };
static const unsigned char sparc[64] = { 0x7f, 'E', 'L', 'F', 2, 2, 1, [18] = 2 };

START_TEST(files_of_types_are_distinguished)
{
	refuses_types("/nonexistent/types", "No such file");
	refuses_types(file_of("", 0), "empty");
	refuses_types(file_of("words", 5), "no BTF");
	refuses_types(file_of(swapped, sizeof swapped), "another architecture");
	refuses_types(file_of(cut, sizeof cut), "cut off");
	refuses_types(file_of(cut, 7), "cut off");
	refuses_types(file_of(none, sizeof none), ""); /* none at all */
#ifdef __x86_64__
	refuses_types(file_of(arm, sizeof arm), "another architecture");
#endif
	refuses_types(file_of(sparc, sizeof sparc), "another architecture");
	unlink(file_of("", 0));
}
END_TEST

START_TEST(types_of_this_kernel_are_good)
{
	static char page[4096];
	static const char running[] = "/sys/kernel/btf/vmlinux";
	struct err err = { 0 };
	int fd = open(running, O_RDONLY);

	if (fd < 0)
		T_SKIP("this kernel has no BTF");
	ck_assert_int_eq(refusal_check_btf(NULL, &err), 0);
	ck_assert_int_eq(refusal_check_btf(running, &err), 0);
	ck_assert_int_eq(read(fd, page, sizeof page), sizeof page);
	close(fd);
	refuses_types(file_of(page, sizeof page), "cut off");
	unlink(file_of("", 0));
}
END_TEST

UNIT_MAIN("refusal", a_verifier_refusal_is_not_a_missing_capability,
	  only_a_missing_capability_is_named, lockdown_is_named_where_it_forbids,
	  a_seccomp_filter_is_named_where_it_refuses, paranoia_above_two_wants_sys_admin,
	  locked_memory_counts_before_5_11, security_modules_that_have_a_say_are_named,
	  memory_is_that_of_the_group, unknown_errors_are_passed_through,
	  the_verdict_is_the_last_useful_line, this_process_is_known,
	  files_of_types_are_distinguished, types_of_this_kernel_are_good)
