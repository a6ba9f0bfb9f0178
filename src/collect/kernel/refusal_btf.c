/* Checks a file of kernel types (BTF): Documentation/bpf/btf.rst of Linux. */
#include "base/err.h"
#include "collect/kernel/refusal.h"

#include <bpf/btf.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUNNING           "/sys/kernel/btf/vmlinux"
#define BTF_MAGIC_SWAPPED 0x9FEB

#if defined(__x86_64__)
enum { OUR_MACHINE = EM_X86_64 };
static const char our_name[] = "x86_64", our_register[] = "r15";
#elif defined(__aarch64__)
enum { OUR_MACHINE = EM_AARCH64 };
static const char our_name[] = "arm64", our_register[] = "pstate";
#else
#error "which registers does struct pt_regs have here?"
#endif

/* The start of a file. */
union start {
	struct btf_header btf;
	Elf64_Ehdr elf;
	unsigned char bytes[64];
};

static const char *hint_of(const char *path)
{
	return path ? "a file of the running kernel's types:  pahole --btf_encode_detached FILE "
		      "VMLINUX,\nor the running kernel's name at "
		      "github.com/aquasecurity/btfhub-archive"
		    : "boot a kernel with CONFIG_DEBUG_INFO_BTF=y, or give its types in a file:  "
		      "--btf "
		      "FILE;\nin a container mount /sys from the host";
}

static int bad(struct err *err, const char *path, int code, const char *what)
{
	if (path)
		err_set(err, code, "--btf %s: %s", path, what);
	else if (code == ENOENT)
		err_set(err, EOPNOTSUPP, "this kernel has no BTF (" RUNNING ")");
	else
		err_set(err, EOPNOTSUPP, RUNNING ": %s", what);
	err_hint(err, "%s", hint_of(path));
	return path ? -code : -EOPNOTSUPP;
}

static int bad_architecture(struct err *err, const char *path)
{
	char what[64];

	snprintf(what, sizeof what, "types of another architecture than %s", our_name);
	return bad(err, path, EINVAL, what);
}

/* Checks the header before the file is parsed. */
static int check_start(const union start *s, size_t got, uint64_t size, const char *path,
		       struct err *err)
{
	const struct btf_header *h = &s->btf;

	if (got >= sizeof s->elf && memcmp(s->bytes, ELFMAG, SELFMAG) == 0)
		return s->elf.e_machine == OUR_MACHINE ? 0 : bad_architecture(err, path);
	if (got >= sizeof h->magic && h->magic == BTF_MAGIC_SWAPPED)
		return bad_architecture(err, path);
	if (got < sizeof h->magic || h->magic != BTF_MAGIC)
		return bad(err, path, EINVAL, got ? "no BTF" : "empty");
	if (got < sizeof *h || size < (uint64_t)h->hdr_len + h->type_off + h->type_len ||
	    size < (uint64_t)h->hdr_len + h->str_off + h->str_len)
		return bad(err, path, EINVAL, "cut off");
	return 0;
}

static bool has_register(const struct btf *btf)
{
	int id = btf__find_by_name_kind(btf, "pt_regs", BTF_KIND_STRUCT);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, id) : NULL;
	const struct btf_member *m = t ? btf_members(t) : NULL;

	for (int i = 0; t && i < btf_vlen(t); i++, m++) {
		const char *name = btf__name_by_offset(btf, m->name_off);

		if (name && strcmp(name, our_register) == 0)
			return true;
		if (!m->name_off) /* on arm64 they are in a struct inside a union */
			return OUR_MACHINE == EM_AARCH64;
	}
	return false;
}

/* Checks that these are the types of a kernel like this one. */
static int check_types(const char *path, struct err *err)
{
	struct btf *btf = btf__parse(path ? path : RUNNING, NULL);
	int rc = 0;

	if (!btf)
		return bad(err, path, EINVAL, "no BTF that can be read");
	if (btf__find_by_name_kind(btf, "task_struct", BTF_KIND_STRUCT) <= 0)
		rc = bad(err, path, EINVAL, "not the types of a kernel: no task_struct");
	else if (!has_register(btf))
		rc = bad_architecture(err, path);
	btf__free(btf);
	return rc;
}

int refusal_check_btf(const char *path, struct err *err)
{
	union start start = { 0 };
	struct stat st;
	int fd = open(path ? path : RUNNING, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return bad(err, path, errno, strerror(errno));
	ssize_t got = fstat(fd, &st) ? -1 : read(fd, &start, sizeof start);
	int rc = got < 0 ? bad(err, path, errno, strerror(errno))
			 : check_start(&start, (size_t)got, (uint64_t)st.st_size, path, err);
	close(fd);
	return rc ? rc : check_types(path, err);
}
