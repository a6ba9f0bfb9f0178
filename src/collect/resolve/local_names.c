/* Names frames of a profile that was read from a file, by files of this machine. */
#include "collect/resolve/local.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "collect/process/elf_names.h"
#include "collect/process/local_file.h"
#include "collect/process/symbolize.h"
#include "collect/walker/kernel_space.h"
#include "profile/frame.h"
#include "profile/names.h"
#include "profile/profile.h"
#include "profile/sink.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_layout.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { PROC_FILE_MAX_BYTES = 1 << 20 };

const char *const local_problems[LOCAL_PROBLEMS] = {
	[LOCAL_UNVERIFIED] =
		"named by the files here, unverified: the recording has no build ids of them",
	[LOCAL_MISSING] = "without names: not on this machine",
	[LOCAL_REPLACED] = "without names: replaced, or written again, since it was recorded",
	[LOCAL_DIFFERS] = "without names: another build is here",
	[LOCAL_UNREADABLE] = "without names: may not be read",
	[LOCAL_NO_SYMBOLS] = "without names: no symbols in the file",
};

struct name_queue {
	struct profile *p;
	const char *home;
	struct local_report *report;
	struct symbolize symbolize;
	struct map no_samples;
	struct map *frames; /* per mapping: offset → unnamed frame */
};

/* --- problems --------------------------------------------------------------------------------- */

static void note(struct name_queue *n, const struct mapping *m, enum local_problem problem)
{
	uint32_t *count = &n->report->problems[problem].n;

	if (*count < LOCAL_EXAMPLES)
		n->report->problems[problem].examples[*count] = m->name;
	++*count;
}

static enum local_problem problem_of(int rc)
{
	if (rc == -ESTALE)
		return LOCAL_DIFFERS;
	return rc == -EACCES || rc == -EPERM ? LOCAL_UNREADABLE : LOCAL_MISSING;
}

/* --- files ------------------------------------------------------------------------------------ */

static struct local_file file_of(const struct name_queue *n, const struct mapping *m)
{
	return (struct local_file){ .path = profile_str(n->p, m->name),
				    .build_id = m->build_id,
				    .build_id_len = m->build_id_len };
}

static bool same_build(const struct mapping *m, const uint8_t *id, ssize_t len)
{
	return len == m->build_id_len && memcmp(id, m->build_id, len) == 0;
}

static void name_frames(struct name_queue *n, uint32_t mapping, struct symbol_source *names)
{
	symbolize_frames(&n->symbolize, names, mapping, &n->frames[mapping]);
	if (names->skipped)
		n->symbolize.sink->ops->loss(n->symbolize.sink, LOSS_SYMBOLS_SKIPPED,
					     names->skipped);
}

/* Takes over fd, an ELF file whose offsets are those of the frames. */
static void name_by_elf(struct name_queue *n, uint32_t mapping, int fd)
{
	const struct mapping *m = &n->p->frames.mappings.v[mapping];
	struct elf_names names;
	int rc = elf_names_open(&names, n->symbolize.files, fd, profile_str(n->p, m->name), 0);

	if (rc == 0) {
		uint64_t named = n->symbolize.named;
		name_frames(n, mapping, names.source);
		rc = n->symbolize.named == named ? -ENODATA : 0;
		elf_names_close(&names);
	}
	if (rc)
		note(n, m, LOCAL_NO_SYMBOLS);
	else if (!m->build_id_len)
		note(n, m, LOCAL_UNVERIFIED);
	close(fd);
}

/* Whether a file that is gone has a successor at its path. */
static bool is_replaced(const char *path)
{
	static const char deleted[] = " (deleted)";
	if (!str_ends(path, deleted))
		return false;
	char *now = xstrndup(path, strlen(path) - strlen(deleted));
	bool is = access(now, F_OK) == 0;

	free(now);
	return is;
}

static void name_file(struct name_queue *n, uint32_t mapping)
{
	const struct mapping *m = &n->p->frames.mappings.v[mapping];
	struct local_file f = file_of(n, m);
	int fd = local_file_open(&f, n->home);

	if (fd >= 0)
		name_by_elf(n, mapping, fd);
	else if (is_replaced(f.path))
		note(n, m, LOCAL_REPLACED);
	else
		note(n, m, problem_of(fd));
}

