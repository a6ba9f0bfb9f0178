/* store/db_files.h: a SQLite file and what SQLite keeps beside it (-wal, -shm, -journal), as files. */
#ifndef CRESSET_STORE_DB_FILES_H
#define CRESSET_STORE_DB_FILES_H

#include "base/err.h"

#include <stdint.h>

/* What they take on the disk; 0 when there are none. */
uint64_t db_files_bytes(const char *path);

/* They are gone, the file itself first, and on the disk, too: a journal without a file is nothing, a file without its journal lacks what is
 * in there. Nobody has it open. */
int db_files_unlink(const char *path, struct err *err);

#endif
