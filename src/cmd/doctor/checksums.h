/* cmd/doctor/checksums.h: compares files with a list of their SHA-256, as sha256sum writes it:
 *
 *     64 hexadecimal digits, a blank, a blank or *, the name: relative to the list's directory
 *
 * The list is not trusted. Names that lead out of the installation are not examined, only regular
 * files are opened, and their content is read in pieces. */
#ifndef CRESSET_CMD_DOCTOR_CHECKSUMS_H
#define CRESSET_CMD_DOCTOR_CHECKSUMS_H

#include "base/buf.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define CHECKSUMS_NAME "SHA256SUMS"

/* limit: bytes of SHA256SUMS for doctor --self; more are refused */
enum { CHECKSUMS_BYTES = 1 << 20 };

enum checksum_state {
	CHECKSUM_SAME,
	CHECKSUM_CHANGED,
	CHECKSUM_MISSING,
	CHECKSUM_NOT_A_FILE, /* a directory, a pipe, a device */
	CHECKSUM_OUTSIDE,    /* its name leads out of the installation */
	CHECKSUM_NOT_READABLE,
};

struct checksum_file {
	const char *name;
	enum checksum_state state;
	int error; /* errno of CHECKSUM_NOT_READABLE, else 0 */
};

struct checksums {       /* zeroed = empty */
	struct buf text; /* holds the names */
	VEC(struct checksum_file) files;
	size_t wrong;                /* files that are not the same */
	size_t bad_lines, first_bad; /* lines of another form; the number of the first, from 1 */
	bool has_program;            /* this program is among the files, the same or not */
};

/* Reads dir/SHA256SUMS and every file in it. levels_up: how far above dir a name may lead. Returns
 * 0, with *c to be freed by checksums_done; -ENOENT: there is no list; another -errno: it cannot be
 * read, is no regular file or is larger than CHECKSUMS_BYTES. */
int checksums_verify(const char *dir, unsigned levels_up, struct checksums *c, struct err *err);
void checksums_done(struct checksums *c);

/* Opens a regular file for reading, without waiting for anything. Returns the descriptor or -errno,
 * -EINVAL if it is something else. */
int regular_file_open(int dirfd, const char *path);

#endif