/* --- the kernel ------------------------------------------------------------------------------- */

/* Returns the frames of a mapping with shift added to their offsets. */
static struct map moved(const struct map *frames, uint64_t shift)
{
	struct map out = { 0 };

	map_each (frames, slot)
		map_put(&out, slot->key + shift, slot->value);
	return out;
}

/* Takes over fd, text like /proc/kallsyms. */
static bool name_by_kallsyms(struct name_queue *n, uint32_t mapping, int fd, uint64_t shift)
{
	struct symbol_source *names;
	int rc = symbol_open_kallsyms(fd, &names, NULL);

	close(fd);
	if (rc)
		return false;
	struct map here = n->frames[mapping];
	n->frames[mapping] = moved(&here, shift);
	map_done(&here);
	if (!n->p->frames.mappings.v[mapping].build_id_len)
		note(n, &n->p->frames.mappings.v[mapping], LOCAL_UNVERIFIED);
	name_frames(n, mapping, names);
	symbol_close(names);
	return true;
}

static size_t read_notes(const char *path, uint8_t *id)
{
	struct buf notes = { 0 };
	size_t len = 0;

	if (fs_read_at(AT_FDCWD, path, PROC_FILE_MAX_BYTES, &notes, NULL) == 0)
		len = kernel_notes_build_id(notes.data, notes.len, id, BUILD_ID_MAX);
	buf_done(&notes);
	return len;
}

/* Without a build id, accepts a kernel of the same release at the same address (KASLR); the release
 * is not always known, either. */
static bool is_running(const struct name_queue *n, const struct mapping *m, uint64_t text)
{
	uint8_t id[BUILD_ID_MAX];
	struct utsname u;

	if (m->build_id_len)
		return same_build(m, id, read_notes("/sys/kernel/notes", id));
	const char *release = profile_str(n->p, n->p->meta.kernel);
	return text && text == m->start && uname(&u) == 0 &&
	       (!*release || strcmp(release, u.release) == 0);
}

static int running_kallsyms(uint64_t *text)
{
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);

	*text = fd < 0 ? 0 : kernel_text_start(fd);
	return fd < 0 ? -errno : fd;
}

static bool name_by_running_kernel(struct name_queue *n, uint32_t mapping, int *rc)
{
	const struct mapping *m = &n->p->frames.mappings.v[mapping];
	uint64_t text;
	int fd = running_kallsyms(&text);

	*rc = fd < 0 ? fd : is_running(n, m, text) ? text ? 0 : -EPERM : -ESTALE;
	if (*rc == 0)
		return name_by_kallsyms(n, mapping, fd, text - KERNEL_LINKED_TEXT);
	if (fd >= 0)
		close(fd);
	return false;
}

static bool name_by_kept_kallsyms(struct name_queue *n, uint32_t mapping)
{
	const struct mapping *m = &n->p->frames.mappings.v[mapping];
	struct local_file f = file_of(n, m);
	int fd = local_file_open_kept(&f, n->home, "kallsyms");
	uint64_t text = fd < 0 ? 0 : kernel_text_start(fd);

	if (text)
		return name_by_kallsyms(n, mapping, fd, text - KERNEL_LINKED_TEXT);
	if (fd >= 0)
		close(fd);
	return false;
}

/* Converts offsets of frames from addresses to offsets in the file, as its symbols have them. */
static void frames_to_file(struct name_queue *n, uint32_t mapping, int fd)
{
	struct map by_address = n->frames[mapping];
	struct elf_layout layout = { 0 };
	struct elf_file file = { 0 };
	uint64_t offset;

	n->frames[mapping] = (struct map){ 0 };
	if (elf_file_open(&file, fd, NULL) == 0 && elf_layout_read(&layout, &file, NULL) == 0)
		map_each (&by_address, slot)
			if (elf_layout_offset(&layout, slot->key, &offset))
				map_put(&n->frames[mapping], offset, slot->value);
	elf_layout_done(&layout);
	elf_file_close(&file);
	map_done(&by_address);
}

