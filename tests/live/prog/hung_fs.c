/* hung_fs DIR FILE: mounts a file system there that has one file, "program", a copy of FILE. It answers until it gets SIGUSR1, and then reads what it is asked and
 * answers nothing more, as a server does that is stopped. It ends, and what waits for it goes on, when it is killed. Prints a line when it is mounted. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FILE_INO = 2, BUFFER = 1 << 20 };

static volatile sig_atomic_t hangs;
static int fuse;
static char *content;
static size_t content_len;

static void on_signal(int sig)
{
	(void)sig;
	hangs = 1;
}

static void answer(const struct fuse_in_header *in, int error, const void *data, size_t len)
{
	struct fuse_out_header out = { .len = sizeof out + len,
				       .error = -error,
				       .unique = in->unique };
	struct iovec iov[2] = { { &out, sizeof out }, { (void *)data, len } };

	if (!hangs && writev(fuse, iov, len ? 2 : 1) < 0)
		perror("writev");
}

static struct fuse_attr attr_of(uint64_t ino)
{
	bool is_file = ino == FILE_INO;

	return (struct fuse_attr){ .ino = ino,
				   .size = is_file ? content_len : 0,
				   .blocks = is_file ? content_len / 512 + 1 : 0,
				   .mode = is_file ? S_IFREG | 0755 : S_IFDIR | 0755,
				   .nlink = 1,
				   .blksize = 4096 };
}

static void do_init(const struct fuse_in_header *in)
{
	struct fuse_init_out out = { .major = FUSE_KERNEL_VERSION,
				     .minor = FUSE_KERNEL_MINOR_VERSION,
				     .max_readahead = 128 << 10,
				     .max_write = 128 << 10,
				     .max_background = 16,
				     .time_gran = 1 };

	answer(in, 0, &out, sizeof out);
}

static void do_lookup(const struct fuse_in_header *in, const char *name)
{
	struct fuse_entry_out out = { .nodeid = FILE_INO,
				      .generation = 1,
				      .entry_valid = 1,
				      .attr_valid = 1,
				      .attr = attr_of(FILE_INO) };

	if (strcmp(name, "program"))
		answer(in, ENOENT, NULL, 0);
	else
		answer(in, 0, &out, sizeof out);
}

static void do_getattr(const struct fuse_in_header *in)
{
	struct fuse_attr_out out = { .attr_valid = 1, .attr = attr_of(in->nodeid) };

	answer(in, 0, &out, sizeof out);
}

static void do_open(const struct fuse_in_header *in)
{
	struct fuse_open_out out = { .fh = 1, .open_flags = FOPEN_KEEP_CACHE };

	answer(in, 0, &out, sizeof out);
}

static void do_read(const struct fuse_in_header *in, const struct fuse_read_in *read)
{
	size_t left = read->offset < content_len ? content_len - read->offset : 0;

	answer(in, 0, content + (left ? read->offset : 0), left < read->size ? left : read->size);
}

static void serve(const char *request)
{
	const struct fuse_in_header *in = (const void *)request;
	const void *body = request + sizeof *in;

	switch (in->opcode) {
	case FUSE_INIT:
		do_init(in);
		break;
	case FUSE_LOOKUP:
		do_lookup(in, body);
		break;
	case FUSE_GETATTR:
		do_getattr(in);
		break;
	case FUSE_OPEN:
		do_open(in);
		break;
	case FUSE_READ:
		do_read(in, body);
		break;
	case FUSE_RELEASE:
	case FUSE_FLUSH:
		answer(in, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		answer(in, ENOSYS, NULL, 0);
	}
}

static void read_content(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) || !(content = malloc(st.st_size)) ||
	    read(fd, content, st.st_size) != st.st_size)
		exit(1);
	content_len = st.st_size;
	close(fd);
}

int main(int argc, char **argv)
{
	static char request[BUFFER];
	char options[128];

	if (argc < 3)
		return 2;
	read_content(argv[2]);
	signal(SIGUSR1, on_signal);
	fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		 fuse);
	if (fuse < 0 || mount("hung", argv[1], "fuse", MS_NOSUID | MS_NODEV, options)) {
		perror("mount");
		return 3;
	}
	puts("mounted");
	fflush(stdout);
	for (;;) {
		ssize_t n = read(fuse, request, sizeof request);

		if (n >= (ssize_t)sizeof(struct fuse_in_header))
			serve(request);
		else if (n < 0 && errno != EINTR && errno != ENOENT)
			return 0;
	}
}
