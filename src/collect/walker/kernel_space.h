/* collect/walker/kernel_space.h: frames of kernel addresses.
 *
 *     [kernel]   the kernel itself. Offsets are addresses relative to where it is linked to run, so
 *                that they are the same after each boot and on every machine with this build id,
 *                whatever KASLR did.
 *     [ext4] …   one mapping per module, from /proc/modules; offsets from the start of its code.
 *     [bpf]      all other addresses: BPF programs and trampolines. They are meaningful only until
 *                the next boot.
 *
 * If kptr_restrict hides addresses, all frames are in [kernel], unchanged, for this boot. */
#ifndef CRESSET_COLLECT_WALKER_KERNEL_SPACE_H
#define CRESSET_COLLECT_WALKER_KERNEL_SPACE_H

#include "base/cpu_budget.h"
#include "base/hash.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbolize;

/* Address that the kernel's _text is linked at: 0xffffffff80000000 + CONFIG_PHYSICAL_START on
 * x86-64. Any constant would do, but readers of other programs' recordings use the same one
 * (format/perf_data/perf_data_frames.h). */
#ifdef __x86_64__
#define KERNEL_LINKED_TEXT 0xffffffff81000000ull
#else
#define KERNEL_LINKED_TEXT 0ull
#endif

/* 0.1 % of a CPU on average, and some five reads at the same time. */
#define KERNEL_READ_PER_S_NS 1000000ull
#define KERNEL_READ_MOST_NS  500000000ull

enum {
	KERNEL_NAME_MAX = 64,
	KERNEL_MAX_MODULES = 4096,
	KERNEL_MAX_NAMED = 64 << 10, /* cached addresses; then all are forgotten */
};

struct kernel_area {
	char name[KERNEL_NAME_MAX];
	uint64_t start, end;
	uint64_t shift;    /* offset of a frame = address - shift */
	uint32_t mapping;  /* of the sink; MAPPING_NONE until needed */
	struct map frames; /* run-time address → frame */
};
struct kernel_space {
	struct sink *sink;
	struct kernel_area text, other;
	VEC(struct kernel_area) modules; /* sorted by start */
	uint64_t modules_read_ns;
	uint64_t unnamed;              /* frames in the sink without a name */
	struct map named;              /* run-time addresses */
	bool hidden;                   /* addresses cannot be read */
	const char *cache_root;        /* the owner's; NULL: names are not stored */
	bool keeps_symbols;            /* once read; set by the owner */
	struct symbol_source *symbols; /* of symbol/kallsyms.h; NULL: not read, or not retained */
	uint32_t symbols_modules;      /* number of modules when they were read */
	uint32_t symbols_program;      /* latest BPF program when they were read */
	struct cpu_budget budget;      /* for rereading them */
	uint64_t symbols_read;         /* number of reads */
	uint64_t naming_ns;            /* CPU time of all kernel_space_symbolize so far */
};

void kernel_space_init(struct kernel_space *k, struct sink *sink);
void kernel_space_done(struct kernel_space *k);

/* Modules are read again when an address is in no known one, at most once a second. */
uint32_t kernel_space_frame(struct kernel_space *k, uint64_t addr, uint64_t now_ns);
/* Names the frames so far from /proc/kallsyms, except those named before, even for an earlier sink:
 * the caller that took their names knows them by mapping and offset. The kernel's own functions are
 * taken from the cache directory if they are there, and put there if not.
 *
 * With keeps_symbols frames get their names in each sink, and symbols are compressed in memory.
 * Then it costs next to nothing, unless symbols are read again: there are more modules, a frame is
 * in a BPF program that may be new, or a frame outside the kernel's own text has no symbol. Reading
 * takes at most KERNEL_READ_PER_S_NS of CPU time a second; frames that need it wait. A frame that
 * has no symbol then has no name. */
void kernel_space_symbolize(struct kernel_space *k, struct symbolize *s);

/* Returns whether there is a frame without a name. */
static inline bool kernel_space_has_new(const struct kernel_space *k)
{
	return k->unnamed > 0;
}
/* From here on frames are another sink's, which has none of the frames so far. */
void kernel_space_set_sink(struct kernel_space *k, struct sink *sink);

/* Returns the address of "_text" in the first lines of text like /proc/kallsyms; 0 when it is
 * missing or hidden. */
uint64_t kernel_text_start(int kallsyms_fd);
/* Returns the bytes from the kernel's first instruction to the end of its data, from the text of
 * /proc/iomem; 0 when they are missing or hidden. */
uint64_t kernel_text_size(const char *iomem);
/* Adds the modules in the text of /proc/modules whose address is not known yet. */
void kernel_space_add_modules(struct kernel_space *k, const char *modules);
/* Finds the GNU build id in a file of ELF notes. Returns its length, 0 if none exists. */
size_t kernel_notes_build_id(const void *notes, size_t len, uint8_t *id, size_t size);

#endif
