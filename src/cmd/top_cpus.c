#include "cmd/top_cpus.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { STAT_MAX_BYTES = 1 << 20, CPUS_MAX = 8192 };

void top_cpus_done(struct top_cpus *c)
{
	vec_done(&c->last);
	vec_done(&c->shares);
	buf_done(&c->text);
}

static uint64_t growth(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0; /* the kernel's idle times may fall */
}

static void put_cpu(struct top_cpus *c, uint32_t cpu, const struct cpu_ticks *now)
{
	while (c->last.n <= cpu) {
		vec_push(&c->last, (struct cpu_ticks){ 0 });
		vec_push(&c->shares, (struct feed_cpu){ 0 });
	}
	struct cpu_ticks *last = &c->last.v[cpu];
	uint64_t user = growth(now->user, last->user), sys = growth(now->sys, last->sys);
	uint64_t wait = growth(now->wait, last->wait), idle = growth(now->idle, last->idle);
	float all = (float)(user + sys + wait + idle);
	bool is_first = !last->user && !last->sys && !last->idle;
	c->shares.v[cpu] = (struct feed_cpu){ 0 };
	if (all > 0 && !is_first)
		c->shares.v[cpu] =
			(struct feed_cpu){ (float)user / all, (float)sys / all, (float)wait / all };
	*last = *now;
}

void top_cpus_put(struct top_cpus *c, const char *stat)
{
	for (const char *line = stat; line && *line; line = strchr(line, '\n')) {
		unsigned cpu;
		unsigned long long user, nice, sys, idle, wait, irq, soft, steal;
		line += *line == '\n';
		if (sscanf(line, "cpu%u %llu %llu %llu %llu %llu %llu %llu %llu", &cpu, &user,
			   &nice, &sys, &idle, &wait, &irq, &soft, &steal) == 9 &&
		    cpu < CPUS_MAX)
			put_cpu(c, cpu,
				&(struct cpu_ticks){ user + nice, sys + irq + soft, wait,
						     idle + steal });
		else if (strncmp(line, "intr", 4) == 0)
			return; /* what follows is long and of no use */
	}
}

/* The lines of CPUs come first, so of a long file the beginning is enough. */
void top_cpus_look(struct top_cpus *c)
{
	int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n;
	if (fd < 0)
		return;
	buf_clear(&c->text);
	do {
		buf_reserve(&c->text, 16 << 10);
		n = read(fd, c->text.data + c->text.len, 16 << 10);
		c->text.len += n > 0 ? (size_t)n : 0;
		buf_cstr(&c->text);
	} while (n > 0 && c->text.len < STAT_MAX_BYTES && !strstr(c->text.data, "\nintr"));
	close(fd);
	top_cpus_put(c, buf_cstr(&c->text));
}
