/* Reads and writes whole files, and reports errors with their path. */
#include "read.h"

#include <stdio.h>

int read_file(const char *path, struct buf *out)
{
	char piece[1 << 16];
	FILE *f = fopen(path, "rb");
	if (!f) {
		perror(path);
		return -1;
	}
	for (size_t n; (n = fread(piece, 1, sizeof piece, f));)
		buf_add(out, piece, n);
	int rc = ferror(f) ? -1 : 0;
	if (rc)
		perror(path);
	fclose(f);
	return rc;
}

int write_file(const char *path, const void *data, size_t len)
{
	FILE *f = fopen(path, "wb");
	int rc = f && fwrite(data, 1, len, f) == len ? 0 : -1;
	if (f && fclose(f))
		rc = -1;
	if (rc)
		perror(path);
	return rc;
}
