/* collect/process/object_name.h: names of mappings, as the kernel writes them in records and in
 * /proc/PID/maps, and the kinds of targets that can be recognized by them. */
#ifndef CRESSET_COLLECT_PROCESS_OBJECT_NAME_H
#define CRESSET_COLLECT_PROCESS_OBJECT_NAME_H

#include <stdbool.h>

/* Names that the kernel shows for memory without a file. */
bool object_name_is_anonymous(const char *name);

/* Files without a path, by a clean name; if they are not ELF files, they hold code made at run
 * time. */
bool object_name_is_nameless_file(const char *name);

/* jit-PID.dump: mapping such a file is how a JIT compiler announces it. */
bool object_name_is_jitdump(const char *name);

/* "/usr/bin/x (deleted)" is /usr/bin/x, "/memfd:x (deleted)" is memfd:x. The caller frees it. */
char *object_name_clean(const char *name);

#endif
