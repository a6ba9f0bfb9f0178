/* doctor PID: how the allocations of a process can be recorded, or why not. */
#include "attach/attach_library.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/escape.h"
#include "base/json/json.h"
#include "cmd/doctor/doctor.h"
#include "collect/inspect/inspect.h"
#include "mem/go/go_heap.h"

#include <errno.h>
#include <string.h>

#define LOOK_NS 200000000ull

void doctor_memory_find(uint32_t pid, struct doctor_memory *out)
{
	const struct gpu_attach_opts opts = {
		.view = &attach_view,
		.library = &mem_attach_library,
		.dry_run = true,
		.forced = 1u << GPU_ATTACH_YOUNG,
		.wait_ns = LOOK_NS,
	};
	struct gpu_attach_report report = { 0 };
	struct go_heap heap;

	*out = (struct doctor_memory){ 0 };
	out->go = inspect_go_heap(pid, &heap, &out->go_err);
	out->java = inspect_java_heap(pid, &out->java_err);
	out->go_by_code = out->go == 0 && heap.is_by_code;
	out->library = gpu_attach(pid, &opts, &report, &out->library_err);
	out->is_loaded = report.already;
}

static enum check_state state_of(const struct doctor_memory *m)
{
	return m->go == 0 || m->java == 0 || m->library == 0 ? CHECK_OK : CHECK_LIMITED;
}

static void add_words(struct buf *b, const char *words)
{
	esc_term(b, words, strlen(words), sizeof((struct err *)0)->text);
}

void doctor_memory_text(struct buf *b, const struct term *term, const struct doctor_memory *m)
{
	buf_addc(b, ' ');
	term_check(b, term, state_of(m));
	buf_adds(b, " allocations (-e alloc,inuse)");
	if (m->go == 0)
		buf_adds(b, m->go_by_code
				    ? "\n     Go       by its own heap profile, found in its code; "
				      "where the linker turned it off, it stays off"
				    : "\n     Go       by its own heap profile, from outside; "
				      "turned on "
				      "where the linker turned it off");
	else if (m->go == -ENOTSUP) {
		buf_adds(b, "\n     Go       not recorded: ");
		add_words(b, m->go_err.text);
	}
	if (m->java == 0) {
		buf_adds(b, "\n     Java     allocations of its heap, by its runtime's own "
			    "sampler, turned on for a recording; not memory in use");
	} else if (m->java == -ENOTSUP) {
		buf_adds(b, "\n     Java     not recorded: ");
		add_words(b, m->java_err.text);
	}
	buf_adds(b, "\n     library  ");
	if (m->library == 0) {
		buf_adds(b, m->is_loaded ? "is loaded" : "can be loaded while it runs");
	} else {
		buf_adds(b, "cannot be loaded: ");
		add_words(b, m->library_err.text);
	}
	buf_addc(b, '\n');
}

void doctor_memory_json(struct json *j, const struct doctor_memory *m)
{
	json_obj(j);
	json_key_text(j, "state", check_word(state_of(m)));
	json_key_bool(j, "go", m->go == 0);
	json_key_text(j, "go_why_not", m->go == -ENOTSUP ? m->go_err.text : NULL);
	json_key_bool(j, "java", m->java == 0);
	json_key_text(j, "java_why_not", m->java == -ENOTSUP ? m->java_err.text : NULL);
	json_key_bool(j, "library", m->library == 0);
	json_key_bool(j, "library_loaded", m->is_loaded);
	json_key_text(j, "library_why_not", m->library ? m->library_err.text : NULL);
	json_end(j);
}
