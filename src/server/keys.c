#include "server/keys.h"

#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_BYTES = 2 * KEY_ID_BYTES + 8 };

static void name_of(const uint8_t *id, const char *suffix, char *name)
{
	for (int i = 0; i < KEY_ID_BYTES; i++)
		snprintf(name + 2 * i, 3, "%02x", id[i]);
	snprintf(name + 2 * KEY_ID_BYTES, 8, "%s", suffix);
}

static void empty(int keys)
{
	int fd = dup(keys);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (struct dirent *e; (e = readdir(dir));)
		if (*e->d_name != '.')
			unlinkat(keys, e->d_name, 0);
	closedir(dir);
}

int keys_open(const char *dir, struct err *err)
{
	char *path = xasprintf("%s/keys", dir);
	int fd = -1;
	if (mkdir(path, 0750) == 0 || errno == EEXIST)
		fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		fd = err_set(err, errno, "cannot make %s: %s", path, strerror(errno));
	else
		empty(fd);
	free(path);
	return fd;
}

static bool write_all(int fd, const char *data, size_t len)
{
	for (ssize_t n; len; data += n, len -= n)
		if ((n = write(fd, data, len)) <= 0)
			return false;
	return true;
}

bool key_write(int keys, const uint8_t *id, const struct buf *packed)
{
	char name[NAME_BYTES];
	name_of(id, ".tmp", name);
	int fd = openat(keys, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0640);
	if (fd < 0)
		return false;
	bool fits = write_all(fd, packed->data, packed->len);
	close(fd);
	if (!fits)
		unlinkat(keys, name, 0);
	return fits;
}

bool key_settle(int keys, const uint8_t *id)
{
	char from[NAME_BYTES], to[NAME_BYTES];
	name_of(id, ".tmp", from);
	name_of(id, "", to);
	if (renameat(keys, from, keys, to) == 0)
		return true;
	unlinkat(keys, from, 0);
	return false;
}

void key_forget(int keys, const uint8_t *id)
{
	char name[NAME_BYTES];
	name_of(id, ".tmp", name);
	unlinkat(keys, name, 0);
}

int key_open(int keys, const uint8_t *id)
{
	char name[NAME_BYTES];
	name_of(id, "", name);
	return openat(keys, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
}

void key_remove(int keys, const uint8_t *id)
{
	char name[NAME_BYTES];
	name_of(id, "", name);
	unlinkat(keys, name, 0);
}
