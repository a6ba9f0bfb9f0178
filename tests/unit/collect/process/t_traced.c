// tier: test
/* A process whose threads publish spans stays known while it cannot be read: on a busy machine the process that reads it answers late. */
#include "collect/process/traced.h"

#include "collect/process/image.h"
#include "collect/process/object.h"
#include "collect/process/process.h"
#include "collect/worker/helper.h"
#include "collect/worker/proc_reader.h"
#include "unit.h"
#include "workers.h"

#include <fcntl.h>
#include <unistd.h>

#define SECOND_NS 1000000000ull

struct world {
	struct helper *helper;
	struct proc_reader *reader;
	struct object_table objects;
	struct traced traced;
	struct process
		process; /* this one, known to publish; its image says that no file has the variable */
	uint32_t is_any;
};

static void begin(struct world *w)
{
	*w = (struct world){ .is_any = 1 };
	ck_assert_int_eq(helper_new(&w->helper), 0);
	w->reader = proc_reader_new(w->helper);
	object_table_init(&w->objects, 10);
	w->objects.reader = w->reader;
	w->traced.maps = (struct traced_maps){ .recipes = -1, .is_any = &w->is_any };
	w->process = (struct process){ .pid = getpid(),
				       .image = image_new(1),
				       .has_threads = true,
				       .traced = { .is_there = true } };
	w->traced.n = 1;
}

static void end(struct world *w)
{
	image_unref(w->process.image, &w->objects);
	object_table_done(&w->objects);
	proc_reader_free(w->reader);
	helper_free(w->helper);
}

/* Returns once the worker that reads processes is there and has answered. */
static pid_t await_worker(struct world *w)
{
	struct stat st;
	int fd = -1;

	for (int i = 0; i < WORKERS_TRIES && fd < 0; i++) {
		fd = proc_reader_open_program(w->reader, getpid(), &st);
		if (fd < 0)
			poll(NULL, 0, WORKERS_PAUSE_MS);
	}
	ck_assert_int_ge(fd, 0);
	close(fd);
	return await_child(await_child(getpid(), "cresset-nursery"), "cresset-read");
}

START_TEST(it_is_forgotten_once_no_file_has_the_variable)
{
	struct world w;

	begin(&w);
	await_worker(&w);
	for (int i = 1; i <= WORKERS_TRIES && w.process.traced.is_there; i++)
		traced_look(&w.traced, &w.process, &w.objects, i * SECOND_NS);
	ck_assert(!w.process.traced.is_there);
	ck_assert(!w.process.traced.waits);
	end(&w);
}
END_TEST

START_TEST(it_is_kept_while_it_cannot_be_read)
{
	struct world w;

	begin(&w);
	stop_child(await_worker(&w), await_child(getpid(), "cresset-nursery"), "cresset-read");
	for (int i = 1; i <= 3; i++) { /* late, then left alone */
		traced_look(&w.traced, &w.process, &w.objects, i * SECOND_NS);
		ck_assert(w.process.traced.is_there);
		ck_assert(w.process.traced.waits);
	}
	end(&w);
}
END_TEST

UNIT_MAIN("traced", it_is_forgotten_once_no_file_has_the_variable,
	  it_is_kept_while_it_cannot_be_read)