static bool name_by_vmlinux(struct name_queue *n, uint32_t mapping)
{
	const struct mapping *m = &n->p->frames.mappings.v[mapping];
	struct local_file f = file_of(n, m);
	int fd = local_file_keep(&f, local_file_open_kept(&f, n->home, "vmlinux"));

	if (fd < 0)
		return false;
	frames_to_file(n, mapping, fd);
	name_by_elf(n, mapping, fd);
	return true;
}

static void name_kernel(struct name_queue *n, uint32_t mapping)
{
	const struct mapping *m = &n->p->frames.mappings.v[mapping];
	int rc;

	if (!name_by_running_kernel(n, mapping, &rc) && !name_by_kept_kallsyms(n, mapping) &&
	    !name_by_vmlinux(n, mapping))
		note(n, m, rc ? problem_of(rc) : LOCAL_NO_SYMBOLS);
}

/* Returns where a module, "[ext4]", of the running kernel starts; 0 when it is not loaded, or is
 * another build. */
static uint64_t module_start(const struct mapping *m, const char *name)
{
	struct kernel_space k = { 0 };
	struct buf text = { 0 }, notes = { 0 };
	uint8_t id[BUILD_ID_MAX];
	uint64_t start = 0;

	buf_addf(&notes, "/sys/module/%.*s/notes/.note.gnu.build-id", (int)strlen(name) - 2,
		 name + 1);
	if (m->build_id_len && same_build(m, id, read_notes(buf_cstr(&notes), id)) &&
	    fs_read_at(AT_FDCWD, "/proc/modules", PROC_FILE_MAX_BYTES, &text, NULL) == 0)
		kernel_space_add_modules(&k, buf_cstr(&text));
	for (size_t i = 0; i < k.modules.n; i++)
		if (strcmp(k.modules.v[i].name, name) == 0)
			start = k.modules.v[i].start;
	kernel_space_done(&k);
	buf_done(&text);
	buf_done(&notes);
	return start;
}

static void name_module(struct name_queue *n, uint32_t mapping)
{
	const struct mapping *m = &n->p->frames.mappings.v[mapping];
	uint64_t text, start = module_start(m, profile_str(n->p, m->name));
	int fd = start ? running_kallsyms(&text) : -ENOENT;

	if (fd < 0 || !name_by_kallsyms(n, mapping, fd, start))
		note(n, m, fd < 0 ? problem_of(fd) : LOCAL_UNREADABLE);
}

/* --- all of them ------------------------------------------------------------------------------ */

/* Mappings of the kernel are known by the kind of their frames: "[vdso]" is not the kernel's. */
static void name_mapping(struct name_queue *n, uint32_t mapping, bool is_kernel)
{
	const char *name = profile_str(n->p, n->p->frames.mappings.v[mapping].name);

	if (is_kernel && strcmp(name, "[kernel]") == 0)
		name_kernel(n, mapping);
	else if (is_kernel && str_starts(name, "[") && str_ends(name, "]"))
		name_module(n, mapping);
	else if (*name)
		name_file(n, mapping);
}

void local_names(struct profile *p, const char *home, const struct name_files_opts *opts,
		 struct local_report *report)
{
	struct name_files files;
	struct name_queue n = { .p = p, .home = home, .report = report };
	const struct line *lines;
	size_t mappings = p->frames.mappings.n;
	bool *is_kernel = xcalloc(mappings + 1, sizeof *is_kernel);

	*report = (struct local_report){ 0 };
	name_files_open(&files, opts);
	n.symbolize = (struct symbolize){ .sink = profile_sink(p),
					  .files = &files,
					  .leaf_samples = &n.no_samples };
	n.frames = xcalloc(mappings + 1, sizeof *n.frames);
	for (uint32_t i = 0; i < p->frames.frames.n; i++) {
		const struct frame *f = &p->frames.frames.v[i];
		if (f->mapping == MAPPING_NONE || names_get(&p->names, i, &lines))
			continue;
		map_put(&n.frames[f->mapping], f->offset, i);
		is_kernel[f->mapping] |= f->kind == FRAME_KERNEL;
	}
	for (uint32_t i = 0; i < mappings; i++) {
		if (n.frames[i].n)
			name_mapping(&n, i, is_kernel[i]);
		map_done(&n.frames[i]);
	}
	free(n.frames);
	free(is_kernel);
	name_files_failures(&files, &report->not_fetched);
	name_files_close(&files);
}
