/* The text of --version. */
#include "cmd/cli/cmd.h"

#include "base/buf.h"
#include "server/mhd_late.h"
#include "symbol/symbol.h"

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

static void add_line(struct buf *b, const char *name, const char *value)
{
	if (*value)
		buf_addf(b, "%-13s %s\n", name, value);
}

void version_build_id(struct buf *b)
{
	uint8_t id[64];
	size_t len = elf_own_build_id(id, sizeof id);

	for (size_t i = 0; i < len; i++)
		buf_addf(b, "%02x", id[i]);
}

void version_text(struct buf *b)
{
	struct buf id = { 0 };

	version_build_id(&id);
	buf_addf(b, "cresset %s\n", CRESSET_VERSION);
	add_line(b, "commit:", CRESSET_COMMIT);
	add_line(b, "build id:", buf_cstr(&id));
	add_line(b, "compiler:", COMPILER);
	add_line(b, "BPF compiler:", CRESSET_BPF_COMPILER);
	add_line(b, "libraries:",
		 libraries_are_linked_in() ? "linked in, except the C library" : "the system's");
	buf_done(&id);
}
